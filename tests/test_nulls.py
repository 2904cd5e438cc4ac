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


@pytest.mark.parametrize("kind", ["ab", "interleave"])
def test_generated_stores_have_the_rows_of_the_service(tmp_path, kind):
    from sqlalchemy import insert, select

    from null_lab import served
    from null_lab.experiments import Site
    from rankloop.serve.events.shown_page import Event, ShownPage
    from rankloop.serve.events.store import Store
    from rankloop.serve.events.tables import clicks, experiments, pages
    from rankloop.serve.experiments.experiments import Experiments

    with (
        Store.open(f"sqlite:///{tmp_path}/made.db") as made,
        Store.open(f"sqlite:///{tmp_path}/put.db") as put,
    ):
        one = Experiments(made).start("v1", "v2", kind=kind, how="team_draft")
        served.fill(made, one, Site(60), np.random.default_rng(0), 3)
        with put.writing() as connection:
            connection.execute(insert(experiments), vars(one))
        found = made.credits(one.id)
        assert {page.ranker for page in found} == ({"v1", "v2"} if kind == "ab" else {"v1 + v2"})
        assert 0 < sum(bool(page.clicked) for page in found) < len(found)
        put.put_pages(
            [
                ShownPage(
                    page.page_id, page.time, page.query, page.documents, np.zeros(6), np.zeros((6, 1)),
                    ("x",), page.ranker, user=page.user, policy=kind, experiment=one.id,
                    randomness=page.randomness,
                )
                for page in found
            ]
        )  # fmt: skip
        put.put_events(
            [
                Event("e", page.page_id, "click", page.clicked[0], time=page.time + 1)
                for page in found
                if page.clicked
            ]
        )
        for table in (pages, clicks):
            with made.reading() as first, put.reading() as second:
                rows = [
                    connection.execute(select(table).order_by(table.c.page_id)).mappings().all()
                    for connection in (first, second)
                ]
            assert rows[0] == rows[1]
        assert Experiments(made).progress(one).verdict == Experiments(put).progress(one).verdict


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
    shares = (None, 0.9, 0.95)  # of the results that say so themselves
    assert [coverage("x", "", 1, 100, said=one).state for one in shares] == ["missed", "missed", "warned"]
    assert coverage("x", "", 95, 100, said=0.0).state == "ok"


def test_the_command_prints_a_table_and_what_is_missed(tmp_path, capsys, monkeypatch):
    import json

    import nulls
    from null_lab.cell import coverage

    made = [
        coverage("a", "good", 95, 100),
        coverage("b", "known", 10, 100, note="a reason"),
        coverage("c", "bad", 9, 100),
        coverage("d", "told", 8, 100, note="a warning says so in 96%", said=0.96),
    ]
    monkeypatch.setattr(nulls, "cells", lambda **_: iter(made))
    monkeypatch.setattr(nulls, "_sections", lambda only: ["section"])
    monkeypatch.setattr(sys, "argv", ["nulls.py", "--quick", "--json", str(tmp_path / "cells.json")])
    assert nulls.main() == 1, "a miss that nothing says is a failure"
    shown = capsys.readouterr().out
    assert (
        "1 of 4 cells hold; 1 are outside their bar with a warning in the result; 2 missed, 1 of them"
        in shown
    )
    assert "WARNED: a warning says so in 96%" in shown
    assert "missed: c, bad: 9.0%" in shown
    written = json.loads((tmp_path / "cells.json").read_text())["section"]
    assert [one["ok"] for one in written["cells"]] == [True, False, False, False]


def test_a_section_is_replaced_in_the_file_and_the_table_on_its_page(tmp_path, capsys, monkeypatch):
    import nulls
    from null_lab.cell import coverage
    from null_lab.results import Section, load, save

    file, page = tmp_path / "results" / "cells.json", tmp_path / "page.md"
    kept = Section.of([coverage("a", "half", 95, 100)], 2.04)
    save({"one": Section.of([coverage("b", "earlier", 1, 100)], 1.0), "two": kept}, file)
    again = Section.of([coverage("b", "new", 10, 100, note="the reason"), coverage("c", "x", 2, 100)], 3.0)
    save({"one": again}, file)
    assert load(file) == {"one": again, "two": kept}
    assert kept.cpu_minutes == 2.0
    page.write_text("above\n<!-- the table begins -->\nearlier\n<!-- the table ends -->\nbelow\n")
    monkeypatch.setattr(sys, "argv", ["nulls.py", "--from", str(file), "--markdown", str(page)])
    assert nulls.main() == 1
    assert "missed: c, x: 2.0%" in capsys.readouterr().out
    text = page.read_text()
    assert text.startswith("above\n")
    assert text.endswith("<!-- the table ends -->\nbelow\n")
    assert "earlier" not in text
    assert "| b | new | coverage | 10.0% | 100 | 87.9% to 100.0% | the reason |" in text
    assert "| c | x | coverage | 2.0% | 100 | 87.9% to 100.0% | not explained by the result |" in text
    assert "1 of 3 cells hold; 2 missed; 5 minutes of CPU time" in text
    page.write_text("no marks")
    with pytest.raises(SystemExit, match="needs a line"):
        nulls.main()


def test_the_page_of_proof_has_the_table_of_the_measured_cells():
    from null_lab.results import load
    from null_lab.table import BEGIN, END, markdown

    root = Path(__file__).parents[1]
    page = (root / "docs" / "proof.md").read_text(encoding="utf-8")
    shown = page.partition(BEGIN)[2].partition(END)[0]
    measured = load(root / "benchmarks" / "results" / "nulls.json")
    assert shown.strip() == markdown(measured).strip()
    for section in measured.values():  # every miss without a reason of its own has a sentence on the page
        for one in section.cells:
            assert one.ok or one.note or f"**{one.subject}, {one.condition}**" in page
