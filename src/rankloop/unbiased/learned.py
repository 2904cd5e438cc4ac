"""What `learn` found, and how it was chosen."""

from dataclasses import dataclass, field
from typing import Any

from rankloop._arrays import Floats
from rankloop.propensity import Identifiability
from rankloop.rankers.base.ranker import Ranker
from rankloop.unbiased.estimation.summary import summary
from rankloop.unbiased.proximal import Proximal
from rankloop.unbiased.select import Selection

__all__ = ["Learned"]


@dataclass(frozen=True, repr=False)
class Learned:
    """The ranker, and how it was chosen.

    `held_out` has the negative log-likelihood of held-out clicks by candidate, `selection` the estimated
    value of the ranker on the held-out queries (trained on the others) beside that of the logged order. The
    trees were trained with the curve to the power `power`: 1 corrects in full, 0 not at all. `features` are
    those that `voters`, the members that a large budget adds, look at, numbered from 0. `weights` has the
    shares of the corrections in a stack, `trust` the share of irrelevant documents that are clicked once
    seen, by rank, `agreement` the correlation of the new order with the one shown, and `scores` the score of
    each row by parts of the stack that were not trained on its query. `opposed` is the share of the pages
    whose clicks go against those of the others. `proximal` says how far the ranker moves away from a `logged`
    one.
    """

    ranker: Ranker
    chosen: str
    curve: Floats
    curve_by: str
    held_out: dict[str, float]
    selection: Selection | None
    identifiability: Identifiability | None
    warnings: tuple[str, ...]
    power: float = 1.0
    features: tuple[int, ...] | None = None
    voters: tuple[str, ...] = ()
    weights: dict[str, float] = field(default_factory=dict)
    trust: Floats | None = None
    agreement: float | None = None
    scores: Floats | None = None
    opposed: float = 0.0
    proximal: Proximal | None = None

    @property
    def summary(self) -> str:
        """One paragraph: who reads how, which correction, why, and how sure."""
        return summary(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "chosen": self.chosen,
            "curve": self.curve.tolist(),
            "curve_by": self.curve_by,
            "held_out": self.held_out,
            "selection": None if self.selection is None else self.selection.to_dict(),
            "identifiability": None if self.identifiability is None else self.identifiability.to_dict(),
            "warnings": list(self.warnings),
            "power": self.power,
            "features": None if self.features is None else list(self.features),
            "voters": list(self.voters),
            "weights": self.weights,
            "trust": None if self.trust is None else self.trust.tolist(),
            "agreement": self.agreement,
            "opposed": self.opposed,
            "proximal": None if self.proximal is None else self.proximal.to_dict(),
            "summary": self.summary,
        }

    def __repr__(self) -> str:
        lines = [self.summary, f"learned by {self.chosen}; curve by {self.curve_by}"]
        lines.append("examination by rank: " + " ".join(f"{one:.3f}" for one in self.curve))
        lines.append("negative log-likelihood of held-out clicks per impression, lower is better:")
        lines += [f"  {value:.5f}  {name}" for name, value in self.held_out.items()]
        if self.selection is not None:
            lines += ["dcg@10 on held-out queries, doubly robust:", *repr(self.selection).splitlines()]
        if self.proximal is not None:
            lines.append(f"compared with the logged ranker: {self.proximal!r}")
        return "\n".join([*lines, *(f"warning: {one}" for one in self.warnings)])
