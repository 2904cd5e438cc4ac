"""Sessions of the TREC session track: the XML of the track, and pages of ids as GraphCM writes them."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from rankloop.clicks.click_log import ClickLog

__all__ = ["read_graphcm", "read_graphcm_grades", "read_trec_sessions"]


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


def read_graphcm_grades(path: str | Path) -> tuple[ClickLog, NDArray[np.float32]]:
    """The same with a sixth column of human grades: the log, and one grade per impression."""
    log, grades = _graphcm(Path(path))
    if grades is None:
        raise ValueError(f"{Path(path).name} has no sixth column of grades")
    return log, grades


def _graphcm(path: Path) -> tuple[ClickLog, NDArray[np.float32] | None]:
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
            lists = [json.loads(part) for part in parts[2:]]
        except json.JSONDecodeError:
            raise ValueError(
                f"line {number} of {path.name}: documents and clicks are lists like [1, 2]"
            ) from None
        documents, clicks = lists[0], lists[2]
        if any(len(one) != len(documents) for one in lists):
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


def read_trec_sessions(path: str | Path) -> ClickLog:
    """Read the XML of the TREC session track (2010 to 2014): a page per interaction with results.

    `query` is the text, `document` the ClueWeb id (or the URL); a click's `dwell` is its end minus its start.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "sessions.xml"
    >>> _ = path.write_text('''<sessiontrack><session num="1"><interaction num="1"><query>lions</query>
    ...   <results><result rank="1"><clueweb12id>c1</clueweb12id></result>
    ...   <result rank="2"><clueweb12id>c2</clueweb12id></result></results>
    ...   <clicked><click num="1" starttime="10" endtime="25.5"><rank>2</rank></click></clicked>
    ...   </interaction></session></sessiontrack>''')
    >>> log = read_trec_sessions(path)
    >>> log.document, log.click, log.dwell
    (array(['c1', 'c2'], dtype='<U2'), array([0, 1], dtype=int8), array([ nan, 15.5]))
    """
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise ValueError(f"{Path(path).name} is not XML: {error}") from None
    names = ("session", "user", "query", "document", "position", "click", "dwell")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for session in root.iter("session"):
        user = session.get("num", "")
        for interaction in session.iter("interaction"):
            clicks = _clicks(interaction)
            query = " ".join((interaction.findtext("query") or "").split())
            for result in interaction.iterfind("results/result"):
                rank = int(result.get("rank", "0"))
                page = f"{user}.{interaction.get('num')}"
                dwell = clicks.get(rank, float("nan"))
                entry = (page, user, query, _document(result), rank, int(rank in clicks), dwell)
                for name, value in zip(names, entry, strict=True):
                    columns[name].append(value)
    if not columns["session"]:
        raise ValueError(f"{Path(path).name} holds no interaction with results")
    return ClickLog(**columns)


def _clicks(interaction: ElementTree.Element) -> dict[int, float]:
    """Seconds on each clicked rank; nan where the times are not written as seconds."""
    found: dict[int, float] = {}
    for click in interaction.iterfind("clicked/click"):
        start, end = _seconds(click.get("starttime")), _seconds(click.get("endtime"))
        found[int(click.findtext("rank") or 0)] = end - start
    return found


def _seconds(text: str | None) -> float:
    """ "83.5" or "1:23.5" or "0:01:23.5"."""
    total = 0.0
    try:
        for part in (text or "nan").split(":"):
            total = 60 * total + float(part)
    except ValueError:
        return float("nan")
    return total


def _document(result: ElementTree.Element) -> str:
    for name in ("clueweb12id", "clueweb09id", "docno", "url"):
        text = result.findtext(name)
        if text:
            return text.strip()
    raise ValueError(f"result {result.get('rank')} has neither a ClueWeb id nor a url")
