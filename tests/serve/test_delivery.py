"""Whatever the order, the repetitions and the faults: the same store as in plain loops."""

import errno
import os
import secrets
import shutil
import tempfile
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.serve.events import writing as _writing
from rankloop.serve.events.filters import in_time
from rankloop.serve.events.shown_page import Event, ShownPage
from rankloop.serve.events.spool import Spool, SpoolFull
from rankloop.serve.events.store import Store, StoreAway

DOCUMENTS = "abcd"


@pytest.fixture(scope="module")
def one_store(tmp_path_factory):
    with Store.open(f"sqlite:///{tmp_path_factory.mktemp('store')}/events.db") as store:
        yield store


def a_page(number, run):
    page_id = f"{run}{number:016x}"
    return ShownPage(page_id, 1000.0, "q", tuple(DOCUMENTS), [0.0] * 4, [[0.0]] * 4, ("f",), "v1", layout=run)


def an_event(number, run, name, kind="click", document="a", time=1001.0):
    value = 2.0 if kind != "click" else None
    return Event(name, f"{run}{number:016x}", kind, document, value=value, time=time)


@settings(max_examples=25)
@given(
    shown=st.sets(st.integers(0, 3)),
    happened=st.lists(
        st.tuples(
            st.integers(0, 3),
            st.sampled_from(["e1", "e2", "e3", "e4"]),
            st.sampled_from(["click", "click", "dwell", "conversion"]),
            st.sampled_from("abcdx"),
            st.sampled_from([900.0, 1001.0, 1002.0, 200_000.0]),
        ),
        max_size=12,
    ),
    data=st.data(),
)
def test_the_order_of_arrival_does_not_matter(one_store, shown, happened, data):
    run = secrets.token_hex(8)
    first_of = {(event[0], event[1]): event for event in reversed(happened)}  # an event id counts once a page
    records = [("page", number) for number in shown] + [("event", event) for event in first_of.values()]
    again = data.draw(st.lists(st.sampled_from(records), max_size=4)) if records else []
    for kind, values in data.draw(st.permutations(records + again)):
        if kind == "page":
            one_store.put_pages([a_page(values, run)])
        else:
            one_store.put_events([an_event(values[0], run, *values[1:])])
    expected = {
        (f"{run}{number:016x}", document): {"click": 0, "dwell": None, "conversion": 0.0}
        for number in shown
        for document in DOCUMENTS
    }
    for number, _, kind, document, time in first_of.values():
        cell = expected.get((f"{run}{number:016x}", document))
        if cell is not None and in_time(time, 1000.0):
            cell[kind] = {"click": 1, "dwell": 2.0, "conversion": (cell["conversion"] or 0.0) + 2.0}[kind]
    frame = one_store.click_frame(layout=run)
    got = {(row["session"], row["document"]): row for row in frame.iter_rows(named=True)}
    assert got.keys() == expected.keys()
    for key, cell in expected.items():
        assert {name: got[key].get(name, cell[name]) for name in cell} == cell
        assert all(name in frame.columns or not cell[name] for name in cell)
    clicks = [
        sum(cell["click"] for (_, d), cell in expected.items() if d == document) for document in DOCUMENTS
    ]
    assert [one.clicks for one in one_store.by_position(layout=run)] == (clicks if shown else [])


class Killed(BaseException):
    """The process ends here."""


@settings(max_examples=25)
@given(st.lists(st.sampled_from(["put", "put", "drain", "away", "killed", "full", "restart"]), max_size=14))
def test_faults_lose_nothing_acknowledged_and_repeat_nothing(one_store, steps):
    """Killed while storing, database away, disk full in the middle of a record: in any order."""
    run, folder = secrets.token_hex(8), Path(tempfile.mkdtemp())
    spool, acknowledged, sent = Spool(folder), set(), 0

    def put():
        nonlocal sent
        sent += 1
        spool.put([an_event(sent, run, "e1", document="b"), a_page(sent, run)])
        acknowledged.add(f"{run}{sent:016x}")

    try:
        for step in steps:
            if step == "put":
                put()
            elif step == "drain":
                spool.drain(one_store)
            elif step == "away":
                with patch.object(one_store, "put_events", side_effect=StoreAway("away")):
                    _ignoring(StoreAway, spool.drain, one_store)
            elif step == "killed":
                with patch.object(_writing, "_place", side_effect=Killed):
                    _ignoring(Killed, spool.drain, one_store)
            elif step == "full":
                with patch.object(os, "write", side_effect=_half_written):
                    _ignoring(SpoolFull, put)
            else:
                spool.stop()
                spool = Spool(folder)
        spool.drain(one_store)
        assert spool.waiting == 0
        spool.stop()
    finally:
        shutil.rmtree(folder)
    by_page = defaultdict(list)
    for page, click in one_store.click_frame(layout=run).select("session", "click").iter_rows():
        by_page[page].append(click)
    assert acknowledged == by_page.keys()
    assert all(clicks == [0, 1, 0, 0] for clicks in by_page.values())


def _ignoring(expected, work, *arguments):
    with suppress(expected):
        work(*arguments)


def _half_written(file, data, write=os.write):
    """Some bytes go to the disk, and then it is full."""
    if len(data) > 50:
        return write(file, bytes(data[:50]))
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
