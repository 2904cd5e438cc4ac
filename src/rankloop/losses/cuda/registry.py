"""The losses with kernels of their own on a device, and the call that runs them.

A loss needs no kernel here: one that is not in `KERNELS` (Exponential, Triplet, Ordinal, UniqueSoftmax,
ApproxAP, ApproxMRR, NeuralNDCG, a loss of your own) runs on the CPU with a copy of the batch, and its
gradient is copied back. So do ListMLE and PListMLE with `ties="average"`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rankloop._extras import require
from rankloop.data import Pairs
from rankloop.lists.tensors.jit import runs_on
from rankloop.losses.approx_ndcg import ApproxNDCG
from rankloop.losses.centred_squared import CentredSquared
from rankloop.losses.cuda import (
    cross_entropy,
    infonce,
    neural_sort,
    pairwise,
    plackett_luce,
    plrank,
    pointwise,
    ring,
    smooth_rank,
)
from rankloop.losses.cuda.checks import HIGHEST, InputCheck, Limits, check_input, limits_of
from rankloop.losses.cuda.draws import gumbel_draws
from rankloop.losses.cuda.lists import DeviceLists, DevicePairs, Tiles, list_max, repeated
from rankloop.losses.cuda.outcome import mean_of_samples
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
    """All samples at once, as copies of the lists; one by one where the loss inside draws by row itself."""
    base, rows, scores = find(chosen.loss), lists.n_documents, lists.scores.double()
    alone = hasattr(base, "seed")

    def some(samples: range) -> Parts:
        noise = gumbel_draws(chosen.seed, samples, rows, scores.device)
        noisy = (chosen.scale * noise + scores).view(-1)
        many = repeated(_inner(lists), len(samples))._replace(scores=noisy)
        parts = KERNELS[type(base)](base, many, wanted)
        kept = parts[0].view(len(samples), -1)[:, : lists.n_lists].reshape(-1)
        return kept, parts[1], parts[2]

    return mean_of_samples(lists, chosen.samples, some, most=1 if alone else chosen.samples)


def _distill(chosen: Distill, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    soft, _ = pointwise.list_softmax(lists.labels.double() / chosen.temperature, lists)
    base = find(chosen.loss)
    return KERNELS[type(base)](base, _inner(lists)._replace(labels=soft.float()), wanted)


def _inner(lists: DeviceLists) -> DeviceLists:
    """The lists for a loss inside another, which leaves weights of lists and equal labels to that."""
    return lists._replace(query_weight=None, contrast=False, limits=None)


KERNELS: dict[type[Loss], Callable[[Any, DeviceLists, dict[str, bool]], Parts]] = {
    ApproxNDCG: smooth_rank.approx_ndcg,
    CentredSquared: pointwise.centred_squared,
    Distill: _distill,
    Gumbel: _gumbel,
    Hinge: pairwise.hinge,
    InfoNCE: infonce.infonce,
    LambdaGap: pairwise.lambdarank,
    LambdaLoss: pairwise.lambdaloss,
    LambdaRank: pairwise.lambdarank,
    ListMLE: plackett_luce.listmle,
    ListNet: cross_entropy.listnet,
    PListMLE: plackett_luce.plistmle,
    PLRank: plrank.plrank,
    PiRank: neural_sort.pirank,
    RankDistil: plackett_luce.rankdistil,
    RankNet: pairwise.ranknet,
    SigmoidCrossEntropy: pointwise.sigmoid_cross_entropy,
    Softmax: cross_entropy.softmax,
    Squared: pointwise.squared,
    XENDCG: cross_entropy.xendcg,
}

# Losses whose kernels also weigh lists and leave out those of equal labels.
_FINISHED = (ListMLE, ListNet, PLRank, PListMLE, RankDistil, Softmax, XENDCG)


_CHECKING = (ListMLE, ListNet, PListMLE, Softmax, XENDCG)


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


def _checks_itself(chosen: Loss) -> bool:
    """Whether the kernel checks its input: labels need not be whole numbers then."""
    if isinstance(chosen, LambdaRank):
        return ring.takes(chosen) and isinstance(chosen.gain, str)
    return isinstance(chosen, _CHECKING) and isinstance(getattr(chosen, "gain", ""), str)


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
    check: InputCheck | Limits | None = None
    limits = None
    if checked and pairs is None and _checks_itself(chosen):
        check = limits = limits_of(chosen, s, y, edges, w, by_list)
        if limits is None:
            return None
    elif checked:
        check = made = check_input(chosen, s, y, edges, w, by_list, preferences)
        if made is None or (pairs is not None and made.is_bad()):
            return None
        edges = edges * made.good
    lists = DeviceLists(s, y, edges, w, Tiles(edges, s.shape[0]), by_list, True, preferences, limits)
    parts = KERNELS[type(chosen)](chosen, lists, {"curved": curved, "valued": valued})
    if not isinstance(chosen, _FINISHED):
        parts = _finished(chosen, lists, parts, curved=curved)
    if check is not None and check.is_bad():
        return None
    return DeviceResult(*parts)


def _finished(chosen: Loss, lists: DeviceLists, parts: Parts, *, curved: bool) -> Parts:
    """Nothing for lists of equal labels and for rows of no list; then the weights of lists."""
    torch = require("torch", "neural")
    value, gradient, hessian = parts
    y, edges, contrast = lists.labels, lists.offsets, None
    if not (chosen.pointwise or chosen.takes_pairs):
        contrast = list_max(y, edges) > -list_max(-y, edges)
        value = torch.where(contrast, value, 0.0)
    if not isinstance(chosen, Hinge | LambdaLoss | LambdaRank | RankNet):
        # Rows of lists without contrast, and rows past the last list, which pad a captured batch.
        inside = torch.arange(len(y), device=y.device) < edges[-1]
        if contrast is not None:
            inside &= lists.spread(contrast)
        gradient, hessian = torch.where(inside, gradient, 0.0), torch.where(inside, hessian, 0.0)
    if lists.query_weight is not None:
        rows = lists.spread(lists.query_weight)
        value, gradient = value * lists.query_weight, gradient * rows
        hessian = hessian * rows if curved else hessian
    return value, gradient, hessian


def _on_device(pairs: Pairs, device: Any) -> DevicePairs:
    torch = require("torch", "neural")
    rows = (torch.as_tensor(side, device=device) for side in (pairs.better, pairs.worse))
    shares = (torch.as_tensor(part, device=device).double() for part in (pairs.probability, pairs.weight))
    return DevicePairs(*rows, *shares)
