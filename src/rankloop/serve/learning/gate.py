"""The gate: what a learned ranker must show before it serves."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rankloop.online.gate import GateDecision
from rankloop.serve.config import GateSettings

if TYPE_CHECKING:
    from rankloop.metrics import Comparison
    from rankloop.serve.learning.candidates import Gain

__all__ = ["Decision", "at_every_look", "decide", "difference_of", "judged_worse"]

LEAST_CLICKS = 100.0  # effective number of clicks behind an estimate
JUDGED = 10  # queries with judgments, below which judgments are not used


@dataclass(frozen=True)
class Decision:
    """Whether the gate opens, and every reason why not."""

    opens: bool
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return "the gate opens" if self.opens else f"the gate stays shut: {'; '.join(self.reasons)}"

    def to_dict(self) -> dict[str, Any]:
        return {"opens": self.opens, "reasons": list(self.reasons)}


def at_every_look(gate: GateSettings, looks: int, candidates: int) -> GateSettings:
    """The gate with the confidence of this look: its own covers all candidates of all looks together.

    The error left to look j is 1 / (j (j + 1)) of the whole, shared by the candidates
    of a look, so that an equally good ranker ever passes with a probability of at most 1 - confidence.

    >>> at_every_look(GateSettings(), looks=2, candidates=2).confidence.__round__(5)
    0.99583
    """
    return replace(gate, confidence=1 - (1 - gate.confidence) / (candidates * looks * (looks + 1)))


def decide(gate: GateSettings, pages: int, found: "Gain", alarms: tuple[str, ...] = ()) -> Decision:
    """Enough pages and clicks, a lower bound of the gain above the bar, and no alarm.

    >>> from rankloop.serve.learning.candidates import Gain
    >>> found = Gain(0.5, 0.45, 0.55, gain=0.1, gain_low=-0.02, gain_high=0.22, clicks=900)
    >>> print(decide(GateSettings(pages=100), 5000, found))
    the gate stays shut: dcg@10 gains +0.1000, with a lower bound (95 %) of -0.0200; it must be above 0
    """
    reasons = []
    if pages < gate.pages:
        reasons.append(f"{pages:,} pages, {gate.pages:,} are needed")
    if not GateDecision(found.gain_low, found.gain_high, bar=gate.gain).deploy:
        reasons.append(
            f"{gate.metric} gains {found.gain:+.4f}, with a lower bound ({100 * gate.confidence:.4g} %) of "
            f"{found.gain_low:+.4f}; it must be above {gate.gain:g}"
        )
    if found.clicks < LEAST_CLICKS:
        reasons.append(f"the estimate rests on {found.clicks:.0f} clicks, {LEAST_CLICKS:.0f} are needed")
    reasons += alarms
    return Decision(not reasons, tuple(reasons))


def judged_worse(comparison: "Comparison | None", metric: str) -> list[str]:
    """An alarm where people's own judgments say that the new ranking is worse."""
    if comparison is None:
        return []
    verdict = comparison.verdicts[metric]["candidate"]
    if not GateDecision(verdict.low, verdict.high, bar=0.0).reject:
        return []
    return [f"judgments say it is worse: {metric} {verdict.difference:+.4f} (to {verdict.high:+.4f})"]


def difference_of(judged: "Comparison", metric: str) -> dict[str, Any]:
    """The difference of the candidate to production on judgments, for the record."""
    verdict = judged.verdicts[metric]["candidate"]
    return {"metric": metric, "difference": [verdict.difference, verdict.low, verdict.high]}
