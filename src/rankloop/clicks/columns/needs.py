"""What each estimator needs in a log, and the sentence for a log without it."""

from dataclasses import dataclass

from rankloop.clicks.columns.facts import Facts
from rankloop.clicks.intervention import FairPairs, Shuffle, Swap, intervention

__all__ = ["NEEDS", "Problems"]

FEW_CLICKS = 100  # at a rank: with fewer, the standard error exceeds a tenth of the rate

NEEDS: dict[str, tuple[str, tuple[str, ...]]] = {
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
    "trustpbm": ("click model", ("clicks", "non_clicks", "several_ranks", "connected", "clicks_per_rank")),
    "contextualpbm": ("click model", ("clicks", "non_clicks", "layout", "several_ranks", "connected")),
    "randomized": ("propensity", ("clicks", "non_clicks", "shuffle", "clicks_per_rank")),
    "swap_intervention": ("propensity", ("clicks", "non_clicks", "swap", "clicks_per_rank")),
    "fair_pairs": ("propensity", ("clicks", "non_clicks", "pairs_swapped", "clicks_per_rank")),
    "harvest": ("propensity", ("clicks", "non_clicks", "several_ranks", "connected", "clicks_per_rank")),
    "regression_em": ("propensity", ("clicks", "non_clicks", "overlap", "clicks_per_rank")),
    "dual_learning": ("propensity", ("clicks", "overlap", "clicks_per_rank")),
    "pair_debias": ("propensity", ("clicks", "non_clicks", "overlap", "clicks_per_rank")),
    "contextual": ("propensity", ("clicks", "non_clicks", "layout", "several_ranks")),
    "naive": ("learning", ("clicks",)),
    "ips": ("learning", ("clicks", "positions_known")),
    "clipped": ("learning", ("clicks", "positions_known")),
    "snips": ("learning", ("clicks", "non_clicks", "positions_known")),
    "policy_aware": ("learning", ("clicks", "non_clicks", "varied_pages")),
    "affine": ("learning", ("clicks", "non_clicks", "positions_known")),
    "intervention_aware": ("learning", ("clicks", "non_clicks", "ranker")),
    "direct_method": ("learning", ("clicks", "non_clicks")),
    "doubly_robust": ("learning", ("clicks", "non_clicks", "positions_known")),
    "slate": ("evaluation", ("clicks", "non_clicks", "propensity")),
}

_Found = tuple[str, str, str] | None


@dataclass(frozen=True, slots=True)
class Problems:
    """For each need of an estimator: (severity, why, fix) where the log does not meet it."""

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
            why = f"only {moved} documents were shown at several ranks"
            return "weak", why, "swap or shuffle some pages"
        return None

    def overlap(self) -> _Found:
        if self.facts.pairs_at_several_ranks == 0:
            why = "every query was shown in one ranking only, so the curve relies on features alone"
            return "weak", why, "swap or shuffle some pages"
        return self.connected()

    def connected(self) -> _Found:
        groups = self.facts.groups_of_ranks
        if groups > 1:
            why = f"no document connects the ranks: they fall into {groups} groups"
            return "weak", why, "swap documents between the groups, or merge ranks"
        return None

    def single_clicks(self) -> _Found:
        pages = self.facts.pages_with_several_clicks
        if pages:
            return (
                "weak",
                f"{pages:,} pages have several clicks, which are impossible in the model",
                "fit a DCM or DBN",
            )
        return None

    def several_clicks(self) -> _Found:
        if self.facts.pages_with_several_clicks == 0:
            why = "no page has several clicks, so reading on after a click cannot be learned"
            return "weak", why, "keep all clicks of a page, or fit a Cascade"
        return None

    def shuffle(self) -> _Found:
        if self._experiment(Shuffle):
            return None
        fix = "show some pages with the first n shuffled and log intervention"
        return "no", "no page was shuffled", fix

    def swap(self) -> _Found:
        if self._experiment(Swap):
            return None
        fix = "show some pages with two ranks swapped and log intervention and original_position"
        return "no", "no page was part of a swap experiment", fix

    def pairs_swapped(self) -> _Found:
        if self._experiment(FairPairs):
            return None
        if self._experiment(Swap):
            return "weak", "single swaps only", "swap adjacent results in all pairs with probability 1/2"
        return (
            "no",
            "no adjacent results were swapped",
            "swap adjacent results with probability 1/2 and log intervention",
        )

    def varied_pages(self) -> _Found:
        if "propensity" in self.facts.columns or self.facts.pairs_at_several_ranks:
            return None
        fix = "rank stochastically (with a temperature), or log propensity"
        return "no", "the logging policy shows one page per query: other documents are never shown", fix

    def _experiment(self, kind: type) -> bool:
        return any(isinstance(intervention(name), kind) for name in self.facts.experiments)

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
            return "weak", "there is one ranker only", "use ips or doubly_robust, which need one only"
        return self._column("ranker", "log which ranker and version made each page")
