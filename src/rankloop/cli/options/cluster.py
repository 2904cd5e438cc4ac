"""Commands with `--backend` and `--workers`: the same work on shards, in local processes or on Ray."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.options.reading import Reading, expanded

if TYPE_CHECKING:
    from rankloop.data.shards.shards import Shards
    from rankloop.rankers import Ranker

__all__ = ["OnShards", "Resumable", "evaluate_on", "learn_on", "predict_on", "train_on", "tune_on"]


@dataclass(frozen=True)
class OnShards:
    """Where the work is done: by default in this process."""

    backend: Annotated[
        str | None,
        typer.Option(
            "--backend", help="Work on shards: local (processes of this machine) or ray (a cluster)."
        ),
    ] = None
    workers: Annotated[
        int | None, typer.Option("--workers", help="With --backend: how many (all cores).")
    ] = None

    def check(self, reading: Reading) -> None:
        """Refuse an option that needs `--backend` without it, and one that it cannot honour."""
        if self.backend is not None and reading != Reading():
            raise ValueError(
                "with --backend the columns of a table are named when its shards are written: rankloop shard "
                "has --qid and --label"
            )
        for name, value in asdict(self).items():
            if self.backend is None and value is not None:
                raise ValueError(
                    f"--{name} is for work on shards; add --backend local or --backend ray, or leave it out"
                )


@dataclass(frozen=True)
class Resumable(OnShards):
    """The same for long work."""

    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint",
            help="With --backend: a folder from which the same command resumes after an interruption.",
        ),
    ] = None


@contextmanager
def shards_at(path: str) -> Iterator["Shards"]:
    """The shards at an address; other data are written to temporary shards, kept while the command runs."""
    import tempfile

    from rankloop._jit import thread_count
    from rankloop.data import kind_of, open_shards, write_shards

    source = expanded(path)
    if isinstance(source, str) and kind_of(source) == "shards":
        yield open_shards(source)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield write_shards(source, Path(folder) / "shards", shards=max(8, 2 * thread_count()))


def evaluate_on(work: OnShards, ranking: str, judgments: str, metric: Any, **options: Any) -> Any:
    """The evaluation of a saved ranker."""
    from rankloop.cli.options.runs import model_file
    from rankloop.cluster import evaluate
    from rankloop.data.kind_of import KINDS, kind_of

    model = model_file(ranking)
    if (kind := kind_of(model)) != "ranker":
        raise ValueError(
            "--backend scores the documents in the workers and needs a saved ranker; "
            f"{ranking} is {KINDS[kind]}"
        )
    with shards_at(judgments) as shards:
        return evaluate(model, shards, metric or None, **asdict(work), **options)


def predict_on(work: OnShards, model: str, data: str, out: str | None) -> "Shards":
    """Scores as a folder of Parquet shards."""
    from rankloop.cli.options.runs import model_file
    from rankloop.cluster import predict

    if out is None or Path(out).suffix in (".npy", ".parquet", ".txt"):
        raise ValueError("with --backend scores are written as shards: name a folder for them with --out")
    with shards_at(data) as shards:
        return predict(model_file(model), shards, out, **asdict(work))


def tune_on(work: Resumable, ranker: "Ranker", space: Any, data: str, metric: Any, **options: Any) -> Any:
    """The study over folds of whole shards."""
    from rankloop.cluster import tune

    if options.pop("timeout") is not None:
        raise ValueError(
            "--timeout would make the study depend on the clock; with --backend set --trials instead"
        )
    with shards_at(data) as shards:
        return tune(ranker, space, shards, metric, **asdict(work), **options)


def learn_on(
    work: Resumable, log: str, data: str, format: str | None, report: Path | None, **options: Any
) -> Any:
    """What `unbiased.learn` finds; the workers count the log."""
    from rankloop.cluster import learn
    from rankloop.data import kind_of, open_dataset, open_shards

    if format is not None:
        raise ValueError("with --backend the log is shards, Parquet, CSV or JSONL; leave --log-format out")
    _refuse_report(report)
    source = expanded(data)
    sharded = isinstance(source, str) and kind_of(source) == "shards"
    documents = open_shards(data) if sharded else open_dataset(source)
    with shards_at(log) as shards:
        return learn(shards, documents, **asdict(work), **options)


def _refuse_report(report: Path | None) -> None:
    if report is not None:
        raise ValueError("--report needs all data in memory; leave it or --backend out")


@dataclass(frozen=True)
class Facts:
    """The facts about shards that a run folder keeps."""

    shards: "Shards"

    def fingerprint(self) -> str:
        return self.shards.fingerprint

    def __getattr__(self, name: str) -> int:
        return int(getattr(self.shards, {"n_documents": "n_rows"}.get(name, name)))


def train_on(
    work: Resumable,
    model: "Ranker",
    paths: dict[str, str | None],
    metrics: Sequence[str],
    report: Path | None,
) -> tuple["Ranker", float, dict[str, Any], dict[str, Any]]:
    """The trained ranker, the seconds it took, its evaluations, and the facts of the data."""
    import time
    from contextlib import ExitStack

    from rankloop.cluster import evaluate, fit

    _refuse_report(report)
    with ExitStack() as opened:
        sets = {
            part: opened.enter_context(shards_at(path)) for part, path in paths.items() if path is not None
        }
        started = time.perf_counter()
        made = fit(model, sets["data"], sets.get("valid"), **asdict(work))
        seconds = round(time.perf_counter() - started, 3)
        judged = {part: one for part, one in sets.items() if part != "data"} or {"train": sets["data"]}
        where: dict[str, Any] = {"backend": work.backend, "workers": work.workers}
        found = {part: evaluate(made, one, list(metrics), **where) for part, one in judged.items()}
        return made, seconds, found, {part: Facts(one) for part, one in sets.items()}
