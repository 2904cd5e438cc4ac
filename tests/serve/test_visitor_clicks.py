"""The visitor's own clicks teach: how many are missing, when learning runs, and what became of them."""

import secrets

import pytest

from rankloop.search import Deadline
from rankloop.serve import Config, Service
from rankloop.serve.http.schema import EventIn, SearchRequest
from rankloop.serve.learning.due import clicked_pages, last_look
from rankloop.serve.learning.missing import Traffic, missing
from rankloop.serve.learning.own_clicks import own_clicks
from rankloop.serve.learning.record import LearningRun, begin, finish
from rankloop.serve.learning.run import learn_once
from rankloop.serve.learning.schedule import Schedule
from serve.running import TOKEN, another, on_a_port, serving, wait_until
from serve.topics import put_crowd, shop_of_topics

pytest.importorskip("playwright", reason="the browser is driven by playwright: pip install playwright")
from playwright.sync_api import expect

from serve.test_browser import CHROMIUM, browser, tab  # noqa: F401 - a fixture
from serve.test_desk_browser import log_in

ENOUGH = Traffic(5000, 300, 40, 900, 90)


def search_and_click(service, query, rank, person="ann"):
    answer = service.search(SearchRequest(query=query, user=person))
    document = answer.results[rank - 1].id
    click = EventIn(id=secrets.token_hex(8), impression=answer.impression, kind="click", document=document)
    service.record([click])
    wait_until(lambda: service.recorder.spool.waiting == 0)
    return document


def test_the_pages_that_are_missing_are_said():
    config = Config(index="shop.index", learn_after=20)
    assert missing(config, ENOUGH, None, 0) == ["20 more pages with a click until they are learned from"]
    assert missing(config, ENOUGH, None, 19) == ["1 more page with a click until they are learned from"]
    assert missing(config, ENOUGH, None, 25) == []
    assert missing(config, ENOUGH, None) == []


def test_pages_with_a_click_since_the_last_run_are_counted(tmp_path):
    with serving(tmp_path) as service:
        since = last_look(service.store, service.registry)
        assert since == service.registry.version("v1").time
        search_and_click(service, "red", 1)
        search_and_click(service, "hat", 2)
        service.search(SearchRequest(query="nobody clicks here"))
        assert clicked_pages(service.store, since) == 2
        run = begin(service.store, since + 500)
        assert last_look(service.store, service.registry) == since, "it has not ended"
        finish(service.store, run, since + 510, state="too little", record={"window": {"until": since + 400}})
        assert last_look(service.store, service.registry) == since + 400
        assert clicked_pages(service.store, since + 400) == 0


def test_learning_begins_once_enough_was_clicked(tmp_path, monkeypatch):
    monkeypatch.setattr("rankloop.serve.learning.schedule.LOOK", 0.05)
    with serving(tmp_path, learn_after=2) as service:
        ran = []
        schedule = Schedule(service.config)
        monkeypatch.setattr(
            schedule._process,
            "run",
            lambda **asked: (ran.append(asked), schedule._stopped.set(), (True, "ok"))[2],
        )
        search_and_click(service, "red", 1)
        assert not schedule._enough_clicked(2)
        schedule.start()
        schedule._stopped.wait(0.3)
        assert ran == []
        search_and_click(service, "hat", 1)
        wait_until(lambda: ran == [{"clicked": 2}])
        schedule.stop()
    assert schedule._enough_clicked(0) is False
    with pytest.raises(ValueError, match="learn_every is a number of seconds above 0"):
        Schedule(service.config.but(learn_after=0))


def test_a_run_that_is_due_no_more_does_nothing(tmp_path):
    """One run ends while the next starts, and somebody searched in between without enough clicks."""
    with serving(tmp_path) as service:
        search_and_click(service, "red", 1)
        wait_until(lambda: clicked_pages(service.store, 0.0) == 1)
        assert learn_once(service, again=True).state == "too little"
        search_and_click(service, "hat", 1)
        wait_until(lambda: clicked_pages(service.store, last_look(service.store, service.registry)) == 1)
        assert learn_once(service, clicked=2).state == "nothing new"
        assert learn_once(service, clicked=1).state == "too little"


def test_clicks_of_one_person_with_ranks_before_and_after(tmp_path):
    with serving(tmp_path, swap_rate=0.0) as service:
        clicked = search_and_click(service, "red", 3)
        search_and_click(service, "red", 1, person="bob")
        version = another(service)
        record = {
            "production": "v1",
            "window": {"since": None, "until": 1e12},
            "curves": {"page": {"values": [1.0, 0.5, 0.25]}},
        }
        run = LearningRun("r", 1e12, version=version, record=record)
        [one] = own_clicks(service, run, service.recorder.user("ann"), Deadline(30))
        assert (one.query, one.document, one.position, one.clicks, one.weight) == ("red", clicked, 3, 1, 4.0)
        tops = {name: service.rankings.top(name, "red") for name in ("v1", version)}
        assert one.before == tops["v1"].index(clicked) + 1 == 3
        assert one.after == (tops[version].index(clicked) + 1 if clicked in tops[version] else None)
        assert one.moved == 3 - (one.after or 11)
        assert own_clicks(service, run, service.recorder.user("nobody"), Deadline(30)) == []
        early = LearningRun("r", 0.0, version=version, record=record | {"window": {"until": 0.0}})
        assert own_clicks(service, early, service.recorder.user("ann"), Deadline(30)) == []


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_click_learn_now_and_see_what_changed(tmp_path, browser, monkeypatch):  # noqa: F811
    from rankloop.serve.learning import process

    small = "from rankloop.serve.learning import candidates as some; some.TREES = some.JUDGE = 20; "
    monkeypatch.setattr(process, "_PROGRAM", small + process._PROGRAM.replace("(10)", "(0)"))
    settings = shop_of_topics(
        tmp_path, 30, admin_token=TOKEN, swap_rate=0.0, learn_budget="quick", learn_after=4
    )
    with Service.open(settings) as service, on_a_port(service) as client:
        put_crowd(service, 30, sessions=900)
        with tab(browser, (service, str(client.base_url))) as page:
            log_in(page)
            page.goto("/loop")
            expect(page.get_by_text("4 more pages with a click until they are learned from")).to_be_visible()
            for topic in ("topic3", "topic5"):
                page.goto(f"/?q={topic}")
                page.locator("a.open").nth(4).click()
                page.wait_for_url("**/document/*")
            wait_until(lambda: clicked_pages(service.store, last_look(service.store, service.registry)) == 2)
            page.goto("/loop")
            expect(page.get_by_text("2 more pages with a click until they are learned from")).to_be_visible()
            page.get_by_role("button", name="Learn now").click()
            expect(page.get_by_role("heading", name="What was learned from your clicks")).to_be_visible(
                timeout=90_000
            )
            mine = page.get_by_role("region", name="What was learned from your clicks")
            expect(mine).to_contain_text("topic3")
            expect(mine).to_contain_text("topic5")
            expect(page.get_by_role("heading", name="What changed with v2")).to_be_visible()
            expect(page.locator(".changed").first).to_contain_text("Before")
            page.set_viewport_size({"width": 390, "height": 844})
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= 390, "words for screen readers do not widen the page of a phone"
            page.set_viewport_size({"width": 1280, "height": 800})
            mine.get_by_role("link", name="topic3").click()
            expect(page.get_by_role("main")).to_contain_text("topic3")
    assert [one.version for one in service.registry.versions()] == ["v1", "v2"]
