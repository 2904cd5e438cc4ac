"""Pages with clicks, and the alternating fit of a linear scorer and a curve on them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from rankloop._arrays import Floats, Ints
from rankloop.clicks import ClickLog
from rankloop.clicks.columns.grouping import selected
from rankloop.data import RankingDataset
from rankloop.propensity.by_layout import one_layout
from rankloop.propensity.fitting.bootstrap import grouped, weights_of, with_draws
from rankloop.propensity.fitting.features import design
from rankloop.propensity.fitting.joint import report_first
from rankloop.propensity.fitting.people import warn_if_few
from rankloop.propensity.fitting.sums import CurveOptions
from rankloop.propensity.propensity import Propensity
from rankloop.propensity.trust_bias import with_trust

__all__ = ["ClickedPages", "JointOptions", "Method", "alternating"]

JOINT_RESAMPLES = 30  # every resample is fitted again
SCORER_PAGES = 20_000  # the scorer learns from a sample of this size, the curve from all pages
RIDGE = 1.0

Loss = Callable[["ClickedPages", Floats, Floats, Floats], float]
NextCurve = Callable[["ClickedPages", Floats, Floats], Floats]


@dataclass(frozen=True, eq=False)
class ClickedPages:
    """Pages with clicks: their documents, and the weight of each page."""

    offsets: Ints
    document: Ints  # per impression, into X
    rank: Ints  # from 0
    click: NDArray[np.int8]
    weight: Floats  # per page
    group: Ints  # per page
    groups: int
    ranks: int
    X: Floats

    @staticmethod
    def of(log: ClickLog, data: RankingDataset, depth: int | None, most: int, seed: int) -> "ClickedPages":
        ranks = min(log.n_positions, depth or log.n_positions)
        inside = log.position <= ranks
        page = log.row_page
        clicked = np.bincount(page[inside], log.click[inside], log.n_pages) > 0
        clicks = np.bincount(log.position[inside] - 1, log.click[inside], ranks)
        if ranks < 2 or np.any(clicks == 0):
            where = "one rank only" if ranks < 2 else f"none at rank {int(np.argmin(clicks)) + 1}"
            raise ValueError(
                f"a joint fit needs clicks at two ranks or more, got {where}; log more or set depth"
            )
        chosen = np.flatnonzero(clicked)
        if len(chosen) > most:
            chosen = np.sort(np.random.default_rng([seed, 2]).choice(chosen, most, replace=False))
        part = log.select(chosen)
        keep = part.position <= ranks
        lengths = np.bincount(part.row_page[keep], minlength=part.n_pages)
        documents, document = np.unique(part.pairs.code[keep], return_inverse=True)
        group, groups = grouped(part.page_query.code, seed)
        return ClickedPages(
            np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
            document.astype(np.int64),
            part.position[keep].astype(np.int64) - 1,
            part.click[keep],
            np.ones(part.n_pages),
            group.astype(np.int64),
            groups,
            ranks,
            design(data, part.pair_rows(data)[documents])[:, :-1],
        )

    @property
    def arrays(self) -> tuple[Any, Any, Any, Any, Any]:
        """What every kernel takes first."""
        return self.offsets, self.document, self.rank, self.click, self.weight

    def sample(self, most: int, seed: int) -> "ClickedPages":
        """A part of the pages, for the scorer."""
        n = len(self.weight)
        if n <= most:
            return self
        chosen = np.sort(np.random.default_rng([seed, 3]).choice(n, most, replace=False))
        offsets, rows = selected(self.offsets, chosen)
        return replace(
            self,
            offsets=offsets,
            document=self.document[rows],
            rank=self.rank[rows],
            click=self.click[rows],
            weight=self.weight[chosen],
            group=self.group[chosen],
        )

    def reweighted(self, weights: Floats) -> "ClickedPages":
        return replace(self, weight=weights[self.group])


class Method(NamedTuple):
    """`loss(pages, scores, curve, gradient)` gives a value and fills the gradient by document;
    `next_curve(pages, scores, curve)` gives the next curve, of which the first row is log theta;
    `start(ranks)` is the first one.
    """

    name: str
    start: Callable[[int], Floats]
    loss: Loss
    next_curve: NextCurve


class JointOptions(CurveOptions, total=False):
    """Options of a curve that is fitted with a scorer; the defaults are those of `alternating`."""

    pages: int
    iterations: int


def alternating(
    method: Method,
    log: ClickLog,
    data: RankingDataset,
    *,
    depth: int | None = None,
    pages: int = 100_000,
    iterations: int = 30,
    monotone: bool = False,
    layout: str | None = None,
    resamples: int = JOINT_RESAMPLES,
    seed: int = 0,
) -> Propensity:
    """Fit the scorer given the curve and the curve given the scorer until convergence, then each resample."""
    log, layout = one_layout(log, layout)
    report = report_first(log, data, method.name)
    warn_if_few(log, method.name)
    clicked = ClickedPages.of(log, data, depth, pages, seed)
    sample = clicked.sample(SCORER_PAGES, seed)
    weights, curve = np.zeros(clicked.X.shape[1]), method.start(clicked.ranks)
    weights, curve = _converged(method, clicked, sample, weights, curve, iterations, 10)
    drawn = []
    for one in weights_of(resamples, clicked.groups, seed):
        _, again = _converged(method, clicked.reweighted(one), sample.reweighted(one), weights, curve, 2, 5)
        drawn.append(np.atleast_2d(again)[0])
    found = with_draws(
        np.atleast_2d(curve)[0],
        np.array(drawn),
        units=float(clicked.groups),
        method=method.name,
        layout=layout,
        pages=log.n_pages,
        identifiability=report,
    )
    return with_trust(log, found.monotone() if monotone else found, seed, doubts=False)


def _converged(
    method: Method,
    pages: ClickedPages,
    sample: ClickedPages,
    weights: Floats,
    curve: Floats,
    iterations: int,
    scorer_iterations: int,
) -> tuple[Floats, Floats]:
    X = pages.X
    for _ in range(iterations):

        def objective(w: Floats, curve: Floats = curve) -> tuple[float, Floats]:
            slope = np.zeros(len(X))
            value = method.loss(sample, X @ w, curve, slope)
            n = len(sample.weight)
            return (value + 0.5 * RIDGE * float(w @ w)) / n, (slope @ X + RIDGE * w) / n

        done: Any = minimize(
            objective, weights, jac=True, method="L-BFGS-B", options={"maxiter": scorer_iterations}
        )
        weights = done.x
        new = method.next_curve(pages, X @ weights, curve)
        moved = float(np.abs(new - curve).max())
        curve = new
        if moved < 1e-3:
            break
    return weights, curve
