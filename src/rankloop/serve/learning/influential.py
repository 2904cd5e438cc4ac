"""Whether a gain rests on a few: the gate looks again without the most influential people and ranges."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from rankloop._arrays import Array, Bools, Floats, Ints
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.serve.learning.candidates import Curve, Gain, evaluator_of
from rankloop.unbiased.counterfactual_estimate import Evaluator

__all__ = ["gain_of_a_few"]

HUNDREDTH = 0.01  # of people, and of address ranges, that are left out at the second look


def gain_of_a_few(
    log: ClickLog,
    data: RankingDataset,
    curve: Curve,
    production: Floats,
    scores: Floats,
    estimate: Callable[[ClickLog], Gain],
    *,
    origins: Sequence[str | None] | None,
    bar: float,
    metric: str,
    seed: int = 0,
) -> list[str]:
    """Reasons to keep the gate shut: the lower bound is above the bar only with the most influential people.

    They are the hundredth whose clicks raise the estimated gain most, one at least; `estimate` gives the gain
    from other pages. The same for address ranges, one of each page in `origins`; None leaves that out.
    """
    evaluator = evaluator_of(log, data, curve, metric=metric, seed=seed)
    raised = _raised(log, data, evaluator, evaluator.weights(scores) - evaluator.weights(production))
    reasons = []
    groups: list[tuple[str, Ints]] = []
    if log.page_user is not None:
        groups.append(("people", log.page_user.code.astype(np.int64)))
    if origins is not None:
        groups.append(("address ranges", _codes(origins)))
    for name, code in groups:
        few = _most(code, raised)
        if not few.any():
            continue
        reason = f"without the most influential hundredth of {name} ({np.unique(code[few]).size})"
        found = _again(log, ~few, estimate)
        if found is None:
            reasons.append(f"{reason} no clicks are left")
        elif not found.gain_low > bar:
            reasons.append(
                f"{reason} the lower bound of the gain is {found.gain_low:+.4f}, so that it rests on them"
            )
    return reasons


def _raised(log: ClickLog, data: RankingDataset, evaluator: Evaluator, gap: Floats) -> Floats:
    """What the clicks of each page add to the estimated gain, up to a factor."""
    seen = np.maximum(evaluator.bias.alpha, 1e-6)[log.position - 1]
    each = np.where(log.click > 0, gap[log.rows(data)] / seen, 0.0)
    found: Floats = np.add.reduceat(each, log.offsets[:-1])
    return found


def _most(code: Ints, raised: Floats) -> Bools:
    """The pages of the hundredth of groups that raise the gain most; code -1 belongs to none."""
    known = code >= 0
    groups, index = np.unique(code[known], return_inverse=True)
    sums = np.bincount(index, raised[known], len(groups))
    number = math.ceil(HUNDREDTH * len(groups))
    few = groups[np.argsort(-sums, kind="stable")[:number]]
    return known & np.isin(code, few[: np.count_nonzero(sums > 0)])


def _again(log: ClickLog, kept: Bools, estimate: Callable[[ClickLog], Gain]) -> Gain | None:
    """The estimate from the pages that are kept; None where they have no clicks."""
    if not kept.any():
        return None
    left = log.select(kept)
    return estimate(left) if left.click.sum() else None


def _codes(names: Sequence[str | None]) -> Ints:
    """A number for each name, -1 for None."""
    known: Array = np.array([name or "" for name in names], np.str_)
    _, code = np.unique(known, return_inverse=True)
    return np.where(known == "", -1, code).astype(np.int64)
