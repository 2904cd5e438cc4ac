"""Trees that XGBoost grows on a GPU from our gradients; without one, the errors that say what is missing."""

import importlib.util

import numpy as np
import pytest

from rankloop.data import Pairs, synthetic
from rankloop.metrics import evaluate
from rankloop.rankers import LambdaMART, load


def _has_cuda():
    if importlib.util.find_spec("xgboost") is None or importlib.util.find_spec("torch") is None:
        return False
    import torch
    import xgboost

    return bool(xgboost.build_info().get("USE_CUDA")) and torch.cuda.is_available()


CUDA = _has_cuda()
on_cuda = pytest.mark.skipif(not CUDA, reason="needs a GPU, PyTorch and XGBoost built with CUDA")


def sets(n_queries=200, **options):
    return synthetic(n_queries=n_queries, docs_per_query=20, n_features=12, seed=1, **options).split(
        0.7, seed=0
    )


def coarse(data):
    """Few values of each feature, so that CPU and device cut it at the same places."""
    return data.replace(X=np.round(data.X * 4) / 4)


def both(**options):
    """The same trees grown on the CPU and on the device."""
    train, valid = options.pop("data", None) or sets()
    settings = {"backend": "xgboost", "trees": 30, "leaves": 15, "threads": 1} | options
    return [LambdaMART(**settings, device=device).fit(train, valid) for device in ("cpu", "cuda")], valid


def quality(ranker, data):
    return evaluate(ranker, data, ["ndcg@10"]).mean["ndcg@10"]


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "", "cpu:1"])
def test_an_unknown_device_is_refused(device):
    with pytest.raises(ValueError, match="device is 'cpu', 'cuda' or 'cuda:1'"):
        LambdaMART(backend="xgboost", device=device, trees=2).fit(sets()[0])


@pytest.mark.parametrize("backend", ["lightgbm", "catboost"])
def test_other_backends_say_that_they_have_no_device(backend):
    with pytest.raises(ValueError, match="is for backend='xgboost'"):
        LambdaMART(backend=backend, device="cuda", trees=2).fit(sets()[0])


@pytest.mark.skipif(CUDA, reason="for machines without CUDA")
def test_without_cuda_the_error_says_what_to_install():
    pytest.importorskip("xgboost")
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"XGBoost built with CUDA|torch finds no CUDA"):
        LambdaMART(backend="xgboost", device="cuda", trees=2).fit(sets()[0])


@on_cuda
@pytest.mark.parametrize(
    "loss",
    ["lambdagap", "lambdarank", "lambdaloss", "ranknet", "listnet", "xendcg", "approx_ndcg", "exponential"],
)
def test_trees_on_the_device_are_as_good_as_on_the_cpu(loss):
    (host, device), valid = both(loss=loss)
    assert quality(device, valid) == pytest.approx(quality(host, valid), abs=0.02)
    assert device.n_trees_ > 0


@on_cuda
def test_the_curve_is_the_metric_of_the_trees():
    train, valid = sets()
    ranker = LambdaMART(backend="xgboost", device="cuda", trees=25, leaves=15, patience=None).fit(
        train, valid
    )
    assert quality(ranker, valid) == pytest.approx(ranker.curve_.max(), abs=1e-6)


@on_cuda
def test_the_first_tree_is_the_same():
    (host, device), valid = both(data=[coarse(one) for one in sets()], trees=1, patience=None)
    assert np.abs(host.predict(valid) - device.predict(valid)).max() < 1e-4


@on_cuda
@pytest.mark.parametrize("loss", ["backend:rank:ndcg", "backend:rank:pairwise"])
def test_objectives_of_xgboost_run_there_too(loss):
    (host, device), valid = both(loss=loss)
    assert quality(device, valid) == pytest.approx(quality(host, valid), abs=0.03)


@on_cuda
def test_weights_and_pairs_and_bagging_are_honoured():
    train, valid = (coarse(one) for one in sets())
    rng = np.random.default_rng(0)
    weighted = train.replace(
        query_weight=rng.random(train.n_queries) + 0.1, item_weight=rng.random(train.n_documents) + 0.1
    )
    (host, device), _ = both(data=(weighted, valid), trees=1, patience=None, bagging_fraction=0.5)
    assert np.abs(host.predict(valid) - device.predict(valid)).max() < 1e-4
    first = train.offsets[:-1]
    pairs = Pairs(first, first + 1, np.ones(len(first)), np.ones(len(first)))
    (host, device), _ = both(data=(train.replace(pairs=pairs), valid), trees=1, patience=None, loss="ranknet")
    assert np.abs(host.predict(valid) - device.predict(valid)).max() < 1e-4


@on_cuda
def test_continued_and_saved(tmp_path):
    train, valid = sets()
    settings = {"backend": "xgboost", "device": "cuda", "leaves": 15, "patience": None}
    start = LambdaMART(**settings, trees=10).fit(train, valid)
    more = LambdaMART(**settings, trees=10, init=start).fit(train, valid)
    assert more.n_trees_ == 20
    assert quality(more, train) > quality(start, train)
    more.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.device == "cpu"
    assert np.array_equal(again.predict(valid), more.predict(valid))


@on_cuda
def test_missing_values_and_categories_take_the_same_way():
    train, valid = (coarse(one) for one in sets())
    X = train.X.copy()
    X[::3, 0] = np.nan
    X[:, 1] = np.arange(len(X)) % 7
    V = valid.X.copy()
    V[:, 1] = np.arange(len(V)) % 7
    data = (train.replace(X=X), valid.replace(X=V))
    (host, device), _ = both(data=data, trees=1, patience=None, categorical=[1])
    assert np.abs(host.predict(data[1]) - device.predict(data[1])).max() < 1e-4


@on_cuda
def test_too_little_memory_is_one_sentence(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device=None: (1_000, 2_000))
    with pytest.raises(ValueError, match="take fewer rows or features"):
        LambdaMART(backend="xgboost", device="cuda", trees=2).fit(sets()[0])
