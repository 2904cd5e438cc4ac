"""Online learning to rank: PDGD against DBGD and MGD, and pages per second.

    python benchmarks/online.py            # 5 runs of 10,000 pages, and PDGD of 100,000
    python benchmarks/online.py --quick    # 3 runs of 1,000 pages, and PDGD of 10,000

Runs differ in the split, the queries, the clicks and the learner's random draws. The offline linear
ranker is the best of RankNet and LambdaRank on the same training labels, chosen on a part of them.
"""

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.special import stdtrit

from rankloop.data import RankingDataset, read_svmlight, synthetic
from rankloop.metrics import evaluate
from rankloop.online import DBGD, MGD, PDGD, learning_curve
from rankloop.rankers import LinearRanker
from results import benchmark, record

USERS = ("perfect", "navigational", "informational")
# Steps and perturbations as in the papers, scaled to standardised features.
LEARNERS = {
    "pdgd": lambda features, seed: PDGD(LinearRanker(), learning_rate=0.03, features=features, seed=seed),
    "dbgd": lambda features, seed: DBGD(LinearRanker(), features=features, seed=seed),
    "mgd": lambda features, seed: MGD(LinearRanker(), challengers=9, features=features, seed=seed),
}
CANDIDATES, FEATURES, K = 120, 136, 10


@cache  # once in each process
def sets() -> dict[str, RankingDataset]:
    found = {"synthetic": synthetic(n_queries=500, docs_per_query=CANDIDATES, n_features=FEATURES, seed=0)}
    folder = os.environ.get("RANKLOOP_DATA")
    if folder:
        folds = sorted((Path(folder) / "webis_clueweb09_letor").glob("Fold*_test.txt"))
        found["webis"] = read_svmlight(folds)
    return found


def offline(train: RankingDataset, test: RankingDataset, seed: int) -> float:
    """NDCG@10 of the offline linear ranker, its loss chosen without the test set."""
    fit, valid = train.split(0.8, seed=seed)
    losses = ("ranknet", "lambdarank")
    scored = [
        evaluate(LinearRanker(loss=x).fit(fit, valid), valid, ["ndcg@10"]).mean["ndcg@10"] for x in losses
    ]
    best = LinearRanker(loss=losses[int(np.argmax(scored))]).fit(fit, valid)
    return evaluate(best, test, ["ndcg@10"]).mean["ndcg@10"]


def one_run(name: str, user: str, learner: str, marks: tuple[int, ...], seed: int) -> list[float]:
    train, test = sets()[name].split(0.7, seed=seed)
    made = LEARNERS[learner](train, seed)
    curve = learning_curve(made, train, test, user=user, pages=marks[-1], k=K, checkpoints=marks, seed=seed)
    return [*curve.offline, curve.online]


def pages_per_second(pages: int = 20_000) -> dict[str, float]:
    data = sets()["synthetic"]
    random = np.random.default_rng(0)
    speeds = {}
    for name, make in LEARNERS.items():
        learner = make(data, 0)
        seconds = []
        for _ in range(3):
            clicked = random.random((pages // 4, K)) < 0.3
            start = time.process_time()
            for page in range(pages // 4):
                q = page % data.n_queries
                shown = learner.rank(data.X[data.offsets[q] : data.offsets[q + 1]], K)
                learner.learn(shown, clicked[page, : len(shown)])
            seconds.append(time.process_time() - start)
        speeds[name] = pages // 4 / float(np.median(seconds))
    return speeds


def interval(values: list[float], digits: int = 4) -> str:
    mean, error = np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{mean:.{digits}f} ± {float(stdtrit(len(values) - 1, 0.975)) * error:.{digits}f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    runs, pages = (3, 1_000) if quick else (5, 10_000)
    marks = (pages // 10, pages)
    print(f"pages per CPU second, {CANDIDATES} candidates × {FEATURES} features, top {K} (target: 20,000)")
    for name, speed in pages_per_second().items():
        record("speed", learner=name, pages_a_second=speed)
        print(f"  {name:6} {speed:10,.0f}")
    with ProcessPoolExecutor(2) as pool:
        for name, data in sets().items():
            skyline = list(
                pool.map(offline, *zip(*[(*data.split(0.7, seed=s), s) for s in range(runs)], strict=True))
            )
            print(f"\n{name}: NDCG@10 on held-out queries, mean of {runs} runs ± 95 % interval")
            long = list(
                pool.map(
                    one_run,
                    *zip(*[(name, "perfect", "pdgd", (10 * pages,), s) for s in range(runs)], strict=True),
                )
            )
            reached = interval([run[0] for run in long])
            record("offline", set=name, runs=runs, offline=interval(skyline), pages=10 * pages, pdgd=reached)
            print(f"  offline linear ranker {interval(skyline)}")
            print(f"  PDGD, perfect users, {10 * pages:,} pages {reached}")
            print(
                "  user           learner  "
                + "".join(f"{f'{m:,} pages':>22}" for m in marks)
                + "   online, discounted"
            )
            for user in USERS:
                for learner in LEARNERS:
                    calls = [(name, user, learner, marks, seed) for seed in range(runs)]
                    found = list(pool.map(one_run, *zip(*calls, strict=True)))
                    cells = [f"{interval([run[i] for run in found]):>22}" for i in range(len(marks))]
                    online = interval([run[-1] for run in found], digits=1)
                    reached = dict(
                        zip((f"after_{mark}" for mark in marks), map(str.strip, cells), strict=True)
                    )
                    record(
                        "learners", set=name, users=user, learner=learner, runs=runs, **reached, online=online
                    )
                    print(f"  {user:14} {learner:8} {''.join(cells)}   {online}", flush=True)


if __name__ == "__main__":
    benchmark(main)
