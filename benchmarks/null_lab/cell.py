"""One row of the laboratory's table: a share that was measured, and whether it is what was promised."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import sqrt

__all__ = ["EXPERIMENTS", "QUICK", "Cell", "confirmed", "coverage", "false_alarms", "power", "runs"]

EXPERIMENTS = 1000  # of each cell
QUICK = 100  # the same in the quick part
AGAIN = 10  # times as many, where a cell is missed by so few that it may be chance
ALARMS = 0.05  # false alarms, at most
COVERED = (0.93, 0.97)  # of 95 % intervals
SAID = 0.95  # of the results outside the bar, at least, say themselves why


@dataclass(frozen=True, slots=True)
class Cell:
    """`value` is the share of the experiments; `note` says why a cell that is not `ok` is known to miss.

    `said` is the share of the results (of those that miss, where that is known) which say it themselves.
    """

    subject: str
    condition: str
    what: str  # "false alarms", "coverage" or "power"
    value: float
    experiments: int
    bar: str
    ok: bool
    note: str = ""
    said: float | None = None

    @property
    def state(self) -> str:
        """ "ok"; "warned" for a cell outside its bar whose results say so; "missed"."""
        if self.ok:
            return "ok"
        return "warned" if self.said is not None and self.said >= SAID else "missed"


def runs(quick: bool) -> int:
    """How many experiments a cell has."""
    return QUICK if quick else EXPERIMENTS


def confirmed(measure: Callable[[int], Iterable[Cell]], experiments: int) -> list[Cell]:
    """The cells of so many experiments; where one is missed, of ten times as many, with narrower bars."""
    found = list(measure(experiments))
    return found if all(one.ok or one.note for one in found) else list(measure(AGAIN * experiments))


def false_alarms(
    subject: str, condition: str, alarms: int, experiments: int, *, note: str = "", said: float | None = None
) -> Cell:
    """At most 5 %, and two standard errors of that share for chance."""
    most = ALARMS + 2 * _error(ALARMS, experiments)
    share = float(alarms / experiments)
    bar, ok = f"≤ {most:.1%}", share <= most
    return Cell(subject, condition, "false alarms", share, experiments, bar, ok, note, said)


def coverage(
    subject: str, condition: str, held: int, experiments: int, *, note: str = "", said: float | None = None
) -> Cell:
    """93 to 97 % of 1,000 experiments or more; with fewer, two standard errors are added for chance."""
    low, high = COVERED
    if experiments < EXPERIMENTS:
        low -= 2 * _error(low, experiments)
        high = min(high + 2 * _error(high, experiments), 1.0)
    share = float(held / experiments)
    bar = f"{low:.1%} to {high:.1%}"
    return Cell(subject, condition, "coverage", share, experiments, bar, low <= share <= high, note, said)


def power(
    subject: str, condition: str, found: int, experiments: int, least: float, *, note: str = ""
) -> Cell:
    """The share that finds a true difference, at least `least`."""
    share = float(found / experiments)
    return Cell(subject, condition, "power", share, experiments, f"≥ {least:.0%}", share >= least, note)


def _error(share: float, experiments: int) -> float:
    return sqrt(share * (1 - share) / experiments)
