"""SolrCloud for real: two nodes with learning to rank, and the embedded index as the twin."""

import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import rankloop as rl
from engines.batch_search import check_a_file_of_queries
from engines.counted_and_corrected import CountedAndCorrected
from engines.same_documents import assert_near_bm25, assert_same_documents, embedded
from engines.shop import FIELDS, QUERIES, SYNTAX, documents
from engines.web_documents import check_documents_come_and_go
from rankloop.cli import app
from rankloop.engines import EngineAway, Solr, Unsupported
from rankloop.engines.remote.address import Address
from rankloop.engines.remote.solr_client import SolrClient
from rankloop.search import Features, load_pipeline
from rankloop.serve import Config, Service
from serve.running import TOKEN, on_a_port

pytestmark = pytest.mark.timeout(240)  # the first test starts the cluster

KEPT = {name: kind for name, kind in FIELDS.items() if not kind.startswith("vector")}


def shown(count=300):
    """The documents as Solr takes them: dates with a time, no vectors."""
    found = []
    for one in documents(count):
        kept = {name: value for name, value in one.items() if name != "look"}
        if "released" in kept:
            kept["released"] += "T00:00:00Z"
        found.append(kept)
    return found


@pytest.fixture(scope="module")
def shop(solr):
    """A collection of two shards with two copies each; a given cluster has the config set of solr/config."""
    name = f"rankloop-test-{os.getpid()}"
    client = SolrClient(Address.parse(solr.url(name, timeout=60)))
    admin = "/solr/admin/collections"
    client.call(
        "GET",
        admin,
        action="CREATE",
        name=name,
        numShards=2,
        replicationFactor=2,
        maxShardsPerNode=4,
        **{"collection.configName": "rankloop"},
    )
    engine = Solr(solr.url(name))
    assert engine.add(shown()).documents == 300
    yield engine
    client.call("GET", admin, action="DELETE", name=name)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """The same documents in the embedded index."""
    return embedded(tmp_path_factory.mktemp("shop"), KEPT, shown())


FOUND = [
    *("red shoes", "running", "creme brulee", "word7 word9 coat", "naive winter x1", *SYNTAX),
    *("{!func}price", "red')}", "*:*"),
]


@pytest.mark.parametrize("text", FOUND)
def test_finds_what_the_embedded_index_finds(shop, index, text):
    assert_same_documents(shop, index, text)


def test_filters_order_and_pages(shop, index):
    for filters in (
        {"genre": ["sport"]},
        {"genre": ["sport", "outdoor"], "price": (None, 50)},
        {"price": (20, 30)},
    ):
        for match in ("any", "all"):
            assert_same_documents(shop, index, "red running coat", filters=filters, match=match)
    assert_near_bm25(shop, index, least=0.9)
    whole = shop.retrieve("red", 30)
    assert whole.ids == shop.retrieve("red", 15).ids + shop.retrieve("red", 15, offset=15).ids
    assert whole.understood in ("red in title, body", "red in body, title")
    dear = shop.documents(shop.retrieve("red", 20, sort="-price").ids)
    prices = [one["price"] for one in dear if "price" in one]
    assert prices == sorted(prices, reverse=True)


def test_browsing_and_sorting_as_in_the_embedded_index(shop, index):
    sport = {"genre": ["sport"]}
    for query, filters, sort in (("", sport, None), ("", None, "-price"), ("red", sport, "price")):
        ours = index.retriever(k=500, filters=filters, sort=sort)(query)
        theirs = shop.retriever(k=500, filters=filters, sort=sort)(query)
        assert theirs.matches == ours.matches > 0
        assert set(theirs.ids.tolist()) == set(ours.ids.tolist())
        prices = [one["price"] for one in shop.documents(theirs.ids.tolist()) if "price" in one]
        assert not sort or prices == sorted(prices, reverse=sort.startswith("-"))
    assert len(shop.retriever()("")) == 0


class TestCountedAndCorrected(CountedAndCorrected):
    """The tests of every engine, on this one."""


def test_documents_facets_suggestions_reasons_and_health(shop, index):
    given = shown()
    assert shop.documents(["d3", "nope", "d1"]) == [given[3], None, given[1]]
    assert "d3" in shop
    assert "nope" not in shop
    assert shop.facets("red shoes", "genre") == index.facets("red shoes", "genre")
    with pytest.raises(ValueError, match="keyword fields"):
        shop.facets("red", "title")
    assert shop.suggest("run")
    best = shop.retrieve("red shoes", 1)
    assert shop.explain("red shoes", best.ids[0]).score == pytest.approx(best.scores[0], rel=1e-4)
    absent = next(one["id"] for one in given if "hat" not in one["title"] + one["body"])
    assert shop.explain("hat", absent).score == 0
    with pytest.raises(LookupError, match="no document 'nope'"):
        shop.explain("red", "nope")
    health = shop.health()
    assert health.documents == 300
    assert health.nodes >= 1
    assert health.version.startswith("solr ")


def test_documents_come_change_and_go(shop):
    added = shop.add([{"id": "n1", "title": "purple"}, {"id": "n2", "price": "cheap"}], on_error="skip")
    assert added.documents == 1
    assert "finite number" in added.skipped[0].reason
    assert shop.retrieve("purple").ids == ("n1",)
    refused = shop.send([("n3", {"nowhere": 3}), ("n4", {"title": "purple"})])
    assert list(refused) == ["n3"]
    assert "unknown field 'nowhere'; add it to the collection's schema, or leave it out" in refused["n3"]
    assert shop.delete(["n1", "n4", "nope"]) in (1, 2)
    assert len(shop) == 300


@pytest.mark.parametrize("text", [one for one in QUERIES if "the" not in one])  # no stop words there
def test_features_are_near_what_rankloop_computes(shop, index, text):
    """Solr logs single precision scores with the statistics of a shard; values and matches are exact."""
    features = Features.standard(index)
    found = index.retriever(k=60)(text)
    ids = found.ids.tolist()
    fetched = features.matrix(shop.retriever().looked_up(text, ids))
    wanted = features.matrix(found)
    same = [
        at
        for at, name in enumerate(features.names)
        if name.startswith(("covered(", "tf_", "length", "value"))
    ]
    np.testing.assert_allclose(fetched[:, same], wanted[:, same], rtol=1e-5)
    names = shop.declare(features.names)
    assert set(names) == {
        f"{one}({field})" for one in ("bm25", "boolean", "phrase") for field in ("title", "body")
    } | {"value(price)"}
    assert set(features.alone(shop)) == set(features.names) - set(names)
    logged = shop.features(text, ids, names)
    columns = [features.names.index(name) for name in names]
    for at, name in enumerate(names):
        ours, theirs = wanted[:, columns[at]], logged.values[:, at]
        if name.startswith("bm25"):
            assert ((ours > 0) == (theirs > 0)).all(), name
            np.testing.assert_allclose(theirs, ours, rtol=0.6, atol=0.3)
        else:
            np.testing.assert_allclose(theirs, np.nan_to_num(ours), rtol=1e-5)
    with pytest.raises(Unsupported, match=r"window\(title\) is not in the feature store"):
        shop.features(text, ids, ["window(title)"])


def test_a_model_goes_in_ranks_and_is_removed(shop):
    shop.declare(["value(price)", "bm25(title)"])
    tree = {"feature": "value(price)", "threshold": "50.0", "left": {"value": "-1"}, "right": {"value": "1"}}
    model = {
        "store": "rankloop",
        "name": "dear",
        "class": "org.apache.solr.ltr.model.MultipleAdditiveTreesModel",
        "features": [{"name": "value(price)"}, {"name": "bm25(title)"}],
        "params": {"trees": [{"weight": "1", "root": tree}]},
    }
    assert shop.models.deploy(model) == "dear"
    try:
        page = shop.rescored("red shoes", "dear", 20)
        prices = [one.get("price", 0.0) for one in shop.documents(page.ids)]
        assert min(prices) > 50
        assert page.scores.tolist() == [1.0] * 20
        clash = {"store": "rankloop", "name": "bm25(title)", "class": "x", "params": {}}
        with pytest.raises(ValueError, match=r"another feature 'bm25\(title\)'"):
            shop.models.declare([clash])
        with pytest.raises(ValueError, match="has a model 'dear' already"):
            shop.models.deploy(model)
        with pytest.raises(ValueError, match="NoSuchModel"):
            shop.models.deploy(model | {"name": "other", "class": "org.apache.solr.ltr.model.NoSuchModel"})
    finally:
        shop.models.remove("dear")
    assert "dear" not in shop.models.names()


def test_a_model_above_a_megabyte_is_wrapped(shop, solr):
    """ZooKeeper holds no more; 500 trees are a file on the nodes."""
    shop.declare(["value(price)"])
    tree = {"value": "0.25"}
    for threshold in range(30):
        leaf = {"value": f"0.{threshold:03d}{'0' * 40}"}
        tree = {"feature": "value(price)", "threshold": str(float(threshold)), "left": leaf, "right": tree}
    model = {
        "store": "rankloop",
        "name": "large",
        "class": "org.apache.solr.ltr.model.MultipleAdditiveTreesModel",
        "features": [{"name": "value(price)"}],
        "params": {"trees": [{"weight": "1", "root": tree}] * 500},
    }
    with pytest.raises(ValueError, match="ZooKeeper holds"):
        shop.models.deploy(model)
    assert "large" not in shop.models.names()
    if not hasattr(solr, "models"):
        pytest.skip("files of models cannot be put on the nodes of a given cluster")
    (solr.models / "large.json").write_text(json.dumps(model))
    shop.models.deploy(model, resource="large.json")
    try:
        page = shop.rescored("red shoes", "large", 20)
        prices = [one.get("price", 0.0) for one in shop.documents(page.ids)]
        assert min(prices) > 29
        assert page.scores[0] == pytest.approx(125.0)
    finally:
        shop.models.remove("large")


def test_a_pipeline_ranks_over_the_collection(shop):
    judged = {"q": {id: float(20 - at) for at, id in enumerate(shop.retrieve("red shoes", 20).ids)}}
    search = shop.retriever(k=100) >> rl.Features.standard(shop) >> rl.LinearRanker() >> rl.first(10)
    search.fit({"q": "red shoes"}, judged)
    assert len(search("red shoes")) == 10


def test_a_file_of_queries_becomes_a_run(shop, tmp_path, monkeypatch):
    check_a_file_of_queries(shop, tmp_path, monkeypatch)


def test_away_and_absent(solr):
    with pytest.raises(EngineAway, match="does not answer"):
        Solr("solr://127.0.0.1:1/shop")
    with pytest.raises(FileNotFoundError, match="no collection 'nowhere'"):
        Solr(solr.url("nowhere"))


def test_documents_over_http_go_into_the_collection(shop, tmp_path):
    settings = Config(index=str(shop.address), folder=tmp_path / "serve", admin_token=TOKEN)
    with Service.open(settings) as service, on_a_port(service) as client:
        check_documents_come_and_go(client)


def test_a_past_log_teaches_the_collection(shop, tmp_path):
    random = np.random.default_rng(0)
    found = {query: list(shop.retrieve(query, 6).ids) for query in ("red shoes", "running", "winter coat")}
    with (tmp_path / "log.csv").open("w") as log:
        log.write("session,query,document,position,click\n")
        for page in range(300):
            query = list(found)[page % 3]
            for rank, at in enumerate(random.permutation(len(found[query])), 1):
                log.write(f"{page},{query},{found[query][at]},{rank},{int(random.random() < 0.5 / rank)}\n")
    given = ["learn", str(shop.address), str(tmp_path / "log.csv"), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, [*given, "--budget", "quick", "--trees", "5"])
    assert result.exit_code == 0, result.output + repr(result.exception)
    assert "300 pages of 3 queries" in result.output
    search = load_pipeline(tmp_path / "out" / "search.rank", shop)
    assert len(search("red shoes")) == 10
