"""Networks learn from the same corrections as trees: the data set of any of them trains a NeuralRanker."""

import numpy as np
import pytest

from rankloop.clicks import TrustPBM, World
from rankloop.metrics import ndcg
from rankloop.rankers import NeuralRanker
from rankloop.unbiased import affine, doubly_robust, goals, ips, naive, policy_aware

pytest.importorskip("torch")

THETA = 1.0 / np.arange(1, 11)


@pytest.fixture(scope="module")
def drawn():
    return World(
        utility="linear", queries=200, sessions=8000, documents=12, features=6, loggers=(0.1,), seed=3
    ).draw()


def network(loss="softmax", seed=0):
    return NeuralRanker(hidden=(16,), loss=loss, epochs=12, learning_rate=0.01, threads=1, seed=seed)


def quality(ranker, test):
    return float(np.nanmean(ndcg(ranker.predict(test), test.y, test.offsets, k=10)))


CORRECTIONS = {
    "ips": lambda log, data: ips(log, THETA, data),
    "policy_aware": lambda log, data: policy_aware(log, THETA, data),
    "doubly_robust": lambda log, data: doubly_robust(
        log, THETA, data, relevance=np.full(data.n_documents, 0.2)
    ),
    "affine": lambda log, data: affine(
        log, TrustPBM(relevant=THETA, other=0.1 * THETA, attraction=0.5), data
    ),
    "goals": lambda log, data: goals(log, THETA, data, {"click": 1.0}),
}


@pytest.mark.parametrize("name", CORRECTIONS)
def test_a_corrected_log_is_better_than_clicks_at_their_word(drawn, name):
    data = drawn.train.replace(y=np.zeros(drawn.train.n_documents))
    word = quality(network().fit(naive(drawn.log, data)), drawn.test)
    assert quality(network().fit(CORRECTIONS[name](drawn.log, data)), drawn.test) > word + 0.02


def test_weights_of_queries_and_documents_count(drawn):
    """A document with item weight 2 pulls as much as one with twice the label, in networks as in trees."""
    data = drawn.train.replace(y=np.zeros(drawn.train.n_documents))
    labels = ips(drawn.log, THETA, data)
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, labels.n_documents).astype(np.float32)
    heavy = labels.replace(item_weight=weight)
    double = labels.replace(y=labels.y * weight)
    one, two = (network().fit(some).predict(drawn.test) for some in (heavy, double))
    np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-3)
    plain = network().fit(labels).predict(drawn.test)
    assert np.abs(plain - one).max() > 1e-3
