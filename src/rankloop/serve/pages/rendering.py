"""Templates to answers, with everything escaped; errors as pages."""

import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import ValidationError
from sqlalchemy.exc import DataError

from rankloop.engines import EngineAway
from rankloop.search.deadline import DeadlineExceeded
from rankloop.serve.events.store import StoreAway
from rankloop.serve.http.answers import AWAY, NO_ENGINE, RETRY, UNFIT, service_of
from rankloop.serve.http.search_threads import Busy
from rankloop.serve.http.tokens import LockedOut
from rankloop.serve.pages.colours import colour_class
from rankloop.serve.pages.same_site import require_same_site

__all__ = [
    "PageRoute",
    "count",
    "duration",
    "figure",
    "fragment",
    "here",
    "moment",
    "page",
    "percent",
    "problem",
    "signed",
    "words",
]

NO_CACHE = {"Cache-Control": "private, no-cache"}  # going back shows the page as it was


def page(request: Request, template: str, *, status: int = 200, **shown: Any) -> HTMLResponse:
    """A whole page."""
    config = service_of(request).config
    frame = {
        "site": config.site or config.name,
        "longest": config.limits.query,
        "place": "",
        "query": "",
        "here": here(request),
        "desk": "place" in shown,  # whether the pages of the desk are linked
    }
    return fragment(template, status=status, **(frame | shown))


def here(request: Request) -> str:
    """The address of a page within the service."""
    path, query = quote(request.scope["path"]), request.url.query
    return f"{path}?{query}" if query else path


def fragment(template: str, *, status: int = 200, **shown: Any) -> HTMLResponse:
    """A part of a page."""
    return HTMLResponse(_TEMPLATES.get_template(template).render(shown), status, NO_CACHE)


def problem(request: Request, status: int, heading: str, sentence: str) -> HTMLResponse:
    """An error as a page; scripts read the sentence from a header."""
    answer = page(request, "problem.html", status=status, heading=heading, sentence=sentence)
    answer.headers["X-Problem"] = sentence.encode("ascii", "replace").decode().replace("\n", " ")[:300]
    return answer


class PageRoute(APIRoute):
    """A route whose errors are pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                if request.method == "POST":
                    require_same_site(request)
                return await handle(request)
            except PermissionError as error:
                return problem(request, 403, "Not allowed", _sentence(error))
            except (StoreAway, EngineAway, DeadlineExceeded, Busy) as error:
                answer = problem(request, 503, "Not available", _sentence(_for_visitors(error)))
                answer.headers["Retry-After"] = RETRY
                return answer
            except LockedOut as error:
                answer = problem(request, 429, "Not now", _sentence(error))
                answer.headers["Retry-After"] = str(error.seconds)
                return answer
            except LookupError as error:
                if type(error) is not LookupError:  # a KeyError or an IndexError is our mistake
                    raise
                return problem(request, 404, "Not found", _sentence(error))
            except DataError:
                return problem(request, 400, "This could not be understood", _sentence(ValueError(UNFIT)))
            except ValidationError as error:
                return problem(request, 400, "This could not be understood", _first_of(error))
            except ValueError as error:
                return problem(request, 400, "This could not be understood", _sentence(error))

        return handled


def _for_visitors(error: Exception) -> Exception:
    """What is away, without its address, which is for those with the token: `/ready` says it."""
    away = {StoreAway: AWAY, EngineAway: NO_ENGINE}
    return next((kind(told) for kind, told in away.items() if isinstance(error, kind)), error)


def _sentence(error: Exception) -> str:
    text = str(error.args[0]) if error.args else "there is no such page"
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _first_of(error: ValidationError) -> str:
    """The first error of a request, without the value that was sent."""
    wrong = error.errors()[0]
    return f"{words(str(wrong['loc'][0]))}: {wrong['msg'][:1].lower()}{wrong['msg'][1:]}."


def count(value: float) -> str:
    """A whole number with thousands separated."""
    return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def duration(seconds: float) -> str:
    """A short time.

    >>> duration(0.0123), duration(2.5)
    ('12 ms', '2.5 s')
    """
    return f"{seconds * 1000:.0f} ms" if seconds < 0.9995 else f"{seconds:.1f} s"


def figure(value: float) -> str:
    """A number with three significant digits, or a whole number."""
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.3g}"


def signed(value: float) -> str:
    """A difference."""
    return f"{value:+.3f}".replace("-", "\N{MINUS SIGN}")


def percent(value: float | None) -> str:
    """A share, or a dash where there is none."""
    return "\N{EN DASH}" if value is None else f"{100 * value:.1f} %"


def moment(seconds: float) -> str:
    """A time in UTC."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds))


def words(name: str) -> str:
    """The name of a field as a label."""
    return name.replace("_", " ").replace("-", " ").strip().capitalize() or name


_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_TEMPLATES.filters.update(
    colour=colour_class,
    count=count,
    duration=duration,
    figure=figure,
    signed=signed,
    percent=percent,
    moment=moment,
    words=words,
)
