"""Learning from clicks under loggers of different strength, beside LightGBM, XGBoost and the truth.

python benchmarks/unbiased.py loggers [--seeds 5] [--first 0] [--utility mixed]   the logger benchmark
python benchmarks/unbiased.py skyline                             up to 1,000,000 sessions, against labels
python benchmarks/unbiased.py convergence [--eta 1]     sessions that each correction takes to come as far
python benchmarks/unbiased.py small [--seeds 5] [--first 0]        few queries, loggers up to a perfect one
python benchmarks/unbiased.py grid [--first 0]                       users x loggers x sessions x methods
"""

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import rankloop as rl
from rankloop import unbiased
from rankloop.clicks import ClickLog, simulate, user
from rankloop.metrics import ndcg
from rankloop.propensity import IdentifiabilityWarning
from results import benchmark, record

QUERIES, DOCUMENTS, FEATURES, SHOWN = 3000, 20, 20, 10
SESSIONS, TREES, TEST_QUERIES = 20, 150, 1000
GRID_QUERIES = 500
SMALL_QUERIES, SMALL_LOGGERS, SMALL_SESSIONS = 300, (0.1, 0.6, 0.9, 1.0), (5, 20, 100)
CONVERGENCE = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
NOISE = 0.35  # of the judge, in units of the spread of utility
SHARES = (0.5, 0.25, 0.13, 0.08, 0.04)  # of the grades 0 to 4
BATCH = 4096  # rows that a peer is given at once
DRAWN = 38  # what LightGBM makes of seed 0 to draw the rows by which it chooses bins, if it has all in memory
LOGGERS = {"weak": 0.1, "medium": 0.6, "strong": 0.9}  # correlation of the logger with utility

Floats = NDArray[np.float64]


def utility(X: Floats, kind: str) -> Floats:
    linear = X[:, :8] @ np.array([1, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2])
    if kind == "linear":
        worth = linear
    elif kind == "mixed":
        worth = linear + 0.8 * X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + np.sin(2 * X[:, 3])
    else:  # "products": hardly linear at all
        worth = 0.5 * linear + 1.5 * X[:, 0] * X[:, 1] + np.maximum(X[:, 4], 0) * X[:, 5] - 0.5 * X[:, 6] ** 2
    return np.asarray(worth / worth.std())


def world(seed: int, kind: str, queries: int) -> tuple[rl.RankingDataset, Floats, np.random.Generator]:
    rng = np.random.default_rng([seed, queries])
    X = rng.normal(size=(queries * DOCUMENTS, FEATURES))
    worth = utility(X, kind)
    judged = worth + NOISE * rng.normal(size=len(worth))
    y = np.searchsorted(np.quantile(judged, np.cumsum(SHARES)[:-1]), judged)
    return rl.RankingDataset.from_groups(X, y, np.full(queries, DOCUMENTS)), worth, rng


def logged_by(train: rl.RankingDataset, worth: Floats, rng: np.random.Generator, strength: float) -> Floats:
    """Scores that go with utility as much as `strength` says, else with a direction of the features."""
    other = train.X @ rng.normal(size=FEATURES)
    other = other - worth * (other @ worth) / (worth @ worth)  # a direction that says nothing of utility
    return np.asarray(strength * worth + np.sqrt(1 - strength**2) * other / other.std())


def theta(log: ClickLog, eta: float = 1.0) -> Floats:
    """The true curve."""
    return np.asarray(1.0 / np.arange(1, log.n_positions + 1) ** eta)


def quality(scores: Floats, test: rl.RankingDataset) -> float:
    return float(np.nanmean(ndcg(np.asarray(scores, np.float64), test.y, test.offsets, k=10)))


def lightgbm_ranker(
    log: ClickLog, train: rl.RankingDataset, *, position: bool
) -> Callable[[rl.RankingDataset], Floats]:
    """LightGBM takes one list per page, in the order shown; it keeps a byte of each feature."""
    import lightgbm

    rows = log.rows(train)

    class Pages(lightgbm.Sequence):  # type: ignore[misc]
        batch_size = BATCH

        def __len__(self) -> int:
            return len(rows)

        def __getitem__(self, at: int | slice) -> Floats:
            return train.X[rows[at]].astype(np.float64)

    data = lightgbm.Dataset(
        Pages(),
        log.click.astype(np.float64),
        group=log.lengths,
        position=log.position - 1 if position else None,
        params={"data_random_seed": DRAWN, "num_threads": 1},
    )
    settings = {"objective": "lambdarank", "num_leaves": 31, "verbosity": -1, "num_threads": 1, "seed": 0}
    model = lightgbm.train(settings, data, TREES)
    return lambda test: np.asarray(model.predict(test.X))


def xgboost_ranker(log: ClickLog, train: rl.RankingDataset) -> Callable[[rl.RankingDataset], Floats]:
    """XGBoost takes the same lists, and keeps as little."""
    import xgboost

    rows, page = log.rows(train), np.repeat(np.arange(log.n_pages), log.lengths)

    class Pages(xgboost.DataIter):  # type: ignore[misc]
        start = 0

        def next(self, give: Callable[..., None]) -> bool:
            part = slice(self.start, self.start + 16 * BATCH)
            if self.start >= len(rows):
                return False
            give(data=train.X[rows[part]], label=log.click[part].astype(np.float64), qid=page[part])
            self.start = part.stop
            return True

        def reset(self) -> None:
            self.start = 0

    data = xgboost.QuantileDMatrix(Pages(), nthread=1)
    settings = {
        "objective": "rank:ndcg",
        "lambdarank_unbiased": True,
        "lambdarank_pair_method": "topk",
        "lambdarank_num_pair_per_sample": SHOWN,
        "max_depth": 6,
        "eta": 0.1,
        "nthread": 1,
        "tree_method": "hist",
    }
    model = xgboost.train(settings, data, TREES)
    return lambda test: np.asarray(model.predict(xgboost.DMatrix(test.X)))


def lambdamart() -> rl.LambdaMART:
    return rl.LambdaMART(trees=TREES, loss=unbiased.DCG, threads=1)


def doubly_robust(log: ClickLog, data: rl.RankingDataset, eta: float = 1.0) -> rl.RankingDataset:
    model = unbiased.likelihood_ranker(trees=TREES, threads=1)
    return unbiased.doubly_robust(log, theta(log, eta), data, ranker=model)


def contenders(peers: bool) -> dict[str, Callable[[ClickLog, rl.RankingDataset], Callable[..., Floats]]]:
    blind = {  # labels are never shown to these
        "naive": lambda log, train: lambdamart().fit(unbiased.naive(log, train)).predict,
        "oracle IPS": lambda log, train: lambdamart().fit(unbiased.ips(log, theta(log), train)).predict,
        "pair_debias": lambda log, train: (
            unbiased.pair_debias_ranker(log, train, ranker=lambdamart()).predict
        ),
        "oracle DR": lambda log, train: lambdamart().fit(doubly_robust(log, train)).predict,
        "learn (automatic)": lambda log, train: (
            unbiased.learn(log, train, rankers=unbiased.candidates(trees=TREES, threads=1)).ranker.predict
        ),
    }
    if not peers:
        return blind
    rankers = unbiased.candidates(trees=TREES, threads=1)
    return {
        "LightGBM": lambda log, train: lightgbm_ranker(log, train, position=False),
        "LightGBM position": lambda log, train: lightgbm_ranker(log, train, position=True),
        "XGBoost unbiased": xgboost_ranker,
        **blind,
        "learn (large)": lambda log, train: (
            unbiased.learn(log, train, rankers=rankers, budget="large").ranker.predict
        ),
    }


def loggers(seeds: range, kind: str, only: list[str], under: list[str]) -> None:
    known = {name: one for name, one in contenders(peers=True).items() if name in only or not only}
    chosen = [name for name in LOGGERS if name in under or not under]
    values: dict[tuple[str, str], list[float]] = {}
    for seed in seeds:
        train, worth, rng = world(seed, kind, QUERIES)
        test, _, _ = world(seed, kind, TEST_QUERIES)
        full = rl.LambdaMART(trees=TREES, threads=1).fit(train).predict(test)
        for name, strength in LOGGERS.items():
            logging_policy = logged_by(train, worth, rng, strength)
            if name not in chosen:
                continue
            values.setdefault(("full information", name), []).append(quality(full, test))
            log = simulate(
                train, logging_policy=logging_policy, sessions=SESSIONS * QUERIES, k=SHOWN, seed=seed
            )
            hidden = train.replace(y=np.zeros(train.n_documents))
            for contender, learned in known.items():
                started = time.perf_counter()
                reached = quality(learned(log, hidden)(test), test)
                values.setdefault((contender, name), []).append(reached)
                took = time.perf_counter() - started
                print(f"# seed {seed} {name} {contender}: {reached:.4f} in {took:.0f} s", flush=True)
    print(f"\nNDCG@10 on true labels, utility {kind}, mean of {len(seeds)} seeds (standard error)\n")
    print(f"{'':<20}" + "".join(f"{name:>18}" for name in chosen))
    for contender in ("full information", *known):
        cells = []
        for name in chosen:
            got = np.array(values[contender, name])
            error = got.std(ddof=1) / np.sqrt(len(got)) if len(got) > 1 else 0.0
            record("loggers", who=contender, logger=name, seeds=len(got), ndcg=got.mean(), error=error)
            cells.append(f"{f'{got.mean():.4f} ({error:.4f})':>18}")
        print(f"{contender:<20}" + "".join(cells))


def skyline(seed: int = 0) -> None:
    """1,000,000 sessions of a weak logger: how near do the corrections come to full information?"""
    train, worth, rng = world(seed, "mixed", QUERIES)
    test, _, _ = world(seed, "mixed", TEST_QUERIES)
    full = quality(rl.LambdaMART(trees=TREES, threads=1).fit(train).predict(test), test)
    print(f"full information {full:.4f}")
    logging_policy = logged_by(train, worth, rng, LOGGERS["weak"])
    hidden = train.replace(y=np.zeros(train.n_documents))
    for shown, sessions in ((SHOWN, 100_000), (SHOWN, 1_000_000), (DOCUMENTS, 1_000_000)):
        log = simulate(train, logging_policy=logging_policy, sessions=sessions, k=shown, seed=seed)
        for name, learned in contenders(peers=False).items():
            reached = quality(learned(log, hidden)(test), test)
            row = f"top {shown:<3} {sessions:>9,} {name:<20} {reached:.4f}  {reached / full - 1:+.2%}"
            record("skyline", shown=shown, sessions=sessions, who=name, ndcg=reached, full=full)
            print(row, flush=True)


def convergence(eta: float, seed: int = 0) -> None:
    """NDCG@10 by sessions of a weak logger, and how many more IPS takes to come as far as doubly robust."""
    train, worth, rng = world(seed, "mixed", GRID_QUERIES)
    test, _, _ = world(seed, "mixed", TEST_QUERIES)
    full = quality(rl.LambdaMART(trees=TREES, threads=1).fit(train).predict(test), test)
    logging_policy = logged_by(train, worth, rng, LOGGERS["weak"])
    hidden = train.replace(y=np.zeros(train.n_documents))
    labels: dict[str, Callable[[ClickLog], rl.RankingDataset]] = {
        "naive": lambda log: unbiased.naive(log, hidden),
        "oracle IPS": lambda log: unbiased.ips(log, theta(log, eta), hidden),
        "oracle DR": lambda log: doubly_robust(log, hidden, eta),
    }
    print(f"full information {full:.4f}\n{'sessions':>10}" + "".join(f"{name:>14}" for name in labels))
    reached: dict[str, list[float]] = {name: [] for name in labels}
    for sessions in CONVERGENCE:
        reader = user("pbm", eta=eta)
        log = simulate(
            train, logging_policy=logging_policy, user=reader, sessions=sessions, k=SHOWN, seed=seed
        )
        for name, labelled in labels.items():
            reached[name].append(quality(lambdamart().fit(labelled(log)).predict(test), test))
        record(
            f"convergence, eta {eta:g}", sessions=sessions, **{name: one[-1] for name, one in reached.items()}
        )
        print(f"{sessions:>10,}" + "".join(f"{reached[name][-1]:>14.4f}" for name in labels), flush=True)
    takes = np.log10(CONVERGENCE)
    climb = np.maximum.accumulate(reached["oracle IPS"])
    for sessions, target in zip(CONVERGENCE, reached["oracle DR"], strict=True):
        if climb[0] < target <= climb[-1]:
            more = 10 ** np.interp(target, climb, takes) / sessions
            print(f"IPS takes {more:.1f} times the sessions to reach {target:.4f}, DR after {sessions:,}")


def small(seeds: range) -> None:
    """Few queries: is what `learn` chooses ever worse than trees on uncorrected clicks?"""
    rivals = ("naive", "learn (automatic)")
    values: dict[tuple[float, int], list[list[float]]] = {}
    for seed in seeds:
        train, worth, rng = world(seed, "mixed", SMALL_QUERIES)
        test, _, _ = world(seed, "mixed", TEST_QUERIES)
        hidden = train.replace(y=np.zeros(train.n_documents))
        for strength in SMALL_LOGGERS:
            logging_policy = logged_by(train, worth, rng, strength)
            for each in SMALL_SESSIONS:
                log = simulate(
                    train, logging_policy=logging_policy, sessions=each * SMALL_QUERIES, k=SHOWN, seed=seed
                )
                got = [quality(contenders(peers=False)[name](log, hidden)(test), test) for name in rivals]
                values.setdefault((strength, each), []).append(got)
                print(
                    f"# seed {seed} logger {strength} sessions {each}: {got[0]:.4f} {got[1]:.4f}", flush=True
                )
    heads = ("logger", "sessions per query", *rivals, "least gain")
    print(f"\n{SMALL_QUERIES} queries, {len(seeds)} seeds\n" + "".join(f"{head:>19}" for head in heads))
    for (strength, each), cells in values.items():
        mean, least = np.mean(cells, axis=0), np.min(np.diff(cells))
        record("small", logger=strength, sessions=each, naive=mean[0], learn=mean[1], least=least)
        print(f"{strength:>19}{each:>19}{mean[0]:>19.4f}{mean[1]:>19.4f}{least:>+19.4f}")


def grid(only: list[str], seed: int) -> None:
    """Users that fit the position-based model and users that do not, whole."""
    methods: dict[str, Callable[[ClickLog, rl.RankingDataset], Callable[..., Floats]]] = {
        "naive": lambda log, data: rl.LinearRanker(loss="softmax").fit(unbiased.naive(log, data)).predict,
        "naive trees": lambda log, data: lambdamart().fit(unbiased.naive(log, data)).predict,
        "IPS 1/k": lambda log, data: (
            rl.LinearRanker(loss="softmax").fit(unbiased.ips(log, theta(log), data)).predict
        ),
        "clipped": lambda log, data: (
            rl.LinearRanker(loss="softmax").fit(unbiased.clipped(log, theta(log), data)).predict
        ),
        "DLA": lambda log, data: unbiased.dual_learning_ranker(log, data).predict,
        "regression-EM": lambda log, data: unbiased.regression_em_ranker(log, data).predict,
        "PropSVM": lambda log, data: unbiased.prop_svm(log, theta(log), data).predict,
        "pair_debias": lambda log, data: unbiased.pair_debias_ranker(log, data, ranker=lambdamart()).predict,
        "DR": lambda log, data: lambdamart().fit(doubly_robust(log, data)).predict,
        "learn": lambda log, data: (
            unbiased.learn(log, data, rankers=unbiased.candidates(trees=TREES, threads=1)).ranker.predict
        ),
    }
    methods = {name: one for name, one in methods.items() if name in only or not only}
    train, worth, rng = world(seed, "mixed", GRID_QUERIES)
    test, _, _ = world(seed, "mixed", TEST_QUERIES)
    hidden = train.replace(y=np.zeros(train.n_documents))
    print(f"{'user':<14}{'logger':<8}{'sessions':>9}" + "".join(f"{name:>14}" for name in methods))
    for who in ("pbm", "eye_tracking", "trust", "navigational", "informational", "dbn"):
        for name, strength in (("weak", 0.1), ("strong", 0.9)):
            logging_policy = logged_by(train, worth, rng, strength)
            for sessions in (5_000, 50_000):
                log = simulate(
                    train, logging_policy=logging_policy, user=who, sessions=sessions, k=SHOWN, seed=seed
                )
                cells = [quality(learned(log, hidden)(test), test) for learned in methods.values()]
                row = "".join(f"{one:>14.4f}" for one in cells)
                record(
                    "grid", user=who, logger=name, sessions=sessions, **dict(zip(methods, cells, strict=True))
                )
                print(f"{who:<14}{name:<8}{sessions:>9,}{row}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("table", choices=("convergence", "grid", "loggers", "skyline", "small"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed; 0 to 4 were developed on")
    parser.add_argument("--utility", choices=("linear", "mixed", "products"), default="mixed")
    parser.add_argument(
        "--eta", type=float, default=1.0, help="of convergence: rank k is seen k ** -eta times"
    )
    parser.add_argument("--only", action="append", default=[], help="a row of the table; repeat it")
    parser.add_argument(
        "--under", action="append", default=[], choices=list(LOGGERS), help="a logger; repeat it"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", IdentifiabilityWarning)
    if arguments.table == "loggers":
        loggers(
            range(arguments.first, arguments.first + arguments.seeds),
            arguments.utility,
            arguments.only,
            arguments.under,
        )
    elif arguments.table == "skyline":
        skyline()
    elif arguments.table == "small":
        small(range(arguments.first, arguments.first + arguments.seeds))
    elif arguments.table == "convergence":
        convergence(arguments.eta)
    else:
        grid(arguments.only, arguments.first)


if __name__ == "__main__":
    benchmark(main)
