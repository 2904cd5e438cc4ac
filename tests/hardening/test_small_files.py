"""Small files that ask for much memory are refused before they get it; the sentence names the bound."""

import gzip
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars
import pytest
import zstandard

import rankloop as rl
from hardening.damage import repacked
from rankloop import _archive
from rankloop.clicks import PBM, load_model
from rankloop.data import open_dataset
from rankloop.data.files.whole import pack
from rankloop.online import PDGD, Thompson
from rankloop.rankers.saving.load import loads
from rankloop.search import TwoTower, load_pipeline, read_documents

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
    assert "a table of 999,999 features needs" in said
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
    assert "an id of 500,000 bytes, the width of all others, needs" in said
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


@pytest.mark.parametrize("packed", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstd"])
def test_text_that_unpacks_to_gigabytes(tmp_path, packed):
    path = tmp_path / "text"
    path.write_bytes(packed(b"q 0 d 1\n" * (40 << 20)))
    assert path.stat().st_size < 2 << 20
    said = read_with_little_memory("text", path)
    assert (
        said.strip() == "read"
        if path.stat().st_size * 1000 > 320 << 20
        else "its text, unpacked, needs" in said
    )


LOG = "session,query,document,position,click\n", "1,q,d,1,0\n"
LOG_LINES = "", '{"session": 1, "query": "q", "document": "d", "position": 1, "click": 0}\n'
TABLE = "qid,label,a\n", "1,0,0.5\n"
TABLE_LINES = "", '{"qid": 1, "label": 0, "a": 0.5}\n'


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize(
    ("kind", "lines"),
    [("log", LOG), ("log", LOG_LINES), ("table", TABLE), ("table", TABLE_LINES)],
    ids=["log in CSV", "log in JSON", "table in CSV", "table in JSON"],
)
def test_packed_tables_that_unpack_to_gigabytes(tmp_path, kind, lines, suffix):
    head, line = (text.encode() for text in lines)
    path = tmp_path / f"packed{suffix}"
    path.write_bytes(pack(head + line * (300_000_000 // len(line)), path))
    assert path.stat().st_size < 1_500_000
    said = read_with_little_memory(kind, path)
    assert re.search(r"its table, unpacked, needs more than .* bytes of memory, from a file of", said)
    path.write_bytes(pack(head + line, path))
    read = rl.read_clicks if kind == "log" else open_dataset
    read(path)
    with pytest.raises(ValueError, match="with a higher largest"):
        read(path, largest=10)


@pytest.mark.parametrize("pages", [False, True], ids=["rows", "lists"])
@pytest.mark.parametrize("kind", ["log", "table"])
def test_a_parquet_table_of_many_equal_values(tmp_path, kind, pages):
    path, many = tmp_path / "x.parquet", 25_000_000
    equal = polars.select(one=polars.repeat(1, many, dtype=polars.Int64))["one"]
    names = ("session", "query", "document", "position", "click") if kind == "log" else ("qid", "label", "a")
    frame = polars.DataFrame(dict.fromkeys(names, equal))
    if pages:
        frame = frame.select(polars.all().implode())
    frame.write_parquet(path, row_group_size=many)
    assert path.stat().st_size < 1 << 17
    said = read_with_little_memory(kind, path)
    needed = 8 * many * len(names)
    assert f"its table needs {needed:,} bytes of memory" in said
    assert f"read it with largest={needed}" in said
    if not pages:
        frame.head(1).write_parquet(path)
        read = rl.read_clicks if kind == "log" else open_dataset
        read(path)
        with pytest.raises(ValueError, match="largest="):
            read(path, largest=10)


def test_ordinary_files_are_read(tmp_path):
    data = rl.synthetic(n_queries=30, n_features=40, seed=0)
    rl.data.write_svmlight(data, tmp_path / "set.txt")
    np.testing.assert_allclose(rl.read_svmlight(tmp_path / "set.txt").X, data.X, rtol=1e-5)
    (tmp_path / "sparse.txt").write_text("".join(f"1 qid:{i} {i}:1 {i + 900}:1\n" for i in range(1, 2000)))
    assert rl.read_svmlight(tmp_path / "sparse.txt").n_features == 2899


def _bomb(path):
    """The file, whose description now unpacks to 100 MB."""

    def longer(members):
        members["manifest.json"] = b" " * (100 << 20) + members["manifest.json"]

    path.write_bytes(repacked(path.read_bytes(), longer))
    assert path.stat().st_size < 1 << 20


def _pipeline(path):
    index = rl.Index.create(path.with_name("i"), {"title": "text"})
    index.add([{"id": "a", "title": "red shoes"}, {"id": "b", "title": "blue shoes"}])
    index.commit()
    search = index.retriever(k=10) >> rl.Features(["bm25(title)"]) >> rl.LinearRanker(loss="ranknet")
    search.fit({"q": "red shoes"}, {"q": {"a": 1, "b": 0}}).save(path)
    return lambda **given: load_pipeline(path, index, **given)


def _click_model(path):
    PBM(examination=[1.0, 0.5], attraction=[0.1, 0.9]).save(path)
    return lambda **given: load_model(path, **given)


def _learner(path):
    learner = PDGD(rl.LinearRanker(), seed=0)
    learner.rank(np.eye(3), k=2)
    learner.save(path)
    return lambda **given: learner.load(path, **given)


def _bandit(path):
    bandit = Thompson({"a": np.zeros, "b": np.zeros}, seed=0)
    bandit.save(path)
    return lambda **given: bandit.load(path, **given)


def _tower(path):
    tower = TwoTower(dimension=4, buckets=8)
    tower.queries_, tower.documents_, tower.read_ = np.zeros((8, 4)), np.zeros((8, 4)), ("title",)
    tower.save(path)
    return lambda **given: TwoTower.load(path, **given)


def _ranker(path):
    rl.LinearRanker().fit(rl.synthetic(n_queries=5, docs_per_query=5, n_features=2, seed=0)).save(path)
    return lambda **given: rl.load(path, **given)


@pytest.mark.parametrize("saved", [_ranker, _pipeline, _tower, _click_model, _learner, _bandit])
def test_every_loader_has_the_option_that_its_error_names(saved, tmp_path):
    path = tmp_path / "saved"
    load = saved(path)
    load()
    _bomb(path)
    with pytest.raises(ValueError, match=r"load it with largest=\d+") as refused:
        load()
    enough = int(re.search(r"largest=(\d+)", str(refused.value))[1])
    load(largest=enough)
    with pytest.raises(ValueError, match="largest="):
        load(largest=enough - 1)


def test_the_option_reaches_archives_within_archives(tmp_path):
    """A ranker of rankers keeps its parts as whole files."""
    data = rl.synthetic(n_queries=5, docs_per_query=5, n_features=2, seed=0)
    part = tmp_path / "part"
    rl.LinearRanker().fit(data).save(part)
    _bomb(part)
    outer = _archive.pack("outer", {}, {"part": part.read_bytes()})
    (tmp_path / "outer").write_bytes(outer)
    members = _archive.read(tmp_path / "outer", "outer", again="").members
    with pytest.raises(ValueError, match=r"load it with largest=\d+"):
        loads(members["part"])
    with _archive.at_most(200 << 20):
        assert loads(members["part"]).n_features_in_ == 2


def test_a_checkpoint_is_not_larger_than_its_network(tmp_path):
    torch = pytest.importorskip("torch")
    from rankloop.rankers.neural.checkpoint import read_checkpoint

    _archive.write(tmp_path / "c", "checkpoint", {}, {"weights/w": np.zeros((60 << 20) // 2)})
    with pytest.raises(ValueError, match=r"where at most .* are expected\); delete it to start again$"):
        read_checkpoint(tmp_path / "c", {}, torch.nn.Linear(2, 1))


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_one_long_line_of_documents(tmp_path, suffix, monkeypatch):
    """A packed megabyte of blanks is a line of a gigabyte, which was read whole."""
    module = sys.modules["rankloop.search.reading.lines"]
    monkeypatch.setattr(module, "LONGEST_LINE", 1000)
    path = tmp_path / f"some.{suffix}.gz"
    lines = ['{"id": 1}', "x" * 5000, '{"id": 2}', "x" * 3000]
    path.write_bytes(gzip.compress("\n".join(["id", *lines] if suffix == "csv" else lines).encode()))
    with gzip.open(path, "rt") as file:
        assert max(len(line or "") for line in module.lines(file)) <= 1000
    if suffix == "csv":
        with pytest.raises(ValueError, match=r"some\.csv\.gz, line 3: a line of more than"):
            list(read_documents(path))
        return
    found = list(read_documents(path))
    assert [one["id"] for one in found if isinstance(one, dict)] == [1, 2]
    assert [one.reason for one in found if not isinstance(one, dict)] == [
        f"some.jsonl.gz, line {number}: a line of more than 67,108,864 characters" for number in (2, 4)
    ]
