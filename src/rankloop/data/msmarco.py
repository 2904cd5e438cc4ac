"""Collections in the files of MS MARCO: collection.tsv, queries.SPLIT.tsv and qrels.SPLIT.tsv."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from rankloop._atomic import replacing
from rankloop.data.corpus import Corpus, judged_corpus
from rankloop.data.files.records import Faults, numbered_lines
from rankloop.data.judgments import read_judgments
from rankloop.data.qrels import write_qrels

__all__ = ["read_msmarco", "write_msmarco"]


def read_msmarco(
    folder: str | Path, *, split: str = "dev", on_error: str = "raise", skipped: "Counter[str] | None" = None
) -> Corpus:
    """The passages, and the judged queries of one split ("train", "dev", "dev.small"); files may be packed.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "collection.tsv").write_text("7\\tred shoes\\n")
    >>> _ = (folder / "queries.dev.tsv").write_text("1\\tshoes\\n")
    >>> _ = (folder / "qrels.dev.tsv").write_text("1\\t0\\t7\\t1\\n")
    >>> read_msmarco(folder).documents
    {'7': {'text': 'red shoes'}}
    """
    base = Path(folder)
    passages = _texts(_file(base, "collection"), on_error, skipped)
    texts = _texts(_file(base, f"queries.{split}"), on_error, skipped)
    judged = _file(base, f"qrels.{split}")
    qrels = read_judgments(judged, format="trec", on_error=on_error, skipped=skipped).to_qrels()
    documents = {name: {"text": text} for name, text in passages.items()}
    with Faults(judged, on_error, skipped).summed_up() as faults:
        return judged_corpus(documents, texts, qrels, faults)


def write_msmarco(corpus: Corpus, folder: str | Path, *, split: str = "dev", text: str = "text") -> None:
    """Write a collection in the three files; `text` is the field of the documents that is written."""
    base = Path(folder)
    _write(base / "collection.tsv", {name: corpus.text(name, text) for name in corpus.documents})
    _write(base / f"queries.{split}.tsv", corpus.queries)
    write_qrels(corpus.qrels, base / f"qrels.{split}.tsv")


def _file(folder: Path, stem: str) -> Path:
    for ending in ("", ".gz", ".zst"):
        path = folder / f"{stem}.tsv{ending}"
        if path.is_file():
            return path
    there = ", ".join(sorted(one.name for one in folder.glob("*.tsv*")))
    raise FileNotFoundError(f"there is no {stem}.tsv in {folder}; it has {there or 'no .tsv file'}")


def _texts(path: Path, on_error: str, skipped: "Counter[str] | None") -> dict[str, str]:
    found: dict[str, str] = {}
    with Faults(path, on_error, skipped).summed_up() as faults:
        for number, line in numbered_lines(path, faults):
            name, tab, text = line.rstrip("\r").partition("\t")
            if not tab or not name:
                if line.strip():
                    faults(
                        number, "line", f"wanted id<TAB>text, got {line[:40]!r}", "correct or drop the line"
                    )
            elif name in found:
                faults(
                    number, "id", f"wanted ids that occur once, got {name!r} again", "drop one of the lines"
                )
            else:
                found[name] = text
    return found


def _write(path: Path, texts: Mapping[str, str]) -> None:
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        for name, text in texts.items():
            if not name or set(name) & set(" \t\r\n"):
                raise ValueError(
                    f"id {name!r} cannot be written to {path.name}, where blanks end it; rename it"
                )
            file.write(f"{name}\t{' '.join(text.split())}\n")
