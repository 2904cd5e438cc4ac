"""Routes for User Behavior Insights: what the collector ubi.js sends, from any front end."""

import hashlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from fastapi import APIRouter, Body, Depends, HTTPException, Request, Response
from pydantic import BaseModel

from rankloop.clicks.read_ubi import CLICK, CONVERSION, SHOWN
from rankloop.serve.events.ubi_files import PEOPLE
from rankloop.serve.http.answers import PROBLEMS, address_of, in_disk_thread, metrics_of, service_of
from rankloop.serve.http.limits import TokenBuckets
from rankloop.serve.http.schema import Accepted, EventIn, Refused
from rankloop.serve.http.tokens import given_token, user_of_given

if TYPE_CHECKING:
    from rankloop.serve.service import Service

__all__ = ["router", "ubi_space"]

router = APIRouter(tags=["user behavior insights"])

_KINDS = dict.fromkeys(CLICK, "click") | dict.fromkeys(CONVERSION, "conversion")
_KINDS |= dict.fromkeys(SHOWN, "viewport")

Records = Annotated[list[dict[str, Any]] | dict[str, Any], Body()]
_DAY = 86_400.0
_SHARE = 0.1  # of the files that one address range may fill in a day


class UbiAccepted(BaseModel):
    """How many records are on disk: events of our own pages, others, and those kept apart."""

    accepted: int
    of_pages: int = 0
    apart: int = 0
    refused: list[Refused] = []


class _Sender(NamedTuple):
    """Who sends: with the token, as a page of an allowed site, or neither; and the key of the address range.

    A program with the token sends for many people, so that its address range says nothing.
    """

    token: bool
    allowed: bool
    origin: str | None


async def _sender(request: Request) -> _Sender:
    """Wrong tokens are counted as everywhere: too many lock their address range out."""
    given = given_token(request)
    user = await user_of_given(request, given) if given else None
    if user is not None and user.may("admin"):
        return _Sender(True, True, None)
    service = service_of(request)
    allowed = request.headers.get("origin", "") in service.config.origins
    return _Sender(False, allowed, service.recorder.origin(address_of(request)))


Sender = Annotated[_Sender, Depends(_sender)]


@router.post("/ubi_queries", responses=PROBLEMS)
async def ubi_queries(request: Request, body: Records, sender: Sender) -> Response:
    """Queries with the results that were shown, in the fields of UBI 1.3; an array or a single one."""
    return await _taken(request, "queries", body, sender)


@router.post("/ubi_events", responses=PROBLEMS)
async def ubi_events(request: Request, body: Records, sender: Sender) -> Response:
    """What people did, in the fields of UBI 1.3; an array or a single one.

    An event whose `query_id` is the signed id of a page of this service counts like those of `/events`.
    Others are kept for `read_ubi`: with the token or from an allowed origin in `ubi`, else in `ubi/apart`.
    """
    return await _taken(request, "events", body, sender)


async def _taken(
    request: Request, what: str, body: list[dict[str, Any]] | dict[str, Any], sender: _Sender
) -> Response:
    service, metrics = service_of(request), metrics_of(request)
    records = [body] if isinstance(body, dict) else body
    most = service.config.limits.events
    if len(records) > most:
        raise ValueError(f"at most {most} records at once, got {len(records)}")
    if sender.origin is not None:
        _take_space(request, sender.origin, len(await request.body()))

    def work() -> UbiAccepted:
        wanted = _wanted(what)
        good = [one for one in records if all(one.get(name) for name in wanted)]
        reason = f"a record of ubi_{what} has {' and '.join(wanted)}"
        refused = [Refused(id="", reason=reason) for _ in range(len(records) - len(good))]
        ours = _of_pages(service, good) if what == "events" else {}
        if ours:
            recorded = service.record(list(ours.values()))
            metrics.events(recorded)
        others = [_nameless(one, service) for at, one in enumerate(good) if at not in ours]
        service.ubi.add(what, others, apart=not sender.allowed, origin=sender.origin)
        metrics.events(Accepted(accepted=len(others), refused=refused))
        return UbiAccepted(
            accepted=len(good),
            of_pages=len(ours),
            apart=0 if sender.allowed else len(others),
            refused=refused,
        )

    return await in_disk_thread(request, work)


def _wanted(what: str) -> tuple[str, ...]:
    """The fields without which the schema has no such record."""
    return ("action_name", "timestamp") if what == "events" else ("user_query",)


def ubi_space(megabytes: float, body: int, clients: int) -> TokenBuckets:
    """The bytes that an address range may send in a day: a share of the files, and always one request."""
    bytes_a_day = max(_SHARE * megabytes * 2**20, body)
    return TokenBuckets(bytes_a_day / _DAY, bytes_a_day, clients)


def _take_space(request: Request, origin: str, size: int) -> None:
    space: TokenBuckets = request.app.state.ubi_space
    wait = space.wait(origin, time.monotonic(), size)
    if wait > 0:
        message = "your network sent as much as it may in a day; send it later"
        raise HTTPException(429, message, {"Retry-After": str(math.ceil(wait))})


def _of_pages(service: "Service", records: Sequence[Mapping[str, Any]]) -> dict[int, EventIn]:
    """The events that carry the signed id of a page of ours, by their number."""
    found = {}
    for at, one in enumerate(records):
        kind = _KINDS.get(str(one.get("action_name")))
        details = one.get("event_attributes")
        thing = details.get("object") if isinstance(details, Mapping) else None
        if kind is None or not isinstance(thing, Mapping):
            continue
        try:
            service.recorder.signer.open(str(one.get("query_id")))
            event = {"id": _id(one), "impression": str(one["query_id"]), "kind": kind}
            found[at] = EventIn.model_validate(event | {"document": str(thing["object_id"])})
        except (KeyError, ValueError):  # a page of another service, or no document
            continue
    return found


def _nameless(record: Mapping[str, Any], service: "Service") -> dict[str, Any]:
    """A record in which keyed hashes stand for people, as everywhere in the log."""
    return {
        name: service.recorder.user(str(value)) if name in PEOPLE and value else value
        for name, value in record.items()
    }


def _id(record: Mapping[str, Any]) -> str:
    """The same record sent twice counts once."""
    return hashlib.blake2b(json.dumps(record, sort_keys=True).encode(), digest_size=16).hexdigest()
