"""Learning from clicks in 96 worlds: 24 to develop on, and 72 that are looked at only to report.

python benchmarks/worlds.py development [--minutes 60] [--only d03] [--out worlds.jsonl]
python benchmarks/worlds.py fresh   [--minutes 600] [--methods learn]  (or reporting, earlier, opened, ...)
python benchmarks/worlds.py opened --again [--only r60]

Everything that is finished (a contender in a world) is a line of the file --out, the cheapest worlds first
(by pages times features); a command that was stopped, or ran into its time limit, goes on from there when it
is started again. Worlds are made by `rankloop.clicks.World`; real features and labels are read from the
folder that RANKLOOP_DATA names.

The split, once and for all: world number i, from 0 to 95, is what `recipe(i)` says. Numbers below 24 (d00 to
d23, seeds 10000 to 10023) are for development, the others for reporting: r24 to r47 (seeds 20024 to 20047,
`earlier`) and seventeen of r48 to r71 (seeds 30048 to 30071, `opened`, `before`, `lost`, `reporting`) were
looked at with settings that have been changed since. r72 to r95 (seeds 40072 to 40095, `fresh`) are for the
settings of today; where they have real labels, these are of sets with more test queries. No choice of `learn`
may be made on a reporting world; docs/worlds.md says when they were opened. Worlds that are run again with
other settings (`--again`) are in a table of their own.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

import rankloop as rl
from quality import Settings, movies
from rankloop import unbiased
from rankloop.clicks import ClickLog, World
from rankloop.clicks.simulation.utility import UTILITIES
from rankloop.clicks.world import Drawn
from rankloop.metrics import ndcg
from results import benchmark, load, record
from unbiased import TREES, lambdamart, lightgbm_ranker, xgboost_ranker

OPENED = (48, 50, 51, 55, 56, 58, 60, 61, 62, 64, 67, 68, 69)
BEFORE = (49, 70)
LOST = (57,)
SETS: dict[str, Collection[int]] = {
    "development": range(24),
    "earlier": range(24, 48),
    "opened": OPENED,
    "before": BEFORE,
    "lost": LOST,
    "reporting": sorted(set(range(48, 72)) - {*OPENED, *BEFORE, *LOST}),
    "fresh": range(72, 96),
}
PEOPLE = ("1/k", "baidu", "trust", "cascade", "dbn", "saturation", "mixture", "adversarial")
SIDE_BY_SIDE = {
    9: "grid",
    17: "carousel",
    33: "grid",
    41: "carousel",
    57: "grid",
    65: "carousel",
    81: "grid",
    89: "carousel",
}  # not baidu
LOGGERS: tuple[dict[str, Any], ...] = (
    {"loggers": (0.1,)},
    {"loggers": (0.9,)},
    {"loggers": (0.5,)},
    {"loggers": (0.3, 0.8)},
    {"loggers": (0.98,)},
    {"loggers": (0.6,), "temperature": 0.5},
    {"loggers": (0.0,)},
    {"loggers": (0.7,), "randomize": "swap"},
    {"loggers": (0.2, 0.5, 0.9)},
)
SESSIONS = (20_000, 5_000, 50_000, 10_000, 20_000, 100_000, 5_000, 20_000, 200_000, 10_000, 500_000)
LARGEST = dict.fromkeys((29, 42, 53, 66, 77, 90), 5_000_000)  # two worlds of each set for reporting
FEATURES = (20, 5, 60, 20, 1, 200, 20, 1000, 10, 40, 20, 100, 2)
DOCUMENTS = (20, 10, 40, 15, 100)
NOISE = (0.35, 0.7, 0.1)
KINDS = (*UTILITIES, "labels")
PAGES = 300_000  # that peers are given at most, which take one list per page
JUDGED = ("lightgbm_lambdarank", "webis_clueweb09_letor")
FRESH = ("halves of lightgbm_lambdarank", "msrd_movies")  # the same with more test queries
MOVIES, RELEVANT = (400, 500), 3  # queries to train on and to test on, and the grade of a relevant film
FULL, LEARN, NAIVE = "full information", "learn", "naive trees"
PEERS = (NAIVE, "LightGBM position", "XGBoost unbiased")
CEILING = "oracle IPS"
UNFINISHED = "unfinished"

Floats = NDArray[np.float64]


def recipe(number: int) -> World:
    """Every world takes the next entry of each table; the tables have lengths without common divisors."""
    turn = number // len(PEOPLE)
    sessions = LARGEST.get(number, SESSIONS[number % len(SESSIONS)])
    return World(
        people=SIDE_BY_SIDE.get(number, PEOPLE[number % len(PEOPLE)]),
        utility=KINDS[(number + turn) % len(KINDS)],
        **LOGGERS[number % len(LOGGERS)],
        sessions=sessions,
        queries=min(5000, max(250, sessions // 20)),
        features=FEATURES[number % len(FEATURES)],
        documents=DOCUMENTS[(number + turn) % len(DOCUMENTS)],
        noise=NOISE[number % len(NOISE)],
        seed=10_000 * (1 + number // 24) + number,
    )


def cost(number: int) -> tuple[int, int]:
    """What a contender takes, about: pages times features."""
    world = recipe(number)
    return min(world.sessions, PAGES) * world.features, world.sessions


def named(number: int) -> str:
    return f"{'d' if number in SETS['development'] else 'r'}{number:02d}"


def drawn(number: int) -> Drawn:
    world = recipe(number)
    sets = FRESH if number in SETS["fresh"] else JUDGED
    return world.draw(judged(sets[number % len(sets)]) if world.utility == "labels" else None)


def judged(name: str) -> tuple[rl.RankingDataset, rl.RankingDataset]:
    """A real training set and a real test set, without docids: a log names their rows."""
    if name == "msrd_movies":
        train, test = (joined([one]) for one in next(movies(Settings(movies=MOVIES))))
        return train.replace(y=RELEVANT * train.y), test.replace(y=RELEVANT * test.y)
    if name.startswith("halves"):
        whole = joined(judged(name.split()[-1]))
        return whole.select(np.arange(0, whole.n_queries, 2)), whole.select(np.arange(1, whole.n_queries, 2))
    folder = Path(os.environ["RANKLOOP_DATA"]) / name
    if name == "webis_clueweb09_letor":
        folds = [rl.read_svmlight(folder / f"Fold{one}_test.txt") for one in range(1, 6)]
        return joined(folds[1:]), joined(folds[:1])
    found = []
    for part in ("train", "test"):
        rows = rl.read_svmlight(folder / f"rank.{part}")
        found.append(_plain(rows.X, rows.y, rows.lengths))
    wide = max(one.n_features for one in found)
    train, test = (
        _plain(np.pad(one.X, ((0, 0), (0, wide - one.n_features))), one.y, one.lengths) for one in found
    )
    return train, test


def joined(parts: Sequence[rl.RankingDataset]) -> rl.RankingDataset:
    return _plain(*(np.concatenate([getattr(one, name) for one in parts]) for name in ("X", "y", "lengths")))


def _plain(X: Any, y: Any, lengths: Any) -> rl.RankingDataset:
    return rl.RankingDataset.from_groups(np.nan_to_num(X), y, lengths)


def contenders(world: Drawn, budget: str) -> dict[str, Callable[[], Floats]]:
    """Scores of the test set by each method. Only full information sees a label."""
    train, test, log, user = world
    hidden = train.replace(y=np.zeros(train.n_documents))
    pages = log
    if log.n_pages > PAGES:
        chosen = np.random.default_rng(0).choice(log.n_pages, PAGES, replace=False)
        pages = log.select(np.sort(chosen))
    rankers = unbiased.candidates(trees=TREES, threads=1)
    return {
        NAIVE: lambda: lightgbm_ranker(pages, hidden, position=False)(test),
        "LightGBM position": lambda: lightgbm_ranker(pages, hidden, position=True)(test),
        "XGBoost unbiased": lambda: xgboost_ranker(pages, hidden)(test),
        CEILING: lambda: lambdamart().fit(oracle(log, hidden, user)).predict(test),
        LEARN: lambda: unbiased.learn(log, hidden, rankers=rankers, budget=budget).ranker.predict(test),
        FULL: lambda: rl.LambdaMART(trees=TREES, threads=1).fit(train).predict(test),
    }


def oracle(log: ClickLog, data: rl.RankingDataset, user: Any) -> rl.RankingDataset:
    """Labels by the true model of the most frequent reader."""
    if isinstance(user, rl.clicks.TrustPBM):
        return unbiased.affine(log, user, data)
    if isinstance(user, rl.clicks.PBM):
        depth = log.n_positions
        return unbiased.ips(log, user._rank("examination", depth), data)
    return unbiased.ips(log, rl.clicks.DBN().fit(log), data)  # who stops: fitted, as it has no curve


def measured(number: int, world: Drawn, name: str, budget: str) -> dict[str, Any]:
    """NDCG@10 of one contender on each test query with a relevant document, in one world."""
    scored = contenders(world, budget)[name]
    started, used = time.perf_counter(), time.process_time()
    scores = np.asarray(scored(), np.float64)
    seconds, cpu = time.perf_counter() - started, time.process_time() - used
    values = ndcg(scores, world.test.y, world.test.offsets, k=10)
    return {
        "world": named(number),
        "method": name,
        "budget": budget if name == LEARN else None,
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "seconds": round(seconds, 1),
        "cpu": round(cpu, 1),
        "values": [round(float(one), 5) for one in values[np.isfinite(values)]],
    }


def compared(lines: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """`learn` beside the best peer and between naive trees and full information, in one world."""
    values = {name: np.array(line["values"]) for name, line in lines.items()}
    mean = {name: float(one.mean()) for name, one in values.items()}
    best = max(PEERS, key=lambda name: mean[name])
    gap, room = values[LEARN] - values[best], values[FULL] - values[NAIVE]
    error = 1.96 * float(gap.std(ddof=1)) / np.sqrt(len(gap))
    clear = float(room.mean()) > 3.0 * float(room.std(ddof=1)) / np.sqrt(len(room))
    share = (mean[LEARN] - mean[NAIVE]) / (mean[FULL] - mean[NAIVE]) if clear else None
    ahead = float(gap.mean())
    return {"mean": mean, "best": best, "gap": (ahead, ahead - error, ahead + error), "share": share}


def about(number: int) -> str:
    world = recipe(number)
    loggers = "+".join(f"{one:g}" for one in world.loggers)
    kind = " drawn" if world.temperature else " swaps" if world.randomize else ""
    size = f"{world.sessions // 1000}k" if world.sessions < 1_000_000 else f"{world.sessions // 1_000_000}M"
    width = "" if world.utility == "labels" else f", {world.features}"
    return f"{named(number)} {world.people}, {world.utility}{width}, {loggers}{kind}, {size}"


def row_of(number: int, lines: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A world in the table of the documentation."""
    found = compared(lines)
    took = f"{lines[NAIVE]['cpu']:.0f}, {lines[LEARN]['cpu']:.0f}"
    return {
        "world": about(number),
        **found["mean"],
        "gap": found["gap"],
        "share": found["share"],
        "cpu": took,
    }


def unfinished(file: Path | None, part: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Contenders that ended in worlds whose others did not, by world and name: these are not run again."""
    rows = [] if file is None else load(file)["tables"].get(f"{part}, {UNFINISHED}", {"rows": []})["rows"]
    lines = [row | {"world": row["world"][:3]} for row in rows]
    return {(line["world"], line["method"]): line for line in lines}


def recorded(file: Path | None, part: str) -> dict[int, dict[str, Any]]:
    """The rows of a table of results by the number of the world; a recipe that has changed is an error."""
    rows = [] if file is None else load(file)["tables"][part]["rows"]
    found = {int(row["world"][1:3]): row for row in rows}
    changed = [row["world"] for number, row in found.items() if row["world"] != about(number)]
    if changed:
        raise SystemExit(f"these worlds have another recipe now: {'; '.join(changed)}")
    return found


def table(part: str, rows: dict[int, dict[str, Any]]) -> None:
    """The table of the documentation: a world without every contender is not in it."""
    heads = (*PEERS, CEILING, LEARN, FULL)
    print(f"\n| world | {' | '.join(heads)} | learn - best peer | share | CPU s: naive, learn |")
    print("|---" * (len(heads) + 4) + "|")
    for row in rows.values():
        cells = [f"{row[head]:.4f}".lstrip("0") for head in heads]
        gap = "{:+.4f} ({:+.4f} to {:+.4f})".format(*row["gap"]).replace("0.", ".")
        share = "-" if row["share"] is None else f"{row['share']:.0%}"
        record(part, **row)
        print(f"| {row['world']} | {' | '.join(cells)} | {gap} | {share} | {row['cpu']} |")
    together(part, [{**row, "world": named(number)} for number, row in rows.items()])


def together(part: str, ways: list[dict[str, Any]]) -> None:
    """All worlds of a table in one line: the share of the way, and how often `learn` was behind."""
    shares = np.array([one["share"] for one in ways if one["share"] is not None])
    named_if = {
        "clearly above the best peer": lambda one: one["gap"][1] > 0,
        "above the best peer": lambda one: one["gap"][0] > 0,
        "below the best peer": lambda one: one["gap"][0] < 0,
        "clearly below the best peer": lambda one: one["gap"][2] < 0,
        "below naive trees where labels are clearly above": lambda one: (one["share"] or 0.0) < 0,
    }
    behind = {name: [one["world"] for one in ways if is_so(one)] for name, is_so in named_if.items()}
    way, most = mean_of(shares), mean_of(np.minimum(shares, 1.0))
    counts = {name: len(worlds) for name, worlds in behind.items()}
    record(f"{part}, all", worlds=len(ways), clear=len(shares), share=way, most=most, **counts)
    print(
        f"\nshare of the way from naive trees to full information, in {len(shares)} of {len(ways)} worlds "
        "where that is clearly above: {:.0%} ({:.0%} to {:.0%})".format(*way)
    )
    print("the same with more than the whole way as the whole way: {:.0%} ({:.0%} to {:.0%})".format(*most))
    for name, worlds in behind.items():
        print(f"{name}: {len(worlds)} ({', '.join(worlds) or 'none'})")


def mean_of(values: Floats) -> tuple[float, float, float]:
    """A mean with its 95 % interval."""
    if len(values) < 2:
        return (float("nan"),) * 3
    mean = float(values.mean())
    error = float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)))
    return mean, mean - error, mean + error


def read(path: Path, budget: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Finished contenders by world and name; the last line of each counts."""
    found = {}
    for text in path.read_text().splitlines() if path.exists() else ():
        line = json.loads(text)
        if line["budget"] in (None, budget):
            found[line["world"], line["method"]] = line
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("set", choices=tuple(SETS))
    parser.add_argument("--minutes", type=float, default=60.0, help="nothing is started after these")
    parser.add_argument("--budget", default="usual", help="of learn: quick, usual or large")
    parser.add_argument("--methods", choices=("all", "learn", "others"), default="all", help="to run now")
    parser.add_argument("--only", action="append", default=[], help="a world such as d03; repeat it")
    parser.add_argument("--again", action="store_true", help="worlds that were looked at before")
    parser.add_argument("--most", type=int, default=10**9, help="leave out worlds with more sessions")
    parser.add_argument(
        "--out", type=Path, default=Path("worlds.jsonl"), help="what is finished, a line each"
    )
    parser.add_argument(
        "--recorded", type=Path, help="results whose worlds and contenders of this set are kept, not run"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = recorded(arguments.recorded, arguments.set)
    known = unfinished(arguments.recorded, arguments.set) | read(arguments.out, arguments.budget)
    wanted = [
        one
        for one in sorted(SETS[arguments.set], key=cost)
        if (named(one) in arguments.only or not arguments.only) and recipe(one).sessions <= arguments.most
    ]
    methods = (*PEERS, CEILING, LEARN, FULL)
    run_now = {"all": methods, "learn": (LEARN,), "others": (*PEERS, CEILING, FULL)}[arguments.methods]
    end = time.monotonic() + 60 * arguments.minutes
    for number in wanted:
        missing = [name for name in run_now if (named(number), name) not in known]
        if not missing or number in kept or time.monotonic() > end:
            continue
        world = drawn(number)
        for name in missing:
            if time.monotonic() > end:
                break
            line = known[named(number), name] = measured(number, world, name, arguments.budget)
            with arguments.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(f"# {line['world']}, {name}: {line['cpu']} s of CPU time", flush=True)
    part = arguments.set + (", again" if arguments.again else "")
    rows = {
        one: row_of(one, {name: known[named(one), name] for name in methods})
        if all((named(one), name) in known for name in methods)
        else kept.get(one)
        for one in wanted
    }
    whole = {one: row for one, row in rows.items() if row is not None}
    if whole:
        table(part, whole)
    for one in wanted:
        for name in methods:
            if one not in whole and (line := known.get((named(one), name))):
                row = {"world": about(one), "ndcg": float(np.mean(line["values"]))}
                record(f"{part}, {UNFINISHED}", **line | row)
    print(f"not finished: {', '.join(named(one) for one in wanted if one not in whole) or 'none'}")


if __name__ == "__main__":
    benchmark(main)
