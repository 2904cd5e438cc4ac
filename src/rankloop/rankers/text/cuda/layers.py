"""A BERT in half precision whose layers are one step of autograd each: our kernels between the matrices.

Activations are in half precision, sums and norms within a kernel in single; the weights stay in single
precision and are rounded once a pass, and their gradients leave the matrix units in single precision.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from rankloop.lists.tensors.jit import runs_on
from rankloop.rankers.text.cuda.activations import activated, activated_back
from rankloop.rankers.text.cuda.attention import attended, attended_back
from rankloop.rankers.text.cuda.norms import (
    Drop,
    Normed,
    normed,
    normed_back,
    normed_words,
    normed_words_back,
)
from rankloop.rankers.text.packed import Packed

if TYPE_CHECKING:
    from rankloop.rankers.text.bert import Bert

__all__ = ["encoded", "suits", "takes"]

_HEADS = (16, 32, 64, 128)  # widths that the kernel of attention takes


def takes(bert: "Bert", device: torch.device) -> bool:
    """Whether these kernels can run this network where its tensors are."""
    return runs_on(device) and bert.shape.hidden_size // bert.shape.num_attention_heads in _HEADS


def suits(bert: "Bert", device: torch.device) -> bool:
    """Whether they can, and half precision was asked for."""
    return torch.is_autocast_enabled(device.type) and takes(bert, device)


def encoded(bert: "Bert", tokens: Tensor, types: Tensor, places: Tensor, packed: Packed) -> Tensor:
    """The vectors of the tokens, in half precision."""
    dtype = torch.get_autocast_dtype(tokens.device.type)
    share = bert.dropout if bert.training else 0.0
    # 16 bytes apart, so that one compiled kernel serves all; drawn on the device, as a CUDA graph needs it.
    keys = torch.zeros(1 + 2 * len(bert.layers), 4, dtype=torch.int32, device=tokens.device)
    if share:
        keys.random_()
    drops = [Drop(share, key) for key in keys.unbind()]
    tables = bert.words.weight, bert.positions.weight, bert.types.weight
    norm = bert.norm
    given = (tokens, places, types), norm, drops[0], dtype
    x: Tensor = _Words.apply(*given, *tables, norm.weight, norm.bias)  # type: ignore[no-untyped-call]  # of torch
    halves = _halves(bert, dtype)
    for at, layer in enumerate(bert.layers):
        its = _Given(layer, halves[5 * at : 5 * at + 5], packed, drops[2 * at + 1], drops[2 * at + 2])
        x = _Layer.apply(x, its, *_parameters(layer))  # type: ignore[no-untyped-call]  # of torch
    return x


def _halves(bert: "Bert", dtype: torch.dtype) -> list[Tensor]:
    """The matrices and the first bias of each layer, rounded in one launch."""
    layers: Any = bert.layers
    wide = [
        part.detach()
        for layer in layers
        for part in (layer.qkv.weight, layer.out.weight, layer.up.weight, layer.down.weight, layer.qkv.bias)
    ]
    made = [torch.empty_like(part, dtype=dtype) for part in wide]
    torch._foreach_copy_(made, wide)
    return made


def _parameters(layer: Any) -> list[Tensor]:
    parts = (layer.qkv, layer.out, layer.norm_out, layer.up, layer.down, layer.norm_down)
    return [one for part in parts for one in (part.weight, part.bias)]


class _Given(NamedTuple):
    """What a layer works with besides its input: its rounded matrices, sequences and draws."""

    layer: Any  # of `Bert.layers`
    halves: list[Tensor]
    packed: Packed
    drop_out: Drop
    drop_down: Drop


class _Words(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, numbers: Any, norm: Any, drop: Drop, dtype: torch.dtype, *parameters: Tensor
    ) -> Tensor:
        made = normed_words(numbers, parameters[:3], norm, drop, dtype)
        ctx.save_for_backward(*numbers, made.unit, made.inverse, norm.weight)
        ctx.drop, ctx.sizes = drop, [len(table) for table in parameters[:3]]
        return made.out

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> Any:
        *numbers, unit, inverse, gain = ctx.saved_tensors
        summed, of_norm = normed_words_back(upstream, Normed(upstream, unit, inverse), gain, ctx.drop)
        wide = summed.float()
        words, places = (
            torch.ops.aten.embedding_dense_backward(wide, number, size, -1, False)
            for number, size in zip(numbers[:2], ctx.sizes[:2], strict=True)
        )
        kinds = torch.arange(ctx.sizes[2], device=wide.device)[:, None] == numbers[2]
        types = _product(kinds.to(summed.dtype), summed)
        return None, None, None, None, words, places, types, *of_norm


class _Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, given: _Given, *parameters: Tensor) -> Tensor:
        layer, (qkv_, out_, up_, down_, bias), packed, *drops = given
        qkv = torch.addmm(bias, x, qkv_.t())
        seen, sums = attended(qkv, layer.heads, packed)
        middle = normed(seen @ out_.t(), layer.out.bias, x, layer.norm_out, drops[0])
        inner = middle.out @ up_.t()
        active = activated(inner, layer.up.bias, layer.activation)
        made = normed(active @ down_.t(), layer.down.bias, middle.out, layer.norm_down, drops[1])
        ctx.given = given
        ctx.save_for_backward(
            x,
            qkv,
            seen,
            sums,
            middle.out,
            middle.unit,
            middle.inverse,
            inner,
            active,
            made.unit,
            made.inverse,
        )
        return made.out

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> Any:
        layer, (qkv_, out_, up_, down_, _), packed, *drops = ctx.given
        x, qkv, seen, sums, middle, unit, inverse, inner, active, last, last_inverse = ctx.saved_tensors
        upstream = upstream.contiguous()
        summed, branch, (gain2, shift2, down_bias) = normed_back(
            upstream, Normed(upstream, last, last_inverse), layer.norm_down.weight, drops[1]
        )
        down = _product(branch.t(), active)
        within, up_bias = activated_back(branch @ down_, inner, layer.up.bias, layer.activation)
        up = _product(within.t(), middle)
        summed.addmm_(within, up_)
        summed, branch, (gain1, shift1, out_bias) = normed_back(
            summed, Normed(middle, unit, inverse), layer.norm_out.weight, drops[0]
        )
        out = _product(branch.t(), seen)
        of_qkv = attended_back(branch @ out_, qkv, seen, sums, layer.heads, packed)
        summed.addmm_(of_qkv, qkv_)
        qkv_bias = of_qkv.sum(0, dtype=torch.float32)
        return (
            summed, None, _product(of_qkv.t(), x), qkv_bias, out, out_bias, gain1, shift1,
            up, up_bias, down, down_bias, gain2, shift2,
        )  # fmt: skip


def _product(a: Tensor, b: Tensor) -> Tensor:
    """The product of two matrices of half precision in single precision."""
    if a.is_cuda and hasattr(torch.ops.aten.mm, "dtype"):
        made: Tensor = torch.ops.aten.mm.dtype(a, b, torch.float32)
        return made
    return a.float() @ b.float()
