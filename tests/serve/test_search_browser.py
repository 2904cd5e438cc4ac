"""The searcher's page in a real browser: instant search, suggestions, narrowing, cards, going back."""

import os
import re
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import func, select

from rankloop.search import Index
from rankloop.serve import Config, Service
from rankloop.serve.card_settings import CardSettings
from rankloop.serve.config import Limits
from rankloop.serve.events.tables import pages
from serve.running import on_a_port, wait_until

pytest.importorskip("playwright", reason="the browser is driven by playwright: pip install playwright")
from playwright.sync_api import expect

from serve.test_browser import CHROMIUM, PHONE, browser, rows, settled, shown, tab, violations  # noqa: F401 - a fixture

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
AXE = os.environ.get("RANKLOOP_AXE", "")
BRANDS = [f"Brand {number}" for number in range(14)]
PICTURES = "https://img.shop.example/**"
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><rect width="1" height="1"/></svg>'
FAILED = ("asked for https://img.shop.example",)  # the config allows it
PLACES = ("/", "/?q=", "/?q=running", "/?q=runing", "/?q=running&f.brand=Brand+0&f.price=10..40&sort=-price")
LOADED = "performance.getEntriesByType('resource').reduce((sum, one) => sum + one.decodedBodySize, 0)"


def documents():
    for number in range(60):
        kind = ("shoe", "hat", "espresso machine")[number % 3]
        host = "img.shop.example" if number % 2 else "elsewhere.example"
        yield {
            "id": f"{kind[0]}{number}",
            "title": f"Running {kind} number {number}",
            "body": f"For running and walking. {'running ' * (number % 4)}",
            "brand": BRANDS[min(number % 20, 13)],
            "price": number + 0.5,
            "rating": 3 + number % 20 / 10,
            "image": f"https://{host}/{number}.svg",
        }


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    fields = {"title": "text", "body": "text", "brand": "keyword", "price": "number", "rating": "number"}
    index = Index.create(folder / "shop.index", fields)
    index.add(documents())
    index.commit()
    hosts = ("img.shop.example",)
    card = CardSettings(price="price", currency="EUR", image="image", image_hosts=hosts, rating="rating")
    settings = Config(folder / "shop.index", swap_rate=0.0, limits=Limits(rate=0.0), card=card)
    with Service.open(settings) as service, on_a_port(service) as client:
        service.searcher.warm()
        yield service, str(client.base_url)


def recorded(service, query):
    wait_until(lambda: service.recorder.spool.waiting == 0)
    with service.store.reading() as connection:
        return connection.execute(select(func.count()).where(pages.c.query == query)).scalar_one()


@contextmanager
def looking(browser, shop, **options):  # noqa: F811
    """A tab in which pictures are found."""
    with tab(browser, shop, wrong=FAILED, **options) as page:
        page.context.route(PICTURES, lambda route: route.fulfill(content_type="image/svg+xml", body=PICTURE))
        yield page


@pytest.fixture
def page(browser, shop):  # noqa: F811
    with looking(browser, shop) as one:
        yield one


def test_results_come_while_typing_and_are_never_blank(shop, page):
    """Every answer is held back for longer than a key takes: the newest text is asked for next."""
    asked = []

    def slowly(route):
        asked.append(route.request.url)
        page.wait_for_timeout(30)
        route.continue_()

    page.goto("/")
    page.route("**/fragment*", slowly)
    page.evaluate(
        """() => {
          window.seen = [];
          new MutationObserver(() => seen.push(document.querySelectorAll("#found .results").length))
            .observe(document.getElementById("found"), { childList: true });
        }"""
    )
    page.locator("#q").press_sequentially("running espresso", delay=60)
    expect(page.locator(".results[data-query='running espresso']")).to_be_visible()
    assert set(page.evaluate("seen")) == {1}
    assert len(asked) >= 3, "while typing, not after it"
    assert any("q=running+espresso" not in one and "settled" not in one for one in asked)
    settled(page)
    assert recorded(shop[0], "running espresso") == 1
    assert sum("settled=1" in one for one in asked) == 1, "not before it settles"
    with shop[0].store.reading() as connection:
        typed = connection.execute(select(pages.c.query).where(pages.c.query.startswith("r"))).scalars()
        assert set(typed) == {"running espresso"}


def test_a_slow_answer_is_cancelled_and_does_not_come_back(page):
    page.goto("/?q=hat")
    before = shown(page)
    cancelled = []
    page.on("requestfailed", lambda one: cancelled.append(one.url))
    page.route("**/fragment?q=shoe", lambda route: None)  # never answered
    page.locator("#q").fill("shoe")
    expect(page.locator("#found[aria-busy=true]")).to_be_visible()
    assert shown(page) == before, "what was there stays"
    page.wait_for_timeout(300)  # longer than the patience
    page.locator("#q").fill("espresso")
    expect(page.locator(".results[data-query='espresso']")).to_be_visible()
    wait_until(lambda: (page.wait_for_timeout(10), any("q=shoe" in one for one in cancelled))[1])
    settled(page)
    assert page.url.endswith("?q=espresso")


def test_suggestions_are_chosen_with_the_keyboard(shop, page):
    page.goto("/")
    box, options = page.get_by_role("combobox", name="Search"), page.locator("#suggestions [role=option]")
    box.press_sequentially("running hat")
    expect(options.first).to_be_visible()
    expect(box).to_have_attribute("aria-expanded", "true")
    texts = options.all_inner_texts()
    assert 1 < len(texts) <= 5
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(box).to_have_attribute("aria-activedescendant", "suggestion-1")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    expect(options.nth(0)).to_have_attribute("aria-selected", "false")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert box.get_attribute("aria-activedescendant") is None, "back in the box"
    page.keyboard.press("ArrowUp")
    expect(box).to_have_attribute("aria-activedescendant", f"suggestion-{len(texts) - 1}")
    page.keyboard.press("Enter")
    expect(box).to_have_value(texts[-1])
    expect(page.get_by_role("listbox")).to_have_count(0)
    settled(page)
    wait_until(lambda: recorded(shop[0], texts[-1]) == 1)


def test_escape_closes_suggestions_then_clears(shop, page):
    page.goto("/")
    box = page.get_by_role("combobox", name="Search")
    box.press_sequentially("running sho")
    expect(page.locator("#suggestions [role=option]").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("listbox")).to_have_count(0)
    expect(box).to_have_value("running sho")
    expect(box).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("Escape")
    expect(box).to_have_value("")
    expect(page.locator(".results[data-query='']")).to_contain_text("60 results")
    page.wait_for_url(re.compile(r"/\?q=$"))  # loaded again, the page is what it is now
    assert page.title() == "shop"
    assert recorded(shop[0], "") == 0, "a box that was emptied asks for nothing"


def test_a_suggestion_is_taken_with_the_mouse(page):
    page.goto("/?q=hat")
    box = page.get_by_role("combobox", name="Search")
    box.fill("espresso mach")
    option = page.locator("#suggestions [role=option]").first
    text = option.inner_text()
    option.click()
    expect(box).to_have_value(text)
    expect(box).to_be_focused()
    settled(page)


def test_several_values_more_and_clearing(page):
    page.goto("/?q=running")
    page.get_by_role("link", name="Brand 13 21").click()
    page.get_by_role("link", name="Brand 0 3").click()
    expect(page.locator(".tally").first).to_contain_text("24 results")
    expect(page.get_by_role("link", name="Brand 1 3")).to_be_visible()  # counts of the others stay
    rare = page.get_by_role("link", name="Brand 9 3")
    expect(rare).not_to_be_visible()
    page.get_by_text("More of Brand").click()
    rare.click()
    expect(page.locator(".facets a[aria-current]")).to_have_count(3)
    page.get_by_role("link", name="Clear all filters").click()
    expect(page.locator(".tally").first).to_contain_text("60 results")
    assert page.url.endswith("/?q=running")


def test_a_bar_of_the_histogram_sets_the_range(page):
    page.goto("/?q=running")
    bars = page.get_by_role("group", name="How many results by Price").get_by_role("link")
    words = bars.nth(1).get_attribute("aria-label")
    low, high, count = (float(one) for one in re.fullmatch(r"(.+) to (.+): (.+)", words).groups())
    bars.nth(1).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".tally").first).to_contain_text(f"{count:.0f} results")
    prices = [float(one.split()[0]) for one in page.locator(".price").all_inner_texts()]
    assert all(low <= price <= high for price in prices)
    assert bars.count() > 2, "the other bars stay"


def test_sorting_on_the_page(page):
    page.goto("/?q=hat")
    page.get_by_label("Sort").select_option("Price, highest first")
    page.wait_for_url("**/?q=hat&sort=-price")
    prices = [float(one.split()[0]) for one in page.locator(".price").all_inner_texts()]
    assert prices == sorted(prices, reverse=True)
    page.locator("#q").fill("shoe")  # another query keeps the order
    settled(page)
    expect(page.get_by_label("Sort")).to_have_value("-price")
    page.get_by_label("Sort").select_option("best first")
    expect(page.get_by_label("Sort")).to_have_value("score")


@pytest.mark.parametrize("scripts", [True, False])
def test_an_empty_query_browses(shop, browser, scripts):  # noqa: F811
    with looking(browser, shop, java_script_enabled=scripts) as page:
        page.goto("/")
        page.get_by_role("button", name="Search").click()
        expect(page.locator(".tally").first).to_contain_text("60 results")
        expect(page.locator(".result")).to_have_count(10)


def test_a_card_has_price_rating_and_pictures_of_allowed_hosts(shop, browser):  # noqa: F811
    """Nothing is asked of another host, and nothing needs scripts."""
    asked = []
    with looking(browser, shop, java_script_enabled=False) as page:
        page.context.on("request", lambda one: asked.append(one.url))
        answer = page.goto("/?q=running&sort=price")
        assert "img-src 'self' data: https://img.shop.example" in answer.headers["content-security-policy"]
        first, second = page.locator(".result").nth(0), page.locator(".result").nth(1)
        expect(first).to_contain_text("0.50 EUR")
        expect(first).to_contain_text("Rated 3 of 5")
        expect(first.locator("img")).to_have_count(0)
        expect(second.locator("img")).to_have_attribute("src", "https://img.shop.example/1.svg")
        page.locator(".result").nth(9).scroll_into_view_if_needed()
        expect(page.locator("img")).to_have_count(5)
        page.wait_for_load_state("networkidle")
    hosts = {re.match(r"\w+://([^/:]+)", one)[1] for one in asked}
    assert hosts == {"127.0.0.1", "img.shop.example"}


def test_going_back_records_nothing_again(shop, browser):  # noqa: F811
    """Typed, opened, gone back with a page that is loaded anew; then more without scripts."""
    service = shop[0]
    with looking(browser, shop) as page:
        page.goto("/")
        page.locator("#q").press_sequentially("walking hat")
        settled(page)
        wait_until(lambda: recorded(service, "walking hat") == 1)
        before = shown(page)
        page.goto("/?q=walking+hat")
        page.reload()
        assert shown(page) == before
        page.locator("a.open").nth(1).click()
        page.wait_for_url("**/document/*")
        page.go_back()
        expect(page.locator(".result").first).to_be_visible()
        assert recorded(service, "walking hat") == 1
    with looking(browser, shop, java_script_enabled=False) as page:
        page.goto("/?q=walking+number")
        page.get_by_role("link", name="More results").click()
        expect(page.locator(".result")).to_have_count(20)
        page.go_back()
        assert recorded(service, "walking number") == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.skipif(not AXE, reason="RANKLOOP_AXE does not name axe.min.js; .ci/run fetches it")
def test_axe_finds_nothing(shop, browser, scheme):  # noqa: F811
    source = Path(AXE).read_text(encoding="utf-8")
    with looking(browser, shop, color_scheme=scheme) as page:
        wrong = {}
        for path in PLACES:
            page.goto(path)
            if path == "/":  # with suggestions, one of them chosen
                page.locator("#q").press_sequentially("running hat")
                expect(page.locator("#suggestions [role=option]").first).to_be_visible()
                page.keyboard.press("ArrowDown")
            if found := violations(page, source):
                wrong[path] = found
        assert wrong == {}


def test_a_search_on_a_phone_by_touch(shop, browser):  # noqa: F811
    """Type, take a suggestion, narrow, open a result; the click is of the page that was shown."""
    phone = {"viewport": PHONE, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
    with looking(browser, shop, **phone) as page:
        page.goto("/")
        page.locator("#q").tap()
        page.keyboard.type("espreso machine number", delay=30)
        expect(page.get_by_text("Showing results for")).to_contain_text("espresso machine number")
        page.keyboard.press("Enter")
        settled(page)
        page.locator("details.facets > summary").tap()
        page.get_by_role("link", name=re.compile("^Brand 2 ")).first.tap()
        expect(page.locator(".tally").first).to_contain_text("Brand 2")
        page.wait_for_load_state()  # a click is recorded by scripts, which come after the results
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        first = page.locator(".result").first
        document = first.get_attribute("data-document")
        first.locator("a.open").tap()
        page.wait_for_url("**/document/*")
        wait_until(lambda: rows(shop[0], "espresso machine number", "click"))
    assert rows(shop[0], "espresso machine number", "click") == [(document, 1, None)]


def test_what_is_typed_and_its_clearing_mark_are_beside_the_button(shop, browser):  # noqa: F811
    ends = """box => box.getBoundingClientRect().right - parseFloat(getComputedStyle(box).paddingRight)"""
    for size in (PHONE, {"width": 800, "height": 600}, {"width": 1280, "height": 800}):
        with looking(browser, shop, viewport=size) as page:
            for path in ("/", "/?q=running"):
                page.goto(path)
                button = page.get_by_role("button", name="Search").bounding_box()
                assert page.locator("#q").evaluate(ends) <= button["x"], (size, path)


def test_pages_are_small_and_fit_a_phone(shop, browser):  # noqa: F811
    with looking(browser, shop, viewport=PHONE) as page:
        for path in PLACES:
            page.goto(path, wait_until="load")
            if path != "/":
                page.get_by_text(re.compile(r"^Filters")).click()
            assert len(page.content().encode()) + page.evaluate(LOADED) < 150_000, path
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
