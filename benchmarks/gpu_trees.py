"""Trees beside networks on the machine with a GPU.

    python benchmarks/gpu_trees.py [--only speed|quality|lightgbm]

Speed: XGBoost's GPU ranker on the set of `benchmarks/gpu.py` (3.77 million documents × 136 features), our
losses on XGBoost's trees there (`LambdaMART(backend="xgboost", device="cuda")`; the settings were chosen on
sets of other seeds), and the network's hundred epochs for comparison. Quality: a synthetic set in MSLR's
manner, whose grades come from products, signs and thresholds of features, also across features of query and
document; a network trained on the GPU, LightGBM's and XGBoost's trees under our LambdaGap, XGBoost's own GPU
ranker, and sums of network and trees, over three seeds of data and models. Settings are the same for every
seed, not tuned on the test lists. `--only lightgbm`: the quality that LightGBM's own `lambdarank` reaches on
the first set, which it trains on a CPU of any machine.
"""

import argparse
import time
from importlib.util import find_spec

import numpy as np

from gpu import GRADES, LENGTH, LISTS, VALID_LISTS, of_mslr_shape, our_epochs
from rankloop.data import RankingDataset
from rankloop.metrics import evaluate
from rankloop.rankers import Ensemble, LambdaMART, NeuralRanker
from results import benchmark, record

TREES, LEAVES, RATE, PATIENCE = 400, 64, 0.1, 40
SEEDS, TRAIN, VALID, TEST = (0, 1, 2), 3_000, 1_000, 2_000
DOCUMENT, QUERY = 116, 20  # features of a document, and of the query alone
WIDE = {"loss": "lambdarank(truncation=100, norm_gap=true)", "feature_fraction": 0.5}
OURS = {
    "leaf by leaf, 255 leaves": {"trees": 100, "leaves": 255},
    "level by level, 128 leaves": {
        "trees": 250, "leaves": 128, **WIDE, "params": {"grow_policy": "depthwise", "max_depth": 7},
    },
}  # fmt: skip
NETWORK = {
    "hidden": (1024, 512, 256), "loss": "lambdarank", "epochs": 60, "learning_rate": 1e-3, "dropout": 0.2,
    "schedule": "cosine", "batch_lists": 32, "precision": "bf16", "device": "cuda", "patience": 15,
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=("speed", "quality", "lightgbm"))
    chosen = parser.parse_args()
    if chosen.only == "lightgbm":
        lightgbm_alone()
        return
    if chosen.only != "quality":
        speed()
    if chosen.only != "speed":
        quality()


def speed():
    train, valid = of_mslr_shape(LISTS, 0), of_mslr_shape(VALID_LISTS, 1)
    print(f"| {train.n_documents:,} documents | s | NDCG@10 |\n|---|---:|---:|", flush=True)
    if find_spec("xgboost") is None:
        print("| XGBoost is not installed | | |")
    else:
        start = time.perf_counter()
        scores, rounds = boosted(train, valid, valid, 0)
        taken = time.perf_counter() - start
        record("speed", who="XGBoost, rank:ndcg", trees=rounds, seconds=taken, ndcg=reached(scores, valid))
        print(f"| XGBoost, GPU, rank:ndcg, {rounds} trees of {LEAVES} leaves, with data transfer | "
              f"{taken:.1f} | {reached(scores, valid):.4f} |", flush=True)  # fmt: skip
        ours_of(2, 15).fit(valid)  # compiles the kernels, as XGBoost's are
        for name, settings in OURS.items():
            start = time.perf_counter()
            ranker = ours_of(**settings).fit(train, valid)
            taken = time.perf_counter() - start
            record("speed", who=name, trees=ranker.n_trees_, seconds=taken, ndcg=reached(ranker, valid))
            print(f"| us, XGBoost's trees on the GPU, {name}, {ranker.n_trees_} trees, with data transfer | "
                  f"{taken:.1f} | {reached(ranker, valid):.4f} |", flush=True)  # fmt: skip
    start = time.perf_counter()
    _, state = our_epochs(train, valid, 100)
    taken = time.perf_counter() - start
    record("speed", who="the network, 100 epochs", trees=None, seconds=taken, ndcg=max(state.qualities))
    print(f"| us, 100 epochs, with data transfer | {taken:.1f} | {max(state.qualities):.4f} |\n", flush=True)


def lightgbm_alone():
    """LightGBM's own objective, which normalises lambdas and divides by gaps, with the leaves of ours."""
    import lightgbm

    train, valid = of_mslr_shape(LISTS, 0), of_mslr_shape(VALID_LISTS, 1)
    made = lightgbm.Dataset(train.X, train.y, group=train.lengths)
    judged = lightgbm.Dataset(valid.X, valid.y, group=valid.lengths, reference=made)
    options = {
        "objective": "lambdarank", "num_leaves": 255, "learning_rate": RATE, "metric": "ndcg",
        "eval_at": [10], "verbosity": -1,
    }  # fmt: skip
    start = time.process_time()
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    booster = lightgbm.train(options, made, TREES, valid_sets=[judged], callbacks=[stop])
    taken, scores = time.process_time() - start, booster.predict(valid.X)
    trees, ndcg = booster.best_iteration, reached(scores, valid)
    record("lightgbm", who="LightGBM, lambdarank, 255 leaves", trees=trees, cpu=taken, ndcg=ndcg)
    print(
        f"| LightGBM's lambdarank, {trees} trees of 255 leaves | {taken:.1f} (CPU) | {ndcg:.4f} |", flush=True
    )


def quality():
    print("| seed | ranker | NDCG@10 of the test lists | s |\n|---:|---|---:|---:|", flush=True)
    found: dict[str, list[float]] = {}
    for seed in SEEDS:
        data = with_interactions(TRAIN + VALID + TEST, seed)
        train = data.select(np.arange(TRAIN))
        valid = data.select(np.arange(TRAIN, TRAIN + VALID))
        test = data.select(np.arange(TRAIN + VALID, TRAIN + VALID + TEST))
        for name, score, taken in contenders(train, valid, test, seed):
            record("quality", who=name, seed=seed, ndcg=score, seconds=taken)
            print(f"| {seed} | {name} | {score:.4f} | {taken:.1f} |", flush=True)
            found.setdefault(name, []).append(score)
    for name, scores in found.items():
        print(f"| all | {name} | {np.mean(scores):.4f} ± {np.std(scores):.4f} | |", flush=True)


def contenders(train, valid, test, seed):
    """Name, NDCG@10 on the test lists, and seconds of training."""
    start = time.perf_counter()
    network = NeuralRanker(**NETWORK, seed=seed).fit(train, valid)
    yield "network, GPU", reached(network, test), time.perf_counter() - start
    for name, chosen in (("lightgbm", {}), ("xgboost", {"backend": "xgboost", "device": "cuda"})):
        if find_spec(name) is None:
            continue
        start = time.perf_counter()
        trees = LambdaMART(
            trees=TREES, leaves=LEAVES, learning_rate=RATE, patience=PATIENCE, seed=seed, **chosen
        ).fit(train, valid)
        where = "GPU" if chosen else "CPU"
        yield f"trees ({name}, {where}, our loss)", reached(trees, test), time.perf_counter() - start
        both = Ensemble([network, trees], prefit=True).fit(train)
        yield f"network + trees ({name}, {where})", reached(both, test), 0.0
    if find_spec("xgboost") is not None:
        start = time.perf_counter()
        scores, _ = boosted(train, valid, test, seed)
        yield "trees (XGBoost, GPU, rank:ndcg)", reached(scores, test), time.perf_counter() - start


def ours_of(trees, leaves, **settings):
    return LambdaMART(
        backend="xgboost", device="cuda", trees=trees, leaves=leaves, patience=PATIENCE, **settings
    )


def boosted(train, valid, test, seed):
    """The scores of XGBoost's own GPU ranker, stopped by its NDCG@10 on the validation lists."""
    import xgboost

    made = xgboost.QuantileDMatrix(train.X, label=train.y, group=train.lengths)
    judged = xgboost.QuantileDMatrix(valid.X, label=valid.y, group=valid.lengths, ref=made)
    options = {
        "objective": "rank:ndcg", "device": "cuda", "tree_method": "hist", "eval_metric": "ndcg@10",
        "grow_policy": "lossguide", "max_leaves": LEAVES, "max_depth": 0, "eta": RATE, "seed": seed,
    }  # fmt: skip
    booster = xgboost.train(
        options, made, TREES, evals=[(judged, "valid")], early_stopping_rounds=PATIENCE, verbose_eval=False
    )
    rounds = booster.best_iteration + 1
    scores = booster.predict(xgboost.DMatrix(test.X), iteration_range=(0, rounds))
    return scores.astype(np.float64), rounds


def reached(scores_or_ranker, data):
    return evaluate(scores_or_ranker, data, ["ndcg@10"]).mean["ndcg@10"]


def with_interactions(lists, seed):
    """Grades that depend on interactions more than on single features; some features are noise."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.gamma(3.0, LENGTH / 3.0, lists), 2, 1200).astype(np.int64)
    row = np.repeat(np.arange(lists), lengths)
    X = rng.standard_normal((len(row), DOCUMENT), dtype=np.float32)
    of_query = rng.standard_normal((lists, QUERY), dtype=np.float32)
    utility = np.zeros(len(row), np.float32)
    for _ in range(24):
        a, b, c = rng.choice(60, 3, replace=False)
        q = rng.integers(QUERY)
        utility += 0.5 * rng.normal() * X[:, a]
        utility += rng.normal() * X[:, a] * X[:, b]
        utility += rng.normal() * np.sign(X[:, b]) * (X[:, c] > rng.normal())
        utility += rng.normal() * X[:, c] * np.tanh(of_query[row, q])
    utility += rng.standard_normal(len(row), dtype=np.float32) * 0.5 * utility.std()
    X[:, :40] = np.expm1(1.5 * np.abs(X[:, :40])) * np.sign(X[:, :40])  # heavy-tailed, like counts
    edges = np.quantile(utility, np.cumsum(GRADES)[:-1])
    labels = np.searchsorted(edges, utility).astype(np.float32)
    return RankingDataset.from_groups(np.hstack((X, of_query[row])), labels, lengths)


if __name__ == "__main__":
    benchmark(main)
