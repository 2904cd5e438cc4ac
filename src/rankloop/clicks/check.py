"""Which estimators a log supports, and what would help the others."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rankloop.clicks.click_log import ClickLog
from rankloop.clicks.columns.facts import Facts, facts_of
from rankloop.clicks.columns.needs import NEEDS, Problems

__all__ = ["LogReport", "Support", "check"]


@dataclass(frozen=True, slots=True)
class Support:
    """Whether an estimator can be used: "yes", "weak" (runs, with a caveat) or "no"."""

    estimator: str
    family: str
    support: str
    why: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class LogReport:
    """What a log holds and supports; prints as a table."""

    facts: Facts
    estimators: tuple[Support, ...]

    def __getitem__(self, estimator: str) -> Support:
        for one in self.estimators:
            if one.estimator == estimator:
                return one
        raise KeyError(estimator)

    def to_dict(self) -> dict[str, Any]:
        return {"facts": asdict(self.facts), "estimators": [asdict(one) for one in self.estimators]}

    def __repr__(self) -> str:
        facts = self.facts
        lines = [
            f"{facts.pages:,} pages, {facts.impressions:,} impressions, {facts.clicks:,} clicks, "
            f"{facts.queries:,} queries, {facts.ranks} ranks",
            f"clicks by rank: {', '.join(f'{n:,}' for n in facts.clicks_per_rank)}",
            "",
        ]
        wide = max(len(one.estimator) for one in self.estimators)
        for one in self.estimators:
            reason = f"{one.why}; {one.fix}" if one.fix else one.why
            lines.append(f"{one.support:<5}{one.estimator:<{wide}}  {reason}".rstrip())
        return "\n".join(lines)


def check(log: ClickLog) -> LogReport:
    """Which estimators a log supports, and why not the others.

    >>> log = ClickLog([1, 1, 2, 2], ["q"] * 4, ["a", "b", "a", "b"], [1, 2, 1, 2], [1, 0, 0, 1])
    >>> check(log)["harvest"].why
    'every query was shown in one ranking only'
    >>> check(log)["swap_intervention"].fix
    'show some pages with two ranks swapped and log intervention and original_position'
    """
    if len(log) == 0:
        raise ValueError("the log is empty; there is nothing to check")
    facts = facts_of(log)
    return LogReport(facts, tuple(_verdicts(facts)))


def _verdicts(facts: Facts) -> Iterator[Support]:
    problems = Problems(facts)
    for estimator, (family, needs) in NEEDS.items():
        found = [problems.of(need) for need in needs]
        worst = [one for one in found if one and one[0] == "no"] or [one for one in found if one]
        if worst and worst[0]:
            support, why, fix = worst[0]
            yield Support(estimator, family, support, why, fix)
        else:
            yield Support(estimator, family, "yes")
