"""`rankloop compare`: is this ranking better than that one?"""

from typing import Annotated

import typer

from rankloop.cli.options.arguments import (
    Convention,
    Empty,
    Format,
    Json,
    Metrics,
    OutFile,
    PerQuery,
    ReportFile,
    Seed,
    Ties,
    check_report,
)
from rankloop.cli.options.reading import Reading, reads_data

__all__ = ["compare"]


@reads_data
def compare(
    rankings: Annotated[
        list[str],
        typer.Argument(
            help="Two or more runs, files of scores, saved rankers or run folders, also as name=path (- is "
            "standard input); the first is the baseline."
        ),
    ],
    judgments: Annotated[
        str, typer.Option("--qrels", "--data", "-j", help="The judgments: TREC qrels, or a data set.")
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
    format: Format = "table",
    out: OutFile = None,
    report: ReportFile = None,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Compare rankings: differences of metrics with intervals and p-values.

    rankloop compare base.run new.run --qrels qrels.txt

    rankloop compare bm25=runs/a.run dense=runs/b.run --qrels qrels.txt --format latex
    """
    from rankloop.cli.options.inputs import distinct_names, one_standard_input, read_judgments
    from rankloop.cli.options.outputs import form_of_output, show_as, write_frame
    from rankloop.cli.options.warm import compiling_metrics
    from rankloop.metrics.compare import compare as comparison_of

    form = form_of_output(format, json)
    check_report(report)
    named = distinct_names(rankings)
    one_standard_input(judgments, *named.values())
    with compiling_metrics():
        labels = read_judgments(judgments, reading)
        systems = {name: reading.ranking(path, judgments) for name, path in named.items()}
    found = comparison_of(
        systems, labels, metric or None, test=test, seed=seed, convention=convention, ties=ties, empty=empty
    )
    if per_query is not None:
        write_frame(found.per_query, per_query)
    if report is not None:
        from rankloop.report import report_of_comparison

        report_of_comparison(found).save(report)
    show_as(found, form, out, rankings=[*named.values()], judgments=judgments)
