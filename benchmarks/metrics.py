"""Evaluating 10,000 lists of about 120 documents: peers and us in one run, in CPU time of one thread.

    python benchmarks/metrics.py [--lists N] [--repeats N] [--quick]

Peers come with the extras `trees` and `bench`. Repeats are interleaved and medians are shown; imports and
compilation are not counted. LightGBM and we run in rounds of their own and in those of all: there, data come
from memory, not from the processor's cache. LightGBM evaluates NDCG@10 of scores it already holds (a booster
without trees whose training set has them as init_score), so that nothing but its metric runs. pytrec_eval and
ranx get their own objects ready made; both compute three metrics, ours is all four. scikit-learn is called
list by list, on a part of them, and scaled up. Scores are rounded to three digits, so that most lists have
ties.
"""

import argparse
import os

os.environ.update({"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"})

import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.data import judged, read_qrels, read_run
from rankloop.metrics import values
from results import benchmark, record

LISTS, SHORTEST, LONGEST, REPEATS, SEED = 10_000, 60, 180, 9, 0
FOUR = ["ndcg@10", "map", "mrr", "err"]
GRADES = [0.52, 0.32, 0.13, 0.02, 0.01]
PART = 50  # scikit-learn sees one list in so many
FILE_PART = 10  # and the files hold one list in so many
SCALE = [1_000, 10_000, 100_000, 1_000_000]
SCALE_LENGTH = 20
AIM = 8  # of LightGBM's time over ours for NDCG@10 alone
WANTED = {
    "lightgbm, ndcg@10": 1.0,
    "pytrec_eval, three": 15.0,
    "ranx, three": 20.0,
    "scikit-learn, ndcg@10": 100.0,
    "pytrec_eval, from files": 2.0,
}


def some_lists(lists: int, shortest: int, longest: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(SEED)
    offsets = np.concatenate(([0], np.cumsum(rng.integers(shortest, longest + 1, lists))))
    labels = rng.choice(5, offsets[-1], p=GRADES).astype(np.float32)
    return (0.3 * labels + rng.normal(size=offsets[-1])).round(3), labels, offsets


def lightgbm_work(scores: Any, labels: Any, offsets: Any) -> Callable[[], Any]:
    import lightgbm

    data = lightgbm.Dataset(
        np.random.default_rng(SEED).normal(size=(len(labels), 1)),
        labels,
        group=np.diff(offsets),
        init_score=scores,
        params={"verbose": -1},
    )
    settings = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "verbose": -1, "num_threads": 1}
    booster = lightgbm.Booster(settings, data)
    return lambda: booster.eval_train()[0][2]


def as_dicts(scores: Any, labels: Any, offsets: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    run, qrels = {}, {}
    for query, (a, b) in enumerate(pairwise(offsets.tolist())):
        names = [f"d{i}" for i in range(b - a)]
        run[f"q{query}"] = dict(zip(names, scores[a:b].tolist(), strict=True))
        qrels[f"q{query}"] = dict(zip(names, labels[a:b].astype(int).tolist(), strict=True))
    return run, qrels


def pytrec_work(run: Any, qrels: Any) -> Callable[[], Any]:
    import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10", "map", "recip_rank"})
    return lambda: evaluator.evaluate(run)


def ranx_work(run: Any, qrels: Any) -> Callable[[], Any]:
    import ranx

    ready_qrels, ready_run = ranx.Qrels(qrels), ranx.Run(run)
    return lambda: ranx.evaluate(ready_qrels, ready_run, ["ndcg@10", "map", "mrr"], threads=1)


def sklearn_work(scores: Any, labels: Any, offsets: Any) -> Callable[[], Any]:
    from sklearn.metrics import ndcg_score

    some = list(pairwise(offsets.tolist()))[::PART]
    return lambda: [ndcg_score(labels[None, a:b], scores[None, a:b], k=10) for a, b in some]


def file_work(run: Any, qrels: Any, folder: Path) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Ours and that of pytrec_eval, from the same TREC files to the values of every query."""
    import pytrec_eval

    run_file, qrels_file = folder / "run.txt", folder / "qrels.txt"
    some = list(run)[::FILE_PART]
    with run_file.open("w") as out:
        for query in some:
            ranked = sorted(run[query].items(), key=lambda one: -one[1])
            out.writelines(f"{query} Q0 {d} {r} {s} it\n" for r, (d, s) in enumerate(ranked, 1))
    with qrels_file.open("w") as out:
        for query in some:
            out.writelines(f"{query} 0 {d} {label}\n" for d, label in qrels[query].items())

    def ours() -> Any:
        both = judged(read_run(run_file), read_qrels(qrels_file))
        pool = {"pool_labels": both.pool_labels, "pool_offsets": both.pool_offsets}
        return values(FOUR, both.scores, both.labels, both.offsets, **pool)

    def theirs() -> Any:
        with run_file.open() as lines:
            ranking = pytrec_eval.parse_run(lines)
        with qrels_file.open() as lines:
            judgments = pytrec_eval.parse_qrel(lines)
        return pytrec_work(ranking, judgments)()

    return ours, theirs


def cpu(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def medians(work: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    for one in work.values():
        one()
    taken = [{name: cpu(one) for name, one in work.items()} for _ in range(repeats)]
    return {name: statistics.median(round_[name] for round_ in taken) for name in work}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--lists", type=int, default=LISTS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--quick", action="store_true", help="only LightGBM and us")
    given = parser.parse_args()
    data = some_lists(given.lists, SHORTEST, LONGEST)
    together: dict[str, Callable[[], Any]] = {  # in every round: a ratio is of one state of caches
        "rankloop, ndcg@10": lambda: values(["ndcg@10"], *data),
        "rankloop, all four": lambda: values(FOUR, *data),
        "lightgbm, ndcg@10": lightgbm_work(*data),
    }
    took = medians(together, given.repeats)
    alone = took["lightgbm, ndcg@10"] / took["rankloop, ndcg@10"]
    if not given.quick:
        run, qrels = as_dicts(*data)
        slow = {
            "pytrec_eval, three": pytrec_work(run, qrels),
            "ranx, three": ranx_work(run, qrels),
            "scikit-learn, ndcg@10": sklearn_work(*data),
        }
        with tempfile.TemporaryDirectory() as folder:
            mine, theirs = file_work(run, qrels, Path(folder))
            slow |= {"rankloop, from files": mine, "pytrec_eval, from files": theirs}
            took |= medians({**together, **slow}, 5)
        took["scikit-learn, ndcg@10"] *= PART
    print(f"{given.lists:,} lists, {len(data[0]):,} documents; CPU time of one thread")
    for name, seconds in took.items():
        base = took["rankloop, from files" if name.endswith("files") else "rankloop, all four"]
        wanted = f"wanted {WANTED[name]:g}" if name in WANTED else ""
        record("lists", what=name, ms=seconds * 1e3, times=seconds / base, wanted=WANTED.get(name))
        print(f"{name:26} {seconds * 1e3:10.1f} ms {seconds / base:9.2f} × ours  {wanted}")
    among = took["lightgbm, ndcg@10"] / took["rankloop, ndcg@10"]
    record("against lightgbm", alone=alone, among=among, wanted=AIM)
    print(f"LightGBM over our ndcg@10: {alone:.1f}, among the others {among:.1f}, wanted {AIM}")
    print(f"\nlists of {SCALE_LENGTH} documents, all four metrics")
    for lists in SCALE if not given.quick else SCALE[:3]:
        many = some_lists(lists, SCALE_LENGTH, SCALE_LENGTH)
        seconds = min(cpu(lambda many=many: values(FOUR, *many)) for _ in range(3))
        record("scale", lists=lists, ms=seconds * 1e3, ns_a_document=seconds / len(many[0]) * 1e9)
        print(
            f"{lists:10,} lists {seconds * 1e3:10.1f} ms {seconds / len(many[0]) * 1e9:8.1f} ns per document"
        )


if __name__ == "__main__":
    benchmark(main)
