"""The loop on one collection: candidates, clicks, learning, and three comparisons with BM25."""

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.clicks import ClickLog, simulate, user
from rankloop.data import RankingDataset
from rankloop.demo.collection import CANDIDATES, PAGE, Collection
from rankloop.demo.learners import METRIC, baselines, from_clicks
from rankloop.demo.steps import Steps
from rankloop.demo.verdicts import Counterfactual, counterfactual, interleaved, offline
from rankloop.interleaving import Verdict
from rankloop.metrics import Comparison
from rankloop.propensity import Propensity, TrustWarning, swap_intervention
from rankloop.rankers import Ranker

__all__ = ["SESSIONS", "Demo", "run_loop"]

SESSIONS = 100_000
PAGES = 2_000  # interleaved
_SWAPS = 0.5  # share of pages on which two adjacent results are swapped with probability 1/2


@dataclass(frozen=True, eq=False)
class Demo:
    """Everything the demo found: what its report shows and its service serves."""

    steps: Steps
    collection: Collection
    folder: Path
    train: RankingDataset
    test: RankingDataset
    rankers: dict[str, Ranker]
    log: ClickLog
    propensity: Propensity
    offline: Comparison
    counterfactual: dict[str, Counterfactual]
    interleaved: list[Verdict]
    seed: int


def run_loop(
    collection: Collection,
    folder: Path,
    *,
    steps: Steps | None = None,
    seed: int = 0,
    sessions: int = SESSIONS,
) -> Demo:
    """Learn from simulated clicks on a collection, and compare the rankers on searches held out."""
    steps = Steps() if steps is None else steps
    person = user("pbm", max_label=collection.max_label)
    by = "BM25 and meaning" if collection.index.encoders else "BM25"
    with steps.step("candidates", f"the best {CANDIDATES} of each search by {by}, with features") as found:
        everything = collection.candidates(collection.searches)
        train, test = everything.split(0.5, seed=seed)
        found["features"] = everything.n_features
        found["training searches"] = train.n_queries
        found["test searches"] = test.n_queries
    with steps.step("baselines", "two baselines, the popularity prior tuned on grades") as found:
        rankers: dict[str, Any] = baselines(collection, train)
        found["weight of popularity"] = float(rankers["bm25 + popularity"].weights[collection.prior])
    with steps.step("clicks", "simulated users see BM25's pages, examine top ranks more, click") as found:
        log = _clicks(train, rankers["bm25"], person, sessions, seed)
        found["pages"], found["clicks"] = log.n_pages, int(log.click.sum())
    with (
        steps.step("propensity", "probability that each rank is examined, from swapped results") as found,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", TrustWarning)  # these users trust no rank, as the true curve shows
        propensity = swap_intervention(log, monotone=True, seed=seed)
        found["estimated"] = propensity.values.tolist()
        found["true"] = (1.0 / np.arange(1, len(propensity) + 1)).tolist()
    with steps.step("learning", "two rankers learn from the same clicks, naive and unbiased"):
        rankers |= from_clicks(log, propensity, train)
    with steps.step("offline", f"{METRIC} on test searches, against all graded answers") as found:
        judged = offline(collection, rankers, test, seed)
        found |= {name: one.mean[METRIC] for name, one in judged.systems.items()}
    print(replace(judged.table(), notes=()).plain(), flush=True)
    with steps.step("counterfactual", "gain over BM25 from clicks on BM25's pages alone (dcg@10)") as found:
        others = _clicks(test, rankers["bm25"], person, sessions, seed + 1)
        gains = counterfactual(rankers, test, others, propensity, collection.max_label, seed)
        found |= {name: str(one) for name, one in gains.items()}
    with steps.step("interleaved", f"unbiased ranker on {PAGES:,} interleaved pages, wins:losses") as found:
        verdicts = interleaved(rankers, test, person, pages=PAGES, seed=seed)
        for one in verdicts:
            found[f"against {one.second}"] = f"{one.wins}:{one.losses} ({one.winner or 'undecided'})"
    return Demo(
        steps, collection, folder, train, test, rankers, log, propensity, judged, gains, verdicts, seed
    )


def _clicks(data: RankingDataset, ranker: Any, person: Any, sessions: int, seed: int) -> ClickLog:
    return simulate(
        data,
        logging_policy=ranker,
        user=person,
        sessions=sessions,
        k=PAGE,
        randomize="adjacent",
        rate=_SWAPS,
        seed=seed,
    )
