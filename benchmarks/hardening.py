"""What damage, crafted queries and ordinary searches meanwhile do to an index.

python benchmarks/hardening.py [damage] [attack] [--documents 60000] [--cases 240]

Three tables: changed files by kind with what was noticed (`damage`); the worst queries of 500 bytes, and
ordinary searches alone and while another thread sends the worst queries without a pause (`attack`).
"""

import argparse
import random
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np

from rankloop import _archive
from rankloop.clicks import PBM
from rankloop.clicks.load_model import load_model
from rankloop.data import load_dataset, open_dataset, save_dataset, synthetic, write_dataset
from rankloop.data.shards.shards import open_shards
from rankloop.data.shards.write_shards import write_shards
from rankloop.rankers import LinearRanker, load
from rankloop.search import Analyser, Deadline, Features, Index
from rankloop.search.deadline import DeadlineExceeded
from results import benchmark, record
from search import SEED, TOKENS, VOCABULARY, spelt

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "hardening"))
from damage import damages, rewrite

LETTERS = "abcdefghijklmnoprstuvwxyz"
BYTES = 500  # of a query, the limit of the service
SECONDS = 5.0  # deadline of a search
REQUESTS = 150


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", choices=["damage", "attack", []], metavar="PART")
    parser.add_argument("--documents", type=int, default=60_000)
    parser.add_argument("--cases", type=int, default=240)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if "damage" in (options.parts or ["damage"]):
            damage(Path(folder), options.cases)
        if "attack" in (options.parts or ["attack"]):
            attack(*corpus(Path(folder), options.documents))


def damage(folder: Path, cases: int) -> None:
    """Change one place of every kind of file; what happens on reading all of it."""
    index = Index.create(folder / "i", {"title": "text", "price": "number"})
    index.add({"id": i, "title": f"red {spelt(i)}", "price": i} for i in range(500))
    index.commit()
    index.delete(range(0, 100, 3))
    index.commit()
    data = synthetic(n_queries=20, docs_per_query=8, n_features=5, seed=SEED)
    save_dataset(data, folder / "set")
    write_shards(data, folder / "shards", shards=2)
    LinearRanker().fit(data).save(folder / "model")
    PBM(examination=[1.0, 0.5], attraction=[0.1, 0.9]).save(folder / "clicks")
    for suffix in ("gz", "zst"):
        write_dataset(data, folder / f"text.{suffix}")

    def of_index() -> str:
        opened = Index.open(folder / "i")
        opened.check()
        return repr([opened.retriever()("red").scores.tolist(), len(opened)])

    def of_set() -> str:
        return repr(load_dataset(folder / "set").X.tolist())

    def of_shards() -> str:
        return repr([part.X.tolist() for part in open_shards(folder / "shards")])

    def of_model() -> str:
        _archive.check(folder / "model")
        return repr(load(folder / "model").predict(data.X).tolist())

    def of_clicks() -> str:
        return repr(load_model(folder / "clicks").click_probability([1, 1]).tolist())

    def of_text(suffix: str) -> str:
        return repr(open_dataset(folder / f"text.{suffix}").X.tolist())

    table: dict[str, Counter[str]] = {}
    for kind, path, read in (
        ("index", folder / "i", of_index),
        ("data set", folder / "set", of_set),
        ("shards", folder / "shards", of_shards),
        ("ranker", folder / "model", of_model),
        ("click model", folder / "clicks", of_clicks),
        ("text in gzip", folder / "text.gz", lambda: of_text("gz")),
        ("text in Zstandard", folder / "text.zst", lambda: of_text("zst")),
    ):
        wanted = read()
        for file in sorted(path.iterdir()) if path.is_dir() else [path]:
            if file.name == "lock" or not file.stat().st_size:
                continue
            whole = file.read_bytes()
            part = f": {re.sub('-[0-9a-f]+', '', file.name)}" if path.is_dir() else ""
            row = table.setdefault(f"{kind}{part}", Counter())
            for _, changed in damages(whole, cases, seed=SEED):
                rewrite(file, changed)
                try:
                    row["the same answer" if read() == wanted else "another answer"] += 1
                except (ValueError, FileNotFoundError):
                    row["noticed"] += 1
            rewrite(file, whole)
    print(f"{'changed file':28}{'noticed':>10}{'same answer':>14}{'another answer':>16}")
    for name, row in table.items():
        record(
            "damage",
            file=name,
            noticed=row["noticed"],
            same=row["the same answer"],
            another=row["another answer"],
        )
        print(f"{name:28}{row['noticed']:10,}{row['the same answer']:14,}{row['another answer']:16,}")


def corpus(folder: Path, documents: int) -> tuple[Index, list[str]]:
    rng = np.random.default_rng(SEED)
    share = 1 / np.arange(1, VOCABULARY + 1) ** 1.07
    tokens = rng.choice(VOCABULARY, (documents, TOKENS), p=share / share.sum())
    words = np.array([spelt(i) for i in range(VOCABULARY)])
    index = Index.create(folder / "big", {"title": "text", "body": "text"}, analyser=Analyser(None))
    index.add(
        {"id": i, "title": " ".join(words[row[:6]]), "body": " ".join(words[row[6:]])}
        for i, row in enumerate(tokens)
    )
    index.commit()
    queries = [" ".join(words[rng.choice(tokens[rng.integers(documents)], 3)]) for _ in range(REQUESTS)]
    return index, queries


def attack(index: Index, ordinary: list[str]) -> None:
    rng = random.Random(SEED)
    frequent = [spelt(i) for i in range(300)]
    worst = {
        "one prefix 166 times": "a* " * 166,
        "+a* -b* 62 times": "+a* -b* " * 62,
        "different prefixes": " ".join(f"{a}{b}*" for a in LETTERS for b in LETTERS),
        "misspelt words": " ".join("".join(rng.choices(LETTERS, k=9)) for _ in range(50)),
        "frequent words": " ".join(frequent),
        "phrases": " ".join(f'"{a} {b}"' for a, b in pairwise(frequent)),
        "one long phrase": '"' + " ".join(frequent[:1] * 200) + '"',
    }
    search = index.retriever(k=1000, typos="missing") >> Features.standard(index)
    for query in (*worst.values(), *ordinary[:20]):
        search(query[:BYTES])
    print(f"\n{'query of ' + str(BYTES) + ' bytes':28}{'ms':>10}   {len(index):,} documents")
    for name, query in worst.items():
        taken = 1000 * _seconds(search, query[:BYTES])
        record("worst queries", query=name, ms=taken)
        print(f"{name:28}{taken:10.1f}")
    alone = [_seconds(search, query) for query in ordinary]
    stop = threading.Event()

    def send() -> None:
        while not stop.is_set():
            for query in worst.values():
                _seconds(search, query[:BYTES])

    attacker = threading.Thread(target=send)
    attacker.start()
    meanwhile = [_seconds(search, query) for query in ordinary]
    stop.set()
    attacker.join()
    print(f"\n{'ordinary searches':28}{'p50 ms':>10}{'p99 ms':>10}")
    for name, times in (("alone", alone), ("during the attack", meanwhile)):
        low, high = 1000 * np.quantile(times, [0.5, 0.99])
        record("ordinary searches", when=name, p50=low, p99=high)
        print(f"{name:28}{low:10.1f}{high:10.1f}")


def _seconds(search: object, query: str) -> float:
    start = time.perf_counter()
    try:
        search(query, deadline=Deadline(SECONDS))  # type: ignore[operator]
    except DeadlineExceeded:
        return SECONDS
    return time.perf_counter() - start


if __name__ == "__main__":
    benchmark(main)
