"""`rankloop learn INDEX LOG`: a past click log teaches the pipeline of an index or an engine."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankloop.cli.options.train_search import SEARCH

if TYPE_CHECKING:
    from rankloop.clicks import ClickLog
    from rankloop.data import RankingDataset
    from rankloop.search import Features, Retriever
    from rankloop.serve.config import Config

__all__ = ["learn_index"]


def learn_index(
    source: str,
    log: "ClickLog",
    out: Path | None,
    missing: str,
    as_json: bool,
    report: Path | None,
    **options: Any,
) -> None:
    """Describe what was shown by the index's own features, learn from the clicks, and save the pipeline.

    The folder gets the pipeline, as `search --pipeline` and `serve --pipeline` take it, and what was found.
    """
    import json

    from rankloop._atomic import replacing_folder
    from rankloop.cli.options.logs import without_missing
    from rankloop.search import first
    from rankloop.serve.config import Config
    from rankloop.unbiased import learn

    config = Config.read(source)
    target = out or Path("runs") / f"{config.name}-learned"
    if target.exists():
        raise ValueError(f"{target} exists; choose another --out")
    retrieve, features = _stages(config)
    pages = _with_plain_texts(log)
    data = _described(retrieve, features, pages)
    clicks = without_missing(pages, data, missing)
    found = learn(clicks, data, **options)
    with replacing_folder(target) as folder:
        (retrieve >> features >> found.ranker >> first(config.k)).save(folder / SEARCH)
        (folder / "learned.json").write_text(json.dumps(found.to_dict(), indent=2) + "\n", encoding="utf-8")
    if report is not None:
        from rankloop.report import report_of_learning

        report_of_learning(found, clicks).save(report)
    if as_json:
        facts = {"index": source, "out": str(target), "queries": data.n_queries, "pages": clicks.n_pages}
        typer.echo(json.dumps(facts | found.to_dict(), indent=2))
        return
    typer.echo(f"{clicks.n_pages:,} pages of {data.n_queries:,} queries\n{found!r}")
    typer.echo(f"written to {target}; try it: rankloop serve {source} --pipeline {target}")


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
