"""Comparisons on a schedule: each made once, kept with its result; a failing one warns on the dashboard."""

import time

import pytest

from rankloop.serve.desk.query_sets import SetQuery, put_query_set
from rankloop.serve.desk.scheduled import (
    HOUR,
    LEASE,
    add_comparison,
    claim_due,
    end_comparison,
    failing,
    keep_result,
    known_comparisons,
    past_results,
)
from serve.running import TOKEN, another, client_of, serving, wait_until

QUERIES = [SetQuery("shoes"), SetQuery("hat")]


@pytest.fixture
def shop(tmp_path, database):
    with serving(tmp_path, database=database) as service:
        service.comparing.stop()
        service.comparing.stopped.clear()
        put_query_set(
            service.store, "head", [SetQuery("shoes"), SetQuery("hat")], author="ann", made="by hand"
        )
        yield service


def add(service, a="production", b="newest", **others):
    about = {"max_loss": 0.01, "hours": 2.0, "who": "ann"} | others
    return add_comparison(service.store, service.registry, "head", a, b, **about)


def judge(service, version):
    """Judgments by which a version is perfect."""
    for query in ("shoes", "hat"):
        for rank, document in enumerate(service.rankings.top(version, query)):
            service.store.put_judgment(query, document, float(max(3 - rank, 0)), "ann")


def test_a_comparison_is_made_when_its_time_has_come_and_kept(shop):
    other = another(shop)
    one = add(shop)
    assert shop.comparing.look()
    assert not shop.comparing.look(), "the next one is in two hours"
    first = past_results(shop.store, one.id)[0]
    assert (first.state, first.message) == ("unknown", "0 wins, 0 losses, 0 ties")
    judge(shop, "v1")
    later = time.time() + 2 * HOUR + 1
    assert shop.comparing.look(later)
    last = past_results(shop.store, one.id)
    assert [one.state for one in last] == ["failed", "unknown"]
    assert "NDCG@10 by judgments changes by -" in last[0].message
    assert [(one.id, last.state) for one, last in failing(shop.store)] == [(one.id, "failed")]
    judge(shop, other)
    assert shop.comparing.look(later + 2 * HOUR + 1)
    assert past_results(shop.store, one.id)[0].state == "passed"
    assert failing(shop.store) == []
    end_comparison(shop.store, one.id)
    assert known_comparisons(shop.store) == []
    assert not shop.comparing.look(later + 10 * HOUR)
    with pytest.raises(LookupError, match="no scheduled comparison"):
        end_comparison(shop.store, one.id)


def test_of_several_services_one_makes_it_and_a_killed_run_is_made_again(shop):
    another(shop)
    one = add(shop)
    now = time.time()
    assert claim_due(shop.store, now).id == one.id
    assert claim_due(shop.store, now) is None
    assert claim_due(shop.store, now + LEASE + 1).id == one.id
    keep_result(shop.store, one, None, "it went wrong", now)
    assert claim_due(shop.store, now + LEASE + 1) is None
    assert claim_due(shop.store, now + 2 * HOUR + 1).id == one.id


def test_a_comparison_that_cannot_be_made_says_why(shop, monkeypatch):
    one = add(shop, "v1", another(shop))
    monkeypatch.setattr(
        shop.comparing.rankings, "tops", lambda *given: (_ for _ in ()).throw(ValueError("broken"))
    )
    assert shop.comparing.look()
    assert past_results(shop.store, one.id)[0][2:4] == ("error", "broken")


def test_only_so_many_results_are_kept(shop, monkeypatch):
    monkeypatch.setattr("rankloop.serve.desk.scheduled.KEPT", 3)
    another(shop)
    one = add(shop)
    start = time.time()
    for number in range(5):
        keep_result(shop.store, one, None, f"{number}", start + number)
    assert [found.message for found in past_results(shop.store, one.id)] == ["4", "3", "2"]


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"a": "v9"}, "v9"),
        ({"a": "newest"}, "two versions"),
        ({"max_loss": -0.1}, "from 0 to 1"),
        ({"hours": 0.0}, "every 0.1"),
    ],
)
def test_what_makes_no_sense_is_refused(shop, given, wrong):
    with pytest.raises((ValueError, LookupError), match=wrong):
        add(shop, **given)


def test_the_page_and_the_warning(tmp_path, monkeypatch):
    monkeypatch.setattr("rankloop.serve.desk.comparing.SECONDS", 0.05)
    with client_of(tmp_path) as (client, service):
        put_query_set(service.store, "head", QUERIES, author="ann", made="by hand")
        other = another(service)
        judge(service, "v1")
        assert client.get("/compare/scheduled").status_code == 401
        client.post("/login", data={"token": TOKEN})
        page = client.get("/compare/scheduled").text
        token = page.partition('name="form_token" value="')[2].partition('"')[0]
        fields = {
            "form_token": token,
            "set": "head",
            "a": "v1",
            "b": other,
            "max_loss": "0.01",
            "hours": "24",
        }
        wrong = client.post("/compare/scheduled", data={**fields, "hours": "x"})
        assert wrong.status_code == 400
        assert "Hours is a number, got" in wrong.text
        assert client.post("/compare/scheduled", data={**fields, "set": "nothing"}).status_code == 400
        assert client.post("/compare/scheduled", data={**fields, "form_token": "x"}).status_code == 403
        assert client.post("/compare/scheduled", data=fields).status_code == 303
        one = known_comparisons(service.store)[0]
        wait_until(lambda: past_results(service.store, one.id))
        page = client.get("/compare/scheduled").text
        assert ">failed</span>" in page
        kept = page.partition('href="/compare/kept/')[2].partition('"')[0]
        assert f"{other} against v1 on head@1" in client.get(f"/compare/kept/{kept}").text
        assert f"The comparison of {other} with v1 on head failed" in client.get("/dashboard").text
        assert client.post("/compare/scheduled/end", data={**fields, "comparison": one.id}).status_code == 303
        assert "The comparison of" not in client.get("/dashboard").text
