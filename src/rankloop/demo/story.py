"""The loop on data that is on every machine: search the Python standard library by what you want to do.

Each step prints its time and its number, whatever that is; nothing here is a fixed figure.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop.clicks import ClickLog, simulate, user
from rankloop.data import Qrels, RankingDataset, Run
from rankloop.demo.candidates import FEATURES, describe_candidates
from rankloop.demo.library import Library, index_library, read_library
from rankloop.demo.usage import read_usage, sources
from rankloop.interleaving import simulate_duel
from rankloop.metrics import compare, evaluate
from rankloop.propensity import Propensity, swap_intervention
from rankloop.rankers import LambdaMART
from rankloop.unbiased import ips, naive

__all__ = ["Story", "tell"]

_METRIC = "ndcg@10"
_PAGE = 10


@dataclass(slots=True)
class Story:
    """What was measured, step by step."""

    seconds: dict[str, float] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def step(self, title: str) -> Iterator[dict[str, Any]]:
        """Time a step; what it puts into the dict is printed and kept."""
        start = time.perf_counter()
        found: dict[str, Any] = {}
        yield found
        self.seconds[title] = time.perf_counter() - start
        self.numbers.update(found)
        told = ", ".join(f"{name} {_shown(value)}" for name, value in found.items())
        print(f"{self.seconds[title]:6.1f} s  {title}: {told}", flush=True)


def tell(*, out: Path | None = None, seed: int = 0, sessions: int = 20_000, reading: float = 8.0) -> Story:
    """Run the whole story; the index stays in `out` to be searched afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="rankloop-demo-")) if out is None else out
    story = Story()
    with story.step("documents: the standard library of this machine") as found:
        library = read_library()
        found["documents"] = len(library.documents)
        found["written searches"] = len(library.searches)
    with story.step("popularity: how installed packages use it") as found:
        usage = read_usage(sources(), seconds=reading)
        found["files read"] = usage.files
        found["packages"] = len(usage.calls)
    with story.step("index") as found:
        index = index_library(library, usage, folder / "stdlib.index")
        found["at"] = str(folder / "stdlib.index")
    with story.step("candidates: the best 100 by BM25, described with features") as found:
        everything = describe_candidates(index, library.searches)
        train, test = everything.split(0.5, seed=seed)
        found["features"] = everything.n_features
        found["searches to learn from"] = train.n_queries
        found["searches to prove it on"] = test.n_queries
    rankers = _baselines(story, train, test, library)
    log, seen = _people(story, train, seed, sessions)
    rankers |= _learned(story, log, seen, train, seed)
    _verdicts(story, rankers, test, library, seed)
    print(f'\nTry it:  rankloop search {folder / "stdlib.index"} "temporary directory that cleans up"')
    return story


def _baselines(
    story: Story, train: RankingDataset, test: RankingDataset, library: Library
) -> dict[str, "ByFeatures"]:
    """BM25, and BM25 with a prior for popularity that is tuned on the searches to learn from."""
    with story.step("two honest baselines on the searches to prove it on") as found:
        weights = [0.0, 0.5, 1.0, 2.0, 4.0, 8.0]
        tried = {weight: ByFeatures({"bm25": 1.0, "popularity": weight}) for weight in weights}
        quality = {weight: _quality(one, train, library) for weight, one in tried.items()}
        best = max(quality, key=lambda weight: quality[weight])
        baselines = {"bm25": tried[0.0], "bm25 + popularity": tried[best]}
        for name, ranker in baselines.items():
            found[name] = _quality(ranker, test, library)
    return baselines


def _people(story: Story, train: RankingDataset, seed: int, sessions: int) -> tuple[ClickLog, Propensity]:
    """Biased people search and click; a tenth of the pages swap two neighbours, which shows the bias."""
    person = user("pbm", max_grade=3)
    shown = ByFeatures({"bm25": 1.0})
    with story.step("people search the BM25 page and click what they see and like") as found:
        log = simulate(
            train, shown_by=shown, user=person, sessions=sessions, k=_PAGE, randomize="adjacent", seed=seed
        )
        found["pages"] = log.n_pages
        found["clicks"] = int(log.click.sum())
    with story.step("how likely each rank is to be seen, from swapped neighbours") as found:
        seen = swap_intervention(log, seed=seed)
        truth = 1.0 / np.arange(1, len(seen.values) + 1)
        found["rank 2"] = float(seen.values[1])
        found["truth"] = 0.5
        found[f"rank {_PAGE}"] = float(seen.values[-1])
        found["its truth"] = float(truth[-1])
    return log, seen


def _learned(
    story: Story, log: ClickLog, seen: Propensity, train: RankingDataset, seed: int
) -> dict[str, Any]:
    with story.step("two rankers learn from the same clicks") as found:
        made = {}
        for name, labelled in (("naive", naive(log, train)), ("unbiased", ips(log, seen, train))):
            made[name] = LambdaMART(
                trees=150, leaves=7, learning_rate=0.05, min_sum_hessian=0.1, seed=seed
            ).fit(labelled)
            found[f"{name} documents"] = labelled.n_documents
    return made


def _verdicts(
    story: Story, rankers: Mapping[str, Any], test: RankingDataset, library: Library, seed: int
) -> None:
    judgments = _judgments(test, library)
    runs = {name: _run(ranker, test) for name, ranker in rankers.items()}
    with story.step("offline, on held-out searches against all written answers") as found:
        for name, run in runs.items():
            found[name] = evaluate(run, judgments, [_METRIC]).mean[_METRIC]
    print(compare(runs, judgments, _METRIC, seed=seed))
    with story.step("interleaved, on held-out searches") as found:
        for rival in ("bm25", "bm25 + popularity", "naive"):
            pair = {"unbiased": rankers["unbiased"], rival: rankers[rival]}
            said = simulate_duel(
                test, pair, user=user("pbm", max_grade=3), pages=2_000, seed=seed
            ).verdicts()[0]
            found[f"against {rival}"] = f"{said.wins}:{said.losses} ({said.winner or 'no difference shown'})"


class ByFeatures:
    """A weighted sum of named features: the baselines."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self.weights = dict(weights)

    def predict(self, X: RankingDataset | NDArray[np.float32]) -> NDArray[np.float64]:
        rows = X.X if isinstance(X, RankingDataset) else X
        columns = [FEATURES.index(name) for name in self.weights]
        scores: NDArray[np.float64] = rows[:, columns].astype(np.float64) @ np.array([*self.weights.values()])
        return scores


def _run(ranker: Any, data: RankingDataset) -> Run:
    assert data.docid is not None
    return Run(data.row_qid, data.docid, ranker.predict(data))


def _judgments(data: RankingDataset, library: Library) -> Qrels:
    graded = {query: library.searches[query] for query in data.qid.tolist()}
    return Qrels.from_dict(graded)


def _quality(ranker: Any, data: RankingDataset, library: Library) -> float:
    return float(evaluate(_run(ranker, data), _judgments(data, library), [_METRIC]).mean[_METRIC])


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
