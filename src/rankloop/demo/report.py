"""The story as one page: what was learned, and three ways of proving it."""

from typing import Any

import numpy as np

from rankloop._table import Table
from rankloop.demo.conclusion import conclusion
from rankloop.demo.learners import ENOUGH, METRIC
from rankloop.demo.loop import Told
from rankloop.report import (
    Report,
    ctr_by_position,
    gains_and_losses,
    importance_picture,
    metric_intervals,
    ndcg_picture,
    position_curve,
    preference,
)

__all__ = ["report_of_story"]


def report_of_story(told: Told) -> Report:
    """Everything the story found, with pictures."""
    collection = told.collection
    report = Report(
        f"The loop on {collection.name}",
        f"{len(collection.index):,} documents, {told.train.n_queries} searches to learn from, "
        f"{told.test.n_queries} others to prove it on. All people are simulated; their taste is the grades.",
    )
    report.add(
        "In short",
        f"The ranker that learned from clicks without their bias, on {told.test.n_queries} searches that "
        "nobody learned from:",
        conclusion(told),
    )
    report.add(
        "By grades",
        "Each ranking against all graded answers of searches that nobody learned from.",
        metric_intervals(told.offline.systems),
        told.offline,
        gains_and_losses(told.offline, system="unbiased", metric=METRIC),
    )
    if "comments" in told.story.numbers and "comments" not in told.rankers:
        report.add(
            "Comments",
            f"{told.story.numbers['comments']['comments with a found answer']} comments above calls on this "
            f"machine read like searches that BM25 answers; from fewer than {ENOUGH} nothing is learned.",
        )
    report.add("By clicks on another ranking", *_counterfactual(told))
    report.add("Side by side", preference(told.interleaved))
    report.add(
        "What people saw",
        "Results further up are looked at more, so they are clicked more, whatever they are.",
        ctr_by_position(told.log),
        position_curve(
            {"from exchanged neighbours": told.seen}, truth=1.0 / np.arange(1, len(told.seen) + 1)
        ),
    )
    report.add("One search", *_one_search(told))
    report.add("What the unbiased ranker looks at", _weights(told))
    seconds = {name: f"{took:.1f} s" for name, took in told.story.seconds.items()}
    return report.add("How long it took", seconds, folded=True)


def _counterfactual(told: Told) -> list[Any]:
    rows = [
        (name, f"{one.estimate:+.4f}", f"{one.low:+.4f}", f"{one.high:+.4f}", f"{one.truth:+.4f}")
        for name, one in told.counterfactual.items()
    ]
    gains = {name: {"dcg@10": (one.estimate, one.low, one.high)} for name, one in told.counterfactual.items()}
    return [
        "What each ranking would have gained over BM25 by putting the same documents in its own order, "
        "estimated from clicks on BM25's pages alone (doubly robust). The truth is known here because "
        "people are simulated.",
        metric_intervals(gains, signed=True, title="Gain over BM25, from clicks alone", note=""),
        Table(("ranking", "estimate", "low", "high", "in truth"), rows),
    ]


def _one_search(told: Told) -> list[Any]:
    """The search that the unbiased ranker changed most for the better, before and after."""
    moved = max(
        told.offline.most_changed("unbiased", METRIC, 50), key=lambda one: one.difference, default=None
    )
    if moved is None:
        return ["No search changed."]
    at = int(np.flatnonzero(told.test.qid == moved.qid)[0])
    one = told.test.select([at])
    assert one.docid is not None
    return [
        f"{moved.qid}: from {moved.baseline:.3f} with BM25 to {moved.value:.3f}.",
        *(
            ndcg_picture(
                told.rankers[name].predict(one), one.y, documents=one.docid.tolist(), title=f"By {name}"
            )
            for name in ("bm25", "unbiased")
        ),
    ]


def _weights(told: Told) -> Any:
    ranker: Any = told.rankers["unbiased"]
    found = (list(told.collection.features), np.abs(ranker.coef_))
    return importance_picture({"weight": found}, note="Sizes of the weights on standardised features.")
