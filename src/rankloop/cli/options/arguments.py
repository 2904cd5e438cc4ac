"""Arguments and options that several commands share: one name and one help text for one meaning."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Complete",
    "DataSet",
    "EngineFeatures",
    "Json",
    "Metrics",
    "Model",
    "OpenBrowser",
    "PageSize",
    "RankerName",
    "ReportFile",
    "Seed",
    "ServiceSource",
    "User",
    "check_report",
]

DataSet = Annotated[
    str,
    typer.Argument(
        help="A data set: LETOR/SVMLight text, Parquet, CSV or JSONL (also 'part-*.parquet'), saved, shards."
    ),
]
Model = Annotated[str, typer.Argument(help="A saved ranker, or the run folder that holds one.")]
RankerName = Annotated[
    str | None, typer.Option("--ranker", help="lambdamart, auto, linear, ranksvm, pointwise, neural, ...")
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help="A metric such as ndcg@10, map, mrr, err@20, p(rel=2)@5, or P_10 as in trec_eval; repeatable.",
    ),
]
User = Annotated[
    str,
    typer.Option(
        "--user",
        help="Who clicks: pbm, eye_tracking, trust, dbn, perfect, navigational, informational, or a saved "
        "click model.",
    ),
]
PageSize = Annotated[int, typer.Option("-k", help="Documents per page.")]
Seed = Annotated[int, typer.Option("--seed", help="Same seed, same result.")]
ServiceSource = Annotated[
    str,
    typer.Argument(
        metavar="CONFIG|INDEX|ENGINE",
        help="A service: its TOML file, an index, or an engine, as in opensearch://host:9200/shop.",
    ),
]
EngineFeatures = Annotated[
    Path | None,
    typer.Option("--features", help="A file with the engine's names of the features, one per line."),
]
Complete = Annotated[
    bool, typer.Option("--complete", help="Declare that no feature is ever missing in the engine.")
]
OpenBrowser = Annotated[bool, typer.Option("--open", help="Open the page in a browser.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ReportFile = Annotated[
    Path | None, typer.Option("--report", help="Also write a page with figures and tables (.html).")
]


def check_report(path: Path | None) -> None:
    """Refuse a report that is no page before the work is done, not after it."""
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"a report is a page: name an .html file, got {path}")
