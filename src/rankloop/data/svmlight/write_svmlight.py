"""Writing SVMLight ranking files."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from rankloop._arrays import Array, Bytes, Singles
from rankloop._atomic import replacing
from rankloop.data.files.text import long_work
from rankloop.data.ranking_dataset import RankingDataset
from rankloop.data.svmlight.spell_kernel import WIDEST_FEATURE, spell_rows

__all__ = ["write_svmlight"]

_ROOM = 4 << 20
_QID = np.frombuffer(b" qid:", np.uint8)
_DOCID = np.frombuffer(b" # docid = ", np.uint8)
_COMMENT = np.frombuffer(b" # ", np.uint8)


def write_svmlight(
    dataset: RankingDataset, path: str | Path, *, sparse: bool = False, zero_based: bool = False
) -> None:
    """Write `2 qid:17 1:0.5 2:3 # docid = x` lines that read back the same, bit for bit.

    A path ending in `.gz` or `.zst` is compressed. Weights go to `path.weight`: one per row
    (`item_weight`) or one per query (`query_weight`). `sparse` leaves zeros out; then give `n_features` when
    reading, since the last columns may be all zero. Feature names are not part of the format. A data set
    with texts of queries gets comments `# x<TAB>red shoes`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "set.txt"
    >>> write_svmlight(RankingDataset([[0.1, 2.0]], [1], ["a"], docid=["x"]), path)
    >>> path.read_text()
    '1 qid:a 1:0.1 2:2 # docid = x\\n'
    """
    target = Path(path)
    weights = _weights(dataset, target)
    qid = _id_bytes(dataset.qid, "query id")
    if dataset.docid is None:
        docid = np.zeros((dataset.n_documents, 0), np.uint8)
    else:
        docid = _id_bytes(dataset.docid, "docid")
    word, texts = _DOCID, None
    if dataset.query_text is not None:
        word, texts = _COMMENT, _text_bytes(dataset)
    line = WIDEST_FEATURE * (dataset.n_features + 1) + qid.shape[1] + docid.shape[1] + 32
    line += 0 if texts is None else texts.shape[1] + 1
    step = max(1, _ROOM // line)
    out = np.empty(step * line, np.uint8)
    base = 0 if zero_based else 1
    with (
        replacing(target) as beside,
        _packed(beside, target.suffix) as file,
        long_work(f"writing {target.name}", dataset.X.nbytes) as advance,
    ):
        for start in range(0, dataset.n_documents, step):
            rows = slice(start, start + step)
            X = np.ascontiguousarray(dataset.X[rows])
            y = np.ascontiguousarray(dataset.y[rows])
            query = np.ascontiguousarray(dataset.row_query[rows])
            comment = docid[rows] if texts is None else _joined(docid[rows], texts[query])
            used = spell_rows(X, y, query, qid, comment, _QID, word, base, sparse, out)
            file.write(out.data[:used])
            advance(X.nbytes)
    if weights is not None:
        text = "".join(f"{value}\n" for value in weights.tolist())
        with replacing(_weight_path(target)) as beside:
            beside.write_text(text, encoding="ascii")


def _weights(dataset: RankingDataset, target: Path) -> Singles | None:
    """The weights to write beside the file; columns that the format lacks are an error."""
    for name in ("position", "pairs"):
        if getattr(dataset, name) is not None:
            raise ValueError(
                f"SVMLight files cannot hold {name}; use save_dataset(), or drop it with replace({name}=None)"
            )
    if dataset.query_weight is not None and dataset.item_weight is not None:
        raise ValueError(
            "SVMLight files hold one kind of weight; use save_dataset(), or drop one with replace()"
        )
    if dataset.query_weight is not None and dataset.n_queries == dataset.n_documents:
        raise ValueError(
            "with one document per query, query weights would read back as item weights; use save_dataset(), "
            "or replace(query_weight=None)"
        )
    weights = dataset.query_weight if dataset.item_weight is None else dataset.item_weight
    stale = _weight_path(target)
    if weights is None and stale.exists():
        raise ValueError(f"{stale} would be read with the new file, which has no weights; remove it first")
    return weights


def _weight_path(target: Path) -> Path:
    return target.with_name(target.name + ".weight")


def _id_bytes(ids: Array, what: str) -> Bytes:
    """Ids as rows of bytes, padded with zeros; an id that would not read back is an error."""
    texts = np.asarray(ids).astype(np.str_)
    encoded = np.char.encode(texts, "utf-8")
    width = max(1, encoded.dtype.itemsize)
    letters = np.frombuffer(encoded.astype(f"S{width}").tobytes(), np.uint8).reshape(len(texts), width)
    wrong = np.isin(letters, np.frombuffer(b" \t\r\n", np.uint8)).any(axis=1)
    wrong |= ((letters[:, :-1] == 0) & (letters[:, 1:] != 0)).any(axis=1)
    if what == "docid":
        wrong |= (letters[:, 0] == ord("=")) | (letters[:, 0] == ord(":"))
    else:
        wrong |= (letters == ord("#")).any(axis=1) | (letters[:, 0] == 0)
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(
            f"{what} {str(texts[at])!r} cannot be written to an SVMLight file, where blanks and # end it; "
            "rename it, or use save_dataset()"
        )
    return letters


def _text_bytes(dataset: RankingDataset) -> Bytes:
    """The texts of the queries as rows of bytes; one that would not read back is an error."""
    if dataset.docid is None:
        raise ValueError(
            "SVMLight files hold texts of queries beside docids, which this data set lacks; use "
            "save_dataset(), or drop them with replace(query_text=None)"
        )
    for document in dataset.docid.astype(np.str_).tolist():
        if document == "docid":
            raise ValueError("docid 'docid' cannot be written beside texts of queries; rename it")
    assert dataset.query_text is not None
    texts = dataset.query_text.tolist()
    for text in texts:
        if text != text.strip(" \t\r") or set(text) & {"\n", "\0"}:
            raise ValueError(
                f"the query {text!r} cannot be written to an SVMLight file: it begins or ends with a "
                "blank or has two lines; correct it, or use save_dataset()"
            )
    encoded = [text.encode() for text in texts]
    width = max(map(len, encoded), default=0) or 1
    whole = b"".join(one.ljust(width, b"\0") for one in encoded)
    return np.frombuffer(whole, np.uint8).reshape(len(texts), width)


def _joined(docid: Bytes, texts: Bytes) -> Bytes:
    """Id, tab and text of each row, without the padding of the id."""
    size = (docid != 0).sum(axis=1)
    made = np.zeros((len(docid), docid.shape[1] + 1 + texts.shape[1]), np.uint8)
    made[:, : docid.shape[1]] = docid
    made[np.arange(len(docid)), size] = 9
    place = size[:, None] + 1 + np.arange(texts.shape[1])
    np.put_along_axis(made, place, texts, axis=1)
    return made


@contextmanager
def _packed(path: Path, suffix: str) -> Iterator[BinaryIO]:
    """The file to write to, compressed where the name asks for it."""
    with open(path, "wb") as raw:
        if suffix == ".gz":
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as packed:
                yield packed  # type: ignore[misc]  # a GzipFile writes bytes
        elif suffix == ".zst":
            import zstandard

            with zstandard.ZstdCompressor(level=3, write_checksum=True).stream_writer(raw) as packed:
                yield packed
        else:
            yield raw
