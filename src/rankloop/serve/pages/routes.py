"""All pages, as one router."""

from fastapi import APIRouter

from rankloop.serve.pages import actions as acting
from rankloop.serve.pages import assets as files
from rankloop.serve.pages import comparison as comparing
from rankloop.serve.pages import dashboard
from rankloop.serve.pages import explanation as explaining
from rankloop.serve.pages import judgments as judging
from rankloop.serve.pages import login as entrance
from rankloop.serve.pages import search as searching
from rankloop.serve.pages import visitors as people

__all__ = ["router"]

router = APIRouter(include_in_schema=False)
for part in (searching, explaining, comparing, judging, people, entrance, dashboard, acting, files):
    router.include_router(part.router)
