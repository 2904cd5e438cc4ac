"""The texts that the rows of a data set refer to."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankloop._arrays import Ints
from rankloop.data import RankingDataset

__all__ = ["document_text", "own_fields", "text_of", "texts_of"]


def texts_of(
    data: RankingDataset, documents: Any, fields: Sequence[str] | None
) -> tuple[list[str], list[str], Ints, Ints]:
    """Texts of queries and documents, each once, and for every row the number of both."""
    if data.query_text is None or data.docid is None:
        missing = "query_text" if data.query_text is None else "docid"
        raise ValueError(
            f"a TextRanker reads the text of queries and documents, but the data set has no {missing}; "
            f"give RankingDataset(..., {missing}=...)"
        )
    if documents is None:
        raise ValueError(
            "a TextRanker needs the texts of the documents: TextRanker(..., documents={id: {'title': ...}}), "
            "or an index"
        )
    fields = own_fields(documents) if fields is None else fields
    ids, number = np.unique(data.docid, return_inverse=True)
    texts = [document_text(documents, one, fields) for one in ids.tolist()]
    return [str(one) for one in data.query_text], texts, data.row_query, number.astype(np.int64)


def document_text(documents: Any, id: Any, fields: Sequence[str] | None) -> str:
    """The text of a document: a text itself, or the fields of a mapping one after the other.

    >>> document_text({7: {"title": "Red shoes", "tags": ["sale", "new"]}}, 7, ["title", "tags"])
    'Red shoes\\nsale new'
    """
    found = _found(documents, id)
    if isinstance(found, str):
        return found
    if not isinstance(found, Mapping):
        raise ValueError(f"document {id!r} must be a text or a mapping, got a {type(found).__name__}")
    return text_of(found, fields)


def text_of(document: Mapping[str, Any], fields: Sequence[str] | None) -> str:
    """The fields of a document one after the other; by default all that are texts."""
    names = [name for name, value in document.items() if _is_text(value)] if fields is None else fields
    return "\n".join(text for name in names if (text := _joined(document.get(name))))


def own_fields(documents: Any) -> list[str] | None:
    """The text fields of an index; None for a mapping, which does not declare any.

    >>> own_fields({"id": "text"}) is None
    True
    """
    declared = getattr(documents, "fields", None)
    if not isinstance(declared, Mapping):
        return None
    return [name for name, field in declared.items() if field.kind == "text" and field.source is None]


def _found(documents: Any, id: Any) -> Any:
    for key in (id, str(id)):
        try:
            return documents[key]
        except (LookupError, TypeError):
            continue
    try:
        return documents[int(id)]
    except (LookupError, TypeError, ValueError):
        raise ValueError(
            f"document {id!r} of the data set is not among the documents; are the ids the same?"
        ) from None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list | tuple) and all(isinstance(v, str) for v in value)
    )


def _joined(value: Any) -> str:
    if value is None:
        return ""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
