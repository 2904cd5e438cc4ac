"""NDCG@10 of every loss in every ranker, beside LightGBM, XGBoost and CatBoost with their own objectives.

    nice python benchmarks/quality.py [--quick] [--sets NAME ...] [--kinds NAME ...] [--results FILE]
                                      [--processes N] [--details]

Test queries only: the five disjoint folds of webis-clueweb09 (trained on the other four), the test
part of lightgbm-example, a synthetic set drawn with another seed, and queries of the movies that
benchmarks/search_quality.py trains and chooses nothing on: their judged documents, described by all features
that rankloop.search has for the corpus, vectors aside. All settings below were fixed by
hand before any test query was used, without a validation set: the same number of trees, leaves and
learning rate for all forests, the same epochs for all networks. A limit on leaves that only one library
has stays at that library's default (LightGBM's: 20 documents); our trees grow in LightGBM under the same
limits. CatBoost grows symmetric trees of the depth next to the leaves. `--quick` trains on at most `listed`
documents of a webis list, drawn at random; tests see whole lists.

Losses have their default options; Triplet is also there with semi-hard negatives. Distill and RankDistil
take the grades as the scores of a teacher, and LambdaRank in trees is `LambdaGap`, the
default of LambdaMART.

Every cell is a line of the results file, written when it is done: run the same command again to resume
after an interruption. Each data set × kind of ranker is a process of its own with one thread.
"""

import argparse
import json
import os

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"})
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import importlib
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankloop import losses
from rankloop.data import RankingDataset, catalog, synthetic
from rankloop.losses import Loss
from rankloop.metrics import Comparison, Evaluation, evaluate
from results import benchmark, record

METRIC, BASELINE, SEED = "ndcg@10", "LightGBM lambdarank", 0
FOLDS, LIMIT = range(1, 6), 600  # seconds for one cell
LIBRARIES = ("lightgbm", "xgboost", "catboost", "torch")
TEXTS = ("title", "overview", "tags", "genres", "director", "actors", "characters")  # of a film
NUMBERS = ("year", "votes", "rating", "popularity", "budget")


@dataclass(frozen=True)
class Settings:
    trees: int = 300
    leaves: int = 31
    learning_rate: float = 0.05
    iterations: int = 500  # of the linear ranker's descent
    epochs: int = 60
    dropout: float = 0.3
    mlp: tuple[int, ...] = (128, 64)
    attention: tuple[int, ...] = (64,)
    blocks: int = 2
    listed: int | None = None  # documents of a webis list that are trained on
    synthetic: tuple[int, int, int] = (2_000, 60, 50)  # queries, documents a query, features
    movies: tuple[int, int] = (3_000, 2_000)  # queries to train on and to test on


FULL = Settings()
QUICK = Settings(
    trees=50, leaves=15, learning_rate=0.1, iterations=100, epochs=15, mlp=(64, 32), attention=(32,),
    blocks=1, listed=60, synthetic=(250, 20, 30), movies=(300, 300),
)  # fmt: skip


def linear(how: Settings, loss: Loss) -> Any:
    from rankloop.rankers import LinearRanker

    return LinearRanker(loss=loss, iterations=how.iterations)


def trees(how: Settings, loss: Loss) -> Any:
    from rankloop.rankers import LambdaMART

    return LambdaMART(
        loss=losses.LambdaGap() if loss == losses.LambdaRank() else loss, trees=how.trees, leaves=how.leaves,
        learning_rate=how.learning_rate, params={"min_data_in_leaf": 20}, threads=1, seed=SEED,
    )  # fmt: skip


def network(how: Settings, loss: Loss, scorer: str, **shape: Any) -> Any:
    from rankloop.rankers import NeuralRanker

    return NeuralRanker(
        scorer=scorer, loss=loss, dropout=how.dropout, epochs=how.epochs, device="cpu", threads=1, seed=SEED,
        **shape,
    )  # fmt: skip


KINDS: dict[str, Callable[[Settings, Loss], Any]] = {
    "linear": linear,
    "trees": trees,
    "mlp": lambda how, loss: network(how, loss, "mlp", hidden=how.mlp),
    "attention": lambda how, loss: network(how, loss, "attention", hidden=how.attention, blocks=how.blocks),
}


def lightgbm_scores(how: Settings, objective: str, train: RankingDataset, test: RankingDataset) -> Any:
    import lightgbm

    settings = {
        "objective": objective, "num_leaves": how.leaves, "learning_rate": how.learning_rate,
        "num_threads": 1, "seed": SEED, "verbosity": -1,
    }  # fmt: skip
    rows = lightgbm.Dataset(train.X, train.y, group=train.lengths)
    return lightgbm.train(settings, rows, how.trees).predict(test.X)


def xgboost_scores(how: Settings, objective: str, train: RankingDataset, test: RankingDataset) -> Any:
    import xgboost

    settings = {
        "objective": objective, "tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0,
        "max_leaves": how.leaves, "learning_rate": how.learning_rate, "nthread": 1, "seed": SEED,
    }  # fmt: skip
    rows = xgboost.DMatrix(train.X, train.y, group=train.lengths)
    return xgboost.train(settings, rows, how.trees).predict(xgboost.DMatrix(test.X))


def catboost_scores(how: Settings, objective: str, train: RankingDataset, test: RankingDataset) -> Any:
    import catboost

    model = catboost.CatBoost(
        {
            "loss_function": objective, "iterations": how.trees, "learning_rate": how.learning_rate,
            "depth": round(np.log2(how.leaves + 1)), "thread_count": 1, "random_seed": SEED,
            "allow_writing_files": False, "verbose": False,
        }
    )  # fmt: skip
    model.fit(catboost.Pool(train.X, train.y, group_id=train.row_query))
    return model.predict(test.X)


PEERS: dict[str, tuple[Callable[..., Any], str]] = {
    "LightGBM lambdarank": (lightgbm_scores, "lambdarank"),
    "LightGBM rank_xendcg": (lightgbm_scores, "rank_xendcg"),
    "XGBoost rank:ndcg": (xgboost_scores, "rank:ndcg"),
    "XGBoost rank:pairwise": (xgboost_scores, "rank:pairwise"),
    "CatBoost YetiRank": (catboost_scores, "YetiRank"),
    "CatBoost QueryRMSE": (catboost_scores, "QueryRMSE"),
    "CatBoost PairLogit": (catboost_scores, "PairLogit"),
}


def webis(how: Settings) -> Iterator[tuple[RankingDataset, RankingDataset]]:
    for fold in FOLDS:
        train, test = (catalog.load("webis-clueweb09", part=part, fold=fold) for part in ("train", "test"))
        yield (train if how.listed is None else shortened(train, how.listed)), test


def example(how: Settings) -> Iterator[tuple[RankingDataset, RankingDataset]]:
    train, test = (catalog.load("lightgbm-example", part=part) for part in ("train", "test"))
    yield train, test


def drawn(how: Settings) -> Iterator[tuple[RankingDataset, RankingDataset]]:
    train, test = (synthetic(*how.synthetic, seed=seed) for seed in (SEED, SEED + 1))
    yield train, test


def movies(
    how: Settings, first: int = 0, start: int | None = None
) -> Iterator[tuple[RankingDataset, RankingDataset]]:
    """Judged documents of the training and the test queries of benchmarks/search_quality.py.

    Training queries are those from `first` on, test queries those from `start` on.
    """
    from rankloop.search import Features, Index, Query
    from rankloop.search.judged_lists import judged_lists

    corpus = catalog.load("msrd-movies")
    documents = [
        {"id": id} | {name: film[name] for name in (*TEXTS, *NUMBERS) if film.get(name) is not None}
        for id, film in corpus.documents.items()
    ]
    names = np.random.default_rng(SEED).permutation(sorted(corpus.queries)).tolist()
    start = int(0.8 * len(names)) if start is None else start
    with tempfile.TemporaryDirectory() as place:
        fields = {**dict.fromkeys(TEXTS, "text"), **dict.fromkeys(NUMBERS, "number")}
        index = Index.create(Path(place) / "movies", fields)
        index.add(documents)
        index.commit()
        train, test = (
            judged_lists(
                index.retriever(),
                Features.standard(index),
                {qid: Query.of_words(corpus.queries[qid]) for qid in some},
                corpus.qrels,
                "judged",
            )
            for some in (names[first : first + how.movies[0]], names[start : start + how.movies[1]])
        )
    yield train, test


SETS = {"webis-clueweb09": webis, "lightgbm-example": example, "msrd-movies": movies, "synthetic": drawn}


def shortened(data: RankingDataset, most: int) -> RankingDataset:
    """At most `most` documents of each list, at random."""
    place = np.random.default_rng(SEED).random(data.n_documents)
    order = np.lexsort((place, data.row_query))
    rank = np.empty(data.n_documents, np.int64)
    rank[order] = np.arange(data.n_documents) - data.offsets[data.row_query[order]]
    kept = rank < most
    return RankingDataset(data.X[kept], data.y[kept], data.row_qid[kept])


def trainable() -> dict[str, Loss]:
    """Every loss that is exported, with its default options; and Triplet as it is used in networks.

    LambdaGap has no row of its own: it is the row of LambdaRank, in trees.
    """
    members = {name: getattr(losses, name) for name in losses.__all__}
    semihard = {"Triplet, semi-hard": losses.Triplet(negative="semihard")}
    return {
        name: member()
        for name, member in sorted(members.items(), key=lambda item: item[0].lower())
        if isinstance(member, type) and issubclass(member, Loss) and member not in (Loss, losses.LambdaGap)
    } | semihard


def cells(kind: str) -> list[str]:
    return list(PEERS) if kind == "peers" else list(trainable())


def scores(how: Settings, kind: str, cell: str, train: RankingDataset, test: RankingDataset) -> Any:
    if kind == "peers":
        score, objective = PEERS[cell]
        return score(how, objective, train, test)
    return KINDS[kind](how, trainable()[cell]).fit(train).predict(test)


def run_group(how: Settings, data: str, kind: str, results: Path) -> None:
    """All cells of one data set and one kind of ranker that are not in the results yet."""
    os.nice(5)
    signal.signal(signal.SIGALRM, out_of_time)
    warnings.filterwarnings("ignore")
    known = read(how, results)
    missing = [cell for cell in cells(kind) if (data, kind, cell) not in known]
    parts = list(SETS[data](how)) if missing else []
    for cell in missing:
        found: dict[str, Any] = {"set": data, "kind": kind, "cell": cell, "settings": written(how)}
        start = time.process_time()
        signal.alarm(LIMIT)
        try:
            values = [
                evaluate(scores(how, kind, cell, train, test), test, METRIC).values[METRIC]
                for train, test in parts
            ]
            found["values"] = [None if np.isnan(value) else float(value) for value in np.concatenate(values)]
        except refusals() as error:
            found["why"] = f"{type(error).__name__}: {' '.join(str(error).split())}"
        finally:
            signal.alarm(0)
        found["seconds"] = round(time.process_time() - start, 2)
        with results.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps(found))  # first a new line: the previous line may be incomplete
        reached = found.get("why") or f"{np.nanmean(np.array(found['values'], float)):.4f}"
        print(f"{data:22} {kind:10} {cell:22} {found['seconds']:7.1f} s  {reached}", flush=True)


def out_of_time(*_: Any) -> None:
    raise TimeoutError(f"took more than {LIMIT} s")


def refusals() -> tuple[type[Exception], ...]:
    """Errors of combinations that cannot run; the tables show them."""
    own = {"lightgbm": "LightGBMError", "catboost": "CatBoostError"}
    loaded = [getattr(importlib.import_module(f"{name}.basic" if name == "lightgbm" else name), error)
              for name, error in own.items() if name in sys.modules]  # fmt: skip
    return (ValueError, RuntimeError, ArithmeticError, ImportError, TimeoutError, *loaded)


def written(how: Settings) -> dict[str, Any]:
    """The settings after a round trip through JSON."""
    return dict(json.loads(json.dumps(asdict(how))))


def read(how: Settings, results: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The results for these settings, by data set, kind and cell; incomplete lines are skipped."""
    known = {}
    for line in results.read_text(encoding="utf-8").splitlines() if results.is_file() else []:
        try:
            found = json.loads(line)
        except json.JSONDecodeError:
            continue
        if found["settings"] == written(how):
            known[found["set"], found["kind"], found["cell"]] = found
    return known


def compared(known: dict[tuple[str, str, str], dict[str, Any]], data: str) -> Comparison | None:
    """All systems of a data set against LightGBM's lambdarank, query by query."""
    systems = {}
    for kind in ("peers", *KINDS):
        for cell in cells(kind):
            found = known.get((data, kind, cell), {})
            if "values" in found:
                values = np.array(found["values"], float)
                name = cell if kind == "peers" else f"{cell} {kind}"
                systems[name] = Evaluation(
                    {METRIC: values}, np.arange(len(values)), bounded=frozenset({METRIC})
                )
    return Comparison(systems, BASELINE) if BASELINE in systems and len(systems) > 1 else None


def show(how: Settings, results: Path, sets: list[str], kinds: list[str], details: bool) -> None:
    known = read(how, results)
    settings = ", ".join(f"{name} {value}" for name, value in written(how).items() if value is not None)
    print(f"\n{METRIC}, settings: {settings}")
    print(", ".join(f"{name} {importlib.import_module(name).__version__}" for name in LIBRARIES))
    print(
        f"mean ± half of its 95 % interval over queries. Paired with {BASELINE} (randomisation test):\n"
        "  > or < better or worse, p ≤ 0.05 for this cell alone; >> or << also after Holm's correction"
    )
    for data in sets:
        against = compared(known, data)
        if against is None:
            print(f"\n{data}: {BASELINE} has no result to compare with")
            continue
        show_set(known, data, kinds, against)
        if details:
            print(f"\n{against}")


def show_set(
    known: dict[tuple[str, str, str], dict[str, Any]], data: str, kinds: list[str], against: Comparison
) -> None:
    base = against.systems[BASELINE]
    valued = base.n_queries - base.left_out[METRIC]
    print(f"\n{data}: {valued} test queries, {len(against.rivals)} systems beside the baseline\n")
    reasons: list[str] = []

    def cell(kind: str, name: str) -> str:
        found = known.get((data, kind, name), {"why": "its process ended before it"})
        if "why" in found:
            reasons.append(f"({len(reasons) + 1}) {name} {kind}: {found['why']}")
            return f"({len(reasons)})"
        return value(against, name if kind == "peers" else f"{name} {kind}")

    print(f"{'loss':22}" + "".join(f"{kind:20}" for kind in kinds).rstrip())
    for name in trainable():
        row = {kind: cell(kind, name) for kind in kinds}
        record(data, loss=name, **row)
        print(f"{name:22}" + "".join(f"{one:20}" for one in row.values()).rstrip())
    print()
    for name in PEERS:
        text = cell("peers", name)
        if not text.startswith("("):
            record(
                f"{data}, libraries",
                objective=name,
                ndcg=text.strip(),
                difference=difference(against, name).strip(),
            )
        print(f"{name:22}{text:20}{difference(against, name)}".rstrip())
    for reason in reasons:
        print(reason)
    seconds = {kind: sum(known.get((data, kind, name), {"seconds": 0})["seconds"] for name in cells(kind))
               for kind in ("peers", *kinds)}  # fmt: skip
    print("CPU seconds: " + ", ".join(f"{kind} {spent:.0f}" for kind, spent in seconds.items()))


def value(against: Comparison, system: str) -> str:
    found = against.systems[system]
    mean, (low, high) = found.mean[METRIC], found.interval[METRIC]
    text = f"{mean:.4f} ± {(high - low) / 2:.4f}"
    if system == BASELINE:
        return text
    verdict = against.verdicts[METRIC][system]
    times = (verdict.p_value <= 0.05) + (verdict.p_holm <= 0.05)
    return f"{text} {('>' if verdict.difference > 0 else '<') * times}".rstrip()


def difference(against: Comparison, system: str) -> str:
    if system not in against.rivals:
        return ""
    found = against.verdicts[METRIC][system]
    p = f"p {found.p_value:.3f}" if found.p_value >= 0.001 else "p < 0.001"
    return f"{found.difference:+.4f} [{found.low:+.4f}, {found.high:+.4f}], {p}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="few trees and epochs, short lists to train on")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument(
        "--results", type=Path, help="JSON lines; default quality-quick.jsonl or quality.jsonl"
    )
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument(
        "--details", action="store_true", help="also every difference with its interval and p"
    )
    parser.add_argument("--group", nargs=2, metavar=("SET", "KIND"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    how = QUICK if given.quick else FULL
    results = given.results or Path("quality-quick.jsonl" if given.quick else "quality.jsonl")
    if given.group:
        data, kind = given.group
        run_group(how, data, kind, results)
        return
    sets = [name for name in given.sets if name == "synthetic" or catalog.find(name) is not None]
    for name in set(given.sets) - set(sets):
        print(f"{name}: not found; set RANKLOOP_DATA to the folder that holds it")
    again = [sys.executable, __file__, *(["--quick"] if given.quick else []), "--results", str(results)]
    groups = [["--group", name, kind] for name in reversed(sets) for kind in ("peers", *given.kinds)]
    with ThreadPoolExecutor(given.processes) as pool:
        for group, done in zip(
            groups, pool.map(lambda one: subprocess.run([*again, *one]), groups), strict=True
        ):
            if done.returncode:
                print(f"the process of {group[1]} {group[2]} ended with {done.returncode}", flush=True)
    show(how, results, sets, given.kinds, given.details)


if __name__ == "__main__":
    benchmark(main)
