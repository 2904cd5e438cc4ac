"""Between the service and its callers: keys of trusted programs, the prefix of a proxy, the request log."""

import json
import os
import re
import secrets
from pathlib import Path

import httpx
import pytest
from starlette.routing import Match
from typer.testing import CliRunner

from rankloop.cli import app
from rankloop.serve import Config
from rankloop.serve.config import Limits
from rankloop.serve.http.create_app import create_app
from rankloop.serve.http.prefix import under_prefix
from rankloop.serve.http.tokens import TRIES
from rankloop.serve.pages import assets
from rankloop.serve.web_settings import WebSettings
from serve.running import ADMIN, TOKEN, client_of, make_index, serving, wait_until

KEY = "0123456789abcdef0123456789abcdef"
TRUSTED = {"X-Api-Key": KEY}


def ask(client, headers=None, **more):
    return client.post("/search", json={"query": "red", **more}, headers=headers)


# Keys.


def test_a_key_is_limited_by_itself_and_not_by_the_address(tmp_path):
    web = WebSettings(keys=f"backend={KEY},app={KEY[::-1]}", key_rate=0.01, key_burst=5)
    with client_of(tmp_path, limits=Limits(rate=0.01, burst=2), web=web) as (client, _):
        assert [ask(client).status_code for _ in range(3)] == [200, 200, 429]
        assert [ask(client, TRUSTED).status_code for _ in range(6)] == [200] * 5 + [429]
        assert ask(client, {"X-Api-Key": KEY[::-1]}).status_code == 200  # another key, another limit


def test_where_no_keys_are_set_the_header_means_nothing(tmp_path):
    with client_of(tmp_path) as (client, _):
        assert ask(client, TRUSTED).status_code == 200


def test_without_a_limit_a_key_is_not_limited(tmp_path):
    web = WebSettings(keys=f"backend={KEY}", key_rate=0.0)
    with client_of(tmp_path, limits=Limits(rate=0.01, burst=1), web=web) as (client, _):
        assert {ask(client, TRUSTED).status_code for _ in range(10)} == {200}


def test_a_wrong_key_is_refused_and_many_lock_out(tmp_path):
    with client_of(tmp_path, web=WebSettings(keys=f"backend={KEY}")) as (client, _):
        for _ in range(TRIES):
            refused = ask(client, {"X-Api-Key": secrets.token_hex(16)})
            assert refused.status_code == 401
            assert "X-Api-Key" in refused.json()["detail"]
        locked = ask(client, TRUSTED)  # guessing on is of no use, even with the right one
        assert locked.status_code == 429
        assert int(locked.headers["retry-after"]) > 0


def test_the_person_of_a_trusted_program_is_the_one_it_names(tmp_path):
    with client_of(tmp_path, web=WebSettings(keys=f"backend={KEY}")) as (client, service):
        origins = []
        put, spool = service.recorder.spool.put, service.recorder.spool
        spool.put = lambda pages, **options: (origins.append(pages[0].origin), put(pages, **options))[1]
        ask(client, TRUSTED | {"X-Client-Address": "192.0.2.7"})
        ask(client, TRUSTED)
        ask(client, {"X-Client-Address": "192.0.2.7"})  # a stranger is not believed
        assert origins[0] == service.recorder.origin("192.0.2.7")
        assert origins[1] is None
        assert origins[2] == service.recorder.origin("127.0.0.1")


@pytest.mark.parametrize("keys", ["backend", "backend=short", f"a b={KEY}", f"={KEY}", f"a={'é' * 20}"])
def test_keys_that_are_none_are_refused(keys):
    with pytest.raises(ValueError, match=r"web\.keys are names with keys of at least 16 characters"):
        WebSettings(keys=keys)


def test_keys_and_prefix_come_from_the_environment_and_are_not_printed(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKLOOP_KEYS", f"backend={KEY}")
    monkeypatch.setenv("RANKLOOP_PREFIX", "/shop")
    (tmp_path / "shop.toml").write_text('index = "shop.index"\n[web]\nrequest_log = "requests.jsonl"\n')
    config = Config.read(tmp_path / "shop.toml")
    assert config.web.by_name == {"backend": KEY}
    assert (config.web.prefix, config.web.request_log) == ("/shop", "requests.jsonl")
    assert KEY not in repr(config)


def test_the_address_that_a_trusted_proxy_names_is_believed(tmp_path):
    with client_of(tmp_path, proxies=("127.0.0.1",), limits=Limits(rate=0.01, burst=1)) as (client, _):
        codes = [ask(client, {"X-Forwarded-For": f"192.0.2.{n}"}).status_code for n in (1, 2, 2)]
        assert codes == [200, 200, 429]


# The prefix.


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    web = WebSettings(prefix="/shop")
    with client_of(tmp_path_factory.mktemp("shop"), web=web, open_dashboard=True) as pair:
        yield pair


@pytest.mark.parametrize("stripped", [True, False])
def test_pages_answer_under_the_prefix_whether_the_proxy_strips_it_or_not(shop, stripped):
    at = "" if stripped else "/shop"
    client = shop[0]
    for path in ("/", "/?q=red", "/dashboard", "/compare?q=red", "/login", "/document/1"):
        answer = client.get(at + path)
        assert answer.status_code == 200, path
        addresses = re.findall(r'\s(?:href|action|src)="(/[^"]*)"', answer.text)
        assert addresses, path
        assert all(one.startswith("/shop/") for one in addresses), addresses
        plain = client.get(at + path, headers={"accept-encoding": "identity"})
        assert int(plain.headers["content-length"]) == len(plain.content)
    assert ask(client).status_code == 200
    assert client.post(f"{at}/search", json={"query": "red"}).json()["results"]


def test_every_link_of_a_page_leads_somewhere(shop):
    client = shop[0]
    page = client.get("/shop/?q=red").text
    for path in set(re.findall(r'\s(?:href|src)="(/[^"]*)"', page)):
        assert client.get(path.replace("&amp;", "&")).status_code == 200, path


def test_scripts_ask_under_the_prefix(shop):
    client = shop[0]
    for name in assets.FILES:
        answer = client.get(f"/shop/static/{name}")
        assert answer.status_code == 200
        if name.endswith(".js"):
            assert not re.search(r"""["'`]/(?!shop/)[a-z?]""", answer.text), name
        else:
            assert answer.content == assets.FILES[name]


def test_what_scripts_have_in_quotes_with_a_slash_is_an_address(tmp_path):
    """The rewriting of scripts goes by this rule, so nothing else may look like it."""
    with serving(tmp_path) as service:
        routes = create_app(service).routes

    def is_route(path):
        scopes = [
            {"type": "http", "method": method, "path": path + more, "headers": []}
            for method in ("GET", "POST")
            for more in ("", "/x")
        ]
        return any(route.matches(scope)[0] == Match.FULL for route in routes for scope in scopes)

    assert not is_route("/nothing")
    for name, content in assets.FILES.items():
        if name.endswith(".js"):
            for found in re.findall(r"""["'`]/(?=[a-z?])([a-z/_-]*)""", content.decode()):
                assert is_route("/" + found.rstrip("/")), (name, found)


def test_redirects_and_cookies_stay_under_the_prefix(shop):
    client = shop[0]
    answer = client.post("/shop/login", data={"token": TOKEN})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/shop/dashboard"
    assert "; Path=/shop/;" in answer.headers["set-cookie"]
    visit = httpx.get(client.base_url.join("/shop/?q=red"))
    assert "Path=/shop/" in visit.headers["set-cookie"]
    with httpx.Client(base_url=client.base_url) as browser:
        inside = browser.post("/shop/login", data={"token": TOKEN}, follow_redirects=True)
        assert inside.url.path == "/shop/dashboard"
        assert "Log out" in inside.text
        assert browser.post("/shop/logout").headers["location"] == "/shop/"


def test_the_api_says_its_prefix(shop):
    assert shop[0].get("/shop/openapi.json").json()["servers"] == [{"url": "/shop"}]
    assert shop[0].get("/shop").status_code == 200
    assert shop[0].get("/shopping").status_code == 404


def test_a_page_in_parts_is_rewritten_whole():
    page = b'<a class="x" href="/a">//example.org</a> <img src="//cdn/x"> <a href="https://x/y">'
    assert under_prefix(page, b"text/html", "/s") == page.replace(b'"/a"', b'"/s/a"')


@pytest.mark.parametrize("prefix", ["shop", "/shop/", "/", "/a b", "//a", "/.."])
def test_a_prefix_that_is_none_is_refused(prefix):
    with pytest.raises(ValueError, match=r"web\.prefix is a path without a slash at its end"):
        WebSettings(prefix=prefix)


@pytest.mark.parametrize("prefix", ["/documents", "/static", "/dashboard"])
def test_a_prefix_that_is_a_route_is_refused(tmp_path, prefix):
    with (
        pytest.raises(ValueError, match="has routes of the service"),
        client_of(tmp_path, web=WebSettings(prefix=prefix)),
    ):
        pass


def test_the_prefix_on_the_command_line_reaches_one_process_and_many(tmp_path, monkeypatch):
    make_index(tmp_path)
    seen = []
    place = "rankloop.serve.http.process"
    monkeypatch.setattr(f"{place}.run", lambda config, **options: seen.append(config.web.prefix))
    monkeypatch.setattr(f"{place}.run_workers", lambda source, **options: seen.append(options["prefix"]))
    for more in ([], ["--workers", "2"]):
        given = ["serve", str(tmp_path / "shop.index"), "--prefix", "/shop", *more]
        result = CliRunner().invoke(app, given)
        assert result.exit_code == 0, result.output + repr(result.exception)
    assert seen == ["/shop", "/shop"]


# The request log.


def lines(path, wanted):
    """The lines once there are so many: one is written when its answer has been sent."""
    wait_until(lambda: Path(path).exists() and Path(path).read_text().count("\n") >= wanted)
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_one_line_a_request_without_token_and_query(tmp_path):
    web = WebSettings(request_log="requests.jsonl", keys=f"backend={KEY}")
    with client_of(tmp_path, web=web, limits=Limits(rate=0.0, body=2_000)) as (client, service):
        ask(client, TRUSTED)
        client.get("/", params={"q": "a secret wish"})
        client.get("/documents/a-secret-wish", headers=ADMIN)
        client.post("/search", content=b"x" * 3_000)
        client.get("/nowhere/a-secret-wish")
        path = service.config.home / "requests.jsonl"
        found = lines(path, 5)
        os.rename(path, path.with_suffix(".old"))  # as a rotation does
        client.get("/health")
        assert [one["route"] for one in lines(path, 1)] == ["/health"]
    assert [(one["method"], one["route"], one["status"]) for one in found] == [
        ("POST", "/search", 200),
        ("GET", "/", 200),
        ("GET", "/documents/{id:path}", 404),
        ("POST", "other", 413),
        ("GET", "other", 404),
    ]
    assert found[0]["key"] == "backend"
    assert all(0 < one["milliseconds"] < 60_000 for one in found)
    assert all(one["time"].endswith("+00:00") for one in found)
    written = path.with_suffix(".old").read_text()
    assert not any(word in written for word in ("secret", "red", TOKEN, KEY, "127.0.0.1"))
    assert (path.with_suffix(".old").stat().st_mode & 0o777) == 0o600


def test_queries_are_in_it_if_asked_for(tmp_path):
    web = WebSettings(request_log="requests.jsonl", log_queries=True)
    with client_of(tmp_path, web=web) as (client, service):
        ask(client)
        client.get("/", params={"q": "blue hat"})
        client.get("/suggest", params={"query": "gre"})
        client.post("/search", content=b"[1")
        found = lines(service.config.home / "requests.jsonl", 4)
    assert [one.get("query") for one in found] == ["red", "blue hat", "gre", None]


def test_a_log_that_cannot_be_written_keeps_nobody_from_searching(tmp_path):
    with client_of(tmp_path, web=WebSettings(request_log="no/such/folder/log")) as (client, _):
        assert ask(client).status_code == 200


def test_to_standard_output(tmp_path, capfd):
    with client_of(tmp_path, web=WebSettings(request_log="-")) as (client, _):
        client.get("/health")
    assert json.loads(capfd.readouterr().out.splitlines()[-1])["route"] == "/health"
