"""The score of trust, centred at the true trust; what a log cannot tell of it is said with its curve."""

import warnings
from itertools import product

import numpy as np
import pytest

from rankloop.clicks import ClickLog
from rankloop.propensity import Propensity, TrustBias, TrustWarning, randomized, trust_bias
from rankloop.propensity.fitting.trust_score import TrustScore

RANKS = 4
UNSURE = "trust of high ranks up to"


def pages(seed, trust, *, queries=60, pages=1200, people=600, own=0.0, heavy=False, adjacent=False):
    """Four documents of a query in random order, or one exchange of neighbours; rank k is seen with 1 / k."""
    rng = np.random.default_rng(seed)
    gamma = rng.beta(1.0, 2.0, (queries, RANKS))
    weight = np.where(np.arange(people) < people // 50, 50.0, 1.0) if heavy else np.ones(people)
    person = rng.choice(people, pages, p=weight / weight.sum())
    query = rng.integers(0, queries, pages)
    order = np.argsort(-gamma - 0.3 * rng.normal(size=gamma.shape), axis=1)[query]
    if adjacent:
        at, turn = rng.integers(0, RANKS - 1, pages), rng.random(pages) < 0.5
        row = np.flatnonzero(turn)
        order[row, at[turn]], order[row, at[turn] + 1] = order[row, at[turn] + 1], order[row, at[turn]].copy()
    else:
        order = rng.permuted(order, axis=1)
    rank = np.arange(1.0, RANKS + 1)
    power = rng.lognormal(-(own**2) / 2, own, people)[person] if own else np.ones(pages)
    shown = gamma[query[:, None], order]
    chance = rank ** -power[:, None] * (shown + (1 - shown) * trust / rank)
    return log_of(query, order, rng.random((pages, RANKS)) < chance, person)


def log_of(query, order, click, person):
    rows = np.repeat(np.arange(len(query)), order.shape[1])
    return ClickLog(
        rows,
        query[rows],
        order.ravel(),
        np.tile(np.arange(1, order.shape[1] + 1), len(query)),
        click.ravel().astype(np.int8),
        user=person[rows],
    )


def score_of(log):
    return TrustScore(log, np.ones(log.n_pages, bool))


def test_attraction_by_everybody_else_is_unbiased_for_every_row():
    """All clicks of five people on one document at ranks 1, 1, 2, 2, 2: means γ and (1 - γ)² at each row."""
    theta, gamma, rank = np.array([1.0, 0.4]), 0.3, np.array([0, 0, 1, 1, 1])
    person = np.array([0, 1, 2, 3, 3])  # the last came twice
    query, order = np.zeros(5, int), np.zeros((5, 1), int)
    means = np.zeros((2, 5))
    for clicks in product([0, 1], repeat=5):
        log = ClickLog(np.arange(5), query, order[:, 0], rank + 1, np.array(clicks), user=person)
        score = score_of(log)
        chance = np.prod(np.where(clicks, theta[rank] * gamma, 1 - theta[rank] * gamma))
        found = score._attraction(score.click, theta)
        means += chance * np.array(found)
    np.testing.assert_allclose(means[0], gamma, atol=1e-12)
    np.testing.assert_allclose(means[1], (1 - gamma) ** 2, atol=1e-12)


@pytest.mark.parametrize("trust", [0.0, 0.5])
@pytest.mark.parametrize("kind", [{}, {"adjacent": True}, {"heavy": True, "own": 0.6}])
def test_the_score_is_centred_at_the_true_trust(trust, kind):
    """Thirty logs: the mean of standardised scores is 0, and they spread by about 1."""
    found = np.array([score_of(pages(seed, trust, **kind)).at(trust).errors for seed in range(30)])
    assert abs(found.mean()) < 3.5 * found.std() / np.sqrt(30)
    assert found.std() < 1.4


def test_power():
    found = np.array([score_of(pages(seed, 0.5)).at(0.0).errors for seed in range(30)])
    assert np.mean(found > 1.65) > 0.6  # 24 of 30 when this was written


def test_sparse_documents_do_not_bias_it():
    """Documents with four impressions each, by the thousand: an error of a document would add up."""
    made = [pages(seed, 0.0, queries=3000, pages=12_000, people=12_000) for seed in range(8)]
    found = np.array([score_of(log).at(0.0).errors for log in made])
    assert abs(found.mean()) < 4 / np.sqrt(8)


def shuffled(log):
    columns = {name: getattr(log, name) for name in ("session", "query", "document", "position", "click")}
    return ClickLog(**columns, user=log.user, intervention=np.full(len(log), "shuffle 4"))


def curve_of(log):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        curve = randomized(shuffled(log), resamples=50)
    said = [str(one.message) for one in caught if issubclass(one.category, TrustWarning)]
    return curve, said


def test_trust_is_found_or_not_excluded():
    """The interval at rank 4 misses the truth, 1 / 4; the log says so in 29 of 30 or more."""
    spoken = 0
    for seed in range(30):
        curve, said = curve_of(pages(seed, 0.5))
        assert curve.high[3] < 0.25
        assert len(said) == (curve.trust.warning(curve) is not None)
        assert all(one in repr(curve) for one in said)
        spoken += len(said)
    assert spoken >= 28


def test_large_logs_without_trust_are_free_of_it():
    quiet = [not curve_of(pages(seed, 0.0, pages=40_000, people=20_000))[1] for seed in range(5)]
    assert sum(quiet) >= 4


def test_the_sentence_by_hand():
    trust = TrustBias(0.0, 0.0, 0.4, 0.6, 100.0, 0.95, (1.0, 1.2, 1.5))
    curve = Propensity(np.array([1, 0.5, 0.2]), np.array([1, 0.4, 0.1]), np.array([1, 0.61, 0.25]), "x")
    assert trust.warning(curve) == (
        "trust of high ranks up to 40% cannot be excluded with this log: it would move rank 3 of the curve "
        "from 0.2 to 0.3, and the interval does not cover that; log more pages on which ranks are swapped"
    )
    wide = Propensity(curve.values, curve.low, np.array([1, 0.61, 0.31]), "x")
    assert trust.warning(wide) is None, "0.3 lies within the interval"
    vast = TrustBias(0.0, 0.0, 0.4, 0.6, 100.0, 0.95, (1.0, 1.2, 1e6))
    assert "from 0.2 to 1, and" in vast.warning(curve), "no rank is examined more than always"
    little = TrustBias(0.0, 0.0, 0.4, 0.6, 100.0, 0.95, (1.0, 1.05, 1.09))
    sharp = Propensity(curve.values, curve.values, curve.values, "x")
    assert little.warning(sharp) is None, "less than a tenth is not worth a sentence"
    found = TrustBias(0.3, 0.1, 0.5, 0.01, 100.0, 0.95, (1.0, 1.05, 1.09))
    assert found.found
    assert found.warning(wide).startswith("people trust high ranks (they click about 30% of the unattractive")


def test_it_is_kept_in_files(tmp_path):
    curve, said = curve_of(pages(0, 0.0, pages=600))
    assert said
    assert said[0].startswith(UNSURE)
    curve.save(tmp_path / "curve.json")
    again = Propensity.load(tmp_path / "curve.json")
    assert again.trust == curve.trust
    assert repr(again) == repr(curve)
    earlier = curve.to_dict()
    del earlier["trust"]
    assert Propensity.from_dict(earlier).trust is None, "a file of an earlier version"


def test_documents_that_are_all_alike_exclude_nothing():
    log = pages(0, 0.0, pages=2000)
    rng = np.random.default_rng(0)
    columns = {name: getattr(log, name) for name in ("session", "query", "document", "position", "user")}
    alike = ClickLog(**columns, click=(rng.random(len(log)) < 0.3 / log.position).astype(np.int8))
    found = trust_bias(alike)
    assert found.high > 0.25, "nearly all of the 30 % that are clicked at rank 1 may be trust"
    assert not found.found
    assert np.all(np.diff(found.moves) > 0), found.moves


def test_ranks_below_the_first_alone():
    """Only ranks 2 to 4 were exchanged: the curve is relative to rank 2, and nothing divides by 0."""
    log = pages(0, 0.5, pages=4000)
    columns = {name: getattr(log, name) for name in ("session", "query", "document", "click", "user")}
    found = trust_bias(ClickLog(**columns, position=log.position + 1))
    assert 0 <= found.low <= found.share <= found.high < 1
    assert np.all(np.isfinite(found.moves))


def test_one_person_or_no_moves_is_too_little():
    log = pages(0, 0.0, pages=200)
    columns = {name: getattr(log, name) for name in ("session", "query", "document", "click")}
    fixed = ClickLog(**columns, position=1 + log.document)
    with pytest.raises(ValueError, match="same documents at two ranks"):
        trust_bias(fixed)
