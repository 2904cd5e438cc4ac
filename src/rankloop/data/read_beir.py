"""Collections in the format of BEIR: corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankloop.data.corpus import Corpus, judged_corpus
from rankloop.data.files.records import Faults, json_records
from rankloop.data.judgments import read_judgments

__all__ = ["read_beir"]


def read_beir(
    folder: str | Path, *, split: str = "test", on_error: str = "raise", skipped: "Counter[str] | None" = None
) -> Corpus:
    """The documents with their fields (`metadata` among them), and the judged queries of one split.

    Files may be packed (`corpus.jsonl.gz`). A record that is wrong is an error that names it, or with
    `on_error="skip"` is counted.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "corpus.jsonl").write_text('{"_id": "d1", "title": "", "text": "red shoes"}')
    >>> _ = (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "shoes"}')
    >>> (folder / "qrels").mkdir()
    >>> _ = (folder / "qrels" / "test.tsv").write_text("query-id\\tcorpus-id\\tscore\\nq1\\td1\\t1\\n")
    >>> read_beir(folder)
    Corpus(1 documents, 1 queries, 1 judgments)
    """
    base = Path(folder)
    judged = _file(base / "qrels", split, ".tsv")
    documents = _by_id(_file(base, "corpus", ".jsonl"), on_error, skipped)
    texts = _by_id(_file(base, "queries", ".jsonl"), on_error, skipped)
    qrels = read_judgments(judged, format="beir", on_error=on_error, skipped=skipped).to_qrels()
    with Faults(judged, on_error, skipped).summed_up() as faults:
        spelled = {query: str(one.get("text", "")) for query, one in texts.items()}
        return judged_corpus(documents, spelled, qrels, faults)


def _file(folder: Path, stem: str, ending: str) -> Path:
    for packed in ("", ".gz", ".zst"):
        path = folder / f"{stem}{ending}{packed}"
        if path.is_file():
            return path
    there = ", ".join(sorted(one.name for one in folder.glob("*"))) if folder.is_dir() else "no such folder"
    raise FileNotFoundError(f"there is no {stem}{ending} in {folder}; it has {there or 'nothing'}")


def _by_id(path: Path, on_error: str, skipped: "Counter[str] | None") -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    with Faults(path, on_error, skipped).summed_up() as faults:
        for number, record in json_records(path, faults):
            name = record.get("_id")
            if name in (None, ""):
                faults(number, "_id", "every record has an id", "add it, or drop the record")
            elif str(name) in found:
                faults(
                    number,
                    "_id",
                    f"wanted ids that occur once, got {str(name)!r} again",
                    "drop one of the records",
                )
            else:
                found[str(name)] = {k: v for k, v in record.items() if k != "_id" and v not in (None, {})}
    return found
