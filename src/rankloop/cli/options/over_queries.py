"""Versions of a service compared over one of its query sets, for a person or for CI."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rankloop.serve.desk.set_comparison import SetComparison

__all__ = ["compare_versions"]

WORST = 10  # queries that are listed
SLOWEST = 60.0  # seconds of a query


def compare_versions(
    versions: list[str], address: str, service: str | None, max_loss: float | None, *, as_json: bool
) -> None:
    """Print the comparison; exit with 1 where the second version loses more than `max_loss`, 2 if unknown."""
    if len(versions) != 2:
        raise ValueError(f"--queries compares two versions, as in v3 v4; got {len(versions)}")
    if max_loss is not None and not 0 <= max_loss <= 1:
        raise ValueError(f"--max-loss is a loss of NDCG from 0 to 1, got {max_loss}")
    found = _compared(versions, address, service)
    lost = [] if max_loss is None else found.lost(max_loss)
    if as_json:
        typer.echo(json.dumps(found.to_dict() | {"max_loss": max_loss, "lost": lost}, indent=2))
    else:
        typer.echo(_text(found))
        for one in lost:
            typer.echo(f"{found.b} loses more than {max_loss:g}: {one}", err=True)
    if not found.known:
        typer.echo("nothing is known of these queries: judge some, or let people search", err=True)
        raise typer.Exit(2)
    if lost:
        raise typer.Exit(1)


def _compared(versions: list[str], address: str, service: str | None) -> "SetComparison":
    from rankloop._extras import MODULES, require_modules

    require_modules(*MODULES["serve"])
    from rankloop.search import Deadline
    from rankloop.serve.config import Config
    from rankloop.serve.desk.query_sets import query_set
    from rankloop.serve.desk.rankings import Rankings
    from rankloop.serve.desk.set_comparison import compare_over_set
    from rankloop.serve.events.store import Store
    from rankloop.serve.models.live import Models
    from rankloop.serve.models.registry import Registry
    from rankloop.serve.online.learners import Learners
    from rankloop.serve.open_searchable import open_searchable

    config = Config.read(service or _only_one())
    index = open_searchable(config)
    if not config.home.exists():
        raise ValueError(f"there is no service in {config.home} yet; start it with rankloop serve")
    with Store.open(config.database) as store:
        registry = Registry(store, config.home / "models")
        models, learned = Models(registry, index), Learners(store, config.influence)
        rankings = Rankings(index, lambda one: learned.now(models.get(one), models.get), SLOWEST)
        try:
            chosen = query_set(store, address)
        except LookupError as error:
            raise ValueError(str(error)) from None
        return compare_over_set(store, registry, rankings, chosen, versions[0], versions[1], Deadline())


def _only_one() -> str:
    """The service of this folder: one folder `x.serve` beside `x.toml` or `x.index`."""
    either = ([path.with_suffix(suffix) for suffix in (".toml", ".index")] for path in Path().glob("*.serve"))
    found = [first for pair in either if (first := next(filter(Path.exists, pair), None)) is not None]
    if len(found) != 1:
        raise ValueError(
            f"--queries needs a service: name its config or index, as in --service shop.toml ({len(found)} "
            "were found here)"
        )
    return str(found[0])


def _text(found: "SetComparison") -> str:
    from rankloop._table import Table

    def mean(name: str, one: Any) -> str:
        if not one.known:
            return f"by {name}: nothing known"
        shown = f"{one.value:+.4f} [{one.low:+.4f}, {one.high:+.4f}]"
        return f"by {name}: NDCG@10 {shown} on {found.count(name)} queries"

    note = "" if found.corrected else " (not corrected for rank: no curve was estimated yet)"
    rows = [
        (one.query, f"{one.a:.4f}", f"{one.b:.4f}", f"{one.change:+.4f}", one.by)
        for one in found.known[:WORST]
        if one.change is not None
    ]
    return "\n".join(
        (
            f"{found.b} against {found.a} on {found.set}: {found.wins} wins, {found.losses} losses, "
            f"{found.ties} ties, {len(found.changes) - len(found.known)} unknown",
            mean("judgments", found.judged),
            mean("clicks", found.clicked) + (note if found.clicked.known else ""),
            *found.notes,
            Table(("query", found.a, found.b, "change", "by"), rows).text() if rows else "",
        )
    ).rstrip()
