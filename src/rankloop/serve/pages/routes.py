"""All pages, as one router."""

from fastapi import APIRouter

from rankloop.serve.pages import (
    actions,
    assets,
    comparison,
    dashboard,
    explanation,
    judging,
    login,
    loop,
    pins,
    queries,
    search,
    visitors,
)

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
for part in (
    search,
    explanation,
    comparison,
    judging,
    visitors,
    login,
    queries,
    loop,
    pins,
    dashboard,
    actions,
    assets,
):
    router.include_router(part.router)
