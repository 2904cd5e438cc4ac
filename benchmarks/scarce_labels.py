"""Few labels, many lists: networks pretrained without labels (SimCLR-Rank) beside trees.

[RANKLOOP_DATA=...] python benchmarks/scarce_labels.py [--queries n] [--draws n] [--share .01]

Every ranker sees the labels of the same share of the training queries, drawn several times; pretraining sees
the features of all training queries and no label. Nothing is tuned or stopped early, since so few labels
leave none to do it with: trees run with their defaults and with small ones for little data. The table has
the mean over draws of NDCG@10 on held-out queries, and the paired difference from the better trees, whose
interval resamples queries (values averaged over the draws). The last row has all labels. Synthetic lists, and
MSRD movies with the features of `search_quality.py` on judged lists of the validation part.
"""

import argparse
import gzip
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from rankloop.data import RankingDataset, synthetic
from rankloop.metrics import metric
from rankloop.rankers import LambdaMART, LinearRanker, NeuralRanker, Ranker, pretrain
from rankloop.search import Features, Query, generic_words
from results import benchmark, record
from search import movies as read_movies
from search_quality import FAMILIES, movie_index, split, year_named

QUERIES, HELD_OUT, SHARE, DRAWS, RESAMPLES, SEED = 1_000, 300, 0.01, 5, 2_000, 0
NDCG = "ndcg@10"
NETWORK = {"hidden": (128, 64), "epochs": 30, "device": "cpu", "threads": 1}
SMALL = {"trees": 50, "leaves": 7, "learning_rate": 0.05, "min_sum_hessian": 0.1, "threads": 1}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=QUERIES, help="for training, with and without labels")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--share", type=float, default=SHARE, help="of the training queries with labels")
    options = parser.parse_args()
    whole = synthetic(n_queries=options.queries + HELD_OUT, docs_per_query=20, n_features=30, seed=SEED)
    first = np.arange(options.queries)
    table("synthetic", whole.select(first), whole.select(options.queries + np.arange(HELD_OUT)), options)
    if os.environ.get("RANKLOOP_DATA"):
        table("movies", *movies(Path(os.environ["RANKLOOP_DATA"]) / "msrd_movies", options.queries), options)


def table(name: str, train: RankingDataset, held_out: RankingDataset, options: argparse.Namespace) -> None:
    labelled = max(2, round(options.share * train.n_queries))
    print(
        f"\n{name}: {train.n_queries:,} lists without labels, {train.n_features} features; {labelled} "
        f"queries with labels, {options.draws} draws; {held_out.n_queries} held out\n"
        f"{'':<38}{'ndcg@10':>8}{'less the better trees':>30}{'s':>7}",
        flush=True,
    )
    started = time.process_time()
    base = pretrain(NeuralRanker(seed=SEED, **NETWORK), train)
    before = time.process_time() - started
    rankers = {
        "LambdaMART": LambdaMART(threads=1, seed=SEED),
        "LambdaMART, small": LambdaMART(seed=SEED, **SMALL),
        "linear": LinearRanker(),
        "network": NeuralRanker(seed=SEED, **NETWORK),
        "network, pretrained (SimCLR-Rank)": NeuralRanker(seed=SEED, init=base, **NETWORK),
    }
    values, took = {}, {}
    for who, ranker in rankers.items():
        started = time.process_time()
        values[who] = np.mean(
            [
                quality(ranker, train.select(few(train, labelled, draw)), held_out)
                for draw in range(options.draws)
            ],
            axis=0,
        )
        took[who] = (time.process_time() - started) / options.draws
    took["network, pretrained (SimCLR-Rank)"] += before
    trees = max(("LambdaMART", "LambdaMART, small"), key=lambda who: np.nanmean(values[who]))
    started = time.process_time()
    values["LambdaMART, all labels"] = quality(rankers["LambdaMART"], train, held_out)
    took["LambdaMART, all labels"] = time.process_time() - started
    for who, own in values.items():
        against = "" if who == trees else interval(own - values[trees])
        record(name, who=who, ndcg=np.nanmean(own), against=against, seconds=took[who])
        print(f"{who:<38}{np.nanmean(own):>8.4f}{against:>30}{took[who]:>7.1f}", flush=True)


def few(train: RankingDataset, labelled: int, draw: int) -> np.ndarray:
    """Queries with labels, among those that have an order."""
    low, high = (
        np.minimum.reduceat(train.y, train.offsets[:-1]),
        np.maximum.reduceat(train.y, train.offsets[:-1]),
    )
    return np.sort(
        np.random.default_rng([SEED, draw]).choice(np.flatnonzero(high > low), labelled, replace=False)
    )


def quality(ranker: Ranker, train: RankingDataset, held_out: RankingDataset) -> np.ndarray:
    return metric(NDCG)(ranker.fit(train).predict(held_out), held_out.y, held_out.offsets)


def interval(differences: np.ndarray) -> str:
    known = differences[~np.isnan(differences)]
    rng = np.random.default_rng(SEED)
    means = [rng.choice(known, len(known)).mean() for _ in range(RESAMPLES)]
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{known.mean():+.4f} [{low:+.4f}, {high:+.4f}]"


def movies(data: Path, queries: int) -> tuple[RankingDataset, RankingDataset]:
    """Judged lists of training queries, and of queries of the validation part."""
    _, texts, qrels = read_movies(data)
    parts = split(sorted(texts), 10**9)
    with gzip.open(data / "movies-corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        documents = [
            {name: value for name, value in json.loads(line).items() if value is not None and name != "url"}
            for line in file
        ]
    chosen = {
        name: {qid: Query.of_words(texts[qid]) for qid in parts[name][:most]}
        for name, most in (("train", queries), ("valid", HELD_OUT))
    }
    titles = {one["id"]: one["title"] for one in documents}
    with tempfile.TemporaryDirectory() as folder:
        index = movie_index(Path(folder) / "movies", documents, generic_words(chosen["train"], qrels, titles))
        every = Features.standard(index, more=[year_named])
        features = every.without(*(name for name in every.names if name.split("(")[0] not in FAMILIES))
        search = index.retriever() >> features
        train, held_out = (search.dataset(some, qrels, among="judged") for some in chosen.values())
    return train, held_out


if __name__ == "__main__":
    benchmark(main)
