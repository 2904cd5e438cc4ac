"""The result of the demo in three lines."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankloop.demo.learners import METRIC

if TYPE_CHECKING:
    from rankloop.demo.run_loop import Demo
    from rankloop.interleaving import Verdict

__all__ = ["conclusion", "preferred"]


def conclusion(demo: "Demo") -> dict[str, str]:
    """The three verdicts on the unbiased ranker, by name."""
    means = {name: one.mean[METRIC] for name, one in demo.offline.systems.items()}
    by_grades = demo.offline.verdicts[METRIC]["unbiased"]
    by_clicks = demo.counterfactual["unbiased"]
    others = ", ".join(f"{name} {means[name]:.3f}" for name in ("bm25", "bm25 + popularity"))
    return {
        "by grades": f"{METRIC} {means['unbiased']:.3f} ({others}); gain over bm25 "
        + _interval(by_grades.difference, by_grades.low, by_grades.high),
        "by clicks alone": "dcg@10, gain over bm25 "
        f"{_interval(by_clicks.estimate, by_clicks.low, by_clicks.high)}; true gain {by_clicks.truth:+.3f}",
        "interleaved": preferred(demo.interleaved),
    }


def preferred(verdicts: "Sequence[Verdict]") -> str:
    """Which rankers the first of each pair wins against, and which not."""
    parts = []
    for words, wanted in (
        ("wins against", lambda one: one.winner == one.first),
        ("no difference shown to", lambda one: one.winner is None),
        ("loses to", lambda one: one.winner == one.second),
    ):
        names = [one.second for one in verdicts if wanted(one)]
        if names:
            parts.append(f"{words} {', '.join(names)}")
    return "; ".join(parts)


def _interval(value: float, low: float, high: float) -> str:
    doubt = "" if low > 0 or high < 0 else ", which may be chance"
    return f"{value:+.3f} [{low:+.3f}, {high:+.3f}]{doubt}"
