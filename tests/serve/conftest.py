"""Event stores to test on: a SQLite file, and a real PostgreSQL server on loopback where there is one."""

import secrets

import numpy as np
import pytest

from rankloop.serve.events.shown_page import Event, ShownPage
from rankloop.serve.events.store import Store
from serve.postgres_server import Postgres, postgres_programs


@pytest.fixture(scope="session")
def postgres():
    programs = postgres_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server (initdb, pg_ctl) in PATH or /usr/lib/postgresql; install one")
    pytest.importorskip("psycopg", reason="no psycopg; install rankloop[postgres]")
    with Postgres(programs) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, tmp_path):
    """The URL of an empty database, of both kinds."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'events.db'}"
    return request.getfixturevalue("postgres").database()


@pytest.fixture
def store(database):
    with Store.open(database) as opened:
        yield opened


@pytest.fixture
def page():
    """A maker of pages: `page(query="shoes", documents="abc")`."""
    return make_page


@pytest.fixture
def click():
    """A maker of clicks: `click(page, "b")`."""
    return make_click


def make_page(query="shoes", documents="abc", *, page_id=None, shown=1000.0, features=None, **others):
    ids = tuple(documents)
    matrix = np.arange(2.0 * len(ids)).reshape(len(ids), 2) if features is None else features
    defaults = {"feature_names": ("bm25", "age"), "ranker": "v1", "seconds": {"retrieve": 0.01}, "found": 7}
    scores = -np.arange(float(len(ids)))
    return ShownPage(
        page_id or secrets.token_hex(16), shown, query, ids, scores, matrix, **{**defaults, **others}
    )


def make_click(page, document, *, kind="click", after=1.0, value=None, event_id=None):
    time = page.time + after
    return Event(event_id or secrets.token_hex(8), page.page_id, kind, document, value=value, time=time)
