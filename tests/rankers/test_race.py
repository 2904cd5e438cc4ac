"""Settings that are measured fold by fold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.rankers.base.race import Race


def course(levels, folds, spread=0.05, queries=30):
    """How settings `{"at": i}` do on each fold: their level and the noise of each query."""
    rng = np.random.default_rng(0)
    each = np.asarray(levels)[:, None, None] + spread * rng.normal(size=(len(levels), folds, queries))
    return lambda params, fold: (float(each[params["at"], fold].mean()), each[params["at"], fold])


def test_what_is_behind_stops_and_the_least_behind_goes_on():
    race = Race(course([0.5, 0.3, 0.4, 0.6, 0.1], 3), 3, True)
    assert [len(race.begin({"at": at}).values) for at in range(5)] == [3, 1, 1, 3, 1]
    assert (race.fits, race.best.params) == (9, {"at": 3})
    assert not race.resume(most=1)  # one fit finishes none of them
    assert race.resume(most=2)
    assert race.resume(most=1)
    assert [len(one.values) for one in race.runners] == [3, 1, 3, 3, 1]
    assert race.fits == 11


def test_a_setting_that_goes_on_may_become_the_best():
    values = {0: [0.5, 0.5, 0.5], 1: [0.4, 0.7, 0.7]}
    race = Race(
        lambda params, fold: (values[params["at"]][fold], np.full(30, values[params["at"]][fold])), 3, True
    )
    assert [len(race.begin({"at": at}).values) for at in (0, 1)] == [3, 1]
    while race.resume(most=2):
        pass
    assert race.best is race.runners[1]


def test_what_is_saved_finds_more_where_settings_differ_by_chance_alone():
    """No setting is worse than another here: half of those that stop may be, but others take their fits."""
    best = {True: [], False: []}
    budget = 45
    for seed in range(300):
        each = np.random.default_rng(seed).random((budget, 3, 40))
        for prune, reached in best.items():
            race = Race(
                lambda at, fold, each=each: (each[at["at"], fold].mean(), each[at["at"], fold]), 3, prune
            )
            while race.fits + 3 <= budget:
                race.begin({"at": len(race.runners)})
            while race.resume(budget - race.fits):
                pass
            assert race.fits <= budget
            reached.append(np.mean(race.best.values))
    gain = np.subtract(best[True], best[False])
    assert gain.mean() > 3 * gain.std() / np.sqrt(len(gain))


@pytest.mark.parametrize("level", [np.nan, 0.5])
def test_a_setting_without_a_value_is_never_the_best(level):
    race = Race(course([np.nan, level, np.nan], 2), 2, True)
    for at in range(3):
        race.begin({"at": at})
    assert race.fits == 6
    assert race.best is (None if np.isnan(level) else race.runners[1])


@given(
    levels=st.lists(st.floats(0, 1), min_size=1, max_size=12),
    folds=st.integers(2, 5),
    prune=st.booleans(),
    more=st.integers(0, 8),
)
def test_fits_are_counted_and_the_best_has_all_folds(levels, folds, prune, more):
    run = course(levels, folds)
    race = Race(run, folds, prune)
    for at in range(len(levels)):
        race.begin({"at": at})
    budget = race.fits + more
    while race.resume(budget - race.fits):
        pass
    assert race.fits == sum(len(one.values) for one in race.runners) <= budget
    assert prune or race.fits == folds * len(levels)
    finished = [one for one in race.runners if race.finished(one)]
    assert race.best is max(finished, key=lambda one: np.mean(one.values))
    for one in race.runners:
        assert one.values == [run(one.params, fold)[0] for fold in range(len(one.values))]
    left = [one for one in race.runners if not race.finished(one)]
    assert all(folds - len(one.values) > budget - race.fits for one in left)
