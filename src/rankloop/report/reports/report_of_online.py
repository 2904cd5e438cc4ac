"""The page of online learners."""

from collections.abc import Mapping
from math import isnan
from typing import TYPE_CHECKING, Any

from rankloop.report.learning_picture import learning_picture
from rankloop.report.report import Report

if TYPE_CHECKING:
    from rankloop.online import LearningCurve

__all__ = ["report_of_online"]


def report_of_online(
    curves: "Mapping[str, LearningCurve]", *, metric: str = "ndcg@10", title: str = "Learning while serving"
) -> Report:
    """Learning curves by learner: quality on a test set and of the pages users saw, pages below the floor."""
    from rankloop._table import Table

    rows = [
        (
            name,
            f"{one.offline[0]:.4f}",
            f"{one.offline[-1]:.4f}",
            f"{one.online:,.1f}",
            "no floor" if isnan(one.below_floor) else f"{one.below_floor:.1%}",
        )
        for name, one in curves.items()
    ]
    columns = ("learner", f"{metric} at first", "at last", "seen by users", "pages below the floor")
    figure: Any = learning_picture(
        curves, x="pages", y=metric, title=f"{metric} on the test set by pages shown"
    )
    return Report(title).add("Learning curves", figure, Table(columns, rows))
