"""Learning curves for `rankloop simulate --online`."""

from pathlib import Path
from typing import Any

import typer

__all__ = ["tell_curve"]


def tell_curve(
    learner: str,
    train: Any,
    test: Any,
    user: Any,
    production: Any,
    pages: int,
    k: int,
    floor: float,
    seed: int,
    as_json: bool,
    plot: Path | None = None,
) -> None:
    """Let simulated people use a learner and print how good it became and what they saw meanwhile."""
    import json

    import rankloop.online as family
    from rankloop._names import unknown
    from rankloop.rankers import LinearRanker

    if plot is not None and plot.suffix.lower() not in (".svg", ".html"):
        raise ValueError(f"--plot writes an .svg or .html file, got {plot}")
    kinds = {kind.name: kind for kind in (family.PDGD, family.DBGD, family.MGD, family.NSGD, family.COLTR)}
    if learner not in kinds:
        raise unknown("online learner", learner, kinds)
    scores = production.predict(train) if hasattr(production, "predict") else production
    made: Any = kinds[learner]
    curve = family.learning_curve(
        made(LinearRanker(), features=train, seed=seed),
        train,
        test,
        user=user,
        pages=pages,
        k=k,
        production=scores,
        floor=floor,
        seed=seed,
    )
    if plot is not None:
        from rankloop.report import report_of_online

        drawn = report_of_online({learner: curve}, metric=f"ndcg@{k}")
        (drawn.figures[0] if plot.suffix.lower() == ".svg" else drawn).save(plot)
    if as_json:
        typer.echo(json.dumps({"learner": learner, "k": k, **curve.to_dict()}))
        return
    typer.echo(f"{'pages':>10}  ndcg@{k} on the test set")
    widest = max(curve.offline)
    for page, value in zip(curve.pages, curve.offline, strict=True):
        typer.echo(f"{page:>10,}  {value:.4f} {'█' * round(40 * value / widest)}")
    typer.echo(f"people saw a discounted ndcg@{k} of {curve.online:,.1f} meanwhile")
    if scores is not None:
        typer.echo(f"{curve.below_floor:.1%} of the pages were below {floor:.0%} of the shown ranking")
