"""Routes for documents, with the token: store, change, delete; one or many, and once for each key."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NoReturn, TypeVar

from fastapi import APIRouter, Depends, Header, HTTPException, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from rankloop.serve.events.idempotency import KeyedRequest
from rankloop.serve.http.answers import ADMIN, in_waiting_thread, problems, service_of
from rankloop.serve.http.limits import SLOWEST_BODY, too_large, whole_body
from rankloop.serve.http.schema_documents import (
    DeleteRequest,
    DocumentItem,
    DocumentsAnswer,
    DocumentsRequest,
)
from rankloop.serve.http.tokens import only_admin
from rankloop.serve.json_value import json_value
from rankloop.serve.service import Service

__all__ = ["router"]

REPLAYED = "Idempotency-Replayed"

router = APIRouter(
    prefix="/documents",
    tags=["documents"],
    dependencies=[Depends(only_admin)],
    responses=ADMIN | problems(408, 409),
)

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="The same request with the same key is done once, and answered alike, for a day.",
    ),
]
Id = Annotated[str, Path(min_length=1, max_length=500)]
Model = TypeVar("Model", bound=BaseModel)
Change = Callable[[], list[DocumentItem]]


def _body(schema: dict[str, Any]) -> dict[str, Any]:
    """The documentation of a body that the route reads itself."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


_MANY, _IDS = _body(DocumentsRequest.model_json_schema()), _body(DeleteRequest.model_json_schema())
_ONE = _body({"type": "object", "example": {"title": "Red running shoes", "price": 80}})


@router.put("", response_model=DocumentsAnswer, openapi_extra=_MANY)
async def put_documents(request: Request, key: Key = None) -> Response:
    """Store documents, each in place of the one with its id; the answer says what came of each.

    What is stored is in the next search of this process, and of every worker within a second.
    """
    service, body = service_of(request), await _read(request)
    given = _some(service, _checked(DocumentsRequest, body).documents)
    return await _changed(request, key, body, lambda: service.documents.put(given))


@router.patch("", response_model=DocumentsAnswer, openapi_extra=_MANY)
async def patch_documents(request: Request, key: Key = None) -> Response:
    """Change the given fields of documents; null removes one, and other fields stay."""
    service, body = service_of(request), await _read(request)
    given = _some(service, _checked(DocumentsRequest, body).documents)
    return await _changed(request, key, body, lambda: service.documents.patch(given))


@router.delete("", response_model=DocumentsAnswer, openapi_extra=_IDS)
async def delete_documents(request: Request, key: Key = None) -> Response:
    """Delete documents by id; those that are not there are reported as absent."""
    service, body = service_of(request), await _read(request)
    given = _some(service, [str(id) for id in _checked(DeleteRequest, body).ids])
    return await _changed(request, key, body, lambda: service.documents.delete(given))


@router.get(
    "/{id:path}",
    response_class=Response,
    responses={200: {"content": {"application/json": {"schema": {"type": "object"}}}}},
)
async def get_document(request: Request, id: Id) -> Response:
    """A document as it was given."""
    service = service_of(request)

    def work() -> Response:
        found = {name: _plain(value) for name, value in service.documents.get(id).items()}
        return Response(json.dumps(json_value(found)), media_type="application/json")

    return await in_waiting_thread(request, work)


@router.put("/{id:path}", response_model=DocumentsAnswer, openapi_extra=_ONE)
async def put_document(request: Request, id: Id, key: Key = None) -> Response:
    """Store a document in place of the one with this id."""
    service, body = service_of(request), await _read(request)
    given = _one(service, id, body)
    return await _changed(request, key, body, lambda: service.documents.put([given]), single=True)


@router.patch("/{id:path}", response_model=DocumentsAnswer, openapi_extra=_ONE)
async def patch_document(request: Request, id: Id, key: Key = None) -> Response:
    """Change the given fields of a document; null removes one, and other fields stay."""
    service, body = service_of(request), await _read(request)
    given = _one(service, id, body)
    return await _changed(request, key, body, lambda: service.documents.patch([given]), single=True)


@router.delete("/{id:path}", response_model=DocumentsAnswer)
async def delete_document(request: Request, id: Id, key: Key = None) -> Response:
    """Delete a document."""
    service = service_of(request)
    return await _changed(request, key, b"", lambda: service.documents.delete([id]), single=True)


async def _changed(
    request: Request, key: str | None, body: bytes, change: Change, *, single: bool = False
) -> Response:
    """Do a change, once for each key; the outcome of a `single` document is also the status."""
    service = service_of(request)

    def done() -> str:
        items = change()
        return DocumentsAnswer(items=items, generation=service.index.generation).model_dump_json()

    def work() -> Response:
        if key is None:
            return _answered(done(), single=single)
        what = b"\0".join([request.method.encode(), request.url.path.encode(), body])
        keyed = KeyedRequest(service.store, key, what)
        before = keyed.begin()
        if before is not None:
            return _answered(before, single=single, replayed=True)
        try:
            answer = done()
        except BaseException:
            keyed.give_up()
            raise
        keyed.finish(answer)
        return _answered(answer, single=single)

    return await in_waiting_thread(request, work)


def _answered(answer: str, *, single: bool, replayed: bool = False) -> Response:
    if single:
        only = DocumentsAnswer.model_validate_json(answer).items[0]
        if only.status == "refused":
            raise ValueError(only.reason)
        if only.status == "absent":
            raise LookupError("there is no such document")
    headers = {REPLAYED: "true"} if replayed else None
    return Response(answer, media_type="application/json", headers=headers)


async def _read(request: Request) -> bytes:
    """The body, if it is not too large and does not come too slowly."""
    limit = service_of(request).config.limits.documents_body
    length = request.headers.get("content-length", "0")
    try:
        async with asyncio.timeout(SLOWEST_BODY):
            fits = length.isdigit() and int(length) <= limit
            messages = await whole_body(request.receive, limit) if fits else None
    except TimeoutError:
        raise HTTPException(408, "the request came too slowly", {"Connection": "close"}) from None
    if messages is None:
        raise HTTPException(413, too_large(limit), {"Connection": "close"})
    return b"".join(message.get("body", b"") for message in messages)


def _parsed(body: bytes) -> Any:
    def no_number(name: str) -> NoReturn:
        raise ValueError(f"{name} is not a valid JSON number")

    try:
        return json.loads(body, parse_constant=no_number)
    except RecursionError:
        raise ValueError("the body is nested too deeply") from None
    except ValueError as error:
        raise RequestValidationError([{"loc": ("body",), "msg": f"it is not JSON: {error}"}]) from None


def _checked(model: type[Model], body: bytes) -> Model:
    try:
        return model.model_validate(_parsed(body))
    except ValidationError as error:
        wrong = [{**one, "loc": ("body", *one["loc"])} for one in error.errors()]
        raise RequestValidationError(wrong) from None


def _some(service: Service, given: Sequence[Any]) -> Sequence[Any]:
    most = service.config.limits.documents
    if len(given) > most:
        raise ValueError(f"at most {most} documents at once, got {len(given)}; send them in several requests")
    return given


def _one(service: Service, id: str, body: bytes) -> dict[str, Any]:
    """A document whose id is in its address; one in the body must be the same."""
    given = _parsed(body)
    if not isinstance(given, dict):
        raise RequestValidationError([{"loc": ("body",), "msg": "it is an object with the fields by name"}])
    name = service.documents.id_field
    if str(given.get(name, id)) != id:
        raise ValueError(f"the id in the address differs from {name!r} in the document; leave one out")
    return {**given, name: given.get(name, id)}


def _plain(value: Any) -> Any:
    """Vectors as lists."""
    return value.tolist() if hasattr(value, "tolist") else value
