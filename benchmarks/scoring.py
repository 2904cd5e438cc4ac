"""Scoring documents with a forest of LightGBM: LightGBM, onnxruntime and us in one run, on one thread.

    python benchmarks/scoring.py [--repeats N] [--models FOLDER] [--wall]

The peers are in the extra `trees`. Repeats are interleaved and medians are shown, in CPU time (or wall
time). Every call gets new rows, as in a service: with repeated rows the branch predictor would learn the
paths through the trees. Scores are compared first: ours must equal LightGBM's to the last bit, those of
onnxruntime to single precision. Growing the forests takes minutes; --models keeps their texts.
"""

import argparse
import os

os.environ.update({"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"})

import ctypes
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import onnxruntime

from rankloop.rankers import compile_forest, to_onnx
from results import benchmark, record

FORESTS = [(500, 255), (1_000, 64)]
FEATURES, ROWS, TRAIN, SEED, REPEATS = 136, 20_000, 20_000, 0, 9
BATCHES = [1, 10, 100, 1_000, 10_000]
LEAST = 400  # documents per measurement, at least
WANTED = {"lightgbm": 4.0, "onnxruntime": 1.8}
AIM = {"lightgbm": 10.0, "onnxruntime": 4.0}

Score = Callable[[Any], Any]


def some_rows(rows: int) -> Any:
    """A third of the features long-tailed, a third counts, a third normal."""
    X = np.random.default_rng(SEED).normal(size=(rows, FEATURES)).astype(np.float32)
    X[:, ::3] = np.exp(X[:, ::3])
    X[:, 1::3] = np.round(3 * X[:, 1::3])
    return X


def forest_text(trees: int, leaves: int, folder: Path | None) -> str:
    kept = None if folder is None else folder / f"{trees}x{leaves}.txt"
    if kept is not None and kept.exists():
        return kept.read_text()
    rng = np.random.default_rng(SEED + 1)
    X = some_rows(TRAIN)
    utility = np.tanh(X) @ rng.normal(size=FEATURES) + X[:, 0] * X[:, 4] + 3 * rng.normal(size=TRAIN)
    y = np.digitize(utility, np.quantile(utility, [0.52, 0.84, 0.97, 0.99]))
    settings = {
        "objective": "lambdarank",
        "num_leaves": leaves,
        "learning_rate": 0.05,
        "min_data_in_leaf": 10,
        "num_threads": 1,
        "verbose": -1,
    }
    text: str = lightgbm.train(
        settings, lightgbm.Dataset(X, y, group=[100] * (TRAIN // 100)), trees
    ).model_to_string()
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(text)
    return text


def fast_single_row(booster: Any) -> Score:
    """LightGBM's own interface for one row at a time, through ctypes with everything prepared."""
    library, handle = lightgbm.basic._LIB, ctypes.c_void_p()
    setup = ctypes.c_char_p(b"num_threads=1")
    single, raw = 0, 1  # C_API_DTYPE_FLOAT32, C_API_PREDICT_RAW_SCORE
    failed = library.LGBM_BoosterPredictForMatSingleRowFastInit(
        booster._handle, raw, 0, -1, single, FEATURES, setup, ctypes.byref(handle)
    )
    if failed:
        raise RuntimeError("LightGBM refused LGBM_BoosterPredictForMatSingleRowFastInit")
    out, length = np.zeros(1), ctypes.c_int64()
    target = out.ctypes.data_as(ctypes.POINTER(ctypes.c_double))

    def score(X: Any) -> Any:
        library.LGBM_BoosterPredictForMatSingleRowFast(
            handle, X.ctypes.data_as(ctypes.c_void_p), ctypes.byref(length), target
        )
        return out.copy()

    return score


def onnx_score(text: str) -> Score:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(to_onnx(text), options)
    return lambda X: session.run(None, {"X": X})[0]


def medians(scorers: dict[str, Score], X: Any, batch: int, repeats: int, clock: Any) -> dict[str, float]:
    """Seconds per document."""
    calls = max(1, LEAST // batch)
    taken: dict[str, list[float]] = {name: [] for name in scorers}
    for repeat in range(repeats):
        firsts = [(repeat * calls + i) * batch % (len(X) - batch + 1) for i in range(calls)]
        for name, score in scorers.items():
            start = clock()
            for first in firsts:
                score(X[first : first + batch])
            taken[name].append((clock() - start) / (calls * batch))
    return {name: statistics.median(times) for name, times in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--models", type=Path, help="keep the texts of the forests here")
    parser.add_argument("--wall", action="store_true", help="wall time instead of CPU time")
    given = parser.parse_args()
    clock = time.perf_counter if given.wall else time.process_time
    X = some_rows(ROWS)
    for trees, leaves in FORESTS:
        text = forest_text(trees, leaves, given.models)
        booster = lightgbm.Booster(model_str=text)
        start = clock()
        forest = compile_forest(text)
        packing = clock() - start
        scorers: dict[str, Score] = {
            "rankloop": lambda rows, forest=forest: forest.score(rows, threads=1),
            "lightgbm": lambda rows, booster=booster: booster.predict(rows, num_threads=1),
            "onnxruntime": onnx_score(text),
        }
        wanted = booster.predict(X[:2_000], num_threads=1)
        for batch in BATCHES:  # also loads the kernels
            if not np.array_equal(forest.score(X[: min(batch, 2_000)]), wanted[: min(batch, 2_000)]):
                raise SystemExit("our scores differ from LightGBM's")
        apart = float(np.abs(scorers["onnxruntime"](X[:2_000]) - wanted).max())
        print(f"\n{trees} trees of {leaves} leaves, {FEATURES} features; packed in {packing:.2f} s")
        print(f"ours = LightGBM's to the last bit; onnxruntime within {apart:.1e}")
        print(f"{'rows':>6} {'rankloop':>12} {'lightgbm':>18} {'onnxruntime':>18}   µs per document (× ours)")
        for batch in BATCHES:
            took = medians(scorers, X, batch, given.repeats, clock)
            ours = took["rankloop"]
            cells = "".join(f"{took[n] * 1e6:9.2f} ({took[n] / ours:5.1f} ×)" for n in WANTED)
            record(
                "scoring",
                trees=trees,
                leaves=leaves,
                rows=batch,
                **{name: 1e6 * one for name, one in took.items()},
            )
            print(f"{batch:6,} {ours * 1e6:12.2f} {cells}", flush=True)
        took = medians(
            {"rankloop": scorers["rankloop"], "fast": fast_single_row(booster)}, X, 1, given.repeats, clock
        )
        ours, fast = took["rankloop"] * 1e6, took["fast"] * 1e6
        record("one row", trees=trees, leaves=leaves, rankloop=ours, lightgbm_fast=fast)
        print(f"one row: LightGBM's C interface for single rows {fast:.2f} µs ({fast / ours:.1f} ×)")
    print(f"\nwanted {WANTED} (onnxruntime from 10 rows up), aim {AIM}")


if __name__ == "__main__":
    benchmark(main)
