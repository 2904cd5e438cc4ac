"""Rankings and judgments named on the command line, in any of their forms."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankloop._arrays import Floats
    from rankloop.data import Qrels, RankingDataset

__all__ = ["read_judgments", "read_ranking"]

_RANKINGS = ("run", "scores", "npy", "ranker")


def read_judgments(path: Path) -> "Qrels | RankingDataset":
    """Labels: judgments by document, or a data set."""
    from rankloop.data.kind_of import DATASETS, KINDS, kind_of, listed

    kind = kind_of(path)
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
        from rankloop.data.open_dataset import open_dataset

        return open_dataset(path)
    forms = listed(("qrels", "judgments", *DATASETS))
    raise ValueError(
        f"{path} is {KINDS[kind]}, which has no labels; judgments are {forms}, and come after the ranking"
    )


def read_ranking(path: Path) -> Any:
    """What `evaluate` takes: a run, scores in the order of the rows, or a ranker (also its run folder)."""
    from rankloop.cli.options.runs import model_file
    from rankloop.data.kind_of import KINDS, kind_of, listed

    path = model_file(path)
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
    raise ValueError(f"{path} is {KINDS[kind]}, not a ranking; a ranking is {listed(_RANKINGS)}")


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
