"""Files and folders that are replaced: whole at every moment, and nothing is left behind."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import rankloop._atomic
from rankloop._atomic import replacing, replacing_folder


def write_folder(path, text):
    with replacing_folder(path) as beside:
        for name in ("a", "b"):
            (beside / name).write_text(text)


def content(name, folder):
    with open(os.open(name, os.O_RDONLY, dir_fd=folder)) as file:
        return file.read()


def test_a_reader_always_finds_a_whole_folder(tmp_path):
    path = tmp_path / "set"
    write_folder(path, "0")
    stop, torn = threading.Event(), []

    def look():
        while not stop.is_set():
            try:
                handle = os.open(path, os.O_RDONLY)  # one folder, whatever its name stands for later
            except FileNotFoundError:
                torn.append("absent")
                continue
            try:
                found = [content(name, handle) for name in ("a", "b")]
                if found[0] != found[1]:
                    torn.append(found)
            except FileNotFoundError:
                pass  # the older one is being removed while it is read
            finally:
                os.close(handle)

    watcher = threading.Thread(target=look)
    watcher.start()
    for i in range(60):
        write_folder(path, str(i))
    stop.set()
    watcher.join()
    if sys.platform.startswith("linux"):
        assert torn == []
    assert (path / "a").read_text() == "59"
    assert [one.name for one in tmp_path.iterdir()] == ["set"]


def test_without_an_exchange_it_is_moved_away(tmp_path, monkeypatch):
    monkeypatch.setattr(rankloop._atomic, "_exchange", lambda one, other: False)
    write_folder(tmp_path / "set", "old")
    write_folder(tmp_path / "set", "new")
    assert (tmp_path / "set" / "a").read_text() == "new"
    assert [one.name for one in tmp_path.iterdir()] == ["set"]


def test_a_failed_writer_changes_nothing(tmp_path):
    write_folder(tmp_path / "set", "old")

    def fail():
        with replacing_folder(tmp_path / "set") as beside:
            (beside / "a").write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert (tmp_path / "set" / "a").read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["set"]


def test_a_killed_writer_leaves_the_old_folder_and_its_remains_are_swept(tmp_path):
    write_folder(tmp_path / "set", "old")
    program = (
        "import sys, time; from pathlib import Path; from rankloop._atomic import replacing_folder\n"
        "with replacing_folder(sys.argv[1]) as beside:\n"
        "    (beside / 'a').write_text('half'); print('half', flush=True); time.sleep(60)"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "set")], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout.readline() == "half\n"
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    assert (tmp_path / "set" / "a").read_text() == "old"
    left = list(tmp_path.glob(".set.*.part"))
    assert len(left) == 1
    write_folder(tmp_path / "set", "new")
    assert left[0].exists()  # it may belong to a writer that is still at work
    long_ago = time.time() - 2 * 86_400
    os.utime(left[0], (long_ago, long_ago))
    (tmp_path / ".other.x.part").write_text("of another path")
    os.utime(tmp_path / ".other.x.part", (long_ago, long_ago))
    write_folder(tmp_path / "set", "newer")
    assert sorted(one.name for one in tmp_path.iterdir()) == [".other.x.part", "set"]


def test_old_parts_of_files_are_swept(tmp_path):
    left = tmp_path / ".note[1].txt.abc.part"
    left.write_text("half")
    long_ago = time.time() - 2 * 86_400
    os.utime(left, (long_ago, long_ago))
    with replacing(tmp_path / "note[1].txt") as beside:
        beside.write_text("whole")
    assert [one.name for one in tmp_path.iterdir()] == ["note[1].txt"]


def test_a_pipe_and_a_link_of_a_device_stay_what_they_are(tmp_path, monkeypatch):
    """As root, a rename would put a file where /dev/null or /dev/stdout was."""
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    with replacing(pipe) as beside:
        beside.write_text("through")
    reader.join()
    assert read == ["through"]
    assert pipe.is_fifo()
    printed, devices = tmp_path / "printed.txt", tmp_path / "dev"
    devices.mkdir()
    printed.write_text("first ")
    (devices / "stdout").symlink_to(printed)  # as it is where output goes to a file
    monkeypatch.setattr("rankloop._atomic._DEVICES", (str(devices),))
    with replacing(devices / "stdout") as beside:
        beside.write_text("second")
    assert (devices / "stdout").is_symlink()
    assert printed.read_text() == "first second"


@pytest.mark.parametrize("way", [replacing, replacing_folder])
def test_a_dash_is_no_file(way, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="write to /dev/stdout"), way("-"):
        pass
    assert list(tmp_path.iterdir()) == []
