"""The service on the web: routes, limits, headers, errors in one sentence."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DataError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.routing import Match

from rankloop.engines import EngineAway
from rankloop.search.deadline import DeadlineExceeded
from rankloop.serve.config import Config
from rankloop.serve.documents import DocumentsBusy
from rankloop.serve.events.idempotency import SameKey
from rankloop.serve.events.store import StoreAway
from rankloop.serve.http import documents as api_documents
from rankloop.serve.http import experiments as api_experiments
from rankloop.serve.http import health as api_health
from rankloop.serve.http import models as api_models
from rankloop.serve.http import search as api_search
from rankloop.serve.http import ubi as api_ubi
from rankloop.serve.http.answers import AWAY, NO_ENGINE, RETRY, UNFIT, call_on_start, first_mistake
from rankloop.serve.http.compression import Compression
from rankloop.serve.http.connections import OpenConnections
from rankloop.serve.http.headers import Headers
from rankloop.serve.http.keys import Keys
from rankloop.serve.http.limits import Bodies, Rates, TokenBuckets
from rankloop.serve.http.metrics import Metrics
from rankloop.serve.http.own_cookies import OwnCookies
from rankloop.serve.http.prefix import Prefix
from rankloop.serve.http.request_log import STANDARD_OUTPUT, RequestLog
from rankloop.serve.http.search_threads import Busy, SearchThreads
from rankloop.serve.http.tokens import LockedOut, WrongTokens
from rankloop.serve.pages.rendering import problem
from rankloop.serve.pages.routes import router as pages
from rankloop.serve.service import Service

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["create_app", "learning"]

ON_DISK = 64  # requests that wait for the disk at once; they share one flush
ON_STORE = 32  # requests that wait for the database at once
API_VERSION = "1"  # of the routes; that of rankloop is shown to those who have the token
DESCRIPTION = "Search that logs what estimators need, learns from clicks, and shows that it got better."


def create_app(config: Config | Service | str | Path, *, own: bool = False, learns: bool = True) -> FastAPI:
    """The FastAPI app of a service, config, config file or index; it closes a service it opened or `own`s.

    Of several processes, one `learns`.
    """
    service = config if isinstance(config, Service) else Service.open(config)
    own = own or service is not config
    settings, limits = service.config, service.config.limits

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        with learning(settings) if learns else nullcontext():
            yield {"connections": OpenConnections(limits.connections, limits.header_seconds)}
        if own:
            service.close()

    app = FastAPI(
        title="rankloop",
        version=API_VERSION,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # their scripts come from another site
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        servers=[{"url": settings.web.prefix}] if settings.web.prefix else None,
    )
    app.state.service = service
    app.state.metrics = Metrics(service)
    threads = settings.threads or 2 * (os.cpu_count() or 1)
    app.state.search_threads = SearchThreads(threads, limits.waiting)
    app.state.wrong_tokens = WrongTokens(limits.clients)
    app.state.ubi_space = api_ubi.ubi_space(settings.spool_megabytes, limits.body, limits.clients)
    app.state.disk_threads = CapacityLimiter(ON_DISK)
    app.state.store_threads = CapacityLimiter(ON_STORE)
    for part in (api_search, api_documents, api_models, api_experiments, api_health, api_ubi):
        app.include_router(part.router)
    app.include_router(pages)
    _handle_errors(app)
    app.add_middleware(Bodies, limit=limits.body)
    web = settings.web
    app.add_middleware(
        Rates,
        buckets=TokenBuckets(limits.rate, limits.burst, limits.clients),
        trusted=TokenBuckets(web.key_rate, web.key_burst, max(1, len(web.by_name))),
    )
    if web.by_name:
        app.add_middleware(Keys, keys=web.by_name, wrong=app.state.wrong_tokens)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["content-type"],
        )
    if settings.hosts:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(settings.hosts))
    app.add_middleware(Headers, images=settings.card.image_sources)
    app.add_middleware(_Counted, metrics=app.state.metrics)
    if web.request_log:
        path = None if web.request_log == STANDARD_OUTPUT else settings.home / web.request_log
        app.add_middleware(RequestLog, path=path, queries=web.log_queries)
    if web.prefix:
        app.add_middleware(Prefix, prefix=_free(web.prefix, app))
    app.add_middleware(Compression)  # the prefix is put into pages before they are packed
    app.add_middleware(OwnCookies)  # outermost: all others read cookies
    return app


def _free(prefix: str, app: FastAPI) -> str:
    """A prefix that is no route itself: one cannot see whether a proxy stripped it."""
    for path in (prefix, f"{prefix}/x"):
        scope = {"type": "http", "method": "GET", "path": path, "headers": []}
        if any(route.matches(scope)[0] != Match.NONE for route in app.routes):
            raise ValueError(f"web.prefix is {prefix!r}, which has routes of the service; choose another")
    return prefix


@contextmanager
def learning(settings: Config) -> Iterator[None]:
    """Learn new rankers beside the service for as long as it runs, if the config says when."""
    if settings.learn_every <= 0 and settings.learn_after <= 0:
        yield
        return
    from rankloop.serve.learning.schedule import Schedule

    schedule = Schedule(settings)
    schedule.start()
    try:
        yield
    finally:
        schedule.stop()


def _handle_errors(app: FastAPI) -> None:
    """A mistake of the caller is answered with one sentence that does not repeat what it sent."""

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        detail = error.detail
        if error.status_code == 404:
            if "text/html" in request.headers.get("accept", ""):  # a person in a browser
                return problem(request, 404, "Not found", "There is no page at this address.")
            detail = "there is no such route; /openapi.json lists all routes"
        elif error.status_code == 405:
            detail = f"this route takes {headers.get('Allow') or headers.get('allow', 'other methods')}"
        return JSONResponse({"detail": detail}, error.status_code, headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return JSONResponse({"detail": first_mistake(error.errors())}, 422)

    @app.exception_handler(ValueError)
    async def wrong(request: Request, error: ValueError) -> Response:
        return JSONResponse({"detail": _sentence(error)}, 400)

    @app.exception_handler(DataError)
    async def unfit(request: Request, error: DataError) -> Response:
        return JSONResponse({"detail": UNFIT}, 400)

    @app.exception_handler(LookupError)
    async def absent(request: Request, error: LookupError) -> Response:
        if type(error) is not LookupError:  # a KeyError or an IndexError is our mistake
            raise error
        return JSONResponse({"detail": _sentence(error)}, 404)

    @app.exception_handler(StoreAway)
    async def later(request: Request, error: StoreAway) -> Response:
        return JSONResponse({"detail": AWAY}, 503, {"Retry-After": RETRY})

    @app.exception_handler(SameKey)
    async def same_key(request: Request, error: SameKey) -> Response:
        return JSONResponse({"detail": _sentence(error)}, 409, {"Retry-After": RETRY} if error.later else {})

    @app.exception_handler(EngineAway)
    async def no_engine(request: Request, error: EngineAway) -> Response:
        return JSONResponse({"detail": NO_ENGINE}, 503, {"Retry-After": RETRY})

    @app.exception_handler(DeadlineExceeded)
    @app.exception_handler(DocumentsBusy)
    @app.exception_handler(Busy)
    async def too_long(request: Request, error: Exception) -> Response:
        return JSONResponse({"detail": _sentence(error)}, 503, {"Retry-After": RETRY})

    @app.exception_handler(LockedOut)
    async def locked_out(request: Request, error: LockedOut) -> Response:
        return JSONResponse({"detail": _sentence(error)}, 429, {"Retry-After": str(error.seconds)})

    @app.exception_handler(OSError)
    async def broken(request: Request, error: OSError) -> Response:
        message = f"the service cannot write: {error.strerror or 'its disk fails'}"
        return JSONResponse({"detail": message}, 503, {"Retry-After": RETRY})


def _sentence(error: Exception) -> str:
    return str(error).encode("utf-8", "replace").decode()[:1000]


class _Counted:
    """Middleware: counts answers by route and status."""

    def __init__(self, app: "ASGIApp", metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        def count(message: "Message") -> None:
            route: Any = scope.get("route")
            self.metrics.request(getattr(route, "path", "other"), message["status"])

        await call_on_start(self.app, scope, receive, send, count)
