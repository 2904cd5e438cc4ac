"""Estimators find the curve that made the clicks; the long version is benchmarks/propensity.py."""

import warnings

import numpy as np
import pytest

from rankloop.clicks import ClickLog, aggregate, simulate
from rankloop.clicks import user as user_named
from rankloop.data import RankingDataset, synthetic
from rankloop.propensity import (
    IdentifiabilityWarning,
    dual_learning,
    estimate,
    fair_pairs,
    harvest,
    pair_debias,
    randomized,
    regression_em,
    swap_intervention,
)

TRUTH = 1 / np.arange(1, 11)
EXPERIMENTS = {randomized: "shuffle", swap_intervention: "swap", fair_pairs: "fairpairs"}


@pytest.fixture(scope="module")
def data():
    return synthetic(n_queries=400, docs_per_query=15, n_features=8, seed=0)


@pytest.fixture(scope="module")
def weak(data):
    return data.y + 2 * np.random.default_rng(0).normal(size=len(data.y))


def surprise(curve, truth=TRUTH):
    """How many standard errors off, at worst."""
    off = np.abs(np.log(curve.values) - np.log(truth))[1:]
    return float(np.max(off / np.sqrt(np.diag(curve.log_covariance))[1:]))


@pytest.mark.parametrize("estimator", EXPERIMENTS)
def test_experiments(data, weak, estimator):
    log = simulate(
        data, logging_policy=weak, sessions=200_000, k=10, randomize=EXPERIMENTS[estimator], seed=1
    )
    curve = estimator(log)
    assert surprise(curve) < 4
    assert np.abs(curve.values / TRUTH - 1).max() < (0.05 if estimator is randomized else 0.15)
    assert estimate(log).method == curve.method == estimator.__name__


def test_adjacent_swaps_and_schemes(data, weak):
    log = simulate(data, logging_policy=weak, sessions=100_000, k=4, randomize="adjacent", seed=1)
    chain, everything = swap_intervention(log, scheme="chain"), swap_intervention(log)
    np.testing.assert_allclose(chain.values, everything.values)
    assert surprise(chain, TRUTH[:4]) < 4
    with pytest.raises(ValueError, match="connect no clicks at rank 3, 4"):
        swap_intervention(log, scheme="pivot")


@pytest.mark.parametrize("eta", [0.5, 1.0, 2.0])
def test_harvest(data, weak, eta):
    user = user_named("pbm", eta=eta)
    log = simulate(data, logging_policy=weak, user=user, sessions=100_000, k=10, temperature=2.0, seed=1)
    whole = harvest(log)
    assert surprise(whole, TRUTH**eta) < 4
    spread = {"allpairs": np.diag(whole.log_covariance)[-1]}
    for scheme in ("pivot", "chain"):
        curve = harvest(log, scheme=scheme)
        assert surprise(curve, TRUTH**eta) < 4
        spread[scheme] = np.diag(curve.log_covariance)[-1]
    assert spread["allpairs"] < min(spread["pivot"], spread["chain"])
    equal = harvest(log, weights="equal")
    assert surprise(equal, TRUTH**eta) < 4
    assert np.diag(equal.log_covariance)[-1] > spread["allpairs"]
    assert harvest(aggregate(log)).values == pytest.approx(whole.values)


def test_two_deterministic_rankers_are_enough(data):
    rng = np.random.default_rng(0)
    logs = [
        simulate(
            data,
            logging_policy=rng.normal(size=data.n_documents),
            sessions=50_000,
            k=5,
            seed=i,
            ranker=str(i),
        )
        for i in range(2)
    ]
    assert surprise(harvest(ClickLog.concat(logs)), TRUTH[:5]) < 4


def test_ranks_in_one_bucket_share_a_value(data, weak):
    log = simulate(data, logging_policy=weak, sessions=50_000, k=10, temperature=2.0, seed=1)
    curve, whole = harvest(log, buckets=(1, 2, 3, 5, 8)), harvest(log)
    steps = np.flatnonzero(np.diff(curve.values)) + 2
    assert steps.tolist() == [2, 3, 5, 8]
    np.testing.assert_allclose(curve.values[:2], TRUTH[:2], rtol=0.1)
    assert TRUTH[6] < curve.values[5] < TRUTH[4]
    assert curve.log_covariance[-1, -1] < whole.log_covariance[-1, -1]
    for wrong in ((2, 3), (1, 3), (1, 2, 2), (1, 2, 11)):
        with pytest.raises(ValueError, match="buckets are rising first ranks"):
            harvest(log, buckets=wrong)


def test_short_lists_do_not_flatter_the_first_ranks():
    """Long lists hold worse documents: by rank over all pages the curve would come out too steep."""
    rng = np.random.default_rng(0)
    lengths = np.where(np.arange(200) % 2, 2, 6)
    labels = np.where(np.repeat(lengths, lengths) == 2, 4, rng.integers(0, 2, lengths.sum()))
    data = RankingDataset.from_groups(np.zeros((lengths.sum(), 1)), labels, lengths)
    log = simulate(data, logging_policy=labels, sessions=60_000, k=6, randomize="shuffle", seed=0)
    rate = np.bincount(log.position - 1, log.click) / np.bincount(log.position - 1)
    assert rate[5] / rate[0] < 0.6 * TRUTH[5]
    assert surprise(randomized(log), TRUTH[:6]) < 4


@pytest.mark.filterwarnings("ignore::rankloop.propensity.TrustWarning")  # many runs: one in forty may
def test_intervals_cover(data, weak):
    inside = []
    for seed in range(40):
        log = simulate(data, logging_policy=weak, sessions=3000, k=5, randomize="shuffle", seed=seed)
        curve = randomized(log, resamples=300)
        inside.append((curve.low <= TRUTH[:5]) & (TRUTH[:5] <= curve.high))
    assert 0.88 <= np.mean(np.array(inside)[:, 1:]) <= 0.995  # 160 intervals; the benchmark has more


@pytest.mark.parametrize("estimator", [regression_em, dual_learning, pair_debias])
def test_joint_fits_under_a_random_logger(estimator):
    data = synthetic(n_queries=1000, docs_per_query=6, n_features=8, seed=0)
    random = np.random.default_rng(3).normal(size=data.n_documents)
    log = simulate(data, logging_policy=random, sessions=60_000, k=5, seed=0)
    options = {} if estimator is regression_em else {"resamples": 20}
    with warnings.catch_warnings():
        warnings.simplefilter("error", IdentifiabilityWarning)
        curve = estimator(log, data, **options)
    assert np.abs(curve.values / TRUTH[:5] - 1).max() < 0.1
    assert curve.identifiability.trusted


@pytest.mark.parametrize("estimator", [regression_em, dual_learning, pair_debias])
def test_joint_fits_warn_under_a_strong_logger(estimator):
    data = synthetic(n_queries=500, docs_per_query=12, n_features=8, seed=0)
    log = simulate(data, logging_policy=data.y, sessions=20_000, k=6, seed=0)
    options = {} if estimator is regression_em else {"resamples": 20}
    with pytest.warns(IdentifiabilityWarning, match="bias it by a factor of"):
        curve = estimator(log, data, **options)
    assert curve.values[-1] < 0.9 * TRUTH[5]  # relevance was taken for position
    assert not curve.identifiability.trusted
    assert len(curve.identifiability.fixes) == 5


def test_regression_em_is_the_maximum_that_em_approaches(data):
    """Twice as slow to write, a thousand times as slow to run: EM by its book, on the same design."""
    from rankloop.propensity.fitting.likelihood import JointLikelihood

    log = simulate(data, logging_policy=np.zeros(data.n_documents), sessions=5000, k=3, seed=0)
    cells = JointLikelihood(aggregate(log), data)
    point = cells.fit()
    slope = cells.score(point).sum(axis=0) - cells._prior() * point
    assert np.abs(slope).max() < 1e-2
    for k in range(len(point)):  # the score is the slope of the likelihood
        nudge = np.zeros(len(point))
        nudge[k] = 1e-5
        numeric = (cells._value(point + 0.1 + nudge) - cells._value(point + 0.1 - nudge)) / 2e-5
        exact = cells.score(point + 0.1).sum(axis=0)[k] - (cells._prior() * (point + 0.1))[k]
        assert numeric == pytest.approx(exact, rel=1e-4, abs=1e-3)
    width = cells.X.shape[1]
    relevance, p = cells._parts(point)  # a step of EM from the maximum does not move the curve
    seen = np.exp(np.append(0.0, point[width:]))[cells.rank]
    posterior = seen * (1 - relevance[cells.document]) / (1 - p)
    expected = cells.clicks + (cells.shown - cells.clicks) * posterior
    again = np.bincount(cells.rank, expected) / np.bincount(cells.rank, cells.shown)
    np.testing.assert_allclose(again[1:], np.exp(point[width:]), rtol=1e-3)
