"""Signatures, cookies and tokens that were made up or changed: none of them counts."""

import random
import secrets

import pytest

from hardening.damage import FULL, TRIED
from rankloop.serve.events.signer import Signer
from rankloop.serve.pages.login import COOKIE
from serve.running import TOKEN, client_of

SAFE = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
BATCH = 150


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("shop")) as found:
        yield found


def forged(signed, rng):
    """A signature with one change, of another secret, or of nothing; never the one that was given."""
    at = rng.randrange(len(signed))
    parts = signed.split(".")
    made = rng.choice(
        [
            signed[:at] + rng.choice(SAFE) + signed[at + 1 :],
            signed[:at] + signed[at + 1 :],
            signed[:at],
            signed + rng.choice(SAFE),
            ".".join([*parts[:-1], "".join(rng.choices(SAFE[:-1], k=len(parts[-1])))]),
            ".".join([secrets.token_hex(16), *parts[1:]]),
            ".".join([parts[0], str(rng.randrange(1 << 40)), *parts[2:]]),
            Signer(rng.randbytes(32), 3600).sign(parts[0]),
            "." * rng.randrange(5),
        ]
    )
    return made if made and made != signed else forged(signed, rng)


def test_no_forged_page_takes_a_click(shop):
    client, _ = shop
    page = client.post("/search", json={"query": "red"}).json()
    rng = random.Random(0)
    for batch in range(FULL):
        made = [forged(page["impression"], rng) for _ in range(BATCH)]
        events = [
            {"id": f"{batch}-{at}", "impression": one, "kind": "click", "document": page["results"][0]["id"]}
            for at, one in enumerate(made)
        ]
        TRIED["forged signatures of pages"] += len(events)
        answer = client.post("/events", json={"events": events}).json()
        assert answer["accepted"] == 0
        assert [one["id"] for one in answer["refused"]] == [one["id"] for one in events]
    real = events[0] | {"impression": page["impression"]}
    assert client.post("/events", json={"events": [real]}).json()["accepted"] == 1


def test_no_forged_cookie_opens_the_dashboard(shop):
    client, _ = shop
    login = client.post("/login", data={"token": TOKEN}, follow_redirects=False)
    cookie = login.cookies[COOKIE]
    client.cookies.clear()
    rng = random.Random(1)
    for _ in range(20 * FULL):
        TRIED["forged cookies"] += 1
        answer = client.get("/dashboard", headers={"Cookie": f"{COOKIE}={forged(cookie, rng)}"})
        assert answer.status_code == 401
    assert client.get("/dashboard", headers={"Cookie": f"{COOKIE}={cookie}"}).status_code == 200


def test_wrong_tokens_are_refused_and_soon_not_compared(shop):
    client, _ = shop
    rng, found = random.Random(2), []
    for _ in range(15 * FULL):
        TRIED["wrong tokens"] += 1
        wrong = forged(TOKEN.replace(" ", "_"), rng)
        found.append(client.get("/models", headers={"Authorization": f"Bearer {wrong}"}).status_code)
    assert set(found) == {401, 429}
    assert found.count(401) <= 12
