"""A learner changes its policy with every page; what its log teaches stays right."""

import numpy as np

from rankloop.clicks import ClickLog, TrustPBM
from rankloop.data import RankingDataset
from rankloop.online import PDGD
from rankloop.rankers.linear_ranker import LinearRanker
from rankloop.unbiased import display_probability, intervention_aware

_DOCUMENTS, _K, _PAGES = 6, 3, 6_000
_TRUTH = np.array([0.1, 0.3, 0.5, 0.2, 0.9, 0.4])
_SEEN, _TRUST = np.array([1.0, 0.6, 0.3]), np.array([0.1, 0.05, 0.02])


def _served(seed):
    """Pages that PDGD showed while it learned, their clicks, and each row's mean chance at each rank."""
    random = np.random.default_rng(seed)
    X = np.eye(_DOCUMENTS, dtype=np.float32)
    learner = PDGD(LinearRanker(), learning_rate=0.1, seed=seed)
    learner.rank(X, k=_K)  # one page makes its weights
    shown, clicks = [], []
    display, last = np.zeros((_DOCUMENTS, _K)), np.zeros((_DOCUMENTS, _K))
    for page in range(_PAGES):
        if page % 200 == 0:  # the policy drifts slowly: its chances at every 200th page stand for the rest
            last = display_probability(X @ learner.model.parameters, [0, _DOCUMENTS], k=_K, samples=400)
        display += last / _PAGES
        made = learner.rank(X, k=_K)
        clicked = random.random(_K) < _SEEN * _TRUTH[made.shown] + _TRUST * (1 - _TRUTH[made.shown])
        learner.learn(made, clicked)
        shown.append(made.shown)
        clicks.append(clicked)
    rows = np.concatenate(shown)
    page = np.repeat(np.arange(_PAGES), _K)
    positions = np.tile(np.arange(1, _K + 1), _PAGES)
    log = ClickLog(page, np.zeros(len(rows), np.int64), rows, positions, np.concatenate(clicks))
    return RankingDataset(X, np.zeros(_DOCUMENTS), np.zeros(_DOCUMENTS, np.int64)), log, display, last


def test_relevance_from_a_learners_own_log_is_unbiased():
    """Mean of ten runs within three standard errors of the truth, and within 0.02 of it."""
    user = TrustPBM(relevant=_SEEN.tolist(), other=_TRUST.tolist(), attraction=0.5)
    by_log, by_chance, by_last = [], [], []
    for seed in range(10):
        data, log, display, last = _served(seed)
        by_log.append(intervention_aware(log, user, data).y)
        by_chance.append(intervention_aware(log, user, data, display=display).y)
        by_last.append(intervention_aware(log, user, data, display=last).y)
    for found in (by_log, by_chance):
        error = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
        assert np.all(np.abs(np.mean(found, axis=0) - _TRUTH) < 3 * error + 0.02)
    # The policy of the last day alone is another one: documents it no longer shows look far too good.
    assert np.abs(np.mean(by_last, axis=0) - _TRUTH).max() > 0.1
