"""Training steps of an MLP in bf16 on CUDA without autograd: matrix products, and few kernels between them.

All weights lie in one piece of memory, as do their gradients and the moments of Adam: one launch makes a
step. The products for the weights run beside those that pass slopes back.
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
_PART = 32  # rows whose slopes are added up at a time
_NARROW = 256  # features that one program takes at a time

Parts = tuple[Tensor, Tensor, Tensor]


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
        self.held: list[Any] = []

    def learn(self, batch: Batch, count: Tensor | int) -> None:
        from rankloop.losses.cuda.registry import device_loss

        active = self._forward(batch.Z)
        scores = self._scores(active[-1])
        made = device_loss(
            self.loss, scores, batch.labels, batch.offsets, weight=batch.weight,
            query_weight=batch.query_weight, curved=False, checked=False,
        )  # fmt: skip
        assert made is not None
        self._forked(lambda value: self.total.add_(value.sum()), made.value)
        self._backward(active, made.gradient, torch.as_tensor(count, device=scores.device))
        torch.cuda.current_stream().wait_stream(self.beside)
        self.held.clear()
        self.flat.step()

    def taken(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        Z, n = self.lists.resident, len(rows)
        if Z is None or Z.shape[1] > 1024:
            return super().taken(rows)
        columns = Z.shape[1]
        out, labels = Z.new_empty(n, columns), self.lists.labels.new_empty(n)
        wide = _power(columns)
        each = max(1, 4096 // wide)
        kernels.gather_kernel[(-(-n // each),)](
            Z, self.lists.labels, rows, out, labels, n, COLUMNS=columns, WIDE=wide, ROWS=each, num_warps=4
        )
        return out, labels

    def _forward(self, Z: Tensor) -> list[Tensor]:
        """What each layer gets, and what the last one gives."""
        active = [Z]
        for layer in self.layers:
            weight, bias = self.flat.short(layer.weight), self.flat.short(layer.bias)
            active.append(torch._addmm_activation(bias, active[-1], weight.t()))
        return active

    def _scores(self, H: Tensor) -> Tensor:
        scores = torch.empty(len(H), device=H.device)
        weight, bias = self.head.weight, self.head.bias
        kernels.head_kernel[(-(-len(H) // 16),)](
            H, self.flat.short(weight), scores if bias is None else self.flat.short(bias), scores, len(H),
            COLUMNS=H.shape[1], WIDE=_power(H.shape[1]), BIASED=bias is not None, ROWS=16, num_warps=4,
        )  # fmt: skip
        return scores

    def _backward(self, active: list[Tensor], gradient: Tensor, count: Tensor) -> None:
        """All gradients, from the last layer to the first."""
        flat, H, head = self.flat, active[-1], self.head
        (rows, columns), n_parts = H.shape, -(-len(H) // _PART)
        slope = torch.empty_like(H)
        biases, heads = torch.empty(2, n_parts, columns, device=H.device).unbind()
        levels = torch.empty(n_parts, 1, device=H.device)
        kernels.head_slope_kernel[(n_parts,)](
            H, flat.short(head.weight), gradient, count, slope, biases, heads, levels, rows,
            COLUMNS=columns, WIDE=_power(columns), ROWS=_PART, num_warps=8,
        )  # fmt: skip
        self._forked(self._sum, heads, head.weight)
        if head.bias is not None:
            self._forked(self._sum, levels, head.bias)
        for number in reversed(range(len(self.layers))):
            layer, below, above = self.layers[number], active[number], active[number + 1]
            if number == 0 and len(self.layers) > 1 and below.shape[1] <= _NARROW:
                self._first(layer, above, slope, below)
                return
            if above is not H:
                biases = self._through(above, slope)
            self._forked(self._sum, biases, layer.bias)
            self._forked(self._product, slope, below, layer.weight)
            if number > 0:
                slope = torch.mm(slope, flat.short(layer.weight))

    def _product(self, slope: Tensor, below: Tensor, weight: Tensor) -> None:
        torch.mm(slope.t(), below, out=self.flat.gradient(weight))

    def _through(self, H: Tensor, slope: Tensor) -> Tensor:
        """The slope before the activation, in its place; parts of its sums."""
        n_parts, wide = -(-len(H) // _PART), H.shape[1]
        biases = torch.empty(n_parts, wide, device=H.device)
        kernels.slope_kernel[(n_parts, -(-wide // 256))](
            H, slope, biases, len(H), COLUMNS=wide, WIDE=256, ROWS=_PART, num_warps=4
        )
        return biases

    def _first(self, layer: nn.Linear, H: Tensor, slope: Tensor, Z: Tensor) -> None:
        """The gradient of the first layer, to which no slope need be passed on."""
        (rows, features), wide = Z.shape, H.shape[1]
        blocks = -(-wide // 128)
        each = -(-rows // (max(1, 128 // blocks) * 64)) * 64
        n_parts = -(-rows // each)
        parts = torch.empty(n_parts, wide * features, device=Z.device)
        biases = torch.empty(n_parts, wide, device=Z.device)
        kernels.first_kernel[(blocks, n_parts)](
            H, slope, Z, parts, biases, rows, COLUMNS=wide, FEATURES=features, WIDE=max(16, _power(features)),
            ROWS=each, STEP=64, BLOCK=128, num_warps=8, num_stages=3,
        )  # fmt: skip
        self._sum(parts, layer.weight)
        self._forked(self._sum, biases, layer.bias)

    def _sum(self, parts: Tensor, parameter: Tensor) -> None:
        n_parts, columns = parts.shape
        wide = 32 if n_parts > 64 else 256
        kernels.sums_kernel[(-(-columns // wide),)](
            parts, self.flat.gradient(parameter), n_parts, columns, AT_ONCE=128 if n_parts > 64 else 16,
            WIDE=wide, num_warps=4,
        )  # fmt: skip

    def _forked(self, work: Callable[..., Any], *given: Tensor) -> None:
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
        self.step_number = torch.zeros((), device=device)
        self.gradients = torch.zeros(size, dtype=torch.bfloat16, device=device)
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

    def gradient(self, parameter: Tensor) -> Tensor:
        return self._view(self.gradients, parameter)

    def step(self) -> None:
        beta1, beta2 = self.group["betas"]
        self.step_number.add_(1)
        kernels.adam_kernel[(-(-len(self.weights) // 1024),)](
            self.weights, self.halves, self.gradients, self.mean, self.square, self.step_number,
            self.group["lr"], len(self.weights), beta1, beta2, self.group["eps"], self.group["weight_decay"],
            DECOUPLED=self.decoupled, WIDE=1024, num_warps=4,
        )  # fmt: skip


def _layers(scorer: MLP) -> list[nn.Linear]:
    return [module for module in scorer.body if isinstance(module, nn.Linear)]


def _power(size: int) -> int:
    return 1 << max(size - 1, 1).bit_length()
