"""Rankers made of rankers: fitting the parts, their scores, and one file for all."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from sklearn.base import clone

from rankloop._arrays import Floats, Ints, Singles
from rankloop.data import RankingDataset
from rankloop.rankers.base.ranker import Member, Ranker

__all__ = ["RankerOfRankers"]


class RankerOfRankers(Ranker):
    """`fit` fits copies of the parts, or takes them as they are with `prefit=True`.

    Parts that are all fitted need no `fit` unless something is learned on top of them.
    """

    # Each part refuses itself what it cannot use.
    _honours: ClassVar[frozenset[str]] = frozenset({"query_weight", "item_weight", "position", "pairs"})
    _unsaved: ClassVar[frozenset[str]] = frozenset({"rankers"})
    _needs_preferences: ClassVar[bool] = False

    rankers: Sequence[Ranker]
    prefit: bool
    rankers_: list[Ranker]

    @property
    def needs_lists(self) -> bool:
        return True

    def _learns_on_top(self) -> bool:
        return False

    def _fitted_parts(self, train: RankingDataset, valid: RankingDataset | None) -> list[Ranker]:
        if len(self.rankers) == 0:
            raise ValueError(f"{type(self).__name__} needs at least one ranker, got none")
        if not self.prefit:
            return [clone(ranker).fit(train, valid) for ranker in self.rankers]
        for ranker in self.rankers:
            ranker._check_fitted()
        return list(self.rankers)

    def __sklearn_is_fitted__(self) -> bool:
        if super().__sklearn_is_fitted__():
            return True
        ready = len(self.rankers) > 0 and all(ranker.__sklearn_is_fitted__() for ranker in self.rankers)
        return ready and not self._learns_on_top()

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if not super().__sklearn_is_fitted__():
            self._adopt()

    def _adopt(self) -> None:
        first = self.rankers[0]
        for other in self.rankers:
            if other.n_features_in_ != first.n_features_in_:
                raise ValueError(
                    f"the rankers were trained on {first.n_features_in_} and {other.n_features_in_} "
                    "features; combine rankers of the same features"
                )
        self.n_features_in_, self.fingerprint_ = first.n_features_in_, first.fingerprint_
        if hasattr(first, "feature_names_in_"):
            self.feature_names_in_ = first.feature_names_in_
        self.metrics_, self.propensity_ = {}, first.propensity_
        self.rankers_ = list(self.rankers)

    def _part_scores(self, X: Singles, offsets: Ints) -> list[Floats]:
        return [ranker._scores(X, offsets) for ranker in self.rankers_]

    def _state(self) -> dict[str, Member]:
        from rankloop.rankers.saving.load import dumps

        return {f"ranker.{i}": dumps(ranker) for i, ranker in enumerate(self.rankers_)}

    def _restore(self, state: Mapping[str, Member]) -> None:
        from rankloop.rankers.saving.load import loads

        names = sorted((name for name in state if name.startswith("ranker.")), key=lambda n: int(n[7:]))
        parts: list[Any] = [state[name] for name in names]
        self.rankers_ = [loads(part) for part in parts]
        self.rankers = [clone(ranker) for ranker in self.rankers_]
