"""Intervals where the log knows its people: one person's pages are alike, and some make very many."""

from collections.abc import Callable, Iterator

import numpy as np

from rankloop._arrays import Bools, Floats
from rankloop._warn import warn
from rankloop.clicks import ClickLog
from rankloop.propensity.fitting.bootstrap import with_draws
from rankloop.propensity.propensity import Propensity

__all__ = ["FEW", "effective_people", "has_people", "left_out", "warn_if_few", "wider", "without_groups"]

FEW = 200  # people with equally many pages, below which an interval over queries is not trusted
GROUPS = 30  # of people, each of which is left out once


def has_people(log: ClickLog) -> bool:
    """Whether the log says who saw each page, and there are several people."""
    return log.page_user is not None and len(np.unique(log.page_user.code)) > 1


def effective_people(log: ClickLog) -> float:
    """The number of people with equally many pages that would tell as much (Kish, 1965)."""
    assert log.page_user is not None
    pages = np.bincount(log.page_user.code).astype(np.float64)
    return float(pages.sum() ** 2 / np.sum(pages**2))


def wider(one: Propensity, other: Propensity) -> Propensity:
    """The one with the wider interval: what is alike within a query and within a person differs by log."""
    widths = [float(np.sum(np.log(curve.high / curve.low))) for curve in (one, other)]
    return one if widths[0] >= widths[1] else other


def left_out(log: ClickLog, seed: int) -> Iterator[Bools]:
    """For each group of people, drawn at random, which pages are theirs."""
    assert log.page_user is not None
    person = np.unique(log.page_user.code)
    groups = min(GROUPS, len(person))
    group = np.full(int(person.max()) + 1, -1)
    group[person] = np.random.default_rng([seed, 4]).permutation(len(person)) % groups
    for number in range(groups):
        yield group[log.page_user.code] == number


def without_groups(
    log: ClickLog, curve_of: Callable[[Bools], Floats], found: Propensity, seed: int
) -> Propensity:
    """`found` with the interval of a jackknife over groups of people, if that is wider.

    `curve_of` gives the logarithm of the curve without the marked pages.
    """
    curves = np.array([curve_of(pages) for pages in left_out(log, seed)])
    spread = (curves - curves.mean(axis=0)) * (len(curves) - 1) / np.sqrt(len(curves))
    jackknifed = with_draws(
        np.log(found.values),
        np.log(found.values) + spread,
        units=min(effective_people(log), float(len(curves))),
        method=found.method,
        layout=found.layout,
        pages=found.pages,
    )
    return wider(found, jackknifed)


def warn_if_few(log: object, method: str) -> None:
    """A warning where few people made most of the pages, for intervals that know only of queries."""
    if not isinstance(log, ClickLog) or not has_people(log):
        return
    alike = effective_people(log)
    if alike < FEW:
        warn(
            f"{method}: few people made most of the pages (as {alike:.0f} with equally many would); "
            "its interval is over queries and may be too narrow; swap_intervention, randomized, "
            "fair_pairs and harvest take people into account",
            RuntimeWarning,
        )
