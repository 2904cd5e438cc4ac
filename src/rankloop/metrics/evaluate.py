"""Metrics of one ranking, with intervals."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Singles
from rankloop._names import one_of
from rankloop.metrics.conventions import CONVENTIONS
from rankloop.metrics.kernels.lists import EMPTY, TIES
from rankloop.metrics.metric import Metric, metric
from rankloop.metrics.results.evaluation import Evaluation
from rankloop.metrics.results.matched import Judgments, matched
from rankloop.metrics.values import values

__all__ = ["evaluate", "wanted_metrics"]

_USUAL = ("ndcg@10", "map", "mrr")
_GRADED = ("err@10",)


def evaluate(
    ranking: Any,
    judgments: Judgments,
    metrics: str | Metric | Iterable[str | Metric] | None = None,
    *,
    convention: str | None = None,
    ties: str | None = None,
    empty: str | None = None,
    confidence: float = 0.95,
    condensed: bool = False,
    judged: ArrayLike | None = None,
    subtopics: ArrayLike | None = None,
) -> Evaluation:
    """Means over queries with intervals, and the value of each query.

    `ranking` is one score per row of a data set, anything with `predict`, or a `Run` (also as
    `{query: {document: score}}`); `judgments` are a `RankingDataset`, a `Qrels` or a dict alike. A run is
    measured against all judgments: ideals and recall count the documents it missed, a query it did not
    answer found nothing, and a document without judgment counts as label 0.

    Where many results were never judged, `"judged@10"`, `"bpref"`, `"infap"` and `"infndcg@10"` say more;
    `condensed=True` takes documents without judgment out of the lists before anything is measured. A run
    knows from its qrels what was judged; for scores by row say it with `judged`, and give `subtopics` (a row
    per document, a column per subtopic) to metrics of diversity such as `"alpha_ndcg@10"`.

    Without `metrics`: NDCG@10, MAP, MRR, and ERR@10 where labels are graded. `ties` ("average", "stable",
    "worst") and `empty` ("nan", "zero", "one") go to every metric whose name does not say otherwise;
    `convention` counts as another library does, as do trec_eval's own names ("P_10", "ndcg_cut_10"). Query
    and item weights of a data set are honoured.

    >>> run = {"q1": {"a": 3.0, "b": 2.0}, "q2": {"c": 1.0, "d": 1.0}}
    >>> qrels = {"q1": {"b": 1}, "q2": {"c": 1}, "q3": {"e": 0}}
    >>> evaluate(run, qrels, ["mrr", "map"]).mean
    {'mrr': 0.625, 'map': 0.625}
    """
    if ties is not None:
        one_of("ties", ties, TIES)
    if empty is not None:
        one_of("empty", empty, EMPTY)
    named = [metrics] if isinstance(metrics, (str, Metric)) else None if metrics is None else list(metrics)
    lists = matched(ranking, judgments, as_trec=_any_of_trec(named, convention))
    lists = lists.of_rows(judged, subtopics)
    if condensed:
        lists = lists.condensed()
    wanted = wanted_metrics(named, lists.judged_labels, convention, {"ties": ties, "empty": empty})
    found = values(wanted, lists.scores, lists.labels, lists.offsets, **lists.columns)
    heavy = lists.weight is not None and bool(lists.weight.max(initial=0) > 1)  # such as 1 / propensity
    means = {one.name: one.mean(found[one.name], lists.query_weight) for one in wanted}
    return Evaluation(
        {one.name: _as_counted(one, found[one.name]) for one in wanted},
        lists.qid,
        query_weight=lists.query_weight,
        settings=_settings(wanted, convention),
        confidence=confidence,
        lower_is_better=frozenset(one.name for one in wanted if not one.higher_is_better),
        bounded=frozenset(one.name for one in wanted if one.measure.bounded and not heavy),
        means=means,
        notes=lists.notes,
    )


def wanted_metrics(
    metrics: str | Metric | Iterable[str | Metric] | None,
    labels: Singles,
    convention: str | None,
    options: dict[str, str | None],
) -> list[Metric]:
    if metrics is None:
        metrics = _usual(bool(labels.max(initial=0) > 1), convention)
    named = [metrics] if isinstance(metrics, (str, Metric)) else list(metrics)
    if not named:
        raise ValueError("evaluate needs at least one metric, such as 'ndcg@10'")
    wanted = [_with(metric(name, convention=convention), options) for name in named]
    twice = [one.name for i, one in enumerate(wanted) if one.name in {other.name for other in wanted[:i]}]
    if twice:
        raise ValueError(f"metric {twice[0]!r} is named twice; name each metric once")
    return wanted


def _any_of_trec(named: Sequence[str | Metric] | None, convention: str | None) -> bool:
    """Whether ties are broken by document ids for some metric."""
    if convention is not None or named is None:
        return convention == "trec"
    made = [metric(one).convention for one in named]
    return any(one is not None and one.name == "trec" for one in made)


def _usual(graded: bool, convention: str | None) -> list[str]:
    """The usual metrics, as far as the library of the convention has them."""
    if convention not in CONVENTIONS:
        return [*_USUAL, *(_GRADED if graded else ())]
    known = CONVENTIONS[convention].rules
    return [name for name in _USUAL if metric(name).measure.function.__name__ in known]


def _with(one: Metric, options: dict[str, str | None]) -> Metric:
    """The metric with these options, where it has them and its name does not set them."""
    chosen = {
        name: value
        for name, value in options.items()
        if value is not None and name in one.options and f"{name}=" not in one.name
    }
    return replace(one, options={**one.options, **chosen})


def _as_counted(one: Metric, found: Floats) -> Floats:
    """The values with blank lists as the convention counts them in its mean."""
    if one.convention is None:
        return found
    adds = one.convention.rule(one.measure.function.__name__).blank_adds
    return found if adds is None else np.where(np.isnan(found), adds, found)


def _settings(wanted: list[Metric], convention: str | None) -> dict[str, str]:
    """The conventions that all metrics share; "mixed" where they differ."""
    counted = {"rankloop" if one.convention is None else one.convention.name for one in wanted}
    settings = {"convention": convention or (counted.pop() if len(counted) == 1 else "mixed")}
    for name in ("ties", "empty"):
        ways = {str(one.options[name]) for one in wanted if name in one.options}
        if ways:
            settings[name] = ways.pop() if len(ways) == 1 else "mixed"
    return settings
