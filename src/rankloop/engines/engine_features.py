"""Features of documents as an engine computes them."""

from typing import NamedTuple

from rankloop._arrays import Singles

__all__ = ["EngineFeatures"]


class EngineFeatures(NamedTuple):
    """One row per document, one column per feature; nan where the engine gave no number."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    values: Singles
