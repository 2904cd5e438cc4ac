"""The manifest of a folder, held to the same sentences as the manifest of an archive."""

from collections.abc import Mapping
from typing import Any

import rankloop
from rankloop._checksums import checked_json

__all__ = ["parse_manifest"]


def parse_manifest(
    content: bytes, where: str, what: str, *, kind: str, format: int, fields: Mapping[str, type], again: str
) -> dict[str, Any]:
    """A manifest whose kind begins with `kind`; `again` tells a user how to make the folder again.

    >>> parse_manifest(b"{}", "a.json", "data set", kind="set", format=1, fields={}, again="save it again")
    Traceback (most recent call last):
    ValueError: a.json does not describe a data set; save it again
    """
    try:
        manifest = checked_json(content.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is damaged, cut short or not of a {what} ({error}); {again}") from None
    if not isinstance(manifest, dict) or not str(manifest.get("kind", "")).startswith(kind):
        raise ValueError(f"{where} does not describe a {what}; {again}")
    number = manifest.get("format")
    if not isinstance(number, int) or number > format:
        raise ValueError(
            f"{where} has format {number}; this is rankloop {rankloop.__version__}, which reads format "
            f"{format}: upgrade rankloop"
        )
    if number < format:
        raise ValueError(f"{where} was written by an older rankloop (format {number}); {again}")
    for name, type_ in fields.items():
        if not isinstance(manifest.get(name), type_):
            raise ValueError(f"{where} has no {name}; {again}")
    return manifest
