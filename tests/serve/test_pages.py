"""The pages as a browser without scripts sees them: results, filters, reasons, judgments, trust."""

import re
import secrets
import time
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import urlencode

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student
from sklearn.neighbors import KNeighborsRegressor

from rankloop.rankers import PointwiseRanker, RankSVM
from rankloop.serve.config import Limits
from rankloop.serve.events.shown_page import Event
from rankloop.serve.events.sums import DaySum
from rankloop.serve.http.schema import Result, SearchRequest
from rankloop.serve.pages.address import SearchAddress
from rankloop.serve.pages.drift import changed_features, changed_shares, drift
from rankloop.serve.pages.evidence import _contribution
from rankloop.serve.pages.traffic import by_day
from rankloop.serve.pages.views import _passage
from serve.running import TOKEN, another, client_of, serving, wait_until

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
EVIL = "\"><script>alert(1)</script><img src=x onerror=alert(1)>'{{7*7}}"


class Read(HTMLParser):
    """A page taken apart, with what must never be in it."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.forbidden = [], []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append((tag, given))
        if tag in ("style", "iframe", "object", "base") or (
            tag == "script" and not (given.get("src") or "").startswith("/static/")
        ):
            self.forbidden.append((tag, given))
        for name, value in given.items():
            link = name in ("href", "src", "action", "formaction")
            if (
                name.startswith("on")
                or name == "style"
                or (link and re.match(r"\s*(java|data:|//)", value or ""))
            ):
                self.forbidden.append((tag, name, value))

    def handle_data(self, data):
        self.text += data

    def all(self, tag, **having):
        return [given for name, given in self.tags if name == tag and having.items() <= given.items()]


def read(answer, status=200):
    assert answer.status_code == status, answer.text[:500]
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    page = Read(answer.text)
    assert page.forbidden == []
    return page


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with client_of(
        tmp_path_factory.mktemp("pages"), swap_rate=0.0, site="The shop", examples=("red hat",)
    ) as pair:
        pair[0].headers["user-agent"] = FIREFOX
        yield pair


@pytest.fixture
def client(shop):
    shop[0].cookies.clear()
    return shop[0]


@pytest.fixture
def service(shop):
    return shop[1]


def pages_of(service, query):
    frame = service.store.click_frame(include_bots=True)
    return frame.filter(frame["query"] == query)["session"].unique().to_list()


def test_the_empty_page_has_a_box_and_searches_to_try(client):
    page = read(client.get("/"))
    assert page.all("input", name="q", type="search")
    assert page.all("a", href="/?q=red%20hat")
    assert "24 documents" in page.text
    assert "set-cookie" not in client.get("/").headers


def test_a_search_without_scripts_shows_and_records_a_page(client, service):
    answer = client.get("/", params={"q": "green hat"})
    page = read(answer)
    results = page.all("li", **{"class": "result"})
    assert [one["data-position"] for one in results] == [str(i) for i in range(1, 1 + len(results))]
    assert len(page.all("a", **{"class": "open"})) == len(results)
    assert "<mark>green</mark> <mark>hat</mark>" in answer.text
    assert re.search(r"\d+ results in \d+ ms", page.text)
    assert page.all("div", **{"class": "results"})[0]["data-impression"]
    wait_until(lambda: pages_of(service, "green hat"))
    [shown] = {service.store.page(id) for id in pages_of(service, "green hat")}
    assert list(shown.documents) == [one["data-document"] for one in results]
    assert not shown.bot


def test_who_searches_is_a_random_number_and_only_its_hash_is_stored(client, service):
    answer = client.get("/", params={"q": "red polish"})
    assert re.search(
        r"rankloop_user=[0-9a-f]{32}; HttpOnly; Max-Age=\d+; Path=/; SameSite=lax",
        answer.headers["set-cookie"],
    )
    number = client.cookies["rankloop_user"]
    assert "rankloop_user" not in client.get("/", params={"q": "blue polish"}).headers["set-cookie"]
    both = ("red polish", "blue polish")
    wait_until(lambda: all(pages_of(service, one) for one in both))
    users = {service.store.page(id).user for one in both for id in pages_of(service, one)}
    assert len(users) == 1
    assert number not in users
    assert client.post("/forget-me", follow_redirects=False).status_code == 303
    assert pages_of(service, "red polish") == []
    assert "rankloop_user" not in client.cookies


@pytest.mark.parametrize("header", ["Sec-GPC", "DNT"])
def test_nobody_is_followed_who_does_not_want_it(client, header):
    assert "set-cookie" not in client.get("/", params={"q": "hat"}, headers={header: "1"}).headers


def test_keystrokes_are_answered_and_not_recorded(client, service):
    typed = client.get("/fragment", params={"q": "runn"})
    page = read(typed)
    assert "<html" not in typed.text
    assert page.all("div", **{"class": "results"})[0]["data-impression"] == ""
    assert page.all("li", **{"class": "result"}), "the last word is a beginning"
    settled = read(client.get("/fragment", params={"q": "running things", "settled": "1"}))
    assert settled.all("div", **{"class": "results"})[0]["data-impression"]
    wait_until(lambda: pages_of(service, "running things"))
    assert pages_of(service, "runn") == pages_of(service, "runn*") == []
    assert read(client.get("/fragment"), 400)
    everything = read(client.get("/fragment", params={"q": " "}))
    assert everything.all("div", **{"class": "results"})[0]["data-impression"] == ""
    assert len(everything.all("li", **{"class": "result"})) == 10


def test_a_guess_of_the_browser_is_no_page(client):
    assert (
        client.get("/", params={"q": "hat"}, headers={"Sec-Purpose": "prefetch;prerender"}).status_code == 503
    )


def test_misspelt_words_are_forgiven(client):
    assert "blue" in read(client.get("/", params={"q": "bleu runing"})).text


def test_facets_are_links_that_set_and_take_away_filters(client):
    page = read(client.get("/", params={"q": "shoes"}))
    assert page.all("a", href="/?q=shoes&f.brand=Hare")
    narrowed = read(client.get("/", params={"q": "shoes", "f.brand": "Hare"}))
    assert narrowed.all("a", href="/?q=shoes", **{"aria-current": "true"})
    assert narrowed.all("input", name="f.brand", value="Hare", type="hidden"), "typing on keeps the filter"
    documents = [one["data-document"] for one in narrowed.all("li", **{"class": "result"})]
    assert documents
    assert all(int(id) % 2 == 0 for id in documents)


def test_numbers_and_dates_are_filtered_by_ranges(client):
    page = read(client.get("/", params={"q": "shoes", "f.price": "100..150", "f.added": "2010-01-01.."}))
    assert {int(one["data-document"]) for one in page.all("li", **{"class": "result"})} <= set(range(10, 16))
    assert "Price: 100..150" in page.text
    assert page.all("input", name="from.price", value="100")
    typed = {"q": "shoes", "from.price": "100", "to.price": "150", "f.price": "1..2", "from.added": ""}
    assert read(client.get("/", params=typed)).all("a", href="/?q=shoes"), "the range can be taken away"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"f.colour": "red"}, "Unknown field to filter by 'colour'"),
        ({"f.price": "cheap"}, "'price' is filtered by a number or a range like 10..50, got 'cheap'"),
        ({"f.price": "nan.."}, "'price' is filtered by a number"),
        ({"f.added": "soon"}, "a date like 2024-05-31"),
        ({f"f.{number}": "x" for number in range(30)}, "Filters: dictionary should have at most 20 items"),
        ({"q": "a" * 600}, "A query has at most 500 characters"),
        ({"q": "a" * 5000}, "Query: string should have at most 1000 characters"),
        ({"f.brand": EVIL * 20}, "A filter has at most 500 characters"),
    ],
)
def test_what_cannot_be_understood_is_an_error_page(client, params, message):
    page = read(client.get("/", params={"q": "shoes"} | params), 400)
    assert message in page.text


def test_more_results_are_a_link_until_there_are_no_more(client):
    page = read(client.get("/", params={"q": "shoes running hat"}))
    assert page.all("a", href="/?q=shoes+running+hat&k=20")
    assert len(read(client.get("/", params={"q": "shoes", "k": "20"})).all("li", **{"class": "result"})) > 10
    assert SearchAddress.of([("q", "a"), ("k", "90")], k=10, most=25).longer().k == 25
    for k in ("0", "-1", "9" * 30, "ten", "²"):
        assert read(client.get("/", params={"q": "shoes", "k": k}))


def test_what_limits_ignored_of_a_query_is_said(client):
    """In the words of the API; both paths show it, and a query that is searched for whole says nothing."""
    query = " ".join(f"w{number}" for number in range(70)) + " red"
    said = client.post("/search", json={"query": query}).json()["cut"]
    assert said
    for path in ("/", "/fragment"):
        text = read(client.get(path, params={"q": query})).text
        assert "Not all of this query was searched for: " + "; ".join(said) + "." in text
    assert "Not all of this query" not in client.get("/", params={"q": "red shoes"}).text


def test_a_corrected_query_is_said(client):
    for path in ("/", "/fragment"):
        page = read(client.get(path, params={"q": "grean hat"}))
        assert page.text.count("Showing results for") == 1
        assert "green hat" in page.text
    assert "Showing results for" not in client.get("/", params={"q": "green hat"}).text


def test_the_end_of_a_list_is_said(tmp_path):
    with client_of(tmp_path, k=2, limits=Limits(rate=0.0, k=3)) as (client, _):
        assert "The list ends here" not in client.get("/", params={"q": "hat"}).text
        last = read(client.get("/", params={"q": "hat", "k": "3"})).text
        assert "The list ends here, with the first 3 of " in last


def test_filters_alone_browse(client):
    page = read(client.get("/", params={"f.brand": "Hare"}))
    assert len(page.all("li", **{"class": "result"})) == 10
    assert page.all("a", href="/?q=&f.brand=Hare&k=20")
    none = read(client.get("/", params={"f.brand": "Nobody"}))
    assert "Nothing found" in none.text


def test_nothing_found_says_what_to_do(client):
    page = read(client.get("/", params={"q": "zzzqqqq", "f.brand": "Hare"}))
    assert "Nothing found for “zzzqqqq”" in page.text
    assert page.all("a", href="/?q=zzzqqqq")
    assert "hidden" not in page.all("details", **{"class": "facets"})[0], "filters can be taken away"
    alone = read(client.get("/", params={"q": "zzzqqqq"}))
    assert "hidden" in alone.all("details", **{"class": "facets"})[0], "there is nothing to filter"


@pytest.mark.parametrize(
    "path", ["/?q={}", "/fragment?q={}", "/?q=hat&f.brand={}", "/compare?q={}", "/?q=hat&{}=1"]
)
def test_what_a_person_types_stays_text(client, path):
    client.post("/login", data={"token": TOKEN})
    page = read(client.get(path.format(urlencode({"": EVIL})[1:])))
    assert "49" not in re.findall(r"'(\d+)$", page.text)


def test_what_documents_and_models_are_called_stays_text(client, service):
    assert '<script>alert("title")</script> shoes' in read(client.get("/", params={"q": "title shoes"})).text
    assert read(client.get("/document/5")).all("h1")
    version = another(service)
    service.registry.note(version, {"name": EVIL, "report": f"{EVIL}.html"})
    client.post("/login", data={"token": TOKEN})
    for path in ("/compare?q=hat", f"/compare?q=hat&a={version}&b=v1"):
        assert EVIL[:20] in read(client.get(path)).text


def test_the_reasons_are_those_of_explain(client, service):
    found = service.explain("red shoes", "0")
    page = read(client.get("/why", params={"q": "red shoes", "document": "0"}))
    assert "Why red running shoes is here" in page.text
    largest = found.features[0]
    assert f"{largest.name} " in page.text
    assert f"{largest.share:+.3f}" in page.text
    widths = [float(one["width"]) for one in page.all("rect")]
    assert widths[0] == max(widths) == pytest.approx(100, abs=0.01)
    assert len(page.all("tr")) == 1 + len(found.words)
    piece = client.get("/why", params={"q": "red shoes", "document": "0", "fragment": "1"})
    assert "<html" not in read(piece).tags
    assert read(client.get("/why", params={"q": "red", "document": "nowhere"}), 404)
    other = {"q": "red", "document": "0", "version": "v99"}
    assert read(client.get("/why", params=other), 403)
    client.post("/login", data={"token": TOKEN})
    assert read(client.get("/why", params=other), 400)


def test_the_reasons_tell_why_another_is_above(client, service):
    page = read(client.get("/", params={"q": "red running shoes"}))
    links = [one["href"] for one in page.all("a") if "data-why" in one]
    assert "above=" not in links[0]
    assert all("above=" in link for link in links[1:])
    found = service.explain("red running shoes", "2", "0")
    text = read(client.get("/why", params={"q": "red running shoes", "document": "2", "above": "0"})).text
    apart = found.against["above"]["score"] - found.against["below"]["score"]
    assert f"red running shoes is above it by {apart:.3g}" in text
    assert f"{found.against['features'][0]['share']:+.3f}" in text
    assert ("would reach the score of" in text) == bool(found.against["changes"])
    text = read(client.get("/why", params={"q": "red running shoes", "document": "0", "above": "2"})).text
    assert f"It is above red hat by {apart:.3g}" in text


def test_two_rankers_side_by_side_are_not_recorded(client, service):
    version = another(service, **{"value(price)": 1.0})
    client.post("/login", data={"token": TOKEN})
    page = read(client.get("/compare", params={"q": "blue hat", "a": "v1", "b": version}))
    order = [one["data-document"] for one in page.all("li") if "data-document" in one]
    left, right = order[:10], order[10:]
    assert right == sorted(right, key=int, reverse=True) != left
    gone = len(set(left) - set(right))
    assert page.text.count("gone") == page.text.count("new") == gone
    assert f"{10 - gone} of 10 on both pages" in page.text
    assert read(client.get("/compare", params={"q": "hat", "a": "v99"}), 400)
    assert "Type a search" in read(client.get("/compare")).text
    assert pages_of(service, "blue hat") == []


def test_a_document_has_a_page_and_no_link_that_runs(client):
    page = read(client.get("/document/0"))
    assert "javascript:alert(1)" in page.text
    assert not page.all("a", href="javascript:alert(1)")
    assert read(client.get("/document/1")).all("a", href="https://shop.example/1")
    assert "90.0" not in read(client.get("/document/9")).text, "a whole number is written as one"
    assert read(client.get("/document/..%2f..%2fetc%2fpasswd"), 404)


def test_the_dashboard_opens_with_the_token_only(client):
    assert "administration token" in read(client.get("/dashboard"), 401).text
    assert read(client.get("/judge/export"), 403)
    assert "This is not the token" in read(client.post("/login", data={"token": "guess"}), 403).text
    opened = client.post("/login", data={"token": TOKEN}, follow_redirects=False)
    assert re.search(
        r"rankloop_admin=\S+; HttpOnly; Max-Age=43200; Path=/; SameSite=strict", opened.headers["set-cookie"]
    )
    assert TOKEN not in opened.headers["set-cookie"]
    assert "Pages shown" in read(client.get("/dashboard")).text
    assert client.get("/judge/export").headers["content-type"].startswith("text/plain")
    cookie = client.cookies["rankloop_admin"]
    client.cookies.clear()
    client.cookies["rankloop_admin"] = cookie[:-2] + ("A" if cookie[-2] != "A" else "B") + cookie[-1]
    assert read(client.get("/dashboard"), 401)
    shown = read(client.get("/", params={"q": "red hat"})).all("div", **{"class": "results"})
    impression = shown[0]["data-impression"]
    client.cookies["rankloop_admin"] = impression
    assert read(client.get("/dashboard"), 401), "a signature for another purpose"
    assert client.post("/logout", follow_redirects=False).status_code == 303


@pytest.mark.parametrize(
    ("back", "place"),
    [
        ("/judge?set=head&q=red hat", "/judge?set=head&q=red%20hat"),
        ("/loop", "/loop"),
        ("", "/dashboard"),
        ("loop", "/dashboard"),
        ("//elsewhere.example/", "/dashboard"),
        ("/\\elsewhere.example/", "/dashboard"),
        ("/\t/elsewhere.example/", "/dashboard"),
        ("https://elsewhere.example/", "/dashboard"),
        ("/login", "/dashboard"),
    ],
)
def test_a_login_leads_back_within_the_service_alone(client, back, place):
    client.cookies.clear()
    opened = client.post("/login", data={"token": TOKEN, "back": back}, follow_redirects=False)
    assert (opened.status_code, opened.headers["location"]) == (303, place)
    client.post("/logout")


def test_the_form_for_the_token_knows_where_it_was_asked_for(client):
    client.cookies.clear()
    for path, back in (
        ("/judge?set=head&q=red%20hat", "/judge?set=head&q=red%20hat"),
        ("/login?back=%2Floop%3Fa%3D1", "/loop?a=1"),
        ("/login?back=https%3A%2F%2Felsewhere.example", ""),
    ):
        form = client.get(path)
        assert read(form, form.status_code).all("input", name="back")[0]["value"] == back


def test_the_dashboard_tells_about_all_that_was_asked_for(client, service):
    version = another(service, **{"value(price)": 1.0})
    curve = {"values": [1.0, 0.5], "low": [1.0, 0.4], "high": [1.0, 0.6]}
    service.registry.note(
        version, {"propensity": curve, "metrics": {"ndcg@10": [0.5, 0.4, 0.6]}, "name": EVIL}
    )
    experiment = service.experiments.start("v1", version, kind="interleave")
    service.versions.reload()
    client.get("/", params={"q": "hat to run in"})
    wait_until(lambda: service.store.credits(experiment.id))
    client.post("/login", data={"token": TOKEN})
    page = read(client.get("/dashboard", params={"days": "7"}))
    service.experiments.end(experiment.id)
    service.versions.reload()
    for heading in (
        "Clicks by position",
        "Examination by rank",
        "Versions over time",
        "Metrics by version",
        "Experiments",
        "Queries that fail",
        "Slow queries",
        "Feature importance",
        "Drift",
    ):
        assert heading in page.text
    assert f"v1 against {version}" in page.text
    assert page.all("svg", role="img")
    assert page.all("link", href="/static/figures.css")
    labels = [
        given.get("aria-label") or given.get("aria-labelledby")
        for _, given in page.tags
        if given.get("role") == "group"
    ]
    assert all(labels)


def test_versions_and_experiments_are_changed_with_the_token_only(client, service):
    version = another(service)
    start = {"a": "v1", "b": version, "kind": "ab", "share": "40"}
    changes = {"promote": {"version": version}, "experiments": start, "experiments/end": {"experiment": "x"}}
    for path, fields in changes.items():
        assert read(client.post(f"/dashboard/{path}", data=fields), 403)
    assert service.versions.live.roles.production == "v1"
    client.post("/login", data={"token": TOKEN})
    for path, fields in changes.items():
        assert read(client.post(f"/dashboard/{path}", data=fields), 403), "without the token of its form"
    ours = {"form_token": read(client.get("/dashboard")).all("input", name="form_token")[0]["value"]}
    start |= ours
    changed = client.post("/dashboard/promote", data={"version": version} | ours, follow_redirects=False)
    assert changed.status_code == 303
    assert service.versions.live.roles.production == version
    page = read(client.get("/dashboard"))
    assert page.all("a", href="/dashboard/promote?version=v1")
    assert not page.all("button", name="version", value=version)
    client.post("/dashboard/promote", data={"version": "v1"} | ours)
    assert service.versions.live.roles.production == "v1"
    client.post("/dashboard/experiments", data=start)
    [running] = service.experiments.running()
    assert (running.a, running.b, running.kind, running.share) == ("v1", version, "ab", 0.4)
    page = read(client.get("/dashboard"))
    assert page.all("input", name="share", value="10"), "experiments start small"
    client.post("/dashboard/experiments/end", data={"experiment": running.id} | ours)
    assert service.experiments.running() == ()
    for wrong in (
        {"share": "0"},
        {"share": "many"},
        {"share": "9" * 12},
        {"b": "v1"},
        {"b": "v99"},
        {"kind": "x"},
    ):
        assert read(client.post("/dashboard/experiments", data=start | wrong), 400)
    assert read(client.post("/dashboard/promote", data={"version": "v99"} | ours), 400)
    assert read(client.post("/dashboard/experiments/end", data={"experiment": "x"} | ours), 404)


def test_reports_are_read_from_their_folder_only(client, service):
    folder = service.config.home / "reports"
    folder.mkdir(exist_ok=True)
    (folder / "one.html").write_text("<p>learned</p>")
    assert read(client.get("/reports/one.html"), 403)
    client.post("/login", data={"token": TOKEN})
    assert client.get("/reports/one.html").text == "<p>learned</p>"
    assert "script" not in client.get("/reports/one.html").headers["content-security-policy"]
    for name in ("two.html", "..%2fsecret", "%2e%2e/secret", ".html", "one.html%00"):
        assert client.get(f"/reports/{name}").status_code == 404


def test_an_open_dashboard_and_one_that_is_off(tmp_path):
    with client_of(tmp_path, admin_token="") as (client, _):
        assert "Administration is off" in read(client.get("/dashboard"), 401).text
        assert read(client.post("/login", data={"token": ""}), 403)
    with client_of(tmp_path, admin_token="", open_dashboard=True) as (client, _):
        page = read(client.get("/dashboard"))
        assert "No page was shown yet" in page.text
        assert not page.all("form", action="/logout")
        assert not page.all("form", action="/dashboard/promote")
        assert read(client.post("/dashboard/promote", data={"version": "v1"}), 403)


def test_searching_goes_on_while_the_database_is_away(client, service, monkeypatch):
    from rankloop.serve.events.store import Store, StoreAway

    def away(*given, **named):
        raise StoreAway("the database does not answer; what was recorded waits on disk")

    client.post("/login", data={"token": TOKEN})
    monkeypatch.setattr(Store, "daily", away)
    assert "The database does not answer" in read(client.get("/dashboard"), 503).text
    assert read(client.get("/", params={"q": "hat"})).all("li", **{"class": "result"})


def test_files_are_kept_by_the_browser(client):
    first = client.get("/static/page.css")
    assert first.headers["content-type"].startswith("text/css")
    assert client.get("/static/page.css", headers={"if-none-match": first.headers["etag"]}).status_code == 304
    assert client.get("/static/figures.css").text.startswith(".rl-svg")
    for name in ("nothing.css", "..%2froutes.py", "%2e%2e/routes.py"):
        assert client.get(f"/static/{name}").status_code == 404


@given(
    st.text(max_size=20),
    st.lists(st.tuples(st.sampled_from(["brand", "price"]), st.text(min_size=1, max_size=8)), max_size=4),
    st.integers(1, 100),
)
def test_an_address_says_what_was_asked(query, filters, k):
    from urllib.parse import parse_qsl

    address = SearchAddress.of(
        [("q", query), *((f"f.{name}", value) for name, value in filters), ("k", str(k))], k=10
    )
    assert SearchAddress.of(parse_qsl(address.href[2:], keep_blank_values=True), k=10) == address
    if filters:
        assert len(address.toggled(*filters[0]).chosen) == len(address.chosen) - 1


@pytest.mark.parametrize("ranker", [RankSVM(), PointwiseRanker(KNeighborsRegressor(3))])
def test_the_feature_that_moves_scores_is_seen(ranker):
    """One ranker whose shares are exact, and one whose shares are drawn at random."""
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3)).astype(np.float32)
    ranker.fit(X, np.digitize(X[:, 1], [-1, 0, 1]), qid=np.repeat(np.arange(12), 10))
    size = _contribution(ranker, np.split(X, 12), ("a", "b", "c"))
    assert size.argmax() == 1
    assert size[1] > 2 * size[[0, 2]].max()


@pytest.mark.parametrize(
    ("title", "snippet", "shown"),
    [
        ("cgi.print_directory", "cgi print_<mark>directory</mark> print", ""),
        ("Red hat", "A hat &amp; more", "A hat &amp; more"),
        ("Red hat", "", ""),
    ],
)
def test_a_snippet_that_says_the_title_again_is_left_out(title, snippet, shown):
    assert _passage(Result(position=1, id="a", score=0.0, title=title, snippet=snippet)) == shown


def day(number, ranker="v1", pages=100, clicked=50, first=20):
    return DaySum(86_400.0 * number, ranker, pages, clicked, clicked, first, 0.3, 0.01, pages, 0)


def test_shares_that_changed_have_the_p_value_by_hand():
    clicked, first, empty = changed_shares([day(number) for number in range(8)], day(9, clicked=20))
    # t = 0.3 / sqrt(0.46667 * 0.53333 * (1/800 + 1/100)) = 5.669 with 7 degrees of freedom; three shares
    assert clicked.p_value == pytest.approx(3 * 7.62e-04, rel=1e-2)
    assert (clicked.before, clicked.lately) == ("50.0 %", "20.0 %")
    assert first.p_value == empty.p_value == 1.0


def test_days_that_differ_anyway_raise_no_alarm():
    """40 and 60 clicked pages of 100 in turn: twice the spread of chance, so 20 is half as far away."""
    uneven = [day(number, clicked=40 + 20 * (number % 2)) for number in range(8)]
    clicked = changed_shares(uneven, day(9, clicked=20))[0]
    # the spread between days is sqrt(8 * 4 / 7) = 2.138 times that of chance
    assert clicked.p_value == pytest.approx(3 * 2 * student.sf(5.669 / 2.138, 7), rel=1e-2)
    assert changed_shares([day(1)], day(2, clicked=0))[0].p_value == 1.0, "two days alone show nothing"


def test_the_feature_that_changed_comes_first_and_the_others_are_chance():
    random = np.random.default_rng(0)
    before = [random.normal(size=(10, 4)).astype(np.float32) for _ in range(100)]
    lately = [random.normal(size=(10, 4)).astype(np.float32) for _ in range(100)]
    for page in lately:
        page[:, 2] += 1
        page[:, 3] = np.nan
    moved, *others = changed_features("abcd", before, lately)
    assert moved.name == "c"
    assert moved.p_value < 1e-9
    assert len(others) == 2, "what no page has lately cannot be compared"
    assert min(one.p_value for one in others) > 0.01
    assert changed_features("abcd", before, []) == []


def test_drift_compares_a_version_with_itself(tmp_path):
    """v1 served for nine days; what another version did, or half a day, is no drift."""
    with serving(tmp_path, swap_rate=0.0) as service:
        today = 86_400.0 * (time.time() // 86_400 - 1)  # the last day that is over
        shown = service.search(SearchRequest(query="red shoes"))
        wait_until(lambda: service.recorder.spool.waiting == 0)
        one = service.store.page(shown.impression.split(".")[0])

        def put(when, number, *, ranker, clicked):
            made = [
                replace(one, page_id=secrets.token_hex(16), time=when + at, ranker=ranker)
                for at in range(number)
            ]
            service.store.put_pages(made)
            clicks = [Event("c", page.page_id, "click", page.documents[0], time=page.time) for page in made]
            service.store.put_events(clicks[:clicked])

        for number in range(8):
            put(today - 43_200 - 86_400 * number, 100, ranker="v1", clicked=50)
        put(today - 43_200, 300, ranker="v2", clicked=300)
        put(today, 100, ranker="v1", clicked=50)
        put(today + 86_401, 50, ranker="v1", clicked=0)  # of a day that still runs
        since = today - 8 * 86_400
        panel = drift(service, service.store.daily(since=since), since)
        assert not panel.alarm
        assert panel.rows[0][1].text == "50.0 %"
        assert any(row[0].text in service.searcher.features.names for row in panel.rows)
        put(today + 200, 400, ranker="v1", clicked=0)
        assert "Pages with a click" in drift(service, service.store.daily(since=since), since).alarm
        only = [row for row in service.store.daily(since=since) if row.day == today]
        assert drift(service, only, since).text == "This needs two whole days of pages of v1."


def test_versions_over_time_leave_out_days_of_few_pages():
    assert by_day([day(1), day(2, pages=3)], []).figure is None
    assert "interleaved" not in by_day([day(1), day(2)], []).text
    assert "share interleaved pages" in by_day([day(1), day(2, "v1 + v2")], []).text
    drawn = by_day([day(1), day(2), day(2, EVIL)], []).figure
    assert read_figure(drawn) == []


def read_figure(figure):
    return Read(str(figure)).forbidden
