"""Requests and answers of the routes for documents."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field

from rankloop.serve.http.schema import StrictModel, example
from rankloop.serve.json_value import clean_text

__all__ = ["DeleteRequest", "DocumentItem", "DocumentsAnswer", "DocumentsRequest"]

Id = Annotated[str, Field(min_length=1, max_length=500)]
CleanText = Annotated[str, AfterValidator(clean_text)]


class DocumentsRequest(StrictModel):
    """Documents as `rankloop index` takes them, each with its id."""

    model_config = example(documents=[{"id": "17", "title": "Red running shoes", "price": 80}])

    documents: Annotated[list[dict[str, Any]], Field(min_length=1)]


class DeleteRequest(StrictModel):
    """The ids of documents."""

    model_config = example(ids=["17", "18"])

    ids: Annotated[list[Id | int], Field(min_length=1)]


class DocumentItem(BaseModel):
    """What came of one document: `stored`, `deleted`, `absent`, or `refused` with the reason."""

    id: CleanText | None
    status: Literal["stored", "deleted", "absent", "refused"]
    reason: CleanText | None = None


class DocumentsAnswer(BaseModel):
    """What came of each document, in the order given. `generation` is the commit that shows it."""

    items: list[DocumentItem]
    generation: int
