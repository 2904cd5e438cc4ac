"""Style and scripts of the page, from memory."""

import hashlib
from pathlib import Path

from fastapi import APIRouter, Request, Response

from rankloop.report import STYLE
from rankloop.serve.pages.colours import SWATCHES

__all__ = ["router"]

KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
FILES = {
    path.name: path.read_bytes()
    for path in sorted((Path(__file__).parent / "static").iterdir())
    if path.suffix in KINDS
} | {"figures.css": STYLE.encode()}
FILES["page.css"] += SWATCHES.encode()
TAGS = {name: f'"{hashlib.sha256(content).hexdigest()[:20]}"' for name, content in FILES.items()}

router = APIRouter(include_in_schema=False)


@router.get("/static/{name}")
async def static(request: Request, name: str) -> Response:
    """A file of the page; browsers cache it and check whether it changed."""
    if name not in FILES:
        return Response(status_code=404)
    headers = {"ETag": TAGS[name], "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == TAGS[name]:
        return Response(status_code=304, headers=headers)
    return Response(FILES[name], media_type=KINDS[Path(name).suffix], headers=headers)
