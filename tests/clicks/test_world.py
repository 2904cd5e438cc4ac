"""Simulated worlds."""

import numpy as np
import pytest

from rankloop.clicks import World
from rankloop.clicks.simulation.people import PEOPLE, crowd
from rankloop.clicks.simulation.utility import UTILITIES, utility
from rankloop.data import RankingDataset


@pytest.mark.parametrize("people", PEOPLE)
def test_people(people):
    drawn = World(people=people, queries=50, sessions=2000, documents=8, features=4, seed=1).draw()
    log = drawn.log
    assert log.n_pages == 2000
    assert len(np.unique(log.sessions)) == 2000
    assert 0.01 < log.click.mean() < 0.9
    again = World(people=people, queries=50, sessions=2000, documents=8, features=4, seed=1).draw()
    np.testing.assert_array_equal(log.click, again.log.click)
    np.testing.assert_array_equal(drawn.test.X, again.test.X)


@pytest.mark.parametrize("kind", UTILITIES)
@pytest.mark.parametrize("features", [1, 30])
def test_utilities_vary_and_are_the_same_for_the_same_rows(kind, features):
    X = np.random.default_rng(0).normal(size=(300, features)).astype(np.float32)
    worth = utility(kind, features, np.random.default_rng(1))
    found = worth(X)
    assert found.std() > 0
    np.testing.assert_allclose(worth(X[:10]), found[:10])


def test_a_tree_by_hand():
    """The sum over trees beside a walk in plain Python."""
    rng = np.random.default_rng(5)
    worth = utility("trees", 3, np.random.default_rng(7))
    draw = np.random.default_rng(7)
    used = draw.permutation(3)
    feature = draw.integers(0, 3, (30, 7))
    cut, value = draw.normal(scale=0.7, size=(30, 7)), draw.normal(size=(30, 8))
    X = rng.normal(size=(5, 3)).astype(np.float32)
    for row, got in zip(X[:, used], worth(X), strict=True):
        total = 0.0
        for tree in range(30):
            node = 0
            while node < 7:
                node = 2 * node + 1 + int(row[feature[tree, node]] > cut[tree, node])
            total += value[tree, node - 7]
        assert got == pytest.approx(total)


@pytest.mark.parametrize("strength", [0.0, 0.5, 0.98])
def test_loggers_are_as_good_as_they_say(strength):
    """The better the logger, the better the documents at rank 1; all labels are drawn in the same way."""
    drawn = World(loggers=(strength,), queries=400, sessions=4000, seed=2).draw()
    top = drawn.log.position == 1
    gain = drawn.train.y[drawn.log.rows(drawn.train)[top]].mean() - drawn.train.y.mean()
    low, high = {0.0: (-0.3, 0.35), 0.5: (0.6, 1.5), 0.98: (1.8, 3.0)}[strength]
    assert low < gain < high


def test_several_loggers_share_the_pages():
    log = World(loggers=(0.1, 0.9), queries=50, sessions=1000, seed=1).draw().log
    names, pages = np.unique(log.ranker[log.offsets[:-1]], return_counts=True)
    assert names.tolist() == ["logger 1", "logger 2"]
    assert pages.tolist() == [500, 500]


def test_good_pages_saturate():
    drawn = World(people="saturation", queries=200, sessions=40_000, seed=3).draw()
    log, train = drawn.log, drawn.train
    row = log.rows(train)
    same = (log.position == 1) & (train.y[row] == 2)
    level = crowd(train)[train.row_query[row]]
    rates = [log.click[same & (level == one)].mean() for one in range(4)]
    assert rates[0] > rates[1] > rates[2] > rates[3]


def test_judged_sets_are_given():
    made = World(queries=40, sessions=100, seed=1).draw()
    drawn = World(utility="labels", sessions=300, seed=1).draw((made.train, made.test))
    assert drawn.train is made.train
    with pytest.raises(ValueError, match="give judged"):
        World(utility="labels").draw()
    with pytest.raises(ValueError, match="give judged"):
        World().draw((made.train, made.test))


def test_wrong_recipes_are_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        World(loggers=(1.5,)).draw()
    with pytest.raises(ValueError, match="between 0 and 1"):
        World(loggers=()).draw()
    with pytest.raises(ValueError, match="unknown utility 'lines'"):
        World(utility="lines").draw()
    with pytest.raises(ValueError, match="unknown people 'cats'"):
        World(people="cats", queries=20).draw()


def test_a_real_set_needs_no_docids():
    data = RankingDataset.from_groups(
        np.random.default_rng(0).normal(size=(60, 3)), np.tile([0, 1, 4], 20), [6] * 10
    )
    assert World(utility="labels", sessions=50).draw((data, data)).log.n_pages == 50
