"""Learners that find relevance and position together, and those that take the position as given."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

import rankloop as rl
from rankloop.clicks import PBM, ClickLog, TrustPBM, aggregate, simulate
from rankloop.clicks.user import attraction_by_grade
from rankloop.data import RankingDataset
from rankloop.losses import PLRank
from rankloop.metrics import ndcg
from rankloop.rankers import LambdaMART, LinearRanker, NeuralRanker, load
from rankloop.unbiased import (
    DCG,
    dual_learning_ranker,
    ips,
    likelihood,
    likelihood_ranker,
    naive,
    pair_debias_ranker,
    policy_gradient,
    prop_svm,
    regression_em_ranker,
)
from rankloop.unbiased.estimation.cells import CellLikelihood
from rankloop.unbiased.estimation.evidence import evidence
from rankloop.unbiased.pair_debias_ranker import DebiasedPairs
from unbiased.worlds import two_features

K = 8
THETA = 1.0 / np.arange(1, K + 1)
USER = PBM(examination=THETA, attraction=attraction_by_grade())


@pytest.fixture(scope="module")
def world():
    """Two features make relevance; a weak logger follows a third, so that position says nothing of it."""
    data = two_features(queries=400)
    log = simulate(data, logging_policy=data.X[:, 2], user=USER, sessions=20_000, k=K, seed=0)
    return data, log


def quality(data, ranker):
    return float(np.nanmean(ndcg(ranker.predict(data), data.y, data.offsets, k=5)))


def test_every_learner_beats_clicks_at_their_word(world):
    data, log = world
    biased = quality(data, LinearRanker(loss="softmax").fit(naive(log, data)))
    trees = LambdaMART(trees=40, leaves=8, threads=1, min_sum_hessian=1.0)
    found = {
        "likelihood": likelihood(log, data, ranker=likelihood_ranker(trees=100, threads=1)),
        "dual_learning_ranker": dual_learning_ranker(log, data),
        "regression_em_ranker": regression_em_ranker(log, data),
        "pair_debias_ranker": pair_debias_ranker(log, data, ranker=trees),
        "prop_svm": prop_svm(log, THETA, data),
        "policy_gradient": policy_gradient(ips(log, THETA, data), ranker=LinearRanker(iterations=30)),
        "ips": trees.fit(ips(log, THETA, data)),
    }
    values = {name: quality(data, ranker) for name, ranker in found.items()}
    assert biased < 0.85
    assert min(values.values()) > biased + 0.05, values
    assert values["likelihood"] > 0.95
    for name in ("likelihood", "dual_learning_ranker", "regression_em_ranker"):
        assert found[name].propensity_[:5] == pytest.approx(THETA[:5], rel=0.25), name


LOSSES = {
    "likelihood": "by:unbiased.likelihood",
    "pair_debias_ranker": "by:unbiased.pair_debias_ranker",
    "dual_learning_ranker": "softmax",
    "policy_gradient": PLRank(gain="linear"),
}


def test_two_features_are_seen_together():
    """Relevance is their product: a tree that sees only one of them finds nothing."""
    X = np.random.default_rng(0).normal(size=(3000, 2)).astype(np.float32)
    data = RankingDataset.from_groups(X, 4.0 * (X[:, 0] * X[:, 1] > 0.5), np.full(300, 10))
    log = simulate(data, logging_policy=X[:, 0], user=USER, sessions=6000, k=K, seed=0)
    found = likelihood(log, data, propensity=THETA, ranker=likelihood_ranker(trees=30, threads=1))
    assert quality(data, found) > 0.9


def test_what_was_learned_is_kept_in_a_file(world, tmp_path):
    data, log = world
    for name, ranker in {
        "likelihood": likelihood(log, data, ranker=likelihood_ranker(trees=5, threads=1)),
        "pair_debias_ranker": pair_debias_ranker(log, data, ranker=LambdaMART(trees=3, threads=1)),
        "dual_learning_ranker": dual_learning_ranker(log, data, iterations=1),
        "policy_gradient": policy_gradient(ips(log, THETA, data), ranker=LinearRanker(iterations=3)),
    }.items():
        ranker.save(tmp_path / name)
        again = load(tmp_path / name)
        assert np.array_equal(again.predict(data), ranker.predict(data))
        assert (again.propensity_ is None) == (name == "policy_gradient")
        assert again.loss == ranker.loss == LOSSES[name]
        if str(again.loss).startswith("by:"):
            with pytest.raises(
                ValueError, match=f"grown by rankloop.unbiased.{name}, whose loss is made from a log"
            ):
                again.fit(data)


def test_likelihood_is_the_same_from_counts(world):
    data, log = world
    ranker = likelihood_ranker(trees=5, threads=1)
    one, other = (likelihood(form, data, ranker=ranker) for form in (log, aggregate(log)))
    assert np.array_equal(one.predict(data), other.predict(data))


@pytest.mark.parametrize("trust", [False, True])
def test_cell_lambdas_are_the_slope_of_the_likelihood(world, trust):
    data, log = world
    user = TrustPBM(relevant=0.9 * THETA, other=0.3 * THETA, attraction=0.5)
    seen = evidence(log, user if trust else THETA, data)
    cells = CellLikelihood.of(seen, seen.shown, None)
    scores = np.random.default_rng(0).normal(size=cells.rows)
    gradient, hessian = cells.derivatives(scores, None, None)
    total = cells.impressions.sum()
    for row in (0, 7, 100):
        step = np.zeros(cells.rows)
        step[row] = 1e-4
        slope = (cells.value(scores + step) - cells.value(scores - step)) / 2e-4 * total
        assert slope == pytest.approx(gradient[row], rel=1e-4, abs=1e-5)
    assert np.all(hessian > 0)


def test_em_for_the_curve_never_lowers_the_likelihood(world):
    data, log = world
    seen = evidence(log, None, data)
    cells = CellLikelihood.of(seen, seen.shown, THETA**0.5)
    scores = np.random.default_rng(1).normal(size=cells.rows)
    values = []
    for _ in range(20):
        cells.derivatives(scores, None, None)
        scale = cells.curve.max()  # 1: the step is EM's own up to the scale
        assert scale == 1.0
        values.append(cells.value(scores))
    assert values[-1] <= values[0]


def test_the_clip_of_dual_learning_bounds_every_weight():
    """A public implementation clamps a gradient that does not exist: its bound changes nothing."""
    data = RankingDataset.from_groups(np.eye(4), np.zeros(4), [2, 2])
    rows = ([1, 1, 2, 2] * 1, [1, 1, 2, 2], [0, 1, 2, 3], [1, 2, 1, 2])
    log = ClickLog(*rows, [1, 1, 0, 1])
    curves = {
        clip: dual_learning_ranker(log, data, clip=clip, iterations=20).propensity_[1]
        for clip in (1.0, 100.0)
    }
    assert curves[1.0] != pytest.approx(curves[100.0])
    with pytest.raises(ValueError, match="at least 1"):
        dual_learning_ranker(log, data, clip=0.5)


def test_dual_learning_settles(world):
    """Optimisers that are made anew in every step never anneal; alternating minimisation comes to rest."""
    data, log = world
    one, more = (
        dual_learning_ranker(log, data, iterations=iterations).propensity_ for iterations in (100, 200)
    )
    assert np.array_equal(one, more)


def pairs_of(log, data, p=0.0):
    train = naive(log, data)
    return train, DebiasedPairs.of(log, train, p)


def test_debiased_pairs_equal_plain_loops(world):
    data, log = world
    log = log.select(np.arange(30))
    train, loss = pairs_of(log, data)
    row = log.rows(train)
    wanted = {}
    for a, b in zip(log.offsets[:-1], log.offsets[1:], strict=True):
        for i in range(a, b):
            for j in range(a, b):
                if log.click[i] == 1 and log.click[j] == 0:
                    key = (row[i], log.position[i] - 1, row[j], log.position[j] - 1)
                    wanted[key] = wanted.get(key, 0) + 1
    keys = zip(loss.better, loss.clicked_at, loss.worse, loss.skipped_at, strict=True)
    assert dict(zip(keys, loss.count, strict=True)) == wanted


def test_pairs_that_are_right_already_weigh_less(world):
    """XGBoost takes the loss of the opposite sign: its ratios follow the pairs that are right."""
    data, log = world
    train, loss = pairs_of(log, data)
    first = train.offsets[:-1]
    scores = np.zeros(train.n_documents)
    stake = loss.count * loss._swap(scores)
    at_zero = stake * np.logaddexp(0.0, 0.0)
    raised = scores.copy()
    raised[loss.better[loss.clicked_at == 1]] = 5.0
    apart = raised[loss.better] - raised[loss.worse]
    right = (loss.clicked_at == 1) & (apart > 0)
    assert np.all((stake * np.logaddexp(0.0, -apart))[right] < at_zero[right])
    calm, keen = loss._next(at_zero)[0][1], loss._next(stake * np.logaddexp(0.0, -apart))[0][1]
    assert keen < calm
    assert len(first) == train.n_queries


def test_positions_are_those_of_the_log_and_not_row_numbers(world):
    """XGBoost takes the row number in the group: a log with missing rows is silently wrong there."""
    data, _ = world
    gaps = ClickLog([1, 1, 1], [1, 1, 1], [0, 1, 2], [1, 3, 7], [0, 1, 0])
    _, loss = pairs_of(gaps, data)
    assert loss.clicked_at.tolist() == [2, 2]
    assert sorted(loss.skipped_at) == [0, 6]
    assert loss.ratios.shape == (2, 7)


def test_no_list_is_divided_by_an_ideal_of_clicks():
    scores, offsets = np.array([0.1, 0.4, -0.2]), np.array([0, 3])
    labels = np.array([0.2, 0.0, 0.1], np.float32)
    once, twice = (DCG(scores, labels * factor, offsets).gradient for factor in (1, 2))
    assert twice == pytest.approx(2 * once)


def test_pair_lambdas_push_the_clicked_up(world):
    data, log = world
    train, loss = pairs_of(log.select(np.arange(200)), data)
    gradient, hessian = loss.derivatives(np.zeros(train.n_documents), None, None)
    assert gradient.sum() == pytest.approx(0.0, abs=1e-9)
    only = np.setdiff1d(loss.better, loss.worse)
    assert np.all(gradient[only] < 0)
    assert np.all(hessian > 0)
    assert loss.ratios[:, 0].tolist() == [1.0, 1.0]


def test_pair_lambdas_are_the_slope_of_the_loss(world):
    """A public implementation has a scale of 2 inside its sigmoid, and shrinks the ratios by default."""
    data, log = world
    train, loss = pairs_of(log.select(np.arange(50)), data)
    scores = np.random.default_rng(0).normal(size=train.n_documents)
    gradient, _ = loss.derivatives(scores, None, None)
    mass = (
        loss.count * loss._swap(scores) / (loss.ratios[0][loss.clicked_at] * loss.ratios[1][loss.skipped_at])
    )
    assert inspect.signature(pair_debias_ranker).parameters["p"].default == 0

    def value(s):
        return float(np.sum(mass * np.logaddexp(0.0, -(s[loss.better] - s[loss.worse]))))

    for row in np.unique(np.concatenate((loss.better[:5], loss.worse[:5]))):
        step = np.zeros(len(scores))
        step[row] = 1e-5
        slope = (value(scores + step) - value(scores - step)) / 2e-5
        assert slope == pytest.approx(gradient[row], rel=1e-6, abs=1e-6)


def test_ratios_do_not_run_away_in_a_small_log(world):
    """As published they do: few clicks are known by heart, weigh more, and the order is turned around."""
    data, _ = world
    trees = LambdaMART(trees=60, loss=DCG, threads=1)
    log = simulate(
        data, logging_policy=data.X[:, 0] + 0.7 * data.X[:, 1], user=USER, sessions=2000, k=K, seed=0
    )
    _, loss = pairs_of(log, data)
    fitted = pair_debias_ranker(log, data, ranker=trees)
    clicks = np.bincount(loss.clicked_at, loss.count)
    assert np.all(fitted.propensity_ >= clicks / clicks[0] - 1e-12)
    assert quality(data, fitted) > quality(data, LinearRanker(loss=DCG).fit(data.replace(y=4 - data.y))) + 0.2


def test_dual_learning_around_a_network(world):
    data, log = world
    network = NeuralRanker(loss="softmax", hidden=(8,), epochs=5, device="cpu", threads=1, seed=0)
    found = dual_learning_ranker(log, data, ranker=network, iterations=3)
    biased = clone(network).fit(naive(log, data))
    assert quality(data, found) > quality(data, biased) + 0.05
    assert found.propensity_[:5] == pytest.approx(THETA[:5], rel=0.3)


def test_prop_svm_is_the_ranker_of_the_house(world):
    data, log = world
    found = ips(log, THETA, data)
    clicked = found.replace(y=(found.y > 0).astype(np.float32), item_weight=found.y)
    same = rl.RankSVM(C=1.0, against="all").fit(clicked)
    assert np.array_equal(prop_svm(log, THETA, data).coef_, same.coef_)


def test_mistakes_are_explained(world):
    data, log = world
    with pytest.raises(ValueError, match="iterations"):
        regression_em_ranker(log, data, iterations=0)
    with pytest.raises(ValueError, match="p is the norm"):
        pair_debias_ranker(log, data, p=-1.0)
    silent = ClickLog([1, 1], [1, 1], [0, 1], [1, 2], [1, 1])
    with pytest.raises(ValueError, match="no pairs to learn"):
        DebiasedPairs.of(silent, naive(silent, data), 0.0)
