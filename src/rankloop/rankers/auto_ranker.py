"""The best ranker that a number of minutes gives."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, ClassVar

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop._table import Table
from rankloop.data import RankingDataset
from rankloop.metrics import Metric
from rankloop.metrics import metric as known
from rankloop.rankers.auto.bags import Bag, Folds, bags, chosen, repeated
from rankloop.rankers.auto.candidates import installed_backends
from rankloop.rankers.auto.clock import Clock
from rankloop.rankers.auto.search import Setting, Tried, affordable, search
from rankloop.rankers.auto.stack import Stack, stack
from rankloop.rankers.auto.view import View
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.per_list import normalised
from rankloop.rankers.base.ranker import Member, Ranker

__all__ = ["AutoRanker"]

HELD_OUT = 0.2  # of the queries, where no validation set is given
AVERAGED = 10  # models, where there is no time for bags
TRIED = 2  # times as many members are bagged as are kept
LEAST = 1e-3  # weight of a model that is kept


@dataclass(frozen=True, eq=False)
class _Part:
    """Models of one candidate with its view of the features, and the weight of their mean."""

    name: str
    view: View
    weight: float
    rankers: list[Ranker]


@dataclass(kw_only=True, eq=False, repr=False)
class AutoRanker(Ranker):
    r"""A mixture of the best models that `minutes` of time give: trees, linear models and networks.

    First it tries models on the training set and compares them on the validation set (without one, on a
    fifth of the queries): trees under several losses and of every installed library (`backends`), linear
    models, a small network; each on the features as they are, or with z-scores and ranks within the list
    added. Then the best `members` are fitted again on `folds` whole-query folds of all data, training and
    validation, and weighted by their scores of the queries left out:

    .. math:: s(x) = \sum_m w_m \, \frac{1}{B} \sum_b \mathrm{zscore}_q(s_{mb}(x))

    Where the time is too short for that, the best models of the first part are averaged. The time is kept,
    up to the end of a fit that cannot be stopped; an interrupt (Ctrl-C) ends it with the best so far.
    `leaderboard_` is a table of what was tried, `reasons_` says why the mixture is what it is. What fits in
    the time depends on the machine; with `fits`, the number of models to try, and minutes to spare the
    result depends on the seed alone.

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
    repeats: int = 3
    backends: Sequence[str] | None = None
    threads: int | None = None
    seed: int = 0

    @property
    def needs_lists(self) -> bool:
        return True

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        self._check()
        clock = Clock(60 * self.minutes)
        backends = installed_backends(self.backends)
        setting = Setting(self.metric, self.threads, self.seed, backends, self.fits)
        fitted, held = affordable(*_divided(train, valid, self.seed), clock, setting)
        tried = search(fitted, held, clock, setting)
        everything = train if valid is None else _joined(train, valid)
        made: list[Bag] = []
        if everything.n_queries >= 2 * self.folds:
            some = chosen(tried, TRIED * self.members)
            made, over = bags(some, everything, fitted.n_documents, clock, self.folds, setting)
        if made:
            made, found, about = self._mixed(made, over, clock, setting)
            self._record_unseen(made, found, over, valid)
            parts = [
                _Part(bag.candidate.name, bag.candidate.view, float(weight), bag.rankers)
                for bag, weight in zip(made, found.weights, strict=True)
            ]
        else:
            best = tried[: min(AVERAGED, ceil(len(tried) / 3))]
            about = f"the best {len(best)} are averaged, as there was no time for folds"
            found = Stack(np.full(len(best), 1 / len(best)), "equal weights: there was no time for folds")
            parts = [
                _Part(one.candidate.name, one.candidate.view, 1 / len(best), [one.ranker]) for one in best
            ]
        self.parts_ = [part for part in parts if part.weight > LEAST]
        sampled = fitted.n_documents / _divided(train, valid, self.seed)[0].n_documents
        self.reasons_ = self._why(tried, about, found, valid is not None, sampled, clock) + setting.failures
        self._rows = self._board(tried)

    def _mixed(
        self, made: list[Bag], over: Folds, clock: Clock, setting: Setting
    ) -> tuple[list[Bag], Stack, str]:
        """The bags that count most, fitted again on other folds while there is time, and their weights."""
        bagged = len(made)
        found = self._stacked(made, over)
        order = np.argsort(-found.weights, kind="stable")[: self.members]
        made = [made[at] for at in order if found.weights[at] > LEAST]
        made, divisions = repeated(made, over, clock, self.repeats, setting)
        about = f"{bagged} of the best were fitted again on {over.used} of {over.count} folds of all queries"
        if divisions > 1:
            about += f", those that count in {divisions} divisions into folds"
        return made, self._stacked(made, over), about

    def _stacked(self, made: Sequence[Bag], over: Folds) -> Stack:
        seen, scores = over.unseen([bag.scores for bag in made])
        return stack(scores, seen, self.metric, seed=self.seed)

    def _record_unseen(
        self, made: Sequence[Bag], found: Stack, over: Folds, valid: RankingDataset | None
    ) -> None:
        """The metric on queries by models that were not trained on them, which the fitted mixture was."""
        seen, scores = over.unseen([bag.scores for bag in made])
        objective = Objective.of(self.metric, seen)
        values = objective.values(scores @ found.weights)
        name = str(objective.metric)
        self.metrics_["out of fold"] = {name: objective.metric.mean(values, seen.query_weight)}
        if valid is not None:
            last = over.left_out >= over.data.n_queries - valid.n_queries
            weight = None if seen.query_weight is None else seen.query_weight[last]
            self.metrics_["valid"] = {name: objective.metric.mean(values[last], weight)}

    def _check(self) -> None:
        if not self.minutes > 0:
            raise ValueError(f"minutes must be above 0, got {self.minutes}")
        for name, least in (("members", 1), ("folds", 2), ("repeats", 1), ("fits", 1)):
            if getattr(self, name) is not None and getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")

    def _why(
        self, tried: Sequence[Tried], about: str, found: Stack, given: bool, sampled: float, clock: Clock
    ) -> list[str]:
        """One sentence for each decision."""
        best = tried[0]
        where = "the validation set" if given else "a fifth of the queries"
        by_query = max((one.value for one in tried if one.candidate.view.by_query), default=-np.inf)
        plain = max((one.value for one in tried if not one.candidate.view.by_query), default=-np.inf)
        if sampled < 1:
            where += f", trained on {sampled:.0%} of the documents to save time"
        if "out of fold" in self.metrics_:
            unseen = self.metrics_["out of fold"][str(known(self.metric))]
            about += f"; on the queries left out the mixture has {self.metric} {unseen:.4f}"
        lines = [
            f"{len(tried)} models were tried on {where}; the best single one is {best.candidate.name} "
            f"({best.candidate.view.name}) with {self.metric} {abs(best.value):.4f}",
            about,
            found.reason,
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


def _divided(
    train: RankingDataset, valid: RankingDataset | None, seed: int
) -> tuple[RankingDataset, RankingDataset]:
    """What models are fitted on, and compared on."""
    if valid is not None:
        return train, valid
    if train.n_queries < 5:
        return train, train
    fitted, held = train.split(1 - HELD_OUT, seed=seed)
    return fitted, held


def _joined(train: RankingDataset, valid: RankingDataset) -> RankingDataset:
    """Both as one set; queries of the same name in both are two queries."""
    weights = {
        name: np.concatenate([_weights(part, name) for part in (train, valid)])
        for name in ("query_weight", "item_weight")
        if getattr(train, name) is not None or getattr(valid, name) is not None
    }
    return RankingDataset.from_groups(
        np.concatenate([train.X, valid.X]),
        np.concatenate([train.y, valid.y]),
        np.concatenate([train.lengths, valid.lengths]),
        **weights,
    )


def _weights(data: RankingDataset, name: str) -> Singles:
    found: Singles | None = getattr(data, name)
    if found is not None:
        return found
    return np.ones(data.n_queries if name == "query_weight" else data.n_documents, np.float32)
