"""Documents over HTTP: stored, changed and deleted, one or many, once for each key, seen by every worker."""

import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.search import Index
from rankloop.search.index.lock import IndexLocked
from rankloop.serve import Service
from rankloop.serve.config import Config, Limits
from rankloop.serve.documents import Documents, DocumentsBusy
from rankloop.serve.events.idempotency import GIVEN_UP, KEPT, KeyedRequest, SameKey
from rankloop.serve.http import documents as routes
from serve.running import ADMIN, client_of, config, make_index, on_a_port, wait_until

SOME = {"id": "900", "title": "purple umbrella", "brand": "Hare", "price": 5}
SMALL = Limits(rate=0.0, documents=5, documents_body=4_000)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("shop"), limits=SMALL) as pair:
        yield pair


def titles(client, query):
    answer = client.post("/search", json={"query": query, "k": 50, "record": False})
    assert answer.status_code == 200, answer.text
    return [one["title"] for one in answer.json()["results"]]


def change(client, method, path="/documents", body=None, key=None, status=200):
    headers = ADMIN | ({"Idempotency-Key": key} if key else {})
    answer = client.request(method, path, json=body, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


def statuses(answer):
    return [(one["id"], one["status"]) for one in answer["items"]]


def test_one_document_from_its_first_day_to_its_last(shop):
    client, _ = shop
    change(client, "PUT", "/documents/900", {"title": "purple umbrella", "brand": "Hare", "price": 5})
    assert titles(client, "umbrella") == ["purple umbrella"]
    change(client, "PATCH", "/documents/900", {"title": "violet umbrella", "price": None})
    assert titles(client, "umbrella") == ["violet umbrella"]
    stored = client.get("/documents/900", headers=ADMIN).json()
    assert stored["brand"] == "Hare"
    assert "price" not in stored
    change(client, "PUT", "/documents/900", {"title": "umbrella"})
    assert "brand" not in client.get("/documents/900", headers=ADMIN).json()  # nothing of the old one stays
    change(client, "DELETE", "/documents/900")
    assert titles(client, "umbrella") == []
    for method in ("GET", "PATCH", "DELETE"):
        body = {"title": "x"} if method == "PATCH" else None
        said = change(client, method, "/documents/900", body, status=404)
        assert said["detail"] == "there is no such document"


def test_many_get_an_answer_each(shop):
    client, service = shop
    many = [SOME, {"title": "no id"}, {"id": "901", "price": "cheap"}, SOME, {"id": 902, "title": "parasol"}]
    answer = change(client, "PUT", body={"documents": many})
    assert statuses(answer) == [
        ("900", "stored"),
        (None, "refused"),
        ("901", "refused"),
        ("900", "refused"),
        ("902", "stored"),
    ]
    assert "'price'" in answer["items"][2]["reason"]
    assert "twice" in answer["items"][3]["reason"]
    assert answer["generation"] == service.index.generation
    changed = change(
        client, "PATCH", body={"documents": [{"id": "900", "price": 6}, {"id": "nothing", "price": 1}]}
    )
    assert statuses(changed) == [("900", "stored"), ("nothing", "absent")]
    gone = change(client, "DELETE", body={"ids": ["900", 902, "901", "900"]})
    assert statuses(gone) == [("900", "deleted"), ("902", "deleted"), ("901", "absent")]


def test_an_invalid_document_leaves_the_old_one_as_it_was(shop):
    client, _ = shop
    change(client, "PUT", "/documents/903", {"title": "tent"})
    said = change(client, "PUT", "/documents/903", {"title": "tent", "price": "cheap"}, status=400)
    assert "price" in said["detail"]
    assert titles(client, "tent") == ["tent"]
    change(client, "DELETE", "/documents/903")


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}])
def test_without_the_token_nothing_is_read(shop, headers):
    client, service = shop
    before = service.index.generation
    answer = client.put("/documents", content=b"x" * 5_000, headers=headers)
    assert answer.status_code == 401
    assert service.index.generation == before


@pytest.mark.parametrize(
    ("method", "path", "content", "status", "message"),
    [
        ("PUT", "/documents", b"x" * 4_001, 413, "a request has at most 4000 bytes; send less at a time"),
        ("PUT", "/documents", b"{", 422, "it is not JSON"),
        ("PUT", "/documents", b"", 422, "it is not JSON"),
        ("PUT", "/documents", b"\xff\xfe\x00", 422, "it is not JSON"),
        ("PUT", "/documents", b'{"documents": [{"id": "1", "price": NaN}]}', 422, "NaN is not a valid JSON"),
        ("PUT", "/documents", b"[" * 3_900, 400, "nested too deeply"),
        ("PUT", "/documents", b'{"documents": []}', 422, "documents: list should have at least 1 item"),
        ("PUT", "/documents", b'{"documents": [1]}', 422, "documents.0: input should be a valid dictionary"),
        ("PUT", "/documents", b'{"docs": []}', 422, "documents: this field is needed"),
        ("DELETE", "/documents", b'{"ids": [""]}', 422, "ids.0"),
        ("DELETE", "/documents", b'{"ids": ["1","2","3","4","5","6"]}', 400, "at most 5 documents at once"),
        ("PUT", "/documents/7", b"[]", 422, "it is an object with the fields by name"),
        ("PUT", "/documents/7", b'{"id": "8"}', 400, "the id in the address differs"),
        ("PUT", "/documents/" + "x" * 501, b"{}", 422, "id: string should have at most 500 characters"),
        ("PATCH", "/documents/no/such", b'{"title": "a"}', 404, "there is no such document"),
    ],
)
def test_a_wrong_request_is_one_sentence(shop, method, path, content, status, message):
    answer = shop[0].request(method, path, content=content, headers=ADMIN)
    assert answer.status_code == status, answer.text
    assert message in answer.json()["detail"]
    assert "\n" not in answer.json()["detail"]


def test_half_a_surrogate_pair_is_refused_not_an_error_of_ours(shop):
    for body in (
        b'{"documents": [{"id": "\\ud800", "title": "x"}]}',
        b'{"documents": [{"id": "1", "\\ud800": 1}]}',
    ):
        answer = shop[0].put("/documents", content=body, headers=ADMIN)
        assert answer.status_code < 500, answer.text


def test_a_body_that_comes_too_slowly_is_given_up(shop, monkeypatch):
    monkeypatch.setattr(routes, "SLOWEST_BODY", 0.1)

    def slow():
        yield b'{"docu'
        time.sleep(0.5)
        yield b'ments": []}'

    assert shop[0].put("/documents", content=slow(), headers=ADMIN).status_code == 408


# Keys.


def test_a_key_does_it_once_and_answers_alike_also_after_a_restart(tmp_path):
    make_index(tmp_path)
    body = {"documents": [{"id": "900", "title": "umbrella"}]}
    with client_of(tmp_path) as (client, service):
        first = change(client, "PUT", body=body, key="a")
        change(client, "PUT", "/documents/900", {"title": "parasol"})
        assert change(client, "PUT", body=body, key="a") == first
        assert titles(client, "parasol") == ["parasol"]  # it was not done again
        before = service.index.generation
    with client_of(tmp_path) as (client, service):
        answer = client.put("/documents", json=body, headers=ADMIN | {"Idempotency-Key": "a"})
        assert answer.json() == first
        assert answer.headers["idempotency-replayed"] == "true"
        assert service.index.generation == before
        other = change(client, "PUT", "/documents/900", {"title": "x"}, key="a", status=409)
        assert "another request" in other["detail"]
        refused = change(client, "PUT", "/documents/900", {"price": "x"}, key="b", status=400)
        assert change(client, "PUT", "/documents/900", {"price": "x"}, key="b", status=400) == refused


def test_of_two_requests_with_one_key_one_is_done(store):
    one, two = (KeyedRequest(store, "key", b"body") for _ in range(2))
    assert one.begin(now=0.0) is None
    with pytest.raises(SameKey, match="still running") as later:
        two.begin(now=1.0)
    assert later.value.later
    one.finish("answer")
    assert two.begin(now=2.0) == "answer"
    with pytest.raises(SameKey, match="another request"):
        KeyedRequest(store, "key", b"other").begin(now=3.0)
    assert KeyedRequest(store, "key", b"other").begin(now=KEPT + 1.0) is None


def test_a_request_that_died_is_done_again(store):
    one, two = (KeyedRequest(store, "key", b"body") for _ in range(2))
    assert one.begin(now=0.0) is None
    assert two.begin(now=GIVEN_UP + 1.0) is None
    two.give_up()
    assert one.begin(now=GIVEN_UP + 2.0) is None


# Workers and the lock.


def test_every_worker_shows_it_within_a_second_or_so(tmp_path):
    make_index(tmp_path)
    with (
        client_of(tmp_path) as (client, _),
        Service.open(config(tmp_path)) as worker,
        on_a_port(worker) as other,
    ):
        change(client, "PUT", "/documents/900", {"title": "umbrella"})
        start = time.monotonic()
        wait_until(lambda: titles(other, "umbrella") == ["umbrella"], seconds=10.0)
        assert time.monotonic() - start < 6.0  # a look every second, and a busy machine


def test_workers_take_turns_and_nothing_is_lost(tmp_path):
    make_index(tmp_path)
    with Service.open(config(tmp_path)) as one, Service.open(config(tmp_path)) as two:

        def write(service, name):
            for number in range(8):
                service.documents.put([{"id": f"9{name}{number}", "title": f"umbrella {name} {number}"}])

        threads = [threading.Thread(target=write, args=(s, n)) for n, s in enumerate((one, two, one))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        one.index.refresh()
        assert len(one.index) == 24 + 24


def test_while_another_writes_the_answer_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("rankloop.serve.documents.PATIENCE", 0.05)
    with client_of(tmp_path) as (client, _):
        with Index.open(tmp_path / "shop.index") as index:
            index.add([{"id": 900, "title": "umbrella"}])  # as rankloop index does, until its commit
            for key in (None, "a"):
                headers = ADMIN | ({"Idempotency-Key": key} if key else {})
                answer = client.delete("/documents/1", headers=headers)
                assert answer.status_code == 503
                assert int(answer.headers["retry-after"]) > 0
                assert "is being written by process" in answer.json()["detail"]
                assert "send this again later" in answer.json()["detail"]
            index.commit()
        assert statuses(change(client, "DELETE", "/documents/1", key="a")) == [("1", "deleted")]


def test_the_local_index_of_an_engine_may_be_locked_too(tmp_path, monkeypatch):
    """The engine has the change by then; the answer says to send it again."""
    index = make_index(tmp_path)

    class Engine:
        def add(self, given, on_error):
            raise IndexLocked(f"{index.path} is being written by process 7; wait for its commit")

    monkeypatch.setattr("rankloop.serve.documents.open_engine", lambda where: Engine())
    documents = Documents(Config(index="opensearch://nowhere:1/shop", folder=tmp_path / "serve"), index)
    for _ in range(2):  # the turn is given back
        with pytest.raises(DocumentsBusy, match="written by process 7, as by rankloop index"):
            documents.put([SOME])


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "patch", "delete"]),
            st.sampled_from("12345"),
            st.dictionaries(st.sampled_from(["title", "brand", "note"]), st.sampled_from(["a", "b", None])),
        ),
        max_size=8,
    )
)
def test_documents_are_what_a_dict_of_them_would_be(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("twin")
    Index.create(folder / "shop.index", {"title": "text", "brand": "keyword"})
    twin = {}
    index = Index.open(folder / "shop.index")
    documents = Documents(config(folder), index)
    for verb, id, fields in steps:
        if verb == "delete":
            found = documents.delete([id])[0].status
            assert found == ("deleted" if twin.pop(id, None) is not None else "absent")
            continue
        found = getattr(documents, verb)([{"id": id, **fields}])[0].status
        if verb == "patch" and id not in twin:
            assert found == "absent"
            continue
        assert found == "stored"
        whole = {**(twin.get(id, {}) if verb == "patch" else {}), **fields, "id": id}
        twin[id] = {name: value for name, value in whole.items() if value is not None}
    assert {str(id): index[id] for id in index.ids.tolist()} == twin
