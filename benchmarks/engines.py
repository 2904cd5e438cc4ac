"""Engines beside each other: 1,000 candidates re-ranked by 500 trees, by each engine's own means and by ours.

RANKLOOP_DATA=... python benchmarks/engines.py [--documents 100000] [--queries 100] [--engines opensearch]

The documents are generated; what is relevant depends on the words of the title and the body and on a number.
One engine runs at a time, on this machine, one node each: the embedded index, Solr (`{!ltr}`, and our scorer
beside it), OpenSearch (our scorer beside it; its own rescoring, `sltr`, where `RANKLOOP_OPENSEARCH_URL` names
a cluster that has the plugin). The jars are fetched once, as the tests do. All use one model over the same
features, which every engine has, and gives the ten best of the candidates. Each row is asked other queries
first, so that the engines have compiled what they run; then the rows of an engine take turns, a part of the
queries at a time, so that other work on the machine meets all of them. Times are of the wall, one client; the
last column is the CPU time of this process for a query, without the engine's.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests/engines"))

import numpy as np
from clusters import LASTING, Missing, OpenSearchCluster, SolrCluster

import rankloop as rl
from rankloop.engines import OpenSearch, Solr
from rankloop.engines.remote.address import Address
from rankloop.engines.remote.solr_client import SolrClient
from rankloop.metrics import evaluate
from rankloop.search import Query
from results import benchmark, record

SEED, CANDIDATES, TREES, LEAVES, LEARNED = 0, 1000, 500, 64, 80
ROUNDS, PARTS, AGAIN, SHOWN = 3, 5, 5, 10
VOCABULARY, TITLE, BODY, BRAND = 30_000, 6, 60, 2
INDEX = "rankloop-benchmark"
NUMBERS = ("price", "rating", "stock")
FIELDS = {"title": "text", "body": "text", "brand": "text"} | dict.fromkeys(NUMBERS, "number")
FEATURES = [  # eleven, all of which each engine computes
    *("bm25(title)", "boolean(title)", "phrase(title)"),
    *("bm25(body)", "boolean(body)", "phrase(body)"),
    *("bm25(brand)", "boolean(brand)"),
    *(f"value({name})" for name in NUMBERS),
]
RESCORING = {"solr": "{!ltr}", "opensearch": "sltr"}
ABOVE, SHARE, FASTER = 6.0, 0.6, 8.0  # the aims: ms above the engine, of its own rescoring, times faster

Row = tuple[str, list[float], float, float]


class Task(NamedTuple):
    """What every engine is asked: `warm` queries first, then those that are measured."""

    documents: list[dict[str, Any]]
    queries: dict[str, str]
    warm: list[str]
    labels: dict[str, dict[str, float]]
    model: Any


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--engines", default="solr,opensearch", help="beside the embedded index")
    options = parser.parse_args()
    documents, queries = collection(options.documents, options.queries + LEARNED)
    measured = dict(list(queries.items())[: options.queries])
    learned_from = dict(list(queries.items())[options.queries :])
    rows: list[Row] = []
    rates: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        index = embedded(Path(folder) / "shop.index", documents, rates)
        labels = relevance(index, queries)
        model = learn(index, learned_from, labels)
        print(
            f"{len(documents):,} documents, {len(measured)} queries, {CANDIDATES:,} candidates, "
            f"{TREES} trees of {LEAVES} leaves, {len(FEATURES)} features"
        )
        task = Task(documents, measured, list(learned_from.values()), labels, model)
        searches = {"1,000 candidates": index.retriever(k=CANDIDATES), "with our scorer": page(index, task)}
        rows += timed("embedded", searches, task)
        for name in options.engines.split(","):
            try:
                rows += {"solr": solr, "opensearch": opensearch}[name](Path(folder), task, rates)
            except Missing as missing:
                print(f"{name}: not measured, {missing}")
    table(rows, rates)
    aims({name: float(np.median(times)) for name, times, _, _ in rows}, {row[0]: row[3] for row in rows})


def collection(count: int, n_queries: int) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Documents of words drawn by Zipf's law, and queries of two or three words that a title has."""
    random = np.random.default_rng(SEED)
    share = 1 / np.arange(1, VOCABULARY + 1) ** 0.9
    words = np.array([spelt(at) for at in range(VOCABULARY)])
    drawn = random.choice(VOCABULARY, (count, TITLE + BODY + BRAND), p=share / share.sum())
    numbers = random.uniform(1, 100, (count, len(NUMBERS))).round(2)
    documents = [
        {
            "id": str(at),
            "title": " ".join(words[drawn[at, :TITLE]]),
            "body": " ".join(words[drawn[at, TITLE:-BRAND]]),
            "brand": " ".join(words[drawn[at, -BRAND:]]),
            **dict(zip(NUMBERS, numbers[at].tolist(), strict=True)),
        }
        for at in range(count)
    ]
    found: dict[str, str] = {}
    while len(found) < n_queries:
        title = np.unique(drawn[random.integers(count), :TITLE])
        title = title[title >= 20]  # not the most frequent words
        if len(title) >= 3:
            found[f"q{len(found)}"] = " ".join(
                words[random.choice(title, random.integers(2, 4), replace=False)]
            )
    return documents, found


def spelt(number: int) -> str:
    """A made word of syllables, which no stemmer changes."""
    parts = []
    while True:
        parts.append("bdfgklmnprtvz"[number % 13] + "aou"[number // 13 % 3])
        number //= 39
        if number == 0:
            return "".join(parts) + "x"


def embedded(folder: Path, documents: list[dict[str, Any]], rates: dict[str, float]) -> rl.Index:
    start = time.perf_counter()
    index = rl.Index.create(folder, fields=FIELDS)
    index.add(documents)
    index.commit()
    rates["embedded"] = len(documents) / (time.perf_counter() - start)
    return index


def relevance(index: rl.Index, queries: dict[str, str]) -> dict[str, dict[str, float]]:
    """Grades 0 to 4 of the candidates by a rule that is no sum of features, with noise."""
    random = np.random.default_rng(SEED + 1)
    features, find = rl.Features(FEATURES), index.retriever(k=CANDIDATES)
    labels = {}
    for qid, text in queries.items():
        found = find(text)
        X = features.matrix(found)
        title, body, price = (
            X[:, FEATURES.index(name)] for name in ("bm25(title)", "bm25(body)", "value(price)")
        )
        good = title / (1 + title.max()) + body / (1 + body.max()) + 0.8 * (price < 40) * (title > 0)
        noisy = good + random.normal(0, 0.15, len(good))
        cuts = np.quantile(noisy, [0.8, 0.9, 0.96, 0.99])
        grades = np.searchsorted(cuts, noisy)
        labels[qid] = {
            str(id): float(grade) for id, grade in zip(found.ids.tolist(), grades, strict=True) if grade > 0
        }
    return labels


def learn(index: rl.Index, queries: dict[str, str], labels: dict[str, dict[str, float]]) -> Any:
    ranker = rl.LambdaMART(trees=TREES, leaves=LEAVES, threads=1, seed=SEED)
    search = index.retriever(k=CANDIDATES) >> rl.Features(FEATURES) >> ranker
    search.fit(queries, labels, among="both")
    return search.ranker


def timed(
    engine: str,
    searches: dict[str, Callable[[str], Any]],
    task: Task,
    before: Callable[[], object] = lambda: None,
) -> list[Row]:
    """Milliseconds of each query and NDCG@10 of each search; they take turns, beginning with another one."""
    for search in searches.values():
        for text in task.warm * ROUNDS:
            search(text)
    times: dict[str, list[float]] = {name: [] for name in searches}
    busy: dict[str, list[float]] = {name: [] for name in searches}
    runs: dict[str, dict[str, dict[str, float]]] = {name: {} for name in searches}
    queries, names = list(task.queries.items()), list(searches)
    for part in range(PARTS):
        for name in names[part % len(names) :] + names[: part % len(names)]:
            before()
            for text in task.warm[:AGAIN]:
                searches[name](text)
            for qid, text in queries[part::PARTS]:
                start, worked = time.perf_counter(), time.process_time()
                ids = list(searches[name](text).ids)[:SHOWN]
                times[name].append(1000 * (time.perf_counter() - start))
                busy[name].append(1000 * (time.process_time() - worked))
                runs[name][qid] = {str(id): float(-at) for at, id in enumerate(ids)}
    judged = {qid: task.labels[qid] for qid in task.queries}
    return [
        (
            f"{engine}: {name}",
            times[name],
            evaluate(runs[name], judged, "ndcg@10").mean["ndcg@10"],
            float(np.median(busy[name])),
        )
        for name in names
    ]


def solr(folder: Path, task: Task, rates: dict[str, float]) -> list[Row]:
    with SolrCluster(folder / "solr", nodes=1, options=LASTING) as cluster:
        client = SolrClient(Address.parse(cluster.url("shop", timeout=120)))
        made = {"name": "shop", "numShards": 1, "collection.configName": "rankloop"}
        client.call("GET", "/solr/admin/collections", action="CREATE", **made)
        more = [
            ("brand", "words"),
            ("rating", "decimal"),
            ("stock", "decimal"),
        ]  # title, body and price are there
        client.call(
            "POST",
            client.collection("/schema"),
            {"add-field": [{"name": name, "type": kind} for name, kind in more]},
        )
        local = beside(folder / "solr.index", Solr(cluster.url("shop")).fields)
        engine = Solr(cluster.url("shop", timeout=120, local=local))
        filled(engine, "solr", task.documents, rates)
        rl.rankers.to_solr(task.model, cluster.models / "m1.json", name="m1", store="rankloop")
        told = rl.engines.deploy(
            task.model, engine, rl.rankers.to_solr, name="m1", resource="m1.json",
            queries=task.warm[:5],
        )  # fmt: skip
        print(told)
        searches: dict[str, Callable[[str], Any]] = {
            "its own answer": own_answer(engine),
            "1,000 candidates": engine.retriever(k=CANDIDATES),
            "{!ltr}": lambda text: engine.rescored(text, "m1", SHOWN, window=CANDIDATES),
            "with our scorer": page(engine, task),
        }

        def forget() -> None:
            """Solr keeps answers until documents change; else a row would find those of the one before."""
            client.call("POST", client.collection("/update"), [task.documents[0]], commit="true")

        return timed("solr", searches, task, forget)


def opensearch(folder: Path, task: Task, rates: dict[str, float]) -> list[Row]:
    given = os.environ.get("RANKLOOP_OPENSEARCH_URL")
    if given:
        return over_opensearch(lambda **how: address_of(given, **how), folder, task, rates)
    with OpenSearchCluster(folder / "opensearch", nodes=1, options=LASTING) as cluster:
        return over_opensearch(lambda **how: cluster.url(INDEX, **how), folder, task, rates)


def over_opensearch(
    address: Callable[..., str], folder: Path, task: Task, rates: dict[str, float]
) -> list[Row]:
    local = beside(folder / "opensearch.index", FIELDS)
    made = OpenSearch.create(address(timeout=120, shards=1, replicas=0), FIELDS)
    try:
        engine = OpenSearch(address(timeout=120, local=local))
        filled(engine, "opensearch", task.documents, rates)
        stored = OpenSearch(address(timeout=120, local=local))
        stored._keyed = False  # as over an index that others made
        searches: dict[str, Callable[[str], Any]] = {
            "its own answer, stored ids": own_answer(stored),
            "its own answer": own_answer(engine),
            "1,000 candidates": engine.retriever(k=CANDIDATES),
            "with our scorer": page(engine, task),
            "with our scorer, stored ids": page(stored, task),
        }
        try:
            how = {"name": INDEX, "queries": task.warm[:5]}
            print(rl.engines.deploy(task.model, engine, rl.rankers.to_opensearch, **how))
            searches["sltr"] = lambda text: engine.rescored(text, INDEX, SHOWN, window=CANDIDATES)
        except rl.engines.Unsupported as missing:
            print(f"opensearch: sltr is not measured, {missing}")
        for text in task.queries.values():
            engine.retrieve(text, 1)  # its words are counted, for a minute, so that all rows find that done
        return timed("opensearch", searches, task)
    finally:
        with suppress(rl.engines.Unsupported, LookupError):  # it was not put there
            made.models.remove(INDEX)
        made.client.call("DELETE", made.client.index())


def page(engine: Any, task: Task) -> Any:
    """The ten best of the candidates by the model, scored in this process."""
    return engine.retriever(k=CANDIDATES) >> rl.Features(FEATURES) >> task.model >> rl.first(SHOWN)


def address_of(cluster: str, **options: Any) -> str:
    return f"{cluster.rstrip('/')}/{INDEX}?" + "&".join(f"{name}={value}" for name, value in options.items())


def own_answer(engine: OpenSearch | Solr) -> Callable[[str], Any]:
    """Ids and scores of the same candidates, as the engine sends them."""
    plain: dict[str, Any] = {"filters": None, "model": rl.BM25(), "match": "any", "typos": "never"}
    return lambda text: engine.found(Query.parse(text, engine.fields), CANDIDATES, **plain)


def beside(folder: Path, fields: Any) -> Path:
    """An empty local index with the engine's fields."""
    rl.Index.create(folder, fields=fields).commit()
    return folder


def filled(
    engine: OpenSearch | Solr, name: str, documents: list[dict[str, Any]], rates: dict[str, float]
) -> None:
    """Documents into the engine and the local index, timed together."""
    start = time.perf_counter()
    engine.add(documents)
    rates[name] = len(documents) / (time.perf_counter() - start)


def table(rows: list[Row], rates: dict[str, float]) -> None:
    print(f"\n{'':<39}{'p50 ms':>8}{'p95 ms':>8}{'ndcg@10':>9}{'our cpu':>9}")
    for name, times, quality, busy in rows:
        p50, p95 = np.quantile(times, [0.5, 0.95])
        record("engines", who=name, p50=p50, p95=p95, ndcg=quality, cpu=busy)
        print(f"{name:<39}{p50:>8.1f}{p95:>8.1f}{quality:>9.4f}{busy:>9.2f}")
    record("indexed", **rates)
    print("\ndocuments indexed a second: " + ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items()))
    print("(Solr's and OpenSearch's with the local index that is kept in step)")


def aims(p50: dict[str, float], cpu: dict[str, float]) -> None:
    embedded = p50["embedded: with our scorer"]
    checks = []
    for engine, ids in (("solr", ""), ("opensearch", ""), ("opensearch", ", stored ids")):
        ours, answer = f"{engine}: with our scorer{ids}", f"{engine}: its own answer{ids}"
        if ours not in p50:
            continue
        more, busy, times = p50[ours] - p50[answer], cpu[ours] - cpu[answer], p50[ours] / embedded
        checks += [
            (f"{engine}: our page above its own answer{ids}, ms", more, ABOVE, more <= ABOVE),
            (f"{engine}: the same in CPU time of this process{ids}", busy, ABOVE, busy <= ABOVE),
            (f"{engine}: our page over it, times the embedded index{ids}", times, FASTER, times >= FASTER),
        ]
        if not ids and (own := p50.get(f"{engine}: {RESCORING[engine]}")):
            share, times = p50[ours] / own, own / embedded
            checks += [
                (f"{engine}: our page over it, of {RESCORING[engine]}", share, SHARE, share <= SHARE),
                (f"{engine}: {RESCORING[engine]}, times the embedded index", times, FASTER, times >= FASTER),
            ]
    print("\naims")
    for name, value, aim, met in checks:
        record("aims", what=name, value=value, aim=aim, result="met" if met else "missed")
        print(f"{name:<66}{value:>8.2f}   aim {aim:g}: {'met' if met else 'MISSED'}")


if __name__ == "__main__":
    benchmark(main)
