"""Search by meaning: MSRD movies, BM25 beside MiniLM, cross-encoders, and trees that learn from them.

RANKLOOP_DATA=... python benchmarks/text.py [--part valid | test] [--queries n] [--skip n] [--tuned n]
    [--hybrids]                         only BM25 beside hybrids, among them linear ones with learned weights
    [--lists FILE]                      write the lists that `cross_encoders.py` trains on and scores
    [--scores FILE --made-of LISTS]     re-rank the same lists with its scores, and train trees with them;
                                        with --markdown as the table of docs/text.md
    [--latency --made-of LISTS]         the time of a cross-encoder for 100 candidates

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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cross_encoders import read_lists, write_lists
from rankloop.metrics import compare, evaluate
from rankloop.rankers import LambdaMART, LinearRanker, TextRanker, to_onnx
from rankloop.search import (
    BM25,
    BM25F,
    Candidates,
    Features,
    HybridWeights,
    Index,
    Query,
    Retriever,
    generic_words,
    hybrid_features,
    rm3,
    tune_weights,
)
from rankloop.search.encoders import OnnxEncoder, open_encoder
from results import benchmark, record
from search import movies as read_movies
from search_quality import FAMILIES, NDCG, POOL, TEXTS, as_run, split, trees, year_named
from search_quality import movie_index as featured_index

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
    parser.add_argument("--lists", type=Path)
    parser.add_argument("--scores", type=Path)
    parser.add_argument("--made-of", type=Path)
    parser.add_argument("--markdown", action="store_true", help="the table of --scores as in docs/text.md")
    parser.add_argument("--latency", action="store_true")
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
    if options.lists:
        write(options.lists, data, texts, qrels, parts)
        return
    if options.latency:
        latency(options.made_of)
        return
    if options.scores:
        orders, lists = with_trees(data, options.made_of, options.scores, options.part, texts, qrels)
        judged = {qid: qrels[qid] for qid in lists.qid.tolist()}
        report(orders, lists, judged, "trees", markdown=options.markdown)
        return
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
            show(hybrids(index, encoder, best, train, qrels), measured, judged)
            return
        show(retrievers(index, encoder, train, qrels), measured, judged)
        judged_lists(index, encoder, measured, judged)


def encoded(index: Index) -> dict[str, str]:
    """The rows of the table by the vector fields that the index has."""
    every = {"named": "MiniLM, title", "meaning": "MiniLM, title and text"}
    return {field: name for field, name in every.items() if field in index.fields}


def movie_index(folder: Path, data: Path, encoder: OnnxEncoder, titles: bool) -> Index:
    with gzip.open(data / "movies-corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
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
        record(
            "retrieval",
            who=name,
            ndcg=found.mean[NDCG],
            low=low,
            high=high,
            against=against,
            condensed=condensed,
            ms=took[name],
        )
        print(
            f"{name:<42}{found.mean[NDCG]:>8.4f}{f'[{low:.4f}, {high:.4f}]':>19}{against:>28}"
            f"{found.mean['judged@10']:>8.3f}{condensed:>10.4f}{took[name]:>7.1f}",
            flush=True,
        )


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
        v = verdicts.get(name)
        against = f"{v.difference:+.4f} [{v.low:+.4f}, {v.high:+.4f}]" if v else ""
        record("judged lists", who=name, ndcg=found.mean[NDCG], low=low, high=high, against=against)
        print(f"{name:<42}{found.mean[NDCG]:>8.4f}{f'[{low:.4f}, {high:.4f}]':>19}{against:>28}")


def ordered(index: Index, query: Query, ids: list, scores: np.ndarray) -> Candidates:
    return Candidates.of(query, index.snapshot, ids).scored(scores)


def documents_of(data: Path) -> list[dict]:
    with gzip.open(data / "movies-corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write(path: Path, data: Path, texts: dict, qrels: dict, parts: dict) -> None:
    """Judged lists, and the first results of the tuned BM25, for all parts."""
    documents = documents_of(data)
    known = {one["id"] for one in documents}
    with tempfile.TemporaryDirectory() as folder:
        index = Index.create(Path(folder) / "movies", dict.fromkeys(TEXTS, "text"))
        index.add(
            {"id": one["id"]} | {name: one[name] for name in TEXTS if one.get(name) is not None}
            for one in documents
        )
        index.commit()
        tuned = {qid: Query.of_words(texts[qid]) for qid in parts["train"][:1000]}
        model = tuned_fields(index, tuned, qrels)
        lists: dict[str, dict] = {}
        for part, qids in parts.items():
            retrieve = index.retriever(k=POOL // 2 if part == "train" else POOL, model=model)
            found = {qid: retrieve(Query.of_words(texts[qid])).ids.tolist() for qid in qids}
            lists[f"judged_{part}"] = {
                qid: {id: grade for id, grade in qrels[qid].items() if id in known} for qid in qids
            }
            lists[part] = {
                qid: {id: qrels[qid].get(id, 0) for id in ids} for qid, ids in found.items() if ids
            }
    write_lists(path, texts, {one["id"]: spelled(one) for one in documents}, lists)


def spelled(film: dict) -> str:
    """What the cross-encoder reads of a film."""
    few = [film["title"], film.get("year"), film.get("overview"), film.get("director")]
    for name, most in (("genres", None), ("tags", None), ("actors", 5), ("characters", 5)):
        few.append(" ".join((film.get(name) or [])[:most]))
    return "\n".join(str(one) for one in few if one)


def with_trees(
    data: Path, made_of: Path, scores: Path, part: str, texts: dict, qrels: dict
) -> tuple[dict[str, np.ndarray], Any]:
    """Scores for the retrieved lists, by cross-encoders and by trees with and without their scores."""
    lists, _ = read_lists(made_of)
    with np.load(scores) as read:
        given = dict(read)
    documents = [
        {name: value for name, value in one.items() if value is not None and name != "url"}
        for one in documents_of(data)
    ]
    train_queries = {qid: Query.of_words(texts[qid]) for qid in lists["train"].qid.tolist()}
    generic = generic_words(train_queries, qrels, {one["id"]: one["title"] for one in documents})
    with tempfile.TemporaryDirectory() as folder:
        index = featured_index(Path(folder) / "movies", documents, generic)
        every = Features.standard(index, more=[year_named])
        features = every.without(*(name for name in every.names if name.split("(")[0] not in FAMILIES))
        sets = {name: described(index, features, lists[name], texts) for name in ("train", "valid", part)}
    measured = lists[part]
    print(
        f"\nfull retrieval, {POOL} candidates of the tuned BM25; {measured.n_queries:,} queries; unjudged = 0"
    )
    orders: dict[str, np.ndarray] = {"BM25, tuned fields": -np.arange(measured.n_documents, dtype=float)}
    if f"{part}/before" in given:
        orders["cross-encoder, before training"] = given[f"{part}/before"]
    orders["cross-encoder, after training"] = given[f"{part}/after"]
    plain = trees("lambdarank").fit(sets["train"], sets["valid"])
    orders["trees"] = plain.predict(sets[part])
    crossed = {name: with_columns(one, {"cross": given[f"{name}/crossed"]}) for name, one in sets.items()}
    dense = {name: with_columns(one, similarities(one, documents, texts)) for name, one in sets.items()}
    both = {name: with_columns(one, {"cross": given[f"{name}/crossed"]}) for name, one in dense.items()}
    for name, some in {
        "trees with its score": crossed,
        "trees with MiniLM's cosines": dense,
        "trees with both": both,
    }.items():
        orders[name] = trees("lambdarank").fit(some["train"], some["valid"]).predict(some[part])
    orders["trees, taught by it"] = taught(sets, given["train/crossed"]).predict(sets[part])
    return orders, measured


def described(index: Index, features: Features, lists: Any, texts: dict) -> Any:
    """The lists with the columns that trees learn from."""
    rows = []
    for at, qid in enumerate(lists.qid.tolist()):
        ids = lists.docid[lists.offsets[at] : lists.offsets[at + 1]].tolist()
        rows.append(features.matrix(Candidates.of(Query.of_words(texts[qid]), index.snapshot, ids)))
    return lists.replace(X=np.concatenate(rows), feature_names=features.names)


def with_columns(data: Any, columns: dict[str, np.ndarray]) -> Any:
    names = [*data.feature_names, *columns]
    X = np.column_stack((data.X, *columns.values())).astype(np.float32)
    return data.replace(X=X, feature_names=names)


def similarities(data: Any, documents: list[dict], texts: dict) -> dict[str, np.ndarray]:
    """Cosines of the query with the title and with the text of each film, by the int8 encoder."""
    encoder = open_encoder("minilm")
    number = {one["id"]: at for at, one in enumerate(documents)}
    films = np.array([number[id] for id in data.docid.tolist()])
    queries = encoder.encode([texts[qid] for qid in data.qid.tolist()])[data.row_query]
    made = {}
    for name, fields in {"title": ("title",), "text": LONG}.items():
        vectors = encoder.encode([joined(one, fields) for one in documents], cache=encoder.cache())
        made[f"cosine({name})"] = np.einsum("ij,ij->i", queries, vectors[films])
    return made


def taught(sets: dict, scores: np.ndarray) -> LambdaMART:
    """Trees without its score, under labels that are half judgments and half its scores."""
    low, high = np.quantile(scores, [0.01, 0.99])
    soft = np.clip((scores - low) / (high - low), 0, 1) * sets["train"].y.max()
    return trees("lambdarank").fit(sets["train"].replace(y=(sets["train"].y + soft) / 2), sets["valid"])


def report(orders: dict, lists: Any, judged: dict, baseline: str, *, markdown: bool = False) -> None:
    """NDCG@10 of each order and its difference from the baseline, with intervals."""
    runs: dict[str, dict] = {name: {} for name in orders}
    for at, qid in enumerate(lists.qid.tolist()):
        inside = slice(int(lists.offsets[at]), int(lists.offsets[at + 1]))
        ids = lists.docid[inside].tolist()
        for name, values in orders.items():
            runs[name][qid] = dict(zip(ids, values[inside].tolist(), strict=True))
    verdicts = compare(runs, judged, NDCG, baseline=baseline).verdicts[NDCG]
    head = f"{'':<34}{'ndcg@10':>8}{'95 % interval':>19}{'less ' + baseline:>28}"
    print(f"| | NDCG@10 | less the {baseline} |\n|---|---|---|" if markdown else head)
    for name, run in runs.items():
        found = evaluate(run, judged, [NDCG])
        mean, (low, high), v = found.mean[NDCG], found.interval[NDCG], verdicts.get(name)
        margin = f"{v.difference:+.4f} [{v.low:+.4f}, {v.high:+.4f}]" if v else ""
        record("with trees", who=name, ndcg=mean, low=low, high=high, against=margin)
        if markdown:
            against = f"{short(v.difference, '+')} [{short(v.low, '+')}, {short(v.high, '+')}]" if v else ""
            print(f"| {name} | {short(mean)} [{short(low)}, {short(high)}] | {against} |", flush=True)
            continue
        print(f"{name:<34}{mean:>8.4f}{f'[{low:.4f}, {high:.4f}]':>19}{margin:>28}", flush=True)


def short(value: float, sign: str = "") -> str:
    """Three decimals without the zero before the point: .912, -.004."""
    made = f"{value:{sign}.3f}"
    return made.replace("0.", ".", 1) if abs(value) < 1 else made


def latency(lists_file: Path) -> None:
    """CPU milliseconds for 100 candidates of a query, in one thread; the weights do not matter for that."""
    lists, documents = read_lists(lists_file)
    data = lists["test"].select(np.arange(5))
    reader = TextRanker("minilm", documents=documents, tokens=160, threads=1, device="cpu").open()
    session = as_session(to_onnx(reader, int8=True))
    pairs = [
        (text, [documents[id] for id in data.docid[data.offsets[at] : data.offsets[at + 1]].tolist()])
        for at, text in enumerate(data.query_text.tolist())
    ]
    rows = {
        "cross-encoder, single precision": lambda query, texts: reader.scores(query, texts),
        "cross-encoder, ONNX, int8": lambda query, texts: by_session(session, reader, query, texts),
    }
    print(f"\nCPU milliseconds for {POOL} candidates of at most 160 tokens, one thread")
    for name, score in rows.items():
        score(*pairs[0])
        started = time.process_time()
        for query, texts in pairs:
            score(query, texts)
        spent = 1000 * (time.process_time() - started) * POOL / data.n_documents
        record("latency", who=name, ms=spent)
        print(f"{name:<34}{spent:>8.0f}", flush=True)


def as_session(model: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options)


def by_session(session: Any, reader: TextRanker, query: str, texts: list[str]) -> np.ndarray:
    """Texts of similar length together, padded."""
    from rankloop.rankers.text.tokens import Pairs

    rows = np.arange(len(texts))
    pairs = Pairs(reader.tokenizer_, [query], texts, np.zeros_like(rows), rows, limit=reader.tokens)
    scores = np.zeros(len(texts))
    for some in np.array_split(np.argsort(pairs.lengths), max(1, len(texts) // 16)):
        tokens, types, lengths = pairs.packed(some)
        place = np.arange(lengths.max()) < lengths[:, None]
        ids, kinds = np.zeros(place.shape, np.int64), np.zeros(place.shape, np.int64)
        ids[place], kinds[place] = tokens, types
        given = {"input_ids": ids, "attention_mask": place.astype(np.int64), "token_type_ids": kinds}
        scores[some] = session.run(None, given)[0]
    return scores


if __name__ == "__main__":
    benchmark(main)
