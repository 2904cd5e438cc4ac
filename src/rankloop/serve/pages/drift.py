"""The drift panel: whether the last whole day differs from the days before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from time import time
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import ks_2samp, t

from rankloop._arrays import Floats, Singles
from rankloop.serve.events.sample import sampled_features
from rankloop.serve.pages.panels import Head, Panel, table
from rankloop.serve.pages.rendering import figure, percent

if TYPE_CHECKING:
    from rankloop.serve.events.sums import DaySum
    from rankloop.serve.service import Service

__all__ = ["Change", "changed_features", "changed_shares", "drift"]

APART = 1000  # days between false alarms, on average
DAY = 86_400.0
SAMPLE = 300  # pages of the last whole day, and as many before it
SHOWN = 3  # features
_SHARES = {
    "Pages with a click": "clicked_pages",
    "Clicks on the first result": "clicked_first",
    "Pages without a result": "empty",
}
_TITLE = "Drift"


@dataclass(frozen=True)
class Change:
    """A value before and on the last day; the p-value is corrected for the number of values beside it."""

    name: str
    before: str
    lately: str
    p_value: float


def drift(service: "Service", rows: "Sequence[DaySum]", since: float) -> Panel:
    """Clicks and logged features of the version with most pages on the last day that is over.

    A day that still runs is another mix of hours, and would be looked at again and again.
    """
    now = time()
    rows = [one for one in rows if one.day + DAY <= now]
    last = max((one.day for one in rows), default=0.0)
    new = max((one for one in rows if one.day == last), key=lambda one: one.pages, default=None)
    old = [one for one in rows if new is not None and one.day < last and one.ranker == new.ranker]
    if new is None or not old:
        pages = "pages" if new is None else f"pages of {new.ranker}"
        return Panel("drift", _TITLE, f"This needs two whole days of {pages}.")
    names = service.searcher.features.names
    before = sampled_features(service.store, names, SAMPLE, since=since, until=last, ranker=new.ranker)
    day = (last, last + DAY)
    lately = sampled_features(service.store, names, SAMPLE, since=day[0], until=day[1], ranker=new.ranker)
    return _panel(new.ranker, changed_shares(old, new), changed_features(names, before, lately))


def changed_shares(old: "Sequence[DaySum]", new: "DaySum") -> list[Change]:
    """Shares before and on the last day, by Student's t: days differ as the days before it do.

    Pages of a day are not independent, as some people make many; how far days differ more than pages drawn at
    random would is taken from the days before, so that two days alone show nothing.
    """
    found = []
    for name, what in _SHARES.items():
        hits = np.array([getattr(one, what) for one in old], np.float64)
        pages = np.array([one.pages for one in old], np.float64)
        before, lately = float(hits.sum() / pages.sum()), getattr(new, what) / new.pages
        pooled = (hits.sum() + getattr(new, what)) / (pages.sum() + new.pages)
        spread = sqrt(pooled * (1 - pooled) * (1 / pages.sum() + 1 / new.pages)) * _more_than_chance(
            hits, pages
        )
        p_value = 1.0
        if spread > 0 and len(old) > 1:
            p_value = min(1.0, len(_SHARES) * float(2 * t.sf(abs(before - lately) / spread, len(old) - 1)))
        found.append(Change(name, percent(before), percent(lately), p_value))
    return found


def _more_than_chance(hits: Floats, pages: Floats) -> float:
    """How many times the spread between days is that of pages drawn at random, at least once."""
    share = hits.sum() / pages.sum()
    if len(hits) < 2 or not 0 < share < 1:
        return 1.0
    return max(
        1.0, sqrt(np.sum((hits - pages * share) ** 2 / (pages * share * (1 - share))) / (len(hits) - 1))
    )


def changed_features(
    names: Sequence[str], before: Sequence[Singles], lately: Sequence[Singles]
) -> list[Change]:
    """The features that changed most, by the Kolmogorov-Smirnov test on the means of pages.

    A page counts once, as its documents are not independent, and so do its person and its query (see
    `sampled_features`); p-values are corrected for the number of features (Bonferroni).
    """
    if not before or not lately:
        return []
    old, new = (_means(pages) for pages in (before, lately))
    found = []
    for at, name in enumerate(names):
        one, other = (means[np.isfinite(means[:, at]), at] for means in (old, new))
        if not len(one) or not len(other):
            continue
        p_value = min(1.0, len(names) * float(ks_2samp(one, other).pvalue))
        found.append(Change(name, figure(float(one.mean())), figure(float(other.mean())), p_value))
    return sorted(found, key=lambda one: one.p_value)[:SHOWN]


def _means(pages: Sequence[Singles]) -> Floats:
    """The mean of each feature on each page; nan where no document of a page has it."""
    sums = np.stack([np.nansum(page, axis=0, dtype=np.float64) for page in pages])
    known = np.stack([np.isfinite(page).sum(axis=0) for page in pages])
    means: Floats = np.divide(sums, known, out=np.full(sums.shape, np.nan), where=known > 0)
    return means


def _panel(ranker: str, shares: list[Change], features: list[Change]) -> Panel:
    found = [*shares, *features]
    alarms = [
        f"{one.name}: {one.lately} after {one.before}" for one in found if one.p_value < 1 / (2 * APART)
    ]
    return Panel(
        "drift",
        _TITLE,
        f"The last whole day and the days before it, on pages of {ranker}: shares, and the features that "
        f"changed most (means over pages). False alarms are about {APART:,} days apart.",
        heads=(Head("What"), Head("Before", True), Head("Last day", True), Head("p-value", True)),
        rows=table((one.name, one.before, one.lately, f"{one.p_value:.2g}") for one in found),
        alarm="; ".join(alarms) + ": more than chance." if alarms else "",
    )
