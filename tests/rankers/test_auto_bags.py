"""Which bags `AutoRanker` fits, and which of them it keeps."""

import re

import numpy as np

from rankloop.data import synthetic
from rankloop.rankers import AutoRanker
from rankloop.rankers.auto import bags as bagging
from rankloop.rankers.auto import mixture as mixing
from rankloop.rankers.auto.bags import Bag, Folds
from rankloop.rankers.auto.costs import SAFETY
from rankloop.rankers.auto.stack import Stack

DATA = synthetic(n_queries=80, docs_per_query=10, n_features=6, seed=3)


def ranker(**more):
    return AutoRanker(minutes=5, fits=8, folds=2, divisions=1, backends=["lightgbm"], threads=1, **more)


def test_more_bags_are_compared_where_there_is_time():
    made = ranker(members=1).fit(DATA)
    about = next(reason for reason in made.reasons_ if "fitted again" in reason)
    assert int(re.match(r"\d+", about)[0]) == 4
    assert len(made.parts_) == 1


def test_of_equal_weights_the_best_on_queries_left_out_are_kept(monkeypatch):
    """The validation set, by which they are ordered before, has fewer queries."""
    kept = []

    def equal(scores, data, *given, **more):
        return Stack(np.full(scores.shape[1], 1 / scores.shape[1]), "equal")

    def as_they_are(bags, *given):
        kept.append([bag.candidate for bag in bags])
        return bags, 1

    monkeypatch.setattr(mixing, "stack", equal)
    monkeypatch.setattr(mixing, "repeated", as_they_are)
    for members in (2, 8):
        assert len(ranker(members=members).fit(DATA).parts_) == len(kept[-1])
    assert len(kept[0]) == 2 < len(kept[1])
    assert kept[0] == kept[1][:2]


def test_time_that_does_not_suffice_for_all_is_spent_on_the_first(monkeypatch):
    """Two bags of two folds; a division of the first takes 4 seconds with its margin, of the second 8."""

    class Hour:
        left = 10.0

    def bag(name, seconds):
        return Bag(name, ["a", "b"], np.array([1.0, 2.0]), seconds)

    def another(name, over, repeat, clock, seconds, setting):
        clock.left -= over.used * seconds
        return [Bag(name, ["c", "d"], np.array([4.0, 5.0]), seconds)]

    monkeypatch.setattr(bagging, "_bag", another)
    over = Folds(DATA, np.arange(10), 2, 2, False, 0)
    first, second = bag("first", 2 / SAFETY), bag("second", 4 / SAFETY)
    made, divisions = bagging.repeated([first, second], over, Hour(), 3, None)
    assert divisions == 3
    assert made[0].rankers == ["a", "b", "c", "d", "c", "d"]
    np.testing.assert_allclose(made[0].scores, [3, 4])
    assert made[1] is second
