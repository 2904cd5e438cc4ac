"""A page that is loaded again, or grows without scripts, is one record."""

import json

import pytest
from sqlalchemy import text

from rankloop.serve.pages.recent_pages import KEPT, LASTS
from serve.running import another, client_of, wait_until
from serve.test_pages import FIREFOX, read


@pytest.fixture
def site(tmp_path):
    with client_of(tmp_path, swap_rate=1.0) as (client, service):
        client.headers["user-agent"] = FIREFOX
        yield client, service


def records(service):
    """The pages in the store: query, documents."""
    wait_until(lambda: service.recorder.spool.waiting == 0)
    with service.store.reading() as connection:
        found = connection.execute(text("SELECT query, documents, page_id FROM pages ORDER BY time")).all()
    return [(query, json.loads(documents), page) for query, documents, page in found]


def shown(page):
    return [one["data-document"] for one in page.all("li", **{"class": "result"})]


def token(page):
    return page.all("div", **{"class": "results"})[0]["data-impression"]


def test_a_page_that_is_loaded_again_is_the_same_page(site):
    client, service = site
    first, again = (read(client.get("/", params={"q": "red shoes"})) for _ in range(2))
    assert shown(first) == shown(again)
    [(_, documents, page)] = records(service)
    assert documents == shown(first)
    assert token(again).split(".")[0] == token(first).split(".")[0] == page


def test_what_was_typed_is_not_recorded_again_on_going_back(site):
    """The script shows a settled query in place; going back loads its address as a whole page."""
    client, service = site
    client.get("/fragment", params={"q": "hat", "settled": "1"})
    client.get("/", params={"q": "hat"})
    assert [one[0] for one in records(service)] == ["hat"]


def test_more_without_scripts_is_of_the_same_page(site):
    client, service = site
    first = read(client.get("/", params={"q": "shoes running"}))
    [more] = [one for one in first.all("a", **{"class": "button"}) if "k=20" in one["href"]]
    longer = read(client.get(more["href"]))
    assert shown(longer)[:10] == shown(first), "also where two were exchanged"
    assert len(shown(longer)) > 10
    assert [one["data-position"] for one in longer.all("li", **{"class": "result"})] == [
        str(rank) for rank in range(1, len(shown(longer)) + 1)
    ]
    [(_, documents, page)] = records(service)
    assert documents == shown(longer)
    assert token(longer).split(".")[0] == page
    again = read(client.get("/", params={"q": "shoes running"}))
    assert shown(again) == shown(first)
    assert len(records(service)) == 1


def test_more_at_once_is_one_page(site):
    client, service = site
    longer = read(client.get("/", params={"q": "shoes running", "k": "20"}))
    [(_, documents, _)] = records(service)
    assert documents == shown(longer)
    shorter = read(client.get("/", params={"q": "shoes running"}))
    assert len(shown(shorter)) == 10
    assert len(records(service)) == 2, "the first ten of an exchange among twenty are another page"


@pytest.mark.parametrize("other", [{"f.brand": "Hare"}, {"sort": "price"}, {"f.price": "10..90"}])
def test_another_search_is_another_page(site, other):
    client, service = site
    client.get("/", params={"q": "shoes"})
    client.get("/", params={"q": "shoes"} | other)
    assert len(records(service)) == 2


def test_what_changed_in_between_makes_another_page(site):
    client, service = site
    client.get("/", params={"q": "shoes"})
    service.registry.promote(another(service))
    service.versions.reload()
    client.get("/", params={"q": "shoes"})
    assert len(records(service)) == 2, "another version"
    service.index.delete(["0"])
    service.index.commit()
    client.get("/", params={"q": "shoes"})
    assert len(records(service)) == 3, "other documents"
    client.cookies.delete("rankloop_user")
    client.get("/", params={"q": "shoes"})
    assert len(records(service)) == 4, "another person"


def test_the_same_search_later_is_a_new_page(site, monkeypatch):
    client, service = site
    client.get("/", params={"q": "shoes"})
    monkeypatch.setattr("rankloop.serve.pages.recent_pages.LASTS", 0)
    client.get("/", params={"q": "shoes"})
    assert len(records(service)) == 2
    assert LASTS == 1800


@pytest.mark.parametrize(
    "cookie", ["", "x", "a:b:c", "~~~", "a:10:b.1.c", "a:9999:b", ":::", "a:10:" + "x" * 3000, "\u00e9"]
)
def test_a_cookie_that_was_not_made_here_means_nothing(site, cookie):
    client, service = site
    headers = {"cookie": f"rankloop_pages={cookie}".encode()}
    assert client.get("/", params={"q": "shoes"}, headers=headers).status_code == 200
    assert len(records(service)) == 1


def test_a_few_pages_are_remembered(site):
    client, _ = site
    for number in range(KEPT + 3):
        client.get("/", params={"q": f"shoes {number}"})
    assert client.cookies["rankloop_pages"].count("~") == KEPT - 1
    assert len(client.cookies["rankloop_pages"]) < 1000


def test_those_who_opted_out_get_no_cookie(site):
    client, _ = site
    answer = client.get("/", params={"q": "shoes"}, headers={"sec-gpc": "1"})
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("reload", ["max-age=0", "no-cache", "no-cache, no-store"])
def test_a_page_that_an_opted_out_reader_loads_again_is_not_recorded_twice(site, reload):
    """No cookie says so, but the browser does; what is shown has no token, so that no click is counted."""
    client, service = site
    out = {"dnt": "1"}
    first = read(client.get("/", params={"q": "red shoes"}, headers=out))
    again = client.get("/", params={"q": "red shoes"}, headers=out | {"cache-control": reload})
    assert "set-cookie" not in again.headers
    assert sorted(shown(read(again))) == sorted(shown(first))
    assert not token(read(again))
    [more] = [one for one in first.all("a", **{"class": "button"}) if "k=20" in one["href"]]
    assert len(shown(read(client.get(more["href"], headers=out)))) > 10
    assert [one[0] for one in records(service)] == ["red shoes"]
    client.get("/", params={"q": "red shoes"}, headers=out)
    assert len(records(service)) == 2, "another search of the same words, maybe of somebody else"
    client.get("/", params={"q": "red shoes"}, headers={"cache-control": reload})
    assert len(records(service)) == 3, "somebody with a cookie, whose first page it is"


def test_a_page_of_a_version_that_has_learned_since_is_a_new_one(site, monkeypatch):
    from rankloop.serve.models.live import Live

    client, service = site
    for state in ((0, 1), (0, 1), (0, 2)):
        monkeypatch.setattr(Live, "learned", property(lambda live, state=state: (("v1", state),)))
        client.get("/", params={"q": "red shoes"})
    assert len(records(service)) == 2
