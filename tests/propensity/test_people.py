"""Intervals where a few people make most of the pages, and each reads in a way of its own."""

import warnings

import numpy as np
import pytest

from rankloop.clicks import ClickLog, simulate
from rankloop.data import synthetic
from rankloop.propensity import (
    Propensity,
    contextual,
    drift,
    fair_pairs,
    harvest,
    randomized,
    regression_em,
    swap_intervention,
)
from rankloop.propensity.fitting.people import effective_people, left_out, wider


def crowded(seed, *, design="shuffle", heavy=12, light=200):
    """`heavy` people with 100 pages each, who read to a depth of their own, and as many pages of others."""
    rng = np.random.default_rng(seed)
    person = rng.permutation(np.concatenate([np.repeat(np.arange(heavy), 100), heavy + np.arange(light)]))
    query = rng.integers(0, 40, len(person))
    gamma = np.random.default_rng(0).beta(1, 2, (40, 3))
    order = np.argsort(rng.random((len(person), 3)), axis=1)
    name = np.full(len(person), "shuffle 3")
    if design != "shuffle":
        order = np.tile(np.arange(3), (len(person), 1))
        turn = rng.random(len(person)) < 0.5
        order[turn] = [1, 0, 2]
        name = np.full(len(person), "fairpairs odd" if design == "fairpairs" else "swap 1-2")
    eta = rng.lognormal(0, 0.6, heavy + light)[person]
    seen = np.arange(1, 4.0) ** -eta[:, None] * gamma[query[:, None], order]
    rows = np.repeat(np.arange(len(person)), 3)
    return ClickLog(
        rows, query[rows], (3 * query[:, None] + order).ravel(), np.tile([1, 2, 3], len(person)),
        (rng.random(seen.shape) < seen).ravel().astype(np.int8), user=person[rows],
        intervention=name[rows], original_position=(order + 1).ravel(),
    )  # fmt: skip


def without_users(log):
    return ClickLog(
        log.session, log.query, log.document, log.position, log.click,
        intervention=np.repeat(log.page_intervention.values, log.lengths),
        original_position=log.original_position,
    )  # fmt: skip


@pytest.mark.parametrize("estimator", [randomized, harvest])
def test_people_who_read_their_own_way_widen_the_interval(estimator):
    log = crowded(1)
    known, unknown = estimator(log), estimator(without_users(log))
    assert known.values == pytest.approx(unknown.values)
    assert np.log(known.high / known.low)[-1] > 1.5 * np.log(unknown.high / unknown.low)[-1]
    assert known.units < 30
    assert f"tell as much as {known.units:.0f} equally active ones): the interval is rough" in repr(known)
    assert "few people or queries" not in repr(unknown)


@pytest.mark.parametrize(("design", "estimator"), [("swap", swap_intervention), ("fairpairs", fair_pairs)])
def test_every_experiment_knows_people(design, estimator):
    log = crowded(2, design=design)
    known, unknown = estimator(log, depth=2), estimator(without_users(log), depth=2)
    assert known.values == pytest.approx(unknown.values)
    assert np.log(known.high / known.low)[-1] > 1.2 * np.log(unknown.high / unknown.low)[-1]


def test_one_page_of_each_person_changes_little():
    log = crowded(3, heavy=0, light=2000)
    known, unknown = harvest(log), harvest(without_users(log))
    assert np.log(known.high / known.low)[-1] < 1.5 * np.log(unknown.high / unknown.low)[-1]


def test_the_number_of_people_by_hand():
    """Pages 3, 1, 1, 1: 36 / 12 = 3 people with equally many."""
    log = ClickLog(np.arange(6), ["q"] * 6, ["d"] * 6, [1] * 6, [0] * 6, user=list("aaabcd"))
    assert effective_people(log) == pytest.approx(3.0)
    groups = np.array(list(left_out(log, seed=0)))
    assert groups.shape == (4, 6)
    assert (groups.sum(axis=0) == 1).all()
    assert sorted(groups.sum(axis=1).tolist()) == [1, 1, 1, 3]


def test_the_wider_of_two():
    narrow, wide = (Propensity(np.ones(2), np.ones(2) / w, np.ones(2) * w, str(w)) for w in (1.1, 1.5))
    assert wider(narrow, wide) is wide
    assert wider(wide, narrow) is wide


def test_estimators_that_know_only_queries_say_it():
    log = crowded(4)
    with pytest.warns(RuntimeWarning, match="few people made most of the pages"):
        contextual(log, np.zeros(log.n_pages))
    data = synthetic(n_queries=200, docs_per_query=4, n_features=3, seed=0)
    plain = simulate(data, logging_policy=np.zeros(len(data.y)), sessions=4000, k=3, seed=0)
    person = np.where(np.arange(4000) % 2 == 0, 0, np.arange(4000))
    told = ClickLog(
        plain.session, plain.query, plain.document, plain.position, plain.click,
        user=np.repeat(person, plain.lengths),
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        regression_em(told, data)
        assert any("few people" in str(one.message) for one in caught)
        before = len(caught)
        regression_em(plain, data)
        assert not any("few people" in str(one.message) for one in caught[before:])


def test_drift_between_crowds_is_no_drift():
    """Two crowds of twelve heavy people: their curves differ by chance, which a test over queries denies."""
    curves = [(randomized(crowded(seed)), randomized(without_users(crowded(seed)))) for seed in range(20, 50)]
    known = sum(
        not drift(a[0], b[0], confidence=0.95).holds for a, b in zip(curves[::2], curves[1::2], strict=True)
    )
    denied = sum(
        not drift(a[1], b[1], confidence=0.95).holds for a, b in zip(curves[::2], curves[1::2], strict=True)
    )
    assert known <= 4
    assert denied >= known + 3


def test_drift_is_hotellings_by_hand():
    """One rank below the first: T² with 9 degrees of freedom is Student's t squared."""
    from scipy.stats import t

    old = Propensity.given([1.0, 0.5])
    spread = np.diag([0.0, 0.04])
    new = Propensity(np.array([1.0, 0.7]), np.ones(2), np.ones(2), "x", log_covariance=spread, units=10.0)
    assert drift(old, new).p_value == pytest.approx(2 * t.sf(np.log(1.4) / 0.2, 9))


def test_units_are_kept_in_files(tmp_path):
    curve = randomized(crowded(5))
    curve.save(tmp_path / "curve.json")
    assert Propensity.load(tmp_path / "curve.json").units == curve.units
