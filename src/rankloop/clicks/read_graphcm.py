"""Pages of ids, as GraphCM writes the sessions of the TREC session track."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._arrays import Singles
from rankloop._json import parse_json
from rankloop.clicks.click_log import ClickLog

__all__ = ["read_graphcm", "read_graphcm_grades"]


def read_graphcm(path: str | Path) -> ClickLog:
    """Read pages `session query [documents] [types] [clicks]`, separated by tabs.

    Pages are numbered within sessions ("460.2"); the session itself is the `user`. Document 0 fills short
    pages and is left out.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "train.txt"
    >>> _ = path.write_text("460\\t798\\t[22, 23]\\t[1, 1]\\t[0, 1]\\n")
    >>> read_graphcm(path).session
    array(['460.1', '460.1'], dtype='<U5')
    """
    return _graphcm(Path(path))[0]


def read_graphcm_grades(path: str | Path) -> tuple[ClickLog, Singles]:
    """The same with a sixth column of human grades: the log, and one grade per impression."""
    log, grades = _graphcm(Path(path))
    if grades is None:
        raise ValueError(f"{Path(path).name} has no sixth column of grades")
    return log, grades


def _graphcm(path: Path) -> tuple[ClickLog, Singles | None]:
    columns: dict[str, list[Any]] = {
        name: [] for name in ("session", "user", "query", "document", "position", "click")
    }
    grades: list[float] = []
    pages: dict[str, int] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        parts = line.split("\t")
        if len(parts) not in (5, 6):
            raise ValueError(
                f"line {number} of {path.name} has {len(parts)} columns; pages have 5, or 6 with grades"
            )
        try:
            lists = [parse_json(part) for part in parts[2:]]
        except json.JSONDecodeError:
            raise ValueError(
                f"line {number} of {path.name}: documents and clicks are lists like [1, 2]"
            ) from None
        documents, clicks = lists[0], lists[2]
        if not all(isinstance(one, list) and len(one) == len(documents) for one in lists):
            raise ValueError(f"line {number} of {path.name}: the lists have different lengths")
        pages[parts[0]] = pages.get(parts[0], 0) + 1
        for i, document in enumerate(documents):
            if document == 0:
                continue
            columns["session"].append(f"{parts[0]}.{pages[parts[0]]}")
            columns["user"].append(parts[0])
            columns["query"].append(int(parts[1]))
            columns["document"].append(document)
            columns["position"].append(i + 1)
            columns["click"].append(clicks[i])
            if len(lists) == 4:
                grades.append(float(lists[3][i]))
    log = ClickLog(**columns)
    if len(grades) == 0:
        return log, None
    if len(grades) != len(log):
        raise ValueError(f"{path.name} has grades on some pages only")
    return log, np.array(grades, np.float32)
