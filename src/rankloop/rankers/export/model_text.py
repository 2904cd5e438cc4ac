"""The text of a ranker's forest, and where an export is written."""

from pathlib import Path

from rankloop._atomic import replacing
from rankloop.rankers.base.ranker import Ranker

__all__ = ["model_text", "written"]


def model_text(ranker: Ranker | str) -> str | None:
    """The text of the model of a fitted ranker that has a forest (see `compile_forest`), else None."""
    if isinstance(ranker, str):
        return ranker
    ranker._check_fitted()
    text = getattr(getattr(ranker, "forest_", None), "text", None)
    return text if isinstance(text, str) else None


def written(text: str, path: str | Path | None) -> str:
    """The text, after writing it to `path` if there is one."""
    if path is not None:
        with replacing(path) as beside:
            beside.write_text(text, encoding="utf-8")
    return text
