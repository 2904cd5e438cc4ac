"""`rankloop deploy` on real clusters: what goes in scores there as here, and what cannot is refused."""

import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import rankloop as rl
from engines.shop import FIELDS, QUERIES, documents
from rankloop import cli
from rankloop.engines import EngineAway, OpenSearch, Solr, Unsupported
from rankloop.engines.remote.address import Address
from rankloop.engines.remote.opensearch_models import OpenSearchModels
from rankloop.engines.remote.solr_client import SolrClient

pytestmark = pytest.mark.timeout(240)  # the first test starts the cluster

FILES = {"queries": "queries.tsv", "qrels": "qrels.txt", "features": "features.txt"}
NAMES = ["bm25(title)", "bm25(body)", "boolean(title)", "phrase(body)", "value(price)"]


def shown(count=300):
    """The documents as Solr takes them: dates with a time, no vectors."""
    found = [{name: value for name, value in one.items() if name != "look"} for one in documents(count)]
    return [
        one | ({"released": one["released"] + "T00:00:00Z"} if "released" in one else {}) for one in found
    ]


@pytest.fixture(scope="module")
def shop(solr):
    """A collection of two shards."""
    name = f"rankloop-deploy-{os.getpid()}"
    client = SolrClient(Address.parse(solr.url(name, timeout=60)))
    admin = "/solr/admin/collections"
    made = {"numShards": 2, "replicationFactor": 1, "maxShardsPerNode": 2}
    client.call("GET", admin, action="CREATE", name=name, **made, **{"collection.configName": "rankloop"})
    engine = Solr(solr.url(name))
    engine.add(shown())
    yield engine
    client.call("GET", admin, action="DELETE", name=name)


@pytest.fixture(scope="module")
def index(opensearch):
    """An index of two shards."""
    name = f"rankloop-deploy-{os.getpid()}"
    kept = {name: kind for name, kind in FIELDS.items() if not kind.startswith("vector")}
    engine = OpenSearch.create(opensearch.url(name, shards=2, replicas=0), kept)
    engine.add([{name: value for name, value in one.items() if name != "look"} for one in documents(300)])
    yield engine
    engine.client.call("DELETE", engine.client.index())


def learned(names=NAMES, missing=False, trees=40, leaves=15, **options):
    """A forest over made features of about the size of real ones."""
    made = rl.synthetic(n_queries=60, docs_per_query=30, n_features=len(names), seed=1)
    random = np.random.default_rng(0)
    X = np.abs(made.X).astype(np.float32)
    X = X / X.max(axis=0) * np.where(np.array(names) == "value(price)", 100, 6).astype(np.float32)
    if missing:
        X[random.random(X.shape) < 0.2] = np.nan
    data = made.replace(X=X, feature_names=list(names))
    return rl.LambdaMART(trees=trees, leaves=leaves, threads=1, seed=0, **options).fit(data)


@pytest.fixture(scope="module")
def forest():
    return learned()


def command(*words):
    done = CliRunner().invoke(cli.app, ["deploy", *map(str, words)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


def test_solr_scores_and_ranks_as_here(shop, forest, tmp_path):
    forest.save(tmp_path / "model.rank")
    (tmp_path / "queries.txt").write_text("\n".join(f"{at}\t{text}" for at, text in enumerate(QUERIES)))
    to = ("--to", str(shop.address), "--name", "m1")
    told = command(tmp_path, *to, "--queries", tmp_path / "queries.txt", "--json")
    done = json.loads(told)
    assert done["features"] == NAMES
    assert done["documents"] > 100
    assert done["difference"] < 1e-6
    page = shop.rescored("red shoes", "m1", 20)
    values = shop.features("red shoes", page.ids, NAMES).values
    np.testing.assert_allclose(page.scores, forest.predict(values), rtol=1e-5, atol=1e-6)
    assert (np.diff(page.scores) <= 0).all()
    with pytest.raises(ValueError, match="has a model 'm1' already; choose another name"):
        command(tmp_path, *to)
    assert "m2" in command(tmp_path, "--to", shop.address, "--name", "m2")  # queries of its own documents
    assert command(*to, "--rollback").endswith("models that are there: m2\n")
    with pytest.raises(ValueError, match="has no model 'm1'"):
        command(*to, "--rollback")
    command("--to", shop.address, "--name", "m2", "--rollback")


def test_a_model_that_scores_otherwise_is_taken_out_again(shop, forest):
    def spoilt(ranker, **options):
        """One of the forty trees counts a little more."""
        return rl.rankers.to_solr(ranker, **options).replace('"weight": "1"', '"weight": "1.01"', 1)

    with pytest.raises(ValueError, match="gives 'bad' other scores than this ranker"):
        rl.engines.deploy(forest, shop, spoilt, name="bad", queries=QUERIES)
    assert "bad" not in shop.models.names()


def test_linear_models_keep_their_order(shop):
    made = rl.synthetic(n_queries=30, docs_per_query=20, n_features=len(NAMES), seed=2)
    ranker = rl.LinearRanker().fit(made.replace(feature_names=NAMES))
    with pytest.raises(ValueError, match="--complete"):
        rl.engines.deploy(ranker, shop, rl.rankers.to_solr, name="line")
    whole = lambda ranker, **options: rl.rankers.to_solr(ranker, complete=True, **options)  # noqa: E731
    done = rl.engines.deploy(ranker, str(shop.address), whole, name="line", queries=QUERIES)
    shop.models.remove("line")
    assert done.difference < 1e-5
    assert "documents of 6 queries score there as here" in repr(done)


def test_what_solr_cannot_do_is_said(shop, forest):
    export = rl.rankers.to_solr
    with pytest.raises(Unsupported, match=r"window\(title\): only rankloop computes this"):
        rl.engines.deploy(learned(["bm25(title)", "window(title)"]), shop, export, name="w")
    with pytest.raises(ValueError, match=r"refused the model.*--complete"):  # 8.11 has no isNullSameAsZero
        rl.engines.deploy(learned(missing=True), shop, export, name="n")
    with pytest.raises(ValueError, match="letters, digits"):
        rl.engines.deploy(forest, shop, export, name="m1 reRankDocs=1")
    with pytest.raises(ValueError, match="ZooKeeper holds 1,000,000"):
        rl.engines.deploy(learned(trees=300, leaves=63), shop, export, name="large")
    with pytest.raises(ValueError, match="finds nothing to compare scores on"):
        rl.engines.deploy(forest, shop, export, name="q", queries=["nothingtobefound"])
    made = rl.synthetic(n_queries=10, docs_per_query=10, n_features=5, seed=0)
    nameless = rl.LambdaMART(trees=2, threads=1).fit(made.X, made.y, qid=np.sort(np.arange(len(made.y)) % 10))
    with pytest.raises(ValueError, match="trained without names"):
        rl.engines.deploy(nameless, shop, export, name="q")
    assert shop.models.names() == []


def test_a_model_is_taken_out_where_the_engine_goes_away_meanwhile(shop, forest, monkeypatch):
    """Else its name would be taken, by a model that nobody compared."""
    reload, lost = shop.models.reload, []

    def away():
        if shop.models.has("half") and not lost:
            lost.append(True)
            raise EngineAway(f"{shop.address} does not answer")
        reload()

    monkeypatch.setattr(shop.models, "reload", away)
    with pytest.raises(EngineAway, match="does not answer"):
        rl.engines.deploy(forest, shop, rl.rankers.to_solr, name="half", queries=QUERIES[:3])
    assert lost
    assert not shop.models.has("half")
    monkeypatch.undo()
    assert rl.engines.deploy(forest, shop, rl.rankers.to_solr, name="half", queries=QUERIES[:3]).documents
    shop.models.remove("half")


def test_a_model_above_a_megabyte_is_a_file_on_the_nodes(shop, solr):
    if not hasattr(solr, "models"):
        pytest.skip("files of models cannot be put on the nodes of a given cluster")
    forest = learned(trees=300, leaves=63)
    rl.rankers.to_solr(forest, solr.models / "big.json", name="big", store="rankloop")
    done = rl.engines.deploy(
        forest, shop, rl.rankers.to_solr, name="big", resource="big.json", queries=QUERIES
    )
    shop.models.remove("big")
    assert done.difference < 1e-5
    other = learned(trees=10)  # the file on the nodes is of another ranker
    with pytest.raises(ValueError, match="other scores than this ranker"):
        rl.engines.deploy(other, shop, rl.rankers.to_solr, name="big", resource="big.json", queries=QUERIES)
    assert shop.models.names() == []


def test_only_engines_take_models(forest, tmp_path):
    rl.Index.create(tmp_path / "shop.index", fields={"title": "text"}).commit()
    with pytest.raises(Unsupported, match="models go into OpenSearch or Solr"):
        rl.engines.deploy(forest, str(tmp_path / "shop.index"), rl.rankers.to_solr, name="m")
    with pytest.raises(ValueError, match="name the engine and the model"):
        command(tmp_path, "--to", "shop.index", "--name", "m")
    with pytest.raises(ValueError, match="unknown kind of engine 'sorl'; did you mean 'solr'"):
        command(tmp_path, "--to", "sorl://localhost:8983/shop", "--name", "m")


def has_plugin(engine):
    try:
        engine.models.check()
    except Unsupported:
        return False
    return True


def test_opensearch_without_the_plugin_says_what_is_missing(index, forest):
    if has_plugin(index):
        pytest.skip("this cluster has the learning-to-rank plugin")
    with pytest.raises(
        Unsupported, match="has no learning to rank; install the plugin opensearch-learning-to"
    ):
        rl.engines.deploy(forest, index, rl.rankers.to_opensearch, name="m1")


def test_opensearch_scores_and_ranks_as_here(index):
    if not has_plugin(index):
        pytest.skip(
            "the learning-to-rank plugin is in no registry; RANKLOOP_OPENSEARCH_URL names a cluster with it"
        )
    names = [*NAMES, "length(title)"]
    forest = learned(names, missing=True)
    try:
        for name in ("rl-m1", "rl-m2"):
            done = rl.engines.deploy(forest, index, rl.rankers.to_opensearch, name=name, queries=QUERIES)
            assert done.difference < 1e-6
        with pytest.raises(ValueError, match="has a model 'rl-m1' already"):
            rl.engines.deploy(forest, index, rl.rankers.to_opensearch, name="rl-m1")
        page = index.rescored("red shoes", "rl-m1", 20)
        assert (np.diff(page.scores) <= 0).all()
        assert len(page.ids) == 20
        index.models.remove("rl-m1")
        assert not index.models.has("rl-m1")
        assert "rl-m2" in index.models.names()
    finally:
        for name in filter(index.models.has, ("rl-m1", "rl-m2")):
            index.models.remove(name)
    with pytest.raises(Unsupported, match=r"window\(title\): only rankloop"):
        rl.engines.deploy(learned(["window(title)"]), index, rl.rankers.to_opensearch, name="w")


def test_a_model_that_was_removed_is_not_named_as_left(monkeypatch):
    """OpenSearch lists a model for up to a second after it was removed."""
    models = OpenSearchModels
    monkeypatch.setattr(models, "check", lambda self: None)
    monkeypatch.setattr(models, "remove", lambda self, name, store: None)
    monkeypatch.setattr(models, "names", lambda self, store: ["m0", "m1"])
    made = object.__new__(rl.engines.OpenSearch)
    made.address, made.models = "opensearch://fake:9200/shop", models(None)
    monkeypatch.setattr(rl.engines, "open", lambda address: made)
    assert command("--to", made.address, "--name", "m1", "--rollback").endswith("are there: m0\n")


@pytest.mark.parametrize("engine", ["index", "shop"])
def test_one_command_trains_a_search_over_an_engine(request, tmp_path, engine):
    """Judged queries become a pipeline of the named features: it ranks by price, which the grades follow."""
    engine = request.getfixturevalue(engine)
    words = ["red", "blue", "green", "shoes", "running", "hat", "coat", "light", "heavy", "winter"]
    cheap = {one["id"]: int(one.get("price", 100) < 40) for one in documents(300)}
    grades = [(word, id) for word in words for id in engine.retrieve(word, 100).ids]
    (tmp_path / "queries.tsv").write_text("".join(f"{word}\t{word}\n" for word in words))
    (tmp_path / "qrels.txt").write_text("".join(f"{word} 0 {id} {cheap[id]}\n" for word, id in grades))
    (tmp_path / "features.txt").write_text("bm25(title)\nvalue(price)\n")
    files = [f"--{name}={tmp_path / file}" for name, file in FILES.items()]
    asked = ["train", str(engine.address), *files, "--ranker=lambdamart", "--set=trees=20", "--json"]
    done = CliRunner().invoke(cli.app, [*asked, f"--out={tmp_path / 'run'}"], catch_exceptions=False)
    found = {
        who: one["metrics"]["ndcg@10"]["mean"] for who, one in json.loads(done.stdout)["metrics"].items()
    }
    assert found["learned"] > found["words alone"] + 0.1
    search = rl.search.load_pipeline(tmp_path / "run/search.rank", engine)
    assert search.features.names == ("bm25(title)", "value(price)")
    assert sum(cheap[id] for id in search("summer").ids[:10]) >= 8
    if isinstance(engine, Solr):
        told = command(str(tmp_path / "run"), "--to", str(engine.address), "--name", "trained", "--complete")
        engine.models.remove("trained")
        assert "score there as here" in told
