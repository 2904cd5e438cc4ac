"""How good a ranking is: means over queries with intervals, and the value of each query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._arrays import Array, Floats, Singles
from rankloop._table import Table, Tabled
from rankloop.metrics.results.mean import FEW, Mean, mean_of

if TYPE_CHECKING:
    import polars

__all__ = ["Evaluation", "interval_text", "number"]


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Tabled):
    """What `evaluate` found; printing it shows a table.

    `mean` and `interval` go by the name of the metric; `per_query` is a polars frame with one row per
    query, in the order of the judgments, and nan where a list has no value. `left_out` counts those
    lists. The interval is over queries: for `bounded` metrics Wilson's, with the spread of the values, else
    Student's t corrected for skewness. `means` are means as another library takes them, under a `convention`.
    """

    values: Mapping[str, Floats]
    qid: Array
    query_weight: Singles | None = None
    settings: Mapping[str, str] | None = None
    confidence: float = 0.95
    lower_is_better: frozenset[str] = frozenset()
    bounded: frozenset[str] = frozenset()
    means: Mapping[str, float] | None = None
    notes: Sequence[str] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.values)

    @property
    def n_queries(self) -> int:
        return len(self.qid)

    @cached_property
    def mean(self) -> dict[str, float]:
        """The mean of each metric over the queries that have a value."""
        return {name: mean.value for name, mean in self._means.items()}

    @cached_property
    def interval(self) -> dict[str, tuple[float, float]]:
        """Where the mean over all queries like these lies, at the given confidence."""
        return {name: (mean.low, mean.high) for name, mean in self._means.items()}

    @cached_property
    def left_out(self) -> dict[str, int]:
        """The number of lists without a value, for each metric."""
        return {name: int(np.isnan(values).sum()) for name, values in self.values.items()}

    @cached_property
    def per_query(self) -> "polars.DataFrame":
        """One row per query: its id, its weight where there are weights, and its value by each metric."""
        import polars

        weight = {} if self.query_weight is None else {"weight": self.query_weight}
        return polars.DataFrame({"qid": self.qid, **weight, **self.values})

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; what has no value is None."""
        metrics = {
            name: {
                "mean": number(mean.value),
                "low": number(mean.low),
                "high": number(mean.high),
                "queries": mean.n,
                "left_out": self.left_out[name],
            }
            for name, mean in self._means.items()
        }
        settings = dict(self.settings or {})
        return {
            "queries": self.n_queries,
            "confidence": self.confidence,
            **settings,
            "metrics": metrics,
            "notes": [*self.notes, *self._few_notes()],
        }

    def to_frame(self) -> "polars.DataFrame":
        """One row per metric, unrounded: its mean, interval, and the queries with and without a value."""
        import polars

        rows = [{"metric": name, **row} for name, row in self.to_dict()["metrics"].items()]
        return polars.DataFrame(rows)

    def to_markdown(self) -> str:
        return self.table().markdown()

    def to_latex(self) -> str:
        """A booktabs `tabular`."""
        return self.table().latex()

    def table(self) -> Table:
        share = f"{self.confidence * 100:g} % interval"
        rows = [
            (name, f"{mean.value:.4f}", interval_text(mean.low, mean.high), f"{mean.n:,}", f"{left:,}")
            for (name, mean), left in zip(self._means.items(), self.left_out.values(), strict=True)
        ]
        notes = [*self.notes]
        if self.settings:
            notes.append(", ".join(f"{what} {how}" for what, how in self.settings.items()))
        if self.query_weight is not None:
            notes.append("queries count by their weights")
        notes += self._few_notes()
        return Table(("metric", "mean", share, "queries", "left out"), rows, notes=notes)

    def _few_notes(self) -> list[str]:
        found = [name for name, mean in self._means.items() if mean.few]
        if not found:
            return []
        names = ", ".join(found)
        return [f"a rough interval of {names}: fewer than {FEW} queries differ from the most common value"]

    @cached_property
    def _means(self) -> dict[str, Mean]:
        if self.query_weight is None:
            weight = np.ones(len(self.qid))
        else:
            weight = self.query_weight.astype(np.float64)
        found = {}
        for name, values in self.values.items():
            share = name in self.bounded and bool(np.all((values >= 0) & (values <= 1) | np.isnan(values)))
            kind = "share" if share else "skewed"
            mean = mean_of(values, weight, confidence=self.confidence, kind=kind)
            moved = 0.0 if self.means is None else self.means[name] - mean.value
            value, low, high = mean.value + moved, mean.low + moved, mean.high + moved
            if name in self.bounded:
                low, high = max(low, min(0.0, value)), min(high, max(1.0, value))
            found[name] = mean._replace(value=value, low=low, high=high)
        return found


def interval_text(low: float, high: float, sign: str = "") -> str:
    return f"[{low:{sign}.4f}, {high:{sign}.4f}]".replace("inf", "∞")


def number(value: float) -> float | None:
    """The value as JSON knows it: whole numbers stay whole, nan and infinity are None."""
    if isinstance(value, int):
        return value
    return float(value) if np.isfinite(value) else None
