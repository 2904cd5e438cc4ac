"""Training steps of an MLP in bf16 on CUDA without autograd: products, and what lies between, in few kernels.

All weights lie in one piece of memory, as do the moments of Adam and the parts of their gradients: one launch
adds these up and makes a step. The products for the weights run beside those that pass slopes back.
"""

from collections.abc import Callable
from typing import Any, TypeGuard

import torch
from torch import Tensor, nn

from rankloop.rankers.neural import fused_kernels as kernels
from rankloop.rankers.neural.batches import Batch
from rankloop.rankers.neural.captured import CapturedSteps, Work
from rankloop.rankers.neural.network import MLP

__all__ = ["FusedSteps", "can_fuse"]

_ALIGNED = 64  # numbers: every matrix begins at a multiple of 128 bytes
_STEP = 64  # numbers that a product adds up at a time
_PARTS = 8  # of a batch, for sums over its rows; fewer where the weights are many
_ROOM = 2**25  # numbers of all parts
_SERVED = 96  # programs that fill a device
_BLOCK, _STAGES = 128, 3  # columns of a tile, and tiles of a product that are read ahead


def can_fuse(scorer: nn.Module, precision: str, noise: float) -> TypeGuard[MLP]:
    """Whether the network is one of these: hidden layers with ReLU, nothing drawn at random."""
    if not isinstance(scorer, MLP) or precision != "bf16" or noise:
        return False
    linear, others = _layers(scorer), [m for m in scorer.body if not isinstance(m, nn.Linear)]
    wide = len(linear) > 0 and max(layer.out_features for layer in linear) <= 4096
    return wide and all(isinstance(module, nn.ReLU) for module in others)


class FusedSteps(CapturedSteps):
    """`CapturedSteps` whose work is written out for an MLP, whose scores stay in single precision."""

    def __init__(self, work: Work, scorer: MLP) -> None:
        super().__init__(work)
        self.layers, self.head = _layers(scorer), scorer.head
        self.beside = torch.cuda.Stream(work.lists.device)  # type: ignore[no-untyped-call]  # of torch
        self.flat = _Flat(list(scorer.parameters()), work.optimizer)
        self.rest = self.flat.starts[(self.layers[1:] or [self.head])[0].weight]  # where the others begin
        self.held: list[Any] = []
        # The copy engine of the device takes rows that begin at a multiple of 16 bytes.
        sizes = (self.layers[0].in_features, *(layer.out_features for layer in self.layers))
        self.tiled = all(size % 8 == 0 for size in sizes)

    def learn(self, batch: Batch, count: Tensor | int) -> None:
        from rankloop.losses.cuda.registry import device_loss

        active, scores = self._forward(batch.Z)
        made = device_loss(
            self.loss, scores, batch.labels, batch.offsets, weight=batch.weight,
            query_weight=batch.query_weight, curved=False, checked=False,
        )  # fmt: skip
        assert made is not None
        self._forked(self._count, made.value)
        self._backward(active, made.gradient, torch.as_tensor(count, device=scores.device))
        torch.cuda.current_stream().wait_stream(self.beside)
        self.held.clear()
        self.flat.step(0, self.rest)

    def _count(self, value: Tensor) -> None:
        self.total.add_(value.sum())
        self.flat.step_number.add_(1)

    def taken(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        Z, n = self.lists.resident, len(rows)
        if Z is None or Z.shape[1] > 1024:
            return super().taken(rows)
        columns = Z.shape[1]
        out, labels = Z.new_empty(n, columns), self.lists.labels.new_empty(n)
        wide = _power(columns)
        each = max(1, 4096 // wide)
        kernels.gather_kernel[(n // each,)](
            Z, self.lists.labels, rows, out, labels, COLUMNS=columns, WIDE=wide, ROWS=each, num_warps=4
        )
        return out, labels

    def _forward(self, Z: Tensor) -> tuple[list[Tensor], Tensor]:
        """What each layer gets, and what the last one gives; the scores."""
        active, scores = [Z], torch.empty(len(Z), device=Z.device)
        head, level, short = self.head.weight, self.head.bias, self.flat.short
        for layer in self.layers:
            (n, inner), wide, last = active[-1].shape, layer.out_features, layer is self.layers[-1]
            block, active_ = min(256 if last else _BLOCK, _power(wide)), Z.new_empty(n, wide)
            kernels.forward_kernel[(1 if last else -(-wide // block), n // kernels.TILE)](
                self._tiles(active[-1], kernels.TILE, _STEP), self._tiles(short(layer.weight), block, _STEP),
                short(layer.bias), short(head), scores if level is None else short(level),
                self._tiles(active_, kernels.TILE, block), scores, INNER=inner, COLUMNS=wide, SCORED=last,
                BIASED=level is not None, ROWS=kernels.TILE, BLOCK=block, STEP=_STEP, TILED=self.tiled,
                num_warps=8 if block == 256 else 4, num_stages=_STAGES,
            )  # fmt: skip
            active.append(active_)
        return active, scores

    def _backward(self, active: list[Tensor], gradient: Tensor, count: Tensor) -> None:
        """All gradients, from the last layer to the first."""
        H, head = active[-1], self.head.weight
        (rows, columns), slope = H.shape, torch.empty_like(H)
        wide = _power(columns)
        each = max(1, 4096 // wide)
        kernels.slope_kernel[(rows // each,)](
            H, self.flat.short(head), gradient, count, slope, COLUMNS=columns, WIDE=wide, ROWS=each,
            num_warps=4,
        )  # fmt: skip
        self._forked(self._head, H, gradient, count)
        for layer, below in zip(self.layers[:0:-1], active[-2:0:-1], strict=True):
            self._forked(self._weigh, slope, below, layer)
            slope = self._passed(slope, layer, below)
        # Nothing needs the weights above the first layer any more.
        self._forked(self.flat.step, self.rest, self.flat.size)
        self._weigh(slope, active[0], self.layers[0])

    def _head(self, H: Tensor, gradient: Tensor, count: Tensor) -> None:
        """The gradient of the head, a part of the rows at a time."""
        (rows, columns), (parts, size), level = H.shape, self.flat.parts.shape, self.head.bias
        heads = self.flat.part(self.head.weight)
        kernels.head_kernel[(-(-columns // 32), parts)](
            H, gradient, count, heads, heads if level is None else self.flat.part(level), size, rows // parts,
            COLUMNS=columns, BIASED=level is not None, WIDE=32, STEP=128, num_warps=4,
        )  # fmt: skip

    def _passed(self, slope: Tensor, layer: nn.Linear, H: Tensor) -> Tensor:
        """The slope one layer below, before its activation, which gave `H`."""
        (rows, inner), passed = H.shape, torch.empty_like(H)
        block = min(_BLOCK, _power(inner))
        kernels.pass_kernel[(-(-inner // block), rows // kernels.TILE)](
            self._tiles(slope, kernels.TILE, _STEP), self._tiles(self.flat.short(layer.weight), _STEP, block),
            self._tiles(H, kernels.TILE, block), self._tiles(passed, kernels.TILE, block),
            COLUMNS=layer.out_features, INNER=inner, ROWS=kernels.TILE, BLOCK=block, STEP=_STEP,
            TILED=self.tiled, num_warps=4, num_stages=_STAGES,
        )  # fmt: skip
        return passed

    def _weigh(self, slope: Tensor, below: Tensor, layer: nn.Linear) -> None:
        """The gradient of a layer, a part of the rows at a time."""
        (rows, columns), inner, flat = slope.shape, below.shape[1], self.flat
        parts, size = flat.parts.shape
        high, wide = 128, 256
        if -(-columns // high) * -(-inner // wide) * parts < _SERVED:
            high, wide = 64, _power(inner) if inner <= 256 else 128
        kernels.weight_kernel[(-(-columns // high), -(-inner // wide), parts)](
            self._tiles(slope, _STEP, high), self._tiles(below, _STEP, wide), flat.part(layer.weight),
            flat.part(layer.bias), size, rows // parts, COLUMNS=columns, INNER=inner, HIGH=high, WIDE=wide,
            STEP=_STEP, TILED=self.tiled, num_warps=8 if high == 128 else 4, num_stages=4,
        )  # fmt: skip

    def _tiles(self, X: Tensor, high: int, wide: int) -> Any:
        """A matrix for a kernel, to be read in such tiles by the copy engine where that can."""
        if not self.tiled:
            return X
        from triton.tools.tensor_descriptor import TensorDescriptor

        return TensorDescriptor.from_tensor(X, [high, wide])

    def _forked(self, work: Callable[..., Any], *given: Any) -> None:
        """Beside what follows, up to the end of the step; until then what it is given is kept."""
        self.held.append(given)
        self.beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.beside):
            work(*given)


class _Flat:
    """Weights, gradients and moments, each in one piece, of which parameters and optimizer see views."""

    def __init__(self, parameters: list[nn.Parameter], optimizer: torch.optim.Optimizer) -> None:
        (group,) = optimizer.param_groups
        self.group, self.decoupled = group, isinstance(optimizer, torch.optim.AdamW)
        self.starts: dict[Tensor, int] = {}
        size = 0
        for parameter in parameters:
            self.starts[parameter] = size
            size += -(-parameter.numel() // _ALIGNED) * _ALIGNED
        device = parameters[0].device
        self.weights, self.mean, self.square = torch.zeros(3, size, device=device).unbind()
        self.step_number, self.size = torch.zeros((), device=device), size
        parts = _PARTS
        while parts > 1 and parts * size > _ROOM:
            parts //= 2
        self.parts = torch.zeros(parts, size, device=device)  # of the gradients
        for parameter in parameters:
            state = optimizer.state[parameter]
            if state:  # of a training that goes on
                self.step_number.fill_(float(state["step"]))
            for name, whole in (("exp_avg", self.mean), ("exp_avg_sq", self.square)):
                if name in state:
                    self._view(whole, parameter).copy_(state[name])
                state[name] = self._view(whole, parameter)
            state["step"] = self.step_number
            self._view(self.weights, parameter).copy_(parameter.detach())
            parameter.data = self._view(self.weights, parameter)
        self.halves = self.weights.bfloat16()

    def _view(self, whole: Tensor, parameter: Tensor) -> Tensor:
        start = self.starts[parameter]
        return whole[start : start + parameter.numel()].view(parameter.shape)

    def short(self, parameter: Tensor) -> Tensor:
        return self._view(self.halves, parameter)

    def part(self, parameter: Tensor) -> Tensor:
        """Its gradient from the first part of a batch; the others follow, each after all weights."""
        return self._view(self.parts[0], parameter)

    def step(self, begin: int, stop: int) -> None:
        """A step of the weights from `begin` to `stop`."""
        beta1, beta2 = self.group["betas"]
        kernels.adam_kernel[(-(-(stop - begin) // 1024),)](
            self.weights, self.halves, self.parts, self.mean, self.square, self.step_number, self.group["lr"],
            begin, stop, self.size, beta1, beta2, self.group["eps"], self.group["weight_decay"],
            DECOUPLED=self.decoupled, PARTS=len(self.parts), WIDE=1024, num_warps=4,
        )  # fmt: skip


def _layers(scorer: MLP) -> list[nn.Linear]:
    return [module for module in scorer.body if isinstance(module, nn.Linear)]


def _power(size: int) -> int:
    """The power of two from there on; products take 16 columns or more."""
    return max(16, 1 << (size - 1).bit_length())
