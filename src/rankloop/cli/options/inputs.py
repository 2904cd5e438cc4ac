"""Rankings and judgments named on the command line, in any of their forms."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloop.cli.options.reading import Reading, expanded

if TYPE_CHECKING:
    from rankloop._arrays import Floats
    from rankloop.data import Qrels, RankingDataset

__all__ = ["distinct_names", "one_standard_input", "read_judgments", "read_ranking"]

_RANKINGS = ("run", "scores", "npy", "ranker")


def read_judgments(path: str | Path, reading: Reading | None = None) -> "Qrels | RankingDataset":
    """Labels: judgments by document, or a data set; "-" is standard input."""
    with _file(path) as file:
        return _judgments(file, reading or Reading())


def _judgments(path: str, reading: Reading) -> "Qrels | RankingDataset":
    from rankloop.data.kind_of import DATASETS, KINDS, kind_of, listed

    source = expanded(path)
    judged = ("qrels", "judgments", *DATASETS)
    kind = kind_of(source if isinstance(source, str) else source[0], judged)
    if kind == "qrels":
        from rankloop.data.qrels import read_qrels

        return read_qrels(path)
    if kind == "judgments":
        from rankloop.data.judgments import read_judgments as read_those

        return read_those(path).to_qrels()
    if kind == "beir":
        from rankloop.data.read_beir import read_beir

        return read_beir(path).qrels
    if kind in DATASETS:
        return reading.dataset(path)
    raise ValueError(
        f"{path} is {KINDS[kind]}, which has no labels; judgments are {listed(judged)}, and come after the "
        "ranking"
    )


def read_ranking(path: str | Path) -> Any:
    """What `evaluate` takes: a run, scores in the order of the rows, or a ranker (also its run folder)."""
    with _file(path) as file:
        return _ranking(file)


def _ranking(file: str) -> Any:
    from rankloop.cli.options.runs import model_file
    from rankloop.data.kind_of import KINDS, kind_of, listed

    path = model_file(file)
    kind = kind_of(path, _RANKINGS)
    if kind == "run":
        from rankloop.data import read_run

        return read_run(path)
    if kind == "scores":
        return _read_scores(path)
    if kind == "npy":
        return _read_array(path)
    if kind == "ranker":
        from rankloop.rankers import load

        return load(path)
    raise ValueError(f"{path} is {KINDS[kind]}, not a ranking; a ranking is {listed(_RANKINGS)}")


def distinct_names(given: Sequence[str]) -> dict[str, str]:
    """Rankings by name: `name=path` as it says, else the shortest names that differ.

    >>> distinct_names(["bm25=a/x.run", "b/x.run"]), distinct_names(["a/x.run", "a/x.txt"])
    ({'bm25': 'a/x.run', 'x': 'b/x.run'}, {'x.run': 'a/x.run', 'x.txt': 'a/x.txt'})
    """
    parts = [_named(text) for text in given]
    ways = (
        [Path(path).stem for _, path in parts],
        [Path(path).name for _, path in parts],
        [*map(str, given)],
    )
    for names in ways:
        made = [name or other for (name, _), other in zip(parts, names, strict=True)]
        if len(set(made)) == len(made):
            return dict(zip(made, (path for _, path in parts), strict=True))
    raise ValueError(
        f"a file is named twice: {', '.join(given)}; compare different rankings, or name them as in old=a.run"
    )


def _named(text: str) -> tuple[str | None, str]:
    name, equals, path = text.partition("=")
    if not equals or "/" in name or Path(text).exists():
        return None, text
    if not name or not path:
        raise ValueError(f"a ranking is a path or name=path, got {text!r}")
    return name, path


def one_standard_input(*paths: str | Path | None) -> None:
    """An error where standard input is to be read twice."""
    if [str(path) for path in paths].count("-") > 1:
        raise ValueError("standard input (-) can be read once; name a file for the other")


@contextmanager
def _file(path: str | Path) -> Iterator[str]:
    """The path; for "-" a temporary file with what standard input holds."""
    if str(path) != "-":
        yield str(path)
        return
    import shutil
    import sys
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input"
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield str(copy)


def _read_array(path: Path) -> Any:
    from tokenize import TokenError

    import numpy as np

    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)  # mapped, it is no longer than its file
    except (ValueError, EOFError, SyntaxError, TokenError, TypeError, OverflowError) as error:
        raise ValueError(f"{path} holds no array of numbers ({error}); write it again") from None


def _read_scores(path: Path) -> "Floats":
    import numpy as np

    from rankloop.data.files.whole import read_whole
    from rankloop.data.kind_of import is_number

    lines = read_whole(path).decode("utf-8", "replace").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    try:
        return np.array(lines, dtype=np.float64)
    except ValueError:
        at = next(i for i, line in enumerate(lines) if not is_number(line))
        raise ValueError(f"{path}, line {at + 1}: wanted one number, got {lines[at][:60]!r}") from None
