"""Checksums of files: what changed on a disk is an error, not another answer."""

import hashlib
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rankloop._json import parse_json

__all__ = ["BLOCK", "checked_json", "damaged_at", "file_hash", "file_sums", "signed_json"]

BLOCK = 1 << 20  # bytes of a file that share a checksum
_SIGNED = re.compile(r',\n "digest": "([0-9a-f]{32})"\n}\n\Z')


def file_sums(path: Path) -> list[int]:
    """The CRC-32 of each block of a file."""
    sums = []
    with open(path, "rb") as file:
        while part := file.read(BLOCK):
            sums.append(zlib.crc32(part))
    return sums


def damaged_at(path: Path, sums: Sequence[int]) -> int | None:
    """The first byte of the first block that changed; None if the file is as it was written."""
    found = file_sums(path)
    for number in range(max(len(found), len(sums))):
        if found[number : number + 1] != list(sums[number : number + 1]):
            return number * BLOCK
    return None


def file_hash(path: Path) -> str:
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def signed_json(content: Mapping[str, Any]) -> str:
    """A manifest as JSON text; its last entry is a hash of all that is before it."""
    text = json.dumps({**content, "signed": True}, indent=1)
    return f'{text.removesuffix(chr(10) + "}")},\n "digest": "{_hash(text)}"\n}}\n'


def checked_json(text: str, *, signed: bool = False) -> Any:
    """The content of `signed_json`; a text that was changed since is a `ValueError`.

    Manifests from before there were signatures have none, unless `signed` asks for one.

    >>> checked_json(signed_json({"rows": 1}))["rows"]
    1
    >>> checked_json(signed_json({"rows": 1}).replace("1", "2"))
    Traceback (most recent call last):
    ValueError: it was changed after it was written
    """
    found = _SIGNED.search(text)
    if found is None:
        if signed or '"signed": true' in text or '"digest": "' in text:
            raise ValueError("it was changed after it was written")
    elif _hash(text[: found.start()] + "\n}") != found[1]:
        raise ValueError("it was changed after it was written")
    return parse_json(text)


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
