"""Judgments in tables: TREC, BEIR, Quepid's CSV and o19s' CSV."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite, isnan
from typing import Any

from rankloop.data.files.records import Faults
from rankloop.data.judgment import Judgment

__all__ = [
    "between_blanks",
    "letters",
    "number",
    "read_basic",
    "read_beir",
    "read_detailed",
    "read_o19s",
    "read_trec",
    "spelled",
    "write_basic",
    "write_beir",
    "write_detailed",
    "write_o19s",
    "write_trec",
]

Read = tuple[Iterable[Judgment], str, Mapping[str, Any]]
_ACTIVE = tuple("-=+@\uff0d\uff1d\uff0b\uff20")  # with a blank before them, as in Quepid, all are text
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_DETAILED = ("Team Name", "Case Name", "Case ID", "Query Text", "Doc ID", "Doc Position", "Title", "Rating")
_ENDS = ("Rating Low", "Rating High")
_AGAIN = "correct or drop the row"


def number(text: Any, at: int, field: str, faults: Faults) -> float | None:
    """A finite number, or None after a fault."""
    try:
        value = float(text)
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    if not isfinite(value):
        faults(at, field, f"wanted a number, got {text!r}", _AGAIN)
        return None
    return value


def letters(name: str) -> str:
    """The name of a column without case, blanks and signs: teams write doc_id, docId or Doc ID.

    >>> letters("Doc ID")
    'docid'
    """
    return "".join(one for one in name.lower() if one.isalnum())


def between_blanks(line: str) -> list[str]:
    """The fields of a line of TREC: as in `read_qrels`, only blanks of ASCII are between them.

    >>> between_blanks("q1 0 d\u00a07 2")
    ['q1', '0', 'd\\xa07', '2']
    """
    return [field.decode() for field in line.encode().split()]


def spelled(rating: float) -> str:
    """Whole ratings without a point; nothing for those that are missing."""
    if isnan(rating):
        return ""
    return str(int(rating)) if rating == int(rating) else repr(rating)


def read_trec(text: str, faults: Faults) -> Read:
    rows = []
    for at, line in enumerate(text.split("\n"), 1):
        fields = between_blanks(line)
        if not fields:
            continue
        if len(fields) != 4:
            faults(at, "line", f"wanted query, iteration, document and label, got {line.strip()!r}", _AGAIN)
            continue
        label = number(fields[3], at, "label", faults)
        if label is not None:
            rows.append(Judgment(fields[0], fields[2], label, qid=fields[0]))
    return rows, "", {}


def write_trec(rows: Sequence[Judgment], name: str, details: Mapping[str, Any]) -> str:
    return "".join(
        f"{query} 0 {row.docid} {spelled(row.rating)}\n" for query, row in _with_ids(rows, r"\s", "trec")
    )


def read_beir(text: str, faults: Faults) -> Read:
    rows = []
    for at, cells in _rows(text, "\t", ("query-id", "corpus-id", "score"), faults):
        rating = number(cells["score"], at, "score", faults)
        if rating is not None:
            rows.append(Judgment(cells["query-id"], cells["corpus-id"], rating, qid=cells["query-id"]))
    return rows, "", {}


def write_beir(rows: Sequence[Judgment], name: str, details: Mapping[str, Any]) -> str:
    lines = [
        f"{query}\t{row.docid}\t{spelled(row.rating)}\n"
        for query, row in _with_ids(rows, r"[\t\r\n]", "beir")
    ]
    return "query-id\tcorpus-id\tscore\n" + "".join(lines)


def read_basic(text: str, faults: Faults) -> Read:
    """Quepid's `query,doc_id,rating`; a query without ratings is a row with empty cells."""
    rows = []
    for at, cells in _rows(text, ",", ("query", "doc_id", "rating"), faults):
        query, document = _plain(cells["query"]), _plain(cells["doc_id"])
        rating: float | None = float("nan")
        if cells["rating"].strip():
            rating = number(cells["rating"], at, "rating", faults)
        if not query:
            faults(at, "query", "the query is empty", _AGAIN)
        elif rating is not None:
            rows.append(Judgment(query, document, rating))
    return rows, "", {}


def write_basic(rows: Sequence[Judgment], name: str, details: Mapping[str, Any]) -> str:
    cells = [(_inert(row.query), _inert(row.docid), spelled(row.rating)) for row in rows]
    return _table([("query", "doc_id", "rating"), *cells])


def read_detailed(text: str, faults: Faults) -> Read:
    """Quepid's detailed CSV: other columns are fields of the document."""
    rows, about = [], dict[str, Any]()
    for at, cells in _rows(text, ",", ("Query Text", "Doc ID", "Rating"), faults):
        about = about or {key: cells[key] for key in _DETAILED[:3] if cells.get(key)}
        ends = [float("nan") if not cells.get(key) else number(cells[key], at, key, faults) for key in _ENDS]
        rating: float | None = float("nan")
        if cells["Rating"].strip():
            rating = number(cells["Rating"], at, "Rating", faults)
        rank = cells.get("Doc Position", "").strip()
        if rank and not rank.isdecimal():
            faults(at, "Doc Position", f"wanted a whole number, got {rank!r}", _AGAIN)
        elif not cells["Query Text"]:
            faults(at, "Query Text", "the query is empty", _AGAIN)
        elif rating is not None and ends[0] is not None and ends[1] is not None:
            known = (*_DETAILED, *_ENDS)
            fields = {key: _plain(value) for key, value in cells.items() if key not in known and value}
            rows.append(
                Judgment(
                    _plain(cells["Query Text"]),
                    _plain(cells["Doc ID"]),
                    rating,
                    low=ends[0],
                    high=ends[1],
                    position=int(rank or 0),
                    title=_plain(cells.get("Title", "")),
                    details={"document_fields": fields} if fields else {},
                )
            )
    return rows, str(about.get("Case Name", "")), about


def write_detailed(rows: Sequence[Judgment], name: str, details: Mapping[str, Any]) -> str:
    ends = list(_ENDS) if any(not isnan(row.low) for row in rows) else []
    fields = list(dict.fromkeys(key for row in rows for key in row.details.get("document_fields", {})))
    case = [details.get("Team Name", ""), details.get("Case Name", name), details.get("Case ID", "")]
    made: list[Sequence[str]] = [[*_DETAILED, *ends, *fields]]
    for row in rows:
        rank = str(row.position) if row.position else ""
        texts = row.details.get("document_fields", {})
        made.append(
            [
                *map(_inert, case),
                _inert(row.query),
                _inert(row.docid),
                rank,
                _inert(row.title),
                spelled(row.rating),
                *([spelled(row.low), spelled(row.high)] if ends else []),
                *(_inert(str(texts.get(key, ""))) for key in fields),
            ]
        )
    return _table(made)


def read_o19s(text: str, faults: Faults) -> Read:
    rows = []
    for at, cells in _rows(text, ",", ("grade", "keywords", "docId"), faults):
        rating = number(cells["grade"], at, "grade", faults)
        if rating is not None:
            rows.append(Judgment(_plain(cells["keywords"]), _plain(cells["docId"]), rating))
    return rows, "", {}


def write_o19s(rows: Sequence[Judgment], name: str, details: Mapping[str, Any]) -> str:
    cells = [(spelled(row.rating), _inert(row.query), _inert(row.docid)) for row in rows if row.rated]
    return _table([("grade", "keywords", "docId"), *cells])


def _rows(
    text: str, delimiter: str, wanted: Sequence[str], faults: Faults
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table with their numbers (the header is 1); columns go by name, see `letters`."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # of the process: whole documents are cells
    lines = io.StringIO(text, newline="")
    if delimiter == "\t":
        table = csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    else:
        table = csv.reader(lines)
    header = [cell.strip() for cell in next(table, [])]
    spelt = {letters(name): name for name in wanted}
    header = [spelt.get(letters(name), name) for name in header]
    lacking = [name for name in wanted if name not in header]
    if lacking:
        raise ValueError(
            f"{faults.source} has no column {lacking[0]!r}; wanted {', '.join(wanted)}, "
            f"got {', '.join(header)}"
        )
    for at, cells in enumerate(table, 2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            faults(at, "row", f"wanted {len(header)} cells, got {len(cells)}", _AGAIN)
            continue
        yield at, dict(zip(header, cells, strict=True))


def _table(rows: Iterable[Sequence[str]]) -> str:
    made = io.StringIO(newline="")
    csv.writer(made, lineterminator="\n").writerows(rows)
    return made.getvalue()


def _plain(text: str) -> str:
    """The text that `_inert` was given."""
    return text[1:] if text[:1] == " " and text.lstrip().startswith(_ACTIVE) else text


def _inert(text: str) -> str:
    """The text with a blank before it where a spreadsheet would compute it, also behind blanks and tabs.

    Numbers, such as ids below 0, stay as they are for other tools.
    """
    computed = text.lstrip().startswith(_ACTIVE) and not _NUMBER.fullmatch(text)
    return f" {text}" if computed else text


def _with_ids(rows: Sequence[Judgment], breaks: str, form: str) -> Iterator[tuple[str, Judgment]]:
    """Rated rows with the ids of their queries; queries without one are numbered from 1."""
    numbers: dict[str, str] = {}
    taken = {row.qid for row in rows}
    for row in rows:
        query = row.qid
        if not query:
            if row.query not in numbers:
                free = len(numbers) + 1
                while str(free) in taken:
                    free += 1
                numbers[row.query] = str(free)
                taken.add(str(free))
            query = numbers[row.query]
        if not row.rated:
            continue
        for one, what in ((query, "query id"), (row.docid, "document id")):
            if re.search(breaks, one) or not one.strip():
                raise ValueError(
                    f"{what} {one!r} cannot be written as {form!r}, where blanks end an id; rename it, or "
                    "choose another format"
                )
        yield query, row
