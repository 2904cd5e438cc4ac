"""The fusion of runs that judgments prefer: its method, its scale and the weight of each run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop._names import one_of
from rankloop._table import Table, Tabled
from rankloop.data import Qrels, Run
from rankloop.metrics import Metric
from rankloop.metrics import metric as metric_of
from rankloop.rankers.fuse import CONSTANT, METHODS, Aligned, align, fuse, fused_scores

__all__ = ["TunedFusion", "tune_fusion"]

_CONSTANTS = (CONSTANT, 10.0, 200.0)
_NORMS = ("minmax", "zscore", "sum")
_WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
_PASSES = 3


@dataclass(frozen=True, eq=False, repr=False)
class TunedFusion(Tabled):
    """The best fusion of runs: `run` is made with it.

    `value` is the metric on the judged queries that it was chosen by, `held_out` on queries that it was not
    chosen by (the mean over folds), and `equal` that of plain reciprocal rank fusion.
    """

    run: Run
    method: str
    options: Mapping[str, Any]
    metric: str
    value: float
    held_out: float
    equal: float
    queries: int

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON."""
        figures = {name: getattr(self, name) for name in ("value", "held_out", "equal", "queries")}
        return {"method": self.method, **self.options, "metric": self.metric, **figures}

    def table(self) -> Table:
        chosen = ", ".join(f"{name} {value}" for name, value in self.options.items())
        rows = [
            ("tuned, on queries held out", f"{self.held_out:.4f}"),
            ("tuned, on the queries it was tuned on", f"{self.value:.4f}"),
            ("rrf with equal weights", f"{self.equal:.4f}"),
        ]
        notes = [f"{self.method}: {chosen}; {self.queries:,} judged queries"]
        return Table(("fusion", self.metric), rows, notes=notes)


def tune_fusion(
    runs: Sequence[Run],
    judgments: Qrels | Mapping[Any, Mapping[Any, float]],
    metric: str | Metric = "ndcg@10",
    *,
    method: str | None = None,
    folds: int = 5,
    k: int | None = None,
    seed: int = 0,
) -> TunedFusion:
    """Choose method, options and weights by a metric on judged queries; `method` fixes the first.

    All methods are tried with equal weights, then the weight of one run after the other is changed as long as
    the metric rises. The same is done without each of `folds` parts of the queries, to measure on that part.

    >>> good = Run.from_dict({f"q{i}": {"a": 2.0, "b": 1.0} for i in range(10)})
    >>> bad = Run.from_dict({f"q{i}": {"b": 2.0, "c": 1.0} for i in range(10)})
    >>> found = tune_fusion([good, bad], {f"q{i}": {"a": 1} for i in range(10)}, "mrr", method="rrf")
    >>> found.value, found.options["weights"][0] > found.options["weights"][1]
    (1.0, True)
    """
    if method is not None:
        one_of("method", method, METHODS)
    chosen = metric_of(metric)
    qrels = judgments if isinstance(judgments, Qrels) else Qrels.from_dict(judgments)
    lists = _judged_lists(align(runs), qrels)
    if lists.count < 2:
        raise ValueError(
            f"{lists.count} queries of the runs are judged; at least 2 are needed to tune a fusion"
        )
    every = np.arange(lists.count)
    best = _search(lists, chosen, method, len(runs), every)
    parts = np.array_split(np.random.default_rng(seed).permutation(lists.count), min(folds, lists.count))
    unseen = np.full(lists.count, np.nan)
    for part in parts:
        rest = _search(lists, chosen, method, len(runs), np.setdiff1d(every, part))
        unseen[part] = lists.values(chosen, rest)[part]
    sign = 1.0 if chosen.higher_is_better else -1.0
    plain = {"method": "rrf", "constant": CONSTANT, "weights": [1.0] * len(runs)}
    return TunedFusion(
        run=fuse(runs, k=k, **best),
        method=best["method"],
        options={name: value for name, value in best.items() if name != "method"},
        metric=str(chosen),
        value=sign * _mean(lists.values(chosen, best)),
        held_out=sign * _mean(unseen),
        equal=sign * _mean(lists.values(chosen, plain)),
        queries=lists.count,
    )


@dataclass(frozen=True, eq=False)
class _Lists:
    """The judged queries of aligned runs: scores by run, labels, and the pool of all judgments."""

    scores: list[Floats]
    labels: Singles
    offsets: Ints
    pool_labels: Singles
    pool_offsets: Ints

    @property
    def count(self) -> int:
        return len(self.offsets) - 1

    def values(self, chosen: Metric, options: Mapping[str, Any]) -> Floats:
        """The metric of each query, higher for better; nan where it has no value."""
        fused = fused_scores(self.scores, self.offsets, **options)
        found = chosen(
            fused, self.labels, self.offsets, pool_labels=self.pool_labels, pool_offsets=self.pool_offsets
        )
        return found if chosen.higher_is_better else -found


def _search(lists: _Lists, chosen: Metric, method: str | None, runs: int, queries: Ints) -> dict[str, Any]:
    def value(options: Mapping[str, Any]) -> float:
        return _mean(lists.values(chosen, options)[queries])

    tried = [{**options, "weights": [1.0] * runs} for options in _plain(method)]
    worth, best = max(((value(one), -at, one) for at, one in enumerate(tried)))[::2]
    for _ in range(_PASSES):
        before = worth
        for run in range(runs):
            for weight in _WEIGHTS:
                weights = [weight if i == run else w for i, w in enumerate(best["weights"])]
                if any(weights) and (now := value({**best, "weights": weights})) > worth + 1e-12:
                    worth, best = now, {**best, "weights": weights}
        if worth == before:
            break
    return best


def _plain(method: str | None) -> Iterator[dict[str, Any]]:
    for name in ("rrf", "comb_sum", "comb_mnz") if method is None else (method,):
        if name == "rrf":
            yield from ({"method": name, "constant": constant} for constant in _CONSTANTS)
        else:
            yield from ({"method": name, "norm": norm} for norm in _NORMS)


def _judged_lists(aligned: Aligned, qrels: Qrels) -> _Lists:
    """Queries that have a judgment, with the labels of their documents."""
    rows, labels, lengths, pool = [], [], [], []
    for at, query in enumerate(aligned.query_ids.tolist()):
        if query not in qrels:
            continue
        known = qrels[query]
        inside = np.arange(aligned.offsets[at], aligned.offsets[at + 1])
        rows.append(inside)
        labels += [max(0.0, known.get(name, 0.0)) for name in aligned.documents[inside].tolist()]
        lengths.append(len(inside))
        pool.append(np.maximum(0.0, list(known.values())))
    taken = np.concatenate(rows) if rows else np.zeros(0, np.int64)
    return _Lists(
        scores=[array[taken] for array in aligned.scores],
        labels=np.array(labels, np.float32),
        offsets=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        pool_labels=np.concatenate(pool).astype(np.float32) if pool else np.zeros(0, np.float32),
        pool_offsets=np.concatenate(([0], np.cumsum([len(one) for one in pool]))).astype(np.int64),
    )


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else 0.0
