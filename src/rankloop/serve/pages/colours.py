"""One colour per version, in every figure and table."""

from collections.abc import Iterable

from rankloop.report.drawing.style import SERIES, role_of, variables_of

__all__ = ["SWATCHES", "colour_class", "colours_of", "series_of"]


def series_of(version: str) -> int:
    """The number of a version's colour; it depends on the version alone, so that it is the same everywhere.

    An interleaved page of two versions has the colour of the first, in dashes.

    >>> series_of("v1"), series_of("v3"), series_of("v3 + v1"), series_of("sort price")
    (0, 2, 8, 5)
    """
    first, plus, _ = version.partition(" + ")
    number = first.split(" ")[0].removeprefix("v")
    series = int(number) - 1 if number.isdecimal() and len(number) < 9 and int(number) > 0 else SERIES - 1
    return series % SERIES + (SERIES if plus else 0)


def colours_of(names: Iterable[str]) -> dict[str, int]:
    """The numbers of the colours of series that begin with the name of a version."""
    return {name: series_of(name) for name in names}


def colour_class(version: str) -> str:
    """The class of a swatch."""
    return role_of(series_of(version))


SWATCHES = variables_of(".swatch") + "".join(
    f".swatch.{role_of(one)}{{background:var(--rl-{role_of(one)})}}" for one in range(SERIES)
)
"""The style of swatches in the colours of figures."""
