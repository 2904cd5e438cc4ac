"""The queue on disk: whole records, in bounds, delivered once whatever fails in between."""

import errno
import os
import sqlite3
import subprocess
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event
from sqlalchemy.exc import DataError

from rankloop.serve.events import connections as _engine
from rankloop.serve.events import segments as _segments
from rankloop.serve.events.records import decode, encode
from rankloop.serve.events.segments import framed, records
from rankloop.serve.events.shown_page import Event
from rankloop.serve.events.spool import Spool, SpoolFull
from rankloop.serve.events.store import Store, StoreAway

HEAD = 12


def wait_until(true, seconds=30.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def clicked(store):
    return int(store.click_frame(include_bots=True)["click"].sum())


@given(
    text=st.text(max_size=20).filter(lambda t: "\0" not in t and t.encode("utf-8", "replace").decode() == t),
    value=st.none() | st.floats(0, 1e9),
    position=st.none() | st.integers(1, 1000),
)
def test_an_event_comes_back_from_bytes(text, value, position):
    event = Event("e" + text, "0" * 32, "dwell", text, position, value, 12.5)
    assert decode(encode(event)) == event


def test_a_page_comes_back_from_bytes(page):
    shown = page("größe", "xyz", user="u", randomness={"a": [1]}, features=np.array([[np.nan, 1]] * 3))
    back = decode(encode(shown))
    assert (back.query, back.documents, back.user) == ("größe", ("x", "y", "z"), "u")
    assert back.randomness == {"a": [1]}
    np.testing.assert_array_equal(back.features, shown.features)
    np.testing.assert_array_equal(back.scores, shown.scores)


@given(payloads=st.lists(st.binary(max_size=30), min_size=1, max_size=5), data=st.data())
def test_a_torn_tail_loses_only_what_was_cut(payloads, data):
    whole = b"".join(map(framed, payloads))
    cut = data.draw(st.integers(0, len(whole)))
    ends = np.cumsum([HEAD + len(one) for one in payloads])
    assert records(whole[:cut]) == payloads[: int((ends <= cut).sum())]


@given(payloads=st.lists(st.binary(min_size=1, max_size=30), min_size=2, max_size=5), data=st.data())
def test_a_damaged_record_does_not_hide_the_others(payloads, data):
    which = data.draw(st.integers(0, len(payloads) - 1))
    start = sum(HEAD + len(one) for one in payloads[:which])
    at = data.draw(st.integers(start, start + HEAD + len(payloads[which]) - 1))
    whole = bytearray(b"".join(map(framed, payloads)))
    whole[at] ^= 0xFF
    assert records(bytes(whole)) == payloads[:which] + payloads[which + 1 :]


def test_everything_arrives_once(store, page, click, tmp_path):
    with Spool(tmp_path / "spool", segment_bytes=2000) as spool:
        shown = [page(shown=1000.0 + i) for i in range(20)]
        for one in shown:
            spool.put([click(one, "a"), one])
        assert spool.waiting > 0
        assert spool.drain(store) == 40
        assert spool.waiting == 0
        assert list((tmp_path / "spool").iterdir()) == []
        spool.put([click(shown[0], "b")], durable=False)
        assert spool.drain(store) == 1
    assert clicked(store) == 21


def test_what_waits_is_found_by_the_next_process(store, page, click, tmp_path):
    shown = page()
    with Spool(tmp_path) as first:
        first.put([shown, click(shown, "a")])
    with Spool(tmp_path) as second:
        assert second.waiting > 0
        assert second.drain(store) == 2
    assert clicked(store) == 1


def test_the_file_of_a_living_process_is_left_alone(store, page, tmp_path):
    with Spool(tmp_path) as one, Spool(tmp_path) as other:
        one.put([page()])
        assert other.drain(store) == 0
        other.put([page()])
        assert other.drain(store) == 1
        assert one.drain(store) == 1


def test_many_callers_share_one_wait_for_the_disk(store, page, click, tmp_path, monkeypatch):
    syncs, sync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (syncs.append(file), sync(file)))
    shown = page(documents=[str(i) for i in range(40)])
    with Spool(tmp_path) as spool:
        spool.put([shown])
        callers = [threading.Thread(target=spool.put, args=[[click(shown, str(i))]]) for i in range(40)]
        with spool._writing:  # as if the disk were busy
            for thread in callers:
                thread.start()
            wait_until(lambda: len(spool._queue) == 40)
            syncs.clear()
        for thread in callers:
            thread.join()
        assert len(syncs) == 1
        assert spool.drain(store) == 41
    assert clicked(store) == 40


def test_a_full_spool_says_so_and_takes_nothing(store, page, tmp_path):
    with Spool(tmp_path, limit_bytes=1500) as spool:
        spool.put([page()])
        before = spool.waiting
        with pytest.raises(SpoolFull, match=r"bytes wait for the database, the limit is 1,500; try again"):
            spool.put([page()] * 10)
        assert spool.waiting == before
        assert spool.drain(store) == 1
        spool.put([page()])
        assert spool.drain(store) == 1


def test_a_full_disk_is_a_clear_error_and_leaves_nothing_half_written(
    store, page, click, tmp_path, monkeypatch
):
    shown = page()
    write, room = os.write, [len(framed(encode(shown))) + 40]

    def little_room(file, data):
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = write(file, bytes(data)[: room[0]])
        room[0] -= done
        return done

    with Spool(tmp_path) as spool:
        monkeypatch.setattr(os, "write", little_room)
        spool.put([shown])
        for _ in range(2):
            with pytest.raises(SpoolFull, match="nothing was recorded: No space left on device in"):
                spool.put([click(shown, "a")])
        monkeypatch.setattr(os, "write", write)
        assert spool.waiting == len(framed(encode(shown)))
        spool.put([click(shown, "b")])
        assert spool.drain(store) == 2
    frame = store.click_frame()
    assert frame["click"].to_list() == [0, 1, 0]


@pytest.mark.skipif(os.getuid() != 0, reason="mounting a small disk needs root")
def test_a_really_full_disk(store, page, click, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], check=False).returncode:
        pytest.skip("this machine does not let us mount a small disk")
    try:
        with Spool(small, segment_bytes=1 << 20) as spool:
            taken = []

            def fill():
                for i in range(1000):
                    one = page(shown=1000.0 + i)
                    spool.put([one])
                    taken.append(one)

            with pytest.raises(SpoolFull, match="No space left"):
                fill()
            assert 10 < len(taken) < 1000
            assert spool.drain(store) == len(taken)
            spool.put([click(taken[-1], "a")])
            assert spool.drain(store) == 1
        assert store.click_frame()["session"].n_unique() == len(taken)
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_record_that_no_database_takes_stops_no_other(store, page, click, tmp_path, monkeypatch, caplog):
    shown = page()
    put_events = store.put_events

    def picky(events):
        if any(one.document == "b" for one in events):
            raise DataError("INSERT", {}, ValueError("too odd"))
        return put_events(events)

    monkeypatch.setattr(store, "put_events", picky)
    with Spool(tmp_path) as spool:
        spool.put([shown, *(click(shown, document) for document in "abc")])
        with (tmp_path / "0-0.spool").open("wb") as older:
            older.write(framed(b"x of another version") + framed(encode(shown))[:-1])
        spool.drain(store)
        assert (spool.delivered, spool.rejected) == (3, 2)
    assert len(records((tmp_path / "rejected").read_bytes())) == 2
    assert "put aside" in caplog.text
    assert "unfinished or damaged" in caplog.text
    assert store.click_frame()["click"].to_list() == [1, 0, 1]


def test_a_locked_database_is_waited_for(page, click, tmp_path, monkeypatch):
    monkeypatch.setattr(_engine, "_BUSY", 0.05)
    path = tmp_path / "events.db"
    with Store.open(f"sqlite:///{path}") as store, Spool(tmp_path / "spool") as spool:
        shown = page()
        locker = sqlite3.connect(path, isolation_level=None)
        locker.execute("BEGIN IMMEDIATE")
        spool.put([shown, click(shown, "a")])
        with pytest.raises(StoreAway, match="does not answer: database is locked"):
            spool.drain(store)
        assert clicked(store) == 0  # reading goes on
        locker.execute("COMMIT")
        locker.close()
        assert spool.drain(store) == 2
        assert clicked(store) == 1


def test_a_full_disk_under_the_database_is_waited_for(page, tmp_path):
    """Batches are stored whole or not at all; what does not fit waits."""
    with Store.open(f"sqlite:///{tmp_path / 'events.db'}") as store, Spool(tmp_path / "spool") as spool:
        limits = []

        @event.listens_for(store.connections.writes, "checkout")
        def little_room(connection, *_):
            connection.execute(f"PRAGMA max_page_count={limits[-1]}")

        limits.append(70)
        shown = [page(shown=1000.0 + i, documents="abcdefghij") for i in range(400)]
        spool.put(shown)
        with pytest.raises(StoreAway, match="database or disk is full"):
            spool.drain(store)
        assert store.click_frame().height == 0
        limits.append(100_000)
        assert spool.drain(store) == 400
        assert store.click_frame()["session"].n_unique() == 400


def test_a_database_file_that_was_moved_away_is_not_made_anew(page, click, tmp_path):
    path, away = tmp_path / "events.db", tmp_path / "away.db"
    with Store.open(f"sqlite:///{path}") as store, Spool(tmp_path / "spool") as spool:
        shown = page()
        spool.put([shown])
        spool.drain(store)
        path.rename(away)
        spool.put([click(shown, "a")])
        with pytest.raises(StoreAway, match="does not answer"):
            spool.drain(store)
        assert not path.exists()
        away.rename(path)
        assert spool.drain(store) == 1
        assert clicked(store) == 1


def test_a_stopped_server_is_waited_for(postgres, page, click, tmp_path, caplog):
    """Searching goes on (put does not touch the database); everything arrives once when it is back."""
    shown = page(documents="abcdefgh")
    with Store.open(postgres.database()) as store, Spool(tmp_path) as spool:
        spool.start(store)
        spool.put([shown])
        wait_until(lambda: spool.waiting == 0)
        postgres.stop()
        for document in "abcd":
            spool.put([click(shown, document)])
        wait_until(lambda: spool.trouble is not None)
        assert spool.waiting > 0
        with pytest.raises(StoreAway, match="does not answer"):
            store.click_frame()
        postgres.start()
        for document in "efg":
            spool.put([click(shown, document)])
        wait_until(lambda: spool.waiting == 0 and spool.trouble is None)
        assert clicked(store) == 7
        assert "records wait in the spool" in caplog.text


def test_a_spool_starts_once(store, tmp_path):
    with Spool(tmp_path) as spool:
        spool.start(store)
        with pytest.raises(ValueError, match="started already"):
            spool.start(store)


def test_files_and_folders_are_the_owner_s(page, tmp_path):
    with Spool(tmp_path) as spool:
        spool.put([page()])
        (file,) = tmp_path.glob(f"*{_segments.SUFFIX}")
        assert file.stat().st_mode & 0o077 == 0
