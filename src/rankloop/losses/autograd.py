"""Our losses in PyTorch: one autograd function for all of them."""

from collections.abc import Callable
from functools import cache
from typing import Any

from rankloop._extras import require
from rankloop.losses._contract import Loss
from rankloop.losses._lookup import loss as find

__all__ = ["torch_loss"]


def torch_loss(given: str | Loss) -> Callable[..., Any]:
    """A loss as a differentiable function of a tensor of scores.

    It is called like the loss, `(scores, labels, offsets, *, weight=None, query_weight=None, pairs=None)`,
    and gives one value per list on the scores' device; what comes back from them reaches the scores through
    the loss's own gradient. It cannot be differentiated twice.

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

    class RankingLoss(torch.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(ctx: Any, scores: Any, chosen: Loss, labels: Any, offsets: Any, weights: Any) -> Any:
            value, gradient, lengths = _evaluate(torch, scores, chosen, labels, offsets, weights)
            ctx.save_for_backward(gradient, lengths)
            return value

        @staticmethod
        def backward(ctx: Any, upstream: Any) -> Any:
            gradient, lengths = ctx.saved_tensors
            return gradient * torch.repeat_interleave(upstream, lengths), None, None, None, None

    return RankingLoss


def _evaluate(
    torch: Any, scores: Any, chosen: Loss, labels: Any, offsets: Any, weights: Any
) -> tuple[Any, Any, Any]:
    """Value, gradient and lengths as tensors like the scores: where a device gets kernels of its own."""
    edges = _array(offsets)
    result = chosen(_array(scores), _array(labels), edges, **{k: _array(v) for k, v in weights.items()})
    like = {"dtype": scores.dtype, "device": scores.device}
    lengths = torch.as_tensor(edges, device=scores.device).diff()
    return torch.as_tensor(result.value, **like), torch.as_tensor(result.gradient, **like), lengths


def _array(values: Any) -> Any:
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values
