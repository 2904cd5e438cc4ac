"""All pages, as one router."""

from fastapi import APIRouter

from rankloop.serve.pages import (
    actions,
    assets,
    behind,
    comparison,
    dashboard,
    explanation,
    judging,
    login,
    loop,
    pins,
    queries,
    scheduled,
    search,
    visitors,
)

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
for part in (
    search,
    explanation,
    comparison,
    scheduled,
    judging,
    visitors,
    login,
    queries,
    loop,
    pins,
    dashboard,
    behind,
    actions,
    assets,
):
    router.include_router(part.router)
