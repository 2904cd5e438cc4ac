"""Experiments in a log: counts by hand, gaps, preferences, and what is missing."""

import numpy as np
import pytest

from rankloop.clicks import ClickLog, simulate
from rankloop.data import RankingDataset, synthetic
from rankloop.propensity import fair_pairs, harvest, pair_preferences, randomized, swap_intervention


def swapped_log():
    """Two queries; ranks 1 and 2 exchanged on some pages. (query, exchanged, clicked ranks, how often)."""
    pages = [
        ("q", False, (1,), 6), ("q", False, (2,), 2), ("q", False, (), 2),
        ("q", True, (1,), 2), ("q", True, (2,), 2), ("q", True, (), 1),
        ("r", False, (1,), 3), ("r", False, (), 7),
        ("r", True, (1,), 3), ("r", True, (2,), 1), ("r", True, (), 1),
    ]  # fmt: skip
    rows, session = [], 0
    for query, exchanged, clicks, times in pages:
        for _ in range(times):
            session += 1
            for rank in (1, 2):
                original = 3 - rank if exchanged else rank
                rows.append((session, query, f"{query}{original}", rank, rank in clicks, original))
    columns = [np.array(one) for one in zip(*rows, strict=True)]
    return ClickLog(*columns[:5], original_position=columns[5], intervention=["swap 1-2"] * len(rows))


def test_swaps_by_hand():
    """20 pages as they were (9 clicks at rank 1, 2 at rank 2), 10 exchanged (5 and 3)."""
    curve = swap_intervention(swapped_log())
    assert curve.values[1] == pytest.approx((2 / 20 + 3 / 10) / (9 / 20 + 5 / 10))
    assert curve.pages == 30


def test_gaps_in_positions_change_nothing():
    data = synthetic(n_queries=50, docs_per_query=8, n_features=3, seed=0)
    log = simulate(data, logging_policy=data.y, sessions=5000, k=5, randomize="swap", top=3, seed=0)
    kept = np.ones(len(log), bool)
    kept[log.position == 4] = np.arange(int(np.sum(log.position == 4))) % 2 == 0
    gaps = ClickLog(
        log.session[kept], log.query[kept], log.document[kept], log.position[kept], log.click[kept],
        original_position=log.original_position[kept], intervention=log.intervention[kept],
    )  # fmt: skip
    whole, part = (swap_intervention(one, depth=3) for one in (log, gaps))
    np.testing.assert_allclose(whole.values, part.values)


def test_preferences_are_those_of_relevance():
    labels = np.tile([0, 4, 1, 3], 40)
    data = RankingDataset.from_groups(np.zeros((160, 1)), labels, np.full(40, 4))
    backwards = np.tile([4.0, 1.0, 3.0, 2.0], 40)
    log = simulate(data, logging_policy=backwards, sessions=40_000, k=4, randomize="fairpairs", seed=0)
    found = pair_preferences(log)
    rows = np.stack([found.first, found.second])
    right = (labels[rows[0]] > labels[rows[1]]) == (found.probability > 0.5)
    assert right.mean() > 0.9  # grades 0 and 1 attract almost alike
    assert np.mean(found.p_value < 0.05) > 0.5
    pairs = found.to_pairs(data)
    np.testing.assert_array_equal(pairs.better, rows[0])
    assert len(found.to_frame()) == len(found)


def test_no_preference_where_there_is_none():
    data = RankingDataset.from_groups(np.zeros((400, 1)), np.full(400, 2), np.full(100, 4))
    log = simulate(data, logging_policy=np.zeros(400), sessions=40_000, k=4, randomize="fairpairs", seed=0)
    assert 0.005 < np.mean(pair_preferences(log).p_value < 0.05) < 0.09


@pytest.mark.parametrize("estimator", [swap_intervention, fair_pairs, pair_preferences, randomized])
def test_logs_without_the_experiment(estimator):
    data = synthetic(n_queries=10, docs_per_query=5, n_features=2, seed=0)
    plain = simulate(data, logging_policy=data.y, sessions=100, k=3)
    with pytest.raises(ValueError, match=r"intervention.*harvest\(log\)"):
        estimator(plain)
    other = "swap" if estimator is not swap_intervention else "shuffle"
    with pytest.raises(ValueError, match="intervention"):
        estimator(simulate(data, logging_policy=data.y, sessions=100, k=3, randomize=other))


def test_too_little():
    data = synthetic(n_queries=10, docs_per_query=5, n_features=2, seed=0)
    log = simulate(data, logging_policy=data.y, sessions=2000, k=4, temperature=1.0)
    with pytest.raises(ValueError, match="at least 20 bootstrap resamples"):
        harvest(log, resamples=5)
    with pytest.raises(ValueError, match="at least two queries"):
        harvest(log.select(log.page_query.code == 0))
    with pytest.raises(ValueError, match="at least two ranks"):
        harvest(log, depth=1)
    with pytest.raises(ValueError, match="unknown scheme 'pivots'; did you mean 'pivot'"):
        harvest(log, scheme="pivots")
    silent = ClickLog(log.session, log.query, log.document, log.position, log.click * (log.position < 3))
    with pytest.raises(ValueError, match=r"connect no clicks at rank 3, 4 .*depth=2"):
        harvest(silent)
    assert len(harvest(silent, depth=2)) == 2
