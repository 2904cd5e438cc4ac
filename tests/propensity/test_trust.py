"""Trust in high ranks is recognised, where documents moved, and only then."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankloop.clicks as clicks
from rankloop.clicks import ClickLog, TrustPBM
from rankloop.clicks.fitting.moved import Moved, compared
from rankloop.data import RankingDataset, synthetic
from rankloop.propensity import (
    TrustWarning,
    dual_learning,
    fair_pairs,
    harvest,
    pair_debias,
    randomized,
    regression_em,
    swap_intervention,
    trust_bias,
)

QUERIES, DOCUMENTS = 60, 5


def log_of(user, design, seed, pages=1500, people=None, k=4):
    rng = np.random.default_rng(seed)
    grades = rng.integers(0, 5, QUERIES * DOCUMENTS)
    data = RankingDataset.from_groups(np.zeros((len(grades), 1)), grades, [DOCUMENTS] * QUERIES)
    options = {"temperature": 1.0} if design == "draws" else {"randomize": design}
    log = clicks.simulate(
        data,
        logging_policy=grades + rng.normal(size=len(grades)),
        user=clicks.user(user),
        sessions=pages,
        k=k,
        seed=seed,
        **options,
    )
    return log if people is None else with_people(log, rng, people)


def with_people(log, rng, people):
    """Two in a hundred people make two thirds of the pages."""
    weight = np.where(np.arange(people) < max(people // 50, 1), 100.0, 1.0)
    person = rng.choice(people, log.n_pages, p=weight / weight.sum())
    columns = {name: getattr(log, name) for name in ("session", "query", "document", "position", "click")}
    return ClickLog(
        **columns,
        user=person[log.row_page],
        intervention=log.intervention,
        original_position=log.original_position,
    )


@pytest.mark.parametrize("people", [None, 300])
def test_false_alarms_are_rare_without_trust(people):
    """At most 5 % by chance; 9 of 80 would be seen once in 50 sets of experiments with exactly 5 %."""
    designs = ("shuffle", "swap")
    found = [trust_bias(log_of("pbm", designs[i % 2], i, people=people)).found for i in range(80)]
    assert sum(found) < 9


def test_power_and_interval():
    found = [trust_bias(log_of("trust", "shuffle", i)) for i in range(20)]
    assert sum(one.found for one in found) >= 18
    assert all(0 <= one.low <= one.share <= one.high <= 1 for one in found)


@pytest.mark.parametrize(
    ("estimator", "design"),
    [(randomized, "shuffle"), (swap_intervention, "swap"), (fair_pairs, "fairpairs"), (harvest, "draws")],
)
def test_estimators_warn(estimator, design):
    trusting = log_of("trust", design, 0, pages=12_000)
    with pytest.warns(TrustWarning, match="people trust high ranks"):
        estimator(trusting, resamples=20)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "people trust high ranks", TrustWarning)
        estimator(log_of("pbm", design, 1, pages=12_000), resamples=20)


@pytest.mark.filterwarnings("ignore::rankloop.propensity.IdentifiabilityWarning")
@pytest.mark.parametrize("estimator", [regression_em, dual_learning, pair_debias])
def test_joint_estimators_warn_where_documents_moved(estimator):
    """Of trust that was found; of trust that their logs cannot exclude they say nothing."""
    data = synthetic(n_queries=60, docs_per_query=5, n_features=4, seed=0)
    options = {"logging_policy": data.X[:, 0], "sessions": 20_000, "k": 4, "seed": 0}
    with pytest.warns(TrustWarning, match="people trust high ranks"):
        curve = estimator(
            clicks.simulate(data, user="trust", randomize="shuffle", **options), data, resamples=20
        )
    assert curve.trust.found
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrustWarning)
        moved = estimator(
            clicks.simulate(data, user="pbm", randomize="shuffle", **options), data, resamples=20
        )
        fixed = estimator(clicks.simulate(data, user="trust", **options), data, resamples=20)
    assert not moved.trust.found
    assert fixed.trust is None


def test_the_result_does_not_depend_on_names_or_row_order():
    log = log_of("trust", "shuffle", 3)
    columns = {name: getattr(log, name) for name in ("session", "query", "position", "click")}
    same = ClickLog(
        **columns,
        document=np.char.add("d", log.document.astype(str)),
        intervention=log.intervention,
        original_position=log.original_position,
    )
    assert trust_bias(same).p_value == pytest.approx(trust_bias(log).p_value, rel=1e-9)


def test_what_cannot_be_tested_is_said():
    grades = np.zeros(20)
    data = RankingDataset.from_groups(np.zeros((20, 1)), grades, [4] * 5)
    fixed = clicks.simulate(data, logging_policy=np.arange(20.0), user="pbm", sessions=500, k=4, seed=0)
    with pytest.raises(ValueError, match="same documents at two ranks"):
        trust_bias(fixed)
    with pytest.raises(ValueError, match="confidence lies between 0 and 1"):
        trust_bias(fixed, confidence=95)


CELLS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(1, 9), st.integers(0, 9)),
    min_size=1,
    max_size=15,
    unique_by=lambda cell: cell[:2],
)


@settings(max_examples=60, deadline=None)
@given(CELLS)
def test_sums_by_two_ranks_as_their_naive_twin(cells):
    cells = sorted(cells)
    pair, rank = (np.array([cell[i] for cell in cells], np.int64) for i in (0, 1))
    shown, more = (np.array([float(cell[i]) for cell in cells]) for i in (2, 3))
    clicked = np.minimum(more, shown)
    attraction = np.sin(pair.astype(float))
    none = np.zeros(0, np.int64)
    found = compared(Moved(none, none, pair, rank, attraction, 5), shown, clicked)
    wanted = np.zeros((5, 5, 6))
    for i in range(len(cells)):
        for j in range(len(cells)):
            if pair[i] == pair[j] and rank[j] < rank[i]:
                w = shown[i] * shown[j] / (shown[i] + shown[j])
                low, high, x = clicked[j] / shown[j], clicked[i] / shown[i], attraction[i]
                wanted[rank[j], rank[i]] += np.array([low, high, low * x, high * x, x, 1.0]) * w
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_slopes_hold_the_truth():
    user = clicks.user("trust")
    true = user.alpha(4) / user.alpha(4)[0]
    held = np.zeros(4)
    for seed in range(20):
        found = TrustPBM().slopes(log_of("trust", "shuffle", seed, pages=6000))
        assert found.identified.all()
        held += (found.low <= true) & (true <= found.high)
    assert np.all(held >= 16)  # 95 % of 20 is 19; fewer than 16 happen once in 400


def test_slopes_of_chains_of_neighbours():
    user = clicks.user("trust")
    true = user.alpha(4) / user.alpha(4)[0]
    found = TrustPBM().slopes(log_of("trust", "adjacent", 0, pages=60_000))
    assert np.all((found.low <= true) & (true <= found.high))


def test_slopes_that_a_log_does_not_identify():
    grades = np.tile([0, 1, 2, 3], 10)
    data = RankingDataset.from_groups(np.zeros((40, 1)), grades, [4] * 10)
    fixed = clicks.simulate(data, logging_policy=np.arange(40.0), user="trust", sessions=2000, k=4, seed=0)
    with pytest.warns(RuntimeWarning, match="cannot identify trust: no documents link rank 2, 3, 4"):
        model = TrustPBM().fit(fixed)
    found = model.slopes(fixed)
    np.testing.assert_array_equal(found.identified, [True, False, False, False])
    assert np.isnan(found.values[1:]).all()
    with pytest.raises(ValueError, match="confidence lies between 0 and 1"):
        model.slopes(fixed, confidence=2)
