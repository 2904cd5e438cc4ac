"""The best ranker that a number of minutes gives."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop._table import Table
from rankloop.data import RankingDataset
from rankloop.metrics import Metric
from rankloop.metrics import metric as known
from rankloop.rankers.auto.candidates import installed_backends
from rankloop.rankers.auto.clock import Clock
from rankloop.rankers.auto.division import Division, divided
from rankloop.rankers.auto.failures import told
from rankloop.rankers.auto.mixture import LEAST, Mixture, mixture
from rankloop.rankers.auto.screen import screened
from rankloop.rankers.auto.search import Setting, Tried, affordable, search
from rankloop.rankers.auto.view import ALL, View
from rankloop.rankers.base.input import refuse_constant
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.per_list import normalised
from rankloop.rankers.base.ranker import Member, Ranker

__all__ = ["AutoRanker"]


@dataclass(frozen=True, eq=False)
class _Part:
    """Models of one candidate with its view of the features, and the weight of their mean."""

    name: str
    view: View
    weight: float
    rankers: list[Ranker]


@dataclass(kw_only=True, eq=False, repr=False)
class AutoRanker(Ranker):
    r"""The best mixture of trees, linear models and networks that can be trained in `minutes`.

    First it tries models on the training set and compares them on the validation set (without one, on a
    fifth of the queries): trees under several losses, of our own and of every installed library, linear
    models, a small network; each on the features as they are, with z-scores and ranks within the list
    added, or on logarithms. `backends` may name what to use ("rankloop", "lightgbm", "xgboost", "catboost",
    and "neural" for networks). A loss or a kind of network that is clearly behind is tried no further. Then
    the best are fitted again on `folds` whole-query folds of all data, training and validation, and
    weighted by their scores of the queries left out; the best `members` are kept, and fitted again on
    other folds, up to `divisions` of the queries in all:

    .. math:: s(x) = \sum_m w_m \, \frac{1}{B} \sum_b \mathrm{zscore}_q(s_{mb}(x))

    Where the time is too short for that, models of the first part are weighted as they are, and those that
    count most are fitted on all data too. The time is kept, up to the end of a fit that cannot be stopped; an
    interrupt (Ctrl-C) ends it with the best so far. What fits in the time depends on the machine; with
    `fits`, the number of models to try, and minutes to spare the result depends on the seed alone.

    `leaderboard_` is a table of what was tried, `reasons_` says why the mixture is what it is.
    `valid_scores_` are scores of the validation set by models that were not fitted on it, as those of
    `predict` are.

    >>> from rankloop.data import synthetic
    >>> train, valid = synthetic(n_queries=60, docs_per_query=10, n_features=5, seed=0).split(0.7, seed=0)
    >>> ranker = AutoRanker(minutes=0.05, backends=["lightgbm"], threads=1).fit(train, valid)
    >>> ranker.predict(valid).shape, len(ranker.leaderboard_.rows) > 0
    ((175,), True)
    """

    _honours: ClassVar[frozenset[str]] = frozenset({"query_weight", "item_weight"})
    _libraries: ClassVar[tuple[str, ...]] = (
        "numpy",
        "scikit-learn",
        "lightgbm",
        "xgboost",
        "catboost",
        "torch",
    )

    minutes: float = 10.0
    fits: int | None = None
    metric: str | Metric = "ndcg@10"
    members: int = 6
    folds: int = 4
    divisions: int = 3
    backends: Sequence[str] | None = None
    threads: int | None = None
    seed: int = 0

    @property
    def needs_lists(self) -> bool:
        return True

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        self._check()
        refuse_constant(train)
        clock = Clock(60 * self.minutes)
        backends = installed_backends(self.backends)
        size = (self.folds, self.members, self.divisions)
        setting = Setting(self.metric, self.threads, self.seed, backends, self.fits, *size)
        whole = divided(train, valid, self.seed)
        some = affordable(whole, clock, setting, ALL)
        seen = screened(some, clock, setting)
        over = affordable(whole, clock, setting, seen.view)
        same = over.sampled == some.sampled
        tried = search(over, clock, setting, seen.view, seen.tried if same else [])
        found = mixture(tried, over, clock, setting)
        self.parts_ = [
            _Part(bag.candidate.name, bag.candidate.view, float(weight), bag.rankers)
            for bag, weight in zip(found.bags, found.stack.weights, strict=True)
            if weight > LEAST
        ]
        self._record_unseen(found, over, valid)
        why = self._why(tried, found, over, valid is not None, clock)
        self.reasons_ = [*why, *([seen.reason] if seen.reason else []), *told(setting.failures)]
        self._rows = self._board(tried)

    def _record_unseen(self, found: Mixture, over: Division, valid: RankingDataset | None) -> None:
        """The metric on queries by models that were not trained on them, which the fitted mixture was."""
        objective = Objective.of(self.metric, found.data)
        scores = found.scores @ found.stack.weights
        values = objective.values(scores)
        name, weight = str(objective.metric), found.data.query_weight
        if found.queries is not None:
            self.metrics_["out of fold"] = {name: objective.metric.mean(values, weight)}
        if valid is not None:
            every = np.ones(len(values), bool)
            last = every if found.queries is None else np.isin(found.queries, over.held)
            mean = objective.metric.mean(values[last], None if weight is None else weight[last])
            self.metrics_["valid"] = {name: mean}
            seen = scores[np.repeat(last, found.data.lengths)]
            if len(seen) == valid.n_documents:
                self.valid_scores_ = seen

    def _check(self) -> None:
        minutes: Any = self.minutes
        if not isinstance(minutes, Real) or not 0 < float(minutes) < math.inf:
            raise ValueError(f"minutes must be a number above 0, got {minutes!r}")
        for name, least in (("members", 1), ("folds", 2), ("divisions", 1), ("fits", 1)):
            value = getattr(self, name)
            if (name != "fits" or value is not None) and (not isinstance(value, Integral) or value < least):
                raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}")

    def _why(
        self, tried: Sequence[Tried], found: Mixture, over: Division, given: bool, clock: Clock
    ) -> list[str]:
        """One sentence for each decision."""
        best = tried[0]
        where = "the validation set" if given else "a fifth of the queries"
        if len(over.held) == over.everything.n_queries:
            where = "the queries that they were trained on, as there are too few to leave some out"
        by_query = max((one.value for one in tried if one.candidate.view.by_query), default=-np.inf)
        plain = max((one.value for one in tried if not one.candidate.view.by_query), default=-np.inf)
        if over.sampled < 1:
            where += f", trained on {over.sampled:.0%} of the documents to save time"
        word = "model was" if len(tried) == 1 else "models were"
        about = found.about
        if "out of fold" in self.metrics_:
            unseen = self.metrics_["out of fold"][str(known(self.metric))]
            about += f"; on the queries left out the mixture has {self.metric} {unseen:.4f}"
        lines = [
            f"{len(tried)} {word} tried on {where}; the best single one is {best.candidate.name} "
            f"({best.candidate.view.name}) with {self.metric} {abs(best.value):.4f}",
            about,
            found.stack.reason,
            f"{clock.spent:.0f} of {clock.seconds:.0f} seconds were used",
        ]
        if np.isfinite(by_query) and np.isfinite(plain):
            word = "help" if by_query > plain else "do not help"
            lines.insert(
                1, f"z-scores and ranks within the list {word} ({abs(by_query):.4f}, {abs(plain):.4f})"
            )
        return lines

    def _board(self, tried: Sequence[Tried]) -> list[list[str]]:
        weights = {(part.name, part.view): part.weight for part in self.parts_}
        return [
            [
                one.candidate.name,
                one.candidate.view.name,
                f"{abs(one.value):.4f}",
                f"{one.seconds:.1f}",
                f"{weights.get((one.candidate.name, one.candidate.view), 0):.2f}",
            ]
            for one in tried
        ]

    @property
    def leaderboard_(self) -> Table:
        """What was tried, the best first: metric on held-out queries, seconds, weight in the mixture."""
        columns = ("model", "features", str(self.metric), "seconds", "weight")
        return Table(columns, self._rows, notes=self.reasons_, left=2)

    def _scores(self, X: Singles, offsets: Ints) -> Floats:
        total = np.zeros(len(X))
        seen: dict[View, Singles] = {}
        for part in self.parts_:
            if part.view not in seen:
                seen[part.view] = part.view.of(X, offsets)
            for ranker in part.rankers:
                scores = ranker._scores(seen[part.view], offsets)
                total += part.weight / len(part.rankers) * normalised(scores, offsets, "zscore")
        return total

    def _state(self) -> dict[str, Member]:
        from rankloop.rankers.saving.load import dumps

        parts: list[dict[str, Any]] = []
        state: dict[str, Member] = {}
        for number, part in enumerate(self.parts_):
            parts.append(
                {
                    "name": part.name,
                    "view": part.view.to_dict(),
                    "weight": part.weight,
                    "rankers": len(part.rankers),
                }
            )
            state |= {f"ranker.{number}.{i}": dumps(one) for i, one in enumerate(part.rankers)}
        about = {"parts": parts, "reasons": self.reasons_, "leaderboard": self._rows}
        return {"mixture": json.dumps(about), **state}

    def _restore(self, state: Mapping[str, Member]) -> None:
        from rankloop.rankers.saving.load import loads

        about = json.loads(str(state["mixture"]))
        self.reasons_, self._rows = about["reasons"], about["leaderboard"]
        self.parts_ = []
        for number, one in enumerate(about["parts"]):
            members: list[Any] = [state[f"ranker.{number}.{i}"] for i in range(one["rankers"])]
            rankers = [loads(member) for member in members]
            self.parts_.append(_Part(one["name"], View.from_dict(one["view"]), one["weight"], rankers))
