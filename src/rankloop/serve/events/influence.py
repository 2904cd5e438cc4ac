"""How much one person or one address range may teach: the pages of a window, with caps on both."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankloop.serve.config import InfluenceSettings
from rankloop.serve.events.records import DAY

if TYPE_CHECKING:
    import polars

__all__ = ["bounded"]

DAY_FLOOR, QUERY_FLOOR = 30, 3  # pages of a day, and of a query, that every address range may have
CROWD = 10  # an address range counts to what others bring with at most this many times the median
_GOLDEN, _MIX_1, _MIX_2 = map(np.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def bounded(
    pages: "polars.DataFrame", influence: InfluenceSettings, *, seed: int = 0
) -> "tuple[polars.DataFrame, dict[str, int]]":
    """The pages within the caps, in their order, and how many each rule left out.

    A person has at most `influence.person` pages a day. On each day, and for each query, an address range
    has at most a share (`influence.origin`, `influence.query`) of the pages that all others bring, but always
    a few; a page without a person or an address range is not capped by that rule. Which pages of a crowd stay
    is drawn at random, by `seed`.
    """
    import polars as pl

    dropped: dict[str, int] = {}
    left = pages.with_columns(
        _day=(pl.col("time") // DAY).cast(pl.Int64), _draw=pl.Series(_draws(pages["page_id"], seed))
    )

    def keep(rule: str, allowed: "polars.Expr", given: "polars.DataFrame") -> None:
        nonlocal left
        kept = given.filter(allowed.fill_null(value=True))
        dropped[rule] = left.height - kept.height
        left = kept.select(left.columns)

    if influence.person > 0:
        place = pl.col("_draw").rank("ordinal").over("user", "_day")
        keep("person", pl.col("user").is_null() | (place <= influence.person), left)
    rules = (
        ("origin", influence.origin, ["_day"], DAY_FLOOR),
        ("query", influence.query, ["query"], QUERY_FLOOR),
    )
    for rule, share, group, floor in rules:
        if share > 0:
            allowed = _allowed(left, group, share, floor)
            place = pl.col("_draw").rank("ordinal").over(*group, "origin")
            given = left.join(allowed, on=[*group, "origin"], how="left", maintain_order="left")
            keep(rule, place <= pl.col("_most"), given)
    return left.drop("_day", "_draw"), dropped


def _allowed(pages: "polars.DataFrame", group: Sequence[str], share: float, floor: int) -> "polars.DataFrame":
    """For each group and address range, how many pages it may have.

    What others bring is counted with at most `CROWD` times the median range, so that two crowds do not lift
    each other.
    """
    import polars as pl

    counts = pages.group_by(*group, "origin").agg(_pages=pl.len())
    known = counts.filter(pl.col("origin").is_not_null())
    usual = known.group_by(*group).agg(_usual=CROWD * pl.col("_pages").median())
    counts = counts.join(usual, on=list(group), how="left")
    usually = pl.min_horizontal("_pages", "_usual")
    crowd = pl.when(pl.col("origin").is_null()).then("_pages").otherwise(usually)
    counts = counts.with_columns(_crowd=crowd.cast(pl.Float64))
    others = pl.col("_crowd").sum().over(*group) - pl.col("_crowd")
    most = pl.max_horizontal(pl.lit(floor), (share * others).floor()).cast(pl.Int64)
    return counts.filter(pl.col("origin").is_not_null()).select(*group, "origin", _most=most)


def _draws(page_ids: "polars.Series", seed: int) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    """A random number for each page, always the same for the same id and seed (splitmix64)."""
    import polars as pl

    low = page_ids.str.slice(0, 15).str.to_integer(base=16, dtype=pl.Int64).to_numpy().astype(np.uint64)
    with np.errstate(over="ignore"):
        mixed = low + np.uint64(seed + 1) * _GOLDEN
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX_1
        mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX_2
        return np.asarray(mixed ^ (mixed >> np.uint64(31)))
