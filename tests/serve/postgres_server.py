"""A PostgreSQL server on loopback, for tests and benchmarks."""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

__all__ = ["Postgres", "postgres_programs"]


class Postgres:
    """A server of its own in a temporary folder, run by an ordinary user; it can be stopped and started."""

    def __init__(self, programs: Path, *, options: str = "-c fsync=off -c shared_buffers=32MB") -> None:
        self.programs, self.settings = programs, options
        self.folder = Path(tempfile.mkdtemp(prefix="rankloop-pg-"))
        self.port = _free_port()
        self.options = {}
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            self.options = {"user": "postgres", "group": "postgres", "extra_groups": []}
            shutil.chown(self.folder, "postgres", "postgres")
        self._run("initdb", "-D", self._data, "-A", "trust", "-U", "rankloop", "--no-sync")

    def __enter__(self) -> "Postgres":
        self.start()
        return self

    def __exit__(self, *trouble: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        where = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories=''"
        options = f"{where} {self.settings}"
        self._run("pg_ctl", "-D", self._data, "-w", "-o", options, "-l", str(self.folder / "log"), "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")

    def database(self) -> str:
        """The URL of an empty database: a schema of its own, which is made faster than a database."""
        import psycopg

        name = f"test_{secrets.token_hex(4)}"
        where = f"rankloop@127.0.0.1:{self.port}/postgres"
        with psycopg.connect(f"postgresql://{where}", autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"postgresql+psycopg://{where}?options=-csearch_path%3D{name}"

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

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


def postgres_programs() -> Path | None:
    """The folder of the newest server that can be run on this machine."""
    if os.getuid() == 0 and "postgres" not in {user.pw_name for user in pwd.getpwall()}:
        return None
    found = shutil.which("pg_ctl")
    homes = [Path(found).parent] if found else []
    homes += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((home for home in homes if (home / "initdb").exists() and (home / "pg_ctl").exists()), None)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
