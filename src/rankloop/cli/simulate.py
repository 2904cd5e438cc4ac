"""`rankloop simulate`: a click log of simulated users."""

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.options.arguments import DataSet, Json, PageSize, Seed, User
from rankloop.cli.options.group import grouped
from rankloop.cli.options.reading import Reading
from rankloop.cli.options.simulation import By, Eta, Noise

__all__ = ["simulate"]


@grouped
def simulate(
    data: DataSet,
    out: Annotated[Path, typer.Option("--out", "-o", help="The click log: .parquet, .csv or .jsonl.")],
    logging_policy: Annotated[
        str | None, typer.Option(help="What ranks the pages: scores (text, .npy) or a saved ranker.")
    ] = None,
    by: By = None,
    user: User = "pbm",
    sessions: Annotated[int, typer.Option("--sessions", "-n", help="How many pages.")] = 100_000,
    k: PageSize = 10,
    randomize: Annotated[
        str | None, typer.Option(help="An experiment: swap, adjacent, fairpairs or shuffle.")
    ] = None,
    rate: Annotated[float, typer.Option(help="The share of pages in the experiment.")] = 1.0,
    top: Annotated[int | None, typer.Option(help="How many ranks the experiment moves.")] = None,
    temperature: Annotated[float | None, typer.Option(help="Draw rankings from Plackett-Luce.")] = None,
    eta: Eta = 1.0,
    noise: Noise = 0.1,
    ranker: Annotated[str | None, typer.Option(help="The name to log for the ranker.")] = None,
    layout: Annotated[str | None, typer.Option(help="The name to log for the layout.")] = None,
    seed: Seed = 0,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Show the documents of a data set to simulated users and log their clicks.

    The labels of the data set are what users find relevant.

    rankloop simulate train.txt --by 25 --user navigational -n 1000000 --out log.parquet

    rankloop simulate train.txt --logging-policy scores.txt --randomize swap --rate 0.1 --out log.parquet
    """
    import json as writer

    import rankloop.clicks as family
    from rankloop.cli.options.simulation import ranking_scores, simulated_user

    if (logging_policy is None) == (by is None):
        raise ValueError("what ranks the documents? give either --logging-policy FILE or --by FEATURE")
    documents = reading.dataset(data)
    log = family.simulate(
        documents,
        logging_policy=ranking_scores(documents, logging_policy, by, reading, data),
        user=simulated_user(user, eta, noise, documents),
        sessions=sessions,
        k=k,
        randomize=randomize,
        rate=rate,
        top=top,
        temperature=temperature,
        ranker=ranker,
        layout=layout,
        seed=seed,
    )
    family.write_clicks(log, out)
    counts = {"out": str(out), "pages": log.n_pages, "impressions": len(log), "clicks": int(log.click.sum())}
    typer.echo(writer.dumps(counts) if json else f"{log} written to {out}")
