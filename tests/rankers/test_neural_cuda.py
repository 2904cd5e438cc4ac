"""The same code on CUDA: close to the CPU, and the same bits every time."""

import numpy as np
import pytest

from rankloop.data import synthetic
from rankloop.rankers import NeuralRanker
from rankloop.rankers._objective import Objective

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no CUDA on this machine", allow_module_level=True)

from rankloop.rankers import _batches  # noqa: E402
from rankloop.rankers._batches import DeviceLists  # noqa: E402
from rankloop.rankers._device_metrics import quality_on  # noqa: E402

CUDA = torch.device("cuda")
SCORERS = ("attention", "gam", "groupwise", "mlp")


@pytest.fixture(scope="module")
def data():
    return synthetic(n_queries=60, docs_per_query=30, n_features=12, seed=0)


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize("scorer", SCORERS)
def test_same_bits_twice(scorer, precision, data):
    first, second = (
        NeuralRanker(scorer=scorer, epochs=3, device="cuda", precision=precision, dropout=0.1).fit(data)
        for _ in range(2)
    )
    assert first.history_ == second.history_
    np.testing.assert_array_equal(first.predict(data), second.predict(data))


@pytest.mark.parametrize("scorer", SCORERS)
def test_one_step_is_that_of_the_cpu(scorer, data):
    """All lists in one batch, so that the order in which they are drawn does not matter."""
    options = {"scorer": scorer, "epochs": 1, "batch_documents": 10**6}
    if scorer == "groupwise":
        options["group_size"] = 1  # larger groups are drawn at random
    there, here = (NeuralRanker(device=name, **options).fit(data) for name in ("cuda", "cpu"))
    assert there.history_["loss"] == pytest.approx(here.history_["loss"], rel=1e-5)
    np.testing.assert_allclose(there.predict(data), here.predict(data), rtol=1e-2, atol=1e-3)


def test_streamed_rows_are_resident_rows(data, monkeypatch):
    resident = NeuralRanker(epochs=2, device="cuda").fit(data, data)
    monkeypatch.setattr(_batches, "_fits", lambda rows, device: False)
    streamed = NeuralRanker(epochs=2, device="cuda").fit(data, data)
    np.testing.assert_array_equal(streamed.predict(data), resident.predict(data))


@pytest.mark.parametrize("name", ["ndcg@10", "ndcg", "ndcg(gain=linear)@3", "map", "arp"])
def test_quality_is_that_of_the_metrics(name, data):
    if name in ("ndcg@10", "ndcg"):
        data = data.replace(
            item_weight=np.linspace(0, 1, data.n_documents), query_weight=np.linspace(0, 1, data.n_queries)
        )
    scores = np.round(np.random.default_rng(0).normal(size=data.n_documents), 1)
    lists = DeviceLists(data, lambda X: X, CUDA)
    reached = quality_on(lists, name)(torch.from_numpy(scores).to(CUDA))
    assert reached == pytest.approx(Objective.of(name, data)(scores), rel=1e-12)


def test_a_list_of_two_thousand():
    data = synthetic(n_queries=3, docs_per_query=2000, n_features=5, seed=0)
    ranker = NeuralRanker(scorer="attention", epochs=2, device="cuda", precision="bf16").fit(data)
    assert np.isfinite(ranker.predict(data)).all()
