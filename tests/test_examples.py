"""Every example is a script that a newcomer can run and read in one go."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
SECONDS = 120


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", str(example)],
        cwd=tmp_path,
        env={**os.environ, "RANKLOOP_QUICK": "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "an example prints what it found"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_numbered(example):
    assert example.stem[:2].isdigit()
    assert len(example.read_text(encoding="utf-8").splitlines()) < 60


def test_there_are_examples():
    assert EXAMPLES
