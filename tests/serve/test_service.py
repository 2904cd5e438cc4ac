"""Faults: the database goes away, the disk is full, an index is empty; searching goes on."""

import errno
import gc
import json
import os
import weakref
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data import RankingDataset
from rankloop.rankers import RankSVM
from rankloop.search import Features, Index, Query
from rankloop.search.field import read_fields
from rankloop.serve import Service
from rankloop.serve.answer import as_filters, query_of
from rankloop.serve.config import Config, GateSettings, Limits
from rankloop.serve.events.segments import Segment
from rankloop.serve.http.schema import EventIn, Range, RankRequest, SearchRequest
from rankloop.serve.json_value import json_value
from rankloop.serve.presenter import Presenter
from serve.running import ADMIN, another, client_of, config, make_index, serving, wait_until

FIELDS = read_fields({"title": "text", "brand": "keyword", "price": "number", "added": "date"})


def event(page, number=0, **more):
    event = {"id": f"event-{number}", "impression": page["impression"], "kind": "click", "document": "1"}
    return {"events": [event | more]}


def test_searching_goes_on_while_the_database_is_away(tmp_path):
    """The file of the database is moved away, and comes back: every page and event arrives, once."""
    with client_of(tmp_path, swap_rate=0.0) as (client, service):
        database, elsewhere = tmp_path / "shop.serve" / "events.db", tmp_path / "elsewhere.db"
        wait_until(lambda: service.recorder.spool.waiting == 0)
        moved = [
            suffix for suffix in ("", "-wal", "-shm") if (tmp_path / f"shop.serve/events.db{suffix}").exists()
        ]
        for suffix in moved:
            os.rename(f"{database}{suffix}", f"{elsewhere}{suffix}")
        pages = [client.post("/search", json={"query": "red"}).json() for _ in range(5)]
        for _ in range(2):
            for page in pages:
                answer = client.post("/events", json=event(page, document=page["results"][0]["id"]))
                assert answer.json()["accepted"] == 1
        wait_until(lambda: client.get("/ready").json()["database"] == "away")
        ready = client.get("/ready", headers=ADMIN)
        assert ready.status_code == 200
        assert ready.json()["waiting"] > 0
        assert ready.json()["troubles"]
        for suffix in moved:
            os.rename(f"{elsewhere}{suffix}", f"{database}{suffix}")
        wait_until(lambda: client.get("/ready").json()["waiting"] == 0)
        assert client.get("/ready").json()["database"] == "ok"
        frame = service.store.click_frame(include_bots=True)
        assert frame["session"].n_unique() == 5
        assert frame["click"].sum() == 5


def test_administration_says_when_the_database_is_away(tmp_path):
    with client_of(tmp_path) as (client, service):
        database = tmp_path / "shop.serve" / "events.db"
        wait_until(lambda: service.recorder.spool.waiting == 0)
        os.rename(database, tmp_path / "away.db")
        answer = client.get("/models", headers=ADMIN)
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "5"
        assert "does not answer" in answer.json()["detail"]
        os.rename(tmp_path / "away.db", database)


def test_a_full_spool_refuses_events_and_shows_pages(tmp_path):
    with client_of(tmp_path, spool_megabytes=0.02) as (client, service):
        page = client.post("/search", json={"query": "red"}).json()
        service.recorder.spool.stop()  # nothing leaves it any more
        service.recorder.spool.waiting = service.recorder.spool.limit_bytes
        refused = client.post("/events", json=event(page))
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "5"
        assert "wait for the database" in refused.json()["detail"]
        unlogged = client.post("/search", json={"query": "red"})
        assert unlogged.status_code == 200
        assert unlogged.json()["results"]
        assert unlogged.json()["impression"] is None
        assert client.get("/ready").status_code == 503
        service.recorder.spool.waiting = 0
        assert client.post("/search", json={"query": "red"}).json()["impression"]
        assert client.get("/ready").status_code == 200


def test_a_full_disk_is_reported(tmp_path, monkeypatch):
    with client_of(tmp_path) as (client, service):
        page = client.post("/search", json={"query": "red"}).json()
        wait_until(lambda: service.recorder.spool.waiting == 0)

        def full(self, data, **options):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patched:
            patched.setattr(Segment, "append", full)
            refused = client.post("/events", json=event(page))
            assert refused.status_code == 503
            assert "No space left on device" in refused.json()["detail"]
            assert client.post("/search", json={"query": "red"}).json()["impression"] is None
        assert client.post("/events", json=event(page)).json()["accepted"] == 1


def test_what_was_accepted_is_there_after_a_restart(tmp_path):
    with serving(tmp_path) as service:
        page = service.search(SearchRequest(query="red"))
    with pytest.raises(ValueError, match="at most 200 events"):
        service.record([EventIn(id="e", impression="x", kind="click", document="1")] * 201)
    with Service.open(config(tmp_path)) as again:
        assert again.store.page(page.impression.split(".")[0]).query == "red"
        clicked = EventIn(id="late", impression=page.impression, kind="click", document=page.results[0].id)
        assert again.record([clicked]).accepted == 1  # the secret is the same


def test_an_empty_index_is_served(tmp_path):
    Index.create(tmp_path / "shop.index", {"title": "text", "price": "number"})
    with client_of(tmp_path) as (client, service):
        page = client.post("/search", json={"query": "red", "filters": {"price": 1}}).json()
        assert (page["found"], page["results"]) == (0, [])
        assert client.get("/ready").json()["documents"] == 0
        service.searcher.warm()
        service.index.add([{"id": "a", "title": "red shoes"}])
        service.index.commit()
        assert client.post("/search", json={"query": "red"}).json()["found"] == 1


def test_warming_up_searches_for_several_words(tmp_path, monkeypatch):
    """Where titles are single words, the first search for several would wait for more to be compiled."""
    index = Index.create(tmp_path / "shop.index", {"title": "text", "body": "text"})
    index.add([{"id": "os.getenv", "title": "getenv", "body": "Read an environment variable"}])
    index.commit()
    asked = []
    with Service.open(config(tmp_path)) as service:
        search = service.searcher.search
        monkeypatch.setattr(
            service.searcher, "search", lambda request, **how: asked.append(request) or search(request, **how)
        )
        service.searcher.warm()
    assert [one.query for one in asked] == ["Read an environment variable"]


def test_features_are_logged_the_same_for_every_model(tmp_path):
    """A version with other features serves; what is logged stays comparable."""
    with serving(tmp_path, swap_rate=0.0) as service:
        few = Features(["bm25(title)", "value(price)"])
        found = (service.index.retriever(k=100) >> few)("red shoes")
        X, y = found.columns["features"], np.arange(len(found)) % 2
        ranker = RankSVM().fit(RankingDataset(X, y, np.zeros(len(y)), feature_names=few.names))
        service.versions.promote(
            service.registry.register(service.index.retriever(k=100) >> few >> ranker, lineage={})
        )
        page = service.search(SearchRequest(query="red shoes"))
        wait_until(lambda: service.recorder.spool.waiting == 0)
        shown = service.store.page(page.impression.split(".")[0])
        assert shown.feature_names == service.searcher.features.names
        place = shown.feature_names.index("value(price)")
        assert shown.features[:, place].tolist() == [result.document["price"] for result in page.results]


def test_the_logged_scores_can_be_computed_again(tmp_path):
    with serving(tmp_path, swap_rate=0.0) as service:
        page = service.search(SearchRequest(query="red shoes"))
        wait_until(lambda: service.recorder.spool.waiting == 0)
        shown = service.store.page(page.impression.split(".")[0])
        again = service.versions.live.production.pipeline.rescore("red shoes", shown.documents)
        assert again.scores.tolist() == shown.scores.tolist()
        assert np.array_equal(again.columns["features"], shown.features, equal_nan=True)
        assert shown.fingerprint == service.versions.live.production.pipeline.fingerprint


def test_versions_side_by_side(tmp_path):
    with serving(tmp_path) as service:
        both = service.searcher.compare("red shoes", ["v1", another(service)], k=3)
        assert [side.ranker for side in both.sides] == ["v1", "v2"]
        assert both.sides[0].results != both.sides[1].results
        wait_until(lambda: service.recorder.spool.waiting == 0)
        assert service.store.click_frame().height == 0


def test_a_ranker_of_ones_own(tmp_path):
    make_index(tmp_path)
    X, y = np.array([[3.0, 0.0], [1.0, 1.0], [0.0, 2.0]]), [2, 1, 0]
    ranker = RankSVM().fit(RankingDataset(X, y, [0, 0, 0], feature_names=["clicks", "age"]))
    ranker.save(tmp_path / "own.model")
    with serving(tmp_path, rank_with=tmp_path / "own.model") as service:
        request = RankRequest(
            query="anything",
            candidates=[
                {"id": "old", "features": {"age": 9}},
                {"id": "liked", "features": {"clicks": 9, "age": 0}},
            ],
        )
        answer = service.rank(request)
        assert answer.results[0].id == "liked"
        shown = logged(service, answer)
        assert (shown.ranker, answer.ranker) == ("own.model", "own.model"), (
            "no version of the registry ranked it"
        )
        assert shown.feature_names == ("clicks", "age")
        known = service.rank(RankRequest(query="red", candidates=[{"id": "0"}, {"id": "2"}]))
        assert logged(service, known).ranker == "v1"


@given(st.text(max_size=50), st.booleans())
def test_every_text_is_a_query(text, unfinished):
    index = type("Index", (), {"fields": FIELDS})
    found = query_of(text, index, {}, unfinished=unfinished)
    assert isinstance(found, Query)
    assert "\0" not in found.text


def test_unfinished_words_are_prefixes():
    index = type("Index", (), {"fields": FIELDS})
    kinds = [
        query_of(text, index, {}, unfinished=True).clauses[-1].kind for text in ("red sho", "red ", "red s")
    ]
    assert kinds == ["prefix", "word", "word"]
    assert query_of("red sho", index, {}, unfinished=True).text == "red sho"


def test_filters_as_the_index_takes_them():
    made = as_filters({"brand": "Hare", "price": Range(min=1), "added": "2013-05"}, FIELDS)
    assert made["brand"] == ["Hare"]
    assert made["price"] == (1.0, None)
    assert [str(end) for end in made["added"]] == [
        "2013-05-01 00:00:00+00:00",
        "2013-05-31 23:59:59.999999+00:00",
    ]
    assert Query.parse("x", FIELDS).clauses


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=5))
def test_what_is_stored_can_be_sent(value):
    assert json.dumps(json_value(value), allow_nan=False).encode()
    assert json.dumps(
        json_value({"\ud800": [value, "\ud800", object]}), allow_nan=False, ensure_ascii=False
    ).encode()


@pytest.mark.parametrize(
    ("document", "url"),
    [
        ({"url": "https://a.example/"}, "https://a.example/"),
        ({"url": "javascript:alert(1)"}, None),
        ({"url": "data:text/html,x"}, None),
        ({"url": ["https://a.example/"]}, None),
        ({}, None),
    ],
)
def test_links_lead_to_the_web(document, url):
    assert Presenter("title", "url").url_of(document) == url


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names its index"),
        ("indx = 'a'", "did you mean 'index'"),
        ("index = 1", "index is a str, got 1"),
        ("index = 'a'\nswap_rate = 2.0", "swap_rate lies between 0 and 1"),
        ("index = 'a'\ntypos = 'no'", "unknown typos 'no'"),
        ("index = 'a'\n[limits]\nrates = 1", "unknown setting of \\[limits\\] 'rates'; did you mean 'rate'"),
        ("index = 'a'\n[gate]\npages = 'many'", "gate.pages is a int"),
        ("index = ", "is not TOML"),
        ("index = 'a'\nweights = {title = 'much'}", "weights.title is a float, got 'much'"),
        ("index = 'a'\nsignature_hours = 48.0", "signature_hours lies between .* and 24"),
        ("index = 'a'\nspool_megabytes = 0.0", "spool_megabytes lies between"),
        ("index = 'a'\nretain_days = -1.0", "retain_days lies between 0 and"),
        ("index = 'a'\nthreads = -1", "threads lies between 0 and"),
        ("index = 'a'\n[limits]\nk = 0", "limits.k lies between 1 and 100"),
        ("index = 'a'\n[limits]\nburst = 0", "limits.burst lies between 1 and"),
        ("index = 'a'\n[gate]\nconfidence = 95.0", "gate.confidence lies between 0.5 and"),
        ("index = 'a'\n[gate]\nmetric = 'dgc@10'", "unknown metric 'dgc@10'"),
        ("index = 'a'\n[gate]\nmetric = 'arp'", "where higher is better"),
    ],
)
def test_wrong_settings_are_errors(tmp_path, text, message):
    path = tmp_path / "shop.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        Config.read(path)


def test_settings_from_a_file(tmp_path, monkeypatch):
    path = tmp_path / "shop.toml"
    path.write_text(
        "index = 'shop.index'\nswap_rate = 0\norigins = ['https://a']\nadmin_token = 'hidden from others'\n"
        "weights = {title = 2}\n[limits]\nrate = 5\n[gate]\npages = 10\n"
    )
    made = Config.read(path)
    assert made.index == tmp_path / "shop.index"
    assert made.home == tmp_path / "shop.serve"
    assert (made.limits, made.gate) == (Limits(rate=5.0), GateSettings(pages=10))
    assert (made.origins, made.weights, made.admin_token) == (
        ("https://a",),
        {"title": 2.0},
        "hidden from others",
    )
    assert "hidden" not in repr(made)
    assert "password" not in repr(made.but(database="postgresql+psycopg://me:password@host/name"))
    monkeypatch.setenv("RANKLOOP_ADMIN_TOKEN", "from outside the file")
    assert Config.read(path).admin_token == "from outside the file"
    with pytest.raises(FileNotFoundError, match=r"there is no file or folder .*none\.toml"):
        Config.read(tmp_path / "none.toml")


def test_the_secret_is_made_once_and_for_its_owner(tmp_path):
    settings = Config(index=tmp_path / "a.index")
    assert settings.secret() == settings.secret()
    path = settings.home / "secret"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in settings.home.iterdir()] == ["secret"]
    path.write_text("short")
    with pytest.raises(ValueError, match="is damaged; delete it"):
        settings.secret()


def test_what_is_too_old_is_deleted(tmp_path):
    make_index(tmp_path)
    with serving(tmp_path) as service:
        page = service.search(SearchRequest(query="red"))
        wait_until(lambda: service.recorder.spool.waiting == 0)
        shown = service.store.page(page.impression.split(".")[0])
        service.store.put_pages([replace(shown, page_id="f" * 32, time=shown.time - 3 * 86_400)])
    with Service.open(config(tmp_path, retain_days=1.0)) as again:
        wait_until(lambda: again.store.page("f" * 32) is None)
        assert again.store.page(shown.page_id) is not None


def logged(service, page):
    wait_until(lambda: service.recorder.spool.waiting == 0)
    return service.store.page(page.impression.split(".")[0])


def test_what_is_known_of_a_person_is_a_feature(tmp_path):
    names = ("bm25(title)", "bm25(body)", "user(age)")
    with serving(tmp_path, features=names) as service:
        page = service.search(SearchRequest(query="red", user_features={"age": 42}))
        shown = logged(service, page)
        assert shown.feature_names == names
        assert set(shown.features[:, 2].tolist()) == {42.0}
        assert np.isnan(logged(service, service.search(SearchRequest(query="red"))).features[:, 2]).all()


def test_features_without_bm25_still_have_a_first_model(tmp_path):
    with serving(tmp_path, features=("value(price)",), swap_rate=0.0) as service:
        page = service.search(SearchRequest(query="red shoes"))
        assert page.results[0].title == "red running shoes"
        shown = logged(service, page)
        assert shown.feature_names == ("value(price)",)
        assert shown.features[:, 0].tolist() == [result.document["price"] for result in page.results]


def test_weights_of_fields_change_the_first_model(tmp_path):
    Index.create(tmp_path / "shop.index", {"title": "text", "body": "text"}).close()
    with Index.open(tmp_path / "shop.index") as index:
        index.add([{"id": "t", "title": "red", "body": "hat"}, {"id": "b", "title": "hat", "body": "red"}])
        index.commit()
    for weights, first in (({"title": 9.0, "body": 1.0}, "t"), ({"title": 1.0, "body": 9.0}, "b")):
        settings = Config(tmp_path / "shop.index", folder=tmp_path / first, weights=weights, swap_rate=0.0)
        with Service.open(settings) as service:
            assert service.search(SearchRequest(query="red")).results[0].id == first


def test_what_serves_no_more_goes_without_a_search_for_garbage(tmp_path):
    """What was made at the start is never searched, so it is no part of a cycle."""
    with serving(tmp_path) as service:
        service.search(SearchRequest(query="red"))
        live = service.versions.live
        old = [weakref.ref(one) for one in (live, live.production, service.index.snapshot)]
        del live
        index = Index.open(tmp_path / "shop.index")
        version = another(service)
        gc.disable()
        try:
            index.add([{"id": 1000, "title": "a new hat"}])
            index.commit()
            service.versions.promote(version)
            service.versions._loaded._known.clear()
            wait_until(lambda: all(one() is None for one in old))
        finally:
            gc.enable()


def test_fingerprints_of_old_generations_are_forgotten(tmp_path):
    with serving(tmp_path) as service:
        model = service.versions.live.production
        assert len({model.fingerprint(generation) for generation in range(100)}) == 1
        assert len(model._prints) <= 8
