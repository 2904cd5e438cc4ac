"""Synthetic sets: proportions, kinds of features, and how much there is to learn."""

import subprocess
import sys

import numpy as np
import pytest

from rankloop.data.synthetic import synthetic, synthetic_utility


def ndcg(scores, data, k=10):
    values = []
    for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        gain = 2 ** data.y[a:b] - 1
        order = np.argsort(-scores[a:b], kind="stable")[:k]
        discount = 1 / np.log2(np.arange(2, 2 + len(order)))
        best = np.sort(gain)[::-1][:k] @ discount
        if best > 0:
            values.append(gain[order] @ discount / best)
    return np.mean(values)


def test_grades_come_in_the_proportions_of_mslr():
    data = synthetic(n_queries=300, docs_per_query=50, n_features=5, seed=3)
    shares = np.bincount(data.y.astype(int)) / data.n_documents
    np.testing.assert_allclose(shares, [0.52, 0.32, 0.13, 0.02, 0.01], atol=2e-4)


def test_lists_vary_around_the_length_asked_for():
    lengths = synthetic(n_queries=2000, docs_per_query=40, n_features=1).lengths
    assert lengths.mean() == pytest.approx(40, rel=0.05)
    assert lengths.std() > 10
    assert synthetic(n_queries=50, docs_per_query=1, n_features=1).lengths.min() == 1


def test_same_seed_same_set_and_another_seed_another():
    first, again, other = (synthetic(20, 10, 15, seed=seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert first.n_documents != other.n_documents or not np.array_equal(first.y, other.y)


def test_features_are_heavy_tailed_missing_redundant_and_of_the_query():
    data = synthetic(n_queries=100, docs_per_query=40, n_features=60, seed=0)
    by_kind = {}
    for j, name in enumerate(data.feature_names):
        by_kind.setdefault(name.split("_")[0], []).append(j)
    heavy = data.X[:, by_kind["heavy"][0]]
    assert heavy.max() > 20 * np.median(heavy)
    assert 0.04 < np.isnan(data.X[:, by_kind["absent"]]).mean() < 0.6
    assert np.isfinite(np.delete(data.X, by_kind["absent"], axis=1)).all()
    copy = by_kind["copy"][0]
    assert np.corrcoef(data.X[:, copy], data.X[:, copy - 12])[0, 1] > 0.99
    query = data.X[:, by_kind["query"][0]]
    assert all(len(np.unique(query[a:b])) == 1 for a, b in zip(data.offsets, data.offsets[1:], strict=False))
    assert set(np.unique(data.X[:, by_kind["flag"][0]])) == {0.0, 1.0}


@pytest.mark.slow
def test_chance_then_linear_then_trees_then_the_truth():
    import lightgbm

    size = {"n_queries": 300, "docs_per_query": 40, "n_features": 30}
    train, test = synthetic(**size, seed=0), synthetic(**size, seed=1)
    clean = np.nan_to_num(train.X)
    mean, scale = clean.mean(0), clean.std(0)
    weights, *_ = np.linalg.lstsq((clean - mean) / scale, train.y - train.y.mean(), rcond=None)
    linear = ((np.nan_to_num(test.X) - mean) / scale) @ weights
    options = {"objective": "lambdarank", "num_threads": 1, "verbose": -1, "seed": 0}
    rows = lightgbm.Dataset(train.X, train.y, group=train.lengths)
    trees = lightgbm.train(options, rows, 80).predict(test.X)
    chance = np.random.default_rng(0).random(test.n_documents)
    truth = synthetic_utility(**size, seed=1)
    reached = [ndcg(scores, test) for scores in (chance, linear, trees, truth)]
    assert reached[0] < 0.35
    assert np.all(np.diff(reached) > [0.15, 0.03, 0.05]), reached


@pytest.mark.parametrize("name", ["n_queries", "docs_per_query", "n_features"])
def test_nothing_cannot_be_drawn(name):
    with pytest.raises(ValueError, match=f"{name} is at least 1, got 0"):
        synthetic(**{name: 0})


def test_it_loads_without_what_it_does_not_need():
    code = (
        "import sys\n"
        "for name in ('polars', 'rich', 'lightgbm', 'typer', 'zstandard', 'pandas', 'pyarrow'):\n"
        "    sys.modules[name] = None\n"
        "import rankloop.data as data\n"
        "made = data.synthetic(3, 5, 4)\n"
        "str(data.describe(made)), data.concat([made.select([0]), made.select([1])])\n"
        "data.judged(data.Run.from_dataset(made, made.y), data.Qrels.from_dataset(made))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
