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


def report_of_duel(duel: "Duel", *, confidence: float = 0.95, title: str = "Interleaving") -> Report:
    """The verdicts of an interleaving, on one page.

    >>> import rankloop as rl
    >>> data = rl.synthetic(n_queries=20, docs_per_query=10, n_features=3, seed=0)
    >>> rankers = {"good": data.y, "bad": -data.y}
    >>> report_of_duel(rl.interleaving.simulate_duel(data, rankers, pages=100))
    Report('Interleaving', 2 sections)
    """
    verdicts = duel.verdicts(confidence=confidence)
    report = Report(title, f"{len(duel.pages):,} pages of {', '.join(duel.names)}.")
    report.add("The verdict", preference(verdicts), *([f"{duel.caution}."] if duel.caution else ()))
    return report.add(
        "How the evidence grew", *(_growth(duel, one.first, one.second, confidence) for one in verdicts)
    )


def _growth(duel: "Duel", first: str, second: str, confidence: float) -> Figure:
    """The mean difference of credit, with the interval that holds at every look."""
    found = duel.always_valid(first, second, confidence=confidence)
    pages = np.arange(1, len(found.differences) + 1)
    stop = f"after {found.stop:,} pages there is a winner" if found.stop else "there is no winner yet"
    return learning_picture(
        {f"credit of {first} minus {second}": (pages, found.differences, found.lows, found.highs)},
        x="pages",
        y="mean difference of credit",
        best=found.stop,
        mark="enough",
        title=f"{first} against {second}, page by page",
        note=f"The band holds at every look; {stop}.",
    )
