"""The formats of judgments by name, and which one a text is."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rankloop.data.files.records import Faults
from rankloop.data.judging import quepid, rre, tables, workbench
from rankloop.data.judgment import Judgment

__all__ = ["READERS", "WRITERS", "form_of"]

Read = tuple[
    Iterable[Judgment], str, Mapping[str, Any]
]  # rows, the name of the collection, what else it says

READERS: dict[str, Callable[[str, Faults], Read]] = {
    "beir": tables.read_beir,
    "o19s": tables.read_o19s,
    "quepid": tables.read_basic,
    "quepid-book": quepid.read_book,
    "quepid-detailed": tables.read_detailed,
    "quepid-json": quepid.read_ratings,
    "rre": rre.read,
    "trec": tables.read_trec,
    "workbench": workbench.read,
}
WRITERS: dict[str, Callable[[Sequence[Judgment], str, Mapping[str, Any]], str]] = {
    "beir": tables.write_beir,
    "o19s": tables.write_o19s,
    "quepid": tables.write_basic,
    "quepid-book": quepid.write_book,
    "quepid-detailed": tables.write_detailed,
    "quepid-json": quepid.write_ratings,
    "rre": rre.write,
    "trec": tables.write_trec,
    "workbench": workbench.write,
}
_KEYS = {  # of JSON: what marks each tool
    "workbench": (r'"judgmentRatings"\s*:',),
    "quepid-book": (r'"query_doc_pairs"\s*:',),
    "rre": (r'"relevant_documents"\s*:',),
    "quepid-json": (r'"queries"\s*:\s*\[', r'"ratings"\s*:\s*\{'),
}
_COLUMNS = {
    "quepid-detailed": {"querytext", "docid", "rating"},
    "quepid": {"query", "docid", "rating"},
    "o19s": {"grade", "keywords", "docid"},
    "beir": {"queryid", "corpusid", "score"},
}


def form_of(text: str) -> str | None:
    """The format of a text, by its keys, its header or its first line.

    >>> form_of("grade,keywords,docId"), form_of("q1 0 d7 2"), form_of("a sentence")
    ('o19s', 'trec', None)
    """
    line = next((one for one in text.split("\n") if one.strip()), "").strip()
    if line[:1] in ("{", "["):
        return next((form for form, keys in _KEYS.items() if all(re.search(key, text) for key in keys)), None)
    header = {tables.letters(one) for one in re.split(r"[,\t]", line)}
    for form, columns in _COLUMNS.items():
        if columns <= header:
            return form
    fields = tables.between_blanks(line)
    return "trec" if len(fields) == 4 and re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", fields[3], re.I) else None
