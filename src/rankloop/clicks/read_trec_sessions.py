"""The XML of the TREC session track."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from rankloop.clicks.click_log import ClickLog

__all__ = ["read_trec_sessions"]


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
