"""The log format of Yandex's relevance prediction challenge (2011)."""

from pathlib import Path
from typing import Any

from rankloop.clicks.click_log import ClickLog

__all__ = ["read_yandex"]


def read_yandex(path: str | Path) -> ClickLog:
    """Read queries `session time Q query region url...` and clicks `session time C url`, separated by tabs.

    A click belongs to the latest page of its session that shows the document; clicks on documents that no
    page of the session shows are left out, repeated clicks count once. Pages are numbered within sessions:
    "12.1" is the first page of session 12, which is the `user` of the page; `dwell` is the time to the
    session's next event.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.tsv"
    >>> _ = path.write_text("7\\t0\\tQ\\t11\\t2\\t101\\t102\\n7\\t5\\tC\\t102\\n")
    >>> log = read_yandex(path)
    >>> log.session, log.click
    (array(['7.1', '7.1'], dtype='<U3'), array([0, 1], dtype=int8))
    """
    columns: dict[str, list[Any]] = {name: [] for name in _NAMES}
    shown: dict[str, dict[str, int]] = {}  # session -> document -> row of its latest impression
    pages: dict[str, int] = {}
    open_click: dict[str, int] = {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            parts = line.rstrip("\n").split("\t")
            if len(parts) < 4 or parts[2] not in ("Q", "C"):
                raise ValueError(
                    f"line {number} of {Path(path).name} is neither a query (session, time, Q, query, "
                    f"region, urls) nor a click (session, time, C, url): {line.strip()[:60]!r}"
                )
            session, time = parts[0], _seconds(parts[1], number)
            if session in open_click:
                row = open_click.pop(session)
                columns["dwell"][row] = time - columns["timestamp"][row]
            if parts[2] == "Q":
                pages[session] = pages.get(session, 0) + 1
                rows = shown.setdefault(session, {})
                for position, document in enumerate(dict.fromkeys(parts[5:]), start=1):
                    rows[document] = len(columns["click"])
                    page = f"{session}.{pages[session]}"
                    entry = (page, session, parts[3], document, position, 0, time, float("nan"))
                    for name, value in zip(_NAMES, entry, strict=True):
                        columns[name].append(value)
            elif parts[3] in shown.get(session, {}):
                row = shown[session][parts[3]]
                if not columns["click"][row]:
                    columns["click"][row], columns["timestamp"][row] = 1, time
                    open_click[session] = row
    return ClickLog(**columns)


_NAMES = ("session", "user", "query", "document", "position", "click", "timestamp", "dwell")


def _seconds(text: str, number: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"line {number}: the time must be a number, got {text!r}") from None
