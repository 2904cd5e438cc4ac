"""Forms with values that nobody types: never a 500, and always from this site by who is logged in."""

import re

import httpx
import pytest

from hardening.damage import FULL, TRIED
from serve.running import ADMIN, TOKEN, client_of

CHANGES = (
    "/compare/scheduled",
    "/compare/scheduled/end",
    "/compare/snapshot",
    "/dashboard/canary",
    "/dashboard/experiments",
    "/dashboard/experiments/end",
    "/dashboard/online",
    "/dashboard/promote",
    "/dashboard/roll_back",
    "/dashboard/shadow",
    "/judge",
    "/judge/import",
    "/judge/model",
    "/judge/undo",
    "/loop/learn",
    "/pins",
    "/pins/end",
    "/queries",
    "/queries/sample",
)
FORMS = (*CHANGES, "/forget-me", "/login", "/logout")
USUAL = {"name": "s", "queries": "red", "way": "head", "n": "5", "days": "5", "seed": "0", "kind": "pin"} | {
    "pattern": "red",
    "document": "1",
    "value": "1",
    "set": "s",
    "q": "red",
    "grade": "1",
    "share": "10",
    "a": "v1",
    "b": "v1",
    "version": "v1",
    "judgments": "red 0 1 1",
}
STRANGE = {
    "zero": "a\0b",
    "digits": "9" * 400,
    "zeros before digits": "000000100" + "9" * 400,
    "infinite": "1e999",
    "not a number": "nan",
    "other digits": "²",
    "long": "x" * 150_000,
    "nested": "[" * 20_000,
    "long cell": "query,weight\n" + "a" * 140_000 + ",1",
    "open quote": 'query\n"unclosed',
    "nothing": "",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("shop"), open_dashboard=True) as pair:
        yield pair


@pytest.fixture(scope="module")
def client(shop):
    with httpx.Client(base_url=shop[0].base_url, timeout=60) as one:
        assert one.post("/login", data={"token": TOKEN}).status_code == 303
        yield one


@pytest.fixture(scope="module")
def ours(client):
    return {"form_token": re.search(r'name="form_token" value="([^"]+)"', client.get("/pins").text)[1]}


def test_every_form_is_here(shop):
    """A page with a new form is listed above, and so is tried."""
    found = set()

    def walk(routes):
        for one in routes:
            if "POST" in (getattr(one, "methods", None) or ()) and not one.include_in_schema:
                found.add(one.path)
            walk(getattr(getattr(one, "original_router", one), "routes", ()))

    from rankloop.serve.http.create_app import create_app

    walk(create_app(shop[1]).routes)
    assert found == set(FORMS)


@pytest.mark.parametrize("path", FORMS)
def test_no_other_site_sends_a_form(client, ours, path):
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        TRIED["forged forms"] += 1
        answer = client.post(path, data=USUAL | ours | {"token": TOKEN}, headers=headers)
        assert answer.status_code == 403
        assert "came from another site" in answer.headers["x-problem"]


@pytest.mark.parametrize("path", CHANGES)
def test_a_change_needs_the_login_and_its_form(client, ours, path):
    for fields in (
        USUAL,
        USUAL | {"form_token": "x"},
        USUAL | {"form_token": ours["form_token"][:-2] + "AA"},
    ):
        TRIED["forged forms"] += 1
        assert client.post(path, data=fields).status_code == 403
    assert httpx.post(f"{client.base_url}{path}", data=USUAL | ours).status_code == 403


@pytest.mark.parametrize("path", CHANGES)
def test_strange_values_are_an_answer(client, ours, path):
    """A tenth of them; `make hardening` tries all."""
    names = (*USUAL, "file", "field", "wanted", "reason", "rule", "experiment", "learner")
    every = [(name, value) for name in names for value in STRANGE.values()]
    step = max(1, 10 // FULL)
    for name, value in every[CHANGES.index(path) % step :: step]:
        check_answer(client, path, ours | {name: value})


@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        ("/dashboard/canary", "share", "zeros before digits"),
        ("/dashboard/experiments", "share", "zeros before digits"),
        ("/queries", "queries", "long"),
        ("/queries", "queries", "long cell"),
        ("/judge/undo", "set", "long"),
    ],
)
def test_values_that_were_a_500(client, ours, path, name, value):
    check_answer(client, path, ours | {name: STRANGE[value]})


def test_zero_characters_are_a_sentence_with_every_database(tmp_path, database):
    """PostgreSQL takes none in text: a name that nothing has is looked up all the same."""
    with client_of(tmp_path, database=database, open_dashboard=True) as (client, _):
        for path in ("/judge?set=%00", "/judge?set=a%00b&q=red", "/queries/%00", "/queries/%00/export"):
            answer = client.get(path, headers={"accept": "text/html"})
            assert answer.status_code in (400, 404), path
        for path in ("/dashboard/promote?version=%00", "/compare?q=red&v=%00", "/why?q=%00&document=%00"):
            assert client.get(path, headers={"accept": "text/html"}).status_code < 500, path
        for path in ("/experiments/%00", "/documents/%00", "/explain?query=%00&document=%00&version=%00"):
            assert client.get(path, headers=ADMIN).status_code in (400, 404), path
        for path, body in (
            ("/models/promote", {"version": "\0"}),
            ("/models/shadow", {"version": "\0"}),
            ("/forget", {"user": "\0"}),
            ("/experiments", {"kind": "ab", "a": "\0", "b": "v1", "share": 0.5}),
            ("/search", {"query": "\0", "user": "\0"}),
        ):
            assert client.post(path, json=body, headers=ADMIN).status_code < 500, path


def check_answer(client, path, fields):
    TRIED["forms with strange values without a server error"] += 1
    usual = dict(list(USUAL.items())[:17])  # a form has at most 20 fields
    answer = client.post(path, data=usual | fields)
    assert answer.status_code < 500, ({name: value[:20] for name, value in fields.items()}, answer.text[:300])
