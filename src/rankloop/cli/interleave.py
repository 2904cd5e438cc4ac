"""`rankloop interleave`: which ranking do people prefer?"""

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["interleave"]


def interleave(
    log_or_data: Annotated[
        Path, typer.Argument(help="A log of interleaved pages (.jsonl), or a data set to simulate on.")
    ],
    rankers: Annotated[
        list[Path] | None,
        typer.Argument(help="To simulate: scores (text, .npy) or saved rankers, two or more."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method", help="team_draft, balanced, probabilistic, optimized or pairwise_preference."
        ),
    ] = "team_draft",
    user: Annotated[str, typer.Option("--user", help="A simulated user by name.")] = "navigational",
    pages: Annotated[int, typer.Option("--pages", "-n", help="How many pages to simulate.")] = 10_000,
    k: Annotated[int, typer.Option("-k", help="How many documents a page shows.")] = 10,
    error: Annotated[float, typer.Option("--error", help="The error rate of the verdicts.")] = 0.05,
    difference: Annotated[
        float | None, typer.Option("--plan", help="Say how many pages show a difference of this size (0.02).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Keep the simulated pages (.jsonl).")
    ] = None,
    seed: Annotated[int, typer.Option("--seed")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Which ranking do people prefer? Wins, losses and ties of interleaved pages, with their error.

    rankloop interleave pages.jsonl

    rankloop interleave test.txt bm25.scores model.zip --user navigational -n 10000
    """
    import json as json_text

    from rankloop.interleaving import pages_needed, read_duel, simulate_duel

    if rankers:
        from rankloop.cli.options.inputs import read_ranking
        from rankloop.data import open_dataset

        if len(rankers) < 2:
            raise ValueError("a comparison needs two or more rankers: scores or saved rankers")
        named = {path.stem: read_ranking(path) for path in rankers}
        if len(named) < len(rankers):
            raise ValueError("two of the rankers have the same file name; rename one")
        duel = simulate_duel(
            open_dataset(log_or_data), named, interleaving=method, user=user, pages=pages, k=k, seed=seed
        )
        if out is not None:
            duel.save(out)
    else:
        if log_or_data.suffix != ".jsonl":
            raise ValueError(
                f"{log_or_data} is no log of pages (.jsonl); to simulate on data name two or more rankers"
            )
        if not log_or_data.is_file():
            raise FileNotFoundError(f"there is no log {log_or_data}")
        duel = read_duel(log_or_data)
    told = [_told(duel, said, error) for said in duel.verdicts(confidence=1 - error, seed=seed)]
    if difference is not None:
        tie_share = sum(one["ties"] for one in told) / (len(told) * len(duel.pages))
        for one in told:
            one["pages_needed"] = pages_needed(difference, ties=tie_share, error=error)
    if json:
        typer.echo(json_text.dumps({"pages": len(duel.pages), "verdicts": told}))
        return
    for one in told:
        typer.echo(_line(one))


def _told(duel: Any, said: Any, error: float) -> dict[str, Any]:
    looked = duel.sequential(said.first, said.second, error=error)
    return {**said.to_dict(), "always_valid_p": float(looked.p_value[-1]), "could_stop_after": looked.stop}


def _line(one: dict[str, Any]) -> str:
    said = f"{one['winner']} is preferred" if one["winner"] else "no difference is shown"
    stop = one["could_stop_after"]
    early = f"could have stopped after {stop:,} pages" if stop else "a daily look would not stop yet"
    text = (
        f"{one['first']} against {one['second']}: {one['wins']:,} wins, {one['losses']:,} losses, "
        f"{one['ties']:,} ties\n"
        f"  preference {one['preference']:+.4f} [{one['low']:+.4f}, {one['high']:+.4f}], "
        f"sign test p = {one['p_value']:.3g}, always-valid p = {one['always_valid_p']:.3g}\n  {said}; {early}"
    )
    if "pages_needed" in one:
        text += f"\n  {one['pages_needed']:,} pages would show a difference of the planned size"
    return text
