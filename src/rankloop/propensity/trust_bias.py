"""Do people trust high ranks? A test on documents that were shown at several ranks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import t as student

from rankloop._arrays import Bools, Floats
from rankloop._student import check_confidence
from rankloop._warn import warn
from rankloop.clicks import ClickLog
from rankloop.propensity.by_layout import one_layout
from rankloop.propensity.fitting.trust_score import Fitted, TrustScore
from rankloop.propensity.propensity import Propensity
from rankloop.propensity.trust_warning import TrustWarning

__all__ = ["TrustBias", "trust_bias", "with_trust"]

MATTERS = 0.1  # a curve that would move by less is not worth a sentence


@dataclass(frozen=True)
class TrustBias:
    """The share of unattractive documents that people click when they see them at rank 1, with its interval.

    At rank k it is taken to be 1 / k of that, and at most nearly all clicks at rank 1 are trust's. `p_value`
    is that of no trust, against trust. `moves` has by rank what the curve would have to be multiplied with if
    `high` were true.
    """

    share: float
    low: float
    high: float
    p_value: float
    units: float
    confidence: float
    moves: tuple[float, ...]

    @property
    def found(self) -> bool:
        """Whether people click on high ranks what they would not click elsewhere: no curve describes that."""
        return self.p_value <= 1 - self.confidence

    def warning(self, curve: Propensity) -> str | None:
        """What to say of a curve of this log: trust was found, or could move it further than its interval."""
        if self.found:
            return (
                f"people trust high ranks (they click about {self.share:.0%} of the unattractive documents "
                f"that they see at rank 1, p = {self.p_value:.2g}); clicks that trust brings are taken for "
                "examination and the interval does not cover that; fit clicks.TrustPBM and correct with "
                "unbiased.affine"
            )
        ranks = min(len(self.moves), len(curve))
        moved = np.array(self.moves[:ranks])
        beyond = (moved * curve.values[:ranks] > curve.high[:ranks]) & (moved > 1 + MATTERS)
        if not beyond.any():
            return None
        rank = int(np.argmax(np.where(beyond, moved, 0.0)))
        return (
            f"trust of high ranks up to {self.high:.0%} cannot be excluded with this log: it would move "
            f"rank {rank + 1} of the curve from {curve.values[rank]:.2g} to "
            f"{min(moved[rank] * curve.values[rank], 1.0):.2g}, and the interval does not cover that; log "
            "more pages on which ranks are swapped"
        )

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "moves": list(self.moves)}

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any]) -> "TrustBias":
        return cls(**{**parts, "moves": tuple(parts["moves"])})


def trust_bias(
    log: ClickLog, *, confidence: float = 0.95, layout: str | None = None, seed: int = 0
) -> TrustBias:
    r"""Test the position-based model against trust in high ranks, and say how much trust the log may hide.

    If clicks are :math:`\theta_k \gamma_d`, a document loses the same share of its clicks from rank i to rank
    j whether it is attractive or not. Trust gives clicks at high ranks to unattractive documents, which lose
    more. All ranks and documents give one score; how attractive a document is comes from the clicks of other
    people (or pages), and the standard error is clustered by query and by person, whichever is wider. The
    interval has every trust that the same score does not reject.
    Pages that were part of an experiment are used where there are any, and of a log with more than two
    million rows the pages of some queries, drawn by `seed`.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> pages = {"logging_policy": data.y, "sessions": 40_000, "k": 4, "randomize": "shuffle", "seed": 0}
    >>> [trust_bias(simulate(data, user=user, **pages)).found for user in ("pbm", "trust")]
    [False, True]
    """
    check_confidence(confidence)
    log, _ = one_layout(log, layout)
    found = _tested(log, confidence, seed)
    if found is None:
        raise ValueError(
            "the test compares clicks on the same documents at two ranks, of which this log has too "
            "few; swap ranks on some pages, or log more of them"
        )
    return found


def with_trust(log: ClickLog, curve: Propensity, seed: int, *, doubts: bool = True) -> Propensity:
    """The curve with what its log says of trust, and a warning where that matters.

    Without `doubts` only trust that was found is warned of, not trust that the log cannot exclude.
    """
    found = _tested(log, 0.95, seed)
    warning = None if found is None or not (doubts or found.found) else found.warning(curve)
    if warning is not None:
        warn(warning, TrustWarning)
    return replace(curve, trust=found)


def _tested(log: ClickLog, confidence: float, seed: int) -> TrustBias | None:
    score = TrustScore(log, _experiment(log), seed)
    if score.empty or score.clicks.sum() == 0:
        return None
    fits: dict[float, Fitted] = {}

    def errors(trust: float) -> float:
        if trust not in fits:
            fits[trust] = score.at(trust)
        return fits[trust].errors

    none = errors(0.0)
    units = fits[0.0].units
    reach = float(student.ppf((1 + confidence) / 2, units - 1.0))
    low, share, high = (_root(errors, level, score.most) for level in (reach, 0.0, -reach))
    errors(high)
    moves: Floats = fits[high].curve / fits[0.0].curve
    p_value = float(student.sf(none, units - 1.0))
    return TrustBias(share, low, high, p_value, units, confidence, tuple(moves.tolist()))


def _root(errors: Callable[[float], float], level: float, most: float) -> float:
    """The trust whose score is this many errors above 0; the score falls as trust rises."""
    if errors(0.0) <= level:
        return 0.0
    if errors(most) >= level:
        return most
    return float(brentq(lambda trust: errors(trust) - level, 0.0, most, xtol=0.005, rtol=0.01))


def _experiment(log: ClickLog) -> Bools:
    """The pages that were part of an experiment, or all where none was."""
    if log.page_intervention is None:
        return np.ones(log.n_pages, bool)
    part = (log.page_intervention.table != "none")[log.page_intervention.code]
    return part if part.any() else np.ones(log.n_pages, bool)
