"""Pages that list what administrators set, with a form to add to it and buttons to end it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from rankloop.serve.http.answers import in_waiting_thread, service_of
from rankloop.serve.pages.forms import changed_or_again
from rankloop.serve.pages.login import Form, form_token, has_token, login_form, may_view, require_admin
from rankloop.serve.pages.rendering import PageRoute, page

if TYPE_CHECKING:
    from rankloop.serve.service import Service

__all__ = ["EditableList"]


@dataclass(frozen=True)
class EditableList:
    """A list at a path, with its template: GET shows it, POST adds to it, POST to `/end` ends one of it.

    `usual` is what the form holds at first, `asked` the field of the form that each parameter of the address
    fills in. `shown` gives what the template shows. `add` and `end` take what was typed and the name of the
    administrator; what `add` refuses with a `ValueError` is shown beside the form.
    """

    path: str
    template: str
    place: str
    usual: Form
    shown: Callable[["Service"], dict[str, Any]]
    add: Callable[["Service", Form, str], None]
    end: Callable[["Service", Form, str], None]
    asked: Mapping[str, str] = field(default_factory=dict)

    def router(self) -> APIRouter:
        """The routes of the page."""
        router = APIRouter(prefix=self.path, route_class=PageRoute, include_in_schema=False)

        @router.get("")
        async def listed(request: Request) -> Response:
            typed = {name: request.query_params.get(given, "") for given, name in self.asked.items()}
            return await in_waiting_thread(request, lambda: self._page(request, typed))

        @router.post("")
        async def add(request: Request, fields: Form) -> Response:
            def again(wrong: str) -> Response:
                return self._page(request, fields, wrong=wrong, status=400)

            change = partial(self._changed, self.add, request, fields)
            return await in_waiting_thread(request, lambda: changed_or_again(change, again))

        @router.post("/end")
        async def end(request: Request, fields: Form) -> Response:
            return await in_waiting_thread(request, lambda: self._changed(self.end, request, fields))

        return router

    def _changed(
        self, change: Callable[["Service", Form, str], None], request: Request, fields: Form
    ) -> Response:
        who = require_admin(request, fields)
        change(service_of(request), fields, who.name)
        return RedirectResponse(self.path, status_code=303)

    def _page(self, request: Request, typed: Form, *, wrong: str = "", status: int = 200) -> Response:
        if not may_view(request):
            return login_form(request, status=401)
        return page(
            request,
            self.template,
            status=status,
            place=self.place,
            **self.shown(service_of(request)),
            typed=self.usual | typed,
            wrong=wrong,
            admin=has_token(request),
            form_token=form_token(request),
        )
