"""Who guesses the arm of an experiment: one identity, without the token, with all that the routes tell it."""

import random

import pytest

from hardening.damage import TRIED
from rankloop.serve.experiments.policy import arm_of
from serve.running import ADMIN, TITLES, another, client_of

QUERY = {"query": "red running shoes", "k": 24}
CANDIDATES = [{"id": str(number)} for number in range(4 * len(TITLES))]
EXPERIMENTS = 100
NEAR = range(31, 70)  # of 100 guesses: chance alone is outside once in 15,000 times
BROWSER = {"user-agent": "Mozilla/5.0"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("shop"), swap_rate=0.0) as (client, service):
        yield client, service, another(service)


def compared(shop, kind, guess):
    """How many of the guesses of one new identity in each experiment are right."""
    client, service, dear = shop
    right, rng = 0, random.Random(kind)
    for number in range(EXPERIMENTS):
        a, b = rng.sample(["v1", dear], 2)  # production is either of them
        body = {"kind": kind, "a": a, "b": b}
        made = client.post("/experiments", json=body, headers=ADMIN).json()["id"]
        service.versions.reload()
        user = f"{kind} {number}"
        one = next(one for one in service.versions.live.experiments if one.id == made)
        arm = arm_of(service.recorder.user(user), "v1", experiments=[one]).versions
        right += guess(client, user) == (arm == ("v1",))
        client.post(f"/experiments/{made}/end", headers=ADMIN)
        service.versions.reload()
    TRIED["guessed arms"] += EXPERIMENTS
    return right


def page_of(client, user):
    found = client.post("/search", json={**QUERY, "user": user}).json()["results"]
    return [one["id"] for one in found], {one["id"]: one["score"] for one in found}


def own(user):
    return {"user": user}


def nobody(user):
    return {}


@pytest.mark.parametrize("who", [own, nobody])
def test_the_order_of_rank_does_not_tell_the_arm(shop, who):
    def guess(client, user):
        shown, _ = page_of(client, user)
        body = {"query": QUERY["query"], "candidates": CANDIDATES, "k": 24, **who(user)}
        order = [one["id"] for one in client.post("/rank", json=body).json()["results"]]
        return [one for one in order if one in set(shown)] == shown

    assert compared(shop, "ab", guess) in NEAR


@pytest.mark.parametrize("who", [own, nobody])
def test_explanations_do_not_tell_the_arm(shop, who):
    def guess(client, user):
        _, scores = page_of(client, user)
        name, score = min(scores.items())
        asked = {"query": QUERY["query"], "document": name, **who(user)}
        return client.get("/explain", params=asked).json()["score"] == pytest.approx(score)

    assert compared(shop, "ab", guess) in NEAR


def test_the_reasons_on_the_page_do_not_tell_the_arm(shop):
    """The same with a browser, whose cookie is the identity: reasons are of the page that is shown."""
    client, service, dear = shop
    service.experiments.start("v1", dear, kind="ab")
    service.versions.reload()
    try:
        for number in range(20):
            TRIED["guessed arms"] += 1
            cookie = {"cookie": f"rankloop_user={number:032x}", **BROWSER}
            _, scores = page_of(client, f"{number:032x}")
            asked = {"q": QUERY["query"], "document": "6", "fragment": "1"}
            text = client.get("/why", params=asked, headers=cookie).text
            assert ("value(price)" in text) == (scores["6"] == 60.0)
    finally:
        service.experiments.end(service.experiments.running()[0].id)
        service.versions.reload()


def test_scores_of_an_interleaved_page_do_not_tell_who_chose_a_document(shop):
    client, service, dear = shop
    made = service.experiments.start("v1", dear, kind="interleave")
    service.versions.reload()
    try:
        mixed = 0
        for number in range(20):
            body = {**QUERY, "user": f"reader {number}"}
            public = [one["score"] for one in client.post("/search", json=body).json()["results"]]
            assert public == sorted(public, reverse=True)
            told = client.post("/search", json=body, headers=ADMIN).json()["results"]
            mixed += [one["score"] for one in told] != sorted((one["score"] for one in told), reverse=True)
        assert mixed == 20  # the log has those of the rankers
    finally:
        service.experiments.end(made.id)
        service.versions.reload()


def test_a_canary_is_explained_to_those_who_see_it(shop):
    client, service, dear = shop
    service.versions.canary(dear, 0.5)
    try:
        seen = set()
        for number in range(20):
            _, scores = page_of(client, f"bird {number}")
            asked = {"query": QUERY["query"], "document": "5", "user": f"bird {number}"}
            found = client.get("/explain", params=asked).json()
            assert found["score"] == pytest.approx(scores["5"])
            seen.add(found["score"])
            assert client.get("/explain", params=asked, headers=ADMIN).json()["ranker"] in ("v1", dear)
        assert len(seen) == 2
    finally:
        service.versions.canary(None)


def test_with_the_token_rank_and_explain_are_of_production(shop):
    client, service, dear = shop
    made = service.experiments.start("v1", dear, kind="ab")
    service.versions.reload()
    try:
        rank = {"query": QUERY["query"], "candidates": CANDIDATES}
        why = {"query": QUERY["query"], "document": "0"}
        for number in range(10):
            body = {**rank, "user": f"reader {number}"}
            assert client.post("/rank", json=body, headers=ADMIN).json()["ranker"] == "v1"
        assert client.get("/explain", params=why, headers=ADMIN).json()["ranker"] == "v1"
    finally:
        service.experiments.end(made.id)
        service.versions.reload()
