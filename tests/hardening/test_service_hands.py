"""What people may change with their hands: forms of this site only, logins that end, few wrong tokens."""

import asyncio
import os
import re
import stat

import httpx
import pytest

from rankloop.serve.config import Config
from rankloop.serve.desk.users import User
from rankloop.serve.http.limits import TokenBuckets
from rankloop.serve.http.tokens import AGAIN, TRIES, LockedOut, WrongTokens
from serve.running import ADMIN, TOKEN, another, client_of


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("shop"), swap_rate=0.0) as (client, service):
        yield client, service, another(service)


@pytest.fixture
def client(shop):
    with httpx.Client(base_url=shop[0].base_url, timeout=30) as one:
        assert one.post("/login", data={"token": TOKEN}).status_code in (200, 303)
        yield one


def ours(client):
    found = re.search(r'name="form_token" value="([^"]+)"', client.get("/dashboard").text)
    return {"form_token": found[1]}


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": "https://other.example"},
    ],
)
@pytest.mark.parametrize("path", ["/dashboard/promote", "/logout", "/login", "/judge", "/forget-me"])
def test_other_sites_change_nothing(shop, client, headers, path):
    fields = {"version": shop[2], "token": TOKEN} | ours(client)
    answer = client.post(path, data=fields, headers=headers)
    assert answer.status_code == 403
    assert "this request came from another site" in answer.headers["x-problem"].lower()
    assert shop[1].versions.live.roles.production == "v1"
    assert client.get("/dashboard").status_code == 200


def test_forms_of_this_site_are_taken(shop, client):
    host = f"http://{client.base_url.netloc.decode()}"
    for headers in ({}, {"origin": host}, {"sec-fetch-site": "same-origin", "origin": "http://behind.proxy"}):
        for version in (shop[2], "v1"):
            answer = client.post(
                "/dashboard/promote", data={"version": version} | ours(client), headers=headers
            )
            assert answer.status_code == 303
            assert shop[1].versions.live.roles.production == version


def test_a_form_of_another_login_is_refused(shop, client):
    with httpx.Client(base_url=client.base_url, timeout=30) as other:
        other.post("/login", data={"token": TOKEN})
        theirs = ours(other)
    for fields in (
        {},
        {"form_token": ""},
        {"form_token": "x.y.z"},
        theirs,
        {"form_token": client.cookies["rankloop_admin"]},
    ):
        assert client.post("/dashboard/promote", data={"version": shop[2]} | fields).status_code == 403
    assert shop[1].versions.live.roles.production == "v1"


def test_logging_out_ends_the_cookie_and_its_copies(client):
    copy = client.cookies["rankloop_admin"]
    with httpx.Client(base_url=client.base_url, timeout=30) as other:
        other.post("/login", data={"token": TOKEN})
        assert client.post("/logout").status_code == 303
        client.cookies.clear()
        client.cookies["rankloop_admin"] = copy
        assert client.get("/dashboard").status_code == 401
        assert other.get("/dashboard").status_code == 200


@pytest.mark.parametrize("token", ["x", "fifteen letters"])
def test_a_short_token_is_an_error(tmp_path, token):
    with pytest.raises(ValueError, match=r"at least 16 characters, got \d+; make one"):
        Config(index=tmp_path, admin_token=token)
    assert Config(index=tmp_path, admin_token="").admin_token == ""
    assert Config(index=tmp_path, admin_token="sixteen letters!").admin_token


def test_wrong_tokens_lock_their_address_range_out(tmp_path):
    with client_of(tmp_path) as (client, _):
        for number in range(TRIES):
            if number % 2:
                answer = client.get("/models", headers={"Authorization": f"Bearer guess {number}"})
                assert answer.status_code == 401
            else:
                assert client.post("/login", data={"token": f"guess {number}"}).status_code == 403
        right = client.get("/models", headers=ADMIN)
        assert right.status_code == 429
        assert 0 < int(right.headers["retry-after"]) <= AGAIN
        assert "too many wrong tokens" in right.json()["detail"]
        login = client.post("/login", data={"token": TOKEN})
        assert login.status_code == 429
        assert int(login.headers["retry-after"]) > 0
        assert client.post("/search", json={"query": "red"}).status_code == 200


async def nobody():
    """A look that finds nobody."""


def test_other_address_ranges_are_not_locked_out():
    asyncio.run(check_locked_out_alone())


async def check_locked_out_alone():
    wrong, ann = WrongTokens(clients=100), User("ann", "judge")

    async def right():
        return ann

    for _ in range(TRIES):
        assert await wrong.find(nobody, "guess", "192.0.2.1") is None
    with pytest.raises(LockedOut):
        await wrong.find(right, "right", "192.0.2.77")
    assert await wrong.find(right, "right", "198.51.100.1") == ann
    for number in range(300):
        await wrong.find(nobody, "guess", f"10.{number // 250}.{number % 250}.1")
    assert len(wrong._left) <= 100


def test_looking_takes_no_token():
    buckets = TokenBuckets(rate=1.0, burst=1, most=10)
    assert [buckets.look("a", 0.0) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert buckets.wait("a", 0.0) == 0.0
    assert buckets.look("a", 0.25) == pytest.approx(0.75)


def test_exports_are_private(shop, tmp_path):
    before = os.umask(0o022)
    try:
        shop[1].store.export(tmp_path / "out")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").rglob("*")}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
