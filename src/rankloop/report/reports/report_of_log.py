"""The page of a click log: clicks by position, position bias, click models, supported estimators."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.report.click_fit import click_fit
from rankloop.report.ctr_by_position import ctr_by_position
from rankloop.report.heat_map import heat_map
from rankloop.report.position_curve import position_curve
from rankloop.report.report import Report
from rankloop.report.reports.by_day import by_day

if TYPE_CHECKING:
    from rankloop.clicks import ClickLog, LogReport
    from rankloop.propensity import Propensity

__all__ = ["report_of_log"]

_PAGES = 100_000  # at most, to fit click models on
_SHARE = 0.02  # of the pages: layouts and rankers with fewer are not drawn
_ALONE = ("randomized", "swap_intervention", "fair_pairs", "harvest")  # methods that need only the log


def report_of_log(
    log: "ClickLog",
    *,
    models: Sequence[str] = ("rank_ctr", "pbm", "ubm", "dbn"),
    seed: int = 0,
    title: str = "Click log",
) -> Report:
    """A click log on one page: clicks by position, position bias, click models, supported estimators."""
    from rankloop.clicks import check

    checked = check(log)
    facts = checked.facts
    report = Report(
        title, f"{facts.pages:,} pages, {facts.impressions:,} impressions, {facts.clicks:,} clicks."
    )
    report.add(
        "Clicks by position", ctr_by_position(_parts(log)), heat_map(log), by_day(log), _facts(checked)
    )
    curves, notes = _propensities(log, checked, seed)
    report.add("Position bias", *notes, position_curve(curves) if curves else None)
    report.add("Click models", *_models(log, models, seed))
    return report.add("Supported estimators", *_support(checked))


def _parts(log: "ClickLog") -> Any:
    """The log by layout or else by ranker, where there are several."""
    for column in (log.page_layout, log.page_ranker):
        if column is not None:
            present, pages = np.unique(column.code, return_counts=True)
            many = present[pages >= _SHARE * log.n_pages]  # rare ones would cover the others
            if 1 < len(many) <= 6:
                return {str(column.table[one]): log.select(column.code == one) for one in many}
    return log


def _propensities(
    log: "ClickLog", checked: "LogReport", seed: int
) -> tuple[dict[str, "Propensity"], list[str]]:
    """Curves of every method that the log supports, by layout."""
    import rankloop.propensity as family

    curves, notes, failed = {}, [], []
    for layout, part in _layouts(log).items():
        for name in _ALONE:
            support, called = checked[name], " ".join([name.replace("_", " "), layout]).strip()
            if support.support == "no":
                continue
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", family.IdentifiabilityWarning)
                    curves[called] = family.estimate(part, method=name, seed=seed)
            except ValueError as error:  # the log holds too little of the experiment
                failed.append(f"{called}: {error}")
                continue
            if support.support == "weak":
                notes.append(f"{called} is weak here: {support.why}; {support.fix}.")
    if not curves:
        why = checked["swap_intervention"]
        reason = f"{why.why}; {why.fix}" if why.why else "; ".join(failed)
        notes.append(f"No curve can be estimated from this log alone: {reason}.")
    return curves, notes


def _layouts(log: "ClickLog") -> dict[str, "ClickLog"]:
    """The log by layout, without rare ones; the name is empty if there is only one."""
    column = log.page_layout
    if column is None:
        return {"": log}
    present, pages = np.unique(column.code, return_counts=True)
    if len(present) == 1:
        return {"": log}
    many = present[pages >= _SHARE * log.n_pages]
    return {f"({column.table[one]})": log.select(column.code == one) for one in many}


def _models(log: "ClickLog", names: Sequence[str], seed: int) -> list[Any]:
    """Models fitted on one half of the pages and evaluated on the other."""
    from rankloop.clicks import model

    if log.n_pages < 2 or not log.click.any():
        return ["There are too few clicks to fit a model."]
    few = min(1.0, 2 * _PAGES / log.n_pages) / 2
    parts = log.split(few, few, seed=seed) if few < 0.5 else log.split(0.5, seed=seed)
    fitted = {model(name).__name__: model(name)().fit(parts[0]) for name in names}
    note = (
        f"Fitted on {parts[0].n_pages:,} pages, evaluated on {parts[1].n_pages:,} others. A document that "
        "was not seen before counts as an average one."
    )
    return [note, click_fit(parts[1], fitted)]


def _facts(checked: "LogReport") -> dict[str, Any]:
    facts = checked.facts
    return {
        "queries": facts.queries,
        "ranks": facts.ranks,
        "pages without clicks": facts.pages_without_clicks,
        "pages with several clicks": facts.pages_with_several_clicks,
        "documents by query": facts.pairs,
        "of these at several ranks": facts.pairs_at_several_ranks,
        "queries with one ranking": facts.queries_with_one_ranking,
        "experiments": ", ".join(facts.experiments[:8]) + (", ..." if len(facts.experiments) > 8 else "")
        or "none",
        "columns": ", ".join(facts.columns),
    }


def _support(checked: "LogReport") -> list[Any]:
    from rankloop._table import Table

    usable = [one.estimator for one in checked.estimators if one.support == "yes"]
    rows = [
        (one.estimator, one.support, f"{one.why}; {one.fix}" if one.fix else one.why)
        for one in checked.estimators
        if one.support != "yes"
    ]
    summary = (
        f"Usable as it is: {', '.join(usable)}." if usable else "No estimator can use this log as it is."
    )
    return [
        summary,
        Table(("estimator", "usable", "why not, and what would help"), rows, left=3) if rows else None,
    ]
