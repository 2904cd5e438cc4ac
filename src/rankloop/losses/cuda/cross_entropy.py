"""ListNet, Softmax and XENDCG on a device: one launch, a program for each list, in double precision."""

from __future__ import annotations

from typing import Any

from rankloop.lists.tensors.gains import gains
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.cuda.checks import sound_list, sound_rows
from rankloop.losses.cuda.draws import uniform_at
from rankloop.losses.cuda.lists import DeviceLists
from rankloop.losses.cuda.outcome import list_factor, outcome
from rankloop.losses.kernels.draws import draw_key
from rankloop.losses.listnet import ListNet
from rankloop.losses.softmax import Softmax
from rankloop.losses.xendcg import XENDCG

__all__ = ["listnet", "softmax", "xendcg"]

# The mass of a document: its amount; or that, exp(amount) or a perturbed gain over the sum of its list.
_PLAIN, _SHARE, _SOFTMAX, _DRAWN = range(4)

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


def listnet(chosen: ListNet, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    if chosen.target == "softmax":
        return _cross_entropy(lists, lists.labels, _SOFTMAX, wanted)
    return _cross_entropy(lists, gains(lists.labels.double(), chosen.gain), _SHARE, wanted)


def softmax(chosen: Softmax, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    return _cross_entropy(lists, lists.labels, _PLAIN, wanted)


def xendcg(chosen: XENDCG, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    return _cross_entropy(lists, lists.labels, _DRAWN, wanted, chosen.seed)


def _cross_entropy(
    lists: DeviceLists, amounts: Tensor, mass: int, wanted: dict[str, bool], seed: int = 0
) -> Parts:
    made = outcome(lists, curved=wanted["curved"])
    limits = lists.limits
    lowest, highest = (0.0, 0.0) if limits is None else (limits.lowest, limits.highest)
    _entropy_kernel[(lists.n_lists,)](
        lists.scores, lists.labels, amounts, *lists.weights, lists.offsets, *made, draw_key(seed),
        lists.offsets if limits is None else limits.good, lists.n_documents, lists.n_lists, lowest, highest,
        MASS=mass, **lists.switches, CHECKED=limits is not None, HESSIAN=wanted["curved"], WIDTH=128,
        num_warps=1,
    )  # fmt: skip
    if limits is not None:
        limits.checked()
    return made


@jit
def _mass(amounts, i, there, most, key, MASS: tl.constexpr):  # type: ignore[no-untyped-def]
    """The mass of each document before the sum of its list divides it."""
    amount = tl.load(amounts + i, mask=there, other=0.0).to(tl.float64)
    if MASS == 2:
        amount = tl.exp(amount - most)
    if MASS == 3:
        amount = tl.exp2(amount) - uniform_at(key, tl.zeros([1], tl.int64), i)
    return tl.where(there, amount, 0.0)


@jit
def _entropy_kernel(  # type: ignore[no-untyped-def]
    scores, labels, amounts, weights, by_list, offsets, value, gradient, hessian, key, good, rows, n_lists,
    lowest, highest, MASS: tl.constexpr, WEIGHTED: tl.constexpr, LISTED: tl.constexpr,
    CONTRAST: tl.constexpr, CHECKED: tl.constexpr, HESSIAN: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    q = tl.program_id(0)
    if CHECKED:
        start, stop, right = sound_list(offsets, by_list, q, n_lists, rows, LISTED)
        wrong = tl.zeros([WIDTH], tl.int32) + (1 - right.to(tl.int32))
        for low in range(start, stop, WIDTH):
            i = low + tl.arange(0, WIDTH)
            s = tl.load(scores + i, mask=i < stop, other=0.0)
            y = tl.load(labels + i, mask=i < stop, other=lowest)
            wrong |= (~sound_rows(s, y, weights, i, i < stop, lowest, highest, WEIGHTED)).to(tl.int32)
        if tl.max(wrong, 0) > 0:
            tl.store(good, 0)
    else:
        start, stop = tl.load(offsets + q), tl.load(offsets + q + 1)
    # The highest score and amount, which keep exponentials in range.
    high = tl.full([WIDTH], float("-inf"), tl.float64)
    most = tl.full([WIDTH], float("-inf"), tl.float64)
    for low in range(start, stop, WIDTH):
        i = low + tl.arange(0, WIDTH)
        high = tl.maximum(high, tl.load(scores + i, mask=i < stop, other=float("-inf")).to(tl.float64))
        if MASS == 2:
            most = tl.maximum(most, tl.load(amounts + i, mask=i < stop, other=float("-inf")).to(tl.float64))
    best = tl.max(high, 0)
    largest = tl.max(most, 0)
    # The sums of exp(score), of the mass, of the weighted mass and of its costs below the highest score.
    summed = tl.zeros([WIDTH], tl.float64)
    whole = tl.zeros([WIDTH], tl.float64)
    heavy = tl.zeros([WIDTH], tl.float64)
    costs = tl.zeros([WIDTH], tl.float64)
    for low in range(start, stop, WIDTH):
        i = low + tl.arange(0, WIDTH)
        there = i < stop
        s = tl.load(scores + i, mask=there, other=0.0).to(tl.float64) - best
        mass = _mass(amounts, i, there, largest, key, MASS)
        whole += mass
        if WEIGHTED:
            mass *= tl.load(weights + i, mask=there, other=0.0)
        summed += tl.where(there, tl.exp(s), 0.0)
        heavy += mass
        costs -= tl.where(there, mass * s, 0.0)
    total, norm = tl.sum(summed, 0), tl.sum(whole, 0)
    share = list_factor(labels, by_list, q, start, stop, LISTED, CONTRAST, WIDTH)
    if MASS != 0:
        share = tl.where(norm > 0, share / tl.where(norm > 0, norm, 1.0), 0.0)
    drawn = tl.sum(heavy, 0)
    level = tl.log(tl.where(total > 0, total, 1.0))
    tl.store(value + q, share * (drawn * level + tl.sum(costs, 0)))
    # Gradient and Hessian of each document.
    for low in range(start, stop, WIDTH):
        i = low + tl.arange(0, WIDTH)
        there = i < stop
        s = tl.load(scores + i, mask=there, other=0.0).to(tl.float64)
        mass = _mass(amounts, i, there, largest, key, MASS)
        if WEIGHTED:
            mass *= tl.load(weights + i, mask=there, other=0.0)
        chance = tl.exp(s - best) / total
        tl.store(gradient + i, share * (drawn * chance - mass), mask=there)
        if HESSIAN:
            tl.store(hessian + i, share * drawn * chance * (1.0 - chance), mask=there)
