"""NeuralRanker: every scorer learns, and a list's order of rows never matters."""

from functools import partial

import numpy as np
import pytest

import members
from rankloop.data import Pairs, RankingDataset
from rankloop.metrics import metric
from rankloop.rankers import NeuralRanker as AnyNeuralRanker
from rankloop.rankers import load

torch = pytest.importorskip("torch")

NeuralRanker = partial(AnyNeuralRanker, device="cpu")  # what is exact there is close on CUDA

LOSSES = [one.__name__ for one in members.LOSSES]
SCORERS = ("attention", "gam", "groupwise", "mlp")
SMALL = {"attention": (32, 16), "gam": (16, 8), "groupwise": (64, 32), "mlp": (64, 32)}


def lists(lengths=(8, 3, 20, 1, 12), features=6, seed=0):
    """Grades that do not depend on the features: a network can only memorise them."""
    rng = np.random.default_rng(seed)
    rows = sum(lengths)
    return RankingDataset.from_groups(rng.normal(size=(rows, features)), rng.integers(0, 4, rows), lengths)


def quality(ranker, data, name="ndcg"):
    return np.nanmean(metric(name)(ranker.predict(data), data.y, data.offsets))


@pytest.mark.parametrize(
    ("loss", "wanted"), [("listnet", 0.97), ("lambdarank", 0.95), ("sigmoidcrossentropy", 0.9)]
)
@pytest.mark.parametrize("scorer", SCORERS)
def test_learns_exactly(scorer, loss, wanted):
    data = lists()
    ranker = NeuralRanker(scorer=scorer, loss=loss, hidden=SMALL[scorer], learning_rate=0.02, epochs=60)
    ranker.fit(data)
    assert quality(ranker, data) > wanted
    assert ranker.history_["loss"][-1] < ranker.history_["loss"][0]
    assert len(ranker.history_["loss"]) == ranker.n_iter_ == 60


@pytest.mark.parametrize("scorer", SCORERS)
def test_permuting_rows_permutes_scores(scorer):
    data = lists()
    ranker = NeuralRanker(scorer=scorer, hidden=SMALL[scorer], epochs=3).fit(data)
    scores = ranker.predict(data)
    mixed = np.random.default_rng(1).permutation(data.n_documents)
    again = ranker.predict(data.X[mixed], qid=data.row_qid[mixed])
    np.testing.assert_allclose(again, scores[mixed], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("scorer", SCORERS)
def test_a_list_is_scored_alike_in_any_company(scorer):
    data = lists()
    ranker = NeuralRanker(scorer=scorer, hidden=SMALL[scorer], epochs=3).fit(data)
    together = ranker.predict(data)
    alone = np.concatenate([ranker.predict(data.select([q])) for q in range(data.n_queries)])
    np.testing.assert_allclose(alone, together, rtol=1e-10, atol=1e-12)
    assert ranker.needs_lists == (scorer in ("attention", "groupwise"))
    if ranker.needs_lists:
        with pytest.raises(ValueError, match="scores a document by its list"):
            ranker.predict(data.X)


@pytest.mark.parametrize("scorer", SCORERS)
def test_load_gives_what_was_saved(scorer, tmp_path):
    data = lists()
    X = data.X.copy()
    X[::3, 1] = np.nan
    data = data.replace(X=X)
    ranker = NeuralRanker(
        scorer=scorer,
        hidden=SMALL[scorer],
        epochs=3,
        feature_transform="quantile",
        missing="flag",
        device="cpu",
    )
    ranker.fit(data).save(tmp_path / "model")
    again = load(tmp_path / "model")
    exact = not torch.cuda.is_available()
    np.testing.assert_allclose(again.predict(data), ranker.predict(data), rtol=0 if exact else 1e-4)
    assert again.history_ == ranker.history_
    assert again.module_.scorer.__class__ is ranker.module_.scorer.__class__


def test_latent_cross_and_dropout_and_noise_learn():
    data = lists()
    ranker = NeuralRanker(
        scorer="attention", hidden=(32, 16), latent_cross=True, dropout=0.1, noise=0.05, learning_rate=0.01
    )
    assert quality(ranker.fit(data), data) > 0.95


def test_mixed_precision_learns_about_the_same():
    data = lists()
    full, mixed = (
        NeuralRanker(hidden=(64, 32), learning_rate=0.01, precision=precision).fit(data)
        for precision in ("float32", "bf16")
    )
    assert quality(mixed, data) > 0.95
    assert mixed.history_["loss"][-1] == pytest.approx(full.history_["loss"][-1], rel=0.1)


def test_lists_of_two_thousand():
    data = lists(lengths=(2000, 1, 7))
    for scorer in ("attention", "groupwise"):
        ranker = NeuralRanker(
            scorer=scorer, hidden=(16, 8), heads=2 if scorer == "attention" else 4, epochs=2
        )
        assert np.isfinite(ranker.fit(data).predict(data)).all()


def test_contributions_add_up():
    data = lists()
    X = data.X.copy()
    X[::2, 3] = np.nan
    data = data.replace(X=X)
    ranker = NeuralRanker(scorer="gam", epochs=5, missing="flag").fit(data)
    parts = ranker.contributions(data)
    assert parts.shape == data.X.shape
    np.testing.assert_allclose(parts.sum(1), ranker.predict(data), rtol=1e-10)
    changed = data.X.copy()
    changed[:, 0] += 1
    other = ranker.contributions(changed)
    np.testing.assert_array_equal(other[:, 1:], parts[:, 1:])
    assert not np.allclose(other[:, 0], parts[:, 0])
    with pytest.raises(ValueError, match="use scorer='gam'"):
        NeuralRanker(epochs=1).fit(data).contributions(data)


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_trains_a_network(name):
    data = lists()
    ranker = NeuralRanker(loss=name, hidden=(16,), epochs=3).fit(data)
    assert np.isfinite(ranker.history_["loss"]).all()
    assert np.ptp(ranker.predict(data)) > 0


def test_explicit_pairs_decide():
    """Labels prefer a high feature, the pairs a low one: a pairwise loss follows the pairs."""
    X = np.linspace(-1, 1, 40)[:, None]
    qid = np.repeat(np.arange(4), 10)
    rows = np.arange(40).reshape(4, 10)
    pairs = Pairs(rows[:, :-1].ravel(), rows[:, 1:].ravel())
    data = RankingDataset(X, X[:, 0] > 0, qid, pairs=pairs)
    ranker = NeuralRanker(loss="ranknet", hidden=(16,), epochs=60, batch_lists=2).fit(data)
    assert np.corrcoef(ranker.predict(data), X[:, 0])[0, 1] < -0.8
    with pytest.raises(ValueError, match=r"listnet would ignore the pairs.*pairwise loss"):
        NeuralRanker(loss="listnet").fit(data)


def test_a_list_of_weight_two_is_a_list_seen_twice():
    data = lists()
    rows = np.concatenate((np.arange(8), np.arange(data.n_documents)))
    twice = RankingDataset.from_groups(data.X[rows], data.y[rows], [8, *data.lengths])
    weighed = data.replace(query_weight=[2.0, 1, 1, 1, 1])
    options = {
        "hidden": (16,),
        "epochs": 5,
        "optimizer": "sgd",
        "learning_rate": 0.01,
        "feature_transform": None,
    }
    first, second = (NeuralRanker(**options).fit(one).predict(data) for one in (twice, weighed))
    np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-5)


def test_item_weights_reach_the_loss():
    """Half of the relevant documents have a high feature, half a low one: the heavier ones win."""
    X = np.tile([[1.0], [-1.0], [0.0]], (10, 1))
    y = np.tile([1, 1, 0], 10)
    for heavy in (1, -1):
        weight = np.where(X[:, 0] == heavy, 5.0, 0.2)
        data = RankingDataset.from_groups(X, y, [3] * 10, item_weight=weight)
        ranker = NeuralRanker(loss="softmax", hidden=(16,), learning_rate=0.01).fit(data)
        assert ranker.rank([[1.0], [-1.0], [0.0]])[0] == (0 if heavy == 1 else 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scorer": "mpl"}, "unknown scorer 'mpl'; did you mean 'mlp'"),
        ({"loss": "lisnet"}, "did you mean 'listnet'"),
        ({"optimizer": "adamwd"}, "unknown optimizer 'adamwd'; did you mean 'adamw'"),
        ({"activation": "rely"}, "did you mean 'relu'"),
        ({"feature_transform": "log"}, "unknown feature_transform 'log'"),
        ({"precision": "fp16"}, "unknown precision 'fp16'"),
        ({"schedule": "linear"}, "unknown schedule"),
        ({"missing": "zero"}, "unknown missing 'zero'"),
        ({"hidden": (16, 0)}, "widths of the layers, each 1 or more"),
        ({"hidden": 16}, "widths of the layers, each 1 or more, got 16"),
        ({"scorer": "gam", "hidden": ()}, "needs a hidden layer"),
        ({"scorer": "attention", "hidden": (10,), "heads": 4}, "10 for 4 heads"),
        ({"heads": 2}, "heads is for scorer='attention' and the scorer 'mlp' would ignore it"),
        ({"scorer": "attention", "group_size": 3}, "group_size is for scorer='groupwise'"),
        ({"epochs": 0}, "epochs must be 1 or more, got 0"),
        ({"batch_lists": 0}, "batch_lists must be 1 or more, or None"),
        ({"batch_lists": 2, "batch_documents": 100}, "give one of them"),
        ({"dropout": 1.0}, "dropout must be from 0 to below 1"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"noise": -1.0}, "noise must be 0 or more"),
        ({"device": "gpu"}, "device is 'auto', 'cpu', 'cuda'"),
    ],
)
def test_bad_options_say_what_to_do(options, message):
    ranker = NeuralRanker(**options)
    with pytest.raises(ValueError, match=message):
        ranker.fit(lists())
    assert not ranker.__sklearn_is_fitted__()


def test_infinite_features_are_refused():
    data = lists()
    X = data.X.copy()
    X[3, 2] = np.inf
    with pytest.raises(ValueError, match="feature 2 of row 3 is inf"):
        NeuralRanker(epochs=1).fit(data.replace(X=X))
    with pytest.raises(ValueError, match="feature 2 of row 3 is inf"):
        NeuralRanker(epochs=1).fit(data).predict(X)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is CUDA here")
def test_cuda_that_is_not_there():
    with pytest.raises(ValueError, match="torch finds no CUDA; use device='auto' or 'cpu'"):
        NeuralRanker(device="cuda").fit(lists())
