"""The setting that a search tries next, by what those before it have reached."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop.rankers.base.improvement import expected_improvement

__all__ = ["next_setting", "places", "separation"]

CANDIDATES = 512  # half of them anywhere, half near the best
LEADERS = 5  # settings near which candidates are drawn
MOVED, STEP = 0.6, 0.15  # the share of parameters that a candidate near the best changes, and how far
MOST = 200  # tried settings, the best ones, that the model is fitted to
Ranges = Mapping[str, Any]


def next_setting(
    tried: Sequence[Mapping[str, Any]], values: Floats, ranges: Ranges, near: float, rng: np.random.Generator
) -> dict[str, Any]:
    """The candidate with the largest expected improvement that is not near a setting tried.

    `ranges` has a list of choices or a table with `low`, `high`, `log` and `step` for each parameter, and
    settings hold the number of a choice; `values` are better when higher.

    >>> tried = [{"C": 0.1, "loss": 0}, {"C": 1.0, "loss": 0}, {"C": 1.0, "loss": 1}, {"C": 10.0, "loss": 0}]
    >>> ranges = {"C": {"low": 0.1, "high": 10.0, "log": True}, "loss": ["hinge", "squared_hinge"]}
    >>> values = np.array([0.4, 0.5, 0.3, 0.6])
    >>> next_setting(tried, values, ranges, 0.1, np.random.default_rng(0))["loss"]
    0
    """
    at = places(tried, ranges)
    leaders = at[np.argsort(-values, kind="stable")]
    candidates = rng.random((CANDIDATES, len(ranges)))
    half = CANDIDATES // 2
    moved = leaders[rng.integers(min(LEADERS, len(leaders)), size=half)]
    changed = rng.random(moved.shape) < MOVED
    drift = moved + rng.normal(0.0, STEP, moved.shape)
    for column, (name, range_) in enumerate(ranges.items()):
        if isinstance(range_, list):
            candidates[:, column] = np.floor(candidates[:, column] * len(range_))
            drift[:, column] = candidates[:half, column]
        candidates[:half, column] = np.where(changed[:, column], drift[:, column], moved[:, column])
        candidates[:, column] = _place(_value(candidates[:, column], ranges[name]), ranges[name])
    kept = np.argsort(-values, kind="stable")[:MOST]
    reach = separation(candidates, at, ranges)
    known = separation(at[kept], at[kept], ranges)
    gain = expected_improvement(known, values[kept], reach[:, kept], rng)
    fresh = reach.max(axis=2).min(axis=1) > near
    chosen = candidates[int(np.argmax(np.where(fresh, gain, -np.inf)))]
    return {
        name: _value(chosen[[column]], range_)[0].item()
        for column, (name, range_) in enumerate(ranges.items())
    }


def places(settings: Sequence[Mapping[str, Any]], ranges: Ranges) -> Floats:
    """Settings as rows: the place of each value in its range, from 0 to 1, or the number of the choice."""
    columns = [_place(np.array([one[name] for one in settings]), ranges[name]) for name in ranges]
    return np.stack(columns, axis=1)


def separation(some: Floats, others: Floats, ranges: Ranges) -> Floats:
    """The distance of each two rows in each parameter, as a share of its range; 1 where choices differ."""
    choice = np.array([isinstance(range_, list) for range_ in ranges.values()])
    apart = np.abs(some[:, None] - others[None])
    return np.where(choice, apart > 0, apart)


def _place(values: Any, range_: Any) -> Floats:
    if isinstance(range_, list):
        return np.asarray(values, np.float64)
    low, high = range_["low"], range_["high"]
    if low == high:
        return np.zeros(len(values))
    if range_.get("log"):
        return np.asarray(np.log(values / low) / np.log(high / low), np.float64)
    return np.asarray((values - low) / (high - low), np.float64)


def _value(at: Floats, range_: Any) -> Any:
    """Values at these places, moved to whole numbers or steps where the range has them."""
    if isinstance(range_, list):
        return at.astype(np.int64)
    low, high, step = range_["low"], range_["high"], range_.get("step")
    whole = isinstance(low, int) and isinstance(high, int)
    found = low * (high / low) ** at if range_.get("log") else low + (high - low) * at
    if step is not None:
        last = int((high - low) / step + 1e-9)
        found = low + step * np.clip(np.round((found - low) / step), 0, last)
    elif whole:
        found = np.round(found)
    found = np.clip(found, low, high)
    return found.astype(np.int64) if whole and isinstance(step, int | None) else found
