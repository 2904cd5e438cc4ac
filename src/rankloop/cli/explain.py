"""`rankloop explain`: which features matter, and why one document is ranked above another."""

from typing import Annotated, Any

import typer

from rankloop.cli.options.arguments import DataSet, Json, Model, ReportFile, Seed, check_report
from rankloop.cli.options.group import grouped
from rankloop.cli.options.reading import Reading

__all__ = ["explain"]


@grouped
def explain(
    model: Model,
    data: DataSet,
    query: Annotated[
        str | None, typer.Option("--query", "-q", help="Explain the order of two documents of this query.")
    ] = None,
    a: Annotated[
        str | None, typer.Option(help="A document: its docid, or its place in the ranking, as in 1.")
    ] = None,
    b: Annotated[str | None, typer.Option(help="The other document.")] = None,
    by: Annotated[
        str, typer.Option(help="How to measure importance: permutation, gain or split.")
    ] = "permutation",
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="The metric of the permutation importance.")
    ] = "ndcg@10",
    resamples: Annotated[int, typer.Option(help="How often each feature is shuffled.")] = 5,
    report: ReportFile = None,
    seed: Seed = 0,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Show which features matter; or, with --query, why one document is ranked above another.

    rankloop explain runs/trees test.txt

    rankloop explain runs/trees test.txt --query 17 --a 1 --b 4
    """
    from rankloop.cli.options.outputs import show
    from rankloop.cli.options.runs import model_file
    from rankloop.rankers import importance, load, why

    check_report(report)
    if query is None and (a is not None or b is not None):
        raise ValueError("--a and --b name documents of one query; name it with --query")
    ranker = load(model_file(model))
    lists = reading.dataset(data, like=ranker)
    if query is not None:
        found: Any = why(ranker, lists, query, a, b, seed=seed)
    else:
        found = importance(ranker, lists, by=by, metric=metric, resamples=resamples, seed=seed)
    if report is not None:
        from rankloop.report import Report, importance_picture

        page = Report(f"Explanation of {model}", f"on {data}")
        if query is None:
            page.add("Which features matter", importance_picture(found), found)
        else:
            page.add(f"Two documents of query {query}", found)
        page.save(report)
    show(found, as_json=json, model=model, data=data)
