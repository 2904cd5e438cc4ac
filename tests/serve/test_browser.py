"""The page in a real browser: type, click, see it in the store; keys, names, contrast, phones, no escapes."""

import re
import shutil
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from rankloop.search import Index
from rankloop.serve import Config, Service
from rankloop.serve.config import Limits
from rankloop.serve.desk.query_sets import SetQuery, put_query_set
from rankloop.serve.learning.run import learn_once
from serve.running import another, on_a_port, wait_until
from serve.topics import put_crowd, shop_of_topics

pytest.importorskip("playwright", reason="the browser is driven by playwright: pip install playwright")
from playwright.sync_api import expect, sync_playwright

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
CHROME = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
)
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"
PAGES = (
    "/",
    "/?q=running",
    "/?q=running&f.kind=shoe",
    "/?q=zzzqqqq",
    "/why?q=running&document=hat-1",
    "/compare?q=running",
    "/compare?set=evil",
    "/queries",
    "/queries/evil",
    "/judge",
    "/judge?set=evil",
    "/judge?set=evil&q=running",
    "/loop",
    "/pins",
    "/compare/scheduled",
    "/dashboard/pages?days=30",
    "/dashboard/promote?version=v2",
    "/document/hat-1",
    "/dashboard",
    "/?q=a&f.nothing=1",
)


def documents():
    for number in range(12):
        kind = ("shoe", "hat")[number % 2]
        yield {
            "id": f"{kind}-{number}",
            "title": f"Running {kind} number {number}",
            "body": f"For running and for walking. {'running ' * (number % 4)}" + "word " * number,
            "kind": kind,
            "price": number,
        }
    yield {"id": EVIL, "title": f"Evil {EVIL} title", "body": f"evil body {EVIL}", "kind": EVIL, "price": 1}


def shop_index(folder):
    """The path of an index of these documents."""
    fields = {"title": "text", "body": "text", "kind": "keyword", "price": "number"}
    index = Index.create(folder / "shop.index", fields)
    index.add(documents())
    index.commit()
    return index.path


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    settings = Config(
        shop_index(tmp_path_factory.mktemp("browser")),
        open_dashboard=True,
        swap_rate=0.0,
        examples=(EVIL, "hat"),
        limits=Limits(rate=0.0),
    )
    with Service.open(settings) as service, on_a_port(service) as client:
        service.registry.note(another(service), {"name": EVIL})
        queries = [SetQuery("running"), SetQuery(EVIL)]
        put_query_set(service.store, "evil", queries, author=EVIL, made=EVIL)
        service.store.put_judgment("running", "hat-1", 3, EVIL, reason=EVIL)
        yield service, str(client.base_url)


@pytest.fixture(scope="module")
def browser():
    expect.set_options(timeout=30_000)
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@contextmanager
def tab(browser, shop, *, wrong=(), **options):
    """A tab that fails when anything comes from elsewhere, runs that should not, or is complained about."""
    address, troubles = shop[1], []
    settings = {"viewport": DESKTOP, "user_agent": CHROME, "base_url": address} | options
    context = browser.new_context(**settings)
    page = context.new_page()
    page.set_default_timeout(30_000)
    context.on("request", lambda one: one.url.startswith(address) or troubles.append(f"asked for {one.url}"))
    context.on("dialog", lambda one: (troubles.append(f"a dialog: {one.message}"), one.dismiss()))
    page.on("pageerror", lambda one: troubles.append(f"error: {one}"))
    page.on("console", lambda one: one.type in ("error", "warning") and troubles.append(one.text))
    yield page
    context.close()
    assert [one for one in troubles if not any(part in one for part in wrong)] == []


def rows(service, query, kind):
    """Events of a kind on the pages of a query: (document, position, value)."""
    from sqlalchemy import select

    from rankloop.serve.events.tables import events, pages

    statement = (
        select(events.c.document, events.c.position, events.c.value)
        .join(pages, pages.c.page_id == events.c.page_id)
        .where(pages.c.query == query, events.c.kind == kind)
    )
    with service.store.reading() as connection:
        return [tuple(row) for row in connection.execute(statement)]


def shown(page):
    return page.locator(".result").evaluate_all("all => all.map(one => one.dataset.document)")


def settled(page):
    """Wait for results that count."""
    expect(page.locator(".results:not([data-impression=''])")).to_be_visible()


def violations(page, source):
    """What axe finds wrong with a page: the rule, and the first element."""
    page.evaluate(source)
    return page.evaluate("axe.run().then((one) => one.violations.map((v) => [v.id, v.nodes[0].html]))")


def test_typing_clicking_and_coming_back_is_in_the_store(shop, browser):
    service = shop[0]
    with tab(browser, shop) as page:
        page.clock.install()
        page.goto("/")
        page.clock.pause_at(datetime.now() + timedelta(seconds=60))  # the pauses are ours to make
        for letter in "runing hat":  # misspelt, and the box has the focus
            page.keyboard.type(letter)
            page.clock.run_for(130)
        expect(page.locator(".results[data-impression=''] .result").first).to_be_visible()
        expect(page.get_by_role("combobox", name="Search")).to_be_focused()
        expect(page.locator(".welcome")).to_have_count(0)
        page.clock.run_for(700)
        settled(page)
        page.clock.resume()
        assert page.url.endswith("/?q=runing+hat")
        assert page.title() == "runing hat · shop"
        assert page.locator(".tally").first.inner_text().startswith("1")
        third = page.locator(".result").nth(2)
        document = third.get_attribute("data-document")
        third.locator("a.open").click()
        page.wait_for_url("**/document/*")
        page.wait_for_timeout(1500)  # reading a page of our own, which must not start the time anew
        page.go_back()
        wait_until(lambda: rows(service, "running hat", "dwell"))
    assert rows(service, "running hat", "click") == [(document, 3, None)]
    [(left, position, seconds)] = rows(service, "running hat", "dwell")
    assert (left, position) == (document, 3)
    assert 1.4 < seconds < 60
    assert (document, 3, None) in rows(service, "running hat", "viewport")
    log = service.store.click_frame()
    assert log.filter(log["click"] == 1)["document"].to_list() == [document]
    assert not [query for query in log["query"].unique() if query not in ("running hat",)], (
        "keystrokes do not count"
    )


def test_the_ranking_changes_when_another_version_is_promoted(shop, browser):
    service = shop[0]
    with tab(browser, shop) as page:
        page.goto("/?q=running")
        before = shown(page)
        service.registry.promote("v2")
        service.versions.reload()
        page.reload()
        after = shown(page)
        service.registry.roll_back()
        service.versions.reload()
        page.reload()
        assert shown(page) == before
    prices = [int(one.split("-")[1]) for one in after]
    assert prices == sorted(prices, reverse=True)
    assert after != before


def test_the_ranking_changes_after_learning_from_clicks(tmp_path, browser, monkeypatch):
    """People want quality, which the words say nothing about; what they click teaches it."""
    monkeypatch.setattr("rankloop.serve.learning.candidates.TREES", 40)
    monkeypatch.setattr("rankloop.serve.learning.candidates.JUDGE", 30)
    settings = shop_of_topics(tmp_path, 40, open_dashboard=True)
    with Service.open(settings) as service, on_a_port(service) as client:
        put_crowd(service, 40, sessions=1500)
        with tab(browser, (service, str(client.base_url))) as page:
            page.goto("/?q=topic7")
            before = shown(page)
            run = learn_once(service)
            assert run.state == "promoted", run
            service.versions.reload()
            page.reload()
            after = shown(page)
            page.goto("/dashboard", timeout=120_000)  # its kernels are compiled now
            expect(page.locator("#learning ~ .scroll")).to_contain_text("promoted")
            page.get_by_role("link", name="report").click()
            expect(page.get_by_role("heading", level=1)).to_be_visible()
    quality = {id: service.index[id]["quality"] for id in before}
    assert quality[before[0]] < 0.7
    assert quality[after[0]] > 1.4  # all that people ask of the best


def test_the_keyboard_is_enough(shop, browser):
    with tab(browser, shop) as page:
        page.goto("/?q=running")
        page.keyboard.press("Tab")
        expect(page.get_by_text("Skip to the content")).to_be_focused()
        page.keyboard.press("/")
        expect(page.get_by_role("combobox", name="Search")).to_be_focused()
        page.keyboard.press("ArrowDown")
        expect(page.locator("a.open").nth(0)).to_be_focused()
        page.keyboard.press("j")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("k")
        expect(page.locator("a.open").nth(1)).to_be_focused()
        outline = page.locator("a.open").nth(1).evaluate("one => getComputedStyle(one).outlineStyle")
        assert outline == "solid"
        page.keyboard.press("w")
        expect(page.locator(".result").nth(1).get_by_role("region")).to_contain_text("Features in its score")
        page.keyboard.press("w")
        expect(page.locator(".why")).to_have_count(0)
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_contain_text("next and previous result")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.keyboard.press("Enter")
        page.wait_for_url("**/document/*")


def test_reasons_and_filters_by_hand(shop, browser):
    with tab(browser, shop) as page:
        page.goto("/?q=walking")
        first = page.locator(".result").first
        first.get_by_role("link", name=re.compile("^Why")).click()
        expect(first.get_by_role("region")).to_contain_text("Words that matched (BM25)")
        page.get_by_role("link", name="hat 6").click()
        expect(page.locator(".tally")).to_contain_text("Kind: hat")
        assert all(one.startswith("hat") for one in shown(page))


def test_trouble_is_said_and_enter_tries_again(shop, browser):
    with tab(browser, shop, wrong=("status of 503", "net::ERR_FAILED")) as page:
        page.goto("/")
        page.route("**/fragment*", lambda one: one.fulfill(status=503, headers={"X-Problem": "Not now"}))
        page.keyboard.type("hat")
        expect(page.get_by_role("status").last).to_contain_text("Not now; press Enter to try again.")
        page.unroute("**/fragment*")
        page.keyboard.press("Enter")
        settled(page)
        page.route("**/fragment*", lambda one: one.abort())
        page.get_by_role("combobox", name="Search").fill("shoe")
        expect(page.locator("#found.old")).to_be_visible()  # results of another query do not look fresh
        page.unroute("**/fragment*")
        page.keyboard.press("Enter")
        expect(page.locator("#found.old")).to_have_count(0)


def test_more_results_are_of_the_same_impression(shop, browser):
    """They are put below, with ranks from 11 on; the page is one record, however often it is gone back to."""
    service = shop[0]
    with tab(browser, shop) as page:
        page.goto("/?q=walking+number")
        expect(page.locator(".result")).to_have_count(10)
        page.get_by_role("link", name="More results").click()
        expect(page.locator(".result")).to_have_count(12)
        assert [one.get_attribute("data-position") for one in page.locator(".result").all()] == [
            str(number) for number in range(1, 13)
        ]
        expect(page.get_by_role("link", name="More results")).to_have_count(0)
        eleventh = page.locator(".result").nth(10)
        document = eleventh.get_attribute("data-document")
        eleventh.locator("a.open").click()
        page.wait_for_url("**/document/*")
        wait_until(lambda: rows(service, "walking number", "click"))
    assert rows(service, "walking number", "click") == [(document, 11, None)]
    wait_until(lambda: service.recorder.spool.waiting == 0)
    log = service.store.click_frame()
    mine = log.filter(log["query"] == "walking number")
    assert mine["position"].to_list() == list(range(1, 13))
    assert mine["session"].n_unique() == 1


def test_searching_works_without_scripts(shop, browser):
    with tab(browser, shop, java_script_enabled=False) as page:
        page.goto("/")
        page.get_by_role("searchbox").fill("running shoe")
        page.get_by_role("button", name="Search").click()
        assert len(shown_without_scripts(page)) == 10
        page.get_by_role("link", name=re.compile("^Why")).first.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("is here")


def shown_without_scripts(page):
    return [one.get_attribute("data-document") for one in page.locator(".result").all()]


def test_nothing_that_was_typed_or_stored_runs(shop, browser):
    with tab(browser, shop) as page:
        page.goto("/")
        page.get_by_role("combobox", name="Search").press_sequentially(f"evil {EVIL}")
        settled(page)
        page.locator("[data-why]").first.click()
        expect(page.locator(".why")).to_be_visible()
        page.locator("a.open").first.click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(EVIL)
        page.goto("/compare?q=evil&a=v1&b=v2")
        page.goto("/queries/evil")
        expect(page.get_by_role("main")).to_contain_text(EVIL)
        page.goto("/dashboard")
        expect(page.locator("#versions ~ .scroll")).to_contain_text(EVIL)


def test_the_check_of_contrast_sees_what_is_faint(shop, browser):
    with tab(browser, shop) as page:
        page.goto("/")
        for colour, faint in (("#767676", 0), ("#949494", 1)):  # 4.54 and 3.03 on white
            page.set_content(f"<body bgcolor=white><p><font color='{colour}'>text</font></p></body>")
            assert len(page.evaluate(script("faint.js"))) == faint
        page.set_content("<button></button><a href=/ aria-label=home></a>")
        assert len(page.evaluate(script("nameless.js"))) == 1


def script(name):
    return (Path(__file__).parent / name).read_text(encoding="utf-8").partition("\n")[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_readable_named_and_fits_a_phone(shop, browser, scheme):
    refused = ("status of 400",)  # the page about a wrong filter
    with tab(browser, shop, wrong=refused, color_scheme=scheme, viewport=PHONE) as page:
        for path in PAGES:
            page.goto(path)
            if path == "/?q=running":
                page.locator("[data-why]").first.click()
                expect(page.locator(".why")).to_be_visible()
                page.get_by_text("Filters").click()
            assert page.evaluate(script("nameless.js")) == [], path
            assert page.evaluate(script("faint.js")) == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
            assert page.locator("main, h1").count() == 2, path
