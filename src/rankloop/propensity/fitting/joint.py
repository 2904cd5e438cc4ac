"""What every joint fit does first: say whether its curve can be trusted."""

import warnings

from rankloop.clicks import Aggregate, ClickLog
from rankloop.data import RankingDataset
from rankloop.propensity.identifiability import Identifiability, IdentifiabilityWarning, identifiability

__all__ = ["report_first"]


def report_first(log: ClickLog | Aggregate, data: RankingDataset, method: str) -> Identifiability:
    """The identifiability report, and a warning where a joint fit should not be trusted."""
    report = identifiability(log, data)
    if not report.trusted:
        warnings.warn(
            f"{method}: {'; '.join(report.warnings)}. See .identifiability for the swaps that would fix it",
            IdentifiabilityWarning,
            stacklevel=3,
        )
    return report
