"""No figure is typed by hand: benchmarks write files, and the tables of the documentation are these files."""

import json
import re
import sys

import pytest

from house import ROOT

BENCHMARKS = ROOT / "benchmarks"
FILES = sorted((BENCHMARKS / "results").glob("*.json"))
TYPED = {"docs/proof.md": "written by benchmarks/nulls.py, which tests/test_nulls.py compares"}
OWN_FORM = {"nulls"}  # `benchmarks/nulls.py` writes cells of its own, which tests/test_nulls.py compares


@pytest.fixture(scope="module")
def scripts():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        patch.syspath_prepend(str(BENCHMARKS))
        import tables

        import results

        yield results, tables
    for name in ("results", "tables", "layouts", "estimates"):
        sys.modules.pop(name, None)


@pytest.fixture
def results(scripts, monkeypatch):
    monkeypatch.setattr(scripts[0], "_measured", {})
    return scripts[0]


@pytest.fixture
def tables(scripts):
    return scripts[1]


def test_every_benchmark_takes_json_and_records_rows():
    wrong = []
    for path in sorted(BENCHMARKS.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        if '__name__ == "__main__"' not in text or path.stem in OWN_FORM | {"results"}:
            continue
        if '\nif __name__ == "__main__":\n    benchmark(main)\n' not in text or "record(" not in text:
            wrong.append(path.name)
    assert wrong == []
    assert '"--json"' in (BENCHMARKS / "nulls.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.stem not in OWN_FORM], ids=lambda one: one.stem
)
def test_a_file_of_results_says_when_and_where_and_names_no_host(path, results):
    found = results.load(path)
    assert found["name"] == path.stem
    for table in found["tables"].values():
        assert (ROOT / table.get("script", f"benchmarks/{path.stem}.py")).exists()
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", table["date"])
        assert table["rows"]
        assert re.match(r"\d+ cores, \d+ GB, \w+, Python 3", table["machine"])
        assert isinstance(table["load"], int | float)
        assert all(isinstance(row, dict) for row in table["rows"])
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"(?<!\w)/(work|tmp|home|root)/", text)


def test_the_tables_of_the_documentation_are_those_of_the_files(tables):
    differ = [
        page.relative_to(ROOT).as_posix()
        for page in tables.pages()
        if tables.written(text := page.read_text(encoding="utf-8")) != text
    ]
    assert differ == [], "run make tables"


def typed_tables(text, tables):
    """The first lines of tables with three or more decimal figures that stand outside generated blocks."""
    text = re.sub(r"^```.*?^```", "", tables.BLOCK.sub("", text), flags=re.MULTILINE | re.DOTALL)
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    figure = re.compile(r"\|\s*[-+−*]*\d*\.\d")
    return [block.splitlines()[0] for block in blocks if len(figure.findall(block)) >= 3]


def test_no_table_of_figures_is_typed_by_hand(tables):
    found = {
        name: typed
        for page in tables.pages()
        if (name := page.relative_to(ROOT).as_posix()) not in TYPED
        and (typed := typed_tables(page.read_text(encoding="utf-8"), tables))
    }
    assert found == {}, "let the benchmark --json them, and put them in a block of make tables"
    assert [
        name for name in TYPED if not typed_tables((ROOT / name).read_text(encoding="utf-8"), tables)
    ] == []


def test_a_table_that_is_typed_by_hand_is_found(tables):
    typed = "| who | ndcg |\n|---|---:|\n| a | .678 |\n| b | 0.7 |\n| c | -0.71 |\n"
    assert typed_tables(typed, tables) == ["| who | ndcg |"]
    assert typed_tables(f"<!-- table: x/t -->\n{typed}<!-- end of table -->\n", tables) == []
    assert typed_tables("| limit | value |\n|---|---|\n| a | 3 |\n| b | 4 MB |\n| c | 1.5 |\n", tables) == []


def typed_differences(text, tables):
    """Differences and errors, as in +0.012 or ± .03, that stand in sentences."""
    text = re.sub(r"^```.*?^```|`[^`]*`", "", tables.BLOCK.sub("", text), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"[+−±-] ?\d?\.\d{2,}", re.sub(r"^\|.*$", "", text, flags=re.MULTILINE))


def test_no_measured_difference_is_typed_in_a_sentence(tables):
    found = {
        page.name: typed
        for page in tables.pages()
        if (typed := typed_differences(page.read_text(encoding="utf-8"), tables))
    }
    assert found == {}, "say what the table shows, or let the benchmark print it"


def test_a_difference_in_a_sentence_is_found(tables):
    assert typed_differences("It gained +0.012 ± .03 here.", tables) == ["+0.012", "± .03"]
    assert typed_differences("`gain=+0.012` at 0.95\n| a | +0.012 |\n", tables) == []


def test_there_are_such_tables(tables):
    names = [one for page in tables.pages() for one in tables.BLOCK.findall(page.read_text(encoding="utf-8"))]
    assert len(names) == len(set(names)) > 25


def test_estimates_are_worked_out_from_the_last_row(tables):
    """A second per million impressions makes 10,000 of 10^10, or 2.8 hours; on 32 cores 312 seconds."""
    small = {"rows": 10, "write": 9.0, "count": 9.0, "curve": 9.0, "bytes": 9.0, "cells": 9}
    large = {"rows": 100, "write": 1.0, "count": 0.36, "curve": 1.0, "bytes": 2.5, "cells": 50}
    _, made = tables.ESTIMATES["impressions"]
    _, write, curve, count = made([small, large])
    assert write[1] == "2.8 hours"
    assert write[3].startswith("25 GB of shards")
    assert curve[1:3] == ["2.8 hours", "5 minutes"]
    assert count[1] == "1.0 hours"
    assert count[3] == "28 bytes per cell: 140 GB at 0.5 cells per impression"


def test_marks_come_in_pairs(tables):
    for page in tables.pages():
        text = page.read_text(encoding="utf-8")
        assert (
            text.count("<!-- table: ")
            == text.count("<!-- end of table -->")
            == len(tables.BLOCK.findall(text))
        )


def test_a_changed_figure_is_noticed(tables):
    page = ROOT / "docs/figures.md"
    text = page.read_text(encoding="utf-8")
    block = tables.BLOCK.search(text)
    figure = re.search(r"\d+\.\d", block[0])
    start = block.start() + figure.start()
    changed = text[:start] + "999.9" + text[start + len(figure[0]) :]
    assert changed != text
    assert tables.written(changed) == text


def test_a_run_writes_its_rows_and_keeps_the_tables_of_others(results, tmp_path, monkeypatch):
    file = tmp_path / "x.json"

    def main():
        results.record("a", who="us", ms=1.23456789, many=(1, 2), bad=float("nan"), missing=None)
        assert sys.argv[1:] == ["--quick", "/somewhere/data.txt"]

    monkeypatch.setattr(sys, "argv", ["x.py", "--quick", "--json", str(file), "/somewhere/data.txt"])
    results.benchmark(main)
    first = results.load(file)["tables"]["a"]
    assert first["rows"] == [{"who": "us", "ms": 1.23457, "many": [1, 2], "bad": None, "missing": None}]
    assert first["options"] == ["--quick", "data.txt"]
    assert first["machine"] == results.machine()
    results.save(file, {"b": [{"n": 1}]}, [])
    assert list(results.load(file)["tables"]) == ["a", "b"]
    results.save(file, {"a": [{"n": 2}]}, [])
    assert results.load(file)["tables"]["a"]["rows"] == [{"n": 2}]
    assert results.load(file)["tables"]["b"]["rows"] == [{"n": 1}]
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_a_run_without_json_writes_nothing(results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["x.py"])
    results.benchmark(lambda: results.record("a", n=1))
    assert list(tmp_path.iterdir()) == []


def test_what_failed_or_measured_nothing_leaves_the_file_alone(results, tmp_path, monkeypatch):
    file = tmp_path / "x.json"
    results.save(file, {"a": [{"n": 1}]}, [])
    before = file.read_bytes()
    monkeypatch.setattr(sys, "argv", ["x.py", f"--json={file}"])
    with pytest.raises(SystemExit, match="nothing was measured"):
        results.benchmark(lambda: None)

    def broken():
        results.record("a", n=2)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        results.benchmark(broken)
    assert file.read_bytes() == before


def test_json_wants_a_file(results, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["x.py", "--json"])
    with pytest.raises(SystemExit, match="--json wants a file"):
        results.benchmark(lambda: None)


def test_another_json_file_is_refused(results, tmp_path):
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(ValueError, match=r"x\.json has no results of a benchmark"):
        results.load(tmp_path / "x.json")


def test_a_table_is_written_as_its_layout_says(results, tables, tmp_path, monkeypatch):
    layout = tables.Layout(
        {"who": "{who}", "at .5": "{ms_05:,.1f}, {share_05:.1%}", "at 2": "{ms_2:,.1f}, {share_2:.1%}"},
        {"ours": "`ours`"},
        across="eta",
    )
    monkeypatch.setitem(tables.LAYOUTS, "x/t", layout)
    rows = [
        {"who": "ours", "eta": 0.5, "ms": 1234.56, "share": 0.5},
        {"who": "ours", "eta": 2, "ms": 2.0, "share": None},
    ]
    results.save(tmp_path / "x.json", {"t": rows}, ["t"])
    text = "<!-- table: x/t -->\nold\n<!-- end of table -->\nrest"
    written = tables.written(text, tmp_path)
    assert written.splitlines()[1:4] == [
        "| who | at .5 | at 2 |",
        "| --- | ---: | ---: |",
        "| `ours` | 1,234.6, 50.0 % | 2.0, |",
    ]
    assert re.search(r"^\*`python benchmarks/x\.py t`, 20\d\d-.*load [\d.]+\.\*$", written, re.MULTILINE)
    assert written.endswith("<!-- end of table -->\nrest")


@pytest.mark.parametrize(
    ("row", "error"), [("nobody", "0 rows are 'nobody'"), ("a=1", "2 rows are 'a=1'"), ("a=1&b=3", None)]
)
def test_a_cell_is_found_by_its_row(tables, row, error):
    rows = [{"a": 1, "b": 2}, {"a": 1, "b": 3}]
    if error is None:
        assert tables._row(rows, row) == rows[1]
    else:
        with pytest.raises(LookupError, match=error):
            tables._row(rows, row)


def test_a_missing_table_is_named(tables, tmp_path):
    (tmp_path / "x.json").write_text(json.dumps({"name": "x", "tables": {"a": {"rows": []}}}))
    with pytest.raises(LookupError, match=r"x\.json has no table 'b'; it has a"):
        tables.table_of("x/b", tmp_path)
