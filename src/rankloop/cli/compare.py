"""`rankloop compare`: is this ranking better than that one?"""

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.options.arguments import (
    Convention,
    Empty,
    Json,
    Metrics,
    PerQuery,
    ReportFile,
    Seed,
    Ties,
    check_report,
)

__all__ = ["compare", "distinct_names"]


def compare(
    rankings: Annotated[
        list[Path],
        typer.Argument(help="Two or more runs, files of scores or saved rankers; the first is the baseline."),
    ],
    judgments: Annotated[
        Path, typer.Option("--qrels", "--data", "-j", help="The judgments: TREC qrels, or a data set.")
    ],
    metric: Metrics = None,
    test: Annotated[
        str, typer.Option(help="The significance test: randomization (Fisher's), t or bootstrap.")
    ] = "randomization",
    seed: Seed = 0,
    convention: Convention = None,
    ties: Ties = None,
    empty: Empty = None,
    per_query: PerQuery = None,
    format: Annotated[str, typer.Option(help="What is printed: table, markdown or latex.")] = "table",
    report: ReportFile = None,
    json: Json = False,
) -> None:
    """Compare rankings: differences of metrics with intervals and p-values.

    rankloop compare base.run new.run --qrels qrels.txt
    """
    from rankloop._names import one_of
    from rankloop.cli.options.inputs import read_judgments, read_ranking
    from rankloop.cli.options.outputs import show, write_frame
    from rankloop.cli.options.warm import compiling_metrics
    from rankloop.metrics.compare import compare as comparison_of

    one_of("format", format, ("table", "markdown", "latex"))
    check_report(report)
    names = distinct_names(rankings)
    with compiling_metrics():
        labels = read_judgments(judgments)
        systems = {name: read_ranking(path) for name, path in zip(names, rankings, strict=True)}
    found = comparison_of(
        systems, labels, metric or None, test=test, seed=seed, convention=convention, ties=ties, empty=empty
    )
    if per_query is not None:
        write_frame(found.per_query, per_query)
    if report is not None:
        from rankloop.report import report_of_comparison

        report_of_comparison(found).save(report)
    if format == "table" or json:
        show(found, as_json=json, rankings=[str(path) for path in rankings], judgments=str(judgments))
    else:
        typer.echo(found.to_markdown() if format == "markdown" else found.to_latex())


def distinct_names(paths: list[Path]) -> list[str]:
    """The shortest names that differ: stems, or file names, or whole paths."""
    for names in (
        [path.stem for path in paths],
        [path.name for path in paths],
        [str(path) for path in paths],
    ):
        if len(set(names)) == len(names):
            return names
    raise ValueError(f"a file is named twice: {', '.join(map(str, paths))}; compare different rankings")
