"""Features of documents as an engine computes them."""

from collections.abc import Sequence
from typing import NamedTuple

from rankloop._arrays import Singles
from rankloop.engines.unsupported import Unsupported

__all__ = ["EngineFeatures", "declared_names"]


class EngineFeatures(NamedTuple):
    """One row per document, one column per feature; nan where the engine gave no number."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    values: Singles


def declared_names(
    names: Sequence[str] | None, declared: Sequence[str], place: str, who: str
) -> tuple[str, ...]:
    """The features asked for, by default all that were declared at a `place` of the engine."""
    columns = tuple(declared if names is None else names)
    missing = [name for name in columns if name not in declared]
    if missing:
        raise Unsupported(
            f"{missing[0]} is not in the {place}; put it there with declare(), or, where {who} does not "
            "compute it, join rl.Features to the engine's retriever"
        )
    return columns
