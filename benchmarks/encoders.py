"""Encoders with our training: the first results of BM25 on MSRD movies, ordered again by vectors.

python benchmarks/encoders.py LISTS [--part valid | test] [--queries n] [--first n] [--trained n] [--epochs n]

LISTS is written by `text.py --lists`. MiniLM in single precision (`rankloop encoders get minilm-full`) reads
what the cross-encoder reads of a film, up to 64 tokens: one vector per text as it comes, the same after
training as a `TwoTower` (InfoNCE, hard negatives of the index, one relevant film per training query), and all
vectors of tokens with MaxSim (`LateInteraction`), before and after the same training. Sums with BM25 have one
weight, chosen on training queries. The budget is that of a CPU: few queries, one thread.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from cross_encoders import read_lists
from rankloop.metrics import compare, evaluate
from rankloop.search import Candidates, Index, LateInteraction, Query, TwoTower, tune_weights
from rankloop.search.retriever import unit_scores

NDCG = "ndcg(gain=linear)@10"
TOKENS, NEGATIVES, BATCH, RATE, SEED = 64, 3, 64, 3e-5, 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("lists", type=Path)
    parser.add_argument("--checkpoint", default="minilm")
    parser.add_argument("--part", choices=("valid", "test"), default="valid")
    parser.add_argument("--queries", type=int, default=150, help="that are measured")
    parser.add_argument("--weights", type=int, default=50, help="training queries for the weight of BM25")
    parser.add_argument("--first", type=int, default=30, help="results of BM25 that are ordered again")
    parser.add_argument("--trained", type=int, default=400, help="training queries of the bi-encoder")
    parser.add_argument("--epochs", type=int, default=1)
    options = parser.parse_args()
    lists, documents = read_lists(options.lists)
    with tempfile.TemporaryDirectory() as folder:
        index = Index.create(Path(folder) / "films", {"text": "text"})
        index.add({"id": id, "text": text} for id, text in documents.items())
        index.commit()
        table(index, lists, documents, options)


def table(index: Index, lists: dict, documents: dict, options: argparse.Namespace) -> None:
    train, measured = lists["train"], lists[options.part].select(np.arange(options.queries))
    # The bi-encoder learns from other queries than the weight.
    tuned = train.select(np.arange(options.weights))
    learned = train.select(np.arange(options.weights, options.weights + options.trained))
    print(
        f"{measured.n_queries} queries of the {options.part} part, the first {options.first} of tuned BM25; "
        f"{learned.n_queries} queries, {options.epochs} epochs to train",
        flush=True,
    )
    settings = {"tokens": TOKENS, "negatives": NEGATIVES, "batch": BATCH, "learning_rate": RATE, "seed": SEED}
    as_it_comes, trained = (
        TwoTower(options.checkpoint, epochs=epochs, device="cpu", **settings).fit(*judged(index, some))
        for epochs, some in ((0, learned.select(np.arange(2))), (options.epochs, learned))
    )
    print(f"loss of each epoch: {[round(one, 3) for one in trained.losses_]}", flush=True)
    given = (tuned, measured)
    bm25 = [[1.0 / (1 + np.arange(n)) for n in np.minimum(one.lengths, options.first)] for one in given]
    rows = {
        "MiniLM, a vector per film": [
            by_vectors(as_it_comes, one, documents, options.first) for one in given
        ],
        "bi-encoder": [by_vectors(trained, one, documents, options.first) for one in given],
        "late interaction": [by_tokens(as_it_comes, index, one, options.first) for one in given],
        "late interaction, bi-encoder": [by_tokens(trained, index, one, options.first) for one in given],
    }
    orders = {"BM25, tuned fields": bm25[1]} | {name: found for name, (_, found) in rows.items()}
    labels = [grades[: options.first] for grades in np.split(tuned.y, tuned.offsets[1:-1])]
    for name, (before, found) in rows.items():
        pools = [{"bm25": a, "vectors": unit_scores(b)} for a, b in zip(bm25[0], before, strict=True)]
        weights, _ = tune_weights(pools, labels)
        orders[f"{name}, and BM25"] = [
            weights["bm25"] * a + weights["vectors"] * unit_scores(b)
            for a, b in zip(bm25[1], found, strict=True)
        ]
    report(orders, measured, lists[f"judged_{options.part}"], options.first)
    late = LateInteraction(options.checkpoint, tokens=TOKENS, device="cpu")
    late._encoder = as_it_comes.encoder_
    few = Index.create(Path(tempfile.mkdtemp()) / "few", {"text": "text"})
    few.add({"id": id, "text": text} for id, text in list(documents.items())[:200])
    few.commit()
    print(f"token vectors: {late.add(few).bytes_per_document:,.0f} bytes a film")


def judged(index: Index, lists) -> tuple[Index, dict, dict]:
    """Each query with one relevant film."""
    rng = np.random.default_rng(SEED)
    queries, qrels = {}, {}
    for at, qid in enumerate(lists.qid.tolist()):
        inside = slice(lists.offsets[at], lists.offsets[at + 1])
        relevant = lists.docid[inside][lists.y[inside] > 0]
        if len(relevant):
            queries[qid] = Query.of_words(lists.query_text[at])
            qrels[qid] = {str(rng.choice(relevant)): 1.0}
    return index, queries, qrels


def listed(lists, first: int):
    """The text and the first films of each query."""
    for at, text in enumerate(lists.query_text.tolist()):
        low, high = int(lists.offsets[at]), int(lists.offsets[at + 1])
        yield text, lists.docid[low : min(high, low + first)].tolist()


def by_vectors(tower: TwoTower, lists, documents: dict, first: int) -> list[np.ndarray]:
    ids = sorted({id for _, some in listed(lists, first) for id in some})
    vectors = dict(zip(ids, tower.encode_documents([{"text": documents[id]} for id in ids]), strict=True))
    queries = tower.encode_queries(lists.query_text.tolist())
    return [
        np.array([vectors[id] for id in some]) @ query
        for query, (_, some) in zip(queries, listed(lists, first), strict=True)
    ]


def by_tokens(tower: TwoTower, index: Index, lists, first: int) -> list[np.ndarray]:
    late = LateInteraction("minilm", fields=["text"], tokens=TOKENS, device="cpu")
    late._encoder = tower.encoder_
    return [
        late.scores(Candidates.of(Query.of_words(text), index.snapshot, some))
        for text, some in listed(lists, first)
    ]


def report(orders: dict, lists, judgments, first: int) -> None:
    runs: dict[str, dict] = {name: {} for name in orders}
    wanted, grades = set(lists.qid.tolist()), {}
    for at, qid in enumerate(judgments.qid.tolist()):
        if qid in wanted:
            inside = slice(judgments.offsets[at], judgments.offsets[at + 1])
            grades[qid] = dict(
                zip(judgments.docid[inside].tolist(), judgments.y[inside].tolist(), strict=True)
            )
    for at, (qid, (_, some)) in enumerate(zip(lists.qid.tolist(), listed(lists, first), strict=True)):
        for name, scores in orders.items():
            runs[name][qid] = dict(zip(some, scores[at].tolist(), strict=True))
    verdicts = compare(runs, grades, NDCG).verdicts[NDCG]
    print(f"{'':<42}{'ndcg@10':>8}{'95 % interval':>19}{'less BM25':>28}")
    for name, run in runs.items():
        found = evaluate(run, grades, [NDCG])
        low, high = found.interval[NDCG]
        v = verdicts.get(name)
        against = f"{v.difference:+.4f} [{v.low:+.4f}, {v.high:+.4f}]" if v else ""
        print(f"{name:<42}{found.mean[NDCG]:>8.4f}{f'[{low:.4f}, {high:.4f}]':>19}{against:>28}", flush=True)


if __name__ == "__main__":
    main()
