"""The routes of User Behavior Insights: what counts, what is kept apart, and what is refused."""

import json
import os
import threading

import polars as pl
import pytest

from rankloop.clicks import read_ubi
from rankloop.serve import Service
from serve.running import ADMIN, client_of, config, wait_until

SITE = "https://shop.example"
QUERY = {
    "query_id": "q-1",
    "client_id": "c-9",
    "application": "shop",
    "user_query": "red shoes",
    "timestamp": "2026-03-01T10:00:00Z",
    "query_response_hit_ids": ["17", "4"],
}
CLICK = {
    "action_name": "click",
    "query_id": "q-1",
    "client_id": "c-9",
    "timestamp": "2026-03-01T10:00:07Z",
    "event_attributes": {"object": {"object_id": "4"}, "position": {"ordinal": 2}},
}


@pytest.fixture
def shop(tmp_path):
    with client_of(tmp_path, origins=(SITE,), swap_rate=0.0) as pair:
        yield pair


def kept(service, *parts):
    path = service.config.home.joinpath("ubi", *parts)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize("headers", [ADMIN, {"Origin": SITE}])
def test_what_the_collector_sends_is_read_as_clicks(shop, headers):
    client, service = shop
    assert client.post("/ubi_queries", json=[QUERY], headers=headers).json()["accepted"] == 1
    answer = client.post("/ubi_events", json=[CLICK], headers=headers)
    assert answer.json() == {"accepted": 1, "of_pages": 0, "apart": 0, "refused": []}
    folder = service.config.home / "ubi"
    log = read_ubi(folder / "queries.jsonl", folder / "events.jsonl")
    assert log.document.tolist() == ["17", "4"]
    assert log.click.tolist() == [0, 1]
    assert kept(service, "apart", "events.jsonl") == []
    assert "c-9" not in (folder / "events.jsonl").read_text()  # people are keyed hashes
    assert kept(service, "events.jsonl")[0]["client_id"] == kept(service, "queries.jsonl")[0]["client_id"]


@pytest.mark.parametrize(
    "headers", [{}, {"Origin": "https://evil.example"}, {"Authorization": "Bearer wrong"}, {"Origin": "null"}]
)
def test_others_are_kept_apart(shop, headers):
    client, service = shop
    client.post("/ubi_queries", json=[QUERY], headers=headers)
    answer = client.post("/ubi_events", json=CLICK, headers=headers)  # a single one, without an array
    assert answer.json()["apart"] == 1
    assert kept(service, "events.jsonl") == []
    assert kept(service, "queries.jsonl") == []
    assert len(kept(service, "apart", "events.jsonl")) == len(kept(service, "apart", "queries.jsonl")) == 1


def test_events_of_our_own_pages_count_once_and_only_with_the_signature(shop):
    client, service = shop
    page = client.post("/search", json={"query": "red shoes"}).json()
    document = page["results"][1]["id"]
    click = CLICK | {"query_id": page["impression"], "event_attributes": {"object": {"object_id": document}}}
    forged = click | {"query_id": page["impression"][:-3] + "AAA"}
    for _ in range(2):
        answer = client.post("/ubi_events", json=[click, forged]).json()
        assert (answer["accepted"], answer["of_pages"], answer["apart"]) == (2, 1, 1)
    wait_until(lambda: service.store.click_frame()["click"].sum() == 1)
    log = service.store.click_frame().filter(pl.col("click") > 0)
    assert log["document"].to_list() == [document]


def test_bad_records_are_refused_and_the_others_count(shop):
    client, service = shop
    answer = client.post("/ubi_events", json=[{"action_name": "click"}, CLICK, {}], headers=ADMIN).json()
    assert answer["accepted"] == 1
    assert [one["reason"] for one in answer["refused"]] == [
        "a record of ubi_events has action_name and timestamp"
    ] * 2
    assert client.post("/ubi_queries", json=[{"query_id": "1"}]).json()["accepted"] == 0
    assert client.post("/ubi_events", json="text").status_code == 422
    assert client.post("/ubi_events", json=[3]).status_code == 422
    odd = CLICK | {"event_attributes": {"object": [1]}, "query_id": {"a": 1}}
    assert client.post("/ubi_events", json=[odd], headers=ADMIN).json()["accepted"] == 1
    many = client.post("/ubi_events", json=[CLICK] * (service.config.limits.events + 1))
    assert many.status_code == 400
    assert "at most" in many.json()["detail"]


def test_a_full_file_is_said(tmp_path):
    with client_of(tmp_path, spool_megabytes=1.0) as (client, _):
        large = CLICK | {"message": "x" * 60_000}
        statuses = [client.post("/ubi_events", json=[large], headers=ADMIN).status_code for _ in range(20)]
        assert statuses[0] == 200
        assert statuses[-1] == 503
        assert "full" in client.post("/ubi_events", json=[large], headers=ADMIN).json()["detail"]


def test_one_address_range_does_not_fill_the_files(tmp_path):
    proxies = {"proxies": ("127.0.0.1",)}
    with client_of(tmp_path, spool_megabytes=4.0, origins=(SITE,), **proxies) as (client, _):
        large = CLICK | {"message": "x" * 100_000}

        def sent(where, headers):
            forwarded = {"X-Forwarded-For": where} | headers
            return client.post("/ubi_events", json=[large], headers=forwarded)

        for headers in ({"Origin": SITE}, {}):
            answers = [sent("192.0.2.1", headers) for _ in range(20)]
            assert answers[-1].status_code == 429
            assert int(answers[-1].headers["retry-after"]) > 60
            assert sent("192.0.2.77", headers).status_code == 429  # a neighbour
            assert sent("198.51.100.1", headers).status_code == 200
        assert sent("192.0.2.1", ADMIN).status_code == 200


def test_tokens_are_not_guessed_here(shop):
    client, _ = shop
    wrong = [{"Authorization": f"Bearer wrong{number}"} for number in range(20)]
    statuses = [client.post("/ubi_events", json=[CLICK], headers=one).status_code for one in wrong]
    assert statuses == [200] * 10 + [429] * 10
    assert client.get("/models", headers=ADMIN).status_code == 429  # the same count as everywhere


def test_a_disk_that_is_full_leaves_no_half_record(shop, monkeypatch):
    """`write` may write a part: then it goes on, and after an error nothing of it stays."""
    client, service = shop
    write, room = os.write, [30]

    def short(handle, data):
        if room[0] <= 0:
            raise OSError(28, "No space left on device")
        size = min(len(data), room[0])
        room[0] -= size
        return write(handle, bytes(data)[:size])

    assert client.post("/ubi_events", json=[CLICK], headers=ADMIN).status_code == 200
    monkeypatch.setattr("rankloop.serve.events.ubi_files.os.write", short)
    assert client.post("/ubi_events", json=[CLICK], headers=ADMIN).status_code == 503
    assert len(kept(service, "events.jsonl")) == 1
    room[0] = 10**6
    assert client.post("/ubi_events", json=[CLICK], headers=ADMIN).status_code == 200
    assert len(kept(service, "events.jsonl")) == 2


def test_where_a_record_came_from_is_a_key_that_senders_do_not_choose(shop):
    client, service = shop
    lie = QUERY | {"received": 5.0, "received_from": "elsewhere"}
    client.post("/ubi_queries", json=[lie], headers={"Origin": SITE})
    client.post("/ubi_queries", json=[lie], headers=ADMIN)
    by_browser, by_token = kept(service, "queries.jsonl")
    assert by_browser["received_from"] == service.recorder.origin("127.0.0.1")
    assert by_token["received_from"] is None
    assert min(by_browser["received"], by_token["received"]) > 1e9


def send(client, person, number, *, headers=ADMIN, **event):
    query = QUERY | {"query_id": f"q-{number}", "client_id": person}
    click = CLICK | {"query_id": f"q-{number}", "client_id": person} | event
    assert client.post("/ubi_queries", json=[query], headers=headers).json()["accepted"] == 1
    assert client.post("/ubi_events", json=[click], headers=headers).json()["accepted"] == 1


def test_forgetting_reaches_these_files_and_all_of_the_same_query(shop):
    """Also what is kept apart, and records of a query that only another record ties to the person."""
    client, service = shop
    send(client, "ann", 1)
    send(client, "bob", 2)
    send(client, "ann", 3, headers={})
    send(client, "a browser", 4, user_id="ann")
    assert client.post("/forget", json={"user": "ann"}, headers=ADMIN).json() == {"pages": 0}
    assert [one["query_id"] for one in kept(service, "queries.jsonl")] == ["q-2"]
    assert [one["query_id"] for one in kept(service, "events.jsonl")] == ["q-2"]
    assert kept(service, "apart", "queries.jsonl") == kept(service, "apart", "events.jsonl") == []
    assert (service.config.home / "ubi" / "queries.jsonl").stat().st_mode & 0o777 == 0o600
    send(client, "ann", 5)  # who comes back is not forgotten again
    service.look()
    assert [one["query_id"] for one in kept(service, "queries.jsonl")] == ["q-2", "q-5"]


def test_a_service_forgets_whom_others_forgot_while_it_was_away(shop, tmp_path):
    client, service = shop
    send(client, "ann", 1)
    send(client, "bob", 2)
    key = service.recorder.user("ann")
    service.close()
    service.store.forget(key)  # by another service on the same database
    with Service.open(config(tmp_path, origins=(SITE,))) as again:
        wait_until(lambda: [one["query_id"] for one in kept(again, "queries.jsonl")] == ["q-2"])


def test_what_was_received_long_ago_is_deleted(shop):
    """By the clock of the service: the time that a browser claims plays no part."""
    client, service = shop
    send(client, "ann", 1)
    path = service.config.home / "ubi" / "queries.jsonl"
    old = kept(service, "queries.jsonl")[0]
    assert service.ubi.retain(1.0) == 0
    earlier = [
        old | {"query_id": "q-2", "received": old["received"] - 3 * 86_400},
        old | {"query_id": "q-3", "timestamp": "2999-01-01T00:00:00Z", "received": 5.0},
    ]
    before = [{name: value for name, value in old.items() if name not in ("received", "timestamp")}]
    young = [{name: value for name, value in old.items() if name != "received"} | {"timestamp": "2999-01-01"}]
    path.write_text("".join(json.dumps(one) + "\n" for one in [old, *earlier, *before, *young]) + '{"cut')
    assert service.ubi.retain(1.0) == 4
    assert [one["query_id"] for one in kept(service, "queries.jsonl")] == ["q-1", "q-1"]


def test_many_processes_write_and_forget_at_once(shop):
    """Nothing that was acknowledged is lost while files are replaced."""
    _, service = shop
    sent = []

    def write(name):
        for number in range(20):
            service.ubi.add("queries", [QUERY | {"query_id": f"{name}-{number}"}], apart=False)
            sent.append(f"{name}-{number}")

    writers = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for one in writers:
        one.start()
    while any(one.is_alive() for one in writers):
        service.ubi.forget({"nobody"})
        service.ubi.retain(1.0)
    for one in writers:
        one.join()
    assert sorted(one["query_id"] for one in kept(service, "queries.jsonl")) == sorted(sent)
