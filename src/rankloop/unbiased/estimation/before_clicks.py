"""Evidence of people who stop reading: what they saw before their first click, and counts in few cells."""

from dataclasses import replace

import numpy as np

from rankloop._arrays import Bools
from rankloop.clicks import ClickLog, ClickModel
from rankloop.unbiased.estimation.evidence import Evidence

__all__ = ["before_clicks", "condensed", "no_click_above"]

FINE = 16.0  # steps of examination by factor e that share a cell
STEPS = 128  # of them


def before_clicks(log: ClickLog, user: ClickModel, seen: Evidence) -> Evidence:
    """The part of the evidence of a click model whose impressions have no click above them.

    `seen` is what `evidence(log, user, data)` gave: one cell per impression that can have been examined.
    """
    examined = user.conditional_examination(log, seen.data) > 0
    kept = no_click_above(log)[examined]
    return replace(
        seen,
        row=seen.row[kept],
        position=seen.position[kept],
        impressions=seen.impressions[kept],
        clicks=seen.clicks[kept],
        alpha=seen.alpha[kept],
        beta=seen.beta[kept],
    )


def no_click_above(log: ClickLog) -> Bools:
    """Whether nothing above an impression was clicked on its page.

    >>> log = ClickLog([1, 1, 1, 2, 2], ["q"] * 5, list("abcab"), [1, 2, 3, 1, 2], [0, 1, 0, 0, 0])
    >>> no_click_above(log)
    array([ True,  True, False,  True,  True])
    """
    clicks = np.concatenate(([0], np.cumsum(log.click, dtype=np.int64)))
    found: Bools = clicks[:-1] == clicks[log.offsets[:-1]][log.row_page]
    return found


def condensed(seen: Evidence) -> Evidence:
    """Cells of one document and rank with nearly the same examination as one, so that trees train quickly."""
    step = np.clip(np.round(-FINE * np.log(seen.alpha)), 0, STEPS - 1).astype(np.int64)
    depth = int(seen.position.max(initial=1))
    key = (seen.row * depth + seen.position - 1) * STEPS + step
    cell, place = np.unique(key, return_inverse=True)
    shown = np.bincount(place, seen.impressions).astype(np.float64)
    at, rank = np.divmod(cell // STEPS, depth)
    return replace(
        seen,
        row=at,
        position=(rank + 1).astype(np.int32),
        impressions=shown,
        clicks=np.bincount(place, seen.clicks).astype(np.float64),
        alpha=np.bincount(place, seen.impressions * seen.alpha) / shown,
        beta=np.bincount(place, seen.impressions * seen.beta) / shown,
    )
