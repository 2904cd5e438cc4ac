"""What is recorded comes back as it was, once, and as the estimators read it."""

import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from rankloop.clicks import ClickLog
from rankloop.propensity import swap_intervention
from rankloop.serve.events.shown_page import Event, ShownPage, swap
from rankloop.serve.events.store import Rating, Store, StoreAway
from rankloop.serve.events.tables import SCHEMA
from rankloop.serve.experiments.experiments import Experiments


def test_a_page_comes_back_as_it_was_shown(store, page):
    shown = page(
        "rote Schuhe äöü 'x\"; DROP TABLE pages; --",
        ("dé", "a b", "<script>"),
        user="u1",
        policy="swap",
        experiment="e1",
        randomness=swap(1, 2, swapped=True),
        generation=3,
        fingerprint="f",
        bot=True,
        layout="phone",
        features=np.array([[1.5, np.nan], [0.1, 2.0], [0, -1]]),
    )
    assert store.put_pages([shown, shown]) == 1
    assert store.put_pages([shown]) == 0
    back = store.page(shown.page_id)
    for name in ShownPage.__dataclass_fields__:
        expected, got = getattr(shown, name), getattr(back, name)
        if isinstance(expected, np.ndarray):
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)
        else:
            assert got == expected, name
    assert store.page("f" * 32) is None


def test_an_event_counts_once_and_may_come_before_its_page(store, page, click):
    shown = page()
    clicked = click(shown, "b")
    assert store.put_events([clicked, clicked]) == 1
    assert store.put_events([clicked]) == 0
    assert store.click_frame().height == 0
    store.put_pages([shown])
    store.put_events([click(shown, "b"), click(shown, "nowhere")])
    assert store.click_frame()["click"].to_list() == [0, 1, 0]
    assert [one.clicks for one in store.by_position()] == [0, 1, 0]


def test_an_event_id_is_the_page_s_own(store, page, click):
    """Nobody can stop another page's events by sending their ids first."""
    one, other = page(), page()
    store.put_pages([one, other])
    assert store.put_events([click(one, "a", event_id="same-id"), click(other, "b", event_id="same-id")]) == 2


def test_the_frame_is_a_click_log(store, page, click):
    first = page("shoes", "abc", user="u1", randomness=swap(1, 2, swapped=True), policy="swap")
    second = page("hats", "de", shown=2000.0, ranker="v2")
    store.put_pages([second, first])
    store.put_events(
        [
            click(first, "b"),
            click(first, "b", kind="dwell", value=20.0),
            click(first, "b", kind="dwell", value=30.0),
            click(second, "e", kind="conversion"),
            click(second, "e", kind="conversion", value=2.5),
        ]
    )
    log = ClickLog.from_store(store)
    assert log.sessions.tolist() == [first.page_id, second.page_id]
    assert log.query.tolist() == ["shoes"] * 3 + ["hats"] * 2
    assert log.document.tolist() == ["a", "b", "c", "d", "e"]
    assert log.position.tolist() == [1, 2, 3, 1, 2]
    assert log.original_position.tolist() == [2, 1, 3, 1, 2]
    assert log.intervention.tolist() == ["swap 1-2"] * 3 + ["none"] * 2
    assert log.click.tolist() == [0, 1, 0, 0, 0]
    assert log.conversion.tolist() == [0, 0, 0, 0, 3.5]
    assert log.score.tolist() == [0, -1, -2, 0, -1]
    assert log.ranker.tolist() == ["v1"] * 3 + ["v2"] * 2
    assert log.user.tolist() == ["u1"] * 3 + [second.page_id] * 2
    assert log.timestamp.tolist() == [1000.0] * 3 + [2000.0] * 2
    np.testing.assert_array_equal(log.dwell, [np.nan, 30, np.nan, np.nan, np.nan])
    assert log.propensity is None
    frame = store.click_frame()
    slow = ClickLog.from_frame(frame)
    for (name, values), (same, others) in zip(log.columns(), slow.columns(), strict=True):
        assert name == same
        np.testing.assert_array_equal(values, others)


def test_logged_chances_are_the_propensity(store, page):
    store.put_pages([page(randomness={"propensity": [0.5, 0.25, 1.0]}), page(shown=2000.0, documents="xy")])
    assert ClickLog.from_store(store).propensity.tolist() == [0.5, 0.25, 1, 1, 1]


def test_other_randomness_is_kept_and_not_misread(store, page):
    drawn = {"notes": {"swap": [1, 2], "propensity": "high"}}
    store.put_pages([page(policy="ab", randomness=drawn)])
    log = ClickLog.from_store(store)
    assert set(log.intervention) == {"none"}
    assert log.propensity is None


def test_windows_and_layouts(store, page):
    store.put_pages([page(shown=float(t), layout="phone" if t % 2 else "desk") for t in range(10)])
    assert store.click_frame(since=2, until=6)["timestamp"].unique().sort().to_list() == [2, 3, 4, 5]
    assert store.click_frame(layout="phone")["timestamp"].unique().sort().to_list() == [1, 3, 5, 7, 9]
    assert store.click_frame(depth=2)["position"].max() == 2
    assert store.dataset(since=9).n_documents == 3
    with pytest.raises(ValueError, match="no page was shown in this window"):
        store.dataset(since=10)


def test_an_empty_store_has_an_empty_frame(store):
    frame = store.click_frame()
    assert frame.height == 0
    assert {"session", "query", "document", "position", "click", "intervention"} <= set(frame.columns)
    assert len(ClickLog.from_store(store)) == 0


def test_the_data_set_has_the_last_features(store, page):
    old = page("q", "ab", features=[[1, 2], [3, 4]], feature_names=("bm25", "age"))
    new = page("q", "bc", shown=2000.0, features=[[5, 6], [7, 8]], feature_names=("age", "clicks"))
    store.put_pages([new, old, page("p", "a", shown=1500.0, features=[[9, 10]])])
    data = store.dataset()
    assert data.feature_names == ("age", "clicks")
    assert data.row_qid.tolist() == ["p", "q", "q", "q"]
    assert data.docid.tolist() == ["a", "a", "b", "c"]
    np.testing.assert_array_equal(data.X, [[10, np.nan], [2, np.nan], [5, 6], [7, 8]])
    assert (ClickLog.from_store(store).rows(data) >= 0).all()


def test_a_served_log_gives_the_propensity_curve(store):
    """Pages as the service writes them, swapped by a coin: the known curve comes out."""
    random = np.random.default_rng(0)
    seen, attraction = np.array([1.0, 0.6, 0.3]), {"a": 0.8, "b": 0.6, "c": 0.5}
    pages, events = [], []
    for number in range(5000):
        low = int(random.integers(1, 3))
        swapped = bool(random.random() < 0.5)
        order = list("abc")
        if swapped:
            order[low - 1], order[low] = order[low], order[low - 1]
        page_id = f"{number:032x}"
        randomness = swap(low, low + 1, swapped=swapped)
        pages.append(
            ShownPage(
                page_id,
                float(number),
                f"q{number % 50}",
                tuple(order),
                np.zeros(3),
                np.zeros((3, 1)),
                ("f",),
                "v1",
                policy="swap",
                randomness=randomness,
            )
        )
        for rank, document in enumerate(order):
            if random.random() < seen[rank] * attraction[document]:
                events.append(Event(f"e{rank}", page_id, "click", document, time=number + 1.0 + rank))
    store.put_events(events)
    store.put_pages(pages)
    curve = swap_intervention(ClickLog.from_store(store))
    assert np.all(np.abs(curve.values - seen) < 0.08)


def test_experiments_have_their_pages_with_clicks(store, page, click):
    drawn = {"method": "team_draft", "notes": {"a": 1}}
    one = page(experiment="e1", policy="interleave", randomness=drawn, user="u")
    store.put_pages([one, page(experiment="e2"), page(), page(experiment="e1", bot=True)])
    store.put_events([click(one, "c"), click(one, "a"), click(one, "c")])
    (got,) = store.credits("e1")
    assert (got.page_id, got.clicked, got.randomness, got.user) == (one.page_id, ("a", "c"), drawn, "u")


def test_undoing_brings_back_what_was_said_before(store):
    store.put_judgment("hat", "a", 1, "ann", reason="a cap, not a hat", at=1.0)
    store.put_judgment("hat", "a", 3, "ann", at=2.0)
    store.put_judgment("hat", "a", 0, "bob", at=3.0)
    assert store.undo_judgment("ann") == Rating("hat", "a", "ann", 3.0, "", "desk", 2.0)
    [mine] = [one for one in store.ratings(["hat"]) if one.rater == "ann"]
    assert (mine.grade, mine.reason, mine.time) == (1.0, "a cap, not a hat", 1.0)
    assert store.undo_judgment("ann").grade == 1.0
    assert store.undo_judgment("ann") is None
    assert [one.rater for one in store.ratings()] == ["bob"]
    assert store.forget_rater("bob") == 1
    assert store.ratings() == []
    with pytest.raises(ValueError, match="reason has at most 2000 characters"):
        store.put_judgment("hat", "a", 1, "ann", reason="x" * 2001)


def test_raters_write_at_once(store):
    """Every grade gets a number of its own, also where one rater has two windows open."""

    def write(rater):
        for number in range(20):
            store.put_judgment("hat", str(number), number % 4, rater)

    threads = [threading.Thread(target=write, args=(rater,)) for rater in ("ann", "ann", "bob")]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    with store.reading() as connection:
        counted = connection.execute(
            text("SELECT rater, count(*), max(number) FROM judgments GROUP BY rater")
        )
        assert sorted(counted.all()) == [("ann", 40, 40), ("bob", 20, 20)]
    assert len(store.ratings()) == 40


def test_judgments_average_and_replace(store):
    store.put_judgment("red shoes", "a", 3, "ada")
    store.put_judgment("red shoes", "a", 1, "ada")
    store.put_judgment("red shoes", "a", 2, "bob")
    store.put_judgment("hat", "b", 0, "bob")
    assert store.judgments().to_dict() == {"hat": {"b": 0.0}, "red shoes": {"a": 1.5}}
    store.put_judgment("hat", "b", None, "ada")
    assert store.judgments()["hat"] == {"b": 0.0}, "who is unsure does not count"
    with pytest.raises(ValueError, match="a grade is a number from 0, got -1"):
        store.put_judgment("q", "a", -1)
    with pytest.raises(ValueError, match="one of them is empty"):
        store.put_judgment(" ", "a", 1)
    with pytest.raises(ValueError, match="document holds a zero character"):
        store.put_judgment("q", "a\0", 1)


def test_many_writers_lose_nothing(store, page, click):
    """Pages and events of the same pages from several threads, in any order."""
    pages = [page(documents="ab", shown=1000.0 + i) for i in range(200)]
    events = [click(one, "b") for one in pages]
    work = [lambda some=some: store.put_pages(some) for some in (pages[:100], pages[100:])]
    work += [lambda some=some: store.put_events(some) for some in (events[:120], events[120:])]
    threads = [threading.Thread(target=one) for one in work * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.click_frame()["click"].sum() == 200
    assert [one.clicks for one in store.by_position()] == [0, 200]


def test_workers_that_start_together_share_one_store(database, click, page):
    shown, start, new = page(documents="abcd"), threading.Barrier(4), []

    def work(document):
        start.wait()
        with Store.open(database) as own:
            new.append(own.put_events([click(shown, document)]) + own.put_pages([shown]))

    threads = [threading.Thread(target=work, args=[document]) for document in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(new) == 5
    with Store.open(database) as store:
        assert [one.clicks for one in store.by_position()] == [1, 1, 1, 1]


def test_many_that_make_a_new_file_at_once_all_get_it(tmp_path, monkeypatch):
    """SQLite fails at once, without waiting, where two change a new file to write-ahead logging together.

    Of 640 openings in groups of eight 3 failed so; here every second try fails.
    """
    tries = []

    class Locked(sqlite3.Connection):
        def execute(self, statement, *given):
            if "journal_mode" in statement:
                tries.append(statement)
                if len(tries) % 2:
                    raise sqlite3.OperationalError("database is locked")
            return super().execute(statement, *given)

    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda *given, **options: connect(*given, factory=Locked, **options)
    )
    with Store.open(f"sqlite:///{tmp_path}/events.db") as store, store.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    assert len(tries) == 4


def test_a_newer_schema_is_refused(database):
    with Store.open(database) as store, store.writing() as connection:
        connection.execute(text("UPDATE schema_version SET version = 99"))
    with pytest.raises(ValueError, match=r"schema 99, written by a newer rankloop.* upgrade rankloop"):
        Store.open(database)


def test_an_older_schema_is_refused(database):
    with Store.open(database) as store, store.writing() as connection:
        connection.execute(text("UPDATE schema_version SET version = 1"))
    with pytest.raises(
        ValueError, match=r"schema 1, written by an older rankloop; delete it, or name another"
    ):
        Store.open(database)


def test_a_store_of_the_schema_before_is_brought_up_to_date(database):
    """Schema 2 had no planned number of people, and thumbs: its experiments stay, thumbs become grades."""
    with Store.open(database) as store, store.writing() as connection:
        connection.execute(text("ALTER TABLE experiments DROP COLUMN planned"))
        connection.execute(text("ALTER TABLE pages DROP COLUMN origin"))
        connection.execute(text("ALTER TABLE pages DROP COLUMN typed"))
        connection.execute(text("ALTER TABLE forgotten DROP COLUMN epoch"))
        connection.execute(text("DROP TABLE interventions"))
        connection.execute(text("DROP TABLE judgments"))
        connection.execute(
            text(
                'CREATE TABLE judgments (query TEXT, document TEXT, "user" TEXT, grade DOUBLE PRECISION NOT '
                'NULL, time DOUBLE PRECISION NOT NULL, PRIMARY KEY (query, document, "user"))'
            )
        )
        connection.execute(
            text(
                "INSERT INTO judgments VALUES ('hat', 'a', 'ann', 1, 5.0), ('hat', 'b', 'ann', 0, 4.0), "
                "('hat', 'a', 'bob', 1, 6.0)"
            )
        )
        connection.execute(text("UPDATE schema_version SET version = 2"))
        connection.execute(
            text(
                "INSERT INTO experiments (id, kind, a, b, method, note, seed, share, started) "
                "VALUES ('e', 'ab', 'v1', 'v2', '', '', 1, 0.5, 3.0)"
            )
        )
    for _ in range(2):
        with Store.open(database) as store:
            one = Experiments(store).get("e")
            assert (one.share, one.planned) == (0.5, None)
            assert Experiments(store).start("v1", "v3", kind="ab", share=0.1, planned=300).planned == 300
            with store.reading() as connection:
                known = connection.execute(text("SELECT version FROM schema_version")).scalars().all()
                assert known == [SCHEMA]
            assert [(one.rater, one.document, one.grade, one.source) for one in store.ratings(["hat"])] == [
                ("ann", "a", 2.0, "thumb"),
                ("bob", "a", 2.0, "thumb"),
                ("ann", "b", 0.0, "thumb"),
            ]
            store.put_judgment("hat", "a", 3, "ann")  # after the two that were imported
            assert store.undo_judgment("ann").grade == 3
            assert store.undo_judgment("ann") is None, "what was imported is not undone"


def test_a_file_that_is_no_store_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are notes, and no database at all" * 50)
    with pytest.raises(ValueError, match=r"notes\.txt is not an event store: file is not a database"):
        Store.open(f"sqlite:///{path}")
    assert path.read_text().startswith("these are notes")


def test_passwords_are_not_printed(postgres):
    url = postgres.database().replace("rankloop@", "nobody:hunter2@")
    with pytest.raises(StoreAway) as error:
        Store.open(url)
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense", "this URL is neither"),
        ("mysql://host/db", "got 'mysql'"),
        ("sqlite://", "kept in a file"),
    ],
)
def test_wrong_urls_are_errors(url, message):
    with pytest.raises(ValueError, match=message):
        Store.open(url)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": "a\0b"}, "query holds a zero character"),
        ({"query": "\ud800"}, "query holds a zero character or half"),
        ({"query": "x" * 5000}, "query has at most 4096"),
        ({"documents": "aa"}, "shown once"),
        ({"policy": "random"}, "unknown policy"),
        ({"features": np.zeros((2, 2))}, "a row per document"),
        ({"page_id": "../../etc"}, "32 hexadecimal digits"),
        ({"shown": float("nan")}, "in the years 1 to 9999, got nan"),
        ({"randomness": {"swap": [3, 4], "swapped": True}}, "cannot be swapped on a page of 3"),
        ({"randomness": {"propensity": [0.5, 0.5]}}, r"per document \(3\)"),
        ({"randomness": {"propensity": [0.5, 0.5, 0.0]}}, r"one chance in \(0, 1\]"),
    ],
)
def test_wrong_pages_are_errors(page, change, message):
    with pytest.raises(ValueError, match=message):
        page(**change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "hover"}, "unknown kind of event"),
        ({"value": float("nan")}, "finite and at least 0"),
        ({"position": 0}, "whole number from 1"),
        ({"event_id": ""}, "event_id is empty"),
        ({"event_id": "x" * 200}, "event_id has at most 128"),
        ({"document": "\0"}, "document holds a zero"),
    ],
)
def test_wrong_events_are_errors(change, message):
    with pytest.raises(ValueError, match=message):
        Event(**{"event_id": "e", "page_id": "0" * 32, "kind": "click", "document": "a", **change})


def test_a_swap_has_two_ranks():
    with pytest.raises(ValueError, match="1 <= low < high, got 2 and 2"):
        swap(2, 2, swapped=True)


STORING = """
import gc, sys
from rankloop.serve.events.store import Store
from serve.conftest import make_click, make_page

def store_some():
    shown = [make_page(user="u1"), make_page(user="u2")]
    store.put_events([make_click(shown[0], "a")])
    store.put_pages(shown)
    store.put_events([make_click(shown[1], "b")])

with Store.open(sys.argv[1]) as store:
    store_some()
    gc.collect()
    gc.disable()
    for _ in range(10):
        store_some()
    print(gc.collect())
"""


def test_storing_leaves_nothing_behind_for_the_garbage_collector(database):
    """Cycles that grow old wait for a full collection, which a server makes every 100,000 requests or so.

    In a process of its own: the collector counts what every thread left, also those of other tests.
    """
    done = subprocess.run(
        [sys.executable, "-c", STORING, database],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.stdout == "0\n"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read where Linux tells it")
def test_memory_does_not_grow_with_the_file_nor_with_those_who_read_it(page, tmp_path):
    with Store.open(f"sqlite:///{tmp_path / 'events.db'}") as store:
        names = tuple(f"feature {i}" for i in range(2048))
        store.put_pages([page(features=np.zeros((3, 2048)), feature_names=names) for _ in range(800)])
        before = resident()
        with ExitStack() as readers:
            for _ in range(8):
                connection = readers.enter_context(store.reading())
                connection.execute(text("SELECT max(matrix) FROM page_features"))
            assert resident() - before < 60 << 20  # the file has 20 MB
        assert store.connections.reads.pool.checkedin() == 2  # the others are closed


def resident():
    """Bytes of memory of this process, files that it maps included."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
