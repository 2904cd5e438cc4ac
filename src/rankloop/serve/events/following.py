"""Following pages into the store: their results join the page they belong to, each rank once."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, select, update

from rankloop.serve.events.connections import Connections, connected
from rankloop.serve.events.records import following_row
from rankloop.serve.events.shown_page import FollowingPage
from rankloop.serve.events.tables import following_pages, forgotten_pages, page_features, pages
from rankloop.serve.events.writing import having_ids, insert_new, place_waiting_clicks

__all__ = ["grow", "join_following", "put_following"]

Row = Mapping[str, Any]
_SAME = ("query", "user", "ranker", "features")  # of a page and what follows it
_ROW = (*_SAME, "page_id", "documents", "scores", "shown")


def put_following(connections: Connections, shown: Sequence[FollowingPage]) -> int:
    """Store following pages; one may come before its page. Gives the number of new ones.

    Sending one again changes nothing.
    """
    if not shown:
        return 0
    ids = {page.page_id for page in shown}
    with connected(connections, writes=True) as connection:
        statement = select(forgotten_pages.c.page_id)
        gone = set(having_ids(connection, statement, forgotten_pages.c.page_id, ids).scalars())
        kept = [page for page in shown if page.page_id not in gone]
        new = insert_new(connection, following_pages, [following_row(page) for page in kept])
    join_following(connections, ids)
    return new


def join_following(connections: Connections, page_ids: Collection[str]) -> None:
    """Append what waits for some pages, after both are committed: of two writers, the later one sees both.

    A page is locked while its row, its documents and its features grow together, so that a rank is never
    written twice, however many write, and however often.
    """
    with connected(connections, writes=False) as connection:
        statement = select(following_pages.c.page_id).distinct()
        some = set(having_ids(connection, statement, following_pages.c.page_id, page_ids).scalars())
    if not some:
        return
    with connected(connections, writes=True) as connection:
        longer = [page_id for page_id in sorted(some) if _join(connection, page_id)]
    place_waiting_clicks(connections, longer)


def _join(connection: Connection, page_id: str) -> bool:
    """Append to one page; whether it is longer now."""
    locked = select(*(pages.c[name] for name in _ROW)).where(pages.c.page_id == page_id).with_for_update()
    page = connection.execute(locked).mappings().first()
    if page is None:
        return False
    table = following_pages
    waiting = select(table).where(table.c.page_id == page_id).order_by(table.c.first, table.c.shown)
    features = select(page_features.c.matrix).where(page_features.c.page_id == page_id)
    matrix = connection.execute(features).scalar_one()
    parts = [dict(part) for part in connection.execute(waiting).mappings()]
    grown = grow({**page, "matrix": matrix}, parts)
    for part in parts:
        if part["first"] <= grown.reached:
            this = (table.c[name] == part[name] for name in ("page_id", "first", "shown"))
            connection.execute(delete(table).where(*this))
    if len(grown.documents) == page["shown"]:
        return False
    connection.execute(
        update(pages)
        .where(pages.c.page_id == page_id)
        .values(
            documents=json.dumps(grown.documents, ensure_ascii=False),
            scores=grown.scores,
            shown=len(grown.documents),
        )
    )
    connection.execute(
        update(page_features).where(page_features.c.page_id == page_id).values(matrix=grown.matrix)
    )
    return True


class Grown(NamedTuple):
    """A page with what followed it; parts that begin at `reached` or above are used up."""

    documents: list[str]
    scores: bytes
    matrix: bytes
    reached: int


def grow(page: Row, parts: Sequence[Row]) -> Grown:
    """A page with the parts that follow it without a gap, each rank and each document once.

    Parts come by their first rank. Of one that belongs to the page, the documents below those of the page
    are appended, up to the first that it shows already; what does not belong is dropped.
    """
    documents: list[str] = json.loads(page["documents"])
    scores, matrix, reached = bytes(page["scores"]), bytes(page["matrix"]), 0
    for part in parts:
        skipped = len(documents) + 1 - part["first"]
        if skipped < 0:
            break  # the results between have not come
        reached = part["first"]
        given: list[str] = json.loads(part["documents"])
        if skipped >= len(given) or any(page[name] != part[name] for name in _SAME):
            continue
        known, new = set(documents), given[skipped:]
        again = next((at for at, one in enumerate(new) if one in known), len(new))
        end, row = skipped + again, len(part["matrix"]) // len(given)
        scores += bytes(part["scores"])[8 * skipped : 8 * end]
        matrix += bytes(part["matrix"])[row * skipped : row * end]
        documents += new[:again]
    return Grown(documents, scores, matrix, reached)
