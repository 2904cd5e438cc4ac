"""`rankloop online`: the learning curve of a learner while it serves."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rankloop.cli.options.arguments import DataSet, Json, PageSize, ReportFile, Seed, User, check_report
from rankloop.cli.options.group import grouped
from rankloop.cli.options.reading import Reading
from rankloop.cli.options.simulation import By, Eta, Noise

__all__ = ["online"]


@grouped
def online(
    data: DataSet,
    test: Annotated[str | None, typer.Option(help="The data set on which the learner is evaluated.")] = None,
    learner: Annotated[
        str, typer.Option(help="pdgd, dbgd, mgd, nsgd or coltr; in a service pdgd, thompson, epsilon_greedy.")
    ] = "pdgd",
    user: User = "navigational",
    pages: Annotated[int, typer.Option("--pages", "-n", help="How many pages people see.")] = 10_000,
    k: PageSize = 10,
    production: Annotated[
        str | None, typer.Option(help="The ranking that the floor is relative to: scores or a saved ranker.")
    ] = None,
    by: By = None,
    floor: Annotated[float, typer.Option(help="Count pages below this share of production's NDCG.")] = 0.9,
    eta: Eta = 1.0,
    noise: Noise = 0.1,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Draw the learning curve to this file (.svg or .html).")
    ] = None,
    above: Annotated[
        str | None,
        typer.Option(
            help="DATA is a service (its TOML file or index): register a version that learns while it serves "
            "and stays above this one."
        ),
    ] = None,
    arms: Annotated[
        list[str] | None, typer.Option("--arm", help="With --above: a version that a bandit may choose.")
    ] = None,
    keep: Annotated[
        float, typer.Option(help="With --above: the share of exposure that the other version's page keeps.")
    ] = 0.7,
    control: Annotated[
        float, typer.Option(help="With --above: the share of people who always get the other version.")
    ] = 0.1,
    report: ReportFile = None,
    seed: Seed = 0,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Simulate a ranker that learns online from clicks; or, with --above, add one to a service.

    Prints the quality on the test set by number of pages, and the quality of the pages that users saw.

    rankloop online train.txt --test test.txt --learner pdgd --user perfect -n 10000 --out curve.svg

    rankloop online shop.toml --above v1 --learner pdgd

    rankloop online shop.toml --above v1 --learner thompson --arm v1 --arm v3
    """
    if above is not None:
        from rankloop.cli.options.learning_version import register_version

        chosen = tuple(arms or ())
        about = {"learner": learner, "arms": chosen, "keep": keep, "control": control}
        register_version(data, floor=above, as_json=json, **about)
        return
    if test is None:
        raise typer.BadParameter("Missing option '--test', or --above for a version of a service.")
    import json as writer

    from rankloop.cli.options.simulation import ranking_scores, simulated_user
    from rankloop.online import learning_curve
    from rankloop.rankers import LinearRanker

    if out is not None and out.suffix.lower() not in (".svg", ".html"):
        raise ValueError(f"--out writes an .svg or .html file, got {out}")
    check_report(report)
    if production is not None and by is not None:
        raise ValueError("give either --production FILE or --by FEATURE, not both")
    made = _learner(learner)
    train = reading.dataset(data)
    before = ranking_scores(train, production, by, reading, data)
    scores = before.predict(train) if hasattr(before, "predict") else before
    curve = learning_curve(
        made(LinearRanker(), features=train, seed=seed),
        train,
        reading.dataset(test, like=train),
        user=simulated_user(user, eta, noise, train),
        pages=pages,
        k=k,
        production=scores,
        floor=floor,
        seed=seed,
    )
    if out is not None or report is not None:
        from rankloop.report import report_of_online

        page = report_of_online({learner: curve}, metric=f"ndcg@{k}")
        if out is not None:
            (page.figures[0] if out.suffix.lower() == ".svg" else page).save(out)
        if report is not None:
            page.save(report)
    if json:
        typer.echo(writer.dumps({"learner": learner, "k": k, **curve.to_dict()}))
        return
    typer.echo(f"{'pages':>10}  ndcg@{k} on the test set")
    widest = max(curve.offline)
    for page, value in zip(curve.pages, curve.offline, strict=True):
        typer.echo(f"{page:>10,}  {value:.4f} {'█' * round(40 * value / widest)}")
    typer.echo(f"discounted ndcg@{k} of the pages that users saw: {curve.online:,.1f}")
    if scores is not None:
        typer.echo(f"{curve.below_floor:.1%} of the pages were below {floor:.0%} of production's ndcg@{k}")


def _learner(name: str) -> Any:
    import rankloop.online as family
    from rankloop._names import unknown

    kinds = {kind.name: kind for kind in (family.PDGD, family.DBGD, family.MGD, family.NSGD, family.COLTR)}
    if name not in kinds:
        raise unknown("online learner", name, kinds)
    return kinds[name]
