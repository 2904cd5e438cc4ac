"""Whether people were divided between two arms as intended, at any look."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["SampleRatio", "sample_ratio"]

STRENGTH = 1000.0  # of the prior around the intended share, in people
ALARM = 2000.0  # the evidence at which a mismatch is certain enough to stop a verdict


@dataclass(frozen=True, slots=True)
class SampleRatio:
    """The share of people in the first arm, the intended share, and the evidence that they differ.

    `evidence` is the largest likelihood ratio at any look so far; without a mismatch it ever reaches 2,000
    with probability 1/2,000 at most.
    """

    share: float
    intended: float
    evidence: float

    @property
    def mismatch(self) -> bool:
        return self.evidence >= ALARM

    def to_dict(self) -> dict[str, Any]:
        plain = {"share": self.share, "intended": self.intended, "evidence": self.evidence}
        return {**plain, "mismatch": self.mismatch}

    def __str__(self) -> str:
        conclusion = "not as intended: find the cause" if self.mismatch else "as intended"
        return f"{self.share:.1%} of people in the first arm, {self.intended:.1%} intended: {conclusion}"


def sample_ratio(in_first: ArrayLike, *, share: float = 0.5) -> SampleRatio:
    r"""A sequential test that people, in order of arrival, come to the first arm with probability `share`.

    The mixture of the binomial likelihood ratio over a Beta distribution around the intended share s:

    .. math:: E = s^{-a} (1 - s)^{-b} B(1000 s + a, 1000 (1 - s) + b) / B(1000 s, 1000 (1 - s))

    with a and b people in the arms so far. A true 48 % in place of 50 is found after about 11,000 people.

    >>> print(sample_ratio([True, False] * 500))
    50.0% of people in the first arm, 50.0% intended: as intended
    >>> sample_ratio([True, True, False] * 500).mismatch
    True
    """
    from scipy.special import betaln

    if not 0 < share < 1:
        raise ValueError(f"share lies in (0, 1), got {share}")
    arrivals = np.asarray(in_first, np.bool_).reshape(-1)
    if not len(arrivals):
        return SampleRatio(float("nan"), share, 1.0)
    a = np.cumsum(arrivals, dtype=np.float64)
    b = np.arange(1, len(arrivals) + 1) - a
    prior = STRENGTH * share, STRENGTH * (1 - share)
    evidence = betaln(prior[0] + a, prior[1] + b) - betaln(*prior) - a * np.log(share) - b * np.log1p(-share)
    return SampleRatio(float(arrivals.mean()), share, float(np.exp(min(max(evidence.max(), 0.0), 700.0))))
