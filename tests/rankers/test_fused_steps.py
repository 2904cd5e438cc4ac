"""The kernels of a training step of an MLP: on CUDA where there is some, else by Triton's interpreter.

TRITON_INTERPRET=1 pytest -W ignore::DeprecationWarning -W ignore::RuntimeWarning (this file)
"""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from rankloop.rankers.neural import streaming  # noqa: E402 - needs torch
from rankloop.rankers.neural.flat_weights import FlatWeights  # noqa: E402
from rankloop.rankers.neural.fused_mlp import FusedSteps, _Factors  # noqa: E402
from rankloop.rankers.neural.layers import Shape  # noqa: E402
from rankloop.rankers.neural.network import MLP  # noqa: E402
from triton_device import DEVICE, HALF, needs_kernels  # noqa: E402

CLOSE = 0.01 if HALF is torch.bfloat16 else 0.002


def steps_of(scorer, optimizer):
    """The steps without lists, streams and graphs: one thing after the other."""
    made = object.__new__(FusedSteps)
    made.layers = [module for module in scorer.body if isinstance(module, torch.nn.Linear)]
    made.head, made.flat = scorer.head, FlatWeights(list(scorer.parameters()), optimizer)
    made.flat.halves = made.flat.weights.to(HALF)
    made.rest = made.flat.starts[(made.layers[1:] or [made.head])[0].weight]
    made.tiled = all(layer.in_features % 8 == 0 == layer.out_features % 8 for layer in made.layers)
    made._forked = lambda work, *given: work(*given)
    made._joined = lambda: None
    made.total = torch.zeros((), dtype=torch.float64, device=DEVICE)
    return made


@needs_kernels
@pytest.mark.parametrize("level", [False, True])
@pytest.mark.parametrize(
    ("features", "hidden", "tiled"),
    [
        (136, (272, 40), True), (12, (20, 7), False), (72, (16,), True), (44, (24, 24, 300), False),
        (264, (16, 24), True), (128, (40, 136, 8), True), (144, (72, 16), True), (200, (136, 24), True),
        (256, (272, 40), True), (250, (40, 8), False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("filled", [1024, 290])
def test_layers_and_gradients_are_those_of_calculus(features, hidden, tiled, level, filled):
    """Columns that fill no tile, of one layer and of several; sizes that the copy engine takes and not."""
    torch.manual_seed(0)
    scorer = MLP(Shape(features, hidden, "relu", 0.0, level)).to(DEVICE)
    optimizer = torch.optim.AdamW(scorer.parameters(), lr=torch.tensor(0.01, device=DEVICE), weight_decay=0.1)
    steps = steps_of(scorer, optimizer)
    assert steps.tiled == tiled
    steps.filled = torch.tensor([filled], device=DEVICE)
    short = {parameter: steps.flat.short(parameter).double() for parameter in scorer.parameters()}
    Z, gradient = torch.randn(1024, features, device=DEVICE).to(HALF), torch.randn(1024, device=DEVICE)
    gradient[filled:] = torch.nan  # what is not filled counts nothing, whatever it is
    active, scores = steps._forward(Z)
    # Step by step in double precision, each from what the kernels gave before it.
    given = [made[:filled].double() for made in active]
    for layer, below, above in zip(steps.layers, given, given[1:], strict=False):
        near(above, torch.relu(below @ short[layer.weight].T + short[layer.bias]))
    head = steps.head
    near(scores[:filled], given[-1] @ short[head.weight][0] + (short[head.bias] if level else 0.0))
    assert torch.equal(scores[-(-filled // 128) * 128 :].cpu(), torch.zeros(1024 - -(-filled // 128) * 128))
    steps.flat.step_number.fill_(1)
    count, value = torch.tensor(4.0, device=DEVICE), torch.arange(3.0, device=DEVICE)
    now = SimpleNamespace(wait=lambda: None)
    steps._backward(active, _Factors(value, gradient, count, steps._weighed(Z, gradient, count), now))
    assert float(steps.total) == 3.0
    gradient = gradient[:filled].double() / 4
    near(of(steps, head.weight), (gradient @ given[-1])[None])
    if level:
        near(of(steps, head.bias), gradient.sum(0, keepdim=True))
    slope = gradient[:, None] * short[head.weight]
    for layer, below, above in zip(steps.layers[::-1], given[-2::-1], given[::-1], strict=False):
        slope = slope * (above > 0)
        near(of(steps, layer.weight), slope.T @ below)
        near(of(steps, layer.bias), slope.sum(0))
        slope = slope @ short[layer.weight]


def of(steps, parameter):
    """The gradient of a parameter: the sum of its parts."""
    start, size = steps.flat.starts[parameter], parameter.numel()
    return steps.flat.parts[:, start : start + size].sum(0).view(parameter.shape)


def near(ours, theirs):
    assert (ours.double() - theirs).norm() < CLOSE * theirs.norm()


@needs_kernels
@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW])
def test_steps_are_those_of_the_optimizer(kind):
    torch.manual_seed(0)
    scorer, plain = (MLP(Shape(5, (30, 3), "relu", 0.0, True)).to(DEVICE) for _ in range(2))
    plain.load_state_dict(scorer.state_dict())
    flat = FlatWeights(
        list(scorer.parameters()), kind(scorer.parameters(), lr=torch.tensor(0.01, device=DEVICE))
    )
    flat.halves = flat.weights.to(HALF)
    optimizer = kind(plain.parameters(), lr=0.01)
    for _ in range(3):
        for ours, theirs in zip(scorer.parameters(), plain.parameters(), strict=True):
            parts = torch.randn(len(flat.parts), ours.numel(), device=DEVICE)
            flat.parts[:, flat.starts[ours] :][:, : ours.numel()] = parts
            theirs.grad = parts.sum(0).view(ours.shape)
        optimizer.step()
        flat.step_number.add_(1)
        flat.step(64, flat.size)
        flat.step(0, 64)
    for ours, theirs in zip(scorer.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(flat.short(ours), ours.detach().to(HALF))


def test_streamed_batches_come_whole_and_in_order():
    """Of any number and size; several are under way at a time on CUDA."""
    host = torch.randn(500, 3)
    for sizes in ([], [4], [7, 1, 30, 2, 90, 5, 5, 5, 11, 3, 60]):
        wanted = [torch.randint(0, 500, (size,)) for size in sizes]
        made = [batch.cpu() for batch in streaming.streamed(host, wanted, DEVICE)]
        assert len(made) == len(sizes)
        for batch, rows in zip(made, wanted, strict=True):
            assert torch.equal(batch, host[rows])
