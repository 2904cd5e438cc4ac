"""Curves of grids and carousels."""

import numpy as np
import pytest

from rankloop.clicks import PBM, ClickLog, World, simulate
from rankloop.clicks.simulation.people import GRIDS, cells
from rankloop.data import synthetic
from rankloop.propensity import by_cell, estimate

DATA = synthetic(n_queries=60, docs_per_query=12, n_features=4, seed=0)
WORTH = [0.1, 0.2, 0.4, 0.7, 0.9]


def logged(kind, sessions, seed, columns=5, k=10):
    user = PBM(examination=cells(*GRIDS[kind]), attraction=WORTH)
    return simulate(
        DATA,
        logging_policy=DATA.X[:, 0],
        user=user,
        sessions=sessions,
        k=k,
        columns=columns,
        randomize="shuffle",
        seed=seed,
    )


@pytest.mark.parametrize("kind", ["grid", "carousel"])
def test_the_curve_is_found(kind):
    log = logged(kind, 60_000, 1)
    found = by_cell(log)
    truth = cells(*GRIDS[kind])(np.arange(1, 11))
    np.testing.assert_allclose(found.values, truth / truth[0], rtol=0.08)
    assert np.all(found.low <= found.values)
    assert np.all(found.values <= found.high)
    by_position = estimate(log)
    assert (found.stopping, found.units) == (by_position.stopping, by_position.units)
    assert found.trust is not None
    assert found.trust.to_dict() == by_position.trust.to_dict()
    if kind == "carousel":
        assert found.values[5] > found.values[4]  # the next row begins where people look again


def test_rows_and_columns_tell_more_than_positions():
    """The mean squared error of the logarithms, over ten logs."""
    truth = np.log(cells(*GRIDS["grid"])(np.arange(1, 11)))
    errors = []
    for seed in range(10):
        log = logged("grid", 3000, seed)
        curves = by_cell(log).values, estimate(log).values
        errors.append([np.mean((np.log(one) - truth) ** 2) for one in curves])
    cell, position = np.mean(errors, axis=0)
    assert cell < 0.85 * position


@pytest.mark.filterwarnings("ignore:people trust high ranks")  # in 5 % of logs by chance
def test_intervals_cover():
    truth = cells(*GRIDS["grid"])(np.arange(1, 11))
    inside = np.zeros(9)
    for seed in range(40):
        found = by_cell(logged("grid", 4000, 100 + seed))
        inside += (found.low[1:] <= truth[1:]) & (truth[1:] <= found.high[1:])
    assert 0.9 <= inside.mean() / 40 <= 0.99


def test_places_are_kept_in_the_log(tmp_path):
    log = logged("grid", 50, 0, columns=3, k=7)
    assert log.row is not None
    np.testing.assert_array_equal(log.row, (log.position - 1) // 3 + 1)
    np.testing.assert_array_equal(log.column, (log.position - 1) % 3 + 1)
    again = ClickLog.from_frame(log.to_frame())
    np.testing.assert_array_equal(again.row, log.row)
    np.testing.assert_array_equal(log.select([3, 1]).column, np.tile([1, 2, 3, 1, 2, 3, 1], 2))
    drawn = World(people="carousel", queries=40, sessions=200, seed=1).draw()
    assert drawn.log.row is not None
    assert drawn.log.row.max() == 2
    assert drawn.log.column.max() == 5


def test_bad_input():
    log = logged("grid", 200, 0)
    with pytest.raises(ValueError, match="no columns row and column"):
        by_cell(simulate(DATA, logging_policy=DATA.y, sessions=100, randomize="shuffle", seed=0))
    with pytest.raises(ValueError, match="by_layout"):
        by_cell(ClickLog.concat([log, logged("grid", 200, 0, columns=4)]))
    with pytest.raises(ValueError, match="side by side"):
        simulate(DATA, logging_policy=DATA.y, sessions=10, columns=0)
    with pytest.raises(ValueError, match="row"):
        ClickLog([1], ["q"], ["d"], [1], [0], row=[-1], column=[1])
