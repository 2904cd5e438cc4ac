"""Shards: whole queries, sorted, counted, and refused by name where they are not."""

import errno
import json
import os
import socket
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data import (
    RankingDataset,
    fingerprint,
    kind_of,
    save_dataset,
    synthetic,
    write_parquet,
    write_svmlight,
)
from rankloop.data.files.npy_stream import NpyStream
from rankloop.data.shards import folder as shard_files
from rankloop.data.shards.manifest import encoded
from rankloop.data.shards.shard_of import shard_of
from rankloop.data.shards.shards import open_shards
from rankloop.data.shards.spill import Spill
from rankloop.data.shards.store import Store
from rankloop.data.shards.write_shards import write_shards

DATA = synthetic(n_queries=40, docs_per_query=6, n_features=4, seed=0)


def same_rows(data, other):
    place = {query: i for i, query in enumerate(other.qid.tolist())}
    return fingerprint(other.select([place[query] for query in data.qid.tolist()])) == fingerprint(data)


def log_frame(rows=60, seed=0):
    random = np.random.default_rng(seed)
    return polars.DataFrame(
        {
            "session": np.arange(rows) // 3,
            "query": np.repeat(random.integers(0, 9, rows // 3), 3),
            "document": random.integers(0, 5, rows),
            "position": np.arange(rows) % 3 + 1,
            "click": random.integers(0, 2, rows),
        }
    )


@pytest.fixture
def folder(tmp_path):
    write_shards(DATA, tmp_path / "set", shards=3)
    return tmp_path / "set"


def only_shard(folder, number=1):
    return next(folder.glob(f"shard-{number:05d}-*"))


def test_a_shard_is_told_by_the_text_of_the_id():
    """By hand: the first eight bytes of BLAKE2b, little-endian, modulo the shards."""
    from hashlib import blake2b

    for query in (7, "7", "red shoes", "ä"):
        whole = int.from_bytes(blake2b(str(query).encode(), digest_size=8).digest(), "little")
        assert shard_of([query], 13).tolist() == [whole % 13]


@given(
    queries=st.lists(st.integers(0, 12), min_size=1, max_size=60),
    shards=st.integers(1, 7),
    cuts=st.lists(st.integers(0, 60), max_size=3),
    memory=st.sampled_from([0, 200, 1 << 20]),
)
def test_rows_in_any_order_and_any_cuts_come_back_whole(tmp_path_factory, queries, shards, cuts, memory):
    """The naive twin: group the rows by query with a dictionary."""
    rows = np.arange(len(queries), dtype=np.float32)
    frame = polars.DataFrame({"qid": queries, "label": rows % 3, "f": rows})
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = (frame[a:b] for a, b in pairwise(edges))
    found = write_shards(parts, tmp_path_factory.mktemp("s") / "set", shards=shards, memory=memory)
    grouped = {}
    for query, row in zip(queries, rows.tolist(), strict=True):
        grouped.setdefault(query, []).append(row)
    seen = {}
    for number, part in enumerate(found):
        assert part.qid.tolist() == sorted(part.qid.tolist())
        for i, query in enumerate(part.qid.tolist()):
            assert query not in seen
            assert shard_of([query], shards)[0] == number
            seen[query] = part.X[part.offsets[i] : part.offsets[i + 1], 0].tolist()
    assert seen == grouped
    assert sum(found.labels.values()) == found.n_rows == len(rows)


@pytest.mark.parametrize("form", ["dataset", "folder", "svmlight", "parquet", "frames", "datasets"])
def test_every_reader_gives_the_same_shards(tmp_path, form):
    sources = {
        "dataset": lambda: DATA,
        "folder": lambda: save_dataset(DATA, tmp_path / "saved") or tmp_path / "saved",
        "svmlight": lambda: write_svmlight(DATA, tmp_path / "set.txt") or tmp_path / "set.txt",
        "parquet": lambda: write_parquet(DATA, tmp_path / "set.parquet") or [tmp_path / "set.parquet"],
        "frames": lambda: [DATA.to_frame().to_pandas()],
        "datasets": lambda: (DATA.select([i]) for i in range(len(DATA))),
    }
    found = write_shards(sources[form](), tmp_path / "shards", shards=3)
    whole = found.whole()
    assert (found.n_queries, found.n_rows, found.n_features) == (40, DATA.n_documents, 4)
    assert same_rows(DATA.replace(feature_names=whole.feature_names), whole)
    assert found.labels == {f"{grade:g}": int((DATA.y == grade).sum()) for grade in np.unique(DATA.y)}


def test_every_column_comes_back(tmp_path):
    n = DATA.n_documents
    full = DATA.replace(
        docid=[f"d{i}" for i in range(n)],
        query_weight=np.arange(len(DATA)) + 0.5,
        item_weight=np.linspace(0.5, 2, n),
        position=np.arange(n) % 6 + 1,
    )
    assert same_rows(full, write_shards(full, tmp_path / "set", shards=60).whole())


def test_gathered_on_disk_equals_gathered_in_memory(tmp_path, folder):
    found = open_shards(folder)
    assert fingerprint(found.whole(tmp_path / "rows")) == fingerprint(found.whole())


def test_a_log_keeps_its_rows_and_their_order(tmp_path):
    log = log_frame()
    found = write_shards([log[:25], log[25:]], tmp_path / "log", shards=4, memory=0)
    together = polars.concat([found.frame(i) for i in range(4)])
    assert together.sort("query", maintain_order=True).equals(log.sort("query", maintain_order=True))
    assert (found.kind, found.labels) == ("clicks", {"0": 60 - log["click"].sum(), "1": log["click"].sum()})
    assert found.ranges["position"] == [1, 3]
    with pytest.raises(ValueError, match="holds clicks, and only shards of documents are data sets"):
        found.dataset(0)


@pytest.mark.parametrize("address", ["memory://shards/set", "file://{}/set"])
def test_other_file_systems(tmp_path, address):
    pytest.importorskip("fsspec")
    path = address.format(tmp_path)
    write_shards(DATA, path, shards=3)
    assert same_rows(DATA, open_shards(path, verify=True).whole())
    assert kind_of(path) == "shards"
    with pytest.raises(ValueError, match="holds shards already"):
        write_shards(DATA, path, shards=3)
    Store(path).remove("manifest.json")
    with pytest.raises(ValueError, match=r"has no manifest\.json"):
        open_shards(path)


def test_workers_share_the_shards_that_have_rows(tmp_path):
    found = write_shards(DATA, tmp_path / "set", shards=90)
    parts = [found.part(rank, 3) for rank in range(3)]
    assert sum(part.n_queries for part in parts) == 40
    assert all(entry.rows for part in parts for entry in part.entries)


def test_a_changed_byte_is_refused_by_name(folder):
    shard = only_shard(folder)
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 1
    shard.write_bytes(content)
    found = open_shards(folder)  # the size is right
    found.frame(0)
    with pytest.raises(ValueError, match=f"{shard.name} does not match its checksum"):
        found.frame(1)
    with pytest.raises(ValueError, match=shard.name):
        open_shards(folder, verify=True)


def test_cut_short_and_missing_shards_are_refused_at_once(folder):
    shard = only_shard(folder)
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-1])
    with pytest.raises(ValueError, match=f"{shard.name} has {len(whole) - 1} bytes where {len(whole)}"):
        open_shards(folder)
    shard.unlink()
    with pytest.raises(ValueError, match=f"{shard.name} is missing"):
        open_shards(folder)


def forged(folder, frame, number, **claims):
    """Put `frame` in place of a shard, with a manifest that goes along with it."""
    manifest = json.loads((folder / "manifest.json").read_text())
    content, entry = encoded(frame, "qid", number)
    (folder / entry.name).write_bytes(content)
    fields = {name: getattr(entry, name) for name in entry.__slots__}
    manifest["shards"][number] = fields | claims
    manifest = {name: value for name, value in manifest.items() if name not in ("signed", "digest")}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return entry.name


def test_a_query_over_two_shards_is_refused(folder):
    frames = [open_shards(folder).frame(i) for i in range(2)]
    name = forged(folder, polars.concat([frames[0], frames[1][:1]]).sort("qid", maintain_order=True), 0)
    with pytest.raises(ValueError, match=f"{name} holds query .* which belongs to another shard"):
        open_shards(folder).frame(0)


def test_rows_out_of_order_are_refused(folder):
    frame = open_shards(folder).frame(0)
    name = forged(folder, frame[::-1], 0)
    with pytest.raises(ValueError, match=f"{name} is not sorted by qid"):
        open_shards(folder).frame(0)


def test_other_counts_and_columns_are_refused(folder):
    frame = open_shards(folder).frame(0)
    name = forged(folder, frame, 0, rows=frame.height + 1)
    with pytest.raises(ValueError, match=f"{name} has {frame.height} rows, "):
        open_shards(folder).frame(0)
    name = forged(folder, frame.rename({"label": "grade"}), 0)
    with pytest.raises(ValueError, match=f"{name} has other columns"):
        open_shards(folder).frame(0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "damaged, cut short or not of a shard folder"),
        ("[]", "does not describe a shard folder"),
        ('{"kind": "rankloop.RankingDataset"}', "does not describe a shard folder"),
        ('{"kind": "rankloop.data.Shards.documents", "format": 99}', "upgrade rankloop"),
        ('{"kind": "rankloop.data.Shards.documents", "format": 1}', "has no shards"),
    ],
)
def test_a_manifest_that_is_none_is_refused(folder, text, message):
    (folder / "manifest.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        open_shards(folder)


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no shard folder"):
        open_shards(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        write_shards(tmp_path / "none.txt", tmp_path / "set")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "gave no rows"),
        ([log_frame()[:0]], "gave no rows"),
        ([log_frame().group_by("session", "query").all()], "holds lists; shards hold one"),
        ([polars.DataFrame({"label": [1]})], "every frame needs the column 'qid'"),
        ([polars.DataFrame({"qid": [1, None], "label": [1, 1], "f": [1, 1]})], "'qid' is missing in row 1"),
        ([polars.DataFrame({"qid": [1], "label": [-1.0], "f": [1]})], "labels must be"),
        ([log_frame(), log_frame().cast({"document": polars.String})], "frames differ in column 'document'"),
    ],
)
def test_bad_sources_leave_nothing_behind(tmp_path, source, message):
    with pytest.raises(ValueError, match=message):
        write_shards(source, tmp_path / "set", shards=2)
    assert not (tmp_path / "set").exists()


def test_pairs_and_silly_numbers_are_refused(tmp_path):
    from rankloop.data import Pairs

    pairs = RankingDataset([[1.0], [2.0]], [0, 1], ["a", "a"], pairs=Pairs([1], [0]))
    with pytest.raises(ValueError, match="cannot hold pairs"):
        write_shards(pairs, tmp_path / "set", shards=2)
    with pytest.raises(ValueError, match="shards is 1 or more, got 0"):
        write_shards(DATA, tmp_path / "set", shards=0)


def test_foreign_files_are_left_alone(tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(ValueError, match="is not empty"):
        write_shards(DATA, tmp_path, shards=2)
    assert (tmp_path / "note.txt").read_text() == "mine"


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path, monkeypatch):
    calls = []

    def full(path, content):
        calls.append(path)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        with path.open("wb") as file:
            return file.write(content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"no disk space for the .* bytes of .*shard-00001"):
        write_shards(DATA, tmp_path / "set", shards=3)
    assert not (tmp_path / "set").exists()


def test_a_full_disk_is_said_where_rows_are_gathered(folder, tmp_path, monkeypatch):
    def full(stream, values):
        raise OSError(errno.ENOSPC, "No space left on device")

    found = open_shards(folder)
    monkeypatch.setattr(NpyStream, "append", full)
    with pytest.raises(OSError, match=rf"no disk space for the [\d,]+ bytes of {tmp_path}/rows; free some"):
        found.whole(tmp_path / "rows")
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_full_scratch_disk_is_said(tmp_path):
    (tmp_path / "rows.arrow").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"no disk space for temporary rows .* name another folder with spill="):
        Spill(tmp_path, 1, memory=0).add(log_frame(), "query")


def test_more_shards_than_a_short_number_holds(tmp_path):
    frame, shards = log_frame(), 70_000
    spill = Spill(tmp_path, shards, memory=0)
    spill.add(frame, "query")
    spill.add(frame, "query")
    for query in frame["query"].unique().to_list():
        rows = frame.filter(frame["query"] == query)
        assert spill.frame(int(shard_of([query], shards)[0])).equals(polars.concat([rows, rows]))


def test_a_live_writer_is_respected_and_a_dead_one_is_not(tmp_path):
    target = tmp_path / "set"
    target.mkdir()
    lock = {"host": socket.gethostname(), "pid": os.getppid(), "started": None}
    from rankloop.data.shards.lock import _started

    lock["started"] = _started(os.getppid())
    (target / "writer.json").write_text(json.dumps(lock))
    with pytest.raises(ValueError, match=f"is being written by process {os.getppid()}"):
        write_shards(DATA, target, shards=2)
    (target / "writer.json").write_text(json.dumps(lock | {"host": "elsewhere"}))
    with pytest.raises(ValueError, match=r"on elsewhere; wait for it, or delete .*writer\.json"):
        write_shards(DATA, target, shards=2)
    (target / "writer.json").write_text(json.dumps(lock | {"started": "another process had this number"}))
    write_shards(DATA, target, shards=2)
    assert not (target / "writer.json").exists()


def test_a_killed_writer_leaves_a_folder_that_can_be_written_again(tmp_path):
    """A real kill: the process ends in the middle of its second shard, its lock and first shard stay."""
    script = (
        "import os, signal, sys\n"
        "from rankloop.data import synthetic\nfrom rankloop.data.shards import folder as files\n"
        "from rankloop.data.shards.write_shards import write_shards\n"
        "whole = files.put_shard\n"
        "def dying(store, frame, query, number, *, note):\n"
        "    if number == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return whole(store, frame, query, number, note=note)\n"
        "files.put_shard = dying\n"
        "write_shards(synthetic(n_queries=20, seed=0), sys.argv[1], shards=3)\n"
    )
    target = tmp_path / "set"
    assert subprocess.run([sys.executable, "-c", script, str(target)], check=False).returncode == -9
    assert {path.name[:5] for path in target.iterdir()} == {"write", "shard"}
    with pytest.raises(ValueError, match="its writer has not finished"):
        open_shards(target)
    assert same_rows(DATA, write_shards(DATA, target, shards=3).whole())


def test_a_job_goes_on_where_it_ended(tmp_path):
    made = write_shards(DATA, tmp_path / "set", shards=3)
    frames = [made.frame(i) for i in range(3)]
    target, job = tmp_path / "out", {"what": "copy"}

    def dies():
        with shard_files.ShardFolder(target, job) as folder:
            folder.write(frames[0], "qid", 0)
            raise KeyError("the driver dies")

    with pytest.raises(KeyError):
        dies()
    with pytest.raises(ValueError, match="was started by another job"), shard_files.ShardFolder(target, {}):
        pass
    with shard_files.ShardFolder(target, job) as folder:
        assert folder.done == {0}
        for i in (1, 2):
            folder.write(frames[i], "qid", i)
        folder.finish("documents", "qid", 3)
    assert same_rows(DATA, open_shards(target, verify=True).whole())
    assert all(path.name.startswith(("shard-", "manifest")) for path in target.iterdir())
