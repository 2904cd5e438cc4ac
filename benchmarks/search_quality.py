"""Quality of learned search: movies (60/20/20 by query) and Cranfield (five folds), with intervals.

RANKLOOP_DATA=... python benchmarks/search_quality.py [--part valid | test] [--queries n] [--peers]

Dense similarity comes from the static embedding of the package wordllama (extra `encoders`), which saw no
judgments. Choices are made on the train and valid parts; the test part is scored once per method. Movies were
judged among the first results of a BM25 much like ours (92 % of the judged documents are in its first 24, no
relevant one is below rank 36): its recall reflects how the pool was made, and full retrieval counts unjudged
documents as not relevant.
"""

import argparse
import gzip
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.metrics import compare, evaluate
from rankloop.rankers import Ensemble, LambdaMART, LinearRanker, NeuralRanker, Ranker
from rankloop.search import BM25F, Analyser, Candidates, Features, Field, Index, Query, generic_words
from rankloop.search.encoders import wordllama
from results import benchmark, record
from search import cranfield as read_cranfield
from search import movies as read_movies

SEED, SHARES, POOL, NEAR, FOLDS = 0, (0.6, 0.8), 100, 50, 5
NDCG = "ndcg(gain=linear)@10"
NUMBERS = ("year", "votes", "rating", "popularity", "budget")
TEXTS = ("title", "overview", "tags", "genres", "director", "actors", "characters")
FAMILIES = {
    "covered", "covered_ratio", "covered_idf", "length", "cosine", "bm25", "lm_dirichlet", "tf_sum",
    "tfidf_sum", "tfidf_max", "tf_length_sum", "ordered", "phrase", "first", "value", "year_named",
    "query_length", "boolean", "similarity",
}  # fmt: skip
FEW = ("bm25", "lm_dirichlet", "cosine", "covered_idf", "ordered", "unordered")  # for 180 queries
EMBEDDED = ("title", "overview", "tags", "genres")  # the text that is embedded as the vector of a film
TREES = {"trees": 100, "leaves": 31, "learning_rate": 0.1, "feature_fraction": 0.4, "max_bins": 127}
NETWORK = {"scorer": "mlp", "loss": "softmax", "metric": NDCG, "epochs": 30, "patience": 5, "seed": SEED}
TUNED = 500  # training queries are enough for two weights
_YEAR = re.compile(r"(?:19|20)\d\d")


def year_named(found: Candidates) -> np.ndarray | float:
    """1 if the query names the year of the film, -1 if it names another one"""
    years = {float(year) for year in _YEAR.findall(found.query.text)}
    return np.where(np.isin(found.numbers("year"), list(years)), 1.0, -1.0) if years else 0.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=("valid", "test"), default="valid")
    parser.add_argument("--queries", type=int, default=10**9, help="at most so many per part")
    parser.add_argument(
        "--peers",
        action="store_true",
        help="every kind of ranker, the tree libraries' own objectives, hybrid retrieval",
    )
    options = parser.parse_args()
    data = Path(os.environ["RANKLOOP_DATA"])
    with tempfile.TemporaryDirectory() as folder:
        cranfield(data / "cranfield", Path(folder))
        movies(data / "msrd_movies", Path(folder), options.part, options.queries, options.peers)


def movies(data: Path, folder: Path, part: str, most: int, peers: bool) -> None:
    _, texts, qrels = read_movies(data)
    queries = {qid: Query.of_words(text) for qid, text in texts.items()}
    parts = split(sorted(queries), most)
    with gzip.open(data / "movies-corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        read = [json.loads(line) for line in file]
    documents = [{k: v for k, v in d.items() if v is not None and k != "url"} for d in read]
    train = {qid: queries[qid] for qid in parts["train"]}
    generic = generic_words(train, qrels, {d["id"]: d["title"] for d in documents})
    encoder = wordllama()
    embedded = [" ".join(str(d.get(field, "")) for field in EMBEDDED) for d in documents]
    for document, vector in zip(documents, encoder.encode(embedded), strict=True):
        document["meaning"] = vector
    index = movie_index(folder / "movies", documents, generic)
    every = Features.standard(index, encoders={"meaning": encoder}, more=[year_named])
    features = every.without(*(name for name in every.names if name.split("(")[0] not in FAMILIES))
    words = Features([f"bm25({field})" for field in TEXTS])
    retrieve = index.retriever(k=POOL)
    sizes = ", ".join(f"{name} {len(part)}" for name, part in parts.items())
    print(f"\nmovies: {len(index):,} documents; queries: {sizes}; {len(features)} features; the {part} part")

    def lists(name: str, described: Features, among: str, most: int = 10**9):
        some = {qid: queries[qid] for qid in parts[name][:most]}
        return (index.retriever(k=NEAR) >> described).dataset(some, qrels, among=among)

    measured = {qid: queries[qid] for qid in parts[part]}
    judged_only = [lists(name, features, "judged") for name in ("train", "valid")]
    few = [lists(name, words, "judged") for name in ("train", "valid")]
    with_pool = [lists("train", features, "retrieved", 2500), lists("valid", features, "retrieved", 500)]
    rankers = {"BM25 per field, weights learned": (words, LinearRanker(loss="ranknet").fit(*few))}
    forest = trees("lambdarank").fit(*judged_only)
    if peers:
        lexical = features.without("similarity(meaning)")
        plain = [lists(name, lexical, "judged") for name in ("train", "valid")]
        network = NeuralRanker(**NETWORK).fit(*judged_only)
        rankers |= {
            "linear, all features": (features, LinearRanker(loss="ranknet").fit(*judged_only)),
            "network, listwise softmax": (features, network),
            "trees, LightGBM's lambdarank": (features, trees("backend:lambdarank").fit(*judged_only)),
            "trees, XGBoost's rank:ndcg": (features, trees("backend:rank:ndcg", "xgboost").fit(*judged_only)),
            "trees without dense similarity": (lexical, trees("lambdarank").fit(*plain)),
            "trees and network": (features, Ensemble([forest, network], prefit=True)),
        }
    rankers["trees, learned on retrieved lists"] = (features, trees("lambdarank").fit(*with_pool))
    rankers["trees, learned on judged lists"] = (features, forest)
    whole = index.retriever(k=POOL, model=BM25F(length="whole", fields=dict.fromkeys(TEXTS, 1.0)))
    judged = {qid: qrels[qid] for qid in measured}
    again, full, recall = {"BM25, one merged field": {}}, {"BM25, one merged field": {}}, []
    described_by = dict.fromkeys(described for described, _ in rankers.values())
    hybrids = hybrid(index, encoder, train, qrels) if peers else {}
    for qid, query in measured.items():
        known = [id for id in judged[qid] if id in index]
        scores = whole.score(query, known)
        again["BM25, one merged field"][qid] = dict(zip(known, scores.tolist(), strict=True))
        full["BM25, one merged field"][qid] = as_run(whole(query))
        listed, found = Candidates.of(query, index.snapshot, known), retrieve(query)
        relevant = {id for id, grade in judged[qid].items() if grade > 0}
        recall.append(len(relevant & set(found.ids.tolist())) / len(relevant))
        for name, both in hybrids.items():
            full.setdefault(name, {})[qid] = as_run(both(query))
        rows = {each: (each.matrix(listed), each.matrix(found)) for each in described_by}
        for name, (described, ranker) in rankers.items():
            inside, outside = rows[described]
            again.setdefault(name, {})[qid] = as_run(listed.scored(one_list(ranker, inside)))
            full.setdefault(name, {})[qid] = as_run(
                found.scored(one_list(ranker, outside)) if len(found) else found
            )
    print(f"recall@{POOL} of the candidates (equal weights): {np.mean(recall):.4f}")
    table("movies, judged", "re-ranking the judged lists", again, judged)
    table("movies, full", f"full retrieval, {POOL} candidates, unjudged = 0", full, judged)


def trees(loss: str, backend: str = "lightgbm") -> LambdaMART:
    settings = {"metric": NDCG, "patience": 30, "min_sum_hessian": 1.0, "seed": SEED, **TREES}
    return LambdaMART(loss=loss, backend=backend, **settings)


def hybrid(index: Index, encoder: Any, queries: dict[str, Query], qrels: dict) -> dict[str, Any]:
    """Words and vectors fused over the whole pool: weights tuned on training queries, and by rank alone."""
    some = dict(list(queries.items())[:TUNED])
    both = index.retriever(k=POOL, vectors={"meaning": encoder})
    ranks = index.retriever(k=POOL, vectors={"meaning": encoder}, fusion="rrf")
    return {"words and vectors, weights tuned": both.tune(some, qrels), "words and vectors, RRF": ranks}


def one_list(ranker: Ranker, X: np.ndarray) -> np.ndarray:
    return ranker.predict(X, qid=np.zeros(len(X), np.int64))


def as_run(found: Candidates) -> dict:
    ids = found.ids.tolist()
    return {id: float(len(ids) - at) for at, id in enumerate(ids)}


def table(kept: str, title: str, runs: dict[str, dict], judged: dict) -> None:
    print(f"\n{title}\n{'':<36}{'ndcg@10':>9}{'95 % interval':>20}{'against the last row':>42}")
    best = list(runs)[-1]
    verdicts = compare(runs, judged, NDCG, baseline=best).verdicts[NDCG]
    for name, run in runs.items():
        found = evaluate(run, judged, [NDCG])
        low, high = found.interval[NDCG]
        against = ""
        if name != best:
            v = verdicts[name]
            against = f"{v.difference:+.4f} [{v.low:+.4f}, {v.high:+.4f}] p {v.p_holm:.4f}"
        holm = None if name == best else verdicts[name].p_holm
        record(kept, who=name, ndcg=found.mean[NDCG], low=low, high=high, p=holm)
        print(f"{name:<36}{found.mean[NDCG]:>9.4f}{f'[{low:.4f}, {high:.4f}]':>20}{against:>42}", flush=True)


def split(qids: list[str], most: int) -> dict[str, list[str]]:
    order = np.random.default_rng(SEED).permutation(len(qids))
    cuts = [int(share * len(qids)) for share in SHARES]
    parts = dict(zip(("train", "valid", "test"), np.split(order, cuts), strict=True))
    return {name: [qids[i] for i in part[:most]] for name, part in parts.items()}


def movie_index(folder: Path, documents: list[dict], generic: tuple[str, ...]) -> Index:
    index = Index.create(
        folder,
        {
            **dict.fromkeys(TEXTS, "text"),
            "named": Field("text", source="title", analyser=Analyser(None, stop_words=generic)),
            "letters": Field("text", source="title", analyser=Analyser(grams=(3, 3), stop_words=generic)),
            **dict.fromkeys(NUMBERS, "number"),
            "meaning": "vector:256",
        },
    )
    index.add(documents)
    index.commit()
    return index


def cranfield(data: Path, folder: Path) -> None:
    documents, texts, qrels = read_cranfield(data)
    queries = {qid: Query.of_words(text) for qid, text in texts.items()}
    index = Index.create(folder / "cranfield", {"body": "text"})
    index.add(documents)
    index.commit()
    retrieve = index.retriever(k=POOL)
    features = Features([f"{family}(body)" for family in FEW])
    order = np.random.default_rng(SEED).permutation(sorted(queries))
    runs: dict[str, dict] = {"BM25": {}, "trees, our lambdarank": {}, "linear, few features": {}}
    for fold in np.array_split(order, FOLDS):
        rest = {qid: queries[qid] for qid in queries if qid not in set(fold.tolist())}
        learn = (retrieve >> features).dataset(rest, qrels, among="retrieved")
        linear = LinearRanker(loss="ranknet", l2=1e-3).fit(learn)
        forest = LambdaMART(trees=60, leaves=7, learning_rate=0.05, min_sum_hessian=5.0).fit(learn)
        for qid in fold.tolist():
            found = features(retrieve(queries[qid]))
            X = found.columns["features"]
            runs["BM25"][qid] = as_run(found)
            runs["linear, few features"][qid] = as_run(found.scored(linear.predict(X)))
            runs["trees, our lambdarank"][qid] = as_run(found.scored(forest.predict(X)))
    print(f"Cranfield: {len(index):,} documents, {len(queries)} queries, {FOLDS} folds by query")
    table("cranfield", f"full retrieval, {POOL} candidates, unjudged = 0", runs, qrels)


if __name__ == "__main__":
    benchmark(main)
