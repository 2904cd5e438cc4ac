"""The time of a learned page: retrieve 1,000 of 100,000 documents, compute features, rank by 500 trees.

python benchmarks/search_latency.py [--documents 100000] [--folder FOLDER]

Times are CPU time of the process, so that other work on the machine is not counted. The index is one
segment, as `rankloop index --compact` leaves it, and its blocks were compared with their checksums, as on a
server that has run for a while; `--folder` keeps it for the next run. The last row is the page with a forest
over all features; the one before it, over 60.
"""

import argparse
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from rankloop.data import RankingDataset
from rankloop.rankers import LambdaMART
from rankloop.search import Analyser, Features, Index, first
from results import benchmark, record
from search import SEED, STOPPED, TOKENS, VOCABULARY, content_queries, spelt

K, TREES, QUERIES, TITLE = 1000, 500, 200, 6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with nullcontext(asked.folder) if asked.folder else tempfile.TemporaryDirectory() as folder:
        report(*corpus(Path(folder), asked.documents))


def corpus(folder: Path, documents: int) -> tuple[Index, list[str]]:
    """An index of words drawn by Zipf's law, in one segment, and queries of words that a document has.

    An index of as many documents that the folder has is used as it is.
    """
    rng = np.random.default_rng(SEED)
    share = 1 / np.arange(1, VOCABULARY + 1) ** 1.07
    tokens = rng.choice(VOCABULARY, (documents, TOKENS), p=share / share.sum())
    words = np.array([spelt(i) for i in range(VOCABULARY)])
    queries = content_queries(rng, tokens, words, STOPPED, QUERIES)
    if (folder / "latency").is_dir() and len(made := Index.open(folder / "latency")) == documents:
        return made, queries
    fields = {"title": "text", "body": "text", "price": "number"}
    index = Index.create(folder / "latency", fields, analyser=Analyser(None))
    index.add(
        {"id": i, "title": " ".join(words[row[:TITLE]]), "body": " ".join(words[row[TITLE:]]), "price": i}
        for i, row in enumerate(tokens)
    )
    index.commit()
    index.compact()
    return index, queries


def report(index: Index, queries: list[str]) -> None:
    retrieve, every = index.retriever(k=K), Features.standard(index)
    sixty = Features(every.names[:60])
    rng = np.random.default_rng(SEED)
    index.check()
    X = np.concatenate([every.matrix(retrieve(query)) for query in queries[:20]])
    y = rng.integers(0, 5, len(X))  # random labels: only the size of the model matters here
    pages = []
    for features in (sixty, every):
        data = RankingDataset(
            X[:, : len(features)], y, np.arange(len(X)) // 100, feature_names=features.names
        )
        ranker = LambdaMART(trees=TREES, leaves=31, threads=1).fit(data)
        pages.append(retrieve >> features >> ranker >> first(10))
        pages[-1](queries[0])
    fewer, search = pages
    stages: dict[str, list[float]] = {}
    for query in queries:
        clock = [time.process_time()]
        found = retrieve(query)
        clock.append(time.process_time())
        sixty.matrix(found)
        clock.append(time.process_time())
        described = every(found)
        clock.append(time.process_time())
        search.stages[2](described)
        clock.append(time.process_time())
        fewer(query)
        clock.append(time.process_time())
        search(query)
        clock.append(time.process_time())
        names = (
            "retrieve",
            "60 features",
            f"all {len(every)} features",
            f"rank, {TREES} trees",
            "whole pipeline, 60 features",
            "whole pipeline",
        )
        for name, took in zip(names, np.diff(clock).tolist(), strict=True):
            stages.setdefault(name, []).append(took)
    print(f"{K:,} of {len(index):,} documents, {len(queries)} queries, one thread, CPU time")
    print(f"{'':<24}{'p50 ms':>9}{'p99 ms':>9}")
    for name, took in stages.items():
        p50, p99 = np.percentile(took, [50, 99]) * 1e3
        record(f"{len(index)} documents", stage=name, p50=p50, p99=p99)
        print(f"{name:<24}{p50:>9.2f}{p99:>9.2f}", flush=True)


if __name__ == "__main__":
    benchmark(main)
