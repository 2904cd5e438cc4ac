"""Small files that ask for much memory are refused before they get it; the sentence names the bound."""

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zstandard

import rankloop as rl

ROOM = 900  # megabytes of address space beyond what the library takes itself


def read_with_little_memory(kind, path):
    program = Path(__file__).parent / "reading.py"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(program), kind, str(path), str(ROOM)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-800:]
    return done.stdout


@pytest.mark.parametrize("kind", ["svmlight", "convert"])
def test_a_feature_with_a_huge_number(tmp_path, kind):
    path = tmp_path / "set.txt"
    path.write_text("1 qid:1 1:1\n" * 2000 + "1 qid:2 999999:1\n")
    assert path.stat().st_size < 30_000
    said = read_with_little_memory(kind, path)
    assert "a table of 999,999 features asks for" in said
    assert "read it with largest=" in said


def test_a_caller_may_raise_the_bound(tmp_path):
    path = tmp_path / "set.txt"
    path.write_text("1 qid:1 1:1\n" * 300 + "1 qid:2 300000:1\n")
    with pytest.raises(ValueError, match="read it with largest=") as error:
        rl.read_svmlight(path)
    largest = int(str(error.value).rpartition("=")[2])
    assert rl.read_svmlight(path, largest=largest).n_features == 300_000


@pytest.mark.parametrize("kind", ["qrels", "run"])
def test_one_long_id(tmp_path, kind):
    line = "q 0 {} 1\n" if kind == "qrels" else "q Q0 {} 1 0.5 t\n"
    path = tmp_path / "judged.txt"
    path.write_text(line.format("x" * 500_000) + "".join(line.format(f"d{i}") for i in range(20_000)))
    said = read_with_little_memory(kind, path)
    assert "an id of 500,000 bytes, the width of all others, asks for" in said
    read = rl.read_qrels if kind == "qrels" else rl.read_run
    with pytest.raises(ValueError, match="largest="):
        read(path)


def test_a_click_log_with_a_deep_position(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("session,query,document,position,click\n1,q,d,2000000000,1\n1,q,e,1,0\n2,q,d,1,1\n")
    assert path.stat().st_size < 140
    assert "position 2,000,000,000 where at most 10,000 is expected" in read_with_little_memory(
        "clicks", path
    )
    assert rl.read_clicks(path, deepest=2_000_000_000).n_positions == 2_000_000_000


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstd"])
def test_text_that_unpacks_to_gigabytes(tmp_path, pack):
    path = tmp_path / "text"
    path.write_bytes(pack(b"q 0 d 1\n" * (40 << 20)))
    assert path.stat().st_size < 2 << 20
    said = read_with_little_memory("text", path)
    assert (
        said.strip() == "read"
        if path.stat().st_size * 1000 > 320 << 20
        else "its text, unpacked, asks" in said
    )


def test_ordinary_files_are_read(tmp_path):
    data = rl.synthetic(n_queries=30, n_features=40, seed=0)
    rl.data.write_svmlight(data, tmp_path / "set.txt")
    np.testing.assert_allclose(rl.read_svmlight(tmp_path / "set.txt").X, data.X, rtol=1e-5)
    (tmp_path / "sparse.txt").write_text("".join(f"1 qid:{i} {i}:1 {i + 900}:1\n" for i in range(1, 2000)))
    assert rl.read_svmlight(tmp_path / "sparse.txt").n_features == 2899
