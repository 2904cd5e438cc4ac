"""The time of `AutoRanker`: what is left, and what is kept for the weights at the end."""

import time

from rankloop.data import synthetic
from rankloop.rankers import AutoRanker
from rankloop.rankers.auto import mixture as mixing
from rankloop.rankers.auto.clock import Clock


def test_what_is_kept_is_not_left():
    clock = Clock(100)
    clock.keep(40)
    assert 59 < clock.left <= 60
    clock.keep(10)
    assert 89 < clock.left <= 90
    assert clock.until(0.5) <= 50  # parts of all the time stay as they are
    clock.interrupt()
    assert clock.left == 0


def test_the_last_choice_of_weights_is_part_of_the_time(monkeypatch):
    """It takes as long as the first one; further divisions must leave that time."""
    weighted, again, kept = mixing._weighted, mixing.repeated, []

    def slow(*given):
        time.sleep(0.4)
        return weighted(*given)

    def further(made, over, clock, *given):
        kept.append(clock.seconds - clock.spent - clock.left)
        return again(made, over, clock, *given)

    monkeypatch.setattr(mixing, "_weighted", slow)
    monkeypatch.setattr(mixing, "repeated", further)
    data = synthetic(n_queries=60, docs_per_query=8, n_features=4, seed=0)
    AutoRanker(minutes=1, fits=3, members=2, folds=2, backends=["lightgbm"], threads=1).fit(data)
    assert 0.4 <= kept[0] < 10
