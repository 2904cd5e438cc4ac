"""Lists of 20,000 documents in memory linear in their length."""

import tracemalloc

import numpy as np
import pytest

from rankloop.losses import loss

SHORT = ["lambdarank(truncation=10)", "lambdaloss(truncation=10)", "pirank(k=5)"]
LINEAR = ["hinge", "exponential", "listmle", "unique_softmax", "triplet", "softmax"]
SQUARE = ["ranknet", "approxndcg"]


@pytest.mark.parametrize("name", [*SHORT, *LINEAR, *SQUARE])
def test_twenty_thousand_documents(name):
    n = 20_000
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, n).astype(np.float32)
    scores = labels * 0.3 + rng.normal(size=n)
    loss(name)(scores[:100], labels[:100], [0, 100])  # compile first
    tracemalloc.start()
    result = loss(name)(scores, labels, [0, n])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.isfinite(result.value).all()
    assert np.isfinite(result.gradient).all()
    assert peak < 1000 * n  # n × n doubles would be 3.2 GB
