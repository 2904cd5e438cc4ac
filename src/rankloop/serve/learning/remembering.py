"""Clicks learned by heart, query by query, on top of a ranker: a candidate of a learning run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankloop._arrays import Bools, Floats, Ints
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.search import Pipeline, Remembered
from rankloop.search.ranked import Ranked
from rankloop.serve.learning.candidates import Curve, Gain, estimate_gains
from rankloop.unbiased import Memory, remember

__all__ = ["REMEMBERED", "Voices", "gain_of_memory", "one_ranker", "remembered", "voices_of", "with_memory"]

REMEMBERED = "remembered clicks"


@dataclass(frozen=True, eq=False)
class Voices:
    """Who clicked: a number for each page, and how many of them a document must have to rise."""

    code: Mapping[str, int]
    needed: int

    def of(self, log: ClickLog) -> Ints:
        return np.array([self.code[page] for page in log.sessions.tolist()], np.int64)


def voices_of(log: ClickLog, origins: Mapping[str, str], needed: int) -> Voices:
    """One voice is an address range, or a person where the range is not known."""
    people = log.sessions if log.page_user is None else log.page_user.table[log.page_user.code]
    names = [
        f"range {origins[page]}" if page in origins else f"person {who}"
        for page, who in zip(log.sessions.tolist(), people.tolist(), strict=True)
    ]
    number = {name: at for at, name in enumerate(dict.fromkeys(names))}
    pages = zip(log.sessions.tolist(), names, strict=True)
    return Voices({page: number[name] for page, name in pages}, max(needed, 1))


def remembered(
    log: ClickLog, data: RankingDataset, curve: Curve, voices: Voices, scores: Floats, *, seed: int = 0
) -> Memory:
    """What clicks add to the scores of a ranker."""
    return remember(
        log, data, scores, propensity=curve, voices=voices.needed, origins=voices.of(log), seed=seed
    )


def gain_of_memory(
    log: ClickLog,
    data: RankingDataset,
    curve: Curve,
    voices: Voices,
    scores: Floats,
    production: Floats,
    *,
    until: float | None,
    metric: str,
    confidence: float,
    seed: int = 0,
) -> Gain:
    """The gain of scores with memory over production: on pages of half of the people, by memory of the rest.

    `until` is given where production remembers clicks too. It then has the memory of the same half, as far as
    its pages are earlier than that: neither was learned from the clicks that judge it. The bounds are means
    of those of the halves, as both see the same queries.
    """
    found = []
    for mine in _halves(log, seed):
        learned, held = log.select(~mine), log.select(mine)
        shift = remembered(learned, data, curve, voices, scores, seed=seed).shift
        before = production
        if until is not None:
            earlier = _before(learned, until)
            if earlier.n_pages:
                before = before + remembered(earlier, data, curve, voices, production, seed=seed).shift
        options: dict[str, Any] = {"metric": metric, "confidence": confidence, "seed": seed}
        gains = estimate_gains(held, data, curve, before, {REMEMBERED: scores + shift}, **options)
        found.append(gains[REMEMBERED])
    mean = {name: float(np.mean([getattr(one, name) for one in found])) for name in vars(found[0])}
    return replace(found[0], **mean | {"clicks": sum(one.clicks for one in found)})


def one_ranker(search: Pipeline) -> bool:
    """Whether memory can follow the ranker: no other one comes after it."""
    return sum(isinstance(stage, Ranked) for stage in search.stages) == 1


def with_memory(search: Pipeline, data: RankingDataset, pages: ClickLog, shift: Floats) -> Pipeline:
    """The pipeline with new memory behind its ranker; of queries that differ in case the frequent one."""
    asked = np.bincount(pages.page_query.code, minlength=len(pages.queries))
    often = dict(zip(pages.queries.tolist(), asked.tolist(), strict=True))
    assert data.docid is not None
    shifts: dict[str, dict[str, float]] = {}
    for row in np.flatnonzero(shift):
        query = data.qid[data.row_query[row]]
        shifts.setdefault(str(query), {})[str(data.docid[row])] = round(float(shift[row]), 6)
    ordered = {query: shifts[query] for query in sorted(shifts, key=lambda one: often.get(one, 0))}
    stages: list[Any] = []
    for stage in search.stages:
        if not isinstance(stage, Remembered):
            stages.append(stage)
        if isinstance(stage, Ranked):
            stages.append(Remembered(ordered))
    return Pipeline(tuple(stages))


def _halves(log: ClickLog, seed: int) -> Sequence[Bools]:
    who = np.arange(log.n_pages) if log.page_user is None else log.page_user.code
    people = np.unique(who)
    half = np.isin(who, np.random.default_rng([seed, 7]).permutation(people)[: len(people) // 2])
    if not half.any() or half.all():
        raise ValueError("all clicks are of one person; the clicks of others are needed to evaluate")
    return half, ~half


def _before(log: ClickLog, until: float) -> ClickLog:
    assert log.timestamp is not None
    return log.select(log.timestamp[log.offsets[:-1]] < until)
