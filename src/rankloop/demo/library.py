"""The Python standard library of this machine: documents, and searches with graded answers."""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

__all__ = ["Library", "read_library", "split_name"]

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class Library:
    """Documents by name, the canonical name of every alias, and the written searches with their answers."""

    documents: dict[str, dict[str, Any]]
    canonical: dict[str, str]
    searches: dict[str, dict[str, int]]
    dropped: int
    """Answers that this Python version does not have."""


def read_library() -> Library:
    """Crawl the standard library in a process of its own, and resolve the written searches against it."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "documents.jsonl"
        subprocess.run([sys.executable, "-m", "rankloop.demo.crawl", str(target)], check=True)
        lines = target.read_text(encoding="utf-8").splitlines()
    documents = {document["name"]: document for document in map(json.loads, lines)}
    canonical = {alias: name for name, document in documents.items() for alias in document["aliases"]}
    canonical.update({name: name for name in documents})
    searches, dropped = _searches(canonical)
    return Library(documents, canonical, searches, dropped)


def _searches(canonical: Mapping[str, str]) -> tuple[dict[str, dict[str, int]], int]:
    written = (files("rankloop.demo") / "queries.txt").read_text(encoding="utf-8")
    searches: dict[str, dict[str, int]] = {}
    dropped = 0
    for line in written.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        words, _, answers = line.partition("|")
        graded: dict[str, int] = {}
        for answer in answers.split():
            name, _, grade = answer.rpartition("=")
            if name in canonical:
                graded[canonical[name]] = max(int(grade), graded.get(canonical[name], 0))
            else:
                dropped += 1
        if graded:
            searches[words.strip()] = graded
    return searches, dropped


def split_name(name: str) -> str:
    """A dotted name as words, with the joined forms beside them.

    >>> split_name("tempfile.TemporaryDirectory")
    'tempfile TemporaryDirectory Temporary Directory'
    >>> split_name("os.path.join")
    'os path join'
    """
    words: list[str] = []
    for part in name.split("."):
        pieces = [piece for snake in part.split("_") for piece in _CAMEL.split(snake) if piece]
        words += [part, *pieces] if len(pieces) > 1 else [part]
    return " ".join(words)
