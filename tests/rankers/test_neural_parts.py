"""The parts of a network against plain loops, and the metric on the device against rankloop.metrics."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.data import Pairs, RankingDataset
from rankloop.metrics import ndcg
from rankloop.rankers.neural.batches import cuts
from strategies import ragged_lists

torch = pytest.importorskip("torch")

from rankloop.rankers.neural import batches as _batches  # noqa: E402
from rankloop.rankers.neural.attention import Attention  # noqa: E402
from rankloop.rankers.neural.batches import DeviceLists, rows_of  # noqa: E402
from rankloop.rankers.neural.device_metrics import device_ndcg  # noqa: E402
from rankloop.rankers.neural.gam import GAM  # noqa: E402
from rankloop.rankers.neural.groupwise import Groupwise  # noqa: E402
from rankloop.rankers.neural.input import FeatureTransform  # noqa: E402
from rankloop.rankers.neural.layers import Shape  # noqa: E402

CPU = torch.device("cpu")
LENGTHS = (3, 1, 5, 3, 2)


def rows(n=14, features=4, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, features)))


def edges(lengths=LENGTHS):
    return torch.tensor(np.concatenate(([0], np.cumsum(lengths))))


def learned(kind, X, **options):
    return FeatureTransform.learned(kind, torch.from_numpy(X), flags=options.get("flags", False), device=CPU)


def test_log1p_by_hand():
    X = np.array([[np.e - 1, -3.0], [0.0, np.nan], [1 - np.e, -3.0]], np.float32)
    made = learned("log1p", X)(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(made[:, 0], np.array([1, 0, -1]) * np.sqrt(1.5), atol=1e-6)
    np.testing.assert_array_equal(made[:, 1], 0)  # one value, and one missing


def test_flags_only_for_what_was_missing():
    X = np.array([[1, np.nan], [2, 5], [3, 7]], np.float32)
    transform = learned("standard", X, flags=True)
    assert transform.columns == 3
    new = torch.tensor([[np.nan, np.nan], [2.0, 6.0]])
    np.testing.assert_allclose(transform(new), [[0, 0, 1], [0, 0, 0]], atol=1e-6)


@pytest.mark.parametrize("kind", ["log1p", "quantile", "standard"])
def test_what_never_varied_is_not_looked_at(kind):
    """Its weights are as they were drawn; a new value must not move a score by them."""
    X = np.array([[1, 3, np.nan], [2, 3, np.nan], [4, 3, np.nan]], np.float32)
    transform = learned(kind, X)
    made = transform(torch.tensor([[1.0, -50.0, 1e30], [1.0, np.nan, np.nan]])).numpy()
    np.testing.assert_array_equal(made[:, 1:], 0)
    np.testing.assert_array_equal(transform.double()(torch.tensor([[1.0, 7.0, -2.0]]).double())[:, 1:], 0)


def test_no_transform_leaves_features_alone():
    X = np.array([[1, 200.0], [2, np.nan]], np.float32)
    np.testing.assert_array_equal(learned(None, X)(torch.from_numpy(X)), [[1, 200], [2, 0]])


def test_quantile_is_the_place_among_the_training_rows():
    X = np.exp(np.random.default_rng(0).normal(size=(1001, 1))).astype(np.float32)
    transform = learned("quantile", X)
    made = transform(torch.from_numpy(X)).numpy().ravel()
    place = np.argsort(np.argsort(X.ravel())) / 1000
    np.testing.assert_allclose(made, (place - 0.5) * np.sqrt(12), atol=0.03)
    beyond = transform(torch.tensor([[-5.0], [1e9]])).ravel()
    np.testing.assert_allclose(beyond, [made.min(), made.max()], atol=1e-6)
    tied = np.array([[0]] * 90 + [[1]] * 10, np.float32)
    made = learned("quantile", tied)(torch.from_numpy(tied)).ravel()
    assert len(made.unique()) == 2
    assert float(made.mean()) == pytest.approx(0, abs=1e-5)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.integers(1, 60))
def test_cuts_are_whole_lists_of_nearly_equal_size(lengths, documents):
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    found = cuts(offsets, documents)
    assert found[0] == 0
    assert found[-1] == len(lengths)
    assert all(a < b for a, b in pairwise(found))
    sizes = np.diff(offsets[found])
    assert sizes.max() <= documents + max(lengths)
    three = cuts(offsets, parts=3)
    assert len(three) == 4
    assert sorted(three) == three


@pytest.mark.parametrize("resident", [True, False])
def test_batches_hold_what_belongs_together(resident, monkeypatch):
    monkeypatch.setattr(_batches, "_fits", lambda rows, device: resident)
    monkeypatch.setattr(_batches, "at_once", lambda device: 20)
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 9, 30)
    n = int(lengths.sum())
    starts = np.cumsum(lengths) - lengths
    long = np.flatnonzero(lengths > 1)
    data = RankingDataset.from_groups(
        np.arange(n, dtype=np.float32)[:, None], np.arange(n), lengths, item_weight=np.arange(n) + 1.0,
        query_weight=np.arange(30) + 1.0, pairs=Pairs(starts[long], starts[long] + 1),
    )  # fmt: skip
    order = torch.from_numpy(rng.permutation(30))
    device_lists = DeviceLists(data, lambda X: 2 * X, CPU)
    for part in ((0, 1), (0, 2), (1, 2)):
        seen = []
        for batch in device_lists.epoch(order, 20, None, part):
            first = batch.offsets[:-1]
            np.testing.assert_array_equal(batch.Z[:, 0], 2 * batch.labels)
            np.testing.assert_array_equal(batch.weight, batch.labels + 1)
            chosen = np.searchsorted(starts, batch.labels[first].numpy())
            np.testing.assert_array_equal(batch.offsets.diff(), lengths[chosen])
            np.testing.assert_allclose(batch.query_weight, (chosen + 1) / 15.5)
            np.testing.assert_array_equal(
                batch.labels[batch.pairs.better], starts[chosen[lengths[chosen] > 1]]
            )
            np.testing.assert_array_equal(batch.pairs.worse, batch.pairs.better + 1)
            seen += chosen.tolist()
        if part == (0, 1):
            assert seen == order.tolist()
            halves = []
        else:
            halves += seen
    assert sorted(halves) == list(range(30))
    whole = torch.cat([Z for Z, _ in device_lists.in_order()])
    np.testing.assert_array_equal(whole[:, 0], 2 * data.y)


def test_rows_share_memory_without_a_warning():
    X = np.ones((2, 2), np.float32)
    X.setflags(write=False)
    assert rows_of(X).data_ptr() == X.ctypes.data


@settings(max_examples=100)
@given(ragged_lists(), st.sampled_from([None, 1, 3, 10]))
def test_ndcg_on_the_device_is_that_of_the_metrics(lists, k):
    scores, labels, offsets = lists
    gains = np.exp2(labels.astype(np.float64)) - 1
    made = device_ndcg(*(torch.from_numpy(a) for a in (scores, gains, offsets)), k)
    np.testing.assert_allclose(made, ndcg(scores, labels, offsets, k=k), rtol=1e-12)


def test_ndcg_on_the_device_with_weights():
    rng = np.random.default_rng(0)
    labels, weight = rng.integers(0, 3, 14).astype(np.float32), rng.random(14).astype(np.float32)
    scores, offsets = rng.normal(size=14), edges().numpy()
    gains = (np.exp2(labels.astype(np.float64)) - 1) * weight
    made = device_ndcg(*(torch.from_numpy(a) for a in (scores, gains, offsets)), 5)
    np.testing.assert_allclose(made, ndcg(scores, labels, offsets, k=5, weight=weight), rtol=1e-12)


@pytest.mark.parametrize("cross", [False, True])
def test_attention_is_that_of_one_list_at_a_time(cross):
    torch.manual_seed(0)
    scorer = Attention(Shape(4, (6, 8), "relu", 0.0, False), blocks=2, heads=2, cross=cross).double()
    Z, offsets = rows(), edges()
    made = scorer(Z, offsets).detach().numpy()
    for start, stop in pairwise(offsets):
        x = scorer.entry(Z[start:stop])
        for block in scorer.blocks:
            x = naive_block(block, x)
        x = scorer.norm(x)
        if cross:
            x = (1 + x) * scorer.tower(Z[start:stop])
        np.testing.assert_allclose(made[start:stop], scorer.head(x).detach().numpy().ravel(), rtol=1e-10)


def naive_block(block, x):
    """Attention by its formula: one head, one document at a time."""
    width = x.shape[1] // block.heads
    query, key, value = block.split(block.before(x)).chunk(3, dim=1)
    seen = []
    for i in range(len(x)):
        heads = []
        for h in range(block.heads):
            own = slice(h * width, (h + 1) * width)
            share = torch.softmax(key[:, own] @ query[i, own] / width**0.5, 0)
            heads.append(share @ value[:, own])
        seen.append(torch.cat(heads))
    x = x + block.join(torch.stack(seen))
    return x + block.feed(block.between(x))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_groupwise_is_the_mean_over_windows(size):
    torch.manual_seed(0)
    scorer = Groupwise(Shape(4, (8, 6), "tanh", 0.0, True), size=size, permutations=3).double().eval()
    Z, offsets = rows(), edges()
    made = scorer(Z, offsets).detach().numpy()
    query = torch.repeat_interleave(offsets.diff())
    place = torch.arange(len(Z)) - offsets[query]
    wanted = np.zeros(len(Z))
    weight, bias = scorer.parts.weight.view(size, 8, 4), scorer.parts.bias.view(size, 8)
    for order in scorer._orders(Z, query, place, 3):
        for start, stop in pairwise(offsets.tolist()):
            circle = order[start:stop].tolist()
            assert sorted(circle) == list(range(start, stop))
            for i in range(len(circle)):
                window = [circle[(i + j) % len(circle)] for j in range(size)]
                entry = sum(weight[j] @ Z[d] + bias[j] for j, d in enumerate(window))
                scores = scorer.head(scorer.rest(scorer.first(entry))).detach().numpy()
                for j, d in enumerate(window):
                    wanted[d] += scores[j] / (3 * size)
    np.testing.assert_allclose(made, wanted, rtol=1e-10)
    assert scorer.train()(Z, offsets).shape == (14,)


def test_gam_is_a_sum_of_small_networks():
    torch.manual_seed(0)
    scorer = GAM(Shape(3, (5, 4), "relu", 0.0, True)).double()
    torch.nn.init.ones_(scorer.level)
    Z = rows(features=3)
    wanted = np.ones(len(Z))
    for f in range(3):
        x = Z[:, [f]]
        for weight, level in zip(scorer.weights, scorer.levels, strict=True):
            x = torch.relu(x @ weight[f] + level[f])
        wanted += (x @ scorer.head[f]).detach().numpy().ravel()
    np.testing.assert_allclose(scorer(Z, edges()).detach(), wanted, rtol=1e-10)


def test_no_rows_no_scores():
    for scorer in (
        Attention(Shape(4, (8,), "relu", 0.0, False), blocks=1, heads=2, cross=False),
        Groupwise(Shape(4, (8,), "relu", 0.0, True), size=2, permutations=2),
        GAM(Shape(4, (8,), "relu", 0.0, True)),
    ):
        assert scorer(torch.zeros(0, 4), torch.tensor([0])).shape == (0,)


def test_nothing_is_freed_while_a_graph_is_captured():
    import gc

    from rankloop.rankers.neural.captured import nothing_freed

    freed = []

    class Cycle:
        def __init__(self):
            self.own = self

        def __del__(self):
            freed.append(1)

    usual = gc.get_threshold()
    gc.set_threshold(1)
    try:
        with nothing_freed():
            Cycle()
            kept = [[] for _ in range(1000)]
            assert not freed
        assert gc.isenabled()
        gc.collect()
        assert freed == [1]
    finally:
        gc.set_threshold(*usual)
    assert len(kept) == 1000
