"""The kernels for a GPU give what the CPU's give: on CUDA where there is some, else by Triton's interpreter.

TRITON_INTERPRET=1 pytest tests/losses/test_cuda.py
"""

from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from members import LOSSES  # noqa: E402
from rankloop.data import Pairs  # noqa: E402
from rankloop.lists.tensors.jit import jit, tl  # noqa: E402
from rankloop.losses import LambdaRank, loss, settle, torch_loss  # noqa: E402
from rankloop.losses.cuda.draws import gumbel_draws  # noqa: E402
from rankloop.losses.cuda.lists import order_of, tiled  # noqa: E402
from rankloop.losses.cuda.registry import KERNELS, can_capture, device_loss  # noqa: E402
from rankloop.losses.cuda.spans import programs, span_of  # noqa: E402
from rankloop.losses.kernels import draws as kernel_draws  # noqa: E402
from triton_device import DEVICE, needs_cuda, needs_kernels  # noqa: E402

NAMES = [
    "lambdarank",
    "lambdagap",
    *(f"lambdarank(metric={metric}, truncation=5)" for metric in ("err", "map", "mrr", "precision", "arp")),
    "lambdarank(metric=dcg, gain=0/1/2/5/9)",
    "lambdarank(norm_gap=true, norm_list=true)",
    *(f"lambdaloss(form={form})" for form in ("ndcg1", "ndcg2", "ndcg2++", "arp1", "arp2")),
    "lambdaloss(truncation=7)",
    "ranknet",
    "ranknet(ties=true)",
    "hinge",
    "hinge(squared=true)",
    "approxndcg",
    "listnet",
    "listnet(target=gains)",
    "softmax",
    "xendcg",
    "listmle(ties=random)",
    "plistmle(ties=random)",
    "plistmle(decay=log2, ties=random)",
    "rankdistil(samples=2)",
    "infonce",
    "squared",
    "centredsquared",
    "sigmoidcrossentropy",
    "gumbel(loss=ranknet, samples=2)",
    "distill(loss=ranknet)",
    "pirank",
    "pirank(temperature=0.3)",
    "pirank(k=5, gain=0/1/2/5/9)",
    "plrank(samples=2)",
]
JUDGED = [
    "lambdagap",
    "hinge",
    "hinge(squared=true)",
    "ranknet(sigma=2.0)",
    "lambdarank",
    "lambdarank(metric=map, truncation=5)",
    "lambdarank(norm_gap=true, norm_list=true)",
    *(f"lambdaloss(form={form}, truncation=7)" for form in ("ndcg1", "ndcg2", "ndcg2++", "arp1", "arp2")),
]
LISTWISE = ["listnet", "listnet(target=gains)", "softmax", "xendcg", "listmle(ties=random)",
            "plistmle(ties=random)", "plistmle(decay=log2, ties=random)", "rankdistil(samples=2)",
            "plrank(samples=2)", "plrank(samples=2, k=400)"]  # fmt: skip
LONG = np.array([1, 2, 9, 127, 128, 129, 0, 300])
if DEVICE.type == "cuda":
    LONG = np.concatenate((LONG, [5000, 1, 1024, 1025], np.random.default_rng(2).integers(1, 700, 40)))
LENGTHS = np.array([0, 1, 5, 17, 40, 3]) if DEVICE.type == "cpu" else np.array([0, 1, 5, 70, 130, 700, 3])
OFFSETS = np.concatenate(([0], np.cumsum(LENGTHS)))
RNG = np.random.default_rng(3)
LABELS = RNG.integers(0, 5, OFFSETS[-1]).astype(np.float32)
LABELS[-3:] = 1  # a list without contrast
WEIGHT = RNG.uniform(0.2, 2, OFFSETS[-1]).astype(np.float32)
QUERY_WEIGHT = RNG.uniform(0.2, 2, len(LENGTHS))
SCORES = {
    "spread": RNG.normal(size=OFFSETS[-1]).astype(np.float32),
    "tied": RNG.integers(0, 4, OFFSETS[-1]).astype(np.float32),
    "extreme": (1e3 * RNG.normal(size=OFFSETS[-1])).astype(np.float32),
}


BETTER = np.concatenate([RNG.integers(a, b, 3 * (b - a)) for a, b in pairwise(OFFSETS) if b - a > 1])
WORSE = np.concatenate([RNG.integers(a, b, 3 * (b - a)) for a, b in pairwise(OFFSETS) if b - a > 1])
APART = BETTER != WORSE
PAIRS = Pairs(BETTER[APART], WORSE[APART], RNG.uniform(size=APART.sum()), RNG.uniform(size=APART.sum()))


@needs_kernels
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", SCORES)
def test_equal_to_the_cpu(name, kind):
    weights = {} if kind == "tied" else {"weight": WEIGHT, "query_weight": QUERY_WEIGHT}
    assert_equal_to_the_cpu(name, kind, weights)


@needs_kernels
@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize("kind", SCORES)
def test_explicit_pairs_equal_to_the_cpu(name, kind):
    weights = {} if kind == "tied" else {"weight": WEIGHT, "query_weight": QUERY_WEIGHT}
    assert_equal_to_the_cpu(name, kind, {"pairs": PAIRS, **weights})


def assert_equal_to_the_cpu(name, kind, given):
    one, scores = loss(name), SCORES[kind]
    wanted = one(scores, LABELS, OFFSETS, **given)
    made = device_loss(one, torch.tensor(scores, device=DEVICE), LABELS, OFFSETS, **given)
    assert made is not None
    for part, ours, theirs in zip(("value", "gradient", "hessian"), made, wanted, strict=True):
        if (part, kind) == ("hessian", "extreme"):  # differences of equal numbers: what is left is rounding
            continue
        gap = np.linalg.norm(ours.double().cpu().numpy() - theirs)
        # Lambdas that vanish are differences of doubles near 1, on the CPU as well.
        assert gap <= 1e-5 * np.linalg.norm(theirs) + 1e-12, part


@needs_kernels
@pytest.mark.parametrize("name", LISTWISE)
@pytest.mark.parametrize("kind", ["single", "double", "extreme"])
def test_lists_longer_than_a_block_equal_to_the_cpu(name, kind):
    """Lengths around a block and over many, equal labels, labels and weights of zero."""
    one, rng, total = loss(name), np.random.default_rng(8), LONG.sum()
    offsets = np.concatenate(([0], np.cumsum(LONG)))
    labels = rng.integers(0, 5, total).astype(np.float32)
    labels[offsets[2] : offsets[3]], labels[offsets[4] : offsets[5]] = 0, 2
    scores = rng.normal(size=total) * (800 if kind == "extreme" else 1)
    scores = scores if kind == "double" else scores.astype(np.float32)
    weight = rng.uniform(0, 2, total).astype(np.float32) * (rng.random(total) > 0.2)
    given = {"weight": weight, "query_weight": rng.uniform(0, 2, len(LONG)).astype(np.float32)}
    wanted = one(scores, labels, offsets, **given)
    made = device_loss(one, torch.tensor(scores, device=DEVICE), labels, offsets, **given)
    for part, ours, theirs in zip(("value", "gradient", "hessian"), made, wanted, strict=True):
        if (part, kind) != ("hessian", "extreme"):
            gap = np.linalg.norm(ours.cpu().numpy() - theirs)
            assert gap <= 1e-9 * np.linalg.norm(theirs) + 1e-12, part
    plain = device_loss(one, torch.tensor(scores, device=DEVICE), labels, offsets, **given, curved=False)
    assert torch.equal(plain.gradient, made.gradient)
    assert torch.equal(plain.value, made.value)


@needs_kernels
@pytest.mark.parametrize("kind", ["spread", "tied", "alike", "extreme", "double", "many grades"])
@pytest.mark.parametrize("tiles", ["large", "small"])
def test_lambdarank_equal_to_the_cpu_in_tiles_of_both_sizes(kind, tiles, monkeypatch):
    """Lists that fill a tile, fall short of one or take several; in large tiles each pair is met once."""
    monkeypatch.setattr("rankloop.losses.cuda.ring._MANY", 0 if tiles == "large" else 2**40)
    rng, lengths = np.random.default_rng(4), np.array([0, 1, 2, 33, 0, 32, 31])
    if DEVICE.type == "cuda":
        lengths = np.concatenate((lengths, [127, 128, 129, 256, 700, 0], rng.integers(1, 300, 30)))
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    labels = rng.choice(5, size=offsets[-1], p=(0.52, 0.32, 0.13, 0.02, 0.01)).astype(np.float32)
    scores = rng.normal(size=offsets[-1]).astype(np.float32)
    given = {}
    if kind == "many grades":
        labels = (4 * rng.random(len(labels))).astype(np.float32)
    if kind in ("tied", "double"):
        given = {"weight": rng.uniform(0.2, 2, len(labels)).astype(np.float32)}
        scores = np.round(scores, 1) if kind == "tied" else scores.astype(np.float64) + 1e9
    if kind == "alike":
        scores[:] = 1.0
    if kind == "extreme":
        scores *= 1000
    for metric in ("ndcg", "dcg"):
        one = LambdaRank(metric=metric)
        wanted = one(scores, labels, offsets, **given)
        here = torch.tensor(scores, device=DEVICE)
        made = device_loss(one, here, labels, offsets, **given)
        for part, ours, theirs in zip(("value", "gradient", "hessian"), made, wanted, strict=True):
            if (part, kind) != ("hessian", "extreme"):
                gap = np.linalg.norm(ours.double().cpu().numpy() - theirs)
                assert gap <= 2e-6 * np.linalg.norm(theirs) + 1e-12, part
        plain = device_loss(one, here, labels, offsets, **given, valued=False)
        assert torch.equal(plain.hessian, made.hessian)


@needs_kernels
@pytest.mark.parametrize("block", [32, 128])
def test_every_tile_is_found_once(block):
    """Also where many lists are empty, and where the first or the last is."""
    for lengths in ([0, 0, 5], [300, 0, 0], [0] * 40 + [129], [128, 1, 256, 0, 127, 1000], [1] * 200):
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        rows, n_lists = int(offsets[-1]), len(lengths)
        (count,) = programs(n_lists, rows, block, 1)
        found = torch.zeros(count, 4, dtype=torch.int64, device=DEVICE)
        _spans[(count,)](torch.tensor(offsets, device=DEVICE), found, n_lists, rows, BLOCK=block)
        there = {(q, start, n, first) for q, start, n, first in found.tolist() if first < n}
        assert there == {
            (q, offsets[q], n, first) for q, n in enumerate(lengths) for first in range(0, n, block)
        }
        assert len(there) == int((found[:, 3] < found[:, 2]).sum())


@jit
def _spans(offsets, found, n_lists, rows, BLOCK: "tl.constexpr"):
    q, start, n, first = span_of(offsets, tl.program_id(0), n_lists, rows, BLOCK)
    found += 4 * tl.program_id(0)
    tl.store(found, q)
    tl.store(found + 1, start)
    tl.store(found + 2, n)
    tl.store(found + 3, first)


@needs_kernels
@pytest.mark.parametrize("truncation", [None, 1, 3, 70, 500])
@pytest.mark.parametrize("metric", ["ndcg", "arp", "precision"])
def test_ties_across_tiles_equal_to_the_cpu(metric, truncation):
    """Ties of any size, also of a whole list, and where the truncation cuts one."""
    rng, lengths = np.random.default_rng(1), np.array([150, 1, 66, 130, 64])
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    scores = rng.integers(0, 4, offsets[-1]).astype(np.float32)
    scores[:150] = 1.0
    scores[-64:] = rng.permutation(64)
    labels = rng.integers(0, 4, offsets[-1]).astype(np.float32)
    one = LambdaRank(metric=metric, truncation=5 if metric == "precision" and not truncation else truncation)
    wanted = one(scores, labels, offsets)
    made = device_loss(one, torch.tensor(scores, device=DEVICE), labels, offsets)
    for ours, theirs in zip(made, wanted, strict=True):
        gap = np.linalg.norm(ours.double().cpu().numpy() - theirs)
        assert gap <= 1e-5 * np.linalg.norm(theirs) + 1e-12


@needs_kernels
def test_draws_are_those_of_the_cpu():
    made = gumbel_draws(5, range(2, 5), 700, DEVICE).cpu().numpy()
    wanted = [kernel_draws.gumbel_draws(5, 700, sample) for sample in range(2, 5)]
    np.testing.assert_allclose(made, wanted, rtol=1e-13, atol=1e-15)


@needs_kernels
def test_samples_drawn_in_parts_are_the_same(monkeypatch):
    scores = torch.tensor(SCORES["spread"], device=DEVICE)
    for name in ("plrank(samples=5)", "gumbel(loss=listnet, samples=5)", "gumbel(loss=xendcg, samples=3)"):
        whole = device_loss(loss(name), scores, LABELS, OFFSETS)
        with monkeypatch.context() as patch:
            patch.setattr("rankloop.losses.cuda.outcome._ROOM", 2 * len(LABELS))
            parts = device_loss(loss(name), scores, LABELS, OFFSETS)
        wanted = loss(name)(SCORES["spread"], LABELS, OFFSETS)
        for a, b, c in zip(whole, parts, wanted, strict=True):
            torch.testing.assert_close(a, b)
            np.testing.assert_allclose(a.cpu().numpy(), c, rtol=1e-6, atol=1e-9)


@needs_kernels
def test_orders_are_stable_and_put_nan_last():
    scores = torch.tensor([1.0, 2.0, float("nan"), 2.0, 1.0, 5.0, 7.0], device=DEVICE)
    lists = tiled(scores, scores, torch.tensor([0, 5, 7], device=DEVICE), None)
    assert order_of(lists, scores).tolist() == [1, 3, 0, 4, 2, 6, 5]


@needs_kernels
@pytest.mark.parametrize("empty", [0, 1])
@pytest.mark.parametrize("name", ["lambdarank", "listnet", "listmle(ties=random)", "squared", "pirank"])
def test_rows_past_the_last_list_have_no_gradient(name, empty):
    """Also where they look like the last document, and no list without rows stands between."""
    stop = OFFSETS[-2]
    rows = np.concatenate((np.arange(stop), np.full(20, stop - 1)))
    scores, labels = torch.tensor(SCORES["tied"][rows], device=DEVICE), LABELS[rows]
    padded = device_loss(loss(name), scores, labels, np.append(OFFSETS[:-1], [stop] * empty), checked=False)
    plain = device_loss(loss(name), scores[:stop], labels[:stop], OFFSETS[:-1])
    assert (padded.gradient[stop:] == 0).all()
    torch.testing.assert_close(padded.gradient[:stop], plain.gradient)
    torch.testing.assert_close(padded.value[: len(OFFSETS) - 2], plain.value)


@needs_kernels
@pytest.mark.parametrize(
    ("scores", "labels", "offsets", "given"),
    [
        ([0.0, np.nan], [0, 1], [0, 2], {}),
        ([0.0, np.inf], [0, 1], [0, 2], {}),
        ([0.0, 1.0], [0, -1], [0, 2], {}),
        ([0.0, 1.0], [0, np.nan], [0, 2], {}),
        ([0.0, 1.0], [0, 1], [0, 1], {}),
        ([0.0, 1.0], [0, 1], [0, 2, 1, 2], {}),
        ([0.0, 1.0], [0, 1], [1, 2], {}),
        ([0.0, 1.0], [0, 1], [0, 2], {"weight": [1.0, -1.0]}),
        ([0.0, 1.0], [0, 1], [0, 2], {"query_weight": [np.nan]}),
        ([0.0, 1.0], [0, 1], [0, 1, 2], {"pairs": Pairs([0], [1])}),
        ([0.0, 1.0], [0, 1], [0, 2], {"pairs": Pairs([0], [2])}),
    ],
)
def test_what_the_cpu_refuses_is_left_to_the_cpu(scores, labels, offsets, given):
    here = torch.tensor(scores, device=DEVICE)
    assert device_loss(loss("lambdarank"), here, labels, offsets, **given) is None
    with pytest.raises(ValueError, match=r"finite|offsets|stays in one list|but the rows are"):
        torch_loss("lambdarank")(here, labels, offsets, **given)


@needs_kernels
@pytest.mark.parametrize("name", [*NAMES, "lambdarank(gain=0/1/3)"])
@pytest.mark.parametrize("offsets", [[0, 90, 30, 40], [5, 40], [0, 2**40, 40], [0, 40], [0, 30, 40, 0, 40]])
def test_wrong_offsets_and_labels_reach_no_kernel(name, offsets):
    """The kernels start before the check has spoken, and read nothing that is not there."""
    scores = torch.zeros(40, device=DEVICE)
    labels = np.where(np.arange(40) == 7, 1e9 if "truncation" in name else np.nan, 1.0)
    assert device_loss(loss(name), scores, labels, offsets) is None


def test_every_kernel_is_tested_and_the_other_losses_run_on_the_cpu():
    assert {type(loss(name)) for name in NAMES} == set(KERNELS)
    assert {type(loss(name)) for name in JUDGED} == {kind for kind in KERNELS if kind.takes_pairs}
    for one in [*(kind() for kind in set(LOSSES) - set(KERNELS)), loss("listmle"), loss("plistmle")]:
        scores = torch.tensor(SCORES["spread"], device=DEVICE, requires_grad=True)
        assert device_loss(one, scores, LABELS, OFFSETS) is None
        torch_loss(one)(scores, LABELS, OFFSETS).sum().backward()
        wanted = one(SCORES["spread"], LABELS, OFFSETS).gradient
        np.testing.assert_allclose(scores.grad.cpu().numpy(), wanted, rtol=1e-5, atol=1e-6)


@needs_cuda
@pytest.mark.parametrize("name", ["lambdarank", "neuralndcg", "triplet"])
def test_gradients_reach_scores_on_the_device(name):
    here = torch.tensor(SCORES["spread"], requires_grad=True)
    there = here.detach().cuda().requires_grad_()
    torch_loss(name)(here, LABELS, OFFSETS).sum().backward()
    torch_loss(name)(there, LABELS, OFFSETS).sum().backward()
    torch.testing.assert_close(there.grad.cpu(), here.grad, rtol=1e-4, atol=1e-5)


@needs_cuda
@pytest.mark.parametrize(
    "name", [name for name in NAMES if not hasattr(loss(name), "seed") and "/" not in name]
)
def test_the_same_every_time_also_from_a_graph(name):
    given = [torch.tensor(part, device=DEVICE) for part in (SCORES["spread"], LABELS, OFFSETS)]
    one = settle(loss(name), LABELS)
    assert can_capture(one, given[1])
    first = device_loss(one, *given, checked=False).gradient.clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        again = device_loss(one, *given, checked=False).gradient
    graph.replay()
    assert torch.equal(first, again)
