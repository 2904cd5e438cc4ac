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
            "standard input); the first is the baseline. With --queries, two versions of a service."
        ),
    ],
    judgments: Annotated[
        str | None, typer.Option("--qrels", "--data", "-j", help="The judgments: TREC qrels, or a data set.")
    ] = None,
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
    queries: Annotated[
        str | None, typer.Option("--queries", help="A query set of a service, as in head or head@2.")
    ] = None,
    service: Annotated[
        str | None,
        typer.Option(
            "--service", help="With --queries: the config or index; by default the one of this folder."
        ),
    ] = None,
    max_loss: Annotated[
        float | None,
        typer.Option("--max-loss", help="With --queries: exit with 1 if the second loses more NDCG@10."),
    ] = None,
    *,
    reading: Reading,
) -> None:
    """Compare rankings: differences of metrics with intervals and p-values.

    rankloop compare base.run new.run --qrels qrels.txt

    rankloop compare bm25=runs/a.run dense=runs/b.run --qrels qrels.txt --format latex

    rankloop compare v3 v4 --queries head --max-loss 0.01
    """
    if queries is not None:
        from rankloop.cli.options.over_queries import compare_versions

        compare_versions(rankings, queries, service, max_loss, as_json=json)
        return
    if judgments is None:
        raise typer.BadParameter("Missing option '--qrels' / '--data' / '-j', or --queries for versions.")
    from rankloop.cli.options.inputs import distinct_names, one_standard_input, read_judgments
    from rankloop.cli.options.outputs import form_of_output, show_as, write_frame
    from rankloop.cli.options.warm import compiling_metrics
    from rankloop.metrics.compare import compare as comparison_of

    form = form_of_output(format, json)
    check_report(report)
    named = distinct_names(rankings)
    one_standard_input(judgments, *named.values())
    with compiling_metrics(judgments, *named.values()):
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
