"""How long the first answer takes on a new machine, and the next one.

Each figure is one fresh process; "first" has an empty numba cache. Python's bytecode is kept, as after an
installation. The bars are for CPU time, which tells a slow program from a busy machine. Small files (10,000
documents) and large ones (100,000) are evaluated without machine code, huge ones (400,000) with it:

    python benchmarks/cold_start.py
"""

import compileall
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import rankloop
from results import benchmark, record

QUERIES, DOCUMENTS, FEATURES = 100, 100, 46
LARGE, HUGE = 1000, 4000  # queries
REPEATS = 5  # the best of so many, for everything but a first time
BARS = {"import": 0.5, "first": 2.5, "next": 0.5}

RANKLOOP = "import sys; from rankloop.cli import main; sys.argv[0] = 'rankloop'; main()"
RANX = """
import sys
from ranx import Qrels, Run, evaluate
run, qrels = Run.from_file(sys.argv[1], kind="trec"), Qrels.from_file(sys.argv[2], kind="trec")
print(evaluate(qrels, run, ["ndcg@10", "map", "mrr"], make_comparable=True))
"""
PYTREC = """
import sys, pytrec_eval
with open(sys.argv[2]) as q, open(sys.argv[1]) as r:
    qrels, run = pytrec_eval.parse_qrel(q), pytrec_eval.parse_run(r)
found = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map", "recip_rank"}).evaluate(run)
print(sum(query["map"] for query in found.values()) / len(found))
"""


def main():
    compileall.compile_dir(rankloop.__path__[0], quiet=2)
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(Path(folder))
        trec, letor = [files["run"], files["qrels"]], [files["scores"], files["letor"]]
        rows = [
            ("import rankloop", best("import rankloop"), BARS["import"]),
            ("rankloop --help", best(RANKLOOP, "--help"), BARS["import"]),
        ]
        large, huge = ([files[f"{size} run"], files[f"{size} qrels"]] for size in ("large", "huge"))
        for what, arguments, bars in (
            ("TREC run", trec, BARS),
            ("LETOR file", letor, BARS),
            ("large TREC run", large, BARS),
            ("huge TREC run", huge, {}),
        ):
            first, later = first_and_next(Path(folder) / what, RANKLOOP, "evaluate", *arguments)
            rows += [(f"rankloop evaluate, {what}, first", first, bars.get("first"))]
            rows += [(f"rankloop evaluate, {what}, next", later, bars.get("next"))]
        for peer, module, code in (("ranx", "ranx", RANX), ("pytrec_eval", "pytrec_eval", PYTREC)):
            if find_spec(module) is None:
                print(f"{peer} is not installed: left out (pip install 'rankloop[bench]')")
                continue
            first, later = first_and_next(Path(folder) / peer, code, *trec)
            rows += [(f"{peer}, TREC run, first", first, None), (f"{peer}, TREC run, next", later, None)]
    show(rows)


def write_files(folder):
    """A run with judgments, and a LETOR file with scores, both of the usual size."""
    rng = np.random.default_rng(0)
    names = ("run", "qrels", "letor", "scores", "large run", "large qrels", "huge run", "huge qrels")
    files = {name: str(folder / f"{name}.txt") for name in names}
    labels = rng.choice(5, (QUERIES, DOCUMENTS), p=[0.52, 0.32, 0.13, 0.02, 0.01])
    scores = labels + rng.normal(0, 2, labels.shape)
    features = rng.random((QUERIES, DOCUMENTS, FEATURES)).round(6)
    for size, queries in (("", QUERIES), ("large ", LARGE), ("huge ", HUGE)):
        with open(files[f"{size}run"], "w") as run, open(files[f"{size}qrels"], "w") as qrels:
            for q in range(queries):
                own, grades = scores[q % QUERIES], labels[q % QUERIES]
                run.writelines(f"{q} Q0 doc{d} 0 {own[d]:.6f} base\n" for d in np.argsort(-own))
                qrels.writelines(f"{q} 0 doc{d} {grades[d]}\n" for d in range(DOCUMENTS))
    with open(files["letor"], "w") as letor:
        for q in range(QUERIES):
            for d in range(DOCUMENTS):
                row = " ".join(f"{i + 1}:{value}" for i, value in enumerate(features[q, d]))
                letor.write(f"{labels[q, d]} qid:{q} {row}\n")
    np.savetxt(files["scores"], scores.ravel(), fmt="%.6f")
    return files


def first_and_next(cache, code, *arguments):
    cache.mkdir()
    return took(code, *arguments, cache=cache), best(code, *arguments, cache=cache)


def best(code, *arguments, cache=None):
    return min(took(code, *arguments, cache=cache) for _ in range(REPEATS))


def took(code, *arguments, cache=None):
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": str(cache)} if cache else {})}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, cpu


def show(rows):
    print(f"{'':36} {'wall s':>8} {'CPU s':>8} {'bar':>6}")
    for what, (wall, cpu), bar in rows:
        verdict = "" if bar is None else f"{bar:6.1f} {'held' if cpu <= bar else 'MISSED'}"
        record("start", what=what, wall=wall, cpu=cpu, bar=bar)
        print(f"{what:36} {wall:8.2f} {cpu:8.2f} {verdict}")


if __name__ == "__main__":
    benchmark(main)
