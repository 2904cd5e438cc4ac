"""Losses in PyTorch: one autograd function for all of them."""

from collections.abc import Callable
from functools import cache
from typing import Any

from rankloop._extras import require
from rankloop.losses.loss import Loss
from rankloop.losses.loss import loss as find

__all__ = ["torch_loss"]


def torch_loss(given: str | Loss) -> Callable[..., Any]:
    """A loss as a differentiable function of a tensor of scores.

    It is called like the loss, `(scores, labels, offsets, *, weight=None, query_weight=None, pairs=None)`,
    and gives one value per list on the scores' device; backward uses the loss's own gradient, so it cannot be
    differentiated twice. On CUDA tensors a loss without a CUDA kernel runs on the CPU copy of the batch.

    >>> torch = require("torch", "neural")
    >>> scores = torch.zeros(2, requires_grad=True)
    >>> torch_loss("ranknet")(scores, [0, 1], [0, 2]).sum().backward()
    >>> scores.grad
    tensor([ 0.5000, -0.5000])
    """
    chosen = find(given)

    def apply(scores: Any, labels: Any, offsets: Any, **weights: Any) -> Any:
        return _function().apply(scores, chosen, labels, offsets, weights)

    return apply


@cache
def _function() -> Any:
    torch = require("torch", "neural")

    class RankingLoss(torch.autograd.Function):  # type: ignore[misc,name-defined]  # torch is Any
        @staticmethod
        def forward(ctx: Any, scores: Any, chosen: Loss, labels: Any, offsets: Any, weights: Any) -> Any:
            value, gradient, edges = _evaluate(torch, scores, chosen, labels, offsets, weights)
            ctx.save_for_backward(gradient, edges)
            return value

        @staticmethod
        def backward(ctx: Any, upstream: Any) -> Any:
            gradient, edges = ctx.saved_tensors
            row = torch.arange(len(gradient), device=edges.device)
            query = torch.searchsorted(edges[1:-1].contiguous(), row, right=True)
            return gradient * upstream[query], None, None, None, None

    return RankingLoss


def _evaluate(
    torch: Any, scores: Any, chosen: Loss, labels: Any, offsets: Any, weights: Any
) -> tuple[Any, Any, Any]:
    """Value, gradient and offsets as tensors like the scores, by CUDA kernels where there are some."""
    like = {"dtype": scores.dtype, "device": scores.device}
    if scores.is_cuda:
        from rankloop.losses.cuda.registry import device_loss

        made = device_loss(chosen, scores, labels, offsets, curved=False, **weights)
        if made is not None:
            edges = torch.as_tensor(offsets, device=scores.device)
            return made.value.to(**like), made.gradient.to(**like), edges
    edges = _array(offsets)
    result = chosen(_array(scores), _array(labels), edges, **{k: _array(v) for k, v in weights.items()})
    edges = torch.as_tensor(edges, device=scores.device)
    return torch.as_tensor(result.value, **like), torch.as_tensor(result.gradient, **like), edges


def _array(values: Any) -> Any:
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values
