"""`rankloop learn INDEX LOG`: a past click log teaches the pipeline of an index or an engine."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankloop.cli.options.train_search import SEARCH

if TYPE_CHECKING:
    from rankloop.clicks import ClickLog
    from rankloop.data import RankingDataset
    from rankloop.search import Features, Retriever
    from rankloop.serve.config import Config

__all__ = ["Taught", "free_folder", "learn_index"]


def learn_index(
    source: str,
    log: "ClickLog",
    out: Path | None,
    missing: str,
    as_json: bool,
    report: Path | None,
    **options: Any,
) -> None:
    """Describe what was shown by the features of a service over the index, and learn from the clicks."""
    from rankloop.serve.config import Config

    config = Config.read(source)
    target = free_folder(out, config.name)
    facts = {"index": source}
    Taught(*_stages(config), config.k, target, missing, report, options).learn(log, facts, as_json)
    if not as_json:
        typer.echo(f"written to {target}; try it: rankloop serve {source} --pipeline {target}")


def free_folder(out: Path | None, name: str) -> Path:
    """Where a learned pipeline goes: `out`, or a folder of runs; an error if it exists."""
    target = out or Path("runs") / f"{name}-learned"
    if target.exists():
        raise ValueError(f"{target} exists; choose another --out")
    return target


@dataclass(frozen=True)
class Taught:
    """A pipeline that a log teaches, and where it goes; `options` are those of `unbiased.learn`.

    The folder gets the pipeline, as `search --pipeline` and `serve --pipeline` take it, and what was found.
    """

    retrieve: "Retriever"
    features: "Features"
    k: int
    target: Path
    missing: str
    report: Path | None
    options: dict[str, Any]

    def learn(self, log: "ClickLog", facts: dict[str, str], as_json: bool, over: str = "") -> None:
        """Learn, save, and print what was found."""
        import json

        from rankloop._atomic import replacing_folder
        from rankloop.cli.options.logs import without_missing
        from rankloop.search import first
        from rankloop.unbiased import learn

        pages = _with_plain_texts(log)
        data = _described(self.retrieve, self.features, pages)
        clicks = without_missing(pages, data, self.missing)
        found = learn(clicks, data, **self.options)
        with replacing_folder(self.target) as folder:
            (self.retrieve >> self.features >> found.ranker >> first(self.k)).save(folder / SEARCH)
            text = json.dumps(found.to_dict(), indent=2) + "\n"
            (folder / "learned.json").write_text(text, encoding="utf-8")
        if self.report is not None:
            from rankloop.report import report_of_learning

            report_of_learning(found, clicks).save(self.report)
        if as_json:
            counts = {"out": str(self.target), "queries": data.n_queries, "pages": clicks.n_pages}
            typer.echo(json.dumps(facts | counts | found.to_dict(), indent=2))
            return
        typer.echo(f"{clicks.n_pages:,} pages of {data.n_queries:,} queries{over}\n{found!r}")


def _stages(config: "Config") -> "tuple[Retriever, Features]":
    """What a service over the index would retrieve and describe candidates with."""
    from rankloop.search import BM25, Features
    from rankloop.serve.open_searchable import open_searchable

    engine = open_searchable(config)
    features = Features.over(engine, config.features) if config.features else Features.standard(engine)
    model = BM25(fields=dict(config.weights) or None)
    return engine.retriever(k=config.candidates, model=model, typos=config.typos), features


def _with_plain_texts(log: "ClickLog") -> "ClickLog":
    """The log with queries and documents as text, and single blanks in queries, as a service logs them."""
    import polars as pl

    from rankloop.clicks import ClickLog

    frame = log.to_frame().with_columns(pl.col("query", "document").cast(pl.String))
    blanks = pl.col("query").str.replace_all(r"\s+", " ").str.strip_chars()
    frame = frame.with_columns(blanks).filter(pl.col("query") != "")
    if not len(frame):
        raise ValueError("no page of the log has a query; check --columns query=...")
    return ClickLog.from_frame(frame)


def _described(retrieve: "Retriever", features: "Features", log: "ClickLog") -> "RankingDataset":
    """Every document that was shown for a query and is in the index, with its features of now."""
    from rankloop.search.judged_lists import judged_lists

    pairs = log.to_frame().select("query", "document").unique(maintain_order=True)
    shown: dict[str, dict[str, float]] = {}
    for query, document in pairs.iter_rows():
        shown.setdefault(query, {})[document] = 0.0
    try:
        return judged_lists(retrieve, features, {query: query for query in shown}, shown, "judged")
    except ValueError as error:
        if "no judged document" not in str(error):
            raise
        some = next(iter(next(iter(shown.values()))))
        raise ValueError(
            f"no document of the log is in the index; it shows {some!r}, for instance: does --columns "
            "document=... name the ids of the index?"
        ) from None
