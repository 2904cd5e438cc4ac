"""`rankloop simulate`: a click log that never happened."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rankloop.data import RankingDataset

__all__ = ["simulate"]


def simulate(
    data: Annotated[Path, typer.Argument(help="A data set with grades: LETOR/SVMLight, Parquet or saved.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The log: .parquet, .csv or .jsonl.")
    ] = None,
    logging_policy: Annotated[
        Path | None, typer.Option("--shown-by", help="What ranks: scores (text, .npy) or a saved ranker.")
    ] = None,
    by: Annotated[str | None, typer.Option("--by", help="Rank by one feature: its number or name.")] = None,
    user: Annotated[
        str,
        typer.Option(
            "--user",
            help="pbm, eye_tracking, trust, dbn, perfect, navigational, informational, or a saved model.",
        ),
    ] = "pbm",
    sessions: Annotated[int, typer.Option("--sessions", "-n", help="How many pages.")] = 100_000,
    k: Annotated[int, typer.Option("-k", help="How many documents a page shows.")] = 10,
    randomize: Annotated[
        str | None, typer.Option("--randomize", help="swap, adjacent, fairpairs or shuffle.")
    ] = None,
    rate: Annotated[float, typer.Option("--rate", help="The share of pages in the experiment.")] = 1.0,
    top: Annotated[int | None, typer.Option("--top", help="How many ranks the experiment moves.")] = None,
    temperature: Annotated[
        float | None, typer.Option("--temperature", help="Draw rankings from Plackett-Luce.")
    ] = None,
    eta: Annotated[float, typer.Option("--eta", help="How steep examination falls.")] = 1.0,
    noise: Annotated[float, typer.Option("--noise", help="How often grade 0 attracts.")] = 0.1,
    online: Annotated[
        str | None,
        typer.Option("--online", help="Learn while serving instead: pdgd, dbgd, mgd, nsgd or coltr."),
    ] = None,
    test: Annotated[
        Path | None, typer.Option("--test", help="With --online: the data set that measures it.")
    ] = None,
    floor: Annotated[
        float,
        typer.Option("--floor", help="With --online: pages below this share of the shown ranking count."),
    ] = 0.9,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="With --online: draw the curve to this file (.svg or .html)."),
    ] = None,
    ranker: Annotated[str | None, typer.Option("--ranker", help="The name to log for the ranker.")] = None,
    layout: Annotated[str | None, typer.Option("--layout", help="The name to log for the layout.")] = None,
    seed: Annotated[int, typer.Option("--seed")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show a data set's documents to a simulated user and log the clicks.

    rankloop simulate train.txt --by 25 --user navigational -n 1000000 --out log.parquet

    rankloop simulate train.txt --logging-policy scores.txt --randomize swap --rate 0.1 --out log.parquet

    rankloop simulate train.txt --online pdgd --test test.txt --user perfect -n 10000
    """
    import json as json_lines

    import rankloop.clicks as family
    from rankloop.cli.options.inputs import read_ranking
    from rankloop.cli.options.online import tell_curve
    from rankloop.data import open_dataset

    if (logging_policy is None) == (by is None) and not (online and logging_policy is None):
        raise ValueError("what ranks the documents? give --logging-policy FILE or --by FEATURE (one of them)")
    if online is None and out is None:
        raise ValueError("where should the log go? give --out FILE")
    documents = open_dataset(data)
    shown: Any = _feature(documents, by) if by is not None else None
    if logging_policy is not None:
        shown = read_ranking(logging_policy)
        if not (hasattr(shown, "predict") or hasattr(shown, "shape")):
            raise ValueError(
                f"{logging_policy} is a run; pages are shown by scores in row order, or a saved ranker"
            )
    person = _user(user, eta, noise, int(documents.y.max()))
    if online is not None:
        if test is None:
            raise ValueError("a learning curve needs queries to measure it: give --test FILE")
        tell_curve(online, documents, open_dataset(test), person, shown, sessions, k, floor, seed, json, plot)
        return
    assert out is not None
    log = family.simulate(
        documents,
        logging_policy=shown,
        user=person,
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
    told = {"out": str(out), "pages": log.n_pages, "impressions": len(log), "clicks": int(log.click.sum())}
    typer.echo(json_lines.dumps(told) if json else f"{log} written to {out}")


def _user(name: str, eta: float, noise: float, max_grade: int) -> Any:
    from rankloop.clicks import load, user

    if Path(name).suffix:  # a file; the names of users have no dot
        return load(name)
    return user(name, eta=eta, noise=noise, max_grade=max(max_grade, 4))


def _feature(documents: "RankingDataset", by: str) -> Any:
    if documents.feature_names is not None and by in documents.feature_names:
        return documents.X[:, documents.feature_names.index(by)]
    if by.isdigit() and 1 <= int(by) <= documents.n_features:
        return documents.X[:, int(by) - 1]
    raise ValueError(f"there is no feature {by!r}; name one, or a number from 1 to {documents.n_features}")
