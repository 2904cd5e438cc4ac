"""Administration routes for versions: list, promote, roll back, shadow, canary."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fastapi import APIRouter, Depends, Request, Response

from rankloop.serve.desk.acts import note_act
from rankloop.serve.http.answers import ADMIN, in_waiting_thread, service_of
from rankloop.serve.http.schema_admin import (
    ForgetRequest,
    Forgotten,
    ModelOut,
    ModelsAnswer,
    PromoteRequest,
    RoleRequest,
)
from rankloop.serve.http.tokens import only_admin, who
from rankloop.serve.json_value import json_value

if TYPE_CHECKING:
    from rankloop.serve.service import Service

__all__ = ["models_answer", "router"]

router = APIRouter(tags=["administration"], dependencies=[Depends(only_admin)])


def models_answer(service: "Service") -> ModelsAnswer:
    """All versions and their roles."""
    roles = service.registry.roles()
    return ModelsAnswer(
        production=str(roles.production),
        previous=roles.previous,
        shadow=roles.shadow,
        canary=roles.canary,
        canary_share=roles.share,
        shadow_agreement=service.shadow.agreement(roles.shadow) if roles.shadow else None,
        versions=[
            ModelOut(
                version=one.version,
                role=one.role,
                time=one.time,
                sha256=one.sha256,
                lineage=json_value(one.lineage),
            )
            for one in service.registry.versions()
        ],
    )


@router.get("/models", response_model=ModelsAnswer, responses=ADMIN)
async def models(request: Request) -> Response:
    """All versions with their lineage, and which of them serve."""
    service = service_of(request)
    return await in_waiting_thread(request, lambda: models_answer(service))


@router.post("/models/promote", response_model=ModelsAnswer, responses=ADMIN)
async def promote(request: Request, body: PromoteRequest) -> Response:
    """Let a version serve everybody; one that cannot be loaded is refused, and nothing changes."""
    return await _changed(
        request, lambda service: service.versions.promote(body.version), "promote", version=body.version
    )


@router.post("/models/roll_back", response_model=ModelsAnswer, responses=ADMIN)
async def roll_back(request: Request) -> Response:
    """Let the version before serve again."""
    return await _changed(request, lambda service: service.versions.roll_back(), "roll back")


@router.post("/models/shadow", response_model=ModelsAnswer, responses=ADMIN)
async def shadow(request: Request, body: RoleRequest) -> Response:
    """Let a version rank pages that are not shown; without a version, end it."""
    return await _changed(
        request,
        lambda service: service.versions.shadow(body.version),
        "shadow" if body.version else "end shadow",
        version=body.version or service_of(request).versions.live.roles.shadow,
    )


@router.post("/models/canary", response_model=ModelsAnswer, responses=ADMIN)
async def canary(request: Request, body: RoleRequest) -> Response:
    """Let a version serve a share of the people; without a version, end it."""
    return await _changed(
        request,
        lambda service: service.versions.canary(body.version, body.share),
        "canary" if body.version else "end canary",
        version=body.version or service_of(request).versions.live.roles.canary,
        share=body.share if body.version else None,
    )


@router.post("/forget", response_model=Forgotten, responses=ADMIN)
async def forget(request: Request, body: ForgetRequest) -> Response:
    """Delete everything recorded of a person."""
    service = service_of(request)
    return await in_waiting_thread(request, lambda: Forgotten(pages=service.forget(body.user)))


async def _changed(
    request: Request, change: "Callable[[Service], object]", act: str, **detail: object
) -> Response:
    service = service_of(request)

    def work() -> ModelsAnswer:
        before = service.versions.live.roles.production
        change(service)
        after = service.versions.live.roles.production
        note_act(service.store, who(request), act, **detail, before=before, after=after)
        return models_answer(service)

    return await in_waiting_thread(request, work)
