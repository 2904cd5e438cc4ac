"""Networks on the likelihood of clicks, on CUDA: close to those of the CPU, and the same bits every time."""

import numpy as np
import pytest

from rankloop.clicks import simulate
from rankloop.data import synthetic
from rankloop.unbiased.estimation import networks
from rankloop.unbiased.estimation.evidence import evidence

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no CUDA on this machine", allow_module_level=True)


def test_networks_learn_from_clicks_on_the_device(monkeypatch):
    data = synthetic(n_queries=60, docs_per_query=10, n_features=5, seed=0)
    log = simulate(data, logging_policy=data.X[:, 0], sessions=20_000, seed=0)
    seen = evidence(log, 1.0 / np.arange(1, 11), data)
    features = np.array([True, True, True, True, False])

    def network():
        return networks._network(seen, seen.shown, "standard", 1, features, 0, networks.Training(20, 400))

    first, second = network(), network()
    assert first.module_.transform.mean.is_cuda
    np.testing.assert_array_equal(first.predict(data), second.predict(data))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    here = network()
    assert not here.module_.transform.mean.is_cuda
    assert (
        np.corrcoef(here.predict(data), first.predict(data))[0, 1] > 0.95
    )  # batches are drawn in another order
