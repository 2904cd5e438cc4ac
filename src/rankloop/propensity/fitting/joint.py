"""The report that comes with every joint fit."""

from rankloop._warn import warn
from rankloop.clicks import Aggregate, ClickLog
from rankloop.data import RankingDataset
from rankloop.propensity.identifiability import Identifiability, identifiability
from rankloop.propensity.identifiability_warning import IdentifiabilityWarning

__all__ = ["report_first"]


def report_first(log: ClickLog | Aggregate, data: RankingDataset, method: str) -> Identifiability:
    """The identifiability report, and a warning where a joint fit should not be trusted."""
    report = identifiability(log, data)
    if not report.trusted:
        warn(
            f"{method}: {'; '.join(report.warnings)}. See .identifiability for the swaps that would fix it",
            IdentifiabilityWarning,
        )
    return report
