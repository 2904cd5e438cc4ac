"""Training steps of an MLP in bf16 on CUDA without autograd: matrix products, and few kernels between them.

All weights lie in one piece of memory, as do their gradients and the moments of Adam: one launch makes a step.
The products for the weights run beside those that pass slopes back.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from rankloop.losses import Loss
from rankloop.rankers.neural import fused_kernels as kernels
from rankloop.rankers.neural.batches import Batch, DeviceLists
from rankloop.rankers.neural.captured import CapturedSteps
from rankloop.rankers.neural.network import MLP

__all__ = ["FusedSteps", "can_fuse"]

_ALIGNED = 64  # numbers: every matrix begins at a multiple of 128 bytes
_PART = 128  # rows whose slopes are added up at a time

Parts = tuple[Tensor, Tensor, Tensor]


def can_fuse(scorer: nn.Module, precision: str, noise: float) -> bool:
    """Whether the network is one of these: hidden layers with ReLU, nothing drawn at random."""
    if not isinstance(scorer, MLP) or precision != "bf16" or noise:
        return False
    linear, others = _layers(scorer), [m for m in scorer.body if not isinstance(m, nn.Linear)]
    wide = 0 < len(linear) and max(layer.out_features for layer in linear) <= 4096
    return wide and all(isinstance(module, nn.ReLU) for module in others)


class FusedSteps(CapturedSteps):
    """`CapturedSteps` whose work is written out for an MLP, whose scores stay in single precision."""

    def __init__(
        self,
        lists: DeviceLists,
        loss: Loss,
        optimizer: torch.optim.Optimizer,
        score: Callable[[Batch], Tensor],
        scorer: MLP,
    ) -> None:
        super().__init__(lists, loss, optimizer, score)
        self.layers, self.head = _layers(scorer), scorer.head
        self.beside = torch.cuda.Stream(lists.device)  # type: ignore[no-untyped-call]
        self.flat = _Flat(list(scorer.parameters()), optimizer)
        self._place_sums()

    def _place_sums(self) -> None:
        """Where the sums of a step go: biases from the last layer to the first, after the last the head."""
        place = self.flat.place
        order = [self.layers[-1].bias, self.head.weight]
        ends = [*(place(p) for p in order), place(self.head.bias)]
        places = [torch.arange(a, a + p.numel()) for a, p in zip(ends, order, strict=False)]
        places.append(torch.tensor([ends[-1]]))
        places += [place(l.bias) + torch.arange(l.out_features) for l in reversed(self.layers[:-1])]
        self.places = torch.cat(places).to(self.lists.device, torch.int32)

    def learn(self, batch: Batch, count: Tensor | int) -> None:
        from rankloop.losses.cuda.registry import device_loss

        active = self._forward(batch.Z)
        scores = self._scores(active[-1])
        made = device_loss(
            self.loss, scores, batch.labels, batch.offsets, weight=batch.weight,
            query_weight=batch.query_weight, curved=False, checked=False,
        )  # fmt: skip
        assert made is not None
        self._forked(lambda: self.total.add_(made.value.sum()))
        slopes = self._backward(active, made.gradient, torch.as_tensor(count, device=scores.device))
        torch.cuda.current_stream().wait_stream(self.beside)
        del slopes  # until here the other stream may read them
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

    def _backward(self, active: list[Tensor], gradient: Tensor, count: Tensor) -> list[Tensor]:
        """All gradients; the slopes, which are still in use."""
        flat, H = self.flat, active[-1]
        rows, columns = len(H), H.shape[1]
        n_parts, stride = -(-rows // _PART), len(self.places)
        parts = torch.empty(n_parts, stride, device=H.device)
        slope = torch.empty_like(H)
        kernels.head_slope_kernel[(n_parts,)](
            H, flat.short(self.head.weight), gradient, count, slope, parts, rows, stride,
            COLUMNS=columns, WIDE=_power(columns), STEP=16, ROWS=_PART, num_warps=4,
        )  # fmt: skip
        slopes, done = [slope], 2 * columns + 1
        for layer, below in zip(reversed(self.layers), reversed(active[:-1]), strict=True):
            self._forked(lambda s=slope, b=below, w=layer.weight: torch.mm(s.t(), b, out=flat.gradient(w)))
            if below is active[0]:
                break
            slope = torch.mm(slope, flat.short(layer.weight))
            slopes.append(slope)
            wide = slope.shape[1]
            kernels.slope_kernel[(n_parts, -(-wide // 128))](
                below, slope, parts[:, done:], rows, stride, COLUMNS=wide, WIDE=128, STEP=32, ROWS=_PART,
                num_warps=4,
            )  # fmt: skip
            done += wide
        kernels.sums_kernel[(-(-stride // 32),)](
            parts, self.places, flat.gradients, n_parts, stride, stride, WIDE=32, num_warps=1
        )
        return slopes

    def _forked(self, work: Callable[[], Any]) -> None:
        """Beside what follows, up to the end of the step."""
        self.beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.beside):
            work()


class _Flat:
    """Weights, gradients and moments, each in one piece; the parameters and the optimizer see views of them."""

    def __init__(self, parameters: list[nn.Parameter], optimizer: torch.optim.Optimizer) -> None:
        (group,) = optimizer.param_groups
        self.group, self.decoupled = group, isinstance(optimizer, torch.optim.AdamW)
        self.starts, size = {}, 0
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

    def _view(self, whole: Tensor, parameter: nn.Parameter) -> Tensor:
        start = self.starts[parameter]
        return whole[start : start + parameter.numel()].view(parameter.shape)

    def place(self, parameter: nn.Parameter | None) -> int:
        return -1 if parameter is None else self.starts[parameter]

    def short(self, parameter: nn.Parameter) -> Tensor:
        return self._view(self.halves, parameter)

    def gradient(self, parameter: nn.Parameter) -> Tensor:
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
