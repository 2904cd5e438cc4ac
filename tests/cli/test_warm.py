"""The first evaluation of large files on a new machine: compiled by two processes, nothing left running."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from rankloop.data import synthetic, write_svmlight

LARGE = """
import sys
from types import SimpleNamespace
from rankloop import _jit
from rankloop.cli import main
from rankloop.cli.options import warm
from rankloop.data.svmlight import blocks
_jit._patience = warm._SMALL_DATA = blocks._SMALL = 0  # every file counts as large
main()
"""


@pytest.mark.slow
def test_the_first_answer_is_the_next_answer(tmp_path):
    data = synthetic(n_queries=5, docs_per_query=10, n_features=4, seed=0)
    write_svmlight(data, tmp_path / "test.txt")
    np.savetxt(tmp_path / "scores.txt", data.X[:, 0])
    command = [sys.executable, "-c", LARGE, "evaluate", "scores.txt", "test.txt", "--json"]
    cold = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def answer():
        done = subprocess.run(command, cwd=tmp_path, env=cold, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return json.loads(done.stdout)["metrics"]

    first = answer()
    compiled = {path.name for path in (tmp_path / "cache").rglob("*.nbi")}
    assert compiled
    assert answer() == first
    assert {path.name for path in (tmp_path / "cache").rglob("*.nbi")} == compiled


def test_a_bad_file_stops_both(tmp_path):
    (tmp_path / "broken.txt").write_text("1 qid:1 nonsense\n")
    (tmp_path / "scores.txt").write_text("1.0\n")
    cold = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "rankloop", "evaluate", "scores.txt", "broken.txt"]
    done = subprocess.run(command, cwd=tmp_path, env=cold, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("rankloop: broken.txt")


@pytest.mark.parametrize("compiled", [True, False])
def test_the_first_start_of_a_service_says_that_it_compiles(compiled, monkeypatch, capsys):
    from rankloop.cli.serve import _mention_compiling
    from rankloop.search.features.kernels import statistics

    monkeypatch.setattr(statistics._make(), "_cache", SimpleNamespace(on_disk=compiled))
    _mention_compiling()
    assert ("compiling the search" in capsys.readouterr().err) is not compiled
