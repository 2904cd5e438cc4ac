"""What all forms share: numbers that were typed, and the form again after a mistake."""

from collections.abc import Callable

from fastapi import Response
from pydantic import ValidationError

from rankloop.serve.pages.login import Form

__all__ = ["LONGEST", "changed_or_again", "number", "whole"]

LONGEST = 9  # digits of a number


def changed_or_again(change: Callable[[], Response], again: Callable[[str], Response]) -> Response:
    """The answer to a change; after a mistake `again` shows the form with one sentence and what was typed."""
    try:
        return change()
    except ValidationError as error:  # without the value that was sent
        return again(str(error.errors()[0]["msg"]))
    except ValueError as error:
        return again(str(error))


def number(fields: Form, name: str, empty: float | None = None) -> float | None:
    """A number that was typed; `empty` where nothing was.

    >>> number({"days": " 1.5 "}, "days"), number({}, "days", 30.0)
    (1.5, 30.0)
    """
    given = fields.get(name, "").strip()
    if not given:
        return empty
    if not given.replace(".", "", 1).isdecimal() or len(given) > LONGEST:
        raise ValueError(f"{name} is a number, got {given[:20]!r}")
    return float(given)


def whole(fields: Form, name: str, low: int = 0, high: int = 10**LONGEST) -> int:
    """A whole number that was typed, from `low` to `high`; nothing is 0.

    >>> whole({"n": "20"}, "n")
    20
    """
    given = fields.get(name, "").strip() or "0"
    if not given.isdecimal() or len(given) > LONGEST or not low <= int(given) <= high:
        wanted = f"from {low:,} to {high:,}" if high < 10**LONGEST else f"from {low:,}"
        raise ValueError(f"{name} is a whole number {wanted}, got {given[:20]!r}")
    return int(given)
