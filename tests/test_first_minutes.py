"""The first minutes of four users, and the lines of the same job: the scripts of two benchmarks."""

import os
import sys
from pathlib import Path

import pytest

BENCHMARKS = str(Path(__file__).parents[1] / "benchmarks")


@pytest.fixture(scope="module")
def scripts():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        import first_minutes
        import lines

        yield first_minutes, lines
    for name in ("first_minutes", "lines"):
        sys.modules.pop(name, None)


@pytest.fixture
def quick(monkeypatch, scripts):
    """Kernels that this interpreter has compiled already: a new home has none, and a test no time."""
    first_minutes, _ = scripts
    fresh = first_minutes.clean
    kept = {
        name: os.environ[name] for name in ("HOME", "XDG_CACHE_HOME", "OMP_NUM_THREADS") if name in os.environ
    }
    monkeypatch.setattr(first_minutes, "clean", lambda folder: fresh(folder) | kept)


LONG = pytest.mark.skipif(
    "RANKLOOP_FIRST_MINUTES" not in os.environ,
    reason="it takes a minute; set RANKLOOP_FIRST_MINUTES to run it",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["shop", *(pytest.param(name, marks=LONG) for name in ("scientist", "researcher", "data"))]
)
def test_the_first_commands_of_each_user_give_a_result(scripts, quick, name):
    first_minutes, _ = scripts
    _, used = first_minutes.measured(first_minutes.USERS[name], here=True)
    assert used.cpu > 0
    assert used.wall < 60 * first_minutes.BAR


def test_the_page_has_the_commands_that_are_measured(scripts):
    page = (Path(BENCHMARKS).parent / "docs" / "first_minutes.md").read_text()
    for user in scripts[0].USERS.values():
        assert f"pip install 'rankloop[{user.extra}]'" in page or (
            not user.extra and "pip install rankloop`" in page
        )
        for command in user.commands:
            words = command.split()
            shown = f"rankloop serve {words[1]}" if words[0] == "SERVE" else command
            assert f"\n{shown}\n" in page


def test_what_users_install_are_extras(scripts):
    import tomllib

    known = tomllib.loads((Path(BENCHMARKS).parent / "pyproject.toml").read_text())["project"]
    for user in scripts[0].USERS.values():
        assert set(filter(None, user.extra.split(","))) <= set(known["optional-dependencies"])


def test_lines_are_counted_without_blanks_comments_and_docstrings(scripts, tmp_path):
    (tmp_path / "a.py").write_text(
        '"""Two\nlines."""\n\n# why\nx = 1\n\n\ndef f():\n    """Doc."""\n    return x\n'
    )
    (tmp_path / "a.sh").write_text("# why\n\nls\n")
    assert scripts[1].count(tmp_path / "a.py") == 3
    assert scripts[1].count(tmp_path / "a.sh") == 1


def test_every_file_of_a_job_is_counted(scripts):
    _, lines = scripts
    found = {
        str(path.relative_to(lines.HERE))
        for path in lines.HERE.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert found == {
        f"{job}/{name}" for job, tools in lines.JOBS.items() for names in tools.values() for name in names
    }


@LONG
@pytest.mark.parametrize("job", ["train_and_compare", "search_and_rerank", "learn_from_clicks"])
def test_our_scripts_run(scripts, monkeypatch, job):
    monkeypatch.setenv("PYTHONPATH", str(Path(BENCHMARKS).parent / "src"))
    assert scripts[1].ran(job, "rankloop") == "yes"
