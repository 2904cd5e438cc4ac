"""What reads the candidates: vectors, late interaction, cross-encoders, and trees that learn from them.

RANKLOOP_DATA=... python benchmarks/text_reranking.py LISTS
    [--write]               write the lists: judged ones, and the first results of a tuned BM25
    [--part valid | test]   order the lists by trees with and without text features
    [--scores FILE]         by scores that `cross_encoders.py` gave these lists, and by trees that see them
    [--encoders]            order them by vectors of texts, by one that learned, and by late interaction
    [--tuned n]             that one learns from so many queries; without --encoders trees see its cosines too
    [--latency]             the CPU time that each takes for 100 candidates

MSRD movies; queries are split as in `search_quality.py`. The encoder is all-MiniLM-L6-v2 with int8 weights
(`rankloop encoders get minilm`); what is trained further, and late interaction, are its full weights
(`minilm-full`). Documents without judgment count as irrelevant.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cross_encoders import read_lists, write_lists
from rankloop.metrics import compare, evaluate, metric
from rankloop.rankers import LambdaMART, TextRanker, to_onnx
from rankloop.search import Candidates, Features, Index, LateInteraction, Query, TwoTower, generic_words
from rankloop.search.encoders import open_encoder
from results import benchmark, record
from search import movies as read_movies
from search_quality import FAMILIES, NDCG, POOL, TEXTS, movie_index, split, trees, year_named
from text import LONG, difference, documents_of, joined, tuned_fields

FIELDS_TUNED, TUNED = 1000, 500  # training queries for the weights of fields, and for an encoder of titles
AT_ONCE = 256  # queries
TOWER = {"tokens": 32, "epochs": 1, "batch": 64, "negatives": 1, "device": "cpu"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("lists", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--part", choices=("valid", "test"), default="valid")
    parser.add_argument("--scores", type=Path)
    parser.add_argument("--encoders", action="store_true")
    parser.add_argument("--tuned", type=int, help="training queries for an encoder of titles")
    parser.add_argument("--latency", action="store_true")
    options = parser.parse_args()
    data = Path(os.environ["RANKLOOP_DATA"]) / "msrd_movies"
    _, texts, qrels = read_movies(data)
    if options.write:
        write(options.lists, data, texts, qrels, split(sorted(texts), 10**9))
    elif options.latency:
        latency(options.lists, data)
    else:
        lists, _ = read_lists(options.lists)
        table, baseline = ("encoders", "MiniLM, title") if options.encoders else ("trees", "trees")
        table = "cross-encoders" if options.scores else table
        order = by_encoders if options.encoders else by_trees
        judged = {qid: qrels[qid] for qid in lists[options.part].qid.tolist()}
        orders = order(lists, options, data, texts, qrels)
        report(table, orders, lists[options.part], judged, baseline)


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
        tuned = {qid: Query.of_words(texts[qid]) for qid in parts["train"][:FIELDS_TUNED]}
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


def by_encoders(lists: dict, options: Any, data: Path, texts: dict, qrels: dict) -> dict[str, np.ndarray]:
    """Scores by cosines of MiniLM, by one that learned from training queries, and by late interaction."""
    documents, measured = documents_of(data), lists[options.part]
    near = similarities(measured, documents, texts)
    learned = {qid: texts[qid] for qid in lists["train"].qid.tolist()[: options.tuned or TUNED]}
    return {
        "BM25, tuned fields": in_order(measured),
        "MiniLM, title": near["meaning(title)"],
        "MiniLM, title and text": near["meaning(text)"],
        f"MiniLM, title, trained on {len(learned):,} queries": trained_encoder(documents, learned, qrels)(
            measured
        ),
        "late interaction, title": late_interaction(documents, measured),
    }


def in_order(lists: Any) -> np.ndarray:
    """Scores that leave the lists as they were retrieved."""
    return -np.arange(lists.n_documents, dtype=float)


def by_trees(lists: dict, options: Any, data: Path, texts: dict, qrels: dict) -> dict[str, np.ndarray]:
    """Scores by cross-encoders, and by trees with and without text features."""
    given: dict[str, np.ndarray] = {}
    if options.scores:
        with np.load(options.scores) as read:
            given = dict(read)
    documents = [
        {name: value for name, value in one.items() if value is not None and name != "url"}
        for one in documents_of(data)
    ]
    part = options.part
    parts = {name: lists[name] for name in ("train", "valid", part)}
    sets = described_sets(documents, parts, texts, qrels)
    print(
        f"\n{POOL} candidates of the tuned BM25; {lists[part].n_queries:,} queries; unjudged = 0", flush=True
    )
    orders: dict[str, np.ndarray] = {"BM25, tuned fields": in_order(lists[part])}
    for when in ("before", "after"):
        if f"{part}/{when}" in given:
            orders[f"cross-encoder, {when} training"] = given[f"{part}/{when}"]
    among = {name: compared(one, documents, texts) for name, one in parts.items()}
    near = {name: {key: one[key] for key in one if key.endswith(")")} for name, one in among.items()}
    columns: dict[str, dict] = {"trees": {name: {} for name in sets}}
    if given:
        score = {name: {"cross": given[f"{name}/crossed"]} for name in sets}
        columns["trees with its score"] = score
        columns["trees with its score and MiniLM's cosines"] = {
            name: near[name] | score[name] for name in sets
        }
    else:
        columns |= {"trees with MiniLM's cosines": near, "trees with these among all films": among}
    trained = "trees with these and a trained encoder's"
    if options.tuned and not given:
        learned = {qid: texts[qid] for qid in lists["train"].qid.tolist()[: options.tuned]}
        cosines = trained_encoder(documents, learned, qrels)
        columns[trained] = {name: of | {"trained(title)": cosines(parts[name])} for name, of in among.items()}
    for who, more in columns.items():
        some = {name: with_columns(one, more[name]) for name, one in sets.items()}
        if who == trained:  # trees do not see the queries that the encoder learned from
            some["train"] = some["train"].select(np.arange(options.tuned, some["train"].n_queries))
        ranker = trees("lambdarank").fit(some["train"], some["valid"])
        orders[who] = ranker.predict(some[part])
        values = metric(NDCG)(ranker.predict(some["valid"]), some["valid"].y, some["valid"].offsets)
        print(f"{who}: {np.nanmean(values):.4f} on the lists of the validation part", flush=True)
    if given:
        orders["trees, taught by it"] = taught(sets, given["train/crossed"]).predict(sets[part])
    return orders


def described_sets(documents: list[dict], lists: dict[str, Any], texts: dict, qrels: dict) -> dict[str, Any]:
    """The lists with the features that trees see: statistics of words, and values of the films."""
    asked = {qid: Query.of_words(texts[qid]) for qid in lists["train"].qid.tolist()}
    generic = generic_words(asked, qrels, {one["id"]: one["title"] for one in documents})
    with tempfile.TemporaryDirectory() as folder:
        index = movie_index(Path(folder) / "movies", documents, generic)
        every = Features.standard(index, more=[year_named])
        features = every.without(*(name for name in every.names if name.split("(")[0] not in FAMILIES))
        return {name: described(index, features, one, texts) for name, one in lists.items()}


def trained_encoder(documents: list[dict], train: dict, qrels: dict) -> Callable[[Any], np.ndarray]:
    """MiniLM, trained further on the titles that answer some queries; gives the cosines of lists."""
    titles = titles_of(documents)
    with tempfile.TemporaryDirectory() as folder:
        tower = TwoTower("minilm", **TOWER).fit(title_index(folder, titles), train, qrels)
    vectors = dict(zip((one["id"] for one in titles), tower.encode_documents(titles), strict=True))

    def cosines(lists: Any) -> np.ndarray:
        asked = zip(tower.encode_queries(lists.query_text.tolist()), lists_of(lists), strict=True)
        return np.concatenate([np.stack([vectors[id] for id in ids]) @ query for query, (_, ids) in asked])

    return cosines


def late_interaction(documents: list[dict], lists: Any) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        index = title_index(folder, titles_of(documents))
        late = LateInteraction("minilm", tokens=TOWER["tokens"], device="cpu").add(index)
        print(f"late interaction: {late.bytes_per_document:,.0f} bytes a title", flush=True)
        asked = [(Query.of_words(text), ids) for text, ids in lists_of(lists)]
        return np.concatenate(
            [late.scores(Candidates.of(query, index.snapshot, ids)) for query, ids in asked]
        )


def titles_of(documents: list[dict]) -> list[dict]:
    return [{"id": one["id"], "title": str(one.get("title") or "")} for one in documents]


def title_index(folder: str, titles: list[dict]) -> Index:
    index = Index.create(Path(folder) / "titles", {"title": "text"})
    index.add(titles)
    index.commit()
    return index


def lists_of(data: Any) -> list[tuple[str, list]]:
    """The text of each query, and the ids of its candidates."""
    ends = zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True)
    return [
        (text, data.docid[start:end].tolist())
        for text, (start, end) in zip(data.query_text.tolist(), ends, strict=True)
    ]


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
    return {name: found for name, found in compared(data, documents, texts).items() if name.endswith(")")}


def compared(data: Any, documents: list[dict], texts: dict) -> dict[str, np.ndarray]:
    """Cosines, how far they are below the best of all films, and the logarithm of their rank among all."""
    encoder = open_encoder("minilm")
    number = {one["id"]: at for at, one in enumerate(documents)}
    films = np.array([number[id] for id in data.docid.tolist()])
    queries = encoder.encode([texts[qid] for qid in data.qid.tolist()], cache=encoder.cache())
    made = {}
    for name, fields in {"title": ("title",), "text": LONG}.items():
        vectors = encoder.encode([joined(one, fields) for one in documents], cache=encoder.cache())
        near, gap, rank = np.zeros((3, data.n_documents), np.float32)
        for at in range(len(queries)):
            if at % AT_ONCE == 0:
                cosines = queries[at : at + AT_ONCE] @ vectors.T
            inside = slice(int(data.offsets[at]), int(data.offsets[at + 1]))
            near[inside] = cosines[at % AT_ONCE, films[inside]]
            all_films = np.sort(cosines[at % AT_ONCE])
            gap[inside] = near[inside] - all_films[-1]
            rank[inside] = np.log2(1 + len(all_films) - np.searchsorted(all_films, near[inside]))
        made |= {f"meaning({name})": near, f"meaning({name}) gap": gap, f"meaning({name}) rank": rank}
    return made


def taught(sets: dict, scores: np.ndarray) -> LambdaMART:
    """Trees without its score, under labels that are half judgments and half its scores."""
    low, high = np.quantile(scores, [0.01, 0.99])
    soft = np.clip((scores - low) / (high - low), 0, 1) * sets["train"].y.max()
    return trees("lambdarank").fit(sets["train"].replace(y=(sets["train"].y + soft) / 2), sets["valid"])


def report(table: str, orders: dict, lists: Any, judged: dict, baseline: str) -> None:
    """NDCG@10 of each order and its difference from the baseline, with intervals."""
    runs: dict[str, dict] = {name: {} for name in orders}
    for at, qid in enumerate(lists.qid.tolist()):
        inside = slice(int(lists.offsets[at]), int(lists.offsets[at + 1]))
        ids = lists.docid[inside].tolist()
        for name, values in orders.items():
            runs[name][qid] = dict(zip(ids, values[inside].tolist(), strict=True))
    verdicts = compare(runs, judged, NDCG, baseline=baseline).verdicts[NDCG]
    print(f"{'':<44}{'ndcg@10':>8}{'95 % interval':>19}{'less ' + baseline:>28}")
    for name, run in runs.items():
        found = evaluate(run, judged, [NDCG])
        mean, (low, high) = found.mean[NDCG], found.interval[NDCG]
        against = difference(verdicts.get(name))
        record(table, who=name, ndcg=mean, low=low, high=high, against=against)
        print(f"{name:<44}{mean:>8.4f}{f'[{low:.4f}, {high:.4f}]':>19}{against:>28}", flush=True)


def latency(lists_file: Path, data: Path) -> None:
    """CPU milliseconds for 100 candidates of a query, in one thread; what was learned does not matter."""
    lists, documents = read_lists(lists_file)
    some = lists["test"].select(np.arange(5))
    reader = TextRanker("minilm", documents=documents, tokens=160, threads=1, device="cpu").open()
    session = as_session(to_onnx(reader, int8=True))
    encoder = open_encoder("minilm")
    with tempfile.TemporaryDirectory() as folder:
        films = titles_of(documents_of(data))
        index = title_index(folder, films)
        titles = encoder.encode([one["title"] for one in films[:POOL]])
        late = LateInteraction("minilm", tokens=TOWER["tokens"], device="cpu").add(index)
        rows = {
            "MiniLM, int8: the query, and cosines with stored vectors": lambda query, ids: (
                titles[: len(ids)] @ encoder(query)
            ),
            "late interaction with stored vectors of titles": lambda query, ids: late.scores(
                Candidates.of(Query.of_words(query), index.snapshot, ids)
            ),
            "cross-encoder, ONNX, int8": lambda query, ids: by_session(
                session, reader, query, [documents[id] for id in ids]
            ),
            "cross-encoder, single precision": lambda query, ids: reader.scores(
                query, [documents[id] for id in ids]
            ),
        }
        print(f"\nCPU milliseconds for {POOL} candidates of at most 160 tokens, one thread")
        asked = lists_of(some)
        for name, score in rows.items():
            score(*asked[0])
            started = time.process_time()
            for query, ids in asked:
                score(query, ids)
            spent = 1000 * (time.process_time() - started) * POOL / some.n_documents
            record("latency", who=name, ms=spent)
            print(f"{name:<58}{spent:>8.1f}", flush=True)


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
