"""Metrics by name: `"ndcg@10"`, `"p(rel=2)@5"`, `"rbp(p=0.8)"`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from rankloop._names import unknown
from rankloop._options import passes_to
from rankloop.metrics.conventions import CONVENTIONS, Convention, of_trec_eval
from rankloop.metrics.kernels.columns import Columns
from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.kernels.measure import MEASURES, Measure, over
from rankloop.metrics.mean import mean

__all__ = ["Metric", "metric"]

SHAPE = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:\((.*)\))?\s*(?:@\s*([^@()]*))?\s*")
SHORT = {"rel": "relevance_threshold"}  # options that strings may write shorter


@dataclass(frozen=True)
class Metric:
    """A metric with its options: call it like its function; it prints the name it was made from.

    >>> p = metric("p(rel=2)@5")
    >>> p, p.k, p.options["relevance_threshold"], p.higher_is_better
    (Metric('p(rel=2)@5'), 5, 2, True)
    """

    name: str
    measure: Measure = field(repr=False)
    options: Mapping[str, Any] = field(hash=False)
    convention: Convention | None = None

    @passes_to(MetricLists.__init__)
    def __call__(
        self, scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike, **columns: Unpack[Columns]
    ) -> Values:
        """One value per list."""
        given = np.asarray(scores, np.float32) if self.single else scores
        return self.of(MetricLists(given, labels, offsets, **columns))

    def of(self, lists: MetricLists) -> Values:
        """One value per checked list."""
        if len(lists.weight) and "weight" not in self.measure.data:
            raise ValueError(f"{self.name} has no gains that item weights could multiply; leave weight out")
        return over(lists, self.measure.function, **self.options)

    @property
    def k(self) -> int | None:
        """The cut-off, if there is one."""
        cut: int | None = self.options.get("k")
        return cut

    @property
    def single(self) -> bool:
        """Whether the convention's library keeps scores in single precision."""
        return self.convention is not None and self.convention.single

    @property
    def higher_is_better(self) -> bool:
        return self.measure.higher_is_better

    def mean(self, values: ArrayLike, query_weight: ArrayLike | None = None) -> float:
        """The mean over lists, as `rankloop.metrics.mean` takes it under this metric's convention."""
        if self.convention is None:
            return mean(values, query_weight)
        rule = self.convention.rule(self.measure.function.__name__)
        return mean(values, query_weight if rule.weighted else None, blank_adds=rule.blank_adds)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Metric({self.name!r})"


def metric(name: str | Metric, *, convention: str | None = None) -> Metric:
    """The metric of a name: `name`, `name@k`, `name(option=value, ...)@k`; a `Metric` passes through.

    `convention` sets the options that reproduce another library's figure (see `conventions`). Names that only
    trec_eval has, such as "P_10", "ndcg_cut_10" and "recip_rank", are counted as trec_eval does.

    >>> metric("ndcg(gain=linear)@5")([3, 2, 1], [0, 1, 2], [0, 3]).round(4)
    array([0.6199])
    >>> metric("ndgc@5")
    Traceback (most recent call last):
    ValueError: unknown metric 'ndgc'; did you mean 'ndcg'? known: ...
    """
    if isinstance(name, Metric):
        return name
    theirs = of_trec_eval(name)
    if theirs is not None and convention is None:
        convention = "trec"
    parts = SHAPE.fullmatch(theirs or name)
    if parts is None:
        raise ValueError(f"a metric is written like 'ndcg@10' or 'p(rel=2)@5', got {name!r}")
    word, inside, cut = parts.groups()
    measure = _measure(word)
    options = dict(measure.options)
    rules = None
    if convention is not None:
        if convention not in CONVENTIONS:
            raise unknown("convention", convention, CONVENTIONS)
        rules = CONVENTIONS[convention]
        options |= rules.rule(measure.function.__name__).options
    options |= _options(inside, measure, name) | _cut(cut, measure, name)
    return Metric(name.strip(), measure, options, rules)


def _measure(word: str) -> Measure:
    for measure in MEASURES.values():
        if word.lower() in measure.names:
            return measure
    raise unknown("metric", word, [name for measure in MEASURES.values() for name in measure.names])


def _cut(cut: str | None, measure: Measure, name: str) -> dict[str, int]:
    if cut is None:
        return {}
    if "k" not in measure.options:
        raise ValueError(f"{measure.function.__name__} has no cut-off, got {name!r}")
    if not cut.strip().isdecimal() or int(cut) < 1:
        raise ValueError(f"a cut-off is a whole number of at least 1, got '@{cut}' in {name!r}")
    return {"k": int(cut)}


def _options(inside: str | None, measure: Measure, name: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for part in (inside or "").split(","):
        if not part.strip():
            continue
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise ValueError(f"an option is written like rel=2, got {part.strip()!r} in {name!r}")
        key = SHORT.get(key, key)
        known = [option for option in measure.options if option != "k"]
        if key not in known:
            short = [word for word, full in SHORT.items() if full in known]
            raise unknown(f"option of {measure.names[0]}", key, known + short)
        if key in made:
            raise ValueError(f"option {key} is given twice in {name!r}")
        made[key] = _value(value)
    return made


def _value(text: str) -> Any:
    """A number, numbers joined by slashes (a table of gains), or a word."""
    if "/" in text:
        try:
            return tuple(float(entry) for entry in text.split("/"))
        except ValueError:
            raise ValueError(f"a table of gains is numbers joined by slashes, got {text!r}") from None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
