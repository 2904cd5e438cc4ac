"""The page of an interleaving: wins, losses and ties, and how the evidence grew."""

from typing import TYPE_CHECKING

import numpy as np

from rankloop.report.figure import Figure
from rankloop.report.learning_curve import learning_curve
from rankloop.report.preference import preference
from rankloop.report.report import Report

if TYPE_CHECKING:
    from rankloop.interleaving import Duel, Verdict

__all__ = ["report_of_duel"]


def report_of_duel(
    duel: "Duel", *, error: float = 0.05, seed: int = 0, title: str = "Interleaving"
) -> Report:
    """What the clicks on interleaved pages say, on one page.

    >>> import rankloop as rl
    >>> data = rl.synthetic(n_queries=20, docs_per_query=10, n_features=3, seed=0)
    >>> rankers = {"good": data.y, "bad": -data.y}
    >>> report_of_duel(rl.interleaving.simulate_duel(data, rankers, pages=100))
    Report('Interleaving', 2 sections)
    """
    verdicts = duel.verdicts(confidence=1 - error, seed=seed)
    report = Report(title, f"{len(duel.pages):,} pages of {', '.join(duel.names)}.")
    report.add("The verdict", preference(verdicts))
    return report.add("How the evidence grew", *(_growth(duel, said, error) for said in verdicts))


def _growth(duel: "Duel", said: "Verdict", error: float) -> Figure:
    """The share of wins among decided pages with the interval that holds at every look at once."""
    looked = duel.sequential(said.first, said.second, error=error)
    outcome = np.sign(
        duel.credits[:, duel.names.index(said.first)] - duel.credits[:, duel.names.index(said.second)]
    )
    wins, decided = np.cumsum(outcome > 0), np.cumsum(outcome != 0)
    share = np.where(decided > 0, wins / np.maximum(decided, 1), np.nan)
    stop = (
        f"a verdict could be given after {looked.stop:,} pages"
        if looked.stop
        else "no verdict can be given yet"
    )
    return learning_curve(
        {f"wins of {said.first}": (np.arange(1, len(share) + 1), share, looked.low, looked.high)},
        x="pages",
        y="share of decided pages won",
        best=looked.stop,
        mark="enough",
        title=f"{said.first} against {said.second}, page by page",
        note=f"The band holds at every look at once; looked at daily, {stop}.",
    )
