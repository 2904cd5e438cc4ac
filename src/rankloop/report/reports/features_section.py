"""The section about features: which ones a ranker uses."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankloop.report.figure import Figure
from rankloop.report.importance_picture import importance_picture

if TYPE_CHECKING:
    from rankloop.data import RankingDataset

__all__ = ["features_section"]

_LISTS = 100  # queries for permutation importance, where a ranker has no importance of its own
_FEATURES = 400  # features for permutation importance at most


def features_section(ranker: Any, lists: "RankingDataset | None" = None) -> Iterator[Figure | str]:
    """Importance by split and gain for trees, by weights for linear rankers, else by permutation."""
    import rankloop.rankers as family
    from rankloop.rankers.base.feature_names import feature_names

    try:
        counted = {by: family.importance(ranker, by=by) for by in ("split", "gain")}
        yield importance_picture(
            counted, note="How often trees split on a feature, and what the splits gained."
        )
        return
    except ValueError:  # no trees, or a backend without counts
        weights = getattr(ranker, "coef_", None)
    names = feature_names(ranker)
    if weights is not None:
        found = {"weight": (names, weights)}
        yield importance_picture(
            found, signed=True, note="Weights of the standardised features, the largest first."
        )
    elif lists is None:
        yield "The importance of features needs judged lists for this ranker."
    elif len(names) > _FEATURES:
        yield f"{len(names):,} features are too many for permutation importance here; see rankloop explain."
    else:
        some = lists.select(range(min(lists.n_queries, _LISTS)))
        lost = family.importance(ranker, some, resamples=1)
        note = f"Loss of {lost.by} when a feature is shuffled within each of {some.n_queries:,} queries."
        yield importance_picture(lost, note=note)
