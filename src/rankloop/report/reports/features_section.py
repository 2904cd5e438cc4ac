"""What a ranker looks at, by whatever it can be asked."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankloop.report.figure import Figure
from rankloop.report.importance import importance

if TYPE_CHECKING:
    from rankloop.data import RankingDataset

__all__ = ["looked_at"]

_LISTS = 100  # queries that features are shuffled on, where a ranker says nothing by itself
_FEATURES = 400  # and how many are shuffled at most


def looked_at(ranker: Any, lists: "RankingDataset | None" = None) -> Iterator[Figure | str]:
    """By split and gain where trees were grown, by its weights where it has some, else by shuffling."""
    import rankloop.rankers as family
    from rankloop.rankers.base.feature_names import feature_names

    try:
        counted = {by: family.importance(ranker, by=by) for by in ("split", "gain")}
        yield importance(counted, note="How often trees split on a feature, and what the splits gained.")
        return
    except ValueError:  # no trees, or a backend that keeps no count
        weights = getattr(ranker, "coef_", None)
    names = feature_names(ranker)
    if weights is not None:
        found = {"weight": (names, weights)}
        yield importance(found, signed=True, note="Weights of the standardised features, the largest first.")
    elif lists is None:
        yield "Without judged lists nothing can be said about the features of this ranker."
    elif len(names) > _FEATURES:
        yield f"{len(names):,} features are too many to shuffle one by one here; rankloop explain does it."
    else:
        some = lists.select(range(min(lists.n_queries, _LISTS)))
        lost = family.importance(ranker, some, repeats=1)
        said = f"What {lost.by} loses when a feature is shuffled within each of {some.n_queries:,} queries."
        yield importance(lost, note=said)
