"""A writer that is killed loses nothing committed and leaves nothing apart."""

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from rankloop.search import Index

# One process loads everything once, then forks writers and kills each while it writes.
WRITERS = """
import os, random, signal, sys, time
from rankloop.search import Index

def write(tell):
    index = Index.open(sys.argv[1])
    turn = max([index[id]["turn"] for id in index.ids.tolist()], default=-1) + 1
    while True:
        index.update(
            {"id": i, "title": f"red fox number {i} turn {turn}", "turn": turn} for i in range(40)
        )
        index.delete(range(turn % 5))
        index.compact() if turn % 4 == 3 else index.commit()
        os.write(tell, f"{turn} ".encode())
        turn += 1

warm = Index.create(sys.argv[1] + "-warm", {"title": "text", "turn": "number"})
warm.add([{"id": 1, "title": "warm", "turn": 0}])
warm.compact()
draw = random.Random(0)
for _ in sys.stdin:
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        write(writes)
    os.close(writes)
    time.sleep(draw.uniform(0.005, 0.2))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(os.read(reads, 100_000).decode(), flush=True)
    os.close(reads)
"""


def both_ways(index):
    spec = spec_from_file_location("test_index", Path(__file__).with_name("test_index.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.check_both_ways(index)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killing_the_writer_often(tmp_path):
    folder = tmp_path / "i"
    Index.create(folder, {"title": "text", "turn": "number"})
    command = [sys.executable, "-c", WRITERS, str(folder)]
    last = -1
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writers:
        for kills in range(200):
            if kills >= 20 and last > 20:  # a busy machine commits less between two kills
                break
            writers.stdin.write("next\n")
            writers.stdin.flush()
            reported = max(map(int, writers.stdout.readline().split()), default=last)
            index = Index.open(folder)
            turns = {index[id]["turn"] for id in index.ids.tolist()}
            newest = max(turns, default=-1)
            assert reported <= newest <= reported + 1, "a commit that was reported is lost, or two became one"
            assert len(turns) <= 1, "half of a commit is visible"
            assert len(index) == (0 if newest < 0 else 40 - newest % 5)
            found = index.retriever(k=100)(f"fox turn {newest}")
            assert sorted(found.ids.tolist()) == sorted(index.ids.tolist())
            both_ways(index)
            last = newest
        writers.stdin.close()
    assert last > 20
    index.update([{"id": 1000, "title": "afterwards"}])  # the lock of the dead does not hold
    index.commit()
    assert index.retriever()("afterwards").ids.tolist() == [1000]
    named = {file for part in index.snapshot.manifest.parts for file in part.files}
    assert {path.name for path in folder.glob("*segment-*")} == named


def test_a_half_written_segment_is_ignored_and_swept(tmp_path):
    index = Index.create(tmp_path / "i", {"title": "text"})
    index.add([{"id": 1, "title": "one"}])
    index.commit()
    for name in ("segment-99.bin", ".segment-98.bin.xyz.part", "segment-1.deleted-9.bin"):
        (tmp_path / "i" / name).write_bytes(b"half")
    again = Index.open(tmp_path / "i")
    assert again.ids.tolist() == [1]
    again.add([{"id": 2, "title": "two"}])
    again.commit()
    assert not any("half" in path.read_bytes()[:4].decode("latin1") for path in (tmp_path / "i").iterdir())
