"""The report of the demo: what was learned, and three comparisons that show it."""

from typing import Any

import numpy as np

from rankloop._table import Table
from rankloop.demo.conclusion import conclusion
from rankloop.demo.learners import METRIC, judgments
from rankloop.demo.run_loop import Demo
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

__all__ = ["demo_report"]


def demo_report(demo: Demo) -> Report:
    """Everything the demo found, with figures."""
    collection = demo.collection
    report = Report(
        f"The loop on {collection.name}",
        f"{len(collection.index):,} documents, {demo.train.n_queries} training searches, "
        f"{demo.test.n_queries} test searches. Users are simulated and click according to the grades.",
    )
    report.add(
        "In short",
        f"The ranker that learned from clicks corrected for position bias, on {demo.test.n_queries} test "
        "searches:",
        conclusion(demo),
    )
    report.add(
        "By grades",
        "Each ranking against all graded answers of the test searches.",
        metric_intervals(demo.offline.systems),
        demo.offline,
        gains_and_losses(demo.offline, system="unbiased", metric=METRIC),
    )
    report.add("By clicks on another ranking", *_counterfactual(demo))
    report.add("Interleaved", preference(demo.interleaved))
    report.add(
        "What users examine",
        "People look at results further up more often, so they click them more often, relevant or not.",
        ctr_by_position(demo.log),
        position_curve(
            {"from swapped results": demo.propensity}, truth=1.0 / np.arange(1, len(demo.propensity) + 1)
        ),
    )
    report.add("One search", *_one_search(demo))
    report.add("Weights of the unbiased ranker", _weights(demo))
    seconds = {name: f"{took:.1f} s" for name, took in demo.steps.seconds.items()}
    return report.add("How long it took", seconds, folded=True)


def _counterfactual(demo: Demo) -> list[Any]:
    rows = [
        (name, f"{one.estimate:+.4f}", f"{one.low:+.4f}", f"{one.high:+.4f}", f"{one.truth:+.4f}")
        for name, one in demo.counterfactual.items()
    ]
    gains = {name: {"dcg@10": (one.estimate, one.low, one.high)} for name, one in demo.counterfactual.items()}
    return [
        "What each ranking would have gained over BM25 with the same documents in its own order, "
        "estimated from clicks on BM25's pages alone (doubly robust). The true gain is known because "
        "users are simulated.",
        metric_intervals(gains, signed=True, title="Gain over BM25, from clicks alone", note=""),
        Table(("ranking", "estimate", "low", "high", "true"), rows),
    ]


def _one_search(demo: Demo) -> list[Any]:
    """The search that the unbiased ranker changed most for the better, before and after."""
    moved = max(
        demo.offline.most_changed("unbiased", METRIC, 50), key=lambda one: one.difference, default=None
    )
    if moved is None:
        return ["No search changed."]
    at = int(np.flatnonzero(demo.test.qid == moved.qid)[0])
    one = demo.test.select([at])
    assert one.docid is not None
    graded = judgments(demo.test, demo.collection.searches)[moved.qid]
    missed = [grade for id, grade in graded.items() if id not in set(one.docid.tolist())]
    return [
        f"{moved.qid}: from {moved.baseline:.3f} with BM25 to {moved.value:.3f}.",
        *(
            ndcg_picture(
                demo.rankers[name].predict(one),
                one.y,
                documents=one.docid.tolist(),
                missed=missed,
                title=f"By {name}",
            )
            for name in ("bm25", "unbiased")
        ),
    ]


def _weights(demo: Demo) -> Any:
    ranker: Any = demo.rankers["unbiased"]
    found = (list(demo.collection.features), np.abs(ranker.coef_))
    return importance_picture({"weight": found}, note="Absolute weights of standardised features.")
