"""Learning from what collectors of other front ends sent, where they are trusted."""

import json
import os
from collections import Counter

import numpy as np
import pytest

from rankloop.clicks import write_ubi
from rankloop.rankers import FeatureSum
from rankloop.search import Features, Index, first
from rankloop.serve.config import Config, InfluenceSettings
from rankloop.serve.events.store import Store
from rankloop.serve.learning.run import learn_once
from rankloop.serve.learning.ubi_window import ubi_origins, with_ubi
from rankloop.serve.learning.window import curves_of, read_window
from rankloop.serve.models.registry import Registry
from serve.test_learning import FEATURES, NOW, TOPICS, grades, served
from serve.topics import searches

OPEN = InfluenceSettings(person=0)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """An index in which quality is what people want, and words say nothing about it."""
    random = np.random.default_rng(0)
    index = Index.create(
        tmp_path_factory.mktemp("shop") / "shop.index",
        fields={"title": "text", "quality": "number", "noise": "number"},
    )
    for topic in TOPICS:
        for at in range(12):
            quality, noise = random.normal(size=2)
            words = " ".join([topic, *["filler"] * int(random.integers(0, 6))])
            index.add([{"id": f"{topic}-{at}", "title": words, "quality": quality, "noise": noise}])
    index.commit()
    return index


@pytest.fixture(autouse=True)
def small_forests(monkeypatch):
    monkeypatch.setattr("rankloop.serve.learning.candidates.TREES", 30)
    monkeypatch.setattr("rankloop.serve.learning.candidates.JUDGE", 20)


def put_ubi(shop, folder, *, pages=3000, apart=False, seed=5, application="app"):
    """A front end whose ranking varies from page to page sends its pages of the last hours."""
    ranker = FeatureSum({"bm25(title)": 1.0}, features=FEATURES)
    search = shop.retriever(k=50) >> Features(FEATURES) >> ranker >> first(10)
    judged = {topic: grades(shop, topic) for topic in TOPICS}
    data = search.dataset({topic: topic for topic in TOPICS}, judged, among="retrieved")
    log = searches(data, ranker, pages, k=8, temperature=1.0, seed=seed)
    target = folder / "ubi" / ("apart" if apart else "")
    target.mkdir(parents=True, exist_ok=True)
    write_ubi(log, target / "queries.jsonl", target / "events.jsonl", timestamp=NOW - 3600)
    lines = (target / "queries.jsonl").read_text().splitlines()
    records = [json.loads(line) | {"application": application} for line in lines]
    (target / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    return log


def ubi_of(window, shop, config, **options):
    wanted = {"since": None, "until": NOW, "depth": 10, "influence": OPEN} | options
    return with_ubi(window, config.home, shop, Features(FEATURES), **wanted)


def test_pages_of_others_teach_beside_those_of_the_service(shop, tmp_path):
    config = served(shop, tmp_path, {"bm25(title)": 1.0}, pages=3000)
    put_ubi(shop, config.home)
    with Store.open(config.database) as store:
        own = read_window(store, since=None, until=NOW, depth=10, having=FEATURES)
    both = ubi_of(own, shop, config)
    assert both.log.n_pages == own.log.n_pages + 3000
    assert both.clicks > own.clicks
    assert (both.log.rows(both.data) >= 0).all()
    curves, kept = curves_of(both.log)
    assert set(curves.by_layout) == {*curves_of(own.log)[0].by_layout, "ubi/app"}
    assert kept.n_pages == both.log.n_pages
    assert not any("no swapped pages" in one for one in curves.alarms)
    harvested = curves.by_layout["ubi/app"].values
    np.testing.assert_allclose(harvested[:4], 1 / np.arange(1, 5), atol=0.15)
    run = learn_once(config, now=NOW)
    assert run.state == "promoted", run
    assert run.record["window"]["pages"] == own.log.n_pages + 3000


def test_pages_of_others_alone_are_learned_from_but_open_no_gate(shop, tmp_path):
    config = Config(index=shop.path, folder=tmp_path, features=FEATURES)
    put_ubi(shop, tmp_path)
    run = learn_once(config, now=NOW)
    assert run.state == "registered", run
    assert "harvested from pages of UBI alone" in run.record["message"]
    assert run.record["best"].startswith("unbiased")
    assert run.record["candidates"][run.record["best"]]["gain"][0] > 0
    with Store.open(config.database) as store:
        assert Registry(store, tmp_path / "models").roles().production == "v1"
    for path in (tmp_path / "ubi").iterdir():
        os.utime(path, (NOW - 60, NOW - 60))
    assert learn_once(config, now=NOW + 1).state == "nothing new"


def test_what_is_kept_apart_is_not_read(shop, tmp_path):
    config = Config(index=shop.path, folder=tmp_path, features=FEATURES)
    put_ubi(shop, tmp_path, pages=300, apart=True)
    assert ubi_of(None, shop, config) is None
    assert learn_once(config, now=NOW).state == "too little"


def test_a_window_a_depth_and_a_person_are_bounds(shop, tmp_path):
    config = Config(index=shop.path, folder=tmp_path, features=FEATURES)
    put_ubi(shop, tmp_path, pages=200, application="")
    assert ubi_of(None, shop, config, since=NOW - 60) is None
    assert ubi_of(None, shop, config, until=NOW - 4000) is None
    found = ubi_of(None, shop, config, depth=3)
    assert found.log.n_positions == 3
    assert found.log.n_pages == 200
    path = tmp_path / "ubi" / "queries.jsonl"
    records = [json.loads(line) | {"client_id": "ann"} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    assert ubi_of(None, shop, config, influence=InfluenceSettings(person=30)).log.n_pages == 30


def stamped(path, **given):
    """The records of a file with some fields changed; each value is a function of the number."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    changed = [
        one | {name: value(number) for name, value in given.items()} for number, one in enumerate(records)
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in changed))


def test_one_address_range_does_not_teach_by_ubi(shop, tmp_path):
    """3,000 pages of one range, each of a new person and of another day by its own clock, among 300."""
    config = Config(index=shop.path, folder=tmp_path, features=FEATURES)
    path, bound = tmp_path / "ubi" / "queries.jsonl", InfluenceSettings()
    put_ubi(shop, tmp_path, pages=3300)
    evil = [number >= 300 for number in range(3300)]
    stamped(
        path,
        client_id=lambda number: f"person {number}",
        received=lambda number: NOW - 600,
        received_from=lambda number: "evil" if evil[number] else f"range {number % 150}",
        timestamp=lambda number: (NOW - 600) * 1000 - 86_400_000 * (number % 1000 if evil[number] else 0),
    )
    assert ubi_of(None, shop, config, influence=InfluenceSettings(origin=0, query=0)).log.n_pages == 3300
    found = ubi_of(None, shop, config, influence=bound).log
    origins = ubi_origins(tmp_path)
    kept = Counter(origins[session] == "evil" for session in found.sessions.tolist())
    assert kept[True] <= 30
    assert kept[False] > 270
    stamped(path, received_from=lambda number: None)  # with the token
    assert ubi_of(None, shop, config, influence=bound).log.n_pages == 3300


def test_a_record_is_one_page(shop, tmp_path):
    """Formats of files that hold many records are not taken from the network."""
    config = Config(index=shop.path, folder=tmp_path, features=FEATURES)
    path = tmp_path / "ubi" / "queries.jsonl"
    put_ubi(shop, tmp_path, pages=50)
    inner = [json.loads(line) for line in path.read_text().splitlines()]
    wrapped = {"user_query": "x", "query_id": "w", "received_from": "evil", "received": NOW}
    wrapped["hits"] = {"hits": [{"_source": one} for one in inner[1:]]}
    path.write_text(json.dumps(inner[0]) + "\n" + json.dumps(wrapped) + "\n" + json.dumps([inner[1]]) + "\n")
    assert ubi_of(None, shop, config).log.n_pages == 1


def test_documents_that_the_index_does_not_have_leave_their_page_out(shop, tmp_path):
    config = Config(index=shop.path, folder=tmp_path, features=FEATURES)
    put_ubi(shop, tmp_path, pages=50)
    path = tmp_path / "ubi" / "queries.jsonl"
    first_line, *rest = path.read_text().splitlines()
    gone = json.loads(first_line)
    gone["query_response_hit_ids"][0] = "no such document"
    path.write_text("\n".join([json.dumps(gone), *rest, "{cut off"]) + "\n")
    found = ubi_of(None, shop, config)
    assert (found.log.n_pages, found.others) == (49, 1)
    path.write_text(json.dumps(gone | {"query_response_hit_ids": ["nor this"]}) + "\n")
    assert ubi_of(None, shop, config) is None
