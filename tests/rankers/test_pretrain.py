"""Pretraining without labels: the loss by the formula, and what goes on from it."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.data import RankingDataset, synthetic
from rankloop.rankers import NeuralRanker, load, pretrain

torch = pytest.importorskip("torch")

from rankloop.rankers.neural.simclr import contrast  # noqa: E402 - needs torch


def naive_contrast(one, two, edges, temperature):
    lists = []
    for low, high in pairwise(edges):
        total = 0.0
        for i in range(low, high):
            cosines = [
                one[i] @ two[j] / np.sqrt((one[i] @ one[i]) * (two[j] @ two[j])) for j in range(low, high)
            ]
            warm = np.exp(np.array(cosines) / temperature)
            total -= np.log(warm[i - low] / warm.sum())
        lists.append(total / (high - low))
    return np.mean(lists)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(0, 999))
def test_the_loss_is_the_formula(lengths, seed):
    rng = np.random.default_rng(seed)
    one, two = rng.normal(size=(2, sum(lengths), 4))
    edges = np.concatenate(([0], np.cumsum(lengths)))
    found = contrast(torch.tensor(one), torch.tensor(two), edges, 0.5).item()
    assert found == pytest.approx(naive_contrast(one, two, edges.tolist(), 0.5), rel=1e-9)


def test_the_loss_falls_below_that_of_chance():
    data = synthetic(n_queries=60, docs_per_query=10, n_features=8, seed=0)
    base = pretrain(NeuralRanker(hidden=(32, 16), device="cpu"), data, epochs=20, lists=8)
    losses = base.history_["loss"]
    assert losses[-1] < 0.8 * losses[0]
    assert losses[-1] < np.log(10)
    same = pretrain(NeuralRanker(hidden=(32, 16), device="cpu"), data, epochs=20, lists=8)
    np.testing.assert_array_equal(base.predict(data), same.predict(data))


def test_labels_are_not_read():
    data = synthetic(n_queries=10, docs_per_query=6, n_features=4, seed=0)
    bases = [
        pretrain(NeuralRanker(hidden=(8,), device="cpu"), one, epochs=2)
        for one in (data, data.replace(y=np.zeros(data.n_documents)))
    ]
    np.testing.assert_array_equal(bases[0].predict(data), bases[1].predict(data))


def test_a_network_goes_on_from_init(tmp_path):
    data = synthetic(n_queries=40, docs_per_query=8, n_features=6, seed=0)
    base = pretrain(NeuralRanker(hidden=(16,), device="cpu"), data, epochs=3)
    settings = {"hidden": (16,), "device": "cpu", "epochs": 1, "init": base}
    still = NeuralRanker(learning_rate=1e-12, **settings).fit(data)
    np.testing.assert_allclose(still.predict(data), base.predict(data), rtol=1e-4, atol=1e-6)
    for loss in ("listnet", "sigmoidcrossentropy"):  # the second one adds a level to the scores
        moved = NeuralRanker(loss=loss, learning_rate=1e-2, **settings).fit(data)
        assert not np.allclose(moved.predict(data), base.predict(data))
        moved.save(tmp_path / "model")
        np.testing.assert_array_equal(load(tmp_path / "model").predict(data), moved.predict(data))


def test_what_does_not_fit_is_refused():
    data = synthetic(n_queries=10, docs_per_query=6, n_features=4, seed=0)
    base = pretrain(NeuralRanker(hidden=(8,), device="cpu"), data, epochs=1)
    with pytest.raises(ValueError, match="another scorer or other widths"):
        NeuralRanker(hidden=(9,), init=base, device="cpu").fit(data)
    fewer = data.replace(X=data.X[:, :3], feature_names=None)
    with pytest.raises(ValueError, match="trained on 4 features and the data have 3"):
        NeuralRanker(hidden=(8,), init=base, device="cpu").fit(fewer)
    with pytest.raises(ValueError, match="scorer='mlp'"):
        pretrain(NeuralRanker(scorer="attention"), data)
    with pytest.raises(ValueError, match="hidden in"):
        pretrain(NeuralRanker(hidden=(8,)), data, hidden=1.0)
    alone = RankingDataset(np.zeros((3, 2)), [0, 1, 0], [1, 2, 3])
    with pytest.raises(ValueError, match="no list has two"):
        pretrain(NeuralRanker(hidden=(8,), device="cpu"), alone)
