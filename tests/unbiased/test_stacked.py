"""Many corrections of the same clicks, added up with weights that the clicks choose."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from rankloop.clicks import PBM, ClickLog, TrustPBM, World, aggregate, user
from rankloop.data import RankingDataset
from rankloop.metrics import ndcg
from rankloop.rankers import LambdaMART, importance, load
from rankloop.unbiased import candidates, learn, naive
from rankloop.unbiased.estimation.before_clicks import before_clicks, condensed, no_click_above
from rankloop.unbiased.estimation.evidence import evidence
from rankloop.unbiased.estimation.library import GAIN, in_folds, library
from rankloop.unbiased.estimation.one_forest import one_forest
from rankloop.unbiased.estimation.stack import agreement, curve_of_stack, scale_of
from rankloop.unbiased.estimation.two_towers import TwoTowers

FEW = candidates(trees=25, threads=1)
LINES = FEW["linear leaves"]


def quality(ranker, test):
    return float(np.nanmean(ndcg(ranker.predict(test), test.y, test.offsets, k=10)))


def hidden(drawn):
    return drawn.train.replace(y=np.zeros(drawn.train.n_documents))


@pytest.fixture(scope="module")
def weak():
    return World(queries=250, sessions=6000, loggers=(0.1,), seed=5).draw()


@pytest.fixture(scope="module")
def forests(weak):
    plain = LambdaMART(trees=3, leaves=4, threads=1).fit(weak.train)
    lines = LambdaMART(
        trees=2, leaves=4, loss="squared", threads=1, params={"linear_tree": True, "min_data_in_leaf": 200}
    ).fit(weak.train)
    return plain, lines


@settings(max_examples=15, deadline=None)
@given(st.floats(-3, 3), st.floats(1e-6, 1e6))
def test_a_sum_of_forests_is_one_forest(weak, forests, first, second):
    weights = np.array([first, second])
    found = one_forest(forests, weights)
    wanted = first * forests[0].predict(weak.test) + second * forests[1].predict(weak.test)
    np.testing.assert_allclose(found.predict(weak.test), wanted, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.forest_.booster.predict(weak.test.X), wanted, rtol=1e-9, atol=1e-9)
    assert found.n_trees_ == (5 if first != 0 else 2)


def test_one_forest_refuses_what_it_cannot_add(weak, forests):
    with pytest.raises(ValueError, match="every weight is 0"):
        one_forest(forests, np.zeros(2))
    other = LambdaMART(trees=2, leaves=4, backend="xgboost", threads=1).fit(weak.train)
    with pytest.raises(ValueError, match="backend lightgbm"):
        one_forest([other], np.ones(1))
    with pytest.raises(ValueError, match="budget='quick'"):
        learn(weak.log, hidden(weak), rankers={"one": other})


def counted(seed, chance):
    """Evidence of 120 lists of 6 and two columns, whose clicks are drawn by `chance(rank, z)`."""
    rng = np.random.default_rng(seed)
    data = RankingDataset.from_groups(np.zeros((720, 1)), np.zeros(720), np.full(120, 6))
    z = rng.normal(size=(720, 2))
    seen = evidence(
        ClickLog(
            np.repeat(np.arange(120), 6),
            data.row_qid,
            np.arange(720),
            np.tile(np.arange(1, 7), 120),
            np.tile([1, 0, 0, 0, 0, 0], 120),
        ),
        None,
        data,
    )
    n = np.full(len(seen.row), 4000.0)
    clicks = rng.binomial(4000, chance(seen.position - 1, z[seen.row]))
    return z, replace(seen, impressions=n, clicks=clicks.astype(float))


def test_the_curve_and_the_weights_are_found():
    theta = np.array([1.0, 0.8, 0.5, 0.4, 0.3, 0.1])
    z, seen = counted(0, lambda k, z: theta[k] * expit(-1.0 + z @ [0.7, 0.0]))
    found = curve_of_stack(z, seen)
    np.testing.assert_allclose(found.curve, theta, rtol=0.02)
    np.testing.assert_allclose(found.weights, [0.7, 0.0], atol=0.01)
    assert found.level == pytest.approx(-1.0, abs=0.03)
    known = curve_of_stack(z, replace(seen, alpha=theta[seen.position - 1]), curve=False)
    np.testing.assert_allclose(known.weights, [0.7, 0.0], atol=0.01)
    assert not found.trust.any()


def test_trust_is_found():
    theta, trust = np.array([1.0, 0.9, 0.8, 0.6, 0.5, 0.4]), np.array([0.6, 0.3, 0.2, 0.1, 0.1, 0.1])
    z, seen = counted(1, lambda k, z: theta[k] * (trust[k] + (1 - trust[k]) * expit(-1.0 + z @ [0.5, 1.5])))
    found = curve_of_stack(z, seen, trust=True)
    np.testing.assert_allclose(found.curve, theta, rtol=0.05)
    np.testing.assert_allclose(found.trust, trust, atol=0.05)
    assert found.cost < curve_of_stack(z, seen).cost - 0.001


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_two_towers_descend_their_likelihood(seed):
    """The gradient beside finite differences of the sum in plain loops."""
    rng = np.random.default_rng(seed)
    data = RankingDataset.from_groups(np.zeros((6, 1)), np.zeros(6), [3, 3])
    order = np.concatenate([3 * q + rng.permutation(3) for q in (0, 1, 0)])
    log = ClickLog(
        np.repeat([0, 1, 2], 3),
        np.repeat(data.qid[[0, 1, 0]], 3),
        order,
        [1, 2, 3] * 3,
        rng.integers(0, 2, 9),
    )
    loss = TwoTowers.of(evidence(log, None, data), np.ones(6, bool))
    scores = rng.normal(size=6)
    gradient, _ = loss.derivatives(scores, None, None)

    def cost(s):
        total = 0.0
        for row, rank, n, c in zip(loss.row, loss.rank, loss.impressions, loss.clicks, strict=True):
            chance = 1 / (1 + np.exp(-s[row] - loss.effect[rank]))
            total -= c * np.log(chance) + (n - c) * np.log(1 - chance)
        return total

    step = 1e-6 * np.eye(6)
    slow = [(cost(scores + one) - cost(scores - one)) / 2e-6 for one in step]
    np.testing.assert_allclose(gradient, slow, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000))
def test_what_is_above_a_click(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, 6)
    click = rng.integers(0, 2, lengths.sum())
    page = np.repeat(np.arange(6), lengths)
    position = np.concatenate([np.arange(1, n + 1) for n in lengths])
    log = ClickLog(page, page, np.arange(len(page)), position, click)
    slow = [not any(click[(page == p) & (position < k)]) for p, k in zip(page, position, strict=True)]
    np.testing.assert_array_equal(no_click_above(log), slow)


def test_cells_of_people_who_stop_keep_their_counts(weak):
    model = user("navigational")
    drawn = World(people="cascade", queries=60, sessions=2000, seed=1).draw()
    seen = evidence(drawn.log, model, drawn.train)
    few = condensed(seen)
    assert len(few.row) < len(seen.row)
    for one in ("impressions", "clicks"):
        np.testing.assert_allclose(few.by_row(getattr(few, one)), seen.by_row(getattr(seen, one)))
    np.testing.assert_allclose(few.slope(), seen.slope(), rtol=1e-9)
    first = before_clicks(drawn.log, model, seen)
    assert first.clicks.sum() == np.count_nonzero(np.add.reduceat(drawn.log.click, drawn.log.offsets[:-1]))
    np.testing.assert_allclose(first.alpha, 1.0)  # who has not clicked has not stopped


def test_folds_do_not_see_the_clicks_they_predict(weak):
    """Other clicks on a query move the scores of queries of other folds only."""
    data = hidden(weak)
    seen = evidence(weak.log, None, data)
    some = dict(list(library(seen, LINES).items())[:1])
    before = in_folds(some, seen, 0)
    query = data.row_query[seen.row] == 0
    turned = replace(seen, clicks=np.where(query, seen.impressions - seen.clicks, seen.clicks))
    after = in_folds(dict(list(library(turned, LINES).items())[:1]), turned, 0)
    own = data.row_query == 0
    np.testing.assert_array_equal(before[own], after[own])
    assert (before != after).any()


def test_lines_go_on_beyond_what_was_shown_and_constants_do_not(weak):
    seen = evidence(weak.log, 1.0 / np.arange(1, 11), hidden(weak))
    made = library(seen, candidates(trees=5, threads=1)["linear leaves"])
    far = np.repeat([[20.0], [50.0]], weak.train.n_features, axis=1)
    for name, stays in {
        "plain leaves, full": True,
        "plain leaves, two towers": True,
        "likelihood, full": False,
        "two towers": False,
    }.items():
        near, further = made[name](seen.shown).predict(far)
        assert (near == further) == stays, name


def test_scale_and_agreement():
    z, seen = counted(0, lambda k, z: np.full(len(k), 0.1))
    np.testing.assert_allclose(scale_of(7.0 * z, seen), 7.0 * scale_of(z, seen))
    place = np.tile(np.arange(1.0, 7.0), 120)
    assert agreement(-place + 100.0 * seen.data.row_query, seen) == pytest.approx(1.0)
    assert agreement(place, seen) == pytest.approx(-1.0)


@pytest.mark.parametrize("people", ["1/k", "trust", "cascade"])
def test_above_clicks_at_their_word(people, tmp_path):
    drawn = World(people=people, queries=250, sessions=6000, loggers=(0.2,), seed=7).draw()
    data = hidden(drawn)
    found = learn(drawn.log, data, rankers=FEW, networks=False)
    word = LambdaMART(trees=25, leaves=15, loss=GAIN, threads=1).fit(naive(drawn.log, data))
    assert quality(found.ranker, drawn.test) > quality(word, drawn.test) + 0.01
    assert isinstance(found.ranker, LambdaMART)  # one model, whatever was added up
    assert sum(found.weights.values()) == pytest.approx(1.0)
    assert found.held_out["stack"] <= min(found.held_out.values()) + 1e-6
    assert (found.trust[0] > 0.2) == (people == "trust")
    assert ("trust the engine" in found.summary) == (people == "trust")
    assert ("stop once they are satisfied" in found.summary) == (people == "cascade")
    assert found.to_dict()["summary"] == found.summary
    assert repr(found).startswith(found.summary)
    found.ranker.save(tmp_path / "stack")
    again = load(tmp_path / "stack")
    np.testing.assert_array_equal(again.predict(drawn.test), found.ranker.predict(drawn.test))
    assert again.propensity_ == pytest.approx(found.ranker.propensity_)
    assert importance(found.ranker, drawn.train.select(np.arange(20))) is not None


def test_same_seed_same_ranker_and_counts_will_do(weak):
    data = hidden(weak)
    few = {"one": candidates(trees=5, threads=1)["linear leaves"]}
    one, two, three = (
        learn(log, data, rankers=few, seed=3) for log in (weak.log, weak.log, aggregate(weak.log))
    )
    np.testing.assert_array_equal(one.ranker.predict(weak.test), two.ranker.predict(weak.test))
    np.testing.assert_allclose(one.ranker.predict(weak.test), three.ranker.predict(weak.test), rtol=1e-6)


def test_a_curve_is_taken_in_full_unless_the_logger_was_good(weak):
    found = learn(weak.log, hidden(weak), rankers=FEW)
    assert found.power > 0.95
    np.testing.assert_allclose(found.curve[:4] ** found.power, 1.0 / np.arange(1, 5), rtol=0.3)
    strong = World(queries=250, sessions=6000, loggers=(0.95,), seed=5).draw()
    assert learn(strong.log, hidden(strong), rankers=FEW).power < 0.95


def test_a_given_curve_is_kept(weak):
    few = {"one": candidates(trees=5, threads=1)["linear leaves"]}
    theta = 1.0 / np.arange(1, 11)
    found = learn(weak.log, hidden(weak), propensity=theta, rankers=few)
    np.testing.assert_allclose(found.curve, theta)
    assert not found.trust.any()
    believed = TrustPBM(relevant=theta, other=0.3 * theta, attraction=0.5)
    assert learn(weak.log, hidden(weak), propensity=believed, rankers=few).weights
    assert isinstance(weak.user, PBM)


def test_people_who_stop_are_corrected_less_the_better_the_logger():
    """A model that the caller gives is taken at its word."""
    power = {}
    for strength in (0.1, 0.9):
        drawn = World(people="cascade", queries=200, sessions=6000, loggers=(strength,), seed=7).draw()
        data = hidden(drawn)
        found = learn(drawn.log, data, rankers=FEW, networks=False)
        assert "DBN" in found.curve_by
        assert not found.trust.any()
        power[strength] = found.power
        known = learn(drawn.log, data, rankers=FEW, networks=False, propensity=user("navigational"))
        assert known.power == 1.0
    assert 1.0 >= power[0.1] > power[0.9] + 0.2 > 0.2
