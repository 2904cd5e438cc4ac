"""`rankloop compare`: is this ranking better than that one?"""

from typing import Annotated, Any

import typer

from rankloop.cli.options.arguments import Seed
from rankloop.cli.options.group import grouped
from rankloop.cli.options.measuring import Measuring
from rankloop.cli.options.reading import Reading

__all__ = ["compare"]


@grouped
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
    *,
    measuring: Measuring,
    test: Annotated[
        str, typer.Option(help="The significance test: randomization (Fisher's), t or bootstrap.")
    ] = "randomization",
    seed: Seed = 0,
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
        typer.Option(
            "--max-loss",
            help="For CI: exit with 1 if a ranking loses more than this against the first one, by the first "
            "metric (with --queries: by NDCG@10).",
        ),
    ] = None,
    reading: Reading,
) -> None:
    """Compare rankings: differences of metrics with intervals and p-values.

    rankloop compare base.run new.run --qrels qrels.txt

    rankloop compare bm25=runs/a.run dense=runs/b.run --qrels qrels.txt --format latex

    rankloop compare base.run new.run --qrels qrels.txt --max-loss 0.01

    rankloop compare v3 v4 --queries head --max-loss 0.01
    """
    if queries is not None:
        from rankloop.cli.options.over_queries import compare_versions

        plain = Measuring(metric=measuring.metric or None, json=measuring.json)
        if judgments or measuring.metric or (test, measuring, reading) != ("randomization", plain, Reading()):
            raise ValueError(
                "--queries compares versions by NDCG@10, and takes only --service, --max-loss and --json; "
                "leave the other options out"
            )
        compare_versions(rankings, queries, service, max_loss, as_json=measuring.json)
        return
    if judgments is None:
        raise typer.BadParameter("Missing option '--qrels' / '--data' / '-j', or --queries for versions.")
    if service is not None:
        raise ValueError("--service is for --queries; leave it out with --qrels or --data")
    from rankloop.cli.options.inputs import distinct_names, one_standard_input, read_judgments
    from rankloop.cli.options.max_loss import check_max_loss, exit_on_loss
    from rankloop.cli.options.warm import compiling_metrics
    from rankloop.metrics.compare import compare as comparison_of

    check_max_loss(max_loss)
    measuring.check()
    named = distinct_names(rankings)
    one_standard_input(judgments, *named.values())
    with compiling_metrics(judgments, *named.values()):
        labels = read_judgments(judgments, reading)
        systems = {name: reading.ranking(path, judgments) for name, path in named.items()}
    found = comparison_of(systems, labels, measuring.metric or None, test=test, seed=seed, **measuring.rules)

    def page(found: Any) -> Any:
        from rankloop.report import report_of_comparison

        return report_of_comparison(found)

    measuring.show(found, page, rankings=[*named.values()], judgments=judgments)
    if max_loss is not None:
        exit_on_loss(found, max_loss)
