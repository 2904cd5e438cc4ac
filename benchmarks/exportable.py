"""What it costs that a search engine can hold what `learn` found: `exportable=True` in development worlds.

python benchmarks/exportable.py [--worlds 12]

The cheapest development worlds of `worlds.py`, with PyTorch installed: naive trees, `learn` as it is (with
networks and linear members), the same with `exportable`, and what could be exported before, the quick budget
with constant leaves only; NDCG@10 on true labels. The mean difference has its 95 % interval over worlds, that
of a world over queries. The forest and its settings were chosen on d06, d12 and d14.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np

from rankloop import unbiased
from rankloop.metrics import ndcg
from rankloop.unbiased.estimation.for_engines import for_engines
from results import benchmark, record
from unbiased import TREES, lightgbm_ranker
from worlds import SETS, about, cost, drawn, mean_of

RANKERS = unbiased.candidates(trees=TREES, threads=1)
BEFORE: dict[str, Any] = {"rankers": {"plain leaves": RANKERS["plain leaves"]}, "budget": "quick"}


def measured(number: int) -> dict[str, Any]:
    train, test, log, _ = drawn(number)
    hidden = train.replace(y=np.zeros(train.n_documents))
    values = {"naive": value(test, lightgbm_ranker(log, hidden, position=False)(test))}
    started = time.process_time()
    found = unbiased.learn(log, hidden, rankers=RANKERS).ranker
    learned = time.process_time()
    forest, _ = for_engines(found, hidden, RANKERS["linear leaves"], 0)  # as learn(exportable=True) does
    cpu = {"learn": learned - started, "exportable": time.process_time() - learned}
    values |= {"learn": value(test, found.predict(test)), "exportable": value(test, forest.predict(test))}
    values["quick"] = value(test, unbiased.learn(log, hidden, **BEFORE).ranker.predict(test))
    gap = values["exportable"] - values["learn"]
    error = 1.96 * float(gap.std(ddof=1)) / np.sqrt(len(gap))
    mean = {name: float(one.mean()) for name, one in values.items()}
    took = ", ".join(f"{one:.1f}" for one in cpu.values())
    return {
        **mean,
        "gap": (float(gap.mean()), float(gap.mean()) - error, float(gap.mean()) + error),
        "cpu": took,
    }


def value(test: Any, scores: Any) -> Any:
    found = ndcg(np.asarray(scores, np.float64), test.y, test.offsets, k=10)
    return found[np.isfinite(found)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--worlds", type=int, default=12, help="how many, the cheapest first")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for number in sorted(SETS["development"], key=cost)[: arguments.worlds]:
        row = measured(number)
        record("worlds", world=about(number), **row)
        rows.append(row)
        print(
            about(number),
            {name: np.round(one, 4).tolist() for name, one in row.items() if name != "cpu"},
            row["cpu"],
            flush=True,
        )
    gaps = {
        name: mean_of(np.array([row[name] - row[other] for row in rows]))
        for name, other in (("exportable", "learn"), ("quick", "learn"), ("learn", "naive"))
    }
    record("mean", worlds=len(rows), below=gaps["exportable"], quick=gaps["quick"], above_naive=gaps["learn"])
    print(gaps)


if __name__ == "__main__":
    benchmark(main)
