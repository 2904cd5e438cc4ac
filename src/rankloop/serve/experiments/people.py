"""The units of an experiment: people, and an address range that brings too many of them as one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankloop.serve.events.store import ExperimentPage

__all__ = ["people_of"]

SHARE = 0.02  # of all people, above which those of one address range count as one
LEAST = 10  # people of an address range that always count each


def people_of(
    pages: "Sequence[ExperimentPage]", arms: Sequence[str] | None = None, *, bound: bool = True
) -> list[str]:
    """Who saw each page; a page without a user is its own.

    Nobody can see whether a hundred new people of one address range are one with a hundred names. So where
    an address range has more than `SHARE` of all people, and more than `LEAST`, they count as one person, or
    as one in each of the `arms`. What they clicked plays no part in it. `bound=False` turns this off.
    """
    people = [page.user or page.page_id for page in pages]
    if not bound:
        return people
    of_range: dict[str, set[str]] = {}
    for page, person in zip(pages, people, strict=True):
        if page.origin is not None:
            of_range.setdefault(page.origin, set()).add(person)
    most = max(LEAST, SHARE * len(set(people)))
    crowds = {origin for origin, found in of_range.items() if len(found) > most}
    sides = arms if arms is not None else [""] * len(pages)
    return [
        f"range {page.origin} {side}" if page.origin in crowds else person
        for page, person, side in zip(pages, people, sides, strict=True)
    ]
