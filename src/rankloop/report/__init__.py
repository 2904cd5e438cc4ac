"""Plots and pages: figures as plain SVG, reports as one HTML file.

A plot is a function from numbers, or from a result of another family, to a `Figure` (`.svg`, `.save(path)`; a
notebook shows it). Figures need no plotting package and are drawn for light and dark, wide and narrow
screens. A `Report` collects them on one self-contained page.
"""

from rankloop.report.click_fit import click_fit
from rankloop.report.ctr_by_position import ctr_by_position
from rankloop.report.drawing.style import STYLE
from rankloop.report.figure import Figure
from rankloop.report.gains_and_losses import gains_and_losses
from rankloop.report.heat_map import heat_map
from rankloop.report.importance_picture import importance_picture
from rankloop.report.lambdas_picture import lambdas_picture
from rankloop.report.learning_picture import learning_picture
from rankloop.report.metric_intervals import metric_intervals
from rankloop.report.ndcg_picture import ndcg_picture
from rankloop.report.over_time import over_time
from rankloop.report.position_curve import position_curve
from rankloop.report.preference import preference
from rankloop.report.report import Report
from rankloop.report.reports.report_of_comparison import report_of_comparison
from rankloop.report.reports.report_of_duel import report_of_duel
from rankloop.report.reports.report_of_learning import report_of_learning
from rankloop.report.reports.report_of_log import report_of_log
from rankloop.report.reports.report_of_online import report_of_online
from rankloop.report.reports.report_of_ranker import report_of_ranker
from rankloop.report.reports.report_of_run import report_of_run
from rankloop.report.tuning_picture import tuning_picture

__all__ = [
    "STYLE",
    "Figure",
    "Report",
    "click_fit",
    "ctr_by_position",
    "gains_and_losses",
    "heat_map",
    "importance_picture",
    "lambdas_picture",
    "learning_picture",
    "metric_intervals",
    "ndcg_picture",
    "over_time",
    "position_curve",
    "preference",
    "report_of_comparison",
    "report_of_duel",
    "report_of_learning",
    "report_of_log",
    "report_of_online",
    "report_of_ranker",
    "report_of_run",
    "tuning_picture",
]
