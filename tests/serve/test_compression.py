"""Answers are compressed where the client takes it, but for pages with the token of a form; no raw errors."""

import re
from itertools import pairwise

import pytest

from serve.running import TOKEN, client_of
from serve.test_pages import read


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("gzip")) as pair:
        yield pair


NOWHERE = {"detail": "there is no such route; /openapi.json lists all routes"}


def encoding(client, path, accept="gzip"):
    return client.get(path, headers={"accept-encoding": accept}).headers.get("content-encoding")


def test_pages_and_files_are_compressed(shop):
    client, _ = shop
    client.cookies.clear()
    assert encoding(client, "/?q=hat") == "gzip"
    assert encoding(client, "/static/page.css") == "gzip"
    assert encoding(client, "/?q=hat", "identity") is None
    assert encoding(client, "/health") is None, "too small to be worth it"


def test_pages_of_people_who_are_logged_in_are_not(shop):
    """Their forms have a token, and the query in the address is somebody else's choice (BREACH)."""
    client, _ = shop
    client.post("/login", data={"token": TOKEN})
    assert encoding(client, "/dashboard") is None
    assert encoding(client, "/compare?q=hat") is None
    assert encoding(client, "/static/page.css") == "gzip"


def test_an_unknown_address_is_a_page_for_people_and_json_for_programs(shop):
    client, _ = shop
    page = read(client.get("/nowhere", headers={"accept": "text/html,*/*"}), 404)
    assert "There is no page at this address." in page.text
    told = client.get("/nowhere", headers={"accept": "application/json"})
    assert (told.status_code, told.json()) == (404, NOWHERE)
    assert client.get("/nowhere").json() == NOWHERE


@pytest.mark.parametrize("path", ["/why?q=hat&document=2", "/?q=hat", "/document/2"])
def test_no_heading_is_skipped(shop, path):
    client, _ = shop
    main = client.get(path).text.partition("<main")[2].partition("</main>")[0]
    levels = [int(one) for one in re.findall(r"<h([1-6])", main)]
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels


def test_caches_are_told_that_an_answer_may_come_compressed(shop):
    client, _ = shop
    for accept in ("gzip", "identity"):
        answer = client.get("/static/page.css", headers={"accept-encoding": accept})
        assert "accept-encoding" in answer.headers["vary"].lower()
