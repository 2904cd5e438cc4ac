"""Whether a log can separate the effect of the position from that of relevance."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from rankloop._arrays import Floats, Ints32
from rankloop.clicks import Aggregate, ClickLog, aggregate
from rankloop.data import RankingDataset
from rankloop.propensity.by_layout import one_layout
from rankloop.propensity.fitting.confounding import hidden_relevance, overlap_of_features
from rankloop.propensity.harvest import compare_ranks
from rankloop.propensity.plan_swaps import PlannedSwap, click_rates, swap_variance

__all__ = ["Edge", "Identifiability", "identifiability"]

WANTED = 0.1  # the largest standard error of log theta of a curve that can be trusted
BIAS = 0.1  # the same for the bias of a joint fit from relevance that features do not explain
OVERLAP = 0.5  # the least overlap of the features of documents at two ranks


@dataclass(frozen=True, slots=True)
class Edge:
    """Two ranks: the documents shown at both, and the number of swaps with the same information."""

    low: int
    high: int
    documents: int
    swaps: float
    standard_error: float  # of the logarithm of the ratio, from this pair of ranks alone


@dataclass(frozen=True, repr=False)
class Identifiability:
    """How well a log separates position from relevance; prints as a report.

    `groups` are the ranks that documents connect (there should be one group), `standard_error` is that
    expected for log theta at each rank if every document has a relevance of its own, `overlap` is how similar
    the features of the documents at rank 1 and at rank k are: 1 is equal, 0 is separable. `shift` is how far
    features move log theta from the plain click rates, `bias` how much further relevance that they do not
    explain would move it if the logging policy knew it as well (Altonji et al., 2005): the error to expect of
    a joint fit. `explained` is the share of the variance of relevance, at one rank, that features explain.
    `absorbed` says for each rank how much of the fall in likelihood is undone when its theta is changed and
    all else is fitted again: near 1, relevance takes the place of position and clicks do not tell them apart.
    """

    groups: tuple[tuple[int, ...], ...]
    edges: tuple[Edge, ...]
    standard_error: tuple[float | None, ...]  # None where nothing connects the rank to the first
    overlap: tuple[float, ...] | None
    shift: tuple[float, ...] | None
    bias: tuple[float, ...] | None
    explained: float | None
    absorbed: tuple[float, ...] | None
    fixes: tuple[PlannedSwap, ...]

    @property
    def connected(self) -> bool:
        return len(self.groups) == 1

    @property
    def documents_suffice(self) -> bool:
        """Documents shown at several ranks identify the curve to within a tenth."""
        return all(one is not None and one <= WANTED for one in self.standard_error)

    @property
    def features_suffice(self) -> bool:
        """Ranks show documents with similar features, and unexplained relevance would change little."""
        if self.overlap is None or self.bias is None:
            return False
        return min(self.overlap) >= OVERLAP and max(self.bias) <= BIAS

    @property
    def trusted(self) -> bool:
        return self.documents_suffice if self.overlap is None else self.features_suffice

    @property
    def warnings(self) -> tuple[str, ...]:
        found = []
        if not self.connected:
            written = " | ".join(", ".join(map(str, group)) for group in self.groups)
            found.append(f"no document connects these groups of ranks: {written}")
        weak = [rank for rank, one in enumerate(self.standard_error, 1) if one is not None and one > WANTED]
        if weak:
            worst = max(one for one in self.standard_error if one is not None)
            found.append(
                f"documents shown at several ranks leave a standard error of up to {worst:.0%} "
                f"(ranks {', '.join(map(str, weak))})"
            )
        if self.shift is not None and self.bias is not None and max(self.bias) > BIAS:
            share = "" if self.explained is None else f" and explain {self.explained:.0%} of relevance"
            found.append(
                f"features move the curve by up to {np.expm1(max(map(abs, self.shift))):.0%}{share}: what "
                f"they do not explain may bias it by a factor of {np.exp(max(self.bias)):.2f}"
            )
        if self.overlap is not None and min(self.overlap) < OVERLAP:
            apart = [rank for rank, one in enumerate(self.overlap, 1) if one < OVERLAP]
            found.append(
                f"features separate documents at rank {', '.join(map(str, apart))} from rank 1 (overlap "
                f"down to {min(self.overlap):.0%}): a joint fit may attribute relevance to position"
            )
        return tuple(found) if not self.trusted else ()

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "trusted": self.trusted, "warnings": list(self.warnings)}

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any]) -> "Identifiability":
        return cls(
            tuple(tuple(group) for group in parts["groups"]),
            tuple(Edge(**one) for one in parts["edges"]),
            tuple(parts["standard_error"]),
            None if parts["overlap"] is None else tuple(parts["overlap"]),
            None if parts["shift"] is None else tuple(parts["shift"]),
            None if parts["bias"] is None else tuple(parts["bias"]),
            parts["explained"],
            None if parts.get("absorbed") is None else tuple(parts["absorbed"]),
            tuple(PlannedSwap(**one) for one in parts["fixes"]),
        )

    def __repr__(self) -> str:
        heads = "" if self.overlap is None else "  overlap"
        heads += "" if self.shift is None else "    shift     bias"
        heads += "" if self.absorbed is None else " absorbed"
        verdict = "the curve can be trusted" if self.trusted else "do not trust a joint fit of this log"
        lines = [verdict, *(f"- {one}" for one in self.warnings), "", f"rank  expected error{heads}"]
        for rank, error in enumerate(self.standard_error, 1):
            written = "unbounded" if error is None else f"{error:.1%}"
            alike = "" if self.overlap is None else f"{self.overlap[rank - 1]:>9.0%}"
            alike += "" if self.shift is None else f"{np.expm1(self.shift[rank - 1]):>+9.0%}"
            alike += "" if self.bias is None else f"{np.expm1(self.bias[rank - 1]):>9.0%}"
            alike += "" if self.absorbed is None else f"{self.absorbed[rank - 1]:>9.0%}"
            lines.append(f"{rank:>4}  {written:>14}{alike}")
        if self.fixes:
            lines += ["", "what would fix it:"]
            lines += [
                f"  swap ranks {one.low} and {one.high} on {one.sessions:,} pages" for one in self.fixes
            ]
        return "\n".join(lines)


def identifiability(
    log: ClickLog | Aggregate, data: RankingDataset | None = None, *, layout: str | None = None
) -> Identifiability:
    r"""How well a log separates position from relevance (Zhu et al., 2023), and what would help.

    A document shown at several ranks connects them. With a free relevance for each document, the information
    about log theta is the sum over documents of

    .. math:: \mathrm{diag}(v) - v v^\top / \textstyle\sum_k v_k, \qquad v_k = n_k p_k / (1 - p_k)

    whose inverse gives the expected standard errors. With a data set the report also says how similar the
    features of documents at different ranks are, which is what a feature-based fit relies on.

    >>> log = ClickLog([1, 1, 2, 2], ["q"] * 4, ["a", "b", "a", "b"], [1, 2, 1, 2], [1, 0, 0, 1])
    >>> identifiability(log).connected
    False
    """
    if isinstance(log, ClickLog):
        counts = aggregate(one_layout(log, layout)[0])
    else:
        counts = log
    if len(counts) == 0:
        raise ValueError("the log is empty; there is nothing to report on")
    rates = np.clip(click_rates(counts), 1e-9, 0.95)
    edges = _edges(counts, rates)
    part = _parts(edges, len(rates))
    groups = tuple(tuple((np.flatnonzero(part == one) + 1).tolist()) for one in np.unique(part))
    groups = tuple(sorted(groups))
    error = _standard_error(counts, rates, part)
    return Identifiability(
        groups,
        edges,
        tuple(None if not np.isfinite(one) else float(one) for one in error),
        None if data is None else overlap_of_features(counts, data, len(rates)),
        *((None, None, None, None) if data is None else hidden_relevance(counts, data, rates)),
        _fixes(rates, error),
    )


def _edges(counts: Aggregate, rates: Floats) -> tuple[Edge, ...]:
    ranks = len(rates)
    low, high = np.triu_indices(ranks, 1)
    number = np.full((ranks, ranks), -1, np.int64)
    number[low, high] = np.arange(len(low))
    sums = np.zeros((2, len(low), 3))
    shown = counts.impressions.astype(np.float64)
    for overlap in (True, False):
        compare_ranks(
            counts.names.code,
            counts.position.astype(np.int64) - 1,
            shown,
            np.zeros(len(counts)),
            np.full(len(counts), int(overlap)),
            number,
            overlap,
            sums,
        )
    swaps, documents = sums[1, :, 2], sums[0, :, 2]
    return tuple(
        Edge(
            int(low[i]) + 1,
            int(high[i]) + 1,
            int(documents[i]),
            float(swaps[i]),
            float(np.sqrt(swap_variance(rates[low[i]], rates[high[i]]) / swaps[i])),
        )
        for i in np.flatnonzero(documents)
    )


def _parts(edges: tuple[Edge, ...], ranks: int) -> Ints32:
    low, high = [one.low - 1 for one in edges], [one.high - 1 for one in edges]
    graph = csr_array((np.ones(len(edges)), (low, high)), shape=(ranks, ranks))
    return np.asarray(connected_components(graph, directed=False)[1])


def _standard_error(counts: Aggregate, rates: Floats, part: Ints32) -> Floats:
    rank, document = counts.position - 1, counts.names.code
    weight = counts.impressions * (rates / (1 - rates))[rank]
    whole = np.bincount(document, weight)
    share = csr_array((weight / np.sqrt(whole[document]), (document, rank)), shape=(len(whole), len(rates)))
    information = np.diag(np.bincount(rank, weight, len(rates))) - (share.T @ share).toarray()
    error = np.full(len(rates), np.inf)
    error[0] = 0.0
    linked = np.flatnonzero(part == part[0])[1:]
    if len(linked):
        inverse = np.linalg.pinv(information[np.ix_(linked, linked)], hermitian=True)
        error[linked] = np.sqrt(np.maximum(np.diag(inverse), 0.0))
    return error


def _fixes(rates: Floats, error: Floats) -> tuple[PlannedSwap, ...]:
    """Swaps with rank 1 that bring every rank to the wanted standard error."""
    fixes = []
    for rank in np.flatnonzero(error > WANTED):
        missing = 1 / WANTED**2 - (0.0 if np.isinf(error[rank]) else 1 / error[rank] ** 2)
        pages = swap_variance(rates[0], rates[rank]) * missing
        fixes.append(PlannedSwap(1, int(rank) + 1, int(np.ceil(min(pages, 1e15)))))
    return tuple(fixes)
