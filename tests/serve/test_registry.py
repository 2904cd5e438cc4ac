"""Versions are whole or refused; roles change together, or not at all."""

import sys
import threading
from types import SimpleNamespace

import pytest

import rankloop as rl
from rankloop.serve.config import Config
from rankloop.serve.learning.against_production import Rivals, _pipeline
from rankloop.serve.learning.candidates import Candidate
from rankloop.serve.models.live import first_model
from rankloop.serve.models.registry import Registry, Roles
from tiny_encoder import Words, make_model


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    made = rl.Index.create(tmp_path_factory.mktemp("index") / "shop.index", fields={"title": "text"})
    made.add([{"id": str(i), "title": f"shoe number {i}"} for i in range(20)])
    made.commit()
    return made


@pytest.fixture(scope="module")
def search(index):
    features = rl.Features.standard(index)
    pipeline = index.retriever(k=10) >> features >> rl.LinearRanker(loss="ranknet") >> rl.first(5)
    return pipeline.fit({"q": "shoe number 3"}, {"q": {"3": 2, "4": 0, "5": 0}})


@pytest.fixture
def registry(store, tmp_path):
    return Registry(store, tmp_path / "models")


def test_a_registered_pipeline_answers_as_before(registry, search, index, tmp_path):
    assert registry.register(search, lineage={"data": "judgments"}) == "v1"
    search.save(tmp_path / "saved.zip")
    assert registry.register(tmp_path / "saved.zip", lineage={}) == "v2"
    expected = search("shoe number 7")
    for version in ("v1", "v2"):
        answer = registry.load(version, index)("shoe number 7")
        assert answer.ids.tolist() == expected.ids.tolist()
        assert answer.scores.tolist() == expected.scores.tolist()
    first, second = registry.versions()
    assert (first.version, first.lineage, first.role) == ("v1", {"data": "judgments"}, None)
    assert first.sha256 == second.sha256
    assert len(list(registry.folder.iterdir())) == 1


def test_results_are_added_to_the_lineage(registry, search):
    registry.register(search, lineage={"data": "clicks", "ndcg": 0.1})
    registry.note("v1", {"ndcg": 0.2, "interleaved": {"wins": 3, "curve": (1.0, float("nan"))}})
    expected = {"data": "clicks", "ndcg": 0.2, "interleaved": {"wins": 3, "curve": [1.0, None]}}
    assert registry.version("v1").lineage == expected


def test_promote_and_roll_back(registry, search):
    for _ in range(3):
        registry.register(search, lineage={})
    assert registry.roles() == Roles()
    with pytest.raises(ValueError, match="no version to roll back to"):
        registry.roll_back()
    for version in ("v1", "v2", "v3", "v3"):
        registry.promote(version)
    assert registry.roles() == Roles("v3", "v2")
    assert [one.role for one in registry.versions()] == [None, "previous", "production"]
    assert registry.roll_back() == "v2"
    assert registry.roles() == Roles("v2", "v1")
    assert registry.roll_back() == "v1"
    assert registry.roles() == Roles("v1")
    with pytest.raises(ValueError, match="no version to roll back to"):
        registry.roll_back()
    assert registry.roles().production == "v1"


def test_shadow_and_canary(registry, search):
    for _ in range(2):
        registry.register(search, lineage={})
    registry.promote("v1")
    registry.shadow("v2")
    registry.canary("v2", 0.25)
    assert registry.roles() == Roles("v1", None, "v2", "v2", 0.25)
    with pytest.raises(ValueError, match="v1 is in production; choose another version as canary"):
        registry.canary("v1", 0.5)
    with pytest.raises(ValueError, match=r"share of a canary lies in \(0, 1\], got 2"):
        registry.canary("v2", 2)
    registry.promote("v2")
    assert registry.roles() == Roles("v2", "v1")
    registry.canary("v1", 1.0)
    registry.canary(None)
    registry.shadow(None)
    assert registry.roles() == Roles("v2", "v1")


@pytest.mark.parametrize("change", ["promote", "shadow", "canary", "version", "path"])
def test_an_unknown_version_changes_nothing(registry, search, change):
    registry.register(search, lineage={})
    registry.promote("v1")
    with pytest.raises(ValueError, match=r"unknown version 'v9'.* known: v1"):
        getattr(registry, change)("v9")
    with pytest.raises(ValueError, match="unknown version"):
        registry.promote("../../etc/passwd")
    assert registry.roles() == Roles("v1")


def test_a_corrupt_model_is_refused(registry, search, index, tmp_path):
    registry.register(search, lineage={})
    path = registry.path("v1")
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    with registry.store.writing() as connection:  # where the store has a copy, it mends the file
        connection.exec_driver_sql("DELETE FROM shared_files")
    with pytest.raises(ValueError, match="v1 is damaged: its hash is not the registered one"):
        registry.load("v1", index)
    path.unlink()
    with pytest.raises(ValueError, match="file of v1 is missing"):
        registry.load("v1", index)
    for name, content in {"cut": whole[:-30], "text": b"no zip"}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match="damaged or not a saved pipeline"):
            registry.register(tmp_path / name, lineage={})
    assert [one.version for one in registry.versions()] == ["v1"]
    assert list(registry.folder.iterdir()) == []
    registry.register(search, lineage={})
    registry.load("v1", index)  # the same content mends it


def test_a_lineage_that_is_no_json_is_refused_before_anything_is_written(registry, search):
    with pytest.raises(TypeError, match="not JSON serializable"):
        registry.register(search, lineage={"ranker": search})
    assert registry.versions() == []
    assert list(registry.folder.iterdir()) == []


def test_versions_are_numbered_once_whoever_registers(registry, search):
    names = []
    work = [
        threading.Thread(target=lambda: names.append(registry.register(search, lineage={}))) for _ in range(6)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert sorted(names) == [f"v{i}" for i in range(1, 7)]


def test_models_over_an_index_with_an_encoder_are_served(registry, tmp_path, monkeypatch):
    """Its features are logged by name: the first model and a learned one get their encoder from the index."""
    monkeypatch.setitem(sys.modules, "tokenizers", SimpleNamespace(Tokenizer=Words))
    index = rl.Index.create(
        tmp_path / "shop.index",
        {"title": "text", "meaning": "vector"},
        encoder=str(make_model(tmp_path / "own")),
    )
    index.add([{"id": "1", "title": "red shoe"}, {"id": "2", "title": "blue hat"}])
    index.commit()
    names = ("similarity(meaning)", "length(title)")
    config = Config(index=index.path, features=names)
    model = first_model(index, config)
    assert model.features.names == (*names, "bm25(title)")
    registry.register(model, lineage={})
    production = registry.load("v1", index)
    found = production("crimson red shoe")
    data = rl.RankingDataset(
        found.columns["features"], [1, 0], [0, 0], feature_names=production.features.names
    )
    rivals = Rivals(index, production, config.k, config.learn_budget, voices=None, until=None)
    learned = _pipeline(rivals, data, None, Candidate(production.ranker, found.scores, {}))
    registry.register(learned, lineage={})
    again = registry.load("v2", index)("crimson red shoe")
    assert again.ids.tolist() == found.ids.tolist() == ["1", "2"]
    assert again.scores.tolist() == found.scores.tolist()
