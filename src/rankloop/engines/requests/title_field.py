"""Which field is the title of a document."""

from collections.abc import Mapping

from rankloop.search import Field

__all__ = ["title_field"]


def title_field(fields: Mapping[str, Field]) -> str:
    """The field `title` or `name`, else the first text field, else the id.

    >>> title_field({"price": Field("number"), "heading": Field("text")})
    'heading'
    """
    texts = [name for name, field in fields.items() if field.kind == "text"]
    return next((name for name in ("title", "name") if name in fields), texts[0] if texts else "id")
