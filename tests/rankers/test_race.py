"""Which setting a search measures next, and on which fold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.rankers.base import improvement, race
from rankloop.rankers.base.race import STARTUP, Race
from rankloop.rankers.base.space import Space

SPACE = Space.of({"x": (0.0, 1.0), "y": (0.0, 1.0)})


def run(race, budget, value):
    """The race to its end; `value(params, fold)` is what a fit reaches."""
    left = budget
    while left and (found := race.next_fit(left)):
        runner, fold = found
        assert fold not in dict(runner.folds())
        runner.values.append(value(runner.params, fold))
        left -= 1
    return left


@given(
    budget=st.integers(1, 40),
    folds=st.integers(2, 5),
    known=st.integers(0, 10),
    prune=st.booleans(),
    space=st.sampled_from([SPACE, Space.of({"x": [0.1, 0.5], "y": [0.2, 0.9]})]),
    seed=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_fits_are_spent_and_the_best_has_all_folds(budget, folds, known, prune, space, seed):
    rng = np.random.default_rng(seed)
    race = Race(space, space.settings(SPACE.draw(known, rng)) if space is SPACE else [], folds, prune, seed)
    values = {}

    def value(params, fold):
        return values.setdefault((*params.values(), fold), rng.normal())

    left = run(race, budget, value)
    assert len(values) == sum(len(one.values) for one in race.runners) == budget - left
    if space is SPACE:
        assert left < folds
    stopped = [one for one in race.runners if one.left]
    assert all(one.left > left for one in stopped)
    finished = [one for one in race.runners if not one.left]
    assert bool(finished) == (budget >= folds)
    assert race.best is max(finished, key=lambda one: one.mean, default=None)
    assert len({tuple(one.params.values()) for one in race.runners}) == len(race.runners)
    if not prune:
        assert not stopped
    if space is not SPACE and budget > 4 * folds:
        assert len(finished) == 4


def test_known_settings_begin_first_then_random_ones():
    known = [{"x": 0.5, "y": 0.25}, {"x": 0.5, "y": 0.25}, {"x": 0.75, "y": 0.5}]
    race = Race(SPACE, known, folds=3, prune=True, seed=0)
    begun = [race.next_fit(90)[0].values.append(0.5) or race.runners[-1].params for _ in range(STARTUP)]
    assert begun[:2] == [known[0], known[2]]
    assert len({tuple(one.values()) for one in begun}) == STARTUP
    assert race.next_fit(90)[0] in race.runners[:STARTUP]  # none has all folds: one of them is finished first


def test_a_setting_that_is_far_behind_stops():
    race = Race(SPACE, [], folds=3, prune=True, seed=0)
    run(race, 90, lambda params, fold: params["x"] + 0.3 * fold)
    bad = [one for one in race.runners if one.params["x"] < 0.5]
    assert bad
    assert all(len(one.values) == 1 for one in bad)
    assert race.best.params["x"] > 0.95


@pytest.mark.parametrize("prune", [True, False])
def test_what_the_model_leaves_out_does_not_go_on(prune, monkeypatch):
    """Where there are many settings, it is fitted to the best ones; the others stay as bad as they were."""
    monkeypatch.setattr(race, "MOST", 5)
    one = Race(SPACE, [], folds=3, prune=prune, seed=0)
    assert run(one, 120, lambda params, fold: params["x"] + 0.3 * fold) == 0
    assert len(one.runners) > 40 or not prune
    assert not prune or all(len(runner.values) == 1 for runner in one.runners if runner.params["x"] < 0.5)
    assert one.best.params["x"] > 0.95


def test_without_pruning_a_setting_has_all_folds_also_where_one_gives_no_value():
    one = Race(SPACE, [], folds=3, prune=False, seed=0)
    run(one, 30, lambda params, fold: np.nan if fold == 1 and params["x"] > 0.5 else params["x"])
    assert [len(runner.values) for runner in one.runners] == [3] * 10
    assert one.best.params["x"] <= 0.5


def test_folds_come_in_random_order():
    race = Race(SPACE, [], folds=3, prune=True, seed=0)
    run(race, 90, lambda params, fold: params["x"])
    first = [one.order[0] for one in race.runners]
    assert min(first.count(fold) for fold in range(3)) > len(first) / 6


@pytest.mark.parametrize("prune", [True, False])
def test_a_setting_without_a_value_is_never_the_best(prune):
    race = Race(SPACE, [{"x": 0.9, "y": 0.5}], folds=2, prune=prune, seed=0)
    run(race, 40, lambda params, fold: params["x"] if params["x"] < 0.8 else np.nan)
    assert any(np.isnan(one.mean) for one in race.runners)
    assert 0.6 < race.best.params["x"] < 0.8
    race = Race(SPACE, [], folds=2, prune=prune, seed=0)
    assert run(race, 10, lambda params, fold: np.nan) < 2
    assert race.best is None


def test_settings_that_wait_for_values_keep_others_away():
    race = Race(SPACE, [], folds=2, prune=False, seed=0)
    for _ in range(STARTUP):
        runner = race.begin()
        runner.values = [-((runner.params["x"] - 0.3) ** 2)] * 2
    waiting = np.array([race.begin().place for _ in range(6)])
    apart = SPACE.apart(waiting, waiting).max(axis=2) + np.eye(6)
    assert apart.min() > 0.05


def test_more_is_found_than_by_whole_trials_where_settings_differ_by_chance_alone(monkeypatch):
    """No setting is better than another here: more of them begin, and the lucky ones have all folds."""
    monkeypatch.setattr(improvement, "MODELS", 4)
    monkeypatch.setattr(race, "CANDIDATES", 50)
    budget, reached = 60, []
    for seed in range(120):
        noise = np.random.default_rng(seed)
        one = Race(SPACE, [], folds=3, prune=True, seed=seed)
        run(one, budget, lambda params, fold, noise=noise: noise.normal())
        reached.append(one.best.mean)
    whole = np.random.default_rng(0).normal(size=(20_000, budget // 3, 3)).mean(axis=2).max(axis=1).mean()
    assert np.mean(reached) - 2 * np.std(reached) / np.sqrt(len(reached)) > whole
    assert whole == pytest.approx(1.08, abs=0.01)


def test_it_finds_the_best_of_a_smooth_function_sooner_than_chance():
    space = Space.of({"x": (0.01, 100.0, "log"), "y": (0.0, 1.0), "kind": ["a", "b"]})

    def value(one, fold=0):
        return -((np.log10(one["x"]) / 4) ** 2) - (one["y"] - 0.3) ** 2 - 0.1 * (one["kind"] == "b") + fold

    reached, chance = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        chance.append(max(value(one) for one in space.settings(space.draw(40, rng))))
        race = Race(space, [], folds=2, prune=False, seed=seed)
        run(race, 40, value)
        reached.append(race.best.mean - 0.5)
    assert np.mean(reached) > 0.25 * np.mean(chance)  # both below 0, the maximum
