"""Search by meaning: MSRD movies, BM25 beside the MiniLM encoder and both together, with paired intervals.

RANKLOOP_DATA=... python benchmarks/text.py [--part valid | test] [--queries n] [--tuned n] [--titles]

The encoder is all-MiniLM-L6-v2 with int8 weights (`rankloop encoders get minilm`), which saw no judgments.
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
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.metrics import compare, evaluate
from rankloop.search import BM25F, Candidates, HybridWeights, Index, Query, Retriever, rm3
from rankloop.search.encoders import OnnxEncoder, open_encoder
from search import movies as read_movies
from search_quality import NDCG, POOL, TEXTS, as_run, split

LONG = ("title", "overview", "tags", "genres")  # the text of the field `meaning`; `named` has the title alone
HYBRIDS = {"title": ["named"], "text": ["meaning"], "title and text": ["named", "meaning"]}
WORDS = BM25F(length="whole", fields=dict.fromkeys(TEXTS, 1.0))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=("valid", "test"), default="valid")
    parser.add_argument("--queries", type=int, default=10**9, help="at most so many are measured")
    parser.add_argument("--tuned", type=int, default=500, help="training queries for weights")
    parser.add_argument(
        "--titles", action="store_true", help="encode titles alone, which is ten times faster"
    )
    options = parser.parse_args()
    data = Path(os.environ["RANKLOOP_DATA"]) / "msrd_movies"
    _, texts, qrels = read_movies(data)
    parts = split(sorted(texts), 10**9)
    train = {qid: Query.of_words(texts[qid]) for qid in parts["train"][: options.tuned]}
    measured = {qid: Query.of_words(texts[qid]) for qid in parts[options.part][: options.queries]}
    with tempfile.TemporaryDirectory() as folder:
        encoder = open_encoder("minilm")
        index = movie_index(Path(folder) / "movies", data, encoder, options.titles)
        print(
            f"\nmovies: {len(index):,} documents; {len(measured):,} queries of the {options.part} part; "
            f"weights tuned on {len(train):,} training queries; {POOL} candidates a source"
        )
        judged = {qid: qrels[qid] for qid in measured}
        rows = retrievers(index, encoder, train, qrels)
        show(rows, measured, judged)
        judged_lists(index, encoder, measured, judged)


def encoded(index: Index) -> dict[str, str]:
    """The rows of the table by the vector fields that the index has."""
    every = {"named": "MiniLM, title", "meaning": "MiniLM, title and text"}
    return {field: name for field, name in every.items() if field in index.fields}


def movie_index(folder: Path, data: Path, encoder: OnnxEncoder, titles: bool) -> Index:
    with gzip.open(data / "movies-corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    started = time.perf_counter()
    vectors = {"named": encoder.encode([str(one.get("title") or "") for one in documents])}
    if not titles:
        long = [" ".join(str(one.get(field) or "") for field in LONG) for one in documents]
        vectors["meaning"] = encoder.encode(long)
    seconds = time.perf_counter() - started
    print(f"encoding: {len(vectors) * len(documents) / seconds:.0f} texts a second", flush=True)
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


def retrievers(index: Index, encoder: OnnxEncoder, train: dict, qrels: dict) -> dict[str, Any]:
    def by(*fields: str, words: bool = True) -> Retriever:
        return index.retriever(k=POOL, model=WORDS, words=words, vectors=dict.fromkeys(fields, encoder))

    made: dict[str, Any] = {
        "BM25, one merged field": by(),
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
        each = HybridWeights(k=10).fit(both, train, qrels)
        v, serves = each.verdict_, "single weights" if each.ranker_ is None else "weights per query"
        print(
            f"  per query, held out: {v.difference:+.4f} [{v.low:+.4f}, {v.high:+.4f}]; {serves} serve",
            flush=True,
        )
        made[f"the same with {name}, guarded"] = both >> each
    return made


def show(rows: dict[str, Any], measured: dict, judged: dict) -> None:
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
        against = ""
        if name in verdicts:
            v = verdicts[name]
            against = f"{v.difference:+.4f} [{v.low:+.4f}, {v.high:+.4f}]"
        print(
            f"{name:<34}{found.mean[NDCG]:>8.4f}{f'[{low:.4f}, {high:.4f}]':>19}{against:>28}"
            f"{found.mean['judged@10']:>8.3f}{condensed:>10.4f}{took[name]:>7.1f}",
            flush=True,
        )


HEAD = (
    f"{'':<34}{'ndcg@10':>8}{'95 % interval':>19}{'less the first row':>28}{'judged':>8}{'condensed':>10}"
    f"{'ms':>7}"
)


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
    print(f"\nre-ranking the judged lists\n{HEAD[:89]}")
    verdicts = compare(runs, judged, NDCG).verdicts[NDCG]
    for name, run in runs.items():
        found = evaluate(run, judged, [NDCG])
        low, high = found.interval[NDCG]
        v = verdicts.get(name)
        against = f"{v.difference:+.4f} [{v.low:+.4f}, {v.high:+.4f}]" if v else ""
        print(f"{name:<34}{found.mean[NDCG]:>8.4f}{f'[{low:.4f}, {high:.4f}]':>19}{against:>28}")


def ordered(index: Index, query: Query, ids: list, scores: np.ndarray) -> Candidates:
    return Candidates.of(query, index.snapshot, ids).scored(scores)


if __name__ == "__main__":
    main()
