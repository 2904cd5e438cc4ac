"""Requests and answers of the administration and monitoring routes."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from rankloop.serve.http.schema import StrictModel, example

__all__ = [
    "ExperimentOut",
    "ExperimentRequest",
    "ExperimentsAnswer",
    "ForgetRequest",
    "Forgotten",
    "Health",
    "ModelOut",
    "ModelsAnswer",
    "PromoteRequest",
    "Readiness",
    "RoleRequest",
]


class ModelOut(BaseModel):
    version: str
    role: str | None
    time: float
    sha256: str
    lineage: dict[str, Any]


class ModelsAnswer(BaseModel):
    """All versions, their roles, and how far the shadow agrees with what is shown."""

    production: str
    previous: str | None = None
    shadow: str | None = None
    canary: str | None = None
    canary_share: float = 0.0
    shadow_agreement: dict[str, float] | None = None
    versions: list[ModelOut]


class PromoteRequest(StrictModel):
    """The version to serve to everyone."""

    version: Annotated[str, Field(min_length=1, max_length=50, examples=["v2"])]


class RoleRequest(StrictModel):
    """The version to make shadow or canary; none ends it. `share` of the people get a canary."""

    version: Annotated[str | None, Field(max_length=50)] = None
    share: Annotated[float, Field(gt=0, le=1)] = 0.05


class ExperimentRequest(StrictModel):
    """Two versions to compare on a share of the people."""

    model_config = example(kind="interleave", a="v1", b="v2", share=0.5, note="is the new one better?")

    kind: Literal["interleave", "ab"] = "interleave"
    a: Annotated[str, Field(min_length=1, max_length=50)]
    b: Annotated[str, Field(min_length=1, max_length=50)]
    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    method: Annotated[str, Field(max_length=50)] = "team_draft"
    planned: Annotated[
        int | None, Field(ge=100, le=1_000_000_000, description="People after which an A/B experiment ends.")
    ] = None
    note: Annotated[str, Field(max_length=500)] = ""


class ExperimentOut(BaseModel):
    """An experiment and its verdict so far, which holds at every look."""

    id: str
    kind: str
    a: str
    b: str
    share: float
    method: str
    started: float
    ended: float | None
    note: str
    pages: int
    planned: int | None = None
    verdict: dict[str, Any] | None = None


class ExperimentsAnswer(BaseModel):
    experiments: list[ExperimentOut]


class ForgetRequest(StrictModel):
    """The person whose pages and events are deleted."""

    user: Annotated[str, Field(min_length=1, max_length=200)]


class Forgotten(BaseModel):
    pages: int


class Health(BaseModel):
    status: Literal["ok"]
    version: str | None = None


class Readiness(BaseModel):
    """Whether pages can be served, and what else is wrong."""

    ready: bool
    ranker: str | None
    documents: int
    generation: int
    database: str
    waiting: int
    troubles: list[str] = []
