"""Jobs on shards: cost per row, memory of a worker, and what Ray adds to local processes.

    python benchmarks/cluster.py [--quick] [--repeats 3] [rows] [shards] [memory] [documents] [training] ...

`rows` writes click logs of growing size as shards and counts them, in seconds of CPU time per million rows:
flat if nothing grows with the log. `shards` writes one log into more and more shards. `memory` is the peak of
a worker, and of the process that writes shards, as the data grows tenfold and the shards stay of one size.
`documents` is what a judged document costs to write, evaluate, score and train on. `training` compares
LambdaMART of one process with that of two workers, over seeds. `overhead` runs the same jobs by local
processes and on Ray.

Logs and data are made on the fly, in the temporary folder: 50 million rows take 1.5 GB there while they are
sorted, and 125 MB as shards; all of it is removed. Two workers on two cores show that results are the same
and that work overlaps; they cannot show a speed-up, and none is claimed.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl

from rankloop import cluster
from rankloop.data import RankingDataset, synthetic
from rankloop.data.shards.write_shards import write_shards
from rankloop.metrics import evaluate
from rankloop.rankers import LambdaMART, LinearRanker
from results import benchmark, record

ROWS = (1_000_000, 5_000_000, 10_000_000, 50_000_000)
QUICK_ROWS = (200_000, 1_000_000)
ROWS_PER_SHARD = 500_000
CHUNK, PAGE = 500_000, 10
MEMORY = 64 << 20  # of the process that writes: 2 million rows, so that larger logs pass through the disk
DOCUMENTS, FEATURES = (100_000, 1_000_000), 136
QUICK_DOCUMENTS = (20_000, 200_000)
DOCUMENTS_PER_SHARD = 25_000
SEEDS = 5


def log_frames(rows, seed=0, power=3):
    """Pages of ten results; the number of queries grows with the log, and few are frequent."""
    random = np.random.default_rng(seed)
    queries = max(rows // 100, 1)
    for start in range(0, rows, CHUNK):
        size = min(CHUNK, rows - start)
        page = np.arange(start, start + size) // PAGE
        drawn = (queries * random.random(-(-size // PAGE)) ** power).astype(np.int64)
        query = np.repeat(drawn, PAGE)[:size]
        position = (np.arange(size) % PAGE + 1).astype(np.int32)
        yield pl.DataFrame(
            {
                "session": page,
                "query": query,
                "document": query % 1000 * 20 + random.integers(0, 20, size),
                "position": position,
                "click": (random.random(size) < 0.3 / position).astype(np.int8),
            }
        )


def documents(n, seed=0):
    """Data sets of forty documents per query, a few thousand rows at a time."""
    random = np.random.default_rng(seed)
    for first in range(0, n, 20_000):
        size = min(20_000, n - first)
        X = random.normal(size=(size, FEATURES)).astype(np.float32)
        y = np.clip(np.round(X[:, 0] + random.normal(size=size)), 0, 4)
        yield RankingDataset(X, y, first // 40 + np.arange(size) // 40)


def cpu():
    """Seconds of CPU of this process and of the workers that have ended."""
    mine, theirs = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in (mine, theirs))


def end_workers():
    from rankloop.cluster.backends.local import _end_idle

    _end_idle()


def taken(work):
    """The result of the work, and its CPU and elapsed seconds; workers are started for it and end with it."""
    end_workers()
    began, clock = cpu(), time.perf_counter()
    made = work()
    end_workers()
    return made, cpu() - began, time.perf_counter() - clock


def rows(quick, repeats=1):
    sizes = QUICK_ROWS if quick else ROWS
    print(f"\nclick log: seconds of CPU per million rows, median of {repeats}; two local workers")
    print(f"{'rows':>12}{'shards':>8}{'write':>10}{'count':>10}{'curve':>10}{'bytes/row':>11}{'cells':>13}")
    figures = {n: [] for n in sizes}
    for _ in range(repeats):
        for n in sizes:
            figures[n].append([float(one) for one in in_a_new_process(f"print(*bench.a_log({n}))")])
    for n in sizes:
        write, count, curve, size, cells = np.median(figures[n], axis=0)
        shards = max(2, n // ROWS_PER_SHARD)
        record("rows", rows=n, shards=shards, write=write, count=count, curve=curve, bytes=size, cells=cells)
        print(f"{n:>12,}{shards:>8}{write:>10.2f}{count:>10.2f}{curve:>10.2f}{size:>11.2f}{cells:>13,.0f}")
    starts = np.median([a_start() for _ in range(3)], axis=0)
    print("write includes making the rows; without the start of two workers: ", end="")
    print(f"{starts[0]:.1f} s for counting, {starts[1]:.1f} s for a curve")


def counted(log):
    return cluster.aggregate(log, workers=2)


def curved(log):
    return cluster.propensity(log, method="harvest", resamples=100, workers=2)


def a_log(n):
    """Seconds of CPU per million rows to write, to count and for the curve; bytes a row, and cells.

    To be run in a process that has not held a log before: memory that is there already costs less.
    """
    start = a_start()
    with tempfile.TemporaryDirectory() as folder:
        log, number = Path(folder) / "log", max(2, n // ROWS_PER_SHARD)
        shards, write, _ = taken(lambda: write_shards(log_frames(n), log, shards=number, memory=MEMORY))
        counts, count, _ = taken(lambda: counted(shards))
        _, curve, _ = taken(lambda: curved(shards))
        size = sum(entry.bytes for entry in shards.entries) / n
        per = [seconds / n * 1e6 for seconds in (write, count - start[0], curve - start[1])]
        return *per, size, len(counts)


def a_start():
    """Seconds of CPU of a log of 20,000 rows, for a count and a curve, once all kernels are loaded here."""
    with tempfile.TemporaryDirectory() as folder:
        few = next(log_frames(max(ROWS)))
        write_shards([few], Path(folder) / "more", shards=2)
        few = write_shards([few[:20_000]], Path(folder) / "few", shards=2)
        for job in (counted, curved):
            job(few)
        return [taken(lambda: job(few))[1] for job in (counted, curved)]  # noqa: B023


def many(quick):
    n = QUICK_ROWS[1] if quick else ROWS[1]
    print(f"\n{n:,} rows of log into more and more shards: seconds of CPU per million rows to write")
    print(f"{'shards':>8}{'rows each':>11}{'in memory':>11}{f'set aside {-(-n // CHUNK)} times':>22}")
    a_start()
    for number in (10, 100, 1000):
        figures = []
        for memory in (1 << 30, 0):
            with tempfile.TemporaryDirectory() as folder:
                log = Path(folder) / "log"
                _, write, _ = taken(lambda: write_shards(log_frames(n), log, shards=number, memory=memory))  # noqa: B023
                figures.append(write / n * 1e6)
        record("shards", shards=number, rows_each=n // number, in_memory=figures[0], set_aside=figures[1])
        print(f"{number:>8,}{n // number:>11,}{figures[0]:>11.2f}{figures[1]:>22.2f}", flush=True)


def judged(quick):
    print(f"\ndocuments with {FEATURES} features: microseconds of CPU each; memory of a training worker")
    print(
        f"{'documents':>12}{'write':>9}{'evaluate':>10}{'score':>9}{'a tree':>9}{'bytes':>8}{'worker MB':>11}"
    )
    sizes = QUICK_DOCUMENTS if quick else (100_000, 200_000)
    trees = {"leaves": 31, "threads": 1, "patience": None}
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            number = max(4, n // DOCUMENTS_PER_SHARD)
            _, made, _ = taken(lambda: [part.n_queries for part in documents(n)])  # noqa: B023
            shards, write, _ = taken(lambda: write_shards(documents(n), Path(folder) / "set", shards=number))  # noqa: B023
            ranker = LambdaMART(trees=20, **trees).fit(next(documents(20_000)))
            few = write_shards(next(documents(400)), Path(folder) / "few", shards=2)
            _, start, _ = taken(lambda: cluster.evaluate(ranker, few, workers=2))  # noqa: B023
            _, measure, _ = taken(lambda: cluster.evaluate(ranker, shards, workers=2))  # noqa: B023
            _, score, _ = taken(lambda: cluster.predict(ranker, shards, Path(folder) / "scores", workers=2))  # noqa: B023
            grown = []
            for count in (5, 25):
                _, spent, _ = taken(lambda: cluster.fit(LambdaMART(trees=count, **trees), shards, workers=2))  # noqa: B023
                grown.append(spent)
            fit = "cluster.fit(bench.LambdaMART(trees=5, threads=1), sys.argv[1], workers=2)"
            _, worker = peak_of(fit, f"{folder}/set")
            per = [spent / n * 1e6 for spent in (write - made, measure - start, score - start)]
            tree = (grown[1] - grown[0]) / 20 / n * 1e6
            size = sum(entry.bytes for entry in shards.entries) / n
            record(
                "documents",
                documents=n,
                write=per[0],
                evaluate=per[1],
                score=per[2],
                tree=tree,
                bytes=size,
                worker_mb=worker,
            )
            print(
                f"{n:>12,}{per[0]:>9.1f}{per[1]:>10.1f}{per[2]:>9.1f}{tree:>9.2f}{size:>8.0f}{worker:>11}",
                flush=True,
            )
    print("forests of 20 trees; evaluated and scored by two local workers, whose start is taken off")


def held(pid):
    """The peak of a process in MB; `getrusage` would count what its parent held when it was started."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024 if "VmHWM:" in status else 0


def children():
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if entry.joinpath("stat").read_text().rpartition(")")[2].split()[1] == str(os.getpid()):
                    yield entry.name


def watched(work):
    """Run some work and print the peak of this process and of the largest of its workers."""
    largest, over = [0], threading.Event()

    def watch():
        while not over.wait(0.05):
            largest[0] = max([largest[0], *map(held, children())])

    watcher = threading.Thread(target=watch)
    watcher.start()
    work()
    over.set()
    watcher.join()
    end_workers()
    print(held(os.getpid()), largest[0])


def in_a_new_process(work, *arguments):
    """What a line of code prints, split into words."""
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import cluster as bench\n"
    script += f"from rankloop import cluster\n{work}"
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def peak_of(work, *arguments):
    """The peaks of a new process that runs `work` (a line of code), and of its workers."""
    mine, worker = in_a_new_process(f"bench.watched(lambda: {work})", *arguments)[-2:]
    return int(mine), int(worker)


def memory(quick):
    print("\npeak memory in MB as the data grows tenfold and shards stay of one size")
    print(f"{'data':<26}{'rows':>12}{'shards':>8}{'writer':>9}{'worker':>9}  worker's job")
    write = "bench.write_shards(bench.{}(int(sys.argv[2])), sys.argv[1], shards=int(sys.argv[3]), "
    write += "memory=bench.MEMORY // 4)"  # less than any of them has
    for n in (QUICK_ROWS[1] // 5, QUICK_ROWS[1] * 2) if quick else (3_000_000, 30_000_000):
        with tempfile.TemporaryDirectory() as folder:
            number = max(2, n // 50_000)  # ten and more a worker: its allocator settles over the first few
            writer, _ = peak_of(write.format("even_frames"), f"{folder}/log", n, number)
            curve = "cluster.propensity(sys.argv[1], method='harvest', resamples=50, workers=2)"
            _, worker = peak_of(curve, f"{folder}/log")
            record("memory", data="click log", rows=n, shards=number, writer=writer, worker=worker)
            print(f"{'click log':<26}{n:>12,}{number:>8}{writer:>9}{worker:>9}  propensity", flush=True)
    for n in QUICK_DOCUMENTS if quick else DOCUMENTS:
        with tempfile.TemporaryDirectory() as folder:
            number = max(2, n // 5_000)
            writer, _ = peak_of(write.format("documents"), f"{folder}/set", n, number)
            _, worker = peak_of(
                "cluster.predict(bench.linear(), *sys.argv[1:], workers=2)",
                f"{folder}/set",
                f"{folder}/scores",
            )
            name = f"documents, {FEATURES} features"
            record("memory", data=name, rows=n, shards=number, writer=writer, worker=worker)
            print(f"{name:<26}{n:>12,}{number:>8}{writer:>9}{worker:>9}  scoring", flush=True)


def even_frames(rows):
    """All queries are equally frequent, so the largest shard does not grow with the log."""
    return log_frames(rows, power=1)


def linear():
    return LinearRanker(loss="squared").fit(next(documents(2000)))


def training(quick):
    data, test = synthetic(n_queries=400 if quick else 2000, docs_per_query=20, n_features=20, seed=0).split(
        0.7, seed=0
    )
    made = {"seed": [], "workers": []}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(2 if quick else SEEDS):
            ranker = LambdaMART(trees=100, leaves=15, feature_fraction=0.8, threads=1, seed=seed)
            shards = write_shards(data, Path(folder) / str(seed), shards=8)
            made["workers"].append(
                evaluate(cluster.fit(ranker, shards, workers=2), test, "ndcg@10").mean["ndcg@10"]
            )
            one = LambdaMART(**ranker.get_params()).fit(data)
            made["seed"].append(evaluate(one, test, "ndcg@10").mean["ndcg@10"])
    print(f"\nLambdaMART, NDCG@10 of 100 trees over {len(made['seed'])} seeds: mean and spread")
    for name, words in (("seed", "one process"), ("workers", "two workers")):
        record("training", who=words, ndcg=np.mean(made[name]), spread=np.std(made[name]))
        print(f"{words:<14}{np.mean(made[name]):>10.4f} ± {np.std(made[name]):.4f}")


def family():
    """Ticks of CPU of this process and of each that descends from it, Ray's too."""
    parents, ticks = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = entry.joinpath("stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)], ticks[int(entry.name)] = (
                    int(fields[1]),
                    int(fields[11]) + int(fields[12]),
                )
    found = {os.getpid()}
    while grown := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= grown
    return {pid: ticks[pid] for pid in found}


def spent(work):
    """CPU seconds of this process and its descendants, also of those that ended, and elapsed seconds."""
    before, over = family(), threading.Event()
    seen = dict(before)

    def watch():
        while not over.wait(0.25):
            seen.update(family())

    watcher = threading.Thread(target=watch)
    watcher.start()
    clock = time.perf_counter()
    work()
    clock = time.perf_counter() - clock
    over.set()
    watcher.join()
    seen.update(family())
    cpu = (sum(seen.values()) - sum(before.values())) / os.sysconf("SC_CLK_TCK")
    return f"{cpu:.1f} / {clock:.1f}"


def overhead(quick):
    n = QUICK_ROWS[1] if quick else 2_000_000
    print(
        f"\nthe same jobs by two workers, local and on Ray: seconds of CPU / by the clock; {n:,} rows of log"
    )
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray

    with tempfile.TemporaryDirectory() as folder:
        log = write_shards(log_frames(n), Path(folder) / "log", shards=max(4, n // ROWS_PER_SHARD))
        data = write_shards(documents(QUICK_DOCUMENTS[1] // 2), Path(folder) / "set", shards=8)

        def grow(trees):
            ranker = LambdaMART(trees=trees, leaves=31, threads=1, patience=None)
            return lambda backend: cluster.fit(ranker, data, backend=backend, workers=2)

        jobs = {
            "count": lambda backend: cluster.aggregate(log, backend=backend, workers=2),
            "curve": lambda backend: cluster.propensity(
                log, method="harvest", resamples=100, backend=backend, workers=2
            ),
            "5 trees": grow(5),
            f"{25 if quick else 65} trees": grow(25 if quick else 65),
        }
        options = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
        equal = {"worker_niceness": 0}  # Ray's workers run at low priority; local ones do not
        start = spent(lambda: ray.init(num_cpus=2, _system_config=equal, **options))
        print(f"{'job':<10}" + "".join(f"{one:>16}" for one in ("local", "again", "ray", "again")))
        for name, job in jobs.items():
            end_workers()
            figures = [spent(lambda: job(backend)) for backend in ("local", "local", "ray", "ray")]  # noqa: B023
            record(
                "overhead",
                job=name,
                **dict(zip(("local", "local_again", "ray", "ray_again"), figures, strict=True)),
            )
            print(f"{name:<10}" + "".join(f"{one:>16}" for one in figures), flush=True)
        print(f"starting Ray, once: {start}; a team that trains is started anew every time, in both")
        ray.shutdown()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "parts",
        nargs="*",
        default=[],
        help="rows, shards, memory, documents, training, overhead; all without",
    )
    parser.add_argument("--repeats", type=int, default=1, help="of `rows`: sizes in turn, the median of each")
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run at all")
    chosen = parser.parse_args()
    known = {
        "rows": rows,
        "shards": many,
        "memory": memory,
        "documents": judged,
        "training": training,
        "overhead": overhead,
    }
    for part in chosen.parts or known:
        began = time.perf_counter()
        known[part](chosen.quick, **({"repeats": chosen.repeats} if part == "rows" else {}))
        print(f"({part}: {time.perf_counter() - began:.0f} s; load of the machine {os.getloadavg()[1]:.1f})")


if __name__ == "__main__":
    benchmark(main)
