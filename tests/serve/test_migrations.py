"""Stores of earlier schemas, as earlier commits made them, opened by this one: nothing is lost."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text

from rankloop.serve.events.idempotency import KeyedRequest
from rankloop.serve.events.migrations import STEPS
from rankloop.serve.events.store import Store
from rankloop.serve.events.tables import SCHEMA, metadata
from serve.conftest import make_click, make_page

FOLDER = Path(__file__).parent / "stores"
STORES = sorted(FOLDER.glob("schema_*.sql"))


@pytest.fixture(params=STORES, ids=lambda path: path.stem)
def old(request, database):
    """The URL of a store of an earlier schema, in both kinds of database."""
    statements = request.param.read_text() + (FOLDER / "rows.sql").read_text()
    if database.startswith("sqlite"):
        with sqlite3.connect(database.removeprefix("sqlite:///")) as connection:
            connection.executescript(statements)
        return database
    for ours, theirs in ((" BLOB", " BYTEA"), (" DOUBLE", " DOUBLE PRECISION"), (" WITHOUT ROWID", "")):
        statements = statements.replace(ours, theirs)
    engine = create_engine(database)
    with engine.begin() as connection:
        for line in statements.splitlines():
            if line.startswith("--"):
                continue
            connection.exec_driver_sql(line.replace("x'", "'\\x"))
    engine.dispose()
    return database


def test_what_was_recorded_is_there_and_more_can_be(old):
    with Store.open(old) as store:
        frame = store.click_frame(influence=None)
        assert frame.select("document", "click").rows() == [("a", 0), ("b", 1)]
        page = store.page("0" * 32)
        assert page.origin is None
        assert page.features.tolist() == [[1.0], [0.5]]
        assert store.judgments()["red shoes"] == {"a": 2.0}
        assert "g" * 32 in store.forgotten()
        with store.reading() as connection:
            assert connection.execute(text("SELECT version FROM schema_version")).scalars().all() == [SCHEMA]
            assert connection.execute(text("SELECT planned FROM experiments")).scalars().all() == [None]
        later = make_page(origin="o" * 32)
        assert store.put_pages([later]) == 1
        assert store.put_events([make_click(later, "a")]) == 1
        assert KeyedRequest(store, "key", b"x").begin() is None
        assert store.forget("u" * 32) == 1
    with Store.open(old) as again:
        assert again.page("0" * 32) is None


def test_the_columns_are_those_of_a_new_store(old):
    Store.open(old).close()
    engine = create_engine(old)
    made = inspect(engine)
    for table in metadata.sorted_tables:
        assert {one["name"] for one in made.get_columns(table.name)} == set(table.columns.keys()), table.name
    engine.dispose()


def test_there_is_a_store_of_every_schema_that_can_be_migrated():
    assert {f"schema_{step - 1}" for step in STEPS} <= {path.stem for path in STORES}


def test_a_store_of_a_newer_rankloop_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path / 'events.db'}"
    Store.open(url).close()
    with sqlite3.connect(tmp_path / "events.db") as connection:
        connection.execute("UPDATE schema_version SET version = ?", (SCHEMA + 1,))
    with pytest.raises(ValueError, match=r"written by a newer rankloop.*upgrade rankloop"):
        Store.open(url)
