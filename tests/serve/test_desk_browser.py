"""The desk in a real browser: judge by keyboard, compare, promote and roll back; axe; small pages."""

import os
import re
import time
from pathlib import Path

import pytest

from rankloop.serve import Config, Service
from rankloop.serve.config import Limits
from rankloop.serve.desk.judge_run import JudgeRun
from rankloop.serve.desk.language_judge import LanguageJudge
from rankloop.serve.desk.query_sets import SetQuery, put_query_set
from rankloop.serve.desk.scheduled import add_comparison, known_comparisons
from rankloop.serve.desk.users import add_user
from serve.conftest import make_page
from serve.running import TOKEN, another, on_a_port

pytest.importorskip("playwright", reason="the browser is driven by playwright: pip install playwright")
from playwright.sync_api import expect

from serve.test_browser import CHROMIUM, PHONE, browser, shop_index, tab, violations  # noqa: F401 - a fixture

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
AXE = os.environ.get("RANKLOOP_AXE", "")
PLACES = (
    "/queries",
    "/queries/head",
    "/judge",
    "/judge?set=head",
    "/judge?set=head&q=running",
    "/compare?set=head",
    "/compare?set=head&q=running",
    "/compare?q=running&a=v1&b=v2",
    "/compare/scheduled",
    "/login",
    "/document/hat-1",
    "/loop",
    "/pins",
    "/dashboard",
    "/dashboard/pages?days=30",
    "/dashboard/promote?version=v2",
    "/why?q=running&document=hat-1",
    "/?q=zzzqqq",
    "/?q=running&f.price=1..5",
    "/nowhere",
)
LOADED = "performance.getEntriesByType('resource').reduce((sum, one) => sum + one.decodedBodySize, 0)"
LARGEST = 150_000  # bytes of a page with all that it loads


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    path = shop_index(tmp_path_factory.mktemp("desk"))
    settings = Config(path, admin_token=TOKEN, swap_rate=0.0, limits=Limits(rate=0.0))
    with Service.open(settings) as service, on_a_port(service) as client:
        another(service)
        queries = [SetQuery(one) for one in ("running", "walking hat", "shoe")]
        put_query_set(service.store, "head", queries, author="ann", made="by hand")
        judge = LanguageJudge(lambda prompt: '{"grade": 1}', "v2-model", service.store)
        service.judge_run = JudgeRun(judge, service.index)
        service.registry.note("v2", {"judge": "v2-model"})  # it would judge itself, which is a warning
        compared = {"max_loss": 0.01, "hours": 24.0, "who": "ann"}
        add_comparison(service.store, service.registry, "head", "v1", "v2", **compared)
        service.comparing.look()
        yield service, str(client.base_url)


def log_in(page, token=TOKEN):
    page.goto("/login")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("navigation", name="Pages")).to_contain_text("Judge")


def test_ten_results_are_judged_by_keyboard_and_the_score_moves(desk, browser):  # noqa: F811
    service = desk[0]
    token = add_user(service.store, "kim", "judge")
    with tab(browser, desk) as page:
        log_in(page, token)
        page.goto("/judge?set=head&q=running")
        score = page.locator("[data-live] [data-version=v1] td").nth(1)
        before = score.inner_text()
        shown = [one.get_attribute("data-document") for one in page.locator("[data-judging] > li").all()]
        assert len(shown) >= 10
        expect(page.locator("[data-judging] > li").first).to_have_class(re.compile("here"))
        for key in "3210321032"[:10]:
            with page.expect_response("**/judge"):
                page.keyboard.press(key)
        kept = {one.document: one.grade for one in service.store.ratings(["running"]) if one.rater == "kim"}
        start = 0 if kept.get(shown[0]) is not None else next(i for i, one in enumerate(shown) if one in kept)
        assert [kept[one] for one in shown[start : start + 3]] == [3, 2, 1]
        assert len(kept) == 10
        expect(score).not_to_have_text(before)
        page.keyboard.press("z")
        expect(page.get_by_text("Taken back.")).to_be_visible()
        assert len([one for one in service.store.ratings(["running"]) if one.rater == "kim"]) == 9
        page.keyboard.press("u")
        page.keyboard.press("n")
        expect(page.locator("input[name=reason]:focus")).to_have_count(1)
        page.keyboard.type("0 is typed, not given")
        page.keyboard.press("Escape")
        page.keyboard.press("ArrowRight")
        page.wait_for_url("**/judge?set=head&q=*")
        expect(page.get_by_role("heading", level=1)).not_to_have_text("running")


def test_enter_in_a_note_gives_no_grade_and_keeps_the_one_that_was_given(desk, browser):  # noqa: F811
    service = desk[0]
    token = add_user(service.store, "noa", "judge")

    def kept():
        ratings = service.store.ratings(["walking hat"])
        return [(one.grade, one.reason) for one in ratings if one.rater == "noa"]

    for scripts in (False, True):
        with tab(browser, desk, java_script_enabled=scripts) as page:
            log_in(page, token)
            page.goto("/judge?set=head&q=walking hat")
            note = page.locator("input[name=reason]").first
            note.fill("first look")
            note.press("Enter")
            if scripts:
                expect(page.get_by_text("Give a grade too")).to_be_visible()
            page.goto("/judge?set=head&q=walking hat")
            assert kept() == []
    with tab(browser, desk) as page:
        log_in(page, token)
        page.goto("/judge?set=head&q=walking hat")
        first = page.locator("[data-judging] > li").first
        first.get_by_role("button", name="3 Perfect").click()
        first.locator("input[name=reason]").fill("a second look")
        with page.expect_response(lambda one: "second+look" in (one.request.post_data or "")):
            first.locator("input[name=reason]").press("Enter")
        expect(first.get_by_role("button", name="3 Perfect")).to_have_attribute("aria-pressed", "true")
        assert kept() == [(3.0, "a second look")]


def test_a_note_comes_after_its_grade_on_a_slow_line(desk, browser):  # noqa: F811
    """The grade is still under way when the note is sent: what is kept in the end is the note."""
    service = desk[0]
    token = add_user(service.store, "ira", "judge")
    with tab(browser, desk) as page:
        log_in(page, token)
        page.goto("/judge?set=head&q=walking hat")

        held = []
        page.route("**/judge", lambda route: route.continue_() if held else held.append(route))
        first = page.locator("[data-judging] > li").first
        first.get_by_role("button", name="3 Perfect").click()
        first.locator("input[name=reason]").fill("slowly")
        first.locator("input[name=reason]").press("Enter")
        page.wait_for_timeout(300)  # in which a note that does not wait is kept
        with page.expect_response(lambda one: "slowly" in (one.request.post_data or ""), timeout=5_000):
            held[0].continue_()
    ratings = service.store.ratings(["walking hat"])
    assert [(one.grade, one.reason) for one in ratings if one.rater == "ira"] == [(3.0, "slowly")]


def test_logging_in_leads_back_to_the_page_it_was_asked_on(desk, browser):  # noqa: F811
    with tab(browser, desk, wrong=("status of 401", "status of 403")) as page:
        page.goto("/judge?set=head&q=walking hat")
        page.get_by_label("Token").fill("not the token")
        page.get_by_role("button", name="Log in").click()
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("walking hat")


def test_versions_are_compared_promoted_and_rolled_back(desk, browser):  # noqa: F811
    service = desk[0]
    for rank, document in enumerate(service.rankings.top("v1", "shoe")):
        service.store.put_judgment("shoe", document, float(max(3 - rank, 0)), "ann")
    with tab(browser, desk) as page:
        log_in(page)
        page.goto("/compare?set=head&a=v1&b=v2")
        expect(page.get_by_role("heading", level=1)).to_have_text("v2 against v1 on head@1")
        page.get_by_role("button", name="Keep a snapshot").click()
        page.wait_for_url("**/compare/kept/*")
        page.get_by_role("link", name="shoe", exact=True).click()
        expect(page.get_by_role("heading", name="What moved, and why")).to_be_visible()
        page.goto("/dashboard")
        page.locator("a[href='/dashboard/promote?version=v2']").click()
        expect(page.get_by_role("main")).to_contain_text("below v1 by judgments on head@1")
        page.get_by_role("button", name="Promote v2").click()
        page.get_by_role("button", name="Roll back to v1").click()
        expect(page.locator("#trail ~ .scroll")).to_contain_text("roll back")
    assert service.versions.live.roles.production == "v1"


def test_a_canary_is_set_with_a_slider_and_ended(desk, browser):  # noqa: F811
    service = desk[0]
    with tab(browser, desk) as page:
        log_in(page)
        page.goto("/dashboard/promote?version=v2")
        page.get_by_role("slider").focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        expect(page.locator("[data-range-value]")).to_have_text("8")
        page.get_by_role("button", name="Start the canary").click()
        page.get_by_role("button", name="End the canary v2 (8 %)").click()
        expect(page.get_by_role("button", name=re.compile("End the canary"))).to_have_count(0)
        page.goto("/dashboard/promote?version=v2")
        page.get_by_role("button", name="As a shadow").click()
        page.get_by_role("button", name="End the shadow v2").click()
        expect(page.get_by_role("button", name=re.compile("End the shadow"))).to_have_count(0)
    assert (service.versions.live.roles.canary, service.versions.live.roles.shadow) == (None, None)


def test_an_experiment_starts_at_ten_percent_and_says_what_is_wrong(desk, browser):  # noqa: F811
    with tab(browser, desk, wrong=("status of 400",)) as page:
        log_in(page)
        page.goto("/dashboard")
        form = page.get_by_role("form", name="Start an experiment")
        share = form.get_by_label("Share of people, %")
        expect(share).to_have_value("10")
        share.fill("200")
        form.get_by_role("button").click()
        form = page.get_by_role("form", name="Start an experiment")
        expect(form.get_by_role("alert")).to_contain_text("a whole number from 1 to 100, got '200'")
        expect(form.get_by_label("Share of people, %")).to_have_value("200")
        form.get_by_label("Share of people, %").fill("10")
        form.get_by_role("button").click()
        panel = page.locator("section", has=page.locator("#experiments"))
        expect(panel).to_contain_text("interleaved, 10 % of people")
        expect(page).to_have_url(re.compile("/dashboard#experiments$"))
        expect(panel).to_contain_text("no pages yet")
        panel.get_by_role("button", name=re.compile("^End ")).first.click()
        expect(panel).to_contain_text("ended")


def test_the_dashboard_brings_itself_up_to_date_and_leads_to_pages(desk, browser):  # noqa: F811
    service = desk[0]
    with tab(browser, desk) as page:
        log_in(page)
        page.clock.install()
        page.goto("/dashboard?days=7")
        number = page.locator(".figures a").first
        before = number.inner_text()
        service.store.put_pages([make_page("a new query", "abc", shown=time.time()) for _ in range(3)])
        page.clock.fast_forward(31_000)
        expect(page.locator("[data-refreshed]")).to_contain_text("Brought up to date")
        expect(number).not_to_have_text(before)
        page.get_by_role("form", name="Start an experiment").get_by_label("Share of people, %").fill("33")
        service.store.put_pages([make_page("a new query", "abc", shown=time.time())])
        page.clock.fast_forward(31_000)
        expect(page.get_by_role("form", name="Start an experiment").get_by_label("Share")).to_have_value("33")
        number.click()
        page.wait_for_url("**/dashboard/pages?days=7")
        page.get_by_role("link", name="a new query").first.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("4 pages")


def test_rules_by_value_schedules_and_learners_are_made_on_the_page(desk, browser):  # noqa: F811
    service = desk[0]
    with tab(browser, desk) as page:
        log_in(page)
        page.goto("/pins")
        page.get_by_label("What").select_option("hide")
        page.get_by_label("Query", exact=True).fill("*")
        page.get_by_label("Or all with").select_option("kind")
        page.get_by_label("Value", exact=True).fill("hat")
        page.get_by_role("button", name="Set it").click()
        page.get_by_role("button", name="End the hide of kind = hat").click()
        expect(page.get_by_role("heading", name="Ended")).to_be_visible()
        page.goto("/compare")
        page.get_by_role("link", name="Comparisons on a schedule").click()
        expect(page.get_by_role("main")).to_contain_text("v2 against v1 on head")
        page.get_by_role("button", name="Compare on a schedule").click()
        expect(page.get_by_role("heading", name="newest against production on head")).to_be_visible()
        page.get_by_role("button", name="End newest against production on head").click()
        assert len(known_comparisons(service.store)) == 1
        page.goto("/dashboard")
        form = page.get_by_role("form", name="Learn while serving")
        form.get_by_label("Learner").select_option("thompson")
        form.get_by_role("checkbox", name="v2").check()
        form.get_by_role("button").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("serve everybody?")
        page.goto("/judge?set=head")
        panel = page.locator("section", has=page.locator("#model"))
        expect(panel).to_contain_text("v2 ranks by v2-model or learned from it")
        expect(panel.get_by_role("button", name="Try it on what people judged")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.skipif(not AXE, reason="RANKLOOP_AXE does not name axe.min.js; .ci/run fetches it")
def test_axe_finds_nothing(desk, browser, scheme):  # noqa: F811
    source = Path(AXE).read_text(encoding="utf-8")
    with tab(browser, desk, wrong=("status of 404",), color_scheme=scheme) as page:
        log_in(page)
        wrong = {}
        for path in PLACES:
            page.goto(path)
            if found := violations(page, source):
                wrong[path] = found
        assert wrong == {}


def test_pages_are_small_and_fit_a_phone(desk, browser):  # noqa: F811
    with tab(browser, desk, wrong=("status of 404",), viewport=PHONE) as page:
        log_in(page)
        for path in PLACES:
            page.goto(path, wait_until="load")
            whole = len(page.content().encode()) + page.evaluate(LOADED)
            assert whole < LARGEST, path
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
            for told in page.locator("td.told").all():
                assert told.bounding_box()["width"] > PHONE["width"] / 2, "not a word a line"


def test_what_only_shows_needs_no_scripts(desk, browser):  # noqa: F811
    with tab(browser, desk, java_script_enabled=False, wrong=("status of 404",)) as page:
        log_in(page)
        for path in PLACES:
            page.goto(path)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.goto("/judge?set=head&q=running")
        page.get_by_role("button", name=re.compile("^2 Good: ")).first.click()
        expect(page.locator("button[aria-pressed=true]").first).to_be_visible()
        page.goto("/nowhere")
        expect(page.get_by_role("main")).to_contain_text("There is no page at this address.")


def test_nothing_found_and_ranges_have_room(desk, browser):  # noqa: F811
    with tab(browser, desk) as page:
        page.goto("/?q=zzzqqq")
        assert page.locator(".nothing").bounding_box()["width"] > 400
        page.goto("/?q=running&f.price=1..5")
        button = page.get_by_role("button", name="Set").bounding_box()
        assert button["width"] > 30
        assert button["height"] < 40
