"""The gate: what a learned ranker must show before it serves."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankloop.serve.config import Gate

if TYPE_CHECKING:
    from rankloop.metrics import Comparison
    from rankloop.serve.learning.candidates import Gain

__all__ = ["Decision", "decide", "judged_worse"]

LEAST = 100.0  # clicks that an estimate must be worth
JUDGED = 10  # queries with judgments below which they have no say


@dataclass(frozen=True)
class Decision:
    """Whether the gate opens, and every reason why not."""

    opens: bool
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return "the gate opens" if self.opens else f"the gate stays shut: {'; '.join(self.reasons)}"

    def to_dict(self) -> dict[str, Any]:
        return {"opens": self.opens, "reasons": list(self.reasons)}


def decide(gate: Gate, pages: int, found: "Gain", alarms: tuple[str, ...] = ()) -> Decision:
    """Enough pages, a gain that is surely above the bar, and nothing that makes the numbers doubtful.

    >>> from rankloop.serve.learning.candidates import Gain
    >>> found = Gain(0.5, 0.45, 0.55, gain=0.1, gain_low=-0.02, gain_high=0.22, clicks=900)
    >>> print(decide(Gate(pages=100), 5000, found))
    the gate stays shut: dcg@10 gains +0.1000, but surely (95 %) only -0.0200, and the bar is 0
    """
    reasons = []
    if pages < gate.pages:
        reasons.append(f"{pages:,} pages, and {gate.pages:,} are asked for")
    if not found.gain_low > gate.gain:
        reasons.append(
            f"{gate.metric} gains {found.gain:+.4f}, but surely ({100 * gate.confidence:g} %) only "
            f"{found.gain_low:+.4f}, and the bar is {gate.gain:g}"
        )
    if found.clicks < LEAST:
        reasons.append(f"the estimate rests on {found.clicks:.0f} clicks' worth, {LEAST:.0f} are asked for")
    reasons += alarms
    return Decision(not reasons, tuple(reasons))


def judged_worse(said: "Comparison | None", metric: str) -> list[str]:
    """An alarm where people's own judgments say that the new ranking is worse."""
    if said is None:
        return []
    verdict = said.verdicts[metric]["candidate"]
    if verdict.high >= 0:
        return []
    return [f"judgments say it is worse: {metric} {verdict.difference:+.4f} (to {verdict.high:+.4f})"]
