"""The result of a comparison of systems, and its tables for papers."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankloop._names import unknown
from rankloop._table import Table, Tabled
from rankloop.metrics.results.evaluation import Evaluation, interval_text, number
from rankloop.metrics.results.verdict import SAME, TESTS, Verdict, on_few_queries, verdicts

if TYPE_CHECKING:
    import polars

__all__ = ["Change", "Comparison"]

_SHOWN = 5  # changed queries named under the table


class Change(NamedTuple):
    """The values of a query with the baseline and with another system."""

    qid: Any
    baseline: float
    value: float
    difference: float


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabled):
    """What `compare` found; printing it shows a table.

    `systems` holds the `Evaluation` of each system, `verdicts[metric][system]` how it stands against the
    baseline. A difference is the system minus the baseline; a win is a change for the better, which for
    a metric such as "arp" is a fall.
    """

    systems: Mapping[str, Evaluation]
    baseline: str
    test: str = "randomization"
    seed: int = 0
    confidence: float = 0.95
    goals: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics."""
        return self.systems[self.baseline].names

    @property
    def rivals(self) -> tuple[str, ...]:
        """The systems that are compared with the baseline."""
        return tuple(name for name in self.systems if name != self.baseline)

    @cached_property
    def verdicts(self) -> dict[str, dict[str, Verdict]]:
        """For each metric and each system but the baseline, how it stands against the baseline."""
        old = self.systems[self.baseline]
        new = {name: self.systems[name] for name in self.rivals}
        return {
            metric: verdicts(new, old, metric, test=self.test, seed=self.seed, confidence=self.confidence)
            for metric in self.names
        }

    @property
    def pareto(self) -> tuple[str, ...]:
        """The systems that no other one equals or beats by every metric, and beats by one.

        By means: whether a lead is more than chance, the verdicts say.
        """
        lower = self.systems[self.baseline].lower_is_better
        points = {
            name: np.array([found.mean[one] * (-1 if one in lower else 1) for one in self.names])
            for name, found in self.systems.items()
        }
        return tuple(
            name
            for name, own in points.items()
            if not any(np.all(one >= own) and np.any(one > own) for one in points.values())
        )

    @property
    def per_query(self) -> "polars.DataFrame":
        """One row per system and query, with its value by each metric."""
        import polars

        frames = [
            found.per_query.select(polars.lit(name).alias("system"), polars.all())
            for name, found in self.systems.items()
        ]
        return polars.concat(frames)

    def most_changed(self, system: str | None = None, metric: str | None = None, n: int = 10) -> list[Change]:
        """The queries whose value moved most, largest move first; without names, of the first of each."""
        name = self.rivals[0] if system is None else system
        by = self.names[0] if metric is None else metric
        if name not in self.systems:
            raise unknown("system", name, self.systems)
        if by not in self.names:
            raise unknown("metric", by, self.names)
        old, new = self.systems[self.baseline].values[by], self.systems[name].values[by]
        moved = np.nan_to_num(np.abs(new - old))
        order = [i for i in np.argsort(-moved, kind="stable")[:n] if moved[i] > SAME]
        qid = self.systems[name].qid
        return [Change(qid[i].item(), float(old[i]), float(new[i]), float(new[i] - old[i])) for i in order]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; what has no value, or no bound, is None."""
        verdicts = {
            metric: {
                system: {key: number(value) for key, value in verdict._asdict().items()}
                for system, verdict in family.items()
            }
            for metric, family in self.verdicts.items()
        }
        changed = {
            metric: {
                system: [
                    {"qid": change.qid, **{k: number(v) for k, v in change._asdict().items() if k != "qid"}}
                    for change in self.most_changed(system, metric)
                ]
                for system in self.rivals
            }
            for metric in self.names
        }
        return {
            "baseline": self.baseline,
            "test": self.test,
            "seed": self.seed,
            "confidence": self.confidence,
            "systems": {name: found.to_dict() for name, found in self.systems.items()},
            "verdicts": verdicts,
            "most_changed": changed,
            **({"goals": list(self.goals), "pareto": list(self.pareto)} if self.goals else {}),
        }

    def to_frame(self) -> "polars.DataFrame":
        """One row per metric and system, unrounded: its mean, and its verdict against the baseline."""
        import polars

        empty = dict.fromkeys(Verdict._fields)
        rows = []
        for metric in self.names:
            for system, found in self.systems.items():
                verdict = self.verdicts[metric].get(system)
                against = empty if verdict is None else verdict._asdict()
                rows.append({"metric": metric, "system": system, "mean": found.mean[metric], **against})
        return polars.DataFrame(rows, infer_schema_length=None)

    def to_markdown(self) -> str:
        """Systems × metrics: the best in bold, † where the difference to the baseline is significant."""
        return self._paper_table().markdown()

    def to_latex(self) -> str:
        """The same as a booktabs `tabular`."""
        return self._paper_table().latex()

    def table(self) -> Table:
        share = f"{self.confidence * 100:g} % interval"
        columns = ("metric", "system", "mean", "difference", share, "p", "wins/losses/ties")
        rows, strong = [], set()
        for metric in self.names:
            for system, found in self.systems.items():
                mean = f"{found.mean[metric]:.4f}"
                if system == self.baseline:
                    rows.append((metric, system, mean, "", "", "", ""))
                    continue
                verdict = self.verdicts[metric][system]
                if verdict.p_holm <= 1 - self.confidence:
                    strong |= {(len(rows), 3), (len(rows), 5)}
                rows.append(
                    (
                        metric,
                        system,
                        mean,
                        f"{verdict.difference:+.4f}",
                        interval_text(verdict.low, verdict.high, "+"),
                        _p_text(verdict.p_holm),
                        f"{verdict.wins}/{verdict.losses}/{verdict.ties}",
                    )
                )
        notes = [*self._notes(), *self._pareto_notes(), *self._changed_notes()]
        return Table(columns, rows, notes=notes, left=2, strong=frozenset(strong))

    def _paper_table(self) -> Table:
        rows, strong = [], set()
        for r, (system, found) in enumerate(self.systems.items()):
            row = [system]
            for c, metric in enumerate(self.names, start=1):
                verdict = self.verdicts[metric].get(system)
                sure = verdict is not None and verdict.p_holm <= 1 - self.confidence
                row.append(f"{found.mean[metric]:.4f}" + ("†" if sure else ""))
                if found.mean[metric] == self._best(metric):
                    strong.add((r, c))
            rows.append(row)
        notes = [*self._notes(), f"† differs from {self.baseline}, p ≤ {1 - self.confidence:.3g}"]
        return Table(("system", *self.names), rows, notes=notes, strong=frozenset(strong))

    def _best(self, metric: str) -> float:
        means = [found.mean[metric] for found in self.systems.values()]
        lower = metric in self.systems[self.baseline].lower_is_better
        return float((np.fmin if lower else np.fmax).reduce(means))

    def _notes(self) -> list[str]:
        base = self.systems[self.baseline]
        how = f"p by {TESTS[self.test]}"
        if len(self.rivals) > 1:
            how += f", corrected by Holm over the {len(self.rivals)} systems for each metric"
        counts = sorted({verdict.queries for family in self.verdicts.values() for verdict in family.values()})
        over = " to ".join(f"{count:,}" for count in (counts if len(counts) < 3 else (counts[0], counts[-1])))
        left = f" of {base.n_queries:,}" if counts != [base.n_queries] else ""
        settings = ", ".join(f"{what} {way}" for what, way in (base.settings or {}).items())
        first = f"queries: {over}{left}, baseline: {self.baseline}, {how}"
        return [first, *([settings] if settings else []), *self._skewed_notes(), *self._unbounded_notes()]

    def _pareto_notes(self) -> list[str]:
        if not self.goals:
            return []
        return [f"Pareto: no other system is as good on every goal as {', '.join(self.pareto)}"]

    def _skewed_notes(self) -> list[str]:
        if self.test == "bootstrap":  # which follows the skewness
            return []
        base = self.systems[self.baseline]
        found = [
            f"{metric} of {name}"
            for metric in self.names
            for name in self.rivals
            if np.isfinite(self.verdicts[metric][name].low)
            and on_few_queries(self.systems[name], base, metric)
        ]
        if not found:
            return []
        return [
            f"a few queries make most of the difference by {', '.join(found)}: its interval may be narrow; "
            "the test bootstrap is safer"
        ]

    def _unbounded_notes(self) -> list[str]:
        every = (verdict for family in self.verdicts.values() for verdict in family.values())
        fewest = min((verdict.queries for verdict in every if np.isinf(verdict.low)), default=0)
        if not fewest:
            return []
        few = "one query is" if fewest == 1 else f"{fewest} queries are"
        return [f"{few} too few for an interval with confidence {self.confidence:g}"]

    def _changed_notes(self) -> list[str]:
        metric = self.names[0]
        notes = []
        for system in self.rivals:
            moved = self.most_changed(system, metric, _SHOWN)
            if moved:
                changes = ", ".join(f"{change.qid} {change.difference:+.3f}" for change in moved)
                notes.append(f"most changed by {metric} with {system}: {changes}")
        return notes


def _p_text(p_value: float) -> str:
    return f"{p_value:.3f}" if p_value >= 0.001 else "<0.001"
