"""What the story comes to, in a few lines: whatever was measured."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankloop.demo.learners import METRIC

if TYPE_CHECKING:
    from rankloop.demo.loop import Told
    from rankloop.interleaving import Verdict

__all__ = ["conclusion", "preferred"]


def conclusion(told: "Told") -> dict[str, str]:
    """The three verdicts on the unbiased ranker, by name."""
    means = {name: one.mean[METRIC] for name, one in told.offline.systems.items()}
    by_grades = told.offline.verdicts[METRIC]["unbiased"]
    by_clicks = told.counterfactual["unbiased"]
    others = ", ".join(f"{name} {means[name]:.3f}" for name in ("bm25", "bm25 + popularity"))
    return {
        "by grades": f"{METRIC} {means['unbiased']:.3f} ({others}); against bm25 "
        + _sure(by_grades.difference, by_grades.low, by_grades.high),
        "by clicks alone": f"dcg@10 against bm25 {_sure(by_clicks.estimate, by_clicks.low, by_clicks.high)}; "
        f"in truth {by_clicks.truth:+.3f}",
        "on shared pages": preferred(told.interleaved),
    }


def preferred(verdicts: "Sequence[Verdict]") -> str:
    """Over whom people prefer the first of each pair, and over whom they do not."""
    said = []
    for words, wanted in (
        ("preferred to", lambda one: one.winner == one.first),
        ("not to be told from", lambda one: one.winner is None),
        ("beaten by", lambda one: one.winner == one.second),
    ):
        names = [one.second for one in verdicts if wanted(one)]
        if names:
            said.append(f"{words} {', '.join(names)}")
    return "; ".join(said)


def _sure(value: float, low: float, high: float) -> str:
    doubt = "" if low > 0 or high < 0 else ", which may be chance"
    return f"{value:+.3f} [{low:+.3f}, {high:+.3f}]{doubt}"
