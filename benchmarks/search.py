"""Retrieval: BM25 against peers on real collections, and the time to find 1,000 documents.

RANKLOOP_DATA=... python benchmarks/search.py [--documents 100000]

Times of queries are CPU time of the process, so that other work on the machine is not counted.
"""

import argparse
import gzip
import json
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import bm25s
import numpy as np

from rankloop.metrics import evaluate
from rankloop.search import BM25, BM25F, Analyser, Index, Query
from results import benchmark, record

K1, B = 1.2, 0.75
VOCABULARY, TOKENS, QUERIES, SEED = 200_000, 100, 300, 0
VECTORS = 50_000
MOST_FOR_BM25S = 200_000  # it keeps all tokens in memory
STOPPED = 50  # the most frequent words of the synthetic corpus, taken as stop words
NDCG = "ndcg(gain=linear)@10"
MOVIE_FIELDS = ("title", "overview", "tags", "genres", "director", "actors", "characters")
PUBLISHED = {"scifact": 0.6789, "nfcorpus": 0.3218}  # Anserini, BM25 over one flat field


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=100_000)
    documents = parser.parse_args().documents
    with tempfile.TemporaryDirectory() as folder:
        collections = os.environ.get("RANKLOOP_DATA")
        if collections:
            quality(Path(collections), Path(folder))
        speed(Path(folder), documents)
        vectors(Path(folder), VECTORS)


def quality(collections: Path, folder: Path) -> None:
    print(
        f"\nBM25 (k1 = {K1}, b = {B}) over the fields merged into one, every query, no tuning, linear gains"
    )
    print(f"{'collection':<12}{'documents':>10}{'queries':>9}{'ndcg@10':>9}{'map':>8}{'re-rank':>9}{'published':>11}"
          f"{'largest difference to bm25s':>30}")  # fmt: skip
    readers = {"cranfield": cranfield, "msrd_movies": movies, "scifact": beir, "nfcorpus": beir}
    for name, read in readers.items():
        if (collections / name).is_dir():
            documents, queries, qrels = read(collections / name)
            fields = [field for field in documents[0] if field != "id"]
            index = Index.create(folder / name, dict.fromkeys(fields, "text"))
            index.add(documents)
            index.commit()
            report(name, index, documents, queries, qrels)


def report(name: str, index: Index, documents: list, queries: dict, qrels: dict) -> None:
    find = index.retriever(k=1000, model=BM25F(k1=K1, b=B, length="whole"))
    run, again, differs = {}, {}, 0.0
    peer = bm25s.BM25(k1=K1, b=B, method="lucene", dtype="float64")
    terms = [[t for name in index.fields for t in Analyser().terms(flat(d.get(name)))] for d in documents]
    peer.index(terms, show_progress=False)
    number = {document["id"]: at for at, document in enumerate(documents)}
    for at, (qid, text) in enumerate(queries.items()):
        query = Query.of_words(text)
        found = find(query)
        run[qid] = dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True))
        judged = [id for id in qrels.get(qid, {}) if id in number]
        again[qid] = dict(zip(judged, find.score(query, judged).tolist(), strict=True))
        if at % max(1, len(queries) // 200) == 0:
            words = list(dict.fromkeys(t for t in Analyser().terms(text) if t in peer.vocab_dict))
            if words and len(found):
                counts = [Analyser().terms(text).count(word) for word in words]
                wanted = sum(c * peer.get_scores([w]) for w, c in zip(words, counts, strict=True))
                theirs = wanted[[number[id] for id in found.ids.tolist()]]
                differs = max(differs, float(np.abs(theirs - found.scores).max()))
                kth = np.sort(wanted)[::-1][len(found) - 1]
                differs = max(differs, abs(float(kth - found.scores[-1])))
    full = evaluate(run, qrels, [NDCG, "map"]).mean
    ranked = evaluate(again, qrels, [NDCG]).mean
    known = f"{PUBLISHED[name]:.4f}" if name in PUBLISHED else ""
    record(
        "quality",
        collection=name,
        documents=len(documents),
        queries=len(queries),
        ndcg=full[NDCG],
        map=full["map"],
        rerank=ranked[NDCG],
        published=PUBLISHED.get(name),
        differs=differs,
    )
    print(f"{name:<12}{len(documents):>10,}{len(queries):>9,}{full[NDCG]:>9.4f}{full['map']:>8.4f}"
          f"{ranked[NDCG]:>9.4f}{known:>11}{differs:>30.1e}")  # fmt: skip


def flat(value: object) -> str:
    return " ".join(value) if isinstance(value, list) else str(value or "")


def cranfield(folder: Path) -> tuple[list, dict, dict]:
    def records(file: str) -> list[str]:
        texts = re.split(r"^\.I ", (folder / file).read_text(), flags=re.M)[1:]
        return [re.split(r"^\.W\n", text, flags=re.M)[1].strip() for text in texts]

    documents = [{"id": i, "body": text} for i, text in enumerate(records("cran.all.1400"), 1)]
    queries = dict(enumerate(records("cran.qry"), 1))
    qrels: dict[int, dict[int, int]] = {}
    for line in (folder / "cranqrel").read_text().splitlines():
        query, document, grade = map(int, line.split()[:3])
        qrels.setdefault(query, {})[document] = 5 - grade if grade > 0 else 1  # 1 is the best grade there
    return documents, queries, qrels


def movies(folder: Path) -> tuple[list, dict, dict]:
    with gzip.open(folder / "movies-corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    documents = [{"id": d["id"], **{name: d[name] or "" for name in MOVIE_FIELDS}} for d in found]
    queries, qrels = {}, {}
    with gzip.open(folder / "movies-judgments.tsv.gz", "rt", encoding="utf-8") as file:
        next(file)
        for line in file:
            qid, text, document, grade = line.rstrip("\n").split("\t")
            queries[qid] = text
            qrels.setdefault(qid, {})[document] = int(grade)
    return documents, queries, qrels


def beir(folder: Path) -> tuple[list, dict, dict]:
    def lines(file: str) -> list[dict]:
        return [json.loads(line) for line in (folder / file).read_text(encoding="utf-8").splitlines()]

    documents = [{"id": d["_id"], "title": d["title"], "text": d["text"]} for d in lines("corpus.jsonl")]
    qrels: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        query, document, grade = line.split("\t")
        qrels.setdefault(query, {})[document] = int(grade)
    return documents, {q["_id"]: q["text"] for q in lines("queries.jsonl") if q["_id"] in qrels}, qrels


def content_queries(rng: Any, tokens: Any, words: Any, stopped: int, number: int) -> list[str]:
    """Queries of two to five words of one document, none of the most frequent ones."""
    queries: list[str] = []
    while len(queries) < number:
        content = np.unique(tokens[rng.integers(len(tokens))])
        content = content[content >= stopped]
        if len(content) > 6:
            queries.append(" ".join(words[rng.choice(content, rng.integers(2, 6), replace=False)]))
    return queries


def speed(folder: Path, documents: int) -> None:
    rng = np.random.default_rng(SEED)
    share = 1 / np.arange(1, VOCABULARY + 1) ** 1.07
    ends = np.cumsum(np.maximum(5, rng.poisson(TOKENS, documents)))
    tokens = np.split(rng.choice(VOCABULARY, ends[-1], p=share / share.sum()), ends[:-1])
    words = np.array([spelt(i) for i in range(VOCABULARY)])
    texts = [" ".join(words[part]) for part in tokens]
    queries = content_queries(rng, tokens, words, STOPPED, QUERIES)
    plain = Analyser(None)
    print(
        f"\n1,000 of {documents:,} documents of about {TOKENS} words "
        f"({VOCABULARY:,} words by Zipf's law), one thread"
    )
    print(f"{'':<34}{'build s':>9}{'p50 ms':>9}{'p99 ms':>9}{'same 1,000':>12}")
    index = Index.create(folder / "speed", {"body": "text"}, analyser=plain)
    start = time.process_time()
    index.add({"id": i, "body": text} for i, text in enumerate(texts))
    index.commit()
    built = time.process_time() - start
    find = index.retriever(k=1000, model=BM25(k1=K1, b=B))
    exact = [set(find(query).rows.tolist()) for query in queries]
    row("speed", "rankloop, exact BM25", built, timed(find, queries), 1.0)
    row("speed", "rankloop, BM25F", None, timed(index.retriever(k=1000, model=BM25F()), queries), None)
    row(
        "speed",
        "rankloop, typos corrected",
        None,
        timed(index.retriever(k=1000, typos="always"), queries[:30]),
        None,
    )
    tantivy_row(folder, texts, queries, exact)
    if documents > MOST_FOR_BM25S:
        return
    start = time.process_time()
    peer = bm25s.BM25(k1=K1, b=B, method="lucene")
    peer.index([plain.terms(text) for text in texts], show_progress=False)
    built = time.process_time() - start
    tokens = {query: [plain.terms(query)] for query in queries}

    def retrieve(query: str) -> list[int]:
        found, _ = peer.retrieve(tokens[query], k=min(1000, documents), show_progress=False, n_threads=1)
        return found[0].tolist()

    same = np.mean([len(set(retrieve(q)) & who) / len(who) for q, who in zip(queries, exact, strict=True)])
    row("speed", "bm25s", built, timed(retrieve, queries), float(same))


def tantivy_row(folder: Path, texts: list[str], queries: list[str], exact: list[set]) -> None:
    """The same tokens in tantivy, which rounds lengths to one byte: its 1,000 are not exactly the best."""
    import tantivy

    (folder / "tantivy").mkdir()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("body", tokenizer_name="blank", index_option="position")
    builder.add_unsigned_field("row", fast=True)
    peer = tantivy.Index(builder.build(), path=str(folder / "tantivy"))
    blank = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    peer.register_tokenizer("blank", blank)
    start = time.process_time()
    writer = peer.writer(heap_size=256_000_000, num_threads=1)
    for i, text in enumerate(texts):
        document = tantivy.Document()
        document.add_text("body", text)
        document.add_unsigned("row", i)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    built = time.process_time() - start
    peer.reload()
    searcher, schema = peer.searcher(), peer.schema

    def retrieve(query: str) -> list[int]:
        terms = [tantivy.Query.term_query(schema, "body", word) for word in query.split()]
        any_of = tantivy.Query.boolean_query([(tantivy.Occur.Should, term) for term in terms])
        hits = searcher.search(any_of, limit=1000, count=False).hits
        return searcher.fast_field_values("row", [address for _, address in hits])

    same = np.mean([len(set(retrieve(q)) & who) / len(who) for q, who in zip(queries, exact, strict=True)])
    row("speed", "tantivy", built, timed(retrieve, queries), float(same))


def vectors(folder: Path, documents: int) -> None:
    """A graph against a scan, at two numbers of vectors."""
    from rankloop.search.index import vectors as module

    dimension, k = 128, 100
    rng = np.random.default_rng(SEED)
    centres = rng.normal(size=(200, dimension))
    print(f"\n{k} nearest of n vectors of {dimension} numbers (200 clusters), one thread")
    print(f"{'':<34}{'build s':>9}{'p50 ms':>9}{'p99 ms':>9}{'recall':>12}")
    for n in (documents // 10, documents):
        made = (centres[rng.integers(200, size=n)] + rng.normal(size=(n, dimension))).astype(np.float32)
        queries = [
            Query("", vectors={"v": made[rng.integers(n)] + rng.normal(size=dimension)}) for _ in range(100)
        ]
        index = Index.create(folder / f"vectors-{n}", {"v": f"vector:{dimension}"})
        index.add({"id": i, "v": vector} for i, vector in enumerate(made))
        index.commit()
        find = index.retriever(k=k, words=False, vectors={"v": None})
        exact = [set(find(query).rows.tolist()) for query in queries]
        row("vectors", f"scan of {n:,}", None, timed(find, queries), 1.0)
        from_size, module.GRAPH_FROM = module.GRAPH_FROM, 0
        start = time.process_time()
        index.compact()
        built = time.process_time() - start
        module.GRAPH_FROM = from_size
        recall = np.mean(
            [len(set(find(q).rows.tolist()) & who) / k for q, who in zip(queries, exact, strict=True)]
        )
        row("vectors", f"graph over {n:,}", built, timed(find, queries), float(recall))


def timed(find, queries) -> np.ndarray:
    find(queries[0])
    took = []
    for query in queries:
        start = time.process_time()
        find(query)
        took.append(time.process_time() - start)
    return np.percentile(took, [50, 99]) * 1e3


def row(table: str, name: str, built: float | None, took: np.ndarray, same: float | None) -> None:
    record(table, who=name, build=built, p50=took[0], p99=took[1], same=same)
    first = "" if built is None else f"{built:.1f}"
    last = "" if same is None else f"{same:.3f}"
    print(f"{name:<34}{first:>9}{took[0]:>9.2f}{took[1]:>9.2f}{last:>12}", flush=True)


def spelt(number: int) -> str:
    letters = ""
    for _ in range(5):
        number, letter = divmod(number, 26)
        letters += chr(97 + letter)
    return letters


if __name__ == "__main__":
    benchmark(main)
