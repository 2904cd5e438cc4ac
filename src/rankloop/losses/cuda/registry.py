"""The losses with kernels of their own on a device, and the call that runs them.

A loss needs no kernel here: one that is not in `KERNELS` (Exponential, Triplet, Ordinal, UniqueSoftmax,
ApproxAP, ApproxMRR, NeuralNDCG, a loss of your own) runs on the CPU with a copy of the batch, and its
gradient is copied back. So do ListMLE and PListMLE with `ties="average"`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rankloop._extras import require
from rankloop.data import Pairs
from rankloop.lists.tensors.jit import runs_on
from rankloop.losses.approx_ndcg import ApproxNDCG
from rankloop.losses.cuda import listwise, log_sums, neural_sort, pairwise, smooth_rank
from rankloop.losses.cuda.checks import HIGHEST, check_input
from rankloop.losses.cuda.lists import DeviceLists, DevicePairs, list_max, tiled
from rankloop.losses.distill import Distill
from rankloop.losses.gumbel import Gumbel
from rankloop.losses.hinge import Hinge
from rankloop.losses.infonce import InfoNCE
from rankloop.losses.lambdagap import LambdaGap
from rankloop.losses.lambdaloss import LambdaLoss
from rankloop.losses.lambdarank import LambdaRank
from rankloop.losses.listmle import ListMLE
from rankloop.losses.listnet import ListNet
from rankloop.losses.loss import Loss
from rankloop.losses.loss import loss as find
from rankloop.losses.pirank import PiRank
from rankloop.losses.plistmle import PListMLE
from rankloop.losses.plrank import PLRank
from rankloop.losses.rankdistil import RankDistil
from rankloop.losses.ranknet import RankNet
from rankloop.losses.sigmoid_cross_entropy import SigmoidCrossEntropy
from rankloop.losses.softmax import Softmax
from rankloop.losses.squared import Squared
from rankloop.losses.xendcg import XENDCG

__all__ = ["KERNELS", "DeviceResult", "can_capture", "device_loss", "has_kernel"]

Tensor = Any

Parts = tuple[Tensor, Tensor, Tensor]


class DeviceResult(NamedTuple):
    """What `LossResult` holds, as tensors."""

    value: Tensor
    gradient: Tensor
    hessian: Tensor


def _gumbel(chosen: Gumbel, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    rng, base = np.random.default_rng(chosen.seed), find(chosen.loss)
    parts: list[Parts] = []
    for _ in range(chosen.samples):
        noise = torch.as_tensor(rng.gumbel(size=lists.n_documents), device=lists.scores.device)
        noisy = lists.scores.double() + chosen.scale * noise
        parts.append(KERNELS[type(base)](base, lists._replace(scores=noisy), wanted))
    value, gradient, hessian = (sum(part) / chosen.samples for part in zip(*parts, strict=True))
    return value, gradient, hessian


def _distill(chosen: Distill, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    soft, _ = listwise.list_softmax(lists.labels.double() / chosen.temperature, lists)
    base = find(chosen.loss)
    return KERNELS[type(base)](base, lists._replace(labels=soft.float()), wanted)


KERNELS: dict[type[Loss], Callable[[Any, DeviceLists, dict[str, bool]], Parts]] = {
    ApproxNDCG: smooth_rank.approx_ndcg,
    Distill: _distill,
    Gumbel: _gumbel,
    Hinge: pairwise.hinge,
    InfoNCE: log_sums.infonce,
    LambdaGap: pairwise.lambdarank,
    LambdaLoss: pairwise.lambdaloss,
    LambdaRank: pairwise.lambdarank,
    ListMLE: log_sums.listmle,
    ListNet: listwise.listnet,
    PListMLE: log_sums.plistmle,
    PLRank: log_sums.plrank,
    PiRank: neural_sort.pirank,
    RankDistil: log_sums.rankdistil,
    RankNet: pairwise.ranknet,
    SigmoidCrossEntropy: listwise.sigmoid_cross_entropy,
    Softmax: listwise.softmax,
    Squared: listwise.squared,
    XENDCG: listwise.xendcg,
}


def has_kernel(chosen: Loss, device: Any) -> bool:
    """Whether this loss runs where these tensors are; otherwise on the CPU, with a copy there and back."""
    base = find(chosen.loss) if isinstance(chosen, Distill | Gumbel) else chosen
    if isinstance(base, ListMLE | PListMLE) and base.ties == "average":
        return False
    return type(chosen) in KERNELS and type(base) in KERNELS and runs_on(device)


def can_capture(chosen: Loss, labels: Tensor) -> bool:
    """Whether steps with this loss can go into a CUDA graph: nothing is drawn, no label needs a check."""
    base = find(chosen.loss) if isinstance(chosen, Distill | Gumbel) else chosen
    drawn = hasattr(chosen, "seed") or hasattr(base, "seed")
    known = not isinstance(getattr(base, "gain", "linear"), tuple)
    return has_kernel(chosen, labels.device) and known and not drawn and bool(labels.max() <= HIGHEST)


def device_loss(
    chosen: Loss,
    scores: Tensor,
    labels: Any,
    offsets: Any,
    *,
    weight: Any = None,
    query_weight: Any = None,
    pairs: Pairs | None = None,
    curved: bool = True,
    valued: bool = True,
    checked: bool = True,
) -> DeviceResult | None:
    """Value, gradient and Hessian as tensors where the scores are; None where the CPU has to compute them.

    That is so for a loss without a kernel, and for input that the CPU's checks refuse with a message.
    Unchecked, rows may follow the last list: their gradient is zero.
    """
    torch = require("torch", "neural")
    if not has_kernel(chosen, scores.device) or (pairs is not None and not chosen.takes_pairs):
        return None
    at = {"device": scores.device}
    s = scores.detach().to(torch.float64 if scores.dtype == torch.float64 else torch.float32).contiguous()
    y = torch.as_tensor(labels, dtype=torch.float32, **at).contiguous()
    edges = torch.as_tensor(offsets, dtype=torch.int64, **at).contiguous()
    w = None if weight is None else torch.as_tensor(weight, dtype=torch.float32, **at).contiguous()
    by_list = None if query_weight is None else torch.as_tensor(query_weight, dtype=torch.float32, **at)
    preferences = None if pairs is None else _on_device(pairs, scores.device)
    check = None
    if checked:
        check = check_input(chosen, s, y, edges, w, by_list, preferences)
        if check is None or (pairs is not None and check.is_bad()):
            return None
        edges = edges * check.good
    lists = tiled(s, y, edges, w)._replace(pairs=preferences)
    value, gradient, hessian = KERNELS[type(chosen)](chosen, lists, {"curved": curved, "valued": valued})
    contrast = None
    if not (chosen.pointwise or chosen.takes_pairs):
        contrast = list_max(y, edges) > -list_max(-y, edges)
        value = torch.where(contrast, value, 0.0)
    if not isinstance(chosen, Hinge | LambdaLoss | LambdaRank | RankNet):
        # Rows of lists without contrast, and rows past the last list, which pad a captured batch.
        inside = torch.arange(len(s), **at) < edges[-1]
        if contrast is not None:
            inside &= lists.spread(contrast)
        gradient, hessian = torch.where(inside, gradient, 0.0), torch.where(inside, hessian, 0.0)
    if by_list is not None:
        rows = lists.spread(by_list)
        value, gradient = value * by_list, gradient * rows
        hessian = hessian * rows if curved else hessian
    if check is not None and check.is_bad():
        return None
    return DeviceResult(value, gradient, hessian)


def _on_device(pairs: Pairs, device: Any) -> DevicePairs:
    torch = require("torch", "neural")
    rows = (torch.as_tensor(side, device=device) for side in (pairs.better, pairs.worse))
    shares = (torch.as_tensor(part, device=device).double() for part in (pairs.probability, pairs.weight))
    return DevicePairs(*rows, *shares)
