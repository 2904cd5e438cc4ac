"""Misspelt and half-typed words in the service: page, facets and log are of what was understood."""

import json

import numpy as np
import pytest
from sqlalchemy import text

from rankloop.search import Index
from rankloop.serve.http.schema import SearchRequest
from serve.running import another, client_of, serving, wait_until

SHIRTS = [{"id": f"s{n}", "title": "Blue T-shirt", "body": "cotton", "kind": "shirts"} for n in range(12)]
HEARD = [{"id": f"h{n}", "title": "Headphones", "body": "over the ear", "kind": "sound"} for n in range(5)]
BLUE = [{"id": "best", "title": "Blue headphones", "body": "wireless", "kind": "sound"}]


@pytest.fixture
def folder(tmp_path):
    index = Index.create(tmp_path / "shop.index", {"title": "text", "body": "text", "kind": "keyword"})
    index.add([*SHIRTS, *HEARD, *BLUE])
    index.commit()
    return tmp_path


def logged(service):
    wait_until(lambda: service.recorder.spool.waiting == 0)
    with service.store.reading() as connection:
        return connection.execute(text("SELECT query, typed, page_id FROM pages ORDER BY time")).all()


def test_a_misspelt_word_shows_what_was_meant(folder):
    with client_of(folder, swap_rate=0.0) as (client, service):
        ask = {"facets": ["kind"], "k": 10}
        wrong = client.post("/search", json={"query": "blue headphnes", **ask}).json()
        right = client.post("/search", json={"query": "blue headphones", **ask}).json()
        assert wrong["results"][0]["id"] == "best"
        assert wrong["query"] == "blue headphnes"
        assert wrong["understood"] == "blue headphones"
        assert right["understood"] is None
        for name in ("found", "facets"):
            assert wrong[name] == right[name]
        scores = [
            [(one["id"], one["score"], one["snippet"]) for one in page["results"]] for page in (wrong, right)
        ]
        assert scores[0] == scores[1]
        assert [row[:2] for row in logged(service)] == [
            ("blue headphones", "blue headphnes"),
            ("blue headphones", None),
        ]
        pages = [service.store.page(row[2]) for row in logged(service)]
        assert np.array_equal(pages[0].features, pages[1].features, equal_nan=True)
        assert pages[0].typed == "blue headphnes"


def test_a_half_typed_word_is_completed(folder):
    with client_of(folder, swap_rate=0.0) as (client, service):
        page = client.post("/search", json={"query": "blue headph", "unfinished": True}).json()
        assert page["results"][0]["id"] == "best"
        assert page["understood"] == "blue headphones"
        assert (
            client.get("/suggest", params={"query": "blue headph"}).json()["suggestions"][0]
            == "Blue headphones"
        )
        assert (
            client.get("/suggest", params={"query": "bleu headph"}).json()["suggestions"][0]
            == "Blue headphones"
        )
        assert logged(service)[0][:2] == ("blue headphones", "blue headph")


def test_a_finished_word_is_as_it_was_typed(folder):
    """The prefix that completes a last word is not a word of its own in the features."""
    with serving(folder, swap_rate=0.0) as service:
        one = SearchRequest(query="blue headphones", unfinished=True)
        two = SearchRequest(query="blue headphones")
        pages = [service.search(request) for request in (one, two)]
        assert pages[0].understood is None
        assert [r.score for r in pages[0].results] == [r.score for r in pages[1].results]
        assert [row[:2] for row in logged(service)] == [("blue headphones", None)] * 2


def test_both_sides_of_an_interleaved_page_understand_the_same(folder):
    with serving(folder) as service:
        service.experiments.start("v1", another(service, **{"bm25(title)": 1.0}), kind="interleave")
        service.versions.reload()
        page = service.search(SearchRequest(query="blue headphnes", user="ann"))
        assert page.understood == "blue headphones"
        assert page.results[0].id == "best"


def test_candidates_of_the_caller_and_reasons(folder):
    with client_of(folder) as (client, service):
        body = {"query": "blue headphnes", "candidates": [{"id": one} for one in ("s1", "best", "h1")]}
        ranked = client.post("/rank", json=body).json()
        assert ranked["results"][0]["id"] == "best"
        assert ranked["understood"] == "blue headphones"
        why = client.get("/explain", params={"query": "blue headphnes", "document": "best"}).json()
        assert why["understood"] == "blue headphones"
        values = {one["name"]: one["value"] for one in why["features"]}
        assert values["covered(title)"] == 2
        assert logged(service)[0][:2] == ("blue headphones", "blue headphnes")


def test_typos_that_are_left_alone(folder):
    with serving(folder, typos="never") as service:
        page = service.search(SearchRequest(query="blue headphnes", facets=["kind"]))
        assert page.understood is None
        assert page.facets == {"kind": {"shirts": 12, "sound": 1}}


def test_a_page_of_the_schema_before_has_no_typed_query(folder):
    """A spool that an older rankloop left behind is still read."""
    from rankloop.serve.events.records import decode, encode

    with serving(folder) as service:
        service.search(SearchRequest(query="blue"))
        page = service.store.page(logged(service)[0][2])
    whole = encode(page)
    size = int.from_bytes(whole[1:5], "little")
    fields = json.loads(whole[5 : 5 + size])
    del fields["typed"]
    older = json.dumps(fields).encode()
    old = whole[:1] + len(older).to_bytes(4, "little") + older + whole[5 + size :]
    assert decode(old).typed is None
    assert decode(old).query == "blue"
