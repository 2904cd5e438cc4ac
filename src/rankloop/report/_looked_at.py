"""What a ranker looks at, by whatever it can be asked."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankloop.report.figure import Figure
from rankloop.report.importance import importance

if TYPE_CHECKING:
    from rankloop.data import RankingDataset

__all__ = ["looked_at"]

_LISTS = 200  # queries that features are shuffled on, where there are no splits to count


def looked_at(ranker: Any, lists: "RankingDataset | None" = None) -> Iterator[Figure | str]:
    """By split and by gain where trees were grown, by shuffling otherwise."""
    import rankloop.rankers as family

    try:
        counted = {by: family.importance(ranker, by=by) for by in ("split", "gain")}
    except ValueError:  # no trees, or an engine that keeps no count
        if lists is None:
            yield "Without judged lists nothing can be said about the features of this ranker."
            return
        some = lists.select(range(min(lists.n_queries, _LISTS)))
        found = family.importance(ranker, some, repeats=2)
        yield importance(found, note=f"What {found.by} loses when a feature is shuffled within each query.")
        return
    yield importance(counted, note="How often trees split on a feature, and what the splits gained.")
