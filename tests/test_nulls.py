"""The quick part of the null laboratory: what is shown holds what it says, within Monte Carlo error."""

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = str(Path(__file__).parents[1] / "benchmarks")


@pytest.fixture(scope="module", autouse=True)
def laboratory():
    sys.path.insert(0, BENCHMARKS)
    yield
    sys.path.remove(BENCHMARKS)


@pytest.mark.parametrize(
    "subject", ["coverage_metrics", "coverage_unbiased", "coverage_importance", "alarms"]
)
def test_quick_cells_hold(subject):
    from nulls import cells, line

    found = list(cells(quick=True, only=subject))
    assert found
    missed = [line(one) for one in found if not one.ok and not one.note]
    assert not missed, "\n".join(missed)


def test_a_part_of_the_verdicts_holds():
    """Few experiments of some cells; `benchmarks/nulls.py --only verdicts` has them all."""
    from null_lab import verdicts
    from null_lab.experiments import Site
    from nulls import line

    some = [
        *verdicts._ab_cells(Site(400, "heavy"), 40),
        *verdicts._ab_cells(Site(400, trait="bots"), 40),
        *verdicts._interleaved_cells(
            "optimized",
            [
                verdicts._random_clicks(np.random.default_rng(seed), "optimized", "abcd, bcda", 1500)
                for seed in range(40)
            ],
            None,
        ),
        *verdicts._ab_power_of(Site(1000, lift=0.5), None, 0.9, 8),
    ]
    missed = [line(one) for one in some if not one.ok and not one.note]
    assert not missed, "\n".join(missed)


def test_a_part_of_the_served_verdicts_holds():
    from null_lab import served
    from null_lab.experiments import Site
    from nulls import line

    some = [
        served._stored("ab", "", Site(120, "zipf"), 4),
        served._stored("interleave", "team_draft", Site(120), 4),
        served._over_http("ab", 1, Site(60)),
        served._over_http("interleave", 1, Site(60)),
    ]
    missed = [line(one) for one in some if not one.ok]
    assert not missed, "\n".join(missed)


@pytest.mark.slow
def test_quick_cells_of_propensities_hold():
    from nulls import cells, line

    missed = [
        line(one) for one in cells(quick=True, only="coverage_propensity") if not one.ok and not one.note
    ]
    assert not missed, "\n".join(missed)


def test_bars_by_hand():
    """Of 1,000: 5 % + 2 * 0.69 % alarms, 93 to 97 % covered; of 100 two standard errors more."""
    from null_lab.cell import coverage, false_alarms

    assert false_alarms("x", "", 63, 1000).ok
    assert not false_alarms("x", "", 64, 1000).ok
    assert [coverage("x", "", held, 1000).ok for held in (929, 930, 970, 971)] == [False, True, True, False]
    assert coverage("x", "", 88, 100).ok
    assert not coverage("x", "", 87, 100).ok


def test_the_command_prints_a_table_and_what_is_missed(tmp_path, capsys, monkeypatch):
    import json

    import nulls
    from null_lab.cell import coverage

    made = [
        coverage("a", "good", 95, 100),
        coverage("b", "known", 10, 100, note="said"),
        coverage("c", "bad", 9, 100),
    ]
    monkeypatch.setattr(nulls, "cells", lambda **_: iter(made))
    monkeypatch.setattr(sys, "argv", ["nulls.py", "--quick", "--json", str(tmp_path / "cells.json")])
    assert nulls.main() == 1, "a miss that nothing says is a failure"
    shown = capsys.readouterr().out
    assert "1 of 3 cells hold; 2 are missed, 1 of them" in shown
    assert "missed: c, bad: 9.0%" in shown
    assert [one["ok"] for one in json.loads((tmp_path / "cells.json").read_text())] == [True, False, False]
