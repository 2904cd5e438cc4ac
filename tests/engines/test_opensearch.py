"""OpenSearch for real: three nodes, the embedded index as the twin that says what is right."""

import json
import math
import os
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import rankloop as rl
from engines.batch_search import check_a_file_of_queries
from engines.counted_and_corrected import CountedAndCorrected
from engines.same_documents import assert_near_bm25, assert_same_documents, embedded
from engines.shop import FIELDS, QUERIES, SYNTAX, documents
from engines.web_documents import check_documents_come_and_go
from rankloop.cli.index import index as index_command
from rankloop.cli.search import search as search_command
from rankloop.engines import EngineAway, OpenSearch, Unsupported
from rankloop.engines.remote.address import Address
from rankloop.engines.remote.opensearch_client import OpenSearchClient
from rankloop.engines.requests.opensearch_sltr import feature_set
from rankloop.search import Features, Index, Query
from rankloop.serve import Config, Service
from rankloop.serve.config import Limits
from rankloop.serve.http.schema import SearchRequest
from serve.running import ADMIN, TOKEN, another, on_a_port, wait_until

pytestmark = pytest.mark.timeout(240)  # the first test starts the cluster


@pytest.fixture(scope="module")
def shop(opensearch):
    """An index of three shards with a copy each."""
    engine = OpenSearch.create(opensearch.url(f"rankloop-test-{os.getpid()}", shards=3, replicas=1), FIELDS)
    assert engine.add(documents()).documents == 300
    yield engine
    engine.client.call("DELETE", engine.client.index())


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """The same documents in the embedded index."""
    return embedded(tmp_path_factory.mktemp("shop"), FIELDS, documents())


@pytest.fixture
def fresh(opensearch):
    """Makes indexes that are deleted after the test."""
    made = []

    def make(fields=FIELDS, **options):
        name = f"rankloop-test-{os.getpid()}-{len(made)}"
        made.append(OpenSearch.create(opensearch.url(name, **options), fields))
        return made[-1]

    yield make
    for one in made:
        one.client.call("DELETE", one.client.index(), absent={})


def raw(opensearch, method, path, body=None, **params):
    """A call past rankloop."""
    return OpenSearchClient(Address.parse(opensearch.url("x"))).call(method, path, body, **params)


FOUND = [*QUERIES, *SYNTAX, "genre:home", "released:2013-05..2014 -blue", "the"]


@pytest.mark.parametrize("text", FOUND)
def test_finds_what_the_embedded_index_finds(shop, index, text):
    assert_same_documents(shop, index, text)


@pytest.mark.parametrize("match", ["any", "all"])
def test_filters_and_match(shop, index, match):
    for filters in (
        {"genre": ["SPORT"]},
        {"genre": ["sport", "outdoor"], "price": (None, 50)},
        {"released": ("2012-01-01", None)},
        {"price": (20, 20.5)},
        {"genre": []},
    ):
        assert_same_documents(shop, index, "red running coat", filters=filters, match=match)


def test_order_is_that_of_bm25_with_weights(shop, index):
    assert_near_bm25(shop, index, least=0.95)


def test_pages_sorting_and_what_was_understood(shop):
    whole = shop.retrieve("red", 40)
    pages = [shop.retrieve("red", 10, offset=start) for start in (0, 10, 20, 30)]
    assert whole.ids == tuple(id for page in pages for id in page.ids)
    assert whole.partial is None
    assert whole.understood == "red in title, body"
    dear = shop.retrieve("red", 100, sort="-price", filters={"genre": ["sport"]})
    prices = [one["price"] for one in shop.documents(dear.ids) if "price" in one]
    assert prices == sorted(prices, reverse=True)
    assert len(prices) < len(dear) or all("price" in one for one in shop.documents(dear.ids))
    with pytest.raises(ValueError, match="number or date field to sort by"):
        shop.retrieve("red", sort="title")
    wrong = shop.retrieve("runing")
    assert wrong.matches
    assert "also words like runing" in wrong.understood


def test_browsing_and_sorting_as_in_the_embedded_index(shop, index):
    sport = {"genre": ["sport"]}
    for query, filters, sort in (("", sport, None), ("", None, "-price"), ("red", sport, "price")):
        ours = index.retriever(k=500, filters=filters, sort=sort)(query)
        theirs = shop.retriever(k=500, filters=filters, sort=sort)(query)
        assert theirs.matches == ours.matches > 0
        assert set(theirs.ids.tolist()) == set(ours.ids.tolist())
        if sort:
            prices = [one.get("price") for one in shop.documents(theirs.ids.tolist())]
            assert prices == [one.get("price") for one in shop.documents(ours.ids.tolist())]
    assert len(shop.retriever()("")) == 0


def test_features_follow_the_query_as_it_was_understood(shop, index):
    """Also where the engine has the documents alone: its corrections are seen in what it sends."""
    features = Features(["bm25(title)", "covered(title)", "query_length", "phrase(body)"])
    for typed, meant in (("red wintr", "red winter"), ("red winte winte*", "red winter")):
        for engine in (shop, index):
            found = engine.retriever(k=1000, typos="missing")(typed)
            assert found.query.understood == meant
            right = engine.retriever(k=1000)(meant)
            shared = [id for id in right.ids.tolist() if id in set(found.ids.tolist())]
            assert len(shared) == len(right)
            place = {id: at for at, id in enumerate(found.ids.tolist())}
            mine = features.matrix(found.take([place[id] for id in shared]))
            assert np.allclose(mine, features.matrix(right), rtol=1e-5)
            assert "<mark>" in next(iter(found)).snippet
    assert sum(shop.facets(found.query, "genre", typos="missing").values()) > 0


class TestCountedAndCorrected(CountedAndCorrected):
    """The tests of every engine, on this one."""


def test_documents_facets_suggestions_and_reasons(shop, index):
    given = documents()
    assert shop.documents(["d3", "nope", "d1"]) == [given[3], None, given[1]]
    assert "d3" in shop
    assert "nope" not in shop
    assert shop["d3"] == given[3]
    with pytest.raises(KeyError):
        shop["nope"]
    for query, filters in (("red", None), ("", None), ("red shoes", {"price": (None, 50)})):
        assert shop.facets(query, "genre", filters=filters) == index.facets(query, "genre", filters=filters)
    with pytest.raises(ValueError, match="keyword fields"):
        shop.facets("red", "title")
    assert all("run" in title for title in shop.suggest("run"))
    assert shop.suggest("run")
    assert shop.suggest(" ") == []
    best = shop.retrieve("red shoes", 1)
    assert shop.explain("red shoes", best.ids[0]).score == pytest.approx(best.scores[0], rel=1e-5)
    assert "BM25" in str(shop.explain("red", best.ids[0])) or "idf" in str(shop.explain("red", best.ids[0]))
    absent = next(one["id"] for one in given if "hat" not in one["title"] + one["body"])
    assert shop.explain("hat", absent).score == 0
    with pytest.raises(LookupError, match="no document 'nope'"):
        shop.explain("red", "nope")


@pytest.mark.parametrize("text", QUERIES)
def test_features_are_the_same_three_ways(shop, index, text):
    """From the local index, from the documents that the engine sends, and from named clauses."""
    features = Features([*Features.standard(index).names, "similarity(look)", "age(released)", "user(age)"])
    query = replace(
        Query.parse(text, index.fields), at=1.8e9, user={"age": 7.0}, vectors={"look": np.ones(3, np.float32)}
    )
    ours = index.retriever(k=60)(query)
    ids = ours.ids.tolist()
    wanted = features.matrix(ours)
    fetched = shop.retriever().looked_up(query, ids)
    assert fetched.ids.tolist() == ids
    estimated = [at for at, name in enumerate(features.names) if name.startswith(("lm_", "clarity"))]
    exact = [at for at in range(len(features)) if at not in estimated]
    from_documents = features.matrix(fetched)
    np.testing.assert_allclose(from_documents[:, exact], wanted[:, exact], rtol=1e-5)
    np.testing.assert_allclose(from_documents[:, estimated], wanted[:, estimated], rtol=0.15, atol=0.3)
    names = shop.computes(features.names)
    from_engine = shop.features(query, ids, names)
    columns = [features.names.index(name) for name in names]
    np.testing.assert_allclose(from_engine.values, wanted[:, columns], rtol=1e-4, atol=1e-6)
    assert {"bm25(title)", "covered(body)", "phrase(title)", "length(body)", "value(price)"} <= set(names)
    assert not {"window(title)", "lm_dirichlet(body)", "similarity(look)", "bm25(*)"} & set(names)


@pytest.mark.parametrize("text", QUERIES)
def test_templates_of_the_plugin_score_as_rankloop_computes(shop, index, text):
    """What a feature set holds are plain queries: any OpenSearch scores them as named clauses."""
    features = Features.standard(index)
    ours = index.retriever(k=60)(text)
    ids = ours.ids.tolist()
    made = feature_set(features.names, shop.schema, lengths=True)
    words = json.dumps(Query.parse(text, index.fields).plain)[1:-1]
    clauses = [
        {
            "bool": {
                "must": [json.loads(json.dumps(one["template"]).replace("{{text}}", words))],
                "_name": one["name"],
            }
        }
        for one in made
    ]
    body = {"size": 60, "query": {"bool": {"filter": [{"ids": {"values": ids}}], "should": clauses}}}
    options = {"include_named_queries_score": "true", "search_type": "dfs_query_then_fetch"}
    found = shop.client.call("POST", shop.client.index("/_search"), body, **options)
    scores = {hit["_id"]: hit["matched_queries"] for hit in found["hits"]["hits"]}
    names = [one["name"] for one in made]
    theirs = np.array([[scores[id].get(name, np.nan) for name in names] for id in ids], np.float32)
    wanted = features.matrix(ours)[:, [features.names.index(name) for name in names]]
    np.testing.assert_allclose(theirs, wanted, rtol=1e-4, atol=1e-6)
    assert set(features.alone(shop)) == set(features.names) - set(shop.computes(features.names))
    assert "window(title)" in features.alone(shop)


@pytest.mark.parametrize("shards", [1, 3])
def test_features_that_the_plugin_logs_are_those_of_named_clauses(fresh, shards):
    """All are exact on one shard; on several, BM25 has the idf of each."""
    engine = fresh(shards=shards, replicas=0)
    try:
        engine.models.check()
    except Unsupported:
        pytest.skip(
            "the learning-to-rank plugin is in no registry; RANKLOOP_OPENSEARCH_URL names a cluster with it"
        )
    engine.add(documents())
    names = engine.declare(Features.standard(engine).names)
    assert {"bm25(title)", "boolean(body)", "phrase(title)", "length(body)", "value(price)"} <= set(names)
    ids = [*engine.retrieve("red shoes", 50).ids, "nope"]
    logged = engine.features("red shoes", ids, names, declared=True).values
    wanted = engine.features("red shoes", ids, names).values
    exact = [at for at, name in enumerate(names) if shards == 1 or not name.startswith("bm25")]
    np.testing.assert_allclose(logged[:, exact], wanted[:, exact], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(logged, wanted, rtol=0.6, atol=0.3)
    assert engine.declare(names) == names  # again: nothing changes


def test_features_of_rankloop_alone_are_refused_by_name(shop):
    with pytest.raises(Unsupported, match=r"window\(title\).*only rankloop computes"):
        shop.features("red", ["d1"], ["bm25(title)", "window(title)"])
    gone = shop.features("red", ["d1", "nope"])
    assert np.isnan(gone.values[1]).all()
    assert not np.isnan(gone.values[0, 0])


def test_a_pipeline_learns_is_saved_and_serves_over_the_engine(shop, index, tmp_path):
    judged = {
        str(at): {id: float(len(index.retriever()(text)) - rank) for rank, id in enumerate(found[:30])}
        for at, text in enumerate(QUERIES)
        if (found := index.retriever(k=60)(text).ids.tolist())
    }
    queries = {str(at): text for at, text in enumerate(QUERIES)}
    search = shop.retriever(k=100) >> rl.Features.standard(shop) >> rl.LinearRanker() >> rl.first(10)
    search.fit(queries, judged)
    page = search("red shoes")
    assert len(page) == 10
    hit = next(iter(page))
    assert hit.document["id"] == hit.id
    assert "<mark>" in hit.snippet
    search.save(tmp_path / "search.rank")
    again = rl.search.load_pipeline(tmp_path / "search.rank", shop)
    assert again("red shoes").ids.tolist() == page.ids.tolist()
    embedded = rl.search.load_pipeline(tmp_path / "search.rank", index)
    assert len(set(embedded("red shoes").ids.tolist()) & set(page.ids.tolist())) >= 6
    with pytest.raises(Unsupported, match="searched by words"):
        shop.retriever(vectors={"look": None})


def test_a_local_index_is_kept_in_step(fresh, opensearch, tmp_path):
    made = fresh(replicas=1)
    Index.create(tmp_path / "near.index", fields=FIELDS)
    engine = OpenSearch(
        Address(
            made.address.kind, made.address.hosts, made.address.name, {"local": str(tmp_path / "near.index")}
        )
    )
    given = documents(120)
    assert engine.add(given).documents == 120
    assert len(engine.local) == 120
    assert not any("run rankloop index" in one for one in engine.health().troubles)
    found = engine.retriever(k=50)("red shoes")
    assert found.snapshot is engine.local.snapshot
    sent = []
    engine.send = lambda batch: sent.extend(batch) or {}
    assert engine.add(given[:60]).documents == 60
    assert sent
    plain = [{key: value for key, value in one.items() if key != "look"} for one in given]
    del engine.send
    engine.add(plain)
    engine.send = lambda batch: pytest.fail("what has not changed is not sent again")
    assert engine.add(plain).documents == 120
    del engine.send
    made.delete(["d5"])  # behind our back: the engine lost it, so it is sent again
    engine.add(plain)
    assert "d5" in made
    made.add([{"id": "new", "title": "red shoes red shoes"}])  # another writer: not in the local index
    found = engine.retriever(k=50)("red shoes")
    assert "new" in found.ids.tolist()
    assert found.snapshot is not engine.local.snapshot
    assert any("run rankloop index again" in one for one in engine.health().troubles)
    assert engine.delete(["d1", "d2", "nope"]) == 2
    assert "d1" not in engine.local
    assert "d1" not in engine


def test_the_engine_counts_only_words_that_the_local_index_does_not_have(fresh, opensearch, tmp_path):
    made = fresh(replicas=1)
    Index.create(tmp_path / "near.index", fields=FIELDS)
    engine = OpenSearch(replace(made.address, options={"local": str(tmp_path / "near.index")}))
    engine.add(documents(120))
    made.add([{"id": "new", "title": "zebra crossing"}])  # another writer
    asked, count = [], engine._statistics._count
    engine._statistics._count = lambda wanted: asked.extend(wanted) or count(wanted)
    known = engine.retrieve("red shoes", 5)
    assert known.ids
    assert not asked
    assert "also words like" not in known.understood
    assert "also words like shoez" in engine.retrieve("red shoez", 5).understood
    assert {word for _, word in asked} == {"shoez"}
    assert "also words like" not in engine.retrieve("zebra", 5).understood  # the engine has it
    assert made.retrieve("red shoez", 5).understood == engine.retrieve("red shoez", 5).understood


def test_ids_come_from_their_column_and_else_from_the_stored_field(fresh, opensearch, tmp_path):
    """Candidates are the same either way, in order; a document that others wrote without its id is found."""
    made = fresh({"title": "text", "price": "number"})
    near = Index.create(tmp_path / "near.index", fields={"title": "text", "price": "number"})
    near.commit()
    engine = OpenSearch(replace(made.address, options={"local": str(tmp_path / "near.index")}))
    given = [{"id": at, "title": f"red word{at % 7}", "price": at} for at in range(60)]
    engine.add(given)
    asked = []
    call = engine.client.call

    def spied(method, path, body=None, **params):
        asked.append(body)
        return call(method, path, body, **params)

    engine.client.call = spied
    for options in ({}, {"sort": "-price"}, {"filters": {"price": (5, 20)}}):
        asked.clear()
        found = engine.retriever(k=50, **options)("red word3")
        assert asked[0]["docvalue_fields"] == ["id"]
        wanted = made.retriever(k=50, **options)("red word3")
        assert list(map(str, found.ids)) == list(map(str, wanted.ids))
        np.testing.assert_allclose(found.scores, wanted.scores)
        assert found.matches == wanted.matches
    raw(opensearch, "PUT", f"/{made.address.name}/_doc/theirs", {"title": "red"}, refresh="true")
    found = engine.retriever(k=100)("red word3")
    assert set(map(str, found.ids)) == {str(at) for at in range(60)} | {"theirs"}


def test_an_interrupted_run_goes_on_where_it_stopped(fresh, tmp_path, monkeypatch):
    made = fresh()
    Index.create(tmp_path / "near.index", fields=FIELDS)
    engine = OpenSearch(
        Address(
            made.address.kind, made.address.hosts, made.address.name, {"local": str(tmp_path / "near.index")}
        )
    )
    monkeypatch.setattr("rankloop.engines.remote.adding.BATCH", 20)
    given = [{key: value for key, value in one.items() if key != "look"} for one in documents(100)]

    def interrupted():
        for number, one in enumerate(given):
            if number == 70:
                raise KeyboardInterrupt
            yield one

    with pytest.raises(KeyboardInterrupt):
        engine.add(interrupted())
    assert len(engine.local) == 60
    sent = []
    send = engine.send
    monkeypatch.setattr(engine, "send", lambda batch: sent.extend(batch) or send(batch))
    assert engine.add(given).documents == 100
    assert len(sent) == 40
    assert len(engine) == len(engine.local) == 100


def test_bad_documents_and_mapping_conflicts_are_named(fresh, opensearch):
    engine = fresh({"title": "text", "price": "number"})
    with pytest.raises(ValueError, match=r"'b', field 'price': wanted a finite number.*document 2"):
        engine.add([{"id": "a", "title": "x"}, {"id": "b", "price": "cheap"}])
    added = engine.add(
        [{"title": "x"}, {"id": "c", "price": 3}, "text", {"id": "d", "title": 7}], on_error="skip"
    )
    assert added.documents == 1
    assert [one.number for one in added.skipped] == [0, 2, 3]
    assert "needs its id under 'id'" in added.skipped[0].reason
    name = engine.address.name
    raw(opensearch, "PUT", f"/{name}/_mapping", {"properties": {"stock": {"type": "integer"}}})
    refused = engine.add([{"id": "e", "stock": "many"}, {"id": "f", "stock": 3}], on_error="skip")
    assert refused.documents == 1
    assert "stock" in refused.skipped[0].reason
    with pytest.raises(ValueError, match="put a single one into a list"):
        engine.add({"id": 1})


def test_an_index_that_others_made(opensearch, fresh):
    name = fresh({"x": "text"}).address.name + "-other"
    properties = {
        "title": {"type": "text"},
        "price": {"type": "scaled_float", "scaling_factor": 100},
        "at": {"type": "date"},
        "brand": {"type": "keyword"},
        "place": {"type": "geo_point"},
    }
    raw(opensearch, "PUT", f"/{name}", {"mappings": {"properties": properties}})
    try:
        body = {"title": "Red Shoes", "price": "79.5", "at": 1700000000000, "brand": "A", "place": "1,2"}
        raw(opensearch, "PUT", f"/{name}/_doc/1", body, refresh="true")
        raw(opensearch, "PUT", f"/{name}/_doc/2", {"title": 7, "price": [3, 4]}, refresh="true")
        engine = OpenSearch(opensearch.url(name))
        assert {key: one.kind for key, one in engine.fields.items()} == {
            "title": "text", "price": "number", "at": "date", "brand": "keyword",
        }  # fmt: skip
        found = (engine.retriever() >> Features.standard(engine))("red shoes")
        assert found.ids.tolist() == ["1"]
        assert found.numbers("price").tolist() == [79.5]
        assert found.numbers("at").tolist() == [1.7e9]
        assert engine.retriever().looked_up("red", ["2"]).numbers("price").tolist() == [3.0]
        assert engine.facets("red", "brand") == {"A": 1}
    finally:
        raw(opensearch, "DELETE", f"/{name}")


def test_the_commands_fill_and_search_an_engine(opensearch, fresh, tmp_path):
    """`index --into` makes the index and the local one; a second run sends nothing; `search` asks it."""
    app = typer.Typer()
    for command in (index_command, search_command):
        app.command()(command)

    def run(*words):
        done = CliRunner().invoke(app, list(map(str, words)))
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.output

    taken = fresh({"title": "text"}).address.name
    name = f"{taken}-cli"
    source = tmp_path / "shop.jsonl"
    plain = [{key: value for key, value in one.items() if key != "look"} for one in documents(80)]
    source.write_text("\n".join(json.dumps(one) for one in plain))
    fields = ",".join(f"{key}:{kind}" for key, kind in FIELDS.items() if key != "look")
    into = opensearch.url(name, replicas=1, local=tmp_path / "near.index")
    try:
        bare = tmp_path / "bare.jsonl"
        bare.write_text('{"id": 1}')
        with pytest.raises(ValueError, match="needs --fields"):  # nothing to infer them from
            run("index", bare, "--into", into)
        printed = run("index", source, "--into", into, "--fields", fields)
        assert printed.startswith("80 documents added or updated, 80 in opensearch://")
        assert len(Index.open(tmp_path / "near.index")) == 80
        again = json.loads(run("index", source, "--into", into, "--json"))
        assert (again["added"], again["documents"]) == (80, 80)
        with pytest.raises(ValueError, match=r"has other fields already; leave .* choose another --into"):
            run("index", source, "--into", into, "--fields", "title:text")
        with pytest.raises(ValueError, match="--compact"):
            run("index", source, "--into", into, "--compact")
        for address in (opensearch.url(name), into):
            found = json.loads(run("search", address, "red shoes", "--json", "-k", 5))
            assert found["matches"] == len(Index.open(tmp_path / "near.index").retriever()("red shoes"))
            assert len(found["hits"]) == 5
        with pytest.raises(FileNotFoundError, match="make it with rankloop index"):
            run("search", opensearch.url("nowhere"), "red")
    finally:
        raw(opensearch, "DELETE", f"/{name}", absent={})


def test_a_file_of_queries_becomes_a_run(shop, tmp_path, monkeypatch):
    check_a_file_of_queries(shop, tmp_path, monkeypatch)


def test_an_alias_is_followed_when_it_is_switched(opensearch, fresh):
    one, two = fresh({"title": "text"}), fresh({"title": "text", "price": "number"})
    one.add([{"id": "old", "title": "red"}])
    two.add([{"id": "new", "title": "red", "price": 3}])
    alias = one.address.name + "-alias"
    add = {"add": {"index": one.address.name, "alias": alias}}
    raw(opensearch, "POST", "/_aliases", {"actions": [add]})
    engine = OpenSearch(opensearch.url(alias))
    assert engine.retrieve("red").ids == ("old",)
    assert not engine.refresh()
    change = {"remove": {"index": one.address.name, "alias": alias}}
    raw(
        opensearch,
        "POST",
        "/_aliases",
        {"actions": [change, {"add": {"index": two.address.name, "alias": alias}}]},
    )
    assert engine.refresh()
    assert "price" in engine.fields
    assert engine.retriever()("red").numbers("price").tolist() == [3.0]


def test_an_index_that_is_not_there_and_names_that_clash(opensearch, fresh):
    with pytest.raises(FileNotFoundError, match="no index or alias 'nowhere'"):
        OpenSearch(opensearch.url("nowhere"))
    there = fresh()
    with pytest.raises(ValueError, match="already exists"):
        OpenSearch.create(opensearch.url(there.address.name), FIELDS)
    field = rl.search.Field("text", analyser=rl.search.Analyser(grams=(2, 3)))
    with pytest.raises(Unsupported, match="n-grams"):
        OpenSearch.create(opensearch.url("grams"), {"title": field})


def test_partial_shards_and_time_limits_are_reported(shop, monkeypatch):
    answer = shop.client.call("POST", shop.client.index("/_search"), {"query": {"match_all": {}}, "size": 1})
    lost = answer | {"_shards": {"total": 3, "successful": 2, "failed": 1}}
    call = shop.client.call

    def cut(method, path, *given, **options):
        return lost if path.endswith("/_search") else call(method, path, *given, **options)

    monkeypatch.setattr(shop.client, "call", cut)
    assert shop.retrieve("red").partial == "2 of 3 shards answered"
    assert "2 of 3 shards answered" in shop.trouble
    monkeypatch.undo()
    assert shop.retrieve("red").partial is None
    assert shop.trouble is None


# The service over OpenSearch.


@pytest.fixture(params=["local", "fetched"])
def served(request, shop, tmp_path):
    """A service over the shop, with and without a local index, and its client."""
    address = shop.address
    if request.param == "local":
        near = Index.create(tmp_path / "near.index", fields=FIELDS)
        near.add(documents())
        near.commit()
        address = replace(address, options={"local": str(tmp_path / "near.index")})
    text = f"{address}?local={address.local}" if address.local else str(address)
    settings = Config(index=text, folder=tmp_path / "serve", admin_token=TOKEN, limits=Limits(rate=0.0))
    with Service.open(settings) as service, on_a_port(service) as client:
        yield client, service


def test_a_page_its_facets_and_its_clicks(served):
    client, service = served
    request = {"query": "red shoes", "k": 10, "facets": ["genre"], "filters": {"price": {"max": 80}}}
    answer = client.post("/search", json=request, headers=ADMIN).raise_for_status().json()
    assert len(answer["results"]) == 10
    assert answer["found"] == service.index.retrieve("red shoes", filters={"price": (None, 80)}).matches
    assert answer["facets"]["genre"] == service.index.facets(
        "red shoes", "genre", filters={"price": (None, 80)}
    )
    assert {"retrieve", "features", "rank"} <= set(answer["seconds"])
    assert any("<mark>" in one["snippet"] for one in answer["results"])
    first = answer["results"][0]["id"]
    click = {"impression": answer["impression"], "kind": "click", "document": first, "id": "e1"}
    accepted = client.post("/events", json={"events": [click]}).raise_for_status().json()
    assert accepted["accepted"] == 1
    page = client.get("/", params={"q": "red shoes"})
    assert page.status_code == 200
    assert "genre" in page.text
    assert client.get(f"/document/{first}").status_code == 200
    assert client.get("/document/nope").status_code == 404
    why = client.get("/explain", params={"query": "red shoes", "document": first}).raise_for_status().json()
    assert why["rank"] == 1
    low = service.index.retrieve("heavy", 1).ids[0]
    why = client.get("/explain", params={"query": "red shoes", "document": low, "against": first})
    assert why.raise_for_status().json()["against"]
    ready = client.get("/ready", headers=ADMIN).json()
    assert ready["ready"]
    assert ready["documents"] == 300


def test_an_experiment_and_a_promotion(served):
    client, service = served
    other = another(service, **{"value(price)": 1.0})
    production = service.versions.live.production.version
    begin = {"a": production, "b": other, "kind": "interleave", "share": 1.0}
    client.post("/experiments", json=begin, headers=ADMIN).raise_for_status()
    search = {"query": "red shoes", "user": "u"}
    answer = client.post("/search", json=search, headers=ADMIN).raise_for_status().json()
    assert answer["ranker"] == f"{production} + {other}"
    assert len(answer["results"]) == 10
    assert len({one["id"] for one in answer["results"]}) == 10
    service.versions.promote(other)
    prices = [
        one.document.get("price", -1.0)
        for one in service.searcher.search(SearchRequest(query="red shoes", k=5), version=other).results
    ]
    assert prices == sorted(prices, reverse=True)


def test_the_engine_is_away_and_comes_back(served):
    """503 with Retry-After, clicks still taken, and the service goes on when the engine answers again."""
    client, service = served
    answer = client.post("/search", json={"query": "red"}).raise_for_status().json()
    there, documents = service.index.client, len(service.index)
    assert documents
    service.index.client = OpenSearchClient(Address.parse("opensearch://127.0.0.1:1/shop"))
    try:
        away = client.post("/search", json={"query": "blue coat"})
        assert away.status_code == 503
        assert away.headers["Retry-After"]
        assert away.json()["detail"] == "the search engine does not answer; try again in a moment"
        page = client.get("/", params={"q": "blue coat"})
        assert page.status_code == 503
        assert page.headers["Retry-After"]
        assert "127.0.0.1" not in page.text + page.headers["X-Problem"]  # visitors are not told where it is
        service.index._counted = -math.inf  # as after an alias was switched
        assert len(service.index) == documents
        click = {
            "impression": answer["impression"],
            "kind": "click",
            "document": answer["results"][0]["id"],
            "id": "e2",
        }
        assert client.post("/events", json={"events": [click]}).json()["accepted"] == 1
        assert any("does not answer" in one for one in client.get("/ready", headers=ADMIN).json()["troubles"])
        assert client.get("/health").status_code == 200
    finally:
        service.index.client = there
    assert client.post("/search", json={"query": "blue coat"}).status_code == 200
    wait_until(lambda: client.get("/ready", headers=ADMIN).json()["troubles"] == [])


def test_an_alias_is_switched_while_serving(opensearch, fresh, tmp_path):
    """Searches before, during and after find the old documents, then the new ones; none fails."""
    one, two = fresh({"title": "text"}), fresh({"title": "text"})
    one.add([{"id": "old", "title": "red"}])
    two.add([{"id": "new", "title": "red"}])
    old, new = one.address.name, two.address.name
    alias = f"{old}-served"
    raw(opensearch, "POST", "/_aliases", {"actions": [{"add": {"index": old, "alias": alias}}]})
    settings = Config(index=opensearch.url(alias), folder=tmp_path / "serve", limits=Limits(rate=0.0))
    with Service.open(settings) as service:
        found = []

        def top():
            found.append(service.search(SearchRequest(query="red", k=1)).results[0].id)
            return found[-1]

        assert top() == "old"
        before = service.index.generation
        switch = [{"remove": {"index": old, "alias": alias}}, {"add": {"index": new, "alias": alias}}]
        raw(opensearch, "POST", "/_aliases", {"actions": switch})
        wait_until(lambda: top() == "new")
        wait_until(lambda: service.index.generation >= before and not service.troubles)
        assert found == sorted(found, reverse=True)  # old, ..., new


@pytest.mark.slow
def test_a_node_is_killed_under_load(opensearch, fresh, monkeypatch):
    """No search fails beyond the retries of the client, and nothing that was acknowledged is lost.

    An index without copies answers in part, and says how much of it did.
    """
    if not hasattr(opensearch, "kill"):
        pytest.skip("the nodes of a given cluster are not killed")
    engine = fresh(FIELDS, shards=3, replicas=1)
    engine.add(documents(200))
    alone = fresh(FIELDS, shards=6, replicas=0)
    alone.add(documents(200))
    whole = alone.retrieve("red shoes", 200)
    assert whole.partial is None
    asked = f"/_cat/shards/{alone.address.name}"  # answered with a list, which rankloop never asks for
    shards = engine.client._client.transport.perform_request("GET", asked, params={"format": "json"})
    away = sum(one["node"] == "node_2" for one in shards)
    assert len(shards) == 6
    assert away > 0
    monkeypatch.setattr("rankloop.engines.remote.opensearch_documents.WRITING", 5.0)
    wait_until(lambda: engine.health().status == "green", 60.0)  # every shard has its copy
    stop, failed, searches = threading.Event(), [], [0]
    acknowledged = []

    def search():
        while not stop.is_set():
            try:
                if not engine.retrieve("red shoes", 50).matches:
                    failed.append("found nothing")
            except Exception as error:
                failed.append(error)
            searches[0] += 1

    def write():
        number = 0
        while not stop.is_set():
            batch = [{"id": f"n{number + at}", "title": "new coat"} for at in range(20)]
            number += 20
            try:
                refused = engine.send([(one["id"], one) for one in batch])
                acknowledged.extend(one["id"] for one in batch if one["id"] not in refused)
            except EngineAway:
                pass  # not acknowledged

    threads = [threading.Thread(target=one) for one in (search, search, write)]
    for one in threads:
        one.start()
    time.sleep(1.0)
    opensearch.kill(2)
    try:
        time.sleep(6.0)
        stop.set()
        for one in threads:
            one.join()
        assert failed == []
        assert searches[0] > 20
        engine.client.call("POST", engine.client.index("/_refresh"))
        lost = [id for id, there in zip(acknowledged, engine.known(acknowledged), strict=True) if not there]
        assert acknowledged
        assert lost == []
        assert engine.health().status in ("yellow", "green")
        part = alone.retrieve("red shoes", 200)
        assert part.partial == f"{6 - away} of 6 shards answered"
        assert set(part.ids) < set(whole.ids)
        assert f"{6 - away} of 6 shards answered" in alone.trouble
        candidates = alone.retriever(k=200)("red shoes")
        assert set(candidates.ids.tolist()) == set(part.ids)
    finally:
        stop.set()
        opensearch.start(2)
        opensearch.up()


def test_documents_over_http_go_into_the_engine(served):
    check_documents_come_and_go(served[0])
