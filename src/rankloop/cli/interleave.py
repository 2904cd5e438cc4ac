"""`rankloop interleave`: which ranking do people prefer?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.options.arguments import Json, PageSize, Seed, User
from rankloop.cli.options.group import grouped
from rankloop.cli.options.reading import Reading

if TYPE_CHECKING:
    from rankloop.interleaving import Duel

__all__ = ["interleave"]


@grouped
def interleave(
    source: Annotated[
        str, typer.Argument(help="A log of interleaved pages (.jsonl), or a data set to simulate on.")
    ],
    rankers: Annotated[
        list[str] | None,
        typer.Argument(help="To simulate: scores (text, .npy) or rankers, also as name=path; two or more."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="team_draft, balanced, probabilistic, optimized or pairwise_preference.")
    ] = "team_draft",
    user: User = "navigational",
    pages: Annotated[int, typer.Option("--pages", "-n", help="How many pages to simulate.")] = 10_000,
    k: PageSize = 10,
    confidence: Annotated[float, typer.Option(help="Confidence of the verdicts.")] = 0.95,
    plan: Annotated[
        float | None, typer.Option(help="Also print how many pages show a difference of this size (0.02).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the simulated pages (.jsonl).")
    ] = None,
    seed: Seed = 0,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Find the ranking that people prefer: wins, losses and ties on interleaved pages, with intervals.

    rankloop interleave pages.jsonl

    rankloop interleave test.txt bm25.scores model.zip --user navigational -n 10000
    """
    import json as writer

    from rankloop.interleaving import pages_needed

    duel = (
        _simulated(source, rankers, reading, method=method, user=user, pages=pages, k=k, seed=seed)
        if rankers
        else _logged(source)
    )
    if rankers and out is not None:
        duel.save(out)
    found = []
    for verdict in duel.verdicts(confidence=confidence):
        at_any_look = duel.always_valid(verdict.first, verdict.second, confidence=confidence)
        more = {"always_valid_p": at_any_look.p_value, "could_stop_after": at_any_look.stop}
        found.append({**verdict.to_dict(), **more})
    if plan is not None:
        ties = sum(one["ties"] for one in found) / (len(found) * len(duel.pages))
        for one in found:
            one["pages_needed"] = pages_needed(plan, ties=ties, confidence=confidence)
    if json:
        caution = {"caution": duel.caution} if duel.caution else {}
        typer.echo(writer.dumps({"pages": len(duel.pages), "verdicts": found, **caution}))
        return
    for one in found:
        typer.echo(_text(one))
    if duel.caution:
        typer.echo(f"{duel.caution}; use team_draft, probabilistic, optimized or pairwise_preference")


def _simulated(data: str, rankers: list[str], reading: Reading, **options: Any) -> "Duel":
    from rankloop.cli.options.inputs import distinct_names
    from rankloop.interleaving import simulate_duel

    if len(rankers) < 2:
        raise ValueError("a comparison needs two or more rankers: scores or saved rankers")
    named = {name: reading.ranking(path, data) for name, path in distinct_names(rankers).items()}
    return simulate_duel(reading.dataset(data), named, **options)


def _logged(source: str) -> "Duel":
    from rankloop.interleaving import read_duel

    log = Path(source)
    if log.suffix != ".jsonl":
        raise ValueError(f"{log} is not a log of pages (.jsonl); to simulate, name two or more rankers")
    if not log.is_file():
        raise FileNotFoundError(f"there is no log {log}")
    return read_duel(log)


def _text(one: dict[str, Any]) -> str:
    conclusion = f"{one['winner']} is preferred" if one["winner"] else "no difference is shown"
    stop = one["could_stop_after"]
    early = f"enough after {stop:,} pages" if stop else "too few pages to decide at any look"
    lines = [
        f"{one['first']} against {one['second']}: {one['wins']:,} wins, {one['losses']:,} losses, "
        f"{one['ties']:,} ties",
        f"  difference {one['difference']:+.4f} [{one['low']:+.4f}, {one['high']:+.4f}], "
        f"p = {one['p_value']:.3g}, always-valid p = {one['always_valid_p']:.3g}",
        f"  {conclusion}; {early}",
    ]
    if "pages_needed" in one:
        lines.append(f"  {one['pages_needed']:,} pages would show a difference of the planned size")
    return "\n".join(lines)
