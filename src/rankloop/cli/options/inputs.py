"""Files named on the command line: what they are is told by their content, not by their names."""

import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankloop.data import Qrels, RankingDataset

__all__ = ["kind_of", "read_judgments", "read_ranking"]

_HEAD = 1 << 16
_KINDS = {
    "run": "a TREC run (query Q0 document rank score tag)",
    "qrels": "TREC judgments (query iteration document label)",
    "svmlight": "a LETOR data set (label qid:1 1:0.5 ...)",
    "parquet": "a Parquet data set",
    "saved": "a saved data set",
    "scores": "a file of scores, one per line",
    "npy": "a file of scores (.npy)",
    "ranker": "a saved ranker",
}
_RANKINGS = ("run", "scores", "npy", "ranker")
_JUDGMENTS = ("qrels", "svmlight", "parquet", "saved")


def read_judgments(path: Path) -> "Qrels | RankingDataset":
    """Labels: judgments by document, or a data set."""
    kind = kind_of(path)
    if kind == "qrels":
        from rankloop.data.qrels import read_qrels

        return read_qrels(path)
    if kind == "svmlight":
        from rankloop.data.svmlight.read_svmlight import read_svmlight

        return read_svmlight(path)
    if kind == "parquet":
        from rankloop.data.read_parquet import read_parquet

        return read_parquet(path)
    if kind == "saved":
        from rankloop.data.save import load_dataset

        return load_dataset(path)
    raise ValueError(
        f"{path} is {_KINDS[kind]}, which holds no labels; the judgments are {_one_of(_JUDGMENTS)}, "
        "and come after the ranking"
    )


def read_ranking(path: Path) -> Any:
    """What `evaluate` takes: a run, scores in the order of the rows, or a ranker."""
    kind = kind_of(path)
    if kind == "run":
        from rankloop.data import read_run

        return read_run(path)
    if kind == "scores":
        return _read_scores(path)
    if kind == "npy":
        import numpy as np

        return np.load(path, allow_pickle=False)
    if kind == "ranker":
        from rankloop.rankers import load

        return load(path)
    raise ValueError(f"{path} is {_KINDS[kind]}, not a ranking; a ranking is {_one_of(_RANKINGS)}")


def kind_of(path: Path) -> str:
    """Which of the known kinds of file this is, by its first bytes and its first line."""
    if path.is_dir():
        return "saved"
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    with path.open("rb") as file:
        head = file.read(_HEAD)
    for magic, kind in ((b"PK\x03\x04", "ranker"), (b"\x93NUMPY", "npy"), (b"PAR1", "parquet")):
        if head.startswith(magic):
            return kind
    lines = _unpacked(head, path).decode("utf-8", "replace").splitlines()
    line = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    if not line:
        raise ValueError(f"{path} is empty; wanted {_one_of(_KINDS)}")
    told = _kind_of_line(line.split())
    if told is None:
        raise ValueError(f"cannot tell what {path} is: it begins {line[:60]!r}; wanted {_one_of(_KINDS)}")
    return told


def _kind_of_line(fields: list[str]) -> str | None:
    if len(fields) > 1 and _is_number(fields[0]) and re.match(r"(qid|\d+):", fields[1]):
        return "svmlight"
    if len(fields) in (5, 6) and _is_number(fields[4]):
        return "run"
    if len(fields) == 4 and _is_number(fields[3]):
        return "qrels"
    if len(fields) == 1 and _is_number(fields[0]):
        return "scores"
    return None


def _unpacked(head: bytes, path: Path) -> bytes:
    """The beginning of the text, also where the file is packed."""
    if head.startswith(b"\x1f\x8b"):
        try:
            return zlib.decompressobj(wbits=31).decompress(head, _HEAD)
        except zlib.error as error:
            raise ValueError(f"{path}: the gzip file is damaged ({error}); copy it again") from None
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        import zstandard

        try:
            text: bytes = zstandard.ZstdDecompressor().decompressobj().decompress(head)
        except zstandard.ZstdError as error:
            raise ValueError(f"{path}: the zstd file is damaged ({error}); copy it again") from None
        return text[:_HEAD]
    return head


def _read_scores(path: Path) -> "NDArray[np.float64]":
    import numpy as np

    from rankloop.data.files.whole import read_whole

    lines = read_whole(path).decode("utf-8", "replace").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    try:
        return np.array(lines, dtype=np.float64)
    except ValueError:
        at = next(i for i, line in enumerate(lines) if not _is_number(line))
        raise ValueError(f"{path}, line {at + 1}: wanted one number, got {lines[at][:60]!r}") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _one_of(kinds: Any) -> str:
    named = [_KINDS[kind] for kind in kinds]
    return f"{', '.join(named[:-1])} or {named[-1]}"
