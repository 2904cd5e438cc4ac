"""The weights of a network in one piece, with the parts of their gradients and the moments of Adam."""

import torch
from torch import Tensor, nn

from rankloop.rankers.neural import fused_kernels as kernels

__all__ = ["FlatWeights"]

_ALIGNED = 64  # numbers: every matrix begins at a multiple of 128 bytes
_PARTS = 8  # of a batch, for sums over its rows; fewer where the weights are many
_ROOM = 2**25  # numbers of all parts


class FlatWeights:
    """Weights, gradients and moments, each in one piece, of which parameters and optimizer see views.

    One launch adds up the parts of the gradients and makes a step.
    """

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
