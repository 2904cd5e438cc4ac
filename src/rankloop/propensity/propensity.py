"""A propensity curve: the probability that each rank was examined, relative to the first."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression

from rankloop._arrays import Floats
from rankloop._atomic import replacing
from rankloop._json import parse_json

if TYPE_CHECKING:
    import polars

    from rankloop.propensity.identifiability import Identifiability
    from rankloop.propensity.trust_bias import TrustBias

__all__ = ["Propensity"]

FORMAT = 1
FEW = 30  # units, below which an interval is rough
STOPS = 0.05  # p-value, below which people stop reading


@dataclass(frozen=True, eq=False, repr=False)
class Propensity:
    """One value per rank with its 95 % interval; rank 1 is 1.0.

    `log_covariance` is that of the logarithms of the values, `resamples` the bootstrap curves behind it (one
    a row; not kept in files), `units` the number of equally large queries or people that would tell as much
    about the spread (below 30 the interval is rough, which is printed with the curve), `identifiability` the
    report of a joint fit, `trust` what the log says of trust in high ranks, `stopping` the p-value of the
    hypothesis that people read on whatever they found above (`fitting/stopping.py`).

    >>> curve = Propensity.given([1.0, 0.5, 0.25])
    >>> curve.at([3, 1])
    array([0.25, 1.  ])
    """

    values: Floats
    low: Floats
    high: Floats
    method: str
    layout: str | None = None
    pages: int = 0
    log_covariance: Floats | None = None
    resamples: Floats | None = None
    units: float | None = field(default=None, kw_only=True)
    identifiability: "Identifiability | None" = field(default=None, kw_only=True)
    trust: "TrustBias | None" = field(default=None, kw_only=True)
    stopping: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        shapes = {np.shape(self.values), np.shape(self.low), np.shape(self.high)}
        if len(shapes) != 1 or len(shapes.pop()) != 1 or len(self.values) == 0:
            raise ValueError("values, low and high have one number per rank each")
        if not np.all(np.isfinite(self.values)) or not np.all(self.values > 0):
            raise ValueError(f"propensities are finite and above 0, got {np.asarray(self.values)}")

    @classmethod
    def given(cls, values: ArrayLike, *, layout: str | None = None) -> "Propensity":
        """A known curve, scaled to 1 at the first rank, without uncertainty."""
        curve = np.array(values, np.float64)
        if curve.ndim != 1 or len(curve) == 0 or not np.all(curve > 0):
            raise ValueError(f"a curve is one number above 0 per rank, got {curve}")
        curve = curve / curve[0]
        return cls(curve, curve.copy(), curve.copy(), "given", layout)

    def __len__(self) -> int:
        return len(self.values)

    def at(self, position: ArrayLike) -> Floats:
        """The propensity of each position; positions beyond the curve are an error."""
        rank = np.asarray(position, np.int64)
        if rank.size and not (rank.min() >= 1 and rank.max() <= len(self)):
            wrong = int(rank.min() if rank.min() < 1 else rank.max())
            raise ValueError(
                f"the curve has ranks 1 to {len(self)}, got rank {wrong}; "
                "estimate a longer curve or drop the impressions below it"
            )
        return self.values[rank - 1]

    def sample(self, n: int, *, seed: int = 0) -> Floats:
        """Curves from the distribution of the estimate: its resamples, or a log-normal approximation."""
        rng = np.random.default_rng(seed)
        if self.resamples is not None:
            return self.resamples[rng.integers(len(self.resamples), size=n)]
        if self.log_covariance is None:
            return np.tile(self.values, (n, 1))
        noise = rng.multivariate_normal(np.zeros(len(self)), self.log_covariance, size=n, method="eigh")
        return np.asarray(self.values * np.exp(noise))

    def monotone(self) -> "Propensity":
        """The nearest curve that never rises (isotonic regression), for the values, resamples and interval.

        >>> Propensity.given([1.0, 0.4, 0.5]).monotone().values
        array([1.  , 0.45, 0.45])
        """
        weights = np.ones(len(self))
        if len(self) > 1 and self.log_covariance is not None:
            variance = np.diag(self.log_covariance) * self.values**2
            variance[0] = variance[1]  # the first is 1 by definition; it gets the weight of the second
            weights = 1.0 / np.maximum(variance, 1e-300)
        values, low, high = (_falling(one, weights) for one in (self.values, self.low, self.high))
        resamples = (
            None if self.resamples is None else np.array([_falling(one, weights) for one in self.resamples])
        )
        covariance = self.log_covariance if resamples is None else np.cov(np.log(resamples), rowvar=False)
        return replace(
            self,
            values=values,
            low=np.minimum(low, values),
            high=np.maximum(high, values),
            resamples=resamples,
            log_covariance=covariance,
            method=f"{self.method}, monotone",
        )

    def to_frame(self) -> "polars.DataFrame":
        """Rank, value, low and high, for a table or a plot."""
        import polars

        columns = {"value": self.values, "low": self.low, "high": self.high}
        return polars.DataFrame({"rank": np.arange(1, len(self) + 1), **columns})

    def to_dict(self) -> dict[str, Any]:
        covariance = None if self.log_covariance is None else self.log_covariance.tolist()
        report = None if self.identifiability is None else self.identifiability.to_dict()
        return {
            "format": FORMAT,
            "method": self.method,
            "layout": self.layout,
            "pages": self.pages,
            "values": self.values.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "log_covariance": covariance,
            "units": self.units,
            "identifiability": report,
            "trust": None if self.trust is None else self.trust.to_dict(),
            "stopping": self.stopping,
        }

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any]) -> "Propensity":
        from rankloop.propensity.identifiability import Identifiability
        from rankloop.propensity.trust_bias import TrustBias

        if parts.get("format") != FORMAT:
            raise ValueError(
                f"wanted a propensity curve of format {FORMAT}, got {parts.get('format')!r}; estimate again"
            )
        values, low, high = (np.array(parts[name], np.float64) for name in ("values", "low", "high"))
        covariance, report, trust = parts["log_covariance"], parts["identifiability"], parts.get("trust")
        return cls(
            values,
            low,
            high,
            parts["method"],
            parts["layout"],
            parts["pages"],
            None if covariance is None else np.array(covariance),
            units=parts.get("units"),
            identifiability=None if report is None else Identifiability.from_dict(report),
            trust=None if trust is None else TrustBias.from_dict(trust),
            stopping=parts.get("stopping"),
        )

    def save(self, path: str | Path) -> None:
        """One JSON file."""
        with replacing(path) as beside:
            beside.write_text(json.dumps(self.to_dict(), indent=1), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "Propensity":
        """What `save` wrote."""
        text = Path(path).read_text(encoding="utf-8")
        try:
            return cls.from_dict(parse_json(text))
        except (json.JSONDecodeError, LookupError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(
                f"{path} is damaged or not a saved propensity curve ({error}); estimate the curve again"
            ) from None

    def __repr__(self) -> str:
        where = "" if self.layout is None else f", layout {self.layout}"
        lines = [f"Propensity by {self.method}{where}, {self.pages:,} pages", "rank   value  95 % interval"]
        for rank, (value, low, high) in enumerate(zip(self.values, self.low, self.high, strict=True), 1):
            lines.append(f"{rank:>4}  {value:>6.4f}  {low:.4f} to {high:.4f}")
        return "\n".join([*lines, *(f"warning: {one}" for one in self.warnings)])

    @property
    def warnings(self) -> list[str]:
        """Why the curve or its interval may be wrong; printed with it, and shown by the service."""
        found = [] if self.identifiability is None else [*self.identifiability.warnings]
        if self.units is not None and self.units < FEW:
            found.append(
                "few people or queries made most of the clicks (they tell as much as "
                f"{self.units:.0f} equally active ones): the interval is rough"
            )
        if self.stopping is not None and self.stopping < STOPS:
            found.append(
                f"clicks are fewer below attractive results (p = {self.stopping:.2g}): people stop "
                "reading, and no curve by rank describes them; unbiased.learn compares models of both kinds"
            )
        warning = None if self.trust is None else self.trust.warning(self)
        return found if warning is None else [*found, warning]


def _falling(values: Floats, weights: Floats) -> Floats:
    fitted = isotonic_regression(values, weights=weights, increasing=False).x
    return np.asarray(fitted / fitted[0])
