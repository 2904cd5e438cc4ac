"""kill -9 in the middle of writing and of storing events: what was acknowledged arrives, once."""

import subprocess
import sys
import time

import pytest

from rankloop.serve.events.shown_page import Event
from rankloop.serve.events.spool import Spool
from rankloop.serve.events.store import Store

# A worker like the service: takes events, says so when they are safe, and stores them in the background.
WORKER = """
import sys
from rankloop.serve.events.shown_page import Event, ShownPage
from rankloop.serve.events.spool import Spool
from rankloop.serve.events.store import Store

url, folder, worker = sys.argv[1:]
spool = Spool(folder, segment_bytes=3000)
spool.start(Store.open(url))
for number in range(1_000_000):
    page = f"{int(worker):016x}{number:016x}"
    click = Event("e1", page, "click", "b", time=1001.0)
    spool.put([click, Event("e2", page, "dwell", "b", value=2.0, time=1002.0)])
    shown = ShownPage(page, 1000.0, "q", ("a", "b"), [1.0, 0.0], [[1.0], [2.0]], ("f",), "v1")
    spool.put([shown], durable=False)
    print(page, flush=True)
"""


def killed_after(seconds, *arguments):
    """Run the worker, kill it, and give what it had acknowledged."""
    worker = subprocess.Popen([sys.executable, "-c", WORKER, *arguments], stdout=subprocess.PIPE, text=True)
    first = worker.stdout.readline()
    time.sleep(seconds)
    worker.kill()
    rest = worker.stdout.read().splitlines(keepends=True)
    worker.wait()
    worker.stdout.close()
    return [line.strip() for line in (first, *rest) if line.endswith("\n")]


def test_nothing_acknowledged_is_lost_and_nothing_comes_twice(database, tmp_path):
    acknowledged = []
    for worker, seconds in enumerate((0.35, 0.6)):  # into the first and into the second round of storing
        acknowledged += killed_after(seconds, database, str(tmp_path / "spool"), str(worker))
    assert len(acknowledged) > 2
    with Store.open(database) as store, Spool(tmp_path / "spool") as spool:
        spool.drain(store)
        assert spool.waiting == spool.rejected == 0
        frame = store.click_frame(include_bots=True)
        pages = set(frame["session"])
        assert pages >= set(acknowledged)
        assert len(pages) <= len(acknowledged) + 2  # at most the one page each that was being written
        assert frame.height == 2 * len(pages)
        assert frame["click"].to_list() == [0, 1] * len(pages)
        assert frame["dwell"].drop_nulls().to_list() == [2.0] * len(pages)
        assert [one.clicks for one in store.by_position()] == [0, len(pages)]
        seen = {Event("e1", page, "click", "b", time=1001.0) for page in acknowledged}
        assert store.put_events(list(seen)) == 0  # all were there


def test_a_batch_cut_between_its_two_halves_is_finished_later(store, page, click, tmp_path, monkeypatch):
    """A store that dies before it joins events and pages: the spool still has them, and tries again."""
    from rankloop.serve.events import writing as _writing

    class Killed(BaseException):
        pass

    def die(*_):
        raise Killed

    shown = page()
    join = _writing._place
    with Spool(tmp_path) as spool:
        spool.put([shown, click(shown, "b")])
        monkeypatch.setattr(_writing, "_place", die)
        with pytest.raises(Killed):
            spool.drain(store)
        assert [one.clicks for one in store.by_position()] == [0, 0, 0]
        monkeypatch.setattr(_writing, "_place", join)
        assert spool.drain(store) == 2
    assert [one.clicks for one in store.by_position()] == [0, 1, 0]
