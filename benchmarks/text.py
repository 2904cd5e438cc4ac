"""Search by meaning: MSRD movies, BM25 beside MiniLM and hybrids of both.

RANKLOOP_DATA=... python benchmarks/text.py [--part valid | test] [--queries n] [--skip n] [--tuned n]
    [--hybrids]                     only BM25 beside hybrids, among them linear ones with learned weights

The encoder is all-MiniLM-L6-v2 with int8 weights (`rankloop encoders get minilm`), which saw no judgments.
What reads the candidates (cross-encoders, late interaction, trees) is measured by `text_reranking.py`.
Queries are split as in `search_quality.py`; weights are tuned on training queries, and the part that is
measured is searched once per row. Movies were judged among the first results of a BM25 much like ours: what
only the encoder finds was mostly never judged and counts as irrelevant. The column judged@10 says how much
that is, and the condensed lists leave such documents out.
"""

import argparse
import gzip
import json
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.metrics import compare, evaluate
from rankloop.rankers import LinearRanker
from rankloop.search import (
    BM25,
    BM25F,
    Candidates,
    Features,
    HybridWeights,
    Index,
    Query,
    Retriever,
    hybrid_features,
    rm3,
    tune_weights,
)
from rankloop.search.encoders import OnnxEncoder, open_encoder
from results import benchmark, record
from search import movies as read_movies
from search_quality import NDCG, POOL, TEXTS, as_run, split

LONG = ("title", "overview", "tags", "genres")  # the text of the field `meaning`; `named` has the title alone
HYBRIDS = {"title": ["named"], "text": ["meaning"], "title and text": ["named", "meaning"]}
FIELDS_TUNED = 500  # training queries for the weights of fields: on validation better than 1,000
WORDS = BM25F(length="whole", fields=dict.fromkeys(TEXTS, 1.0))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=("valid", "test"), default="valid")
    parser.add_argument("--queries", type=int, default=10**9, help="at most so many are measured")
    parser.add_argument("--skip", type=int, default=0, help="queries of the part that are left out")
    parser.add_argument("--hybrids", action="store_true", help="only BM25 beside hybrids of title and text")
    parser.add_argument("--tuned", type=int, default=1000, help="training queries for weights of sources")
    parser.add_argument(
        "--titles", action="store_true", help="encode titles alone, which is ten times faster"
    )
    options = parser.parse_args()
    data = Path(os.environ["RANKLOOP_DATA"]) / "msrd_movies"
    _, texts, qrels = read_movies(data)
    parts = split(sorted(texts), 10**9)
    train = {qid: Query.of_words(texts[qid]) for qid in parts["train"][: options.tuned]}
    chosen = parts[options.part][options.skip :][: options.queries]
    measured = {qid: Query.of_words(texts[qid]) for qid in chosen}
    with tempfile.TemporaryDirectory() as folder:
        encoder = open_encoder("minilm")
        index = movie_index(Path(folder) / "movies", data, encoder, options.titles)
        print(
            f"\nmovies: {len(index):,} documents; {len(measured):,} queries of the {options.part} part; "
            f"weights learned on {len(train):,} training queries, those of fields on {FIELDS_TUNED}; {POOL} "
            "candidates a source"
        )
        judged = {qid: qrels[qid] for qid in measured}
        if options.hybrids:
            best = tuned_fields(index, dict(list(train.items())[:FIELDS_TUNED]), qrels)
            show("hybrids", hybrids(index, encoder, best, train, qrels), measured, judged)
            return
        show("retrieval", retrievers(index, encoder, train, qrels), measured, judged)
        judged_lists(index, encoder, measured, judged)


def encoded(index: Index) -> dict[str, str]:
    """The rows of the table by the vector fields that the index has."""
    every = {"named": "MiniLM, title", "meaning": "MiniLM, title and text"}
    return {field: name for field, name in every.items() if field in index.fields}


def movie_index(folder: Path, data: Path, encoder: OnnxEncoder, titles: bool) -> Index:
    documents = documents_of(data)
    kept = encoder.cache()  # in RANKLOOP_VECTORS: a second run computes none of them
    vectors = {"named": encoder.encode([str(one.get("title") or "") for one in documents], cache=kept)}
    if not titles:
        vectors["meaning"] = encoder.encode([joined(one, LONG) for one in documents], cache=kept)
    dimension = encoder.dimension
    fields = {**dict.fromkeys(TEXTS, "text"), **dict.fromkeys(vectors, f"vector:{dimension}")}
    index = Index.create(folder, fields)
    index.add(
        {"id": one["id"]}
        | {name: one[name] for name in TEXTS if one.get(name) is not None}
        | {name: rows[at] for name, rows in vectors.items()}
        for at, one in enumerate(documents)
    )
    index.commit()
    return index


def joined(film: dict, fields: Sequence[str]) -> str:
    return " ".join(str(film.get(field) or "") for field in fields)


def retrievers(index: Index, encoder: OnnxEncoder, train: dict, qrels: dict) -> dict[str, Any]:
    def by(*fields: str, words: bool = True) -> Retriever:
        return index.retriever(k=POOL, model=best, words=words, vectors=dict.fromkeys(fields, encoder))

    best = tuned_fields(index, dict(list(train.items())[:FIELDS_TUNED]), qrels)

    made: dict[str, Any] = {
        "BM25, tuned fields": by(),
        "BM25, one merged field": index.retriever(k=POOL, model=WORDS, vectors={}),
        "BM25 with feedback (RM3)": rm3(by()),
        **{name: by(field, words=False) for field, name in encoded(index).items()},
    }
    for name, fields in HYBRIDS.items():
        if not set(fields) <= set(index.fields):
            continue
        both = by(*fields).tune(train, qrels)
        shares = ", ".join(f"{source} {weight:.2f}" for source, weight in (both.weights or {}).items())
        print(f"hybrid with {name}: {shares}", flush=True)
        made[f"hybrid, BM25 and {name}"] = both
        each = HybridWeights().fit(both, train, qrels)
        told(each)
        made[f"the same with {name}, guarded"] = both >> each
    return made


def hybrids(index: Index, encoder: OnnxEncoder, best: BM25, train: dict, qrels: dict) -> dict[str, Any]:
    """One weight a source; weights per query; and weights of fields over words' candidates."""
    vectors = dict.fromkeys(encoded(index), encoder)
    words = index.retriever(k=POOL, model=best, vectors={})
    both = index.retriever(k=POOL, model=best, vectors=vectors).tune(train, qrels)
    each = both >> HybridWeights()
    told(each.fit(train, qrels).stages[1])
    learned = words >> hybrid_features(index, encoders=vectors) >> LinearRanker(loss="lambdarank")
    return {
        "BM25, tuned fields": words,
        "hybrid, one weight a source": both,
        "hybrid, weights per query, guarded": each,
        "hybrid, learned, words' candidates": learned.fit(train, qrels, among="retrieved"),
    }


def told(weights: HybridWeights) -> None:
    """What the guard saw on held-out training queries, and what serves."""
    v, serves = weights.verdict_, "single weights" if weights.ranker_ is None else "weights per query"
    print(
        f"  per query, held out: {v.difference:+.4f} [{v.low:+.4f}, {v.high:+.4f}]; {serves} serve",
        flush=True,
    )


def show(table: str, rows: dict[str, Any], measured: dict, judged: dict) -> None:
    runs, took = {}, {}
    for name, search in rows.items():
        started = time.perf_counter()
        runs[name] = {qid: as_run(search(query)) for qid, query in measured.items()}
        took[name] = 1000 * (time.perf_counter() - started) / len(measured)
    print(f"\nfull retrieval, unjudged = 0; milliseconds a query with the encoding of the query\n{HEAD}")
    verdicts = compare(runs, judged, NDCG).verdicts[NDCG]
    for name, run in runs.items():
        found = evaluate(run, judged, [NDCG, "judged@10"])
        condensed = evaluate(run, judged, [NDCG], condensed=True).mean[NDCG]
        low, high = found.interval[NDCG]
        shown = found.mean["judged@10"]
        against = difference(verdicts.get(name))
        record(
            table,
            who=name,
            ndcg=found.mean[NDCG],
            low=low,
            high=high,
            against=against,
            judged=shown,
            condensed=condensed,
            ms=took[name],
        )
        print(
            f"{name:<42}{found.mean[NDCG]:>8.4f}{f'[{low:.4f}, {high:.4f}]':>19}{against:>28}"
            f"{shown:>8.3f}{condensed:>10.4f}{took[name]:>7.1f}",
            flush=True,
        )


def difference(verdict: Any) -> str:
    """What a row has more than the first one, with its interval; nothing for the first one itself."""
    return f"{verdict.difference:+.4f} [{verdict.low:+.4f}, {verdict.high:+.4f}]" if verdict else ""


HEAD = (
    f"{'':<42}{'ndcg@10':>8}{'95 % interval':>19}{'less the first row':>28}{'judged':>8}{'condensed':>10}"
    f"{'ms':>7}"
)


def tuned_fields(index: Index, queries: dict, qrels: dict) -> BM25:
    """BM25 with the weights of fields that rank training queries best."""
    features = Features([f"bm25({field})" for field in TEXTS])
    pools, labels = [], []
    for qid, query in queries.items():
        found = index.retriever(k=POOL, vectors={})(query)
        if len(found):
            pools.append(dict(zip(TEXTS, features.matrix(found).T, strict=True)))
            labels.append([qrels[qid].get(id, 0) for id in found.ids.tolist()])
    weights, _ = tune_weights(pools, labels)
    print("weights of fields: " + ", ".join(f"{name} {one:.2f}" for name, one in weights.items()), flush=True)
    return BM25(fields={name: one for name, one in weights.items() if one > 0})


def judged_lists(index: Index, encoder: OnnxEncoder, measured: dict, judged: dict) -> None:
    """The judged documents of each query, ordered again: no document without judgment is there."""
    search = index.retriever(k=POOL, model=WORDS)
    runs: dict[str, dict] = {"BM25, one merged field": {}, **{name: {} for name in encoded(index).values()}}
    for qid, query in measured.items():
        known = [id for id in judged[qid] if id in index]
        runs["BM25, one merged field"][qid] = as_run(ordered(index, query, known, search.score(query, known)))
        for field, name in encoded(index).items():
            vectors = np.array([index[id][field] for id in known])
            runs[name][qid] = as_run(ordered(index, query, known, vectors @ encoder(query.plain)))
    print(f"\nre-ranking the judged lists\n{HEAD[:97]}")
    verdicts = compare(runs, judged, NDCG).verdicts[NDCG]
    for name, run in runs.items():
        found = evaluate(run, judged, [NDCG])
        low, high = found.interval[NDCG]
        against = difference(verdicts.get(name))
        record("judged lists", who=name, ndcg=found.mean[NDCG], low=low, high=high, against=against)
        print(f"{name:<42}{found.mean[NDCG]:>8.4f}{f'[{low:.4f}, {high:.4f}]':>19}{against:>28}")


def ordered(index: Index, query: Query, ids: list, scores: np.ndarray) -> Candidates:
    return Candidates.of(query, index.snapshot, ids).scored(scores)


def documents_of(data: Path) -> list[dict]:
    with gzip.open(data / "movies-corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


if __name__ == "__main__":
    benchmark(main)
