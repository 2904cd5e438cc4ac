"""The page of an interleaving: wins, losses and ties, and how the evidence grew."""

from typing import TYPE_CHECKING

import numpy as np

from rankloop.report.figure import Figure
from rankloop.report.learning_picture import learning_picture
from rankloop.report.preference import preference
from rankloop.report.report import Report

if TYPE_CHECKING:
    from rankloop.interleaving import Duel

__all__ = ["report_of_duel"]


def report_of_duel(
    duel: "Duel", *, confidence: float = 0.95, seed: int = 0, title: str = "Interleaving"
) -> Report:
    """The verdicts of an interleaving, on one page.

    >>> import rankloop as rl
    >>> data = rl.synthetic(n_queries=20, docs_per_query=10, n_features=3, seed=0)
    >>> rankers = {"good": data.y, "bad": -data.y}
    >>> report_of_duel(rl.interleaving.simulate_duel(data, rankers, pages=100))
    Report('Interleaving', 2 sections)
    """
    verdicts = duel.verdicts(confidence=confidence, seed=seed)
    report = Report(title, f"{len(duel.pages):,} pages of {', '.join(duel.names)}.")
    report.add("The verdict", preference(verdicts))
    return report.add(
        "How the evidence grew", *(_growth(duel, one.first, one.second, confidence) for one in verdicts)
    )


def _growth(duel: "Duel", first: str, second: str, confidence: float) -> Figure:
    """The share of wins among decided pages, with the interval that holds at every look."""
    found = duel.always_valid(first, second, confidence=confidence)
    outcome = np.sign(duel.credits[:, duel.names.index(first)] - duel.credits[:, duel.names.index(second)])
    wins, decided = np.cumsum(outcome > 0), np.cumsum(outcome != 0)
    share = np.where(decided > 0, wins / np.maximum(decided, 1), np.nan)
    stop = f"after {found.stop:,} pages there is a winner" if found.stop else "there is no winner yet"
    return learning_picture(
        {f"wins of {first}": (np.arange(1, len(share) + 1), share, 0.5 + found.lows, 0.5 + found.highs)},
        x="pages",
        y="share of decided pages won",
        best=found.stop,
        mark="enough",
        title=f"{first} against {second}, page by page",
        note=f"The band holds at every look; {stop}.",
    )
