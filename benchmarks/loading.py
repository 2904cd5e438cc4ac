"""Reading a ranking file of 200,000 rows × 136 features: peers and us in one run, in CPU time.

    python benchmarks/loading.py [--rows N] [--repeats N]

Peers come with the extra `trees`. Each repeat runs every reader once in its own process, so that none uses
memory that another has warmed; compilation and imports are not counted. LightGBM does not take `qid:` in its
text: it reads the same rows without, and a `.query` file.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from results import benchmark, record

ROWS, FEATURES, REPEATS, SEED = 200_000, 136, 5, 0
WANTED = {"lightgbm": 5.0, "xgboost": 3.0, "polars": 3.0, "scikit-learn": 25.0}

RANKLOOP = """
import numba  # or plain Python reads the small file, and the kernels of the large one are loaded in its time
from rankloop.data import read_svmlight
read_svmlight(small)
def work():
    return read_svmlight(path, threads={threads})
"""
SETUP = {
    "rankloop": RANKLOOP.format(threads=1),
    "rankloop, 2 threads": RANKLOOP.format(threads=2),
    "lightgbm": """
import lightgbm
def work():
    return lightgbm.Dataset(path + ".bare", params={"verbose": -1, "num_threads": 1}).construct()
""",
    "xgboost": """
import xgboost
def work():
    return xgboost.DMatrix(path + "?format=libsvm", nthread=1)
""",
    "polars": """
import polars
def work():
    frame = polars.scan_csv(path, has_header=False, separator=" ", quote_char=None, infer_schema=False)
    label, qid, *columns = frame.collect_schema().names()
    values = [polars.col(name).str.strip_prefix(f"{i}:") for i, name in enumerate(columns, 1)]
    numbers = [value.cast(polars.Float32) for value in (polars.col(label), *values)]
    return frame.select(*numbers, polars.col(qid).str.strip_prefix("qid:")).collect()
""",
    "scikit-learn": """
from sklearn.datasets import load_svmlight_file
def work():
    return load_svmlight_file(path, query_id=True, dtype="float32")
""",
}
MEASURE = """
import resource, sys, time
path, small, features = sys.argv[1], sys.argv[2], int(sys.argv[3])
{setup}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
cpu, wall = time.process_time(), time.perf_counter()
made = work()
print(time.process_time() - cpu, time.perf_counter() - wall,
      (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""
OPEN = """
import sys, time
from rankloop.data import load_dataset
start = time.perf_counter()
load_dataset(sys.argv[1])
print(time.perf_counter() - start)
"""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}


def write_file(path: Path, rows: int) -> None:
    """Like MSLR-WEB30K: a third counts, a third shares with six places, a third six significant digits."""
    rng = np.random.default_rng(SEED)
    forms = [(f"{i}:%d", f"{i}:%.6f", f"{i}:%.6g")[i % 3] for i in range(1, FEATURES + 1)]
    line = "%d qid:%d " + " ".join(forms) + "\n"
    bare = line.replace("qid:%d ", "")
    with open(path, "w", encoding="ascii") as file, open(f"{path}.bare", "w", encoding="ascii") as second:
        for row in range(rows):
            values = rng.random(FEATURES)
            values[2::3] = np.floor(-20 * np.log(values[2::3]))
            values[1::3] *= 100
            grade = int(np.searchsorted([0.52, 0.84, 0.97, 0.99], rng.random()))
            file.write(line % (grade, row // 120 + 1, *values.tolist()))
            second.write(bare % (grade, *values.tolist()))
    sizes = np.bincount(np.arange(rows) // 120)
    Path(f"{path}.bare.query").write_text("\n".join(map(str, sizes)), encoding="ascii")


def child(code: str, *arguments: object) -> list[float]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"a reader failed:\n{done.stderr[-2000:]}")
    return [float(value) for value in done.stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path, small, saved = (Path(name) / part for part in ("set.txt", "small.txt", "saved"))
        write_file(path, chosen.rows)
        write_file(small, 200)
        measured: dict[str, list[list[float]]] = {reader: [] for reader in SETUP}
        for _ in range(chosen.repeats):
            for reader, setup in SETUP.items():
                measured[reader].append(child(MEASURE.format(setup=setup), path, small, FEATURES))
        child("import sys; from rankloop.data import convert; convert(*sys.argv[1:])", path, saved)
        opened = statistics.median(child(OPEN, saved)[0] for _ in range(chosen.repeats))
        size = path.stat().st_size / 1e6
    array = chosen.rows * FEATURES * 4
    middle = {
        reader: [statistics.median(column) for column in zip(*runs, strict=True)]
        for reader, runs in measured.items()
    }
    ours = middle["rankloop"][0]
    print(f"{chosen.rows:,} rows × {FEATURES} features, {size:.0f} MB of text, array {array / 1e6:.0f} MB,")
    print(f"medians of {chosen.repeats} runs, each in its own process\n")
    print(
        "| reader | CPU s | wall s | MB per CPU-s | CPU time, rankloop = 1 | wanted | peak memory / array |"
    )
    print("|---|---|---|---|---|---|---|")
    for reader, (cpu, wall, memory) in middle.items():
        wanted = f"≥ {WANTED[reader]:g}" if reader in WANTED else "memory ≤ 1.6"
        speed = f"{size / cpu:.0f} | {cpu / ours:.1f}"
        record(
            "read",
            reader=reader,
            cpu=cpu,
            wall=wall,
            mb_a_second=size / cpu,
            times=cpu / ours,
            memory=memory / array,
        )
        print(f"| {reader} | {cpu:.3f} | {wall:.3f} | {speed} | {wanted} | {memory / array:.2f} |")
    record("open", ms=1000 * opened)
    print(f"\nopening the saved set: {1000 * opened:.1f} ms (wanted: under 20 ms)")


if __name__ == "__main__":
    benchmark(main)
