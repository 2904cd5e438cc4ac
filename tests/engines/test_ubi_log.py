"""The log of User Behavior Insights in a real OpenSearch, read and learned from where it is."""

import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import rankloop as rl
from rankloop import cli
from rankloop.cli.options.learn_ubi import documents_of
from rankloop.cli.options.ubi_log import ubi_log
from rankloop.clicks import PBM, write_ubi
from rankloop.engines import OpenSearch
from rankloop.engines.remote.address import Address
from rankloop.engines.remote.opensearch_client import OpenSearchClient
from rankloop.rankers import FeatureSum

pytestmark = pytest.mark.timeout(240)  # the first test starts the cluster

SESSIONS = 700  # more records than one page of the reader holds


@pytest.fixture(scope="module")
def data():
    made = rl.synthetic(n_queries=20, docs_per_query=10, n_features=5, seed=0)
    ids = [f"d{at}" for at in range(made.n_documents)]
    return made.replace(docid=ids, query_text=[f"query {at}" for at in range(made.n_queries)])


@pytest.fixture(scope="module")
def log(data):
    return rl.simulate(
        data,
        logging_policy=data.X[:, 0],
        user=PBM(examination=[1 / rank for rank in range(1, 11)], attraction=[0.1, 0.2, 0.4, 0.7, 0.9]),
        sessions=SESSIONS,
        k=10,
        seed=0,
    )


@pytest.fixture(scope="module")
def kept(opensearch, log, tmp_path_factory):
    """The log in two indexes, as the plugin of UBI keeps it; with one event that belongs to no query."""
    folder = tmp_path_factory.mktemp("ubi")
    write_ubi(log, folder / "queries.jsonl", folder / "events.jsonl", timestamp=1_770_000_000.0)
    prefix = f"rankloop-{os.getpid()}-"
    clients = {}
    for what in ("queries", "events"):
        client = OpenSearchClient(Address.parse(opensearch.url(f"{prefix}ubi_{what}")))
        records = [json.loads(line) for line in (folder / f"{what}.jsonl").read_text().splitlines()]
        if what == "events":
            records.append({"action_name": "page_exit", "timestamp": "2026-03-01T10:00:00Z"})
        client.bulk([line for one in records for line in ({"index": {}}, one)], timeout=60)
        client.call("POST", client.index("/_refresh"))
        clients[what] = client
    yield opensearch.url(f"{prefix}ubi_events")
    for client in clients.values():
        client.call("DELETE", client.index())


def test_every_click_is_read(kept, log, capsys):
    found = ubi_log(kept)
    assert len(found) == len(log)
    assert found.click.sum() == log.click.sum()
    wanted = sorted(zip(log.document.tolist(), log.position.tolist(), log.click.tolist(), strict=True))
    got = sorted(zip(found.document.tolist(), found.position.tolist(), found.click.tolist(), strict=True))
    assert [(str(one), *rest) for one, *rest in got] == sorted((str(one), *rest) for one, *rest in wanted)
    assert "1 events without query_id" in capsys.readouterr().err


def test_learning_reads_it_there(kept, data, tmp_path):
    data.save(tmp_path / "data")
    words = ["learn", str(tmp_path / "data"), kept, "--trees", "5", "--out", str(tmp_path / "fair.model")]
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 0, done.exception
    assert rl.load(tmp_path / "fair.model").predict(data.X).shape == (data.n_documents,)


def test_what_is_not_such_a_log_is_said(opensearch, kept):
    with pytest.raises(ValueError, match="a log in an engine is its index of UBI events"):
        ubi_log(opensearch.url("shop"))
    with pytest.raises(ValueError, match="UBI keeps its log in nowhere-ubi_queries and nowhere-ubi_events"):
        ubi_log(opensearch.url("nowhere-ubi_events"))
    with pytest.raises(ValueError, match="a log in an engine"):
        ubi_log("solr://localhost:8983/ubi_events")


TOPICS = [f"topic{at}" for at in range(25)]


@pytest.fixture(scope="module")
def shop(opensearch, tmp_path_factory):
    """An index of documents, and the log of what people did with it, in one cluster."""
    prefix = f"rankloop-{os.getpid()}-shop"
    engine = OpenSearch.create(
        opensearch.url(prefix, shards=1, replicas=0), {"title": "text", "quality": "number"}
    )
    random = np.random.default_rng(0)
    engine.add(
        {"id": f"{topic}-{at}", "title": f"{topic} thing", "quality": float(random.uniform(0, 3))}
        for topic in TOPICS
        for at in range(10)
    )
    features = rl.Features(["bm25(title)", "value(quality)"])
    ranker = FeatureSum({"bm25(title)": 1.0}, features=features.names)
    search = engine.retriever(k=10) >> features >> ranker
    grades = {
        topic: {f"{topic}-{at}": round(engine[f"{topic}-{at}"]["quality"]) for at in range(10)}
        for topic in TOPICS
    }
    data = search.dataset({topic: topic for topic in TOPICS}, grades, among="judged")
    log = rl.simulate(data, logging_policy=ranker, user="pbm", sessions=2000, k=10, temperature=1.0, seed=0)
    folder = tmp_path_factory.mktemp("shop")
    write_ubi(log, folder / "queries.jsonl", folder / "events.jsonl", timestamp=1_770_000_000.0)
    made = [engine.client]
    for what in ("queries", "events"):
        client = OpenSearchClient(Address.parse(opensearch.url(f"{prefix}-ubi_{what}")))
        records = [json.loads(line) for line in (folder / f"{what}.jsonl").read_text().splitlines()]
        client.bulk([line for one in records for line in ({"index": {}}, one)], timeout=60)
        client.call("POST", client.index("/_refresh"))
        made.append(client)
    yield opensearch.url(f"{prefix}-ubi_events"), engine
    for client in made:
        client.call("DELETE", client.index(), absent={})


def test_learning_from_the_log_alone_finds_the_documents(shop, tmp_path):
    """No data set: the features are those of the index that has what was shown."""
    log, engine = shop
    target = tmp_path / "learned"
    words = ["learn", log, "--trees", "20", "--budget", "quick", "--out", str(target), "--json"]
    done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 0, done.exception
    told = json.loads(done.stdout)
    assert told["documents"].endswith(engine.address.name)
    assert told["pages"] == 2000
    best = rl.search.load_pipeline(target / "search.rank", engine)(TOPICS[3]).ids.tolist()
    quality = [engine[id]["quality"] for id in best]
    assert np.mean(quality[:3]) > np.mean(quality[-3:]) + 0.5
    again = CliRunner().invoke(cli.app, words)
    assert "exists; choose another --out" in str(again.exception)


def test_the_index_of_a_log_is_named_where_it_cannot_be_found(shop, kept, tmp_path):
    log, engine = shop
    found = ubi_log(log)
    assert documents_of(Address.parse(log), found).name == engine.address.name
    assert documents_of(Address.parse(f"{log}?documents=other"), found).name == "other"
    with pytest.raises(ValueError, match=r"no index of .* has the documents of the log.*documents=shop"):
        documents_of(Address.parse(kept), ubi_log(kept))
    twin = OpenSearch.create(
        str(engine.address).replace(engine.address.name, f"{engine.address.name}-twin"), {"title": "text"}
    )
    try:
        twin.add({"id": id, "title": "twin"} for id in dict.fromkeys(map(str, found.document.tolist())))
        with pytest.raises(ValueError, match=r"are in .*shop and in .*twin; name it"):
            documents_of(Address.parse(log), found)
    finally:
        twin.client.call("DELETE", twin.client.index())
    done = CliRunner().invoke(cli.app, ["learn", log, "--backend", "local"])
    assert "leave --backend" in str(done.exception)
