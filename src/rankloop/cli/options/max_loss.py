"""`--max-loss`: a comparison as a check that fails in CI."""

import math
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rankloop.metrics.results.comparison import Comparison

__all__ = ["check_max_loss", "exit_on_loss"]


def check_max_loss(max_loss: float | None) -> None:
    """Refuse a negative limit, or one that no loss can exceed."""
    if max_loss is not None and not 0 <= max_loss < math.inf:
        raise ValueError(f"--max-loss is the largest loss allowed, at least 0, got {max_loss}")


def exit_on_loss(found: "Comparison", max_loss: float) -> None:
    """Exit with 1 if a system loses more than this against the baseline by the first metric, 2 if unknown."""
    metric = found.names[0]
    lost, unknown = False, False
    for system, verdict in found.verdicts[metric].items():
        lower_is_better = metric in found.systems[system].lower_is_better
        loss = verdict.difference if lower_is_better else -verdict.difference
        unknown = unknown or math.isnan(loss)
        if loss > max_loss:
            lost = True
            change = f"{verdict.difference:+.4f} [{verdict.low:+.4f}, {verdict.high:+.4f}]"
            typer.echo(f"{system} loses more than {max_loss:g}: {metric} changes by {change}", err=True)
    if unknown:
        typer.echo(f"no query has a value of {metric}: the loss is unknown", err=True)
    if lost or unknown:
        raise typer.Exit(1 if lost else 2)
