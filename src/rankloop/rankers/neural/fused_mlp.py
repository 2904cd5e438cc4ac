"""Training steps of an MLP in bf16 on CUDA without autograd: products, and what lies between, in few kernels.

Slopes are those of the scores, so that they are passed back while the loss is computed: its gradient is a
factor of each row. The products for the weights, which need it, come last.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

import torch
from torch import Tensor, nn

from rankloop.rankers.neural import fused_kernels as kernels
from rankloop.rankers.neural.batches import Batch
from rankloop.rankers.neural.captured import CapturedSteps, Work, rounded
from rankloop.rankers.neural.flat_weights import FlatWeights
from rankloop.rankers.neural.network import MLP

__all__ = ["FusedSteps", "can_fuse"]

_STEP = 64  # numbers that a product adds up at a time
_SERVED, _HELD = 96, 264  # programs that fill a device, and programs of which it holds two at a place
_BLOCK, _STAGES = 128, 3  # columns of a tile, and tiles of a product that are read ahead
_FEW = 256  # inputs of a layer whose weights a program can keep


def can_fuse(scorer: nn.Module, precision: str, noise: float) -> TypeGuard[MLP]:
    """Whether the network is one of these: hidden layers with ReLU, nothing drawn at random."""
    if not isinstance(scorer, MLP) or precision != "bf16" or noise:
        return False
    linear, others = _layers(scorer), [m for m in scorer.body if not isinstance(m, nn.Linear)]
    wide = len(linear) > 0 and max(layer.out_features for layer in linear) <= 4096
    return wide and all(isinstance(module, nn.ReLU) for module in others)


class _Factors(NamedTuple):
    """What the loss says of a batch: a factor of each row; the features times that; when these are there."""

    value: Tensor  # by list
    gradient: Tensor  # by row, which `among` divides
    among: Tensor
    Z: Tensor
    there: torch.cuda.Event


class FusedSteps(CapturedSteps):
    """`CapturedSteps` whose work is written out for an MLP, whose scores stay in single precision."""

    def __init__(self, work: Work, scorer: MLP) -> None:
        super().__init__(work)
        self.layers, self.head = _layers(scorer), scorer.head
        # The loss has few programs, which are not to wait for those of products.
        self.beside = torch.cuda.Stream(work.lists.device, priority=-1)  # type: ignore[no-untyped-call]  # of torch
        self.flat = FlatWeights(list(scorer.parameters()), work.optimizer)
        self.rest = self.flat.starts[(self.layers[1:] or [self.head])[0].weight]  # where the others begin
        self.held: list[Any] = []
        # The copy engine of the device takes rows that begin at a multiple of 16 bytes.
        sizes = (self.layers[0].in_features, *(layer.out_features for layer in self.layers))
        self.tiled = all(size % 8 == 0 for size in sizes)

    def learn(self, batch: Batch, count: Tensor | int) -> None:
        self.filled = batch.offsets[-1:]
        active, scores = self._forward(batch.Z)
        self._backward(active, self._forked(self._factors, batch, scores, count))
        self._joined()
        self.held.clear()

    def _factors(self, batch: Batch, scores: Tensor, count: Tensor | int) -> _Factors:
        from rankloop.losses.cuda.registry import device_loss

        made = device_loss(
            self.loss, scores, batch.labels, batch.offsets, weight=batch.weight,
            query_weight=batch.query_weight, curved=False, checked=False,
        )  # fmt: skip
        assert made is not None
        among = torch.as_tensor(count, device=scores.device)
        Z = self._weighed(batch.Z, made.gradient, among)
        self.flat.step_number.add_(1)
        return _Factors(made.value, made.gradient, among, Z, torch.cuda.current_stream().record_event())

    def room(self, n_rows: int) -> int:
        """Few sizes: kernels skip what is not filled."""
        return rounded(n_rows, 1 << max(9, n_rows.bit_length() - 2))

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
        for layer in self.layers:
            made, last = Z.new_empty(len(Z), layer.out_features), layer is self.layers[-1]
            if self.tiled and layer.in_features <= _FEW and not last:
                self._first(active[-1], layer, made)
            else:
                self._layer(active[-1], layer, made, scores, scored=last)
            active.append(made)
        return active, scores

    def _layer(self, X: Tensor, layer: nn.Linear, H: Tensor, scores: Tensor, *, scored: bool) -> None:
        head, level, short = self.head.weight, self.head.bias, self.flat.short
        rows, wide, inner = kernels.TILE, layer.out_features, layer.in_features
        block = min(256 if scored else _BLOCK, _power(wide))
        kernels.forward_kernel[(1 if scored else -(-wide // block), len(X) // rows)](
            self._tiles(X, rows, _STEP), self._tiles(short(layer.weight), block, _STEP), short(layer.bias),
            short(head), scores if level is None else short(level), self._tiles(H, rows, block), scores,
            self.filled, INNER=inner, COLUMNS=wide, SCORED=scored, BIASED=level is not None, ROWS=rows,
            BLOCK=block, STEP=_STEP, TILED=self.tiled, num_warps=8 if block == 256 else 4, num_stages=_STAGES,
        )  # fmt: skip

    def _first(self, X: Tensor, layer: nn.Linear, H: Tensor) -> None:
        """A layer of few inputs."""
        W, (wide, rest) = self.flat.short(layer.weight), _two_powers(layer.in_features)
        rows, block = 64, min(_BLOCK, _power(layer.out_features))
        blocks = -(-layer.out_features // block)
        kernels.first_kernel[(blocks, max(1, min(_HELD // blocks, len(X) // rows)))](
            self._tiles(X, rows, wide), self._tiles(X, rows, rest or wide), self._tiles(W, block, wide),
            self._tiles(W, block, rest or wide), self.flat.short(layer.bias), self._tiles(H, rows, block),
            self.filled, COLUMNS=layer.out_features, WIDE=wide, REST=rest, ROWS=rows, BLOCK=block, STAGES=3,
            num_warps=4,
        )  # fmt: skip

    def _backward(self, active: list[Tensor], given: _Factors) -> None:
        """All gradients, and a step."""
        top = len(self.layers) - 1
        scaled = {top: self._forked(self._scaled, active[-1], top, given)}
        if top:
            slope = self._slope(active[-1])
            for k in range(top, 0, -1):
                slope = self._passed(slope, self.layers[k], active[k])
                if k > 1:
                    scaled[k - 1] = self._forked(self._scaled, slope, k - 1, given)
            given.there.wait()
            self._weigh(slope, given.Z, self.layers[0], biased=True)
        # Now all slopes have their factors, and nothing needs the weights any more.
        self._joined()
        self._forked(self._finish, given)
        for k in range(1 if top else 0, top + 1):
            self._weigh(scaled[k], active[k], self.layers[k])
        self.flat.step(self.rest if top else 0, self.flat.size)

    def _finish(self, given: _Factors) -> None:
        """A step of the first layer, if it is not the last; and the sum of the losses."""
        if len(self.layers) > 1:
            self.flat.step(0, self.rest)
        self.total.add_(given.value.sum())

    def _slope(self, H: Tensor) -> Tensor:
        """The slope at the last layer, before its activation, which gave `H`."""
        (rows, columns), slope = H.shape, torch.empty_like(H)
        wide = _power(columns)
        each = max(1, 4096 // wide)
        kernels.slope_kernel[(rows // each,)](
            H, self.flat.short(self.head.weight), slope, COLUMNS=columns, WIDE=wide, ROWS=each, num_warps=4
        )
        return slope

    def _passed(self, slope: Tensor, layer: nn.Linear, H: Tensor) -> Tensor:
        """The slope one layer below, before its activation, which gave `H`."""
        (rows, inner), passed = H.shape, torch.empty_like(H)
        block = min(_BLOCK, _power(inner))
        kernels.pass_kernel[(-(-inner // block), rows // kernels.TILE)](
            self._tiles(slope, kernels.TILE, _STEP), self._tiles(self.flat.short(layer.weight), _STEP, block),
            self._tiles(H, kernels.TILE, block), self._tiles(passed, kernels.TILE, block), self.filled,
            COLUMNS=layer.out_features, INNER=inner, ROWS=kernels.TILE, BLOCK=block, STEP=_STEP,
            TILED=self.tiled, num_warps=4, num_stages=_STAGES,
        )  # fmt: skip
        return passed

    def _scaled(self, X: Tensor, k: int, given: _Factors) -> Tensor:
        """Slopes of a layer times the factors of their rows; sums of biases, with the last of the head."""
        flat, (weight, level) = self.flat, (self.head.weight, self.head.bias)
        out, columns, last = torch.empty_like(X), X.shape[1], k == len(self.layers) - 1
        heads = flat.part(weight)
        kernels.factor_kernel[(-(-columns // 32), len(flat.parts))](
            X, flat.short(weight), given.gradient, given.among, out, flat.part(self.layers[k].bias), heads,
            heads if level is None else flat.part(level), flat.size, self.filled, COLUMNS=columns, LAST=last,
            BIASED=level is not None, WIDE=32, STEP=256 if last else 512, num_warps=8,
        )  # fmt: skip
        return out

    def _weighed(self, Z: Tensor, gradient: Tensor, count: Tensor) -> Tensor:
        """Features times the factors of their rows, and these: eight columns more, for the copy engine."""
        (rows, columns), more = Z.shape, Z.shape[1] + 8
        out, wide = Z.new_empty(rows, more), min(1024, _power(more))
        each = max(1, 2048 // wide)
        kernels.input_kernel[(rows // each, -(-more // wide))](
            Z,
            gradient,
            count,
            out,
            self.filled,
            COLUMNS=columns,
            MORE=more,
            WIDE=wide,
            ROWS=each,
            num_warps=4,
        )
        return out

    def _weigh(self, slope: Tensor, below: Tensor, layer: nn.Linear, *, biased: bool = False) -> None:
        """The gradient of a layer, a part of the rows at a time; biased, one more column gives the biases."""
        columns, inner, flat = layer.out_features, layer.in_features, self.flat
        parts, wanted = len(flat.parts), inner + biased
        high, wide, rest = 128, 256, 0
        if wanted <= _FEW:
            high, (wide, rest) = 64, _two_powers(wanted)
        elif -(-columns // high) * -(-wanted // wide) * parts < _SERVED:
            high, wide = 64, 128
        kernels.weight_kernel[(-(-columns // high), parts, 1 if rest else -(-wanted // wide))](
            self._tiles(slope, _STEP, high), self._tiles(below, _STEP, wide),
            self._tiles(below, _STEP, rest or wide), flat.part(layer.weight), flat.part(layer.bias),
            flat.size, self.filled, COLUMNS=columns, INNER=inner, BIASED=biased, HIGH=high, WIDE=wide,
            REST=rest, STEP=_STEP, TILED=self.tiled, num_warps=8 if high == 128 else 4, num_stages=4,
        )  # fmt: skip

    def _tiles(self, X: Tensor, high: int, wide: int) -> Any:
        """A matrix for a kernel, to be read in such tiles by the copy engine where that can."""
        if not self.tiled:
            return X
        from triton.tools.tensor_descriptor import TensorDescriptor

        return TensorDescriptor.from_tensor(X, [high, wide])

    def _forked(self, work: Callable[..., Any], *given: Any) -> Any:
        """Beside what follows, after what came before; what it is given and gives is kept."""
        self.beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.beside):
            made = work(*given)
        self.held.append((given, made))
        return made

    def _joined(self) -> None:
        torch.cuda.current_stream().wait_stream(self.beside)


def _layers(scorer: MLP) -> list[nn.Linear]:
    return [module for module in scorer.body if isinstance(module, nn.Linear)]


def _power(size: int) -> int:
    """The power of two from there on; products take 16 columns or more."""
    return max(16, 1 << (size - 1).bit_length())


def _two_powers(size: int) -> tuple[int, int]:
    """Two powers of two, of at least 16, that reach a size together; 0 for the second where one does."""
    first = max(16, 1 << (size.bit_length() - 1))
    return first, 0 if first >= size else _power(size - first)
