"""The API over real HTTP: answers, errors in one sentence, trust."""

import json
import time

import pytest

import rankloop
from rankloop.clicks import ClickLog
from rankloop.propensity import swap_intervention
from serve.running import ADMIN, another, client_of, wait_until

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankloop.serve.http.tokens.TRIES", 1000)  # tests guess often
        with client_of(tmp_path_factory.mktemp("shop"), swap_rate=0.0) as pair:
            yield pair


def found(client, query="red shoes", headers=None, **more):
    answer = client.post("/search", json={"query": query, **more}, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def click(page, document, **more):
    event = {"id": f"click-{document}", "impression": page["impression"], "kind": "click"}
    return {**event, "document": document, **more}


def test_a_search_says_all_that_the_issue_wants(shop):
    page = found(shop[0], k=3, facets=["brand"], headers=ADMIN)
    assert [result["position"] for result in page["results"]] == [1, 2, 3]
    assert page["results"][0]["title"] == "red running shoes"
    assert "<mark>red</mark>" in page["results"][0]["snippet"]
    assert page["found"] == 20
    assert set(page["facets"]["brand"]) == {"Hare", "Tortoise"}
    assert {"retrieve", "features", "rank", "show", "record", "total"} <= set(page["seconds"])
    assert page["ranker"] == "v1"
    assert page["impression"]


def test_filters_narrow(shop):
    page = found(
        shop[0], filters={"brand": "Hare", "price": {"min": 60, "max": 130}, "added": {"max": "2013"}}
    )
    assert {result["document"]["brand"] for result in page["results"]} == {"Hare"}
    assert all(60 <= result["document"]["price"] <= 130 for result in page["results"])
    assert page["results"]


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"colour": "red"}, "unknown field to filter by 'colour'"),
        ({"title": "red"}, "filters are on keyword, number and date fields"),
        ({"price": "cheap"}, "'price' is filtered by a number"),
        ({"price": [1, 2]}, "'price' is filtered by a number"),
        ({"brand": {"min": 1}}, "'brand' is a keyword field"),
        ({"added": {"min": "soon"}}, "a date like 2024-05-31"),
    ],
)
def test_wrong_filters_are_errors(shop, filters, message):
    answer = shop[0].post("/search", json={"query": "red", "filters": filters})
    assert answer.status_code == 400
    assert message in answer.json()["detail"]


def test_an_unfinished_word_finds_its_beginnings(shop):
    assert (
        found(shop[0], "gree", unfinished=True, record=False)["results"][0]["title"]
        == "green hat for running"
    )
    assert shop[0].get("/suggest", params={"query": "gree"}).json()["suggestions"] == [
        "green hat for running"
    ]


def test_a_misspelt_word_is_forgiven(shop):
    assert found(shop[0], "runing shos")["found"] > 0


def test_only_named_fields_come_back(shop):
    assert set(found(shop[0], fields=["price"])["results"][0]["document"]) == {"price"}


def test_a_preview_is_not_recorded(shop):
    assert found(shop[0], record=False)["impression"] is None


def test_clicks_reach_the_store_once(shop):
    client, service = shop
    page = found(client, "green hat", user="ann")
    chosen = page["results"][1]["id"]
    event = click(page, chosen)
    for _ in range(3):
        answer = client.post("/events", json={"events": [event]})
        assert answer.json() == {"accepted": 1, "refused": []}
    page_id = page["impression"].split(".")[0]
    wait_until(lambda: service.store.page(page_id) and service.recorder.spool.waiting == 0)
    shown = service.store.page(page_id)
    assert shown.query == "green hat"
    assert shown.documents == tuple(result["id"] for result in page["results"])
    assert shown.features.shape == (len(shown.documents), len(service.searcher.features.names))
    assert shown.user not in (None, "ann")
    frame = service.store.click_frame().filter(session=page_id)
    assert frame["click"].to_list() == [int(id == chosen) for id in shown.documents]


@pytest.mark.parametrize("forged", ["nothing", "a.b.c", "é.1.x", "0" * 32 + ".99999999999.AAAA"])
def test_clicks_without_the_signature_do_not_count(shop, forged):
    client, service = shop
    page = found(client)
    events = [click(page, "1"), {**click(page, "2"), "impression": forged}]
    answer = client.post("/events", json={"events": events}).json()
    assert answer["accepted"] == 1
    assert [one["id"] for one in answer["refused"]] == ["click-2"]
    assert str(service.config.secret()) not in json.dumps(answer)


def test_a_token_changed_by_one_letter_is_refused(shop):
    page = found(shop[0])
    token = page["impression"]
    changed = token[:-1] + ("A" if token[-1] != "A" else "B")
    answer = shop[0].post("/events", json={"events": [{**click(page, "1"), "impression": changed}]}).json()
    assert answer["accepted"] == 0


def test_clicks_on_a_page_of_yesterday_do_not_count(shop):
    """The same page, signed a day and a minute ago: the signature is right, and too old."""
    client, service = shop
    page = found(client)
    old = service.recorder.signer.sign(page["impression"].split(".")[0], now=time.time() - 86_460)
    answer = client.post("/events", json={"events": [{**click(page, "1"), "impression": old}]}).json()
    assert answer["accepted"] == 0
    assert "expired" in answer["refused"][0]["reason"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"not json",
        b'{"query": NaN}',
        b'{"query": "a", "k": 1e999}',
        b'{"query": "a", "k": 0}',
        b'{"query": "a", "k": 101}',
        b'{"query": "a", "colour": 1}',
        b'{"query": "\\ud800"}',
        b'{"query": "' + b"a" * 1001 + b'"}',
        b"\xff\xfe",
        b"[" * 10_000,
    ],
)
def test_bad_requests_are_errors_without_an_echo(shop, body):
    answer = shop[0].post("/search", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert '"input"' not in answer.text


def test_odd_queries_are_just_queries(shop):
    for query in ("", "   ", "\0", "-", '"', "price:", "a" * 500, "😀", "(" * 100, "-red -shoes", "*", "%00"):
        assert shop[0].post("/search", json={"query": query}).status_code == 200


def test_the_callers_own_candidates_are_ranked(shop):
    client = shop[0]
    own = [{"id": "x", "features": {"bm25(title)": 1.0}}, {"id": "y", "features": {"bm25(title)": 2.0}}]
    answer = client.post("/rank", json={"query": "red", "candidates": own}).json()
    assert [result["id"] for result in answer["results"]] == ["y", "x"]
    assert client.post("/events", json={"events": [click(answer, "x")]}).json()["accepted"] == 1
    known = [{"id": "4"}, {"id": "0"}, {"id": "missing"}]
    answer = client.post("/rank", json={"query": "red", "candidates": known}).json()
    assert [result["id"] for result in answer["results"]] == ["0", "4"]


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([{"id": "x", "features": {"bm52(title)": 1}}], "did you mean 'bm25(title)'"),
        ([{"id": "x"}, {"id": "y", "features": {}}], "every candidate or to none"),
        ([{"id": "x"}, {"id": "x"}], "given twice"),
    ],
)
def test_wrong_candidates_are_errors(shop, candidates, message):
    answer = shop[0].post("/rank", json={"query": "red", "candidates": candidates})
    assert answer.status_code == 400
    assert message in answer.json()["detail"]


def test_shares_sum_to_the_score(shop):
    page = found(shop[0])
    top = page["results"][0]
    why = shop[0].get("/explain", params={"query": "red shoes", "document": top["id"]}).json()
    assert why["rank"] == 1
    assert why["base"] + sum(one["share"] for one in why["features"]) == pytest.approx(top["score"], rel=1e-6)
    assert sum(one["score"] for one in why["words"]) == pytest.approx(top["score"], rel=1e-5)
    assert {one["term"] for one in why["words"]} == {"red", "shoe"}


def test_why_one_is_above_another(shop):
    params = {"query": "red shoes", "document": "2", "against": "0"}
    against = shop[0].get("/explain", params=params).json()["against"]
    assert (against["above"]["document"], against["below"]["document"]) == ("0", "2")
    assert against["features"][0]["share"] > 0


def test_what_is_not_there_is_an_error(shop):
    client = shop[0]
    assert client.get("/explain", params={"query": "red", "document": "none"}).status_code == 404
    assert client.get("/experiments/none", headers=ADMIN).status_code == 404
    params = {"query": "red", "document": "1", "version": "v99"}
    wrong = client.get("/explain", params=params, headers=ADMIN)
    assert wrong.status_code == 400
    assert "unknown version 'v99'" in wrong.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/models"),
        ("POST", "/models/promote"),
        ("POST", "/models/roll_back"),
        ("POST", "/models/shadow"),
        ("POST", "/models/canary"),
        ("GET", "/experiments"),
        ("POST", "/experiments"),
        ("POST", "/experiments/1/end"),
        ("POST", "/forget"),
    ],
)
@pytest.mark.parametrize("sent", [None, "Bearer", "Bearer wrong", "Basic the token of the tests", "Bearer é"])
def test_administration_needs_the_token(shop, method, path, sent):
    headers = {} if sent is None else {"Authorization": sent.encode()}
    answer = shop[0].request(method, path, headers=headers, json={"version": "v1", "user": "ann"})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_search_takes_a_thread_for_a_token_of_the_store_only(shop, monkeypatch):
    asked = []

    async def asked_of_store(request, work):
        asked.append(request.headers["authorization"])
        return work()

    monkeypatch.setattr("rankloop.serve.http.tokens.asked_of_store", asked_of_store)
    assert "ranker" not in found(shop[0]) or found(shop[0])["ranker"] is None
    assert found(shop[0], headers=ADMIN)["ranker"] == "v1"
    assert asked == []
    wrong = {"Authorization": "Bearer wrong"}
    assert shop[0].post("/search", json={"query": "red"}, headers=wrong).status_code == 401
    assert asked == ["Bearer wrong"]


def test_script_is_text_everywhere(shop):
    client, service = shop
    page = found(client, EVIL)
    for result in page["results"]:
        assert "<script" not in result["snippet"]
        assert result["url"] is None or result["url"].startswith("https://")
    version = service.registry.register(service.versions.live.production.pipeline, lineage={"name": EVIL})
    answer = client.get("/models", headers=ADMIN)
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["versions"][-1] == answer.json()["versions"][-1] | {"version": version}
    error = client.get("/explain", params={"query": EVIL, "document": EVIL})
    assert error.headers["content-type"] == "application/json"
    for path in ("/", f"/?q={EVIL}"):
        assert EVIL not in client.get(path).text


def test_every_answer_has_the_headers(shop):
    for answer in (shop[0].get("/health"), shop[0].get("/nowhere"), shop[0].post("/search", json={})):
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_health_readiness_and_metrics(shop):
    client, service = shop
    assert client.get("/health").json() == {"status": "ok", "version": None}
    assert client.get("/health", headers=ADMIN).json()["version"] == rankloop.__version__
    assert rankloop.__version__ not in client.get("/openapi.json").text
    ready = client.get("/ready", headers=ADMIN).json()
    assert (ready["ready"], ready["database"], ready["documents"]) == (True, "ok", len(service.index))
    found(client)
    metrics = client.get("/metrics", headers=ADMIN).text
    assert 'rankloop_requests_total{route="/search",status="200"}' in metrics
    assert 'rankloop_stage_seconds_count{stage="rank"}' in metrics
    assert 'rankloop_serving{role="production",version="v1"} 1.0' in metrics


def test_the_schema_is_documented(shop):
    schema = shop[0].get("/openapi.json").json()
    for path in ("/search", "/events", "/rank", "/explain", "/models", "/experiments", "/health", "/ready"):
        assert path in schema["paths"]
    assert schema["paths"]["/search"]["post"]["responses"]["503"]["content"]
    assert schema["paths"]["/models/promote"]["post"]["operationId"] == "promote"
    assert schema["paths"]["/models/promote"]["post"]["security"]
    assert "security" not in schema["paths"]["/search"]["post"]


def test_a_person_is_forgotten(shop):
    client, service = shop
    page = found(client, user="someone else")
    page_id = page["impression"].split(".")[0]
    wait_until(lambda: service.store.page(page_id))
    answer = client.post("/forget", json={"user": "someone else"}, headers=ADMIN)
    assert answer.status_code == 200
    assert service.store.page(page_id) is None


def test_models_are_promoted_and_rolled_back(tmp_path):
    with client_of(tmp_path, swap_rate=0.0) as (client, service):
        dear = another(service)
        before = found(client)
        assert (
            client.post("/models/promote", json={"version": dear}, headers=ADMIN).json()["production"] == dear
        )
        after = found(client, headers=ADMIN)
        assert after["ranker"] == dear
        assert after["results"][0]["document"]["price"] > before["results"][0]["document"]["price"]
        assert client.post("/models/roll_back", headers=ADMIN).json()["production"] == "v1"
        assert found(client)["results"] == before["results"]
        assert client.post("/models/roll_back", headers=ADMIN).status_code == 400


def test_swaps_served_give_propensities(tmp_path):
    with client_of(tmp_path, swap_rate=1.0, swap_top=2) as (client, service):
        for number in range(40):
            page = found(client, f"red shoes {number % 4}")
            event = click(page, page["results"][number // 4 % 2]["id"])
            client.post("/events", json={"events": [event]})
        wait_until(lambda: service.recorder.spool.waiting == 0)
        log = ClickLog.from_store(service.store, influence=None)  # all of them come from one address
        assert log.n_pages == 40
        assert log.page_intervention.table.tolist() == ["swap 1-2"]
        assert 0.2 < swap_intervention(log, depth=2, resamples=20).values[1] < 5


def test_on_postgresql(tmp_path, postgres):
    with client_of(tmp_path, database=postgres.database(), swap_rate=0.0) as (client, service):
        page = found(client, user="ann")
        event = click(page, page["results"][0]["id"])
        assert client.post("/events", json={"events": [event]}).json()["accepted"] == 1
        wait_until(lambda: service.recorder.spool.waiting == 0)
        assert service.store.click_frame()["click"].sum() == 1
        assert client.get("/models", headers=ADMIN).json()["production"] == "v1"
        assert "@" not in client.get("/ready", headers=ADMIN).text
