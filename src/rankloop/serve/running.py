"""The service as a process: it says what it serves, and ends with everything in the store."""

import signal
import socket
import webbrowser
from contextlib import suppress
from typing import Any, NoReturn

import uvicorn

from rankloop.serve.app import create_app
from rankloop.serve.config import TOKEN_VARIABLE, Config
from rankloop.serve.service import Service

__all__ = ["listening", "run", "web"]

LOCAL = ("127.0.0.1", "::1", "localhost")
PATIENCE = 10  # seconds for requests under way when it is asked to stop


def run(config: Config, *, host: str, port: int, open_browser: bool = False) -> None:
    """Serve until interrupted or terminated; requests under way are answered, and what waits is stored."""
    signal.signal(signal.SIGTERM, _end)
    with suppress(KeyboardInterrupt), listening(host, port) as found, Service.open(config) as service:
        service.warm()
        address = f"http://{'localhost' if host in LOCAL else host}:{found.getsockname()[1]}"
        server = _Server(web(service))
        server.greeting = _greeting(service, address, host)
        server.page = address if open_browser else None
        server.run(sockets=[found])


def web(service: Service, **options: Any) -> uvicorn.Config:
    """How the service is put on the web; only proxies that are named may say for whom they ask."""
    told: dict[str, Any] = {
        "log_level": "warning",
        "server_header": False,
        "timeout_graceful_shutdown": PATIENCE,
        "proxy_headers": bool(service.config.proxies),
        "forwarded_allow_ips": list(service.config.proxies),
    }
    return uvicorn.Config(create_app(service), **(told | options))


def listening(host: str, port: int) -> socket.socket:
    """A socket on the port, or one sentence why not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Only a socket that says TCP gets TCP_NODELAY from asyncio; without it answers wait 40 ms.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise ValueError(f"port {port} of {host} is not to be had ({error.strerror}); try --port 0") from None
    return found


class _Server(uvicorn.Server):
    """Says where it is once it can be reached."""

    greeting: tuple[str, ...] = ()
    page: str | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print("\n".join(self.greeting), flush=True)
        if self.page is not None:
            webbrowser.open(self.page)


def _greeting(service: Service, address: str, host: str) -> tuple[str, ...]:
    """What is served and where; the token is never printed."""
    config = service.config
    lines = [
        f"{len(service.index):,} documents of {config.index}, ranked by {service.live.production.version}",
        f"  page       {address}/",
        f"  API        {address}/openapi.json",
        f"  dashboard  {address}/dashboard",
        f"  events     {service.store!r}",
    ]
    if not config.admin_token:
        lines.append(f"administration is off; to promote and roll back, set {TOKEN_VARIABLE} to a token")
    if host not in LOCAL:
        lines.append("other machines can reach this; put TLS before it")
    return tuple(lines)


def _end(number: int, frame: object) -> NoReturn:
    raise SystemExit(0)
