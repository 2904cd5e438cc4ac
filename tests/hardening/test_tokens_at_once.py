"""Tokens that are sent at the same time: no more of them are compared than one after the other."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import httpx
import pytest

from rankloop.serve.config import WebSettings
from rankloop.serve.desk.users import add_user, user_of_token
from rankloop.serve.events.store import StoreAway
from rankloop.serve.http import tokens
from rankloop.serve.http.tokens import TRIES, WrongTokens
from serve.running import ADMIN, TOKEN, client_of

AT_ONCE = 200
KEY = "the key of a program that is trusted"


@pytest.fixture
def shop(tmp_path):
    with client_of(tmp_path, web=WebSettings(keys=f"shop={KEY}")) as (client, service):
        limits = httpx.Limits(max_connections=AT_ONCE)
        with httpx.Client(base_url=client.base_url, timeout=60, limits=limits) as many:
            yield many, service


@pytest.fixture
def compared(monkeypatch):
    """The tokens that were compared with anything; looking them up takes a while, as in a busy database."""
    found, lock = [], Lock()
    digest, of_token = tokens.hmac.compare_digest, user_of_token

    def compare(given, wanted):
        with lock:
            found.append(given)
        return digest(given, wanted)

    def look_up(store, given):
        with lock:
            found.append(given.encode())
        time.sleep(0.02)
        return of_token(store, given)

    monkeypatch.setattr(tokens.hmac, "compare_digest", compare)
    monkeypatch.setattr(tokens, "user_of_token", look_up)
    return found


def at_once(ask, number=AT_ONCE):
    with ThreadPoolExecutor(number) as crowd:
        return list(crowd.map(ask, range(number)))


WAYS = {
    "administration": lambda client, token: client.get(
        "/models", headers={"Authorization": f"Bearer {token}"}
    ),
    "search": lambda client, token: client.post(
        "/search", json={"query": "red"}, headers={"Authorization": f"Bearer {token}"}
    ),
    "health": lambda client, token: client.get("/health", headers={"Authorization": f"Bearer {token}"}),
    "ubi": lambda client, token: client.post(
        "/ubi_queries", json={"user_query": "red"}, headers={"Authorization": f"Bearer {token}"}
    ),
    "login": lambda client, token: client.post("/login", data={"token": token}),
    "key": lambda client, token: client.post("/search", json={"query": "red"}, headers={"X-Api-Key": token}),
}


@pytest.mark.parametrize("way", WAYS)
def test_wrong_tokens_at_once_are_not_all_compared(shop, compared, way):
    client, _ = shop
    found = at_once(lambda number: WAYS[way](client, f"wrong token {number}").status_code)
    guessed = {one for one in compared if one.startswith(b"wrong token")}
    assert 0 < len(guessed) <= TRIES + 1  # one more came back if this took a minute
    assert found.count(429) >= AT_ONCE - TRIES - 1
    assert WAYS[way](client, KEY if way == "key" else TOKEN).status_code == 429


def test_the_right_one_among_many_is_compared_no_sooner(shop, compared):
    """Of 200 at once, one is right: it is found only if it is among the ten."""
    client, _ = shop
    sent = [f"wrong token {number}" for number in range(AT_ONCE)]
    sent[150] = TOKEN
    at_once(lambda number: WAYS["administration"](client, sent[number]))
    assert len({one for one in compared if one in {given.encode() for given in sent}}) <= TRIES + 2


@pytest.mark.parametrize("way", ["administration", "search", "health", "ubi"])
def test_right_tokens_at_once_are_all_taken(shop, compared, way):
    client, service = shop
    token = add_user(service.store, "ann", "admin")
    found = at_once(lambda _: WAYS[way](client, token).status_code, 100)
    assert set(found) == {200}
    found = at_once(lambda _: WAYS[way](client, TOKEN).status_code, 100)
    assert set(found) == {200}


def test_who_gives_up_while_waiting_holds_nobody():
    """Waiting requests that are cancelled, and looks that fail, leave the turn to those behind them."""

    async def crowd():
        wrong = WrongTokens(100)

        async def right():
            await asyncio.sleep(0.01)
            return True

        async def fails():
            raise OSError

        looks = [wrong.find(right if at % 5 else fails, "token", "192.0.2.1") for at in range(200)]
        tasks = [asyncio.create_task(look) for look in looks]
        await asyncio.sleep(0.005)
        for task in tasks[40:150]:
            task.cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert sum(one is True for one in found) == 4 * 90 // 5
        assert sum(isinstance(one, asyncio.CancelledError) for one in found) == 110
        assert sum(isinstance(one, OSError) for one in found) == 90 // 5
        assert not wrong._turns
        assert not wrong._compared

    start = time.monotonic()
    asyncio.run(crowd())
    assert time.monotonic() - start < 5.0


def test_guesses_count_while_the_database_is_away(shop, compared, monkeypatch):
    """The token of the config is compared without it; a person's own token, sent again, counts once."""

    def away(store, given):
        raise StoreAway("the database is away")

    client, _ = shop
    monkeypatch.setattr(tokens, "user_of_token", away)
    own = [WAYS["administration"](client, "a person's token").status_code for _ in range(3 * TRIES)]
    assert set(own) == {503}
    assert client.get("/models", headers=ADMIN).status_code == 200
    found = [WAYS["administration"](client, f"wrong token {number}").status_code for number in range(50)]
    assert len({one for one in compared if one.startswith(b"wrong token")}) <= TRIES
    assert set(found) == {503, 429}
