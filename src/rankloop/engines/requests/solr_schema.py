"""The schema of a Solr collection, as fields of rankloop."""

from collections.abc import Mapping
from typing import Any

from rankloop.search import Analyser, Field
from rankloop.search.index.snapshot import Manifest

__all__ = ["solr_schema"]


def solr_schema(schema: Mapping[str, Any]) -> Manifest:
    """Text, string, number and date fields that are declared; dynamic fields are not seen."""
    kinds = {one["name"]: _kind(one["class"]) for one in schema["fieldTypes"]}
    key = str(schema.get("uniqueKey", "id"))
    fields = {
        one["name"]: Field(kind)
        for one in schema["fields"]
        if (kind := kinds.get(one["type"])) is not None
        and not one["name"].startswith("_")
        and one["name"] not in (key, "id")
        and one.get("indexed", True)
    }
    return Manifest(fields, Analyser(), id_field=key)


def _kind(name: str) -> str | None:
    """The kind of a Solr class; None for those that cannot be searched here.

    >>> _kind("solr.IntPointField"), _kind("solr.TextField"), _kind("solr.LatLonPointSpatialField")
    ('number', 'text', None)
    """
    short = name.rpartition(".")[2]
    if short in ("TextField", "SortableTextField"):
        return "text"
    if short in ("StrField", "BoolField"):
        return "keyword"
    if short in ("DatePointField", "TrieDateField"):
        return "date"
    numbers = ("IntPointField", "LongPointField", "FloatPointField", "DoublePointField")
    return "number" if short in numbers else None
