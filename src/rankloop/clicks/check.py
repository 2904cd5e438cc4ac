"""What a log can support, what it cannot, and what would change that."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop.clicks.aggregate import Aggregate, aggregate
from rankloop.clicks.log import ClickLog

__all__ = ["LogReport", "Support", "check"]

FEW_CLICKS = 100  # at a rank: one standard error is a tenth of the rate


@dataclass(frozen=True, slots=True)
class Facts:
    """What the log holds, counted."""

    pages: int
    impressions: int
    clicks: int
    queries: int
    ranks: int
    clicks_per_rank: tuple[int, ...]
    pages_without_clicks: int
    pages_with_several_clicks: int
    pages_with_missing_positions: int
    pairs: int
    pairs_at_several_ranks: int  # the same document of the same query, seen at different ranks
    queries_with_one_ranking: int
    groups_of_ranks: int  # ranks that no such document ties together; 1 is what is wanted
    rankers: int
    layouts: int
    experiments: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Support:
    """Whether an estimator can be used: "yes", "weak" (runs, with a caveat) or "no"."""

    estimator: str
    family: str
    support: str
    why: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class LogReport:
    """The verdict on a log; prints as a table."""

    facts: Facts
    estimators: tuple[Support, ...]

    def __getitem__(self, estimator: str) -> Support:
        for one in self.estimators:
            if one.estimator == estimator:
                return one
        raise KeyError(estimator)

    @property
    def supported(self) -> list[str]:
        return [one.estimator for one in self.estimators if one.support != "no"]

    def to_dict(self) -> dict[str, Any]:
        return {"facts": asdict(self.facts), "estimators": [asdict(one) for one in self.estimators]}

    def __repr__(self) -> str:
        facts = self.facts
        lines = [
            f"{facts.pages:,} pages, {facts.impressions:,} impressions, {facts.clicks:,} clicks, "
            f"{facts.queries:,} queries, {facts.ranks} ranks",
            f"clicks by rank: {', '.join(f'{n:,}' for n in facts.clicks_per_rank)}",
            "",
        ]
        wide = max(len(one.estimator) for one in self.estimators)
        for one in self.estimators:
            reason = f"{one.why}; {one.fix}" if one.fix else one.why
            lines.append(f"{one.support:<5}{one.estimator:<{wide}}  {reason}".rstrip())
        return "\n".join(lines)


def check(log: ClickLog) -> LogReport:
    """Which estimators a log supports, and why not the others.

    >>> log = ClickLog([1, 1, 2, 2], ["q"] * 4, ["a", "b", "a", "b"], [1, 2, 1, 2], [1, 0, 0, 1])
    >>> check(log)["harvest"].why
    'every query was shown in one ranking only'
    >>> check(log)["swap_intervention"].fix
    'show some pages with two ranks exchanged and log intervention and original_position'
    """
    if len(log) == 0:
        raise ValueError("the log is empty; there is nothing to check")
    facts = _facts(log)
    return LogReport(facts, tuple(_verdicts(facts)))


def _facts(log: ClickLog) -> Facts:
    counts = aggregate(log)
    per_page = np.add.reduceat(log.click, log.offsets[:-1], dtype=np.int64)
    starts = log.position[log.offsets[:-1]]
    ends = log.position[log.offsets[1:] - 1]
    gaps = (starts != 1) | (ends - starts + 1 != log.lengths)
    pair = counts.names.code
    ranks_of_pair = np.bincount(pair)
    moved = np.zeros(len(log.queries), bool)
    moved[counts.names.query[ranks_of_pair > 1]] = True
    seen = np.zeros(len(log.queries), bool)
    seen[log.page_query.code] = True
    experiments: tuple[str, ...] = ()
    if log.page_intervention is not None:
        present = np.unique(log.page_intervention.code)
        experiments = tuple(str(log.page_intervention.table[one]) for one in present)
    return Facts(
        pages=log.n_pages,
        impressions=len(log),
        clicks=int(per_page.sum()),
        queries=log.n_queries,
        ranks=log.n_positions,
        clicks_per_rank=tuple(np.bincount(log.position - 1, log.click).astype(int).tolist()),
        pages_without_clicks=int(np.sum(per_page == 0)),
        pages_with_several_clicks=int(np.sum(per_page > 1)),
        pages_with_missing_positions=int(gaps.sum()),
        pairs=len(ranks_of_pair),
        pairs_at_several_ranks=int(np.sum(ranks_of_pair > 1)),
        queries_with_one_ranking=int(np.sum(seen & ~moved)),
        groups_of_ranks=_groups(counts, pair),
        rankers=0 if log.page_ranker is None else len(np.unique(log.page_ranker.code)),
        layouts=0 if log.page_layout is None else len(np.unique(log.page_layout.code)),
        experiments=tuple(name for name in experiments if name != "none"),
        columns=tuple(name for name, _ in log.columns()),
    )


def _groups(counts: Aggregate, pair: NDArray[np.int32]) -> int:
    """How many parts the graph of ranks falls into, joined by documents seen at both."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    same = pair[1:] == pair[:-1]
    one, other = counts.position[:-1][same], counts.position[1:][same]
    shown = np.unique(counts.position)
    size = int(shown.max()) + 1
    graph = coo_array((np.ones(len(one)), (one, other)), shape=(size, size))
    _, part = connected_components(graph, directed=False)
    return len(np.unique(part[shown]))


def _verdicts(facts: Facts) -> Iterator[Support]:
    problems = _Problems(facts)
    for estimator, (family, needs) in _NEEDS.items():
        found = [problems.of(need) for need in needs]
        worst = [one for one in found if one and one[0] == "no"] or [one for one in found if one]
        if worst and worst[0]:
            support, why, fix = worst[0]
            yield Support(estimator, family, support, why, fix)
        else:
            yield Support(estimator, family, "yes")


_NEEDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "ctr": ("labels", ("clicks", "non_clicks")),
    "smoothed_ctr": ("labels", ("clicks", "non_clicks")),
    "coec": ("labels", ("clicks", "non_clicks", "clicks_per_rank")),
    "dwell_satisfied": ("labels", ("clicks", "non_clicks", "dwell")),
    "conversion_rate": ("labels", ("non_clicks", "conversion")),
    "pbm": ("click model", ("clicks", "non_clicks", "several_ranks", "connected", "clicks_per_rank")),
    "ubm": ("click model", ("clicks", "non_clicks", "positions", "several_ranks", "clicks_per_rank")),
    "cascade": ("click model", ("clicks", "non_clicks", "positions", "single_clicks")),
    "dcm": ("click model", ("clicks", "non_clicks", "positions", "several_clicks")),
    "dbn": ("click model", ("clicks", "non_clicks", "positions", "several_clicks")),
    "sdbn": ("click model", ("clicks", "non_clicks", "positions", "several_clicks")),
    "ccm": ("click model", ("clicks", "non_clicks", "positions", "several_clicks")),
    "trust_pbm": ("click model", ("clicks", "non_clicks", "several_ranks", "connected", "clicks_per_rank")),
    "contextual_pbm": ("click model", ("clicks", "non_clicks", "layout", "several_ranks", "connected")),
    "randomized_top_n": ("propensity", ("clicks", "non_clicks", "shuffle", "clicks_per_rank")),
    "swap_intervention": ("propensity", ("clicks", "non_clicks", "swap", "clicks_per_rank")),
    "fair_pairs": ("propensity", ("clicks", "non_clicks", "pairs_swapped", "clicks_per_rank")),
    "harvest": ("propensity", ("clicks", "non_clicks", "several_ranks", "connected", "clicks_per_rank")),
    "regression_em": ("propensity", ("clicks", "non_clicks", "overlap", "clicks_per_rank")),
    "dual_learning": ("propensity", ("clicks", "overlap", "clicks_per_rank")),
    "pair_debiasing": ("propensity", ("clicks", "non_clicks", "overlap", "clicks_per_rank")),
    "contextual": ("propensity", ("clicks", "non_clicks", "layout", "several_ranks")),
    "naive": ("learning", ("clicks",)),
    "ips": ("learning", ("clicks", "positions_known")),
    "clipped_ips": ("learning", ("clicks", "positions_known")),
    "snips": ("learning", ("clicks", "non_clicks", "positions_known")),
    "policy_aware": ("learning", ("clicks", "non_clicks", "varied_pages")),
    "affine": ("learning", ("clicks", "non_clicks", "positions_known")),
    "intervention_aware": ("learning", ("clicks", "non_clicks", "ranker")),
    "direct_method": ("learning", ("clicks", "non_clicks")),
    "doubly_robust": ("learning", ("clicks", "non_clicks", "positions_known")),
    "slate_ips": ("evaluation", ("clicks", "non_clicks", "propensity")),
}

_Found = tuple[str, str, str] | None


@dataclass(frozen=True, slots=True)
class _Problems:
    """For each thing an estimator may need: (severity, why, fix) where the log lacks it."""

    facts: Facts

    def of(self, need: str) -> _Found:
        found: _Found = getattr(self, need)()
        return found

    def clicks(self) -> _Found:
        if self.facts.clicks == 0:
            return "no", "nothing was clicked", "log for longer, or check that clicks are joined"
        return None

    def non_clicks(self) -> _Found:
        facts = self.facts
        if facts.clicks == facts.impressions:
            return "no", "the log has clicks only", "log every document that was shown, clicked or not"
        if facts.pages_without_clicks == 0 and facts.pages >= 20:
            return "weak", "no page is without a click", "keep pages on which nothing was clicked"
        return None

    def clicks_per_rank(self) -> _Found:
        few = [rank for rank, n in enumerate(self.facts.clicks_per_rank, 1) if n < FEW_CLICKS]
        if not few:
            return None
        least = min(self.facts.clicks_per_rank)
        wanted = FEW_CLICKS / max(least, 1)
        ranks = ", ".join(map(str, few[:5])) + (", ..." if len(few) > 5 else "")
        fix = f"log about {wanted:.0f} times as many pages, or merge ranks"
        return "weak", f"fewer than {FEW_CLICKS} clicks at rank {ranks} (least {least})", fix

    def positions(self) -> _Found:
        pages = self.facts.pages_with_missing_positions
        if pages:
            fix = "log every position from 1 to the last one shown"
            return "weak", f"{pages:,} pages have gaps in their positions", fix
        return None

    def positions_known(self) -> _Found:
        if self.facts.ranks < 2:
            return "weak", "every document was logged at rank 1", "log the position at which it was shown"
        return None

    def several_ranks(self) -> _Found:
        facts = self.facts
        if facts.pairs_at_several_ranks == 0:
            fix = "swap or shuffle some pages, or log a second ranker"
            return "no", "every query was shown in one ranking only", fix
        if facts.pairs_at_several_ranks < 0.01 * facts.pairs:
            moved = f"{facts.pairs_at_several_ranks:,} of {facts.pairs:,}"
            why = f"only {moved} documents were seen at several ranks"
            return "weak", why, "swap or shuffle some pages"
        return None

    def overlap(self) -> _Found:
        if self.facts.pairs_at_several_ranks == 0:
            why = "every query was shown in one ranking only, so the curve rests on features alone"
            return "weak", why, "swap or shuffle some pages"
        return self.connected()

    def connected(self) -> _Found:
        groups = self.facts.groups_of_ranks
        if groups > 1:
            why = f"no document ties the ranks together: they fall into {groups} groups"
            return "weak", why, "swap documents between the groups, or merge ranks"
        return None

    def single_clicks(self) -> _Found:
        pages = self.facts.pages_with_several_clicks
        if pages:
            return (
                "weak",
                f"{pages:,} pages have several clicks, which the model says cannot be",
                "fit a DCM or DBN",
            )
        return None

    def several_clicks(self) -> _Found:
        if self.facts.pages_with_several_clicks == 0:
            why = "no page has several clicks, so reading on after a click cannot be learned"
            return "weak", why, "keep all clicks of a page, or fit a Cascade"
        return None

    def shuffle(self) -> _Found:
        if any(name.startswith("shuffle") for name in self.facts.experiments):
            return None
        fix = "show some pages with the first n shuffled and log intervention"
        return "no", "no page was shuffled", fix

    def swap(self) -> _Found:
        if any(name.startswith("swap") for name in self.facts.experiments):
            return None
        fix = "show some pages with two ranks exchanged and log intervention and original_position"
        return "no", "no page was part of a swap experiment", fix

    def pairs_swapped(self) -> _Found:
        if any(name.startswith("fairpairs") for name in self.facts.experiments):
            return None
        if any(name.startswith("swap") for name in self.facts.experiments):
            return "weak", "single swaps only", "exchange neighbours in all pairs with probability 1/2"
        return (
            "no",
            "no neighbours were exchanged",
            "exchange neighbours with probability 1/2 and log intervention",
        )

    def varied_pages(self) -> _Found:
        if "propensity" in self.facts.columns or self.facts.pairs_at_several_ranks:
            return None
        fix = "rank stochastically (a temperature), or log propensity"
        return "no", "the logger shows one page per query: what it hides is never seen", fix

    def _column(self, name: str, fix: str) -> _Found:
        return None if name in self.facts.columns else ("no", f"there is no column {name}", fix)

    def dwell(self) -> _Found:
        return self._column("dwell", "log the seconds spent after each click")

    def conversion(self) -> _Found:
        return self._column("conversion", "log 1 (or a value) where a click led to a purchase")

    def propensity(self) -> _Found:
        return self._column("propensity", "log the probability with which the ranking was shown")

    def layout(self) -> _Found:
        if self.facts.layouts == 1:
            return "weak", "there is one layout only", "use the plain position-based model"
        return self._column("layout", "log which layout (phone, desktop, ...) each page had")

    def ranker(self) -> _Found:
        if self.facts.rankers == 1:
            return "weak", "one ranker only", "use ips or doubly_robust, which need no more"
        return self._column("ranker", "log which ranker and version made each page")
