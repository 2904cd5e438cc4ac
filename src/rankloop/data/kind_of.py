"""Which kind of file or folder a path is, by its content and never by its name."""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from rankloop._json import parse_json
from rankloop.data.files.frames import read_by_polars
from rankloop.data.files.text import TextSource
from rankloop.data.judging.forms import form_of

__all__ = ["DATASETS", "KINDS", "is_number", "kind_of", "listed"]

KINDS = {
    "svmlight": "SVMLight text (label qid:1 1:0.5 ...)",
    "parquet": "a Parquet data set",
    "csv": "a CSV table of documents",
    "jsonl": "a JSONL table of documents",
    "saved": "a saved data set",
    "shards": "a folder of shards",
    "qrels": "TREC judgments (query iteration document label)",
    "judgments": "judgments of Quepid, the Search Relevance Workbench, RRE, o19s or BEIR",
    "beir": "a BEIR folder (corpus.jsonl, queries.jsonl, qrels)",
    "run": "a TREC run (query Q0 document rank score tag) or an MS MARCO run (query document rank)",
    "scores": "a file of scores, one per line",
    "npy": "a file of scores (.npy)",
    "clicks.parquet": "a Parquet click log",
    "clicks.csv": "a CSV click log",
    "clicks.jsonl": "a JSONL click log",
    "clicks.metarank": "a file of Metarank's events",
    "ubi.queries": "a file of UBI queries",
    "ubi.events": "a file of UBI events",
    "ranker": "a saved ranker",
    "index": "a search index",
}
DATASETS = ("svmlight", "parquet", "csv", "jsonl", "saved", "shards")  # what `open_dataset` reads
_MAGIC = {b"PK\x03\x04": "ranker", b"\x93NUMPY": "npy", b"PAR1": "parquet"}
_EVENTS = ("ranking", "interaction", "item", "user")  # of Metarank
_IS_PASSED_OVER = re.compile(
    r'\s*($|#|\[\s*$|\{"(index|create)":\s*\{[^}]*\}\}\s*$)'
)  # also lines of bulk requests
_HEAD = 1 << 16  # bytes of a text among which the first line is looked for


def kind_of(path: str | Path, wanted: Iterable[str] = tuple(KINDS)) -> str:
    """Which of `KINDS` a path is; for anything else an error that lists the kinds `wanted`.

    Tables of clicks have the columns query, document and click. Text may be packed with gzip or zstd. An
    address such as "s3://bucket/set" can only be shards.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "judgments.dat"
    >>> _ = path.write_text("q1 0 doc-7 2")
    >>> kind_of(path)
    'qrels'
    """
    if "://" in str(path):
        return "shards"  # all that is kept behind an `fsspec` address
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if path.is_dir():
        return _of_folder(path, wanted)
    with path.open("rb") as file:
        head = file.read(8)
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
    if kind is not None:
        return f"clicks.{kind}" if kind == "parquet" and _are_clicks(_parquet_columns(path)) else kind
    return _of_text(path, wanted)


def listed(kinds: Iterable[str]) -> str:
    """Kinds in words, for an error: "a TREC run or a saved ranker"."""
    *most, last = [KINDS[kind] for kind in kinds]
    return f"{', '.join(most)} or {last}" if most else last


def _of_folder(path: Path, wanted: Iterable[str]) -> str:
    manifest = path / "manifest.json"
    if not manifest.is_file():
        if (path / "corpus.jsonl").is_file() and (path / "qrels").is_dir():
            return "beir"
        if any(path.glob("shard-*")):
            return "shards"  # whose writer has not finished, as `open_shards` will say
        raise ValueError(
            f"cannot tell what the folder {path} is: it has no manifest.json; wanted {listed(wanted)}"
        )
    try:
        content = parse_json(manifest.read_text(encoding="utf-8"))
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise ValueError(f"{manifest} is damaged or cut short; write the folder {path} again")
    if str(content.get("kind", "")).startswith("rankloop.data.Shards."):
        return "shards"
    return "index" if "segments" in content else "saved"


def _of_text(path: Path, wanted: Iterable[str]) -> str:
    with TextSource(path) as source:
        buffer, end = source.fill(bytearray(_HEAD), beyond=1)
    text = bytes(buffer[:end]).decode("utf-8", "replace")
    if form_of(text) not in (None, "trec"):
        return "judgments"
    lines = text.splitlines()
    line = next((line for line in lines if not _IS_PASSED_OVER.match(line)), "")
    if not line:
        raise ValueError(f"{path} is empty; wanted {listed(wanted)}")
    kind = _of_line(line)
    if kind is None:
        raise ValueError(f"cannot tell what {path} is: it begins {line[:60]!r}; wanted {listed(wanted)}")
    return kind


def _of_line(line: str) -> str | None:
    fields = line.split()
    if len(fields) > 1 and is_number(fields[0]) and re.match(r"(qid|\d+):", fields[1]):
        return "svmlight"
    if len(fields) in (5, 6) and is_number(fields[4]):
        return "run"
    if re.fullmatch(r"[^\s{]+\t[^\s]+\t[1-9]\d*", line.strip()):
        return "run"  # of MS MARCO
    if len(fields) == 4 and is_number(fields[3]):
        return "qrels"
    if len(fields) == 1 and is_number(fields[0]):
        return "scores"
    if re.match(r"\s*\[?\s*\{", line):
        return _of_record(line)
    if re.fullmatch(r"[^,\s][^,]*(,[^,\s][^,]*)+", line.strip()):  # a header, and no sentence with commas
        return "clicks.csv" if _are_clicks(line.strip().replace('"', "").split(",")) else "csv"
    return None


def _of_record(line: str) -> str:
    """By the names of a JSON object; of one that is cut off, by all names in it."""
    names = re.findall(r'"(\w+)"\s*:', line)
    event = None
    try:
        found = parse_json(line.strip().rstrip(","))
        first = found[0] if isinstance(found, list) and found else found
        if isinstance(first, dict):
            names, event = list(first), first.get("event")
    except json.JSONDecodeError:
        pass
    if "action_name" in names and "timestamp" in names:
        return "ubi.events"
    if "user_query" in names and ("query_id" in names or "query_response_id" in names):
        return "ubi.queries"
    if event in _EVENTS and "id" in names:
        return "clicks.metarank"
    return "clicks.jsonl" if _are_clicks(names) else "jsonl"


def _parquet_columns(path: Path) -> list[str]:
    import polars

    with suppress(ValueError, OSError), read_by_polars(path.name):
        return list(polars.read_parquet_schema(path))
    return []  # damaged, as its reader will say


def _are_clicks(columns: Iterable[str]) -> bool:
    return {"query", "document", "click"} <= set(columns)


def is_number(text: str) -> bool:
    """Whether a text is one number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
