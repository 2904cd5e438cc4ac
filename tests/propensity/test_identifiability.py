"""What the report says, and whether it is true."""

import warnings

import numpy as np
import pytest

from rankloop.clicks import PBM, ClickLog, aggregate, simulate
from rankloop.data import RankingDataset, synthetic
from rankloop.data.synthetic import synthetic_utility
from rankloop.propensity import (
    Identifiability,
    IdentifiabilityWarning,
    harvest,
    identifiability,
    plan_swaps,
    randomized,
    regression_em,
    swap_intervention,
)
from rankloop.propensity.fitting.likelihood import JointLikelihood


@pytest.fixture(scope="module")
def data():
    return synthetic(n_queries=300, docs_per_query=10, n_features=6, seed=0)


def test_one_ranking_per_query_ties_nothing(data):
    report = identifiability(simulate(data, logging_policy=data.y, sessions=5000, k=4))
    assert report.groups == ((1,), (2,), (3,), (4,))
    assert report.edges == ()
    assert report.standard_error == (0.0, None, None, None)
    assert not report.trusted
    assert "no document connects" in report.warnings[0]
    assert [(one.low, one.high) for one in report.fixes] == [(1, 2), (1, 3), (1, 4)]


def test_edges_by_hand():
    """Document a is shown twice at rank 1 and once at rank 2; b at ranks 1 and 2; c stays at 3."""
    log = ClickLog(
        np.repeat([1, 2, 3], 3), ["q"] * 9, list("abcabcbac"), [1, 2, 3] * 3, [1, 0, 0, 0, 1, 0, 1, 0, 1]
    )
    report = identifiability(log)
    assert report.groups == ((1, 2), (3,))
    (edge,) = report.edges
    assert (edge.low, edge.high, edge.documents) == (1, 2, 2)
    assert edge.swaps == pytest.approx(2 * 1 / 3 + 1 * 2 / 3)


def test_expected_errors_are_those_of_the_bootstrap(data):
    log = simulate(data, logging_policy=data.y, sessions=60_000, k=6, temperature=2.0, seed=0)
    expected = np.array(identifiability(log).standard_error[1:])
    found = np.sqrt(np.diag(harvest(log).log_covariance))[1:]
    np.testing.assert_allclose(expected, found, rtol=0.35)


def test_fixes_are_enough(data):
    """Add the swaps that the report asks for, and it is content."""
    shown = data.y + np.random.default_rng(0).normal(size=data.n_documents)
    log = simulate(data, logging_policy=shown, sessions=3000, k=4, seed=0)
    fixes = identifiability(log).fixes
    pages = 3 * max(one.sessions for one in fixes)
    log = ClickLog.concat(
        [log, simulate(data, logging_policy=shown, sessions=pages, k=4, randomize="swap", seed=1)]
    )
    after = identifiability(log)
    assert after.connected
    assert max(after.standard_error) < 0.15


def test_features_that_tell_ranks_apart(data):
    strong = identifiability(simulate(data, logging_policy=data.X[:, 0], sessions=20_000, k=8), data)
    random = np.random.default_rng(0).normal(size=data.n_documents)
    even = identifiability(simulate(data, logging_policy=random, sessions=20_000, k=8), data)
    assert min(strong.overlap) < 0.3 < 0.8 < min(even.overlap)
    assert strong.overlap[0] == even.overlap[0] == 1
    assert even.shift[0] == 0
    assert "features separate documents" in " ".join(strong.warnings)


def test_report_reads_and_travels(data):
    report = identifiability(simulate(data, logging_policy=data.y, sessions=3000, k=3), data)
    assert "do not trust" in repr(report)
    assert "swap ranks 1 and 2 on" in repr(report)
    assert Identifiability.from_dict(report.to_dict()).to_dict() == report.to_dict()
    log = simulate(data, logging_policy=data.y, sessions=50_000, k=3, temperature=2.0)
    assert "can be trusted" in repr(identifiability(aggregate(log)))


def test_empty():
    empty = ClickLog([], [], [], [], [])
    for function in (identifiability, harvest):
        with pytest.raises(ValueError, match="the log is empty"):
            function(empty)


def test_plan_by_hand():
    plan = plan_swaps([0.5, 0.25], precision=0.196)  # variance (1 + 3) / n = (0.196 / 1.96)^2
    assert plan.sessions == pytest.approx(400, abs=1)
    chain = plan_swaps([0.5, 0.5, 0.5], precision=0.196, design="adjacent")
    assert [one.sessions for one in chain.swaps] == pytest.approx([400, 400], abs=1)  # 2 / 400 + 2 / 400
    assert plan_swaps([0.5, 0.5, 0.5], precision=0.196, design="fairpairs").sessions == pytest.approx(
        800, abs=2
    )
    assert plan_swaps([0.5, 0.25, 0.5], precision=0.196, design="shuffle").sessions == plan.sessions


@pytest.mark.parametrize(("design", "estimator"), [("swap", swap_intervention), ("shuffle", randomized)])
def test_a_plan_keeps_its_promise(data, design, estimator):
    shown = data.y + 2 * np.random.default_rng(0).normal(size=data.n_documents)
    first = simulate(data, logging_policy=shown, sessions=20_000, k=4, seed=0)
    plan = plan_swaps(first, precision=0.1, design=design)
    # the simulator divides swaps evenly: as many pages for each as the largest
    pages = plan.sessions if design == "shuffle" else 3 * max(one.sessions for one in plan.swaps)
    curve = estimator(simulate(data, logging_policy=shown, sessions=pages, k=4, randomize=design, seed=1))
    assert np.log(curve.high / curve.values).max() < 0.11


@pytest.mark.parametrize(
    ("rates", "options", "message"),
    [
        ([0.5], {}, "two ranks or more"),
        ([0.5, 0.0], {}, "above 0"),
        ([0.5, 0.2], {"precision": 0}, "precision is a share"),
        ([0.5, 0.2], {"design": "swaps"}, "did you mean 'swap'"),
    ],
)
def test_plan_mistakes(rates, options, message):
    with pytest.raises(ValueError, match=message):
        plan_swaps(rates, **options)


def test_missing_features_do_no_harm():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:, 1] = np.nan
    X[::2, 2] = np.nan
    data = RankingDataset.from_groups(X, rng.integers(0, 5, 300), np.full(60, 5))
    report = identifiability(simulate(data, logging_policy=X[:, 0], sessions=3000, k=3), data)
    assert np.all(np.isfinite(report.overlap))
    assert np.all(np.isfinite(report.bias))


@pytest.mark.parametrize(("strength", "trusted"), [(0.0, True), (0.5, False), (1.0, False)])
def test_the_error_of_a_joint_fit_is_foretold(strength, trusted):
    """The logger knows the utility that features show dimly: the curve is off by what the report says."""
    data = synthetic(1000, 15, 10, seed=0)
    utility = synthetic_utility(1000, 15, 10, seed=0)
    noise = np.random.default_rng(1).normal(size=len(utility))
    shown = strength * utility / utility.std() + (1 - strength) * noise
    log = simulate(data, logging_policy=shown, sessions=60_000, k=8, seed=1)
    report = identifiability(log, data)
    assert report.trusted is trusted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifiabilityWarning)
        curve = regression_em(log, data, resamples=50)
    off = abs(np.log(curve.values[-1] * 8))
    assert off < 0.1 if trusted else 0.5 < report.bias[-1] / off < 2


def test_a_feature_that_shows_everything_leaves_nothing_hidden():
    labels = np.tile(np.arange(5), 200).astype(float)
    data = RankingDataset.from_groups(labels[:, None], labels, np.full(200, 5))
    user = PBM(examination=1 / np.arange(1, 4), attraction=[0.1, 0.2, 0.35, 0.5, 0.7])
    random = np.random.default_rng(0).normal(size=1000)
    report = identifiability(simulate(data, logging_policy=random, user=user, sessions=40_000, k=3), data)
    assert report.explained > 0.9
    assert max(report.bias) < 0.02


def test_what_is_absorbed_beside_fitting_again():
    """A small change of one theta, all else fitted again by plain Newton steps."""
    data = synthetic(40, 6, 3, seed=2)
    log = simulate(data, logging_policy=data.X[:, 0], sessions=20_000, k=4, temperature=1.0, seed=2)
    joint = JointLikelihood(aggregate(log), data)
    point = joint.fit()
    best, information = joint._value(point), joint.information(point)
    for rank, share in enumerate(joint.absorbed(point)[1:]):
        at = joint.X.shape[1] + rank
        others = np.delete(np.arange(len(point)), at)
        moved = point.copy()
        moved[at] += 0.02
        held = best - joint._value(moved)
        for _ in range(5):
            slope = joint.score(moved).sum(axis=0) - joint._prior() * moved
            moved[others] += np.linalg.solve(information[np.ix_(others, others)], slope[others])
        assert 1 - (best - joint._value(moved)) / held == pytest.approx(share, abs=0.05)


def test_a_feature_that_is_the_rank_absorbs_everything():
    order = np.tile(np.arange(4.0), 300)
    noise = np.random.default_rng(0).normal(size=(1200, 1))
    grades = np.random.default_rng(1).integers(0, 5, 1200)
    absorbed = {}
    for name, X in {"rank": -np.log1p(order)[:, None], "noise": noise}.items():
        data = RankingDataset.from_groups(X, grades, np.full(300, 4))
        log = simulate(data, logging_policy=-order, sessions=30_000, k=4, seed=1)
        absorbed[name] = identifiability(log, data).absorbed
    assert min(absorbed["rank"][1:]) > 0.9
    assert max(absorbed["noise"][1:]) < 0.7
    assert absorbed["rank"][0] == 0
