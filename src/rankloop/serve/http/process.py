"""The service as a process: it prints what it serves, and stores what waits before it ends."""

import gc
import multiprocessing
import os
import resource
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import uvicorn
from fastapi import FastAPI
from uvicorn.supervisors import Multiprocess

from rankloop.serve.config import TOKEN_VARIABLE, Config
from rankloop.serve.http.connections import KEPT_FILES, ConnectionProtocol
from rankloop.serve.http.create_app import create_app, learning
from rankloop.serve.http.listening import listening
from rankloop.serve.service import Service
from rankloop.serve.web_settings import PREFIX_VARIABLE

__all__ = ["run", "run_workers", "web", "worker"]

SOURCE = "RANKLOOP_SERVE"  # the environment variable with the config file or index that workers serve
BACKLOG, LEAST_BACKLOG = 2048, 64
LOCAL = ("127.0.0.1", "::1", "localhost")
GARBAGE = 5000  # new objects between two runs of the garbage collector
SWITCH = 0.001  # seconds after which a long computation lets short ones go on
SHUTDOWN = 10  # seconds for requests under way when it stops
ONE_BY_ONE = {"backlog": 1}  # connections that a worker takes at once: the others may have the next one


def run(
    config: Config,
    *,
    host: str,
    port: int,
    open_browser: bool = False,
    places: Mapping[str, str] | None = None,
) -> None:
    """Serve until interrupted or terminated; requests under way are answered, and what waits is stored.

    `places` are more paths to print at the start, by name.
    """
    signal.signal(signal.SIGTERM, _end)
    _allow_files()
    with suppress(KeyboardInterrupt), listening(host, port) as found, Service.open(config) as service:
        service.searcher.warm()
        address = _address(host, found)
        server = _Server(web(service))
        server.greeting = _greeting(service, address, host, places or {})
        server.page = address if open_browser else None
        _settle()
        server.run(sockets=[found])


def run_workers(
    source: str | Path, *, host: str, port: int, workers: int, open_browser: bool = False, prefix: str = ""
) -> None:
    """The same with several processes on one port; `source` is the config file or the index they read."""
    config = Config.read(source)
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    with listening(host, port) as found:
        address = _address(host, found)
        found.queue = _backlog(config)
        found.listen(0)  # requests that come before the workers wait for them
        with Service.open(config) as service:  # the first model is made here, once
            print("\n".join(_greeting(service, address, host, {})), flush=True)
        options = uvicorn.Config(
            f"{__name__}:worker", factory=True, workers=workers, **_options(config) | ONE_BY_ONE
        )
        if open_browser:
            webbrowser.open(address)
        with (
            _environment({SOURCE: str(source), PREFIX_VARIABLE: prefix or config.web.prefix}),
            learning(config),
        ):
            Multiprocess(options, sockets=[found]).run()


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """The environment of the workers; this process gets its own back at the end."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ |= variables
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def worker() -> FastAPI:
    """The app of one of several processes; learning is done by the parent process."""
    _end_with_parent()
    _allow_files()
    service = Service.open(Config.read(os.environ[SOURCE]).but(learn_every=0.0))
    service.searcher.warm()
    app = create_app(service, own=True, learns=False)
    _settle()
    return app


def web(service: Service, **options: Any) -> uvicorn.Config:
    """The settings of the web server of a service."""
    return uvicorn.Config(create_app(service), **(_options(service.config) | options))


def _options(config: Config) -> dict[str, Any]:
    """Only the X-Forwarded headers of proxies in the config are trusted."""
    return {
        "http": ConnectionProtocol,
        "backlog": _backlog(config),
        "ws": "none",
        "log_level": "warning",
        "server_header": False,
        "timeout_graceful_shutdown": SHUTDOWN,
        "proxy_headers": bool(config.proxies),
        "forwarded_allow_ips": list(config.proxies),
    }


def _backlog(config: Config) -> int:
    """How many connections wait to be taken; as many are taken at once, before any can be closed.

    Where a process may have few open files, they are few: asyncio writes as many errors to the log as there
    are connections that it could not take.
    """
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)  # so many are allowed before it serves
    return min(BACKLOG, max(LEAST_BACKLOG, files - KEPT_FILES - config.limits.connections))


def _end_with_parent() -> None:
    """End this worker when the process that started it is gone, however that ended."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(SHUTDOWN + 5)
        os._exit(1)

    threading.Thread(target=watch, name="rankloop-parent", daemon=True).start()


def _allow_files() -> None:
    """As many open files as the system grants: every connection is one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _settle() -> None:
    """Exclude the objects made so far from garbage collection, collect the others often, switch threads soon.

    Objects of the start stay alive; all requests would wait while they are searched. The command line, to
    start fast, collects so rarely that the remains of closed connections would pile up.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE, 10, 10)
    sys.setswitchinterval(SWITCH)


class _Server(uvicorn.Server):
    """Prints the greeting once it accepts connections."""

    greeting: tuple[str, ...] = ()
    page: str | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print("\n".join(self.greeting), flush=True)
        if self.page is not None:
            webbrowser.open(self.page)


def _address(host: str, found: socket.socket) -> str:
    return f"http://{'localhost' if host in LOCAL else host}:{found.getsockname()[1]}"


def _greeting(service: Service, address: str, host: str, places: Mapping[str, str]) -> tuple[str, ...]:
    """What is served, and its addresses; the token is never printed."""
    config, production = service.config, service.versions.live.production
    lines = [
        f"{len(service.index):,} documents of {config.index}, ranked by {production.version}",
        f"  page       {address}/",
        *(f"  {name:<9}  {address}{path}" for name, path in places.items()),
        f"  dashboard  {address}/dashboard",
        f"  API        {address}/openapi.json",
        f"  events     {service.store.name}",
        "end with Ctrl-C",
    ]
    if not config.admin_token:
        lines.append(f"administration is off; to promote and roll back, set {TOKEN_VARIABLE} to a token")
    if host not in LOCAL:
        lines.append("other machines can reach this; put a proxy with TLS in front of it")
    return tuple(lines)


def _end(number: int, frame: object) -> NoReturn:
    raise SystemExit(0)
