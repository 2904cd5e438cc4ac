"""`rankloop explain`: what a ranker lives on, and why one document stands above another."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["explain"]


def explain(
    model: Annotated[Path, typer.Argument(help="A saved ranker, or the run folder that holds one.")],
    data: Annotated[Path, typer.Argument(help="LETOR/SVMLight text, Parquet or a saved folder.")],
    query: Annotated[
        str | None, typer.Option("--query", "-q", help="Explain the order of two documents of this query.")
    ] = None,
    a: Annotated[
        str | None, typer.Option("--a", help="A document: its docid, or its rank where there are no docids.")
    ] = None,
    b: Annotated[str | None, typer.Option("--b", help="The other document.")] = None,
    by: Annotated[
        str, typer.Option("--by", help="Importance of features by permutation, gain or split.")
    ] = "permutation",
    metric: Annotated[str, typer.Option("--metric", "-m", help="What permutation measures.")] = "ndcg@10",
    repeats: Annotated[int, typer.Option("--repeats", help="How often each feature is shuffled.")] = 5,
    seed: Annotated[int, typer.Option("--seed", help="For what is drawn at random.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Which features matter; or, with --query, why one document stands above another.

    rankloop explain runs/trees test.txt

    rankloop explain runs/trees test.txt --query 17 --a 1 --b 4
    """
    from rankloop.cli.options.outputs import show
    from rankloop.cli.options.runs import MODEL, read_data
    from rankloop.rankers import importance, load, why

    if query is None and (a is not None or b is not None):
        raise ValueError("--a and --b name documents of one query; say which with --query")
    ranker = load(model / MODEL if model.is_dir() else model)
    lists = read_data(data, ranker.n_features_in_)
    if query is not None:
        found = why(ranker, lists, query, a, b, seed=seed)
        show(found, as_json=json, model=str(model), data=str(data))
    else:
        told = importance(ranker, lists, by=by, metric=metric, resamples=repeats, seed=seed)
        show(told, as_json=json, model=str(model), data=str(data))
