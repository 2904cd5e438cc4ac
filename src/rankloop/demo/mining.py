"""Comments that read like searches, for training only."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rankloop.demo.usage import Usage, source_text

__all__ = ["Mined", "mined_queries", "promising"]

_VERBS = frozenset(
    [
        *("add", "append", "build", "calculate", "change", "clean", "clear", "close", "collect", "combine"),
        *("compare", "compile", "compress", "compute", "convert", "copy", "count", "create", "decode"),
        *("delete", "download", "drop", "dump", "encode", "escape", "execute", "expand", "extract", "fetch"),
        *("fill", "filter", "find", "flatten", "flush", "format", "generate", "get", "group", "guess"),
        *("import", "insert", "iterate", "join", "kill", "limit", "list", "load", "lock", "look", "map"),
        *("match", "measure", "merge", "move", "normalize", "open", "parse", "pick", "print", "read"),
        *("record", "register", "remove", "rename", "replace", "reset", "resolve", "restore", "reverse"),
        *("round", "run", "save", "schedule", "search", "select", "send", "serialize", "shuffle", "skip"),
        *("sleep", "sort", "spawn", "split", "start", "stop", "store", "strip", "sum", "swap", "transform"),
        *("truncate", "unpack", "update", "wait", "walk", "wrap", "write"),
    ]
)
_UBIQUITOUS = frozenset(
    [
        *("len", "isinstance", "range", "print", "str", "int", "list", "dict", "set", "tuple", "getattr"),
        *("hasattr", "setattr", "super", "type", "repr", "bool", "float", "bytes", "iter", "next", "id"),
        *("issubclass", "callable", "vars", "property", "staticmethod", "classmethod", "object", "frozenset"),
    ]
)
_CODE = re.compile(
    r"[`=<>{}\[\]()_/\\]|https?:|\bTODO\b|\bFIXME\b|\bXXX\b|noqa|pragma|pylint|type:|#\d|\d{3,}"
)
_STOP = frozenset(
    [
        *("a", "an", "and", "as", "at", "by", "for", "from", "if", "in", "into", "is", "it", "its", "of"),
        *("on", "or", "so", "that", "the", "then", "this", "to", "we", "with"),
    ]
)


_ABOVE_CODE = re.compile(
    rf"^[ \t]*#[ \t]*((?:{'|'.join(sorted(_VERBS))})\b[^\n]*)\n(?=[ \t]*[^#\s])", re.MULTILINE | re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Mined:
    """A comment as a search, its package, and graded answers."""

    text: str
    package: str
    answers: dict[str, int]


def mined_queries(
    usage: Usage,
    canonical: Mapping[str, str],
    words: Mapping[str, frozenset[str]],
    stem: Callable[[str], str],
) -> list[Mined]:
    """Imperative comments that share a stem with what they stand above; each text once.

    `canonical` leads from a dotted name to a document, `words` from a document to the stems of its
    name and summary.
    """
    seen: Counter[str] = Counter(comment.text.lower() for comment in usage.comments)
    found = []
    for comment in usage.comments:
        text = comment.text.rstrip(".:! ").strip()
        if seen[comment.text.lower()] > 1 or not _reads_like_a_search(text):
            continue
        stems = {stem(word) for word in re.findall(r"[a-z]+", text.lower())} - _STOP
        answers: dict[str, int] = {}
        for name, grade in comment.calls.items():
            document = canonical.get(name)
            if document and document not in _UBIQUITOUS and stems & words[document]:
                answers[document] = max(grade, answers.get(document, 0))
        if answers:
            found.append(Mined(text, comment.package, answers))
    return found


def promising(files: Iterable[tuple[str, Path]], *, seconds: float) -> list[tuple[str, Path]]:
    """The files with comments that read like searches, those with most of them for their length first."""
    end = time.monotonic() + seconds
    found = []
    for package, path in files:
        if time.monotonic() > end:
            break
        text = source_text(path) or ""
        comments = sum(map(_reads_like_a_search, (one.rstrip(".:! ") for one in _ABOVE_CODE.findall(text))))
        if comments:
            found.append((comments / len(text), package, path))
    return [(package, path) for _, package, path in sorted(found, key=lambda one: -one[0])]


def _reads_like_a_search(text: str) -> bool:
    words = text.split()
    if not 3 <= len(words) <= 12 or not text.isascii() or _CODE.search(text):
        return False
    letters = sum(character.isalpha() or character == " " for character in text)
    content = [word for word in words if word.lower() not in _STOP]
    return letters >= 0.9 * len(text) and len(content) >= 2 and words[0].lower() in _VERBS
