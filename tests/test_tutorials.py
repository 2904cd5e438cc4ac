"""Every tutorial runs from top to bottom, in a process of its own, and quickly."""

import json
import os
import re
import subprocess
import sys
import tempfile

import pytest

from house import ROOT

SITE = ROOT / "scripts" / "site"
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
SECONDS = 300  # of processor time, together
LOADED = 900  # seconds of one of them on a machine that does other work
RUN = """
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
import notebooks

path = Path(sys.argv[2])
cells = notebooks.read(path)
notebooks.run(cells, path.name)
Path("page.md").write_text(notebooks.page(cells), encoding="utf-8")
print(sum(len(cell.outputs) for cell in cells), sum("<svg" in one for cell in cells for one in cell.outputs))
"""


@pytest.fixture(scope="module")
def notebooks():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SITE))
        import notebooks

        yield notebooks
    sys.modules.pop("notebooks", None)


@pytest.fixture(scope="module")
def spent():
    """The seconds of processor time of each tutorial that was run."""
    return {}


@pytest.mark.slow
@pytest.mark.timeout(LOADED)
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs(path, notebooks, tmp_path, spent):
    if wanted := notebooks.missing_data(path):
        pytest.skip(f"set RANKLOOP_DATA to a folder with {wanted} to run this")
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", RUN, str(SITE), str(path)],
        cwd=tmp_path,
        env=os.environ.copy(),
        capture_output=True,
        text=True,
        timeout=LOADED,
    )
    after = os.times()
    assert done.returncode == 0, done.stderr[-4000:]
    spent[path.stem] = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    assert sum(spent.values()) < SECONDS, spent
    shown, pictures = map(int, done.stdout.split())
    assert shown >= 3
    assert pictures >= 1
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert tempfile.gettempdir() not in page, "a folder of this machine is shown"
    assert not re.search(r" at 0x[0-9a-f]{6}", page), "an object without a repr is shown"


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_holds_no_outputs_and_is_short(path, notebooks):
    cells = notebooks.read(path)
    assert cells[0].kind == "markdown"
    assert cells[0].text.startswith("# ")
    assert sum(len(cell.text.splitlines()) for cell in cells) < 120
    named = [cell["id"] for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    assert len(named) == len(set(named))


def test_there_are_tutorials():
    assert TUTORIALS


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_the_overview_says_what_a_tutorial_requires(path, notebooks):
    said = re.search(r"`pip install ([^`]+)`", notebooks.read(path)[0].text)
    overview = (path.parent / "index.md").read_text(encoding="utf-8")
    listed = re.findall(rf"\({path.stem}\.md\) \| `([^`]+)`", overview)
    assert listed == [said[1].replace("'", "") if said else "rankloop"]


def write(folder, **cell):
    path = folder / "one.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "metadata": {}, "cells": [cell]}), encoding="utf-8")
    return path


def test_outputs_are_refused(notebooks, tmp_path):
    path = write(tmp_path, cell_type="code", source=["1"], outputs=[{"output_type": "stream"}])
    with pytest.raises(ValueError, match=r"one\.ipynb holds outputs in cell 1; clear them"):
        notebooks.read(path)


def test_an_older_format_is_refused(notebooks, tmp_path):
    path = tmp_path / "old.ipynb"
    path.write_text('{"nbformat": 3}', encoding="utf-8")
    with pytest.raises(ValueError, match="must be a notebook of format 4, got 3"):
        notebooks.read(path)


def test_a_cell_gives_what_it_prints_and_its_last_value(notebooks, tmp_path):
    cells = notebooks.read(write(tmp_path, cell_type="code", source=["x = 2\n", "print('<x>')\n", "x + 1"]))
    notebooks.run(cells, "one")
    assert cells[0].outputs == ['<pre class="output">&lt;x&gt;</pre>', '<pre class="output">3</pre>']
    assert notebooks.page(cells).startswith("```python\nx = 2")


def test_a_cell_that_fails_says_where(notebooks, tmp_path):
    cells = notebooks.read(write(tmp_path, cell_type="code", source=["1 / 0"]))
    with pytest.raises(ZeroDivisionError) as raised:
        notebooks.run(cells, "one.ipynb")
    assert str(raised.traceback[-1].path) == "one.ipynb, cell 1"


def test_a_collection_that_is_not_here_is_named(notebooks, tmp_path, monkeypatch):
    path = tmp_path / "one.ipynb"
    text = {"nbformat": 4, "metadata": {"rankloop": {"data": "letor"}}, "cells": []}
    path.write_text(json.dumps(text), encoding="utf-8")
    monkeypatch.setenv("RANKLOOP_DATA", str(tmp_path))
    assert notebooks.missing_data(path) == "letor"
    (tmp_path / "letor").mkdir()
    assert notebooks.missing_data(path) is None
