"""Online learners that move a network."""

import numpy as np
import pytest

from rankloop.data import RankingDataset
from rankloop.online import DBGD, PDGD
from rankloop.rankers import NeuralRanker, RankSVM


def features():
    random = np.random.default_rng(0)
    return RankingDataset(random.normal(size=(300, 4)), np.zeros(300), np.repeat(np.arange(10), 30))


def network(**options):
    return NeuralRanker(hidden=(8,), feature_transform="standard", seed=0, **options)


def taught(learner, pages, wanted):
    """People want documents for which `wanted` holds."""
    random = np.random.default_rng(1)
    for _ in range(pages):
        X = random.normal(size=(12, 4)).astype(np.float32)
        page = learner.rank(X, k=6)
        learner.learn(page, wanted(X[page.shown]))
    return learner


def test_a_network_learns_what_no_weighted_sum_can():
    """People want small |x|: of 12 candidates the three nearest to zero, which is not linear in x."""
    learner = taught(
        PDGD(network(), features=features(), learning_rate=0.3, seed=0),
        1500,
        lambda X: np.abs(X[:, 0]) < 0.35,
    )
    random = np.random.default_rng(2)
    hits = []
    for _ in range(200):
        X = random.normal(size=(12, 4)).astype(np.float32)
        hits.append(np.abs(X[learner.predict(X).argmax(), 0]) < 0.35)
    assert np.mean(hits) > 0.6  # a random document is wanted in 27 %


def test_the_gradient_is_the_derivative():
    learner = PDGD(network(), features=features(), seed=0)
    model = learner.model
    X = np.random.default_rng(3).normal(size=(5, 4)).astype(np.float32)
    shown, gradient = np.array([3, 0]), np.array([0.7, -0.2])
    got = model.pull_back(X, shown, gradient)
    start = model.parameters.copy()
    for at in np.random.default_rng(4).choice(len(start), 10, replace=False):
        up, down = start.copy(), start.copy()
        up[at] += 1e-5
        down[at] -= 1e-5
        difference = (model.scores(X, up) - model.scores(X, down))[shown] @ gradient / 2e-5
        assert got[at] == pytest.approx(difference, abs=1e-7)


def test_resumed_networks_go_on_exactly(tmp_path):
    def wanted(X):
        return X[:, 1] > 0.5

    whole = taught(PDGD(network(), features=features(), seed=5), 20, wanted)
    whole.save(tmp_path / "learner.zip")
    again = PDGD(network(), features=features(), seed=77)
    again.load(tmp_path / "learner.zip")
    first, second = taught(whole, 10, wanted), taught(again, 10, wanted)
    assert np.array_equal(first.model.parameters, second.model.parameters)


def test_a_dueling_network_moves_towards_winners():
    learner = taught(DBGD(network(), features=features(), seed=0), 60, lambda X: X[:, 1] > 0.5)
    assert np.isfinite(learner.model.parameters).all()
    assert learner.pages == 60


def test_what_was_learned_is_a_ranker(tmp_path):
    learner = taught(PDGD(network(), features=features(), seed=0), 30, lambda X: X[:, 1] > 0.5)
    X = np.random.default_rng(6).normal(size=(9, 4)).astype(np.float32)
    assert learner.ranker.predict(X) == pytest.approx(learner.predict(X), abs=1e-5)
    again = PDGD(learner.ranker, seed=0)
    assert again.predict(X) == pytest.approx(learner.predict(X), abs=1e-5)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="needs its features"):
        PDGD(network())
    with pytest.raises(ValueError, match="got RankSVM; to choose between rankers use Thompson"):
        PDGD(RankSVM())
    with pytest.raises(ValueError, match="has 4 features, got 3"):
        PDGD(network(), features=features()).rank(np.zeros((5, 3)))
