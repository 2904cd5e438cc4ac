"""Event stores to test on: a SQLite file, and a real PostgreSQL server on loopback where there is one."""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from rankloop.serve.shown import Event, ShownPage
from rankloop.serve.store import Store


class Postgres:
    """A server of its own in a temporary folder, run by an ordinary user; it can be stopped and started."""

    def __init__(self, programs: Path) -> None:
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="rankloop-pg-"))
        self.port = _free_port()
        self.options = {}
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            self.options = {"user": "postgres", "group": "postgres", "extra_groups": []}
            shutil.chown(self.folder, "postgres", "postgres")
        self._run("initdb", "-D", str(self.folder / "data"), "-A", "trust", "-U", "rankloop", "--no-sync")

    def start(self) -> None:
        told = (
            f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories='' "
            "-c shared_buffers=32MB -c max_connections=40 -c fsync=off"
        )
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-o", told, "-l", self._log, "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-m", mode, "stop")

    def database(self) -> str:
        """The URL of an empty database: a schema of its own, which is made faster than a database."""
        import psycopg

        name = f"test_{secrets.token_hex(4)}"
        where = f"rankloop@127.0.0.1:{self.port}/postgres"
        with psycopg.connect(f"postgresql://{where}", autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"postgresql+psycopg://{where}?options=-csearch_path%3D{name}"

    @property
    def _log(self) -> str:
        return str(self.folder / "log")

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self.programs / program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            timeout=60,
            **self.options,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr}")


@pytest.fixture(scope="session")
def postgres():
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL server (initdb, pg_ctl) in PATH or /usr/lib/postgresql; install one")
    pytest.importorskip("psycopg", reason="no psycopg; install rankloop[postgres]")
    server = Postgres(programs)
    server.start()
    yield server
    server.stop()
    shutil.rmtree(server.folder, ignore_errors=True)


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
    told = {"feature_names": ("bm25", "age"), "ranker": "v1", "seconds": {"retrieve": 0.01}, "found": 7}
    scores = -np.arange(float(len(ids)))
    return ShownPage(
        page_id or secrets.token_hex(16), shown, query, ids, scores, matrix, **{**told, **others}
    )


def make_click(page, document, *, kind="click", after=1.0, value=None, event_id=None):
    time = page.time + after
    return Event(event_id or secrets.token_hex(8), page.page_id, kind, document, value=value, time=time)


def _programs() -> Path | None:
    found = shutil.which("pg_ctl")
    homes = [Path(found).parent] if found else []
    homes += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((home for home in homes if (home / "initdb").exists() and (home / "pg_ctl").exists()), None)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
