"""All pages, as one router."""

from fastapi import APIRouter

from rankloop.serve.pages import (
    acting,
    comparing,
    dashboard,
    entrance,
    explaining,
    files,
    judging,
    people,
    searching,
)

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
for part in (searching, explaining, comparing, judging, people, entrance, dashboard, acting, files):
    router.include_router(part.router)
