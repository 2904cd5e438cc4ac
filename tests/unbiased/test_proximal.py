"""A new ranker is not below the logged one, whatever people do: 20 seeds of worlds that mislead it."""

import numpy as np
import pytest
from sklearn.base import clone

from rankloop.clicks import PBM, World, simulate
from rankloop.clicks.user import attraction_by_grade, power_law
from rankloop.data import RankingDataset, synthetic
from rankloop.metrics import ndcg
from rankloop.rankers import LinearRanker, load
from rankloop.unbiased import candidates, ips, learn, proximal

STEEP = 1.0 / np.arange(1, 11) ** 3.0  # far too steep for people who look at rank k one time in k
SEEDS = range(20)


def folded(log, curve, data, seed):
    """A linear ranker by inverse propensities, and scores of each query by one that was not trained on it."""
    shape = LinearRanker(loss="softmax", l2=0.1)
    part = np.random.default_rng(seed).permutation(np.arange(data.n_queries) % 3)
    scores = np.zeros(data.n_documents)
    for one in range(3):
        kept = np.isin(log.queries, data.qid[part != one])[log.page_query.code]
        some = data.select(np.flatnonzero(part != one))
        rows = part[data.row_query] == one
        scores[rows] = clone(shape).fit(ips(log.select(kept), curve, some)).predict(data.X[rows])
    return shape.fit(ips(log, curve, data)), scores


def logger_of(data, strength, seed):
    """A linear ranker whose scores go with the labels as much as `strength` says."""
    rng = np.random.default_rng(seed)
    good = LinearRanker(loss="softmax").fit(data)
    direction = strength * good.coef_ / np.linalg.norm(good.coef_)
    other = rng.normal(size=data.n_features)
    good.coef_ = direction + np.sqrt(1 - strength**2) * other / np.linalg.norm(other)
    return good


def adversary(data, seed):
    """Every fifth page is clicked by someone who wants what is worst to rise, and looks further down."""
    wrong = PBM(examination=power_law(0.3), attraction=attraction_by_grade()[::-1])
    return [(PBM(examination=power_law(), attraction=attraction_by_grade()), 0.8), (wrong, 0.2)]


def opposition(data, seed):
    """Nearly every second page is clicked by such people, who look at every rank: most clicks are theirs."""
    wrong = PBM(examination=power_law(0.0), attraction=attraction_by_grade()[::-1])
    return [(PBM(examination=power_law(), attraction=attraction_by_grade()), 0.55), (wrong, 0.45)]


def world(seed, people):
    data = synthetic(n_queries=250, docs_per_query=12, n_features=6, seed=seed)
    train, test = data.split(0.4, seed=seed)
    train = RankingDataset(train.X, train.y, train.row_qid, docid=np.arange(train.n_documents))
    logger = logger_of(train, 0.9, seed)
    logs = [
        simulate(train, logging_policy=logger, user=one, sessions=int(share * 2000), seed=seed + 50 * i)
        for i, (one, share) in enumerate(people(train, seed))
    ]
    log = type(logs[0]).concat(logs)
    log.sessions[:] = np.arange(log.n_pages)
    return train, test, logger, log


def honest(data, seed):
    return [(PBM(examination=power_law(), attraction=attraction_by_grade()), 1.0)]


def gap(new, old, test):
    value = [ndcg(one.predict(test), test.y, test.offsets, k=10) for one in (new, old)]
    found = (value[0] - value[1])[np.isfinite(value[0])]
    error = 1.96 * found.std(ddof=1) / np.sqrt(len(found))
    return found.mean(), found.mean() - error, found.mean() + error


@pytest.mark.parametrize("people", [honest, adversary, opposition])
def test_never_below_the_logger(people):
    """A curve that is far too steep, and adversarial people: no interval lies wholly below the logger."""
    unsafe, opposed = 0, []
    for seed in SEEDS:
        train, test, logger, log = world(seed, people)
        new, scores = folded(log, STEEP, train, seed)
        unsafe += gap(new, logger, test)[2] < 0
        found = proximal(log, train, new, logger, curve=STEEP, scores=scores)
        assert gap(found.ranker, logger, test)[2] >= 0, (seed, found)
        opposed.append(found.opposed)
        assert ("go against" in repr(found)) == (found.opposed > 0)
    assert unsafe >= 5  # the same ranker without a bound is
    share, told = {honest: (0, 20), adversary: (0.2, 14), opposition: (0.45, 20)}[people]
    assert np.sum(np.abs(np.array(opposed) - share) < 0.05) >= told, opposed


def test_moves_where_there_is_evidence(tmp_path):
    data = synthetic(n_queries=200, docs_per_query=8, n_features=5, seed=1)
    train, test = data.split(0.5, seed=0)
    train = train.replace(docid=np.arange(train.n_documents))
    logger = logger_of(train, 0.1, 3)
    curve = 1 / np.arange(1, 9)
    log = simulate(train, logging_policy=logger, sessions=20_000, k=8, seed=0)
    new, scores = folded(log, curve, train, 0)
    found = proximal(log, train, new, logger, curve=curve, scores=scores)
    assert found.step > 0
    assert found.low > 0
    assert 0 < found.moved < 1
    assert gap(found.ranker, logger, test)[1] > 0
    few = log.select(np.arange(150))
    assert proximal(few, train, new, logger, curve=curve, scores=scores).moved <= found.moved
    found.ranker.save(tmp_path / "safe")
    again = load(tmp_path / "safe")
    np.testing.assert_allclose(
        again.predict(test.X, qid=test.row_qid), found.ranker.predict(test.X, qid=test.row_qid)
    )
    assert found.to_dict().keys() == {"step", "gain", "low", "high", "moved", "opposed"}


def test_more_exposure_than_allowed_is_no_gain():
    """One query, three documents, by hand: the gain of the last document ends at its bound."""
    from rankloop.unbiased.estimation.evidence import evidence
    from rankloop.unbiased.proximal import PAGES, WIDE, _Room

    data = RankingDataset(np.zeros((3, 1)), np.zeros(3), [0, 0, 0])
    drawn = simulate(data, logging_policy=np.array([3.0, 2.0, 1.0]), sessions=30, k=3, seed=0)
    seen = evidence(drawn, None, data)
    room = _Room.of(seen, np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.2, 0.9]))
    factor = 1 + WIDE * 30 / (30 + PAGES)
    change = room.counted(np.array([1.0, 2.0, 3.0]))
    last, first = 1 / np.log2(4), 1.0
    assert change[2] == pytest.approx(min(first, factor * last) - last)
    assert change[0] == pytest.approx(max(last, first / factor) - first)
    assert change[1] == pytest.approx(0.0)


def test_bad_options_are_an_error():
    drawn = World(queries=40, sessions=400, seed=1).draw()
    ranker = LinearRanker().fit(drawn.train)
    with pytest.raises(ValueError, match="one finite number per row"):
        proximal(drawn.log, drawn.train, ranker, ranker, curve=np.ones(10), scores=[1.0])
    with pytest.raises(ValueError, match="confidence lies between 0 and 1, got 95"):
        proximal(drawn.log, drawn.train, ranker, ranker, curve=np.ones(10), confidence=95)


def test_learn_beside_the_logged_ranker():
    drawn = World(utility="linear", queries=120, sessions=1500, loggers=(0.9,), seed=4).draw()
    data = drawn.train.replace(y=np.zeros(drawn.train.n_documents))
    logger = LinearRanker().fit(drawn.train)
    few = {"one": candidates(trees=5, threads=1)["linear leaves"]}
    found = learn(drawn.log, data, rankers=few, logged=logger)
    assert found.proximal is not None
    assert found.to_dict()["proximal"]["step"] == found.proximal.step
    assert "compared with the logged ranker" in repr(found)
    assert gap(found.ranker, logger, drawn.test)[2] >= 0
    with pytest.raises(ValueError, match="budget='usual'"):
        learn(drawn.log, data, rankers=few, logged=logger, budget="quick")
