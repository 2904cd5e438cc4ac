"""The dashboard: one colour per version, promotions on the timeline, what is behind a number, warnings."""

import re
import time

import pytest

from rankloop.report import metric_intervals, over_time, preference
from rankloop.serve.desk.acts import Act, note_act, past_acts
from rankloop.serve.events.behind import behind
from rankloop.serve.events.desk_tables import learners
from rankloop.serve.events.sums import DaySum
from rankloop.serve.learning.record import LearningRun
from rankloop.serve.models.registry import Version
from rankloop.serve.online.register import register_learner
from rankloop.serve.online.settings import OnlineSettings
from rankloop.serve.pages.colours import colour_class, colours_of, series_of
from rankloop.serve.pages.evidence import learning, versions
from rankloop.serve.pages.traffic import by_day
from serve.conftest import make_click, make_page
from serve.running import TOKEN, another, client_of
from serve.test_pages import read

DAY = 86_400.0


def day(number, ranker, pages=100, clicked=50):
    return DaySum(number * DAY, ranker, pages, clicked, clicked, clicked, 0.5, 0.01, pages, 0)


def test_a_version_has_its_colour_everywhere():
    assert [series_of(one) for one in ("v1", "v2", "v7")] == [0, 1, 0]
    assert series_of("v2 + v1") % 6 == series_of("v2")
    assert colour_class("v2") == colour_class("v2 + v9") == "s2"
    for odd in ("", "v", "v0", "v-1", "v²", "sort price", "v" + "9" * 30):
        assert colour_class(odd) in {f"s{one}" for one in range(1, 7)}
    names = ["v3", "v2"]
    times = ["2026-01-01", "2026-01-02"]
    drawn = over_time({one: (times, [0.1, 0.2]) for one in names}, colours=colours_of(names)).inline(500)
    assert "l-s3" in drawn
    assert "l-s2" in drawn
    assert "l-s1" not in drawn
    dots = metric_intervals(
        {one: {"ndcg": (0.3, 0.2, 0.4)} for one in names}, colours=colours_of(names)
    ).inline(500)
    assert "s3" in dots
    assert "s1" not in re.findall(r'class="(s\d)"', dots)
    duel = {"first": "v3", "second": "v2", "wins": 5, "losses": 4, "ties": 1}
    bars = preference(duel, colours=colours_of(names)).inline(500)
    assert re.findall(r'class="(s\d)', bars) == ["s3", "s2"]


def test_promotions_are_on_the_timeline_and_values_on_hover():
    rows = [day(number, "v1") for number in range(10, 14)] + [day(number, "v2") for number in range(12, 14)]
    past = [
        Act(12 * DAY + 60, "ann", "promote", {"before": "v1", "after": "v2"}),
        Act(13 * DAY - 60, "alarm", "roll back", {"before": "v2", "after": "v1"}),
        Act(13 * DAY - 30, "ann", "query set", {"set": "head"}),
        Act(13 * DAY - 20, "ann", "promote", {"before": "v1", "after": "v1"}),
    ]
    figure = str(by_day(rows, past).figure)
    assert "v2 serves" in figure
    assert "v1 serves again" in figure
    assert figure.count("serves") < 20
    today = Act(13 * DAY + 3600, "ann", "promote", {"before": "v2", "after": "v3"})
    assert "v3 serves" in str(by_day(rows, [*past, today]).figure), "also after the last day began"
    assert "<title>v2, 1970-01-13" in figure, "a value on hover"


def test_versions_are_compared_on_the_same_days():
    known = [
        Version("v1", 0.0, {}, "", "production"),
        Version("v2", 0.0, {}, "", None),
        Version("v3", 0.0, {}, "", None),
    ]
    rows = [
        day(1, "v1", 100, 90),  # an easy day, on which v2 did not serve
        day(2, "v1", 100, 40),
        day(2, "v2", 100, 50),
        day(3, "v1", 300, 120),
        day(3, "v2", 100, 60),
        day(3, "v3", 4, 0),  # four pages tell nothing
    ]
    panel = versions(known, rows, 7, changing=False)
    cells = {row[0].text: row[6].text for row in panel.rows}
    # weights 50 and 75: (50 * 10 + 75 * 20) / 125
    assert cells == {"v1": "–", "v2": "+16.0 % on 2 days", "v3": "–"}


def test_warnings_of_learning_are_shown():
    run = LearningRun("r", 0.0, 1.0, "registered", "v2", None, {"warnings": ["the curve changed", "few."]})
    assert learning([run]).alarm == "The curve changed; few."
    assert learning([LearningRun("s", 2.0), run]).alarm == "The curve changed; few."
    assert (
        learning([LearningRun("s", 2.0, 3.0, "failed", record={"message": "no pages"}), run]).alarm
        == "No pages."
    )
    assert learning([]).alarm == ""


def test_what_is_behind_a_number(store):
    pages = [make_page("shoes", "abc", shown=1000.0 + one, ranker=f"v{1 + one % 2}") for one in range(6)]
    pages += [make_page("hat", "ab", shown=2000.0), make_page("hat", "ab", shown=2001.0, bot=True)]
    store.put_pages(pages)
    store.put_events([make_click(pages[0], "b"), make_click(pages[0], "c"), make_click(pages[1], "a")])
    every = behind(store)
    assert (every.pages, every.clicked) == (7, 2)
    assert every.queries == [("shoes", 6, 2), ("hat", 1, 0)]
    assert every.last[0].query == "hat"
    assert every.last[-1].clicked == (2, 3)
    assert every.last[-1].documents == ("a", "b", "c")
    assert behind(store, ranker="v2").pages == 3
    assert behind(store, query="hat").pages == 1
    assert behind(store, clicked=False).pages == 5
    assert behind(store, clicked=True, ranker="v1").pages == 1
    assert behind(store, position=3).queries == [("shoes", 1, 1)]
    assert behind(store, since=1500.0).pages == 1
    assert behind(store, query="").pages == 0


def test_acts_of_a_window(store):
    note_act(store, "ann", "promote", before="v1", after="v2")
    assert len(past_acts(store, since=time.time() - 60)) == 1
    assert past_acts(store, since=time.time() + 60) == []


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    with client_of(
        tmp_path_factory.mktemp("dashboard"),
        examples=("running shoes", "red hat", "green hat", "shoe polish"),
    ) as found:
        client, service = found
        another(service)
        client.post("/login", data={"token": TOKEN})
        shown = [make_page("shoes", "abc", shown=time.time() - 100, ranker="v1") for _ in range(3)]
        service.store.put_pages(shown)
        service.store.put_events([make_click(shown[0], "b")])
        yield client, service


def test_panels_with_a_sentence_alone_stand_last(desk):
    client, _ = desk
    parts = [
        one["class"].split()
        for one in read(client.get("/dashboard")).all("section")
        if "panel" in one["class"]
    ]
    bare = ["bare" in one for one in parts]
    assert any(bare)
    assert bare == sorted(bare)
    assert not any("broad" in one for one, alone in zip(parts, bare, strict=True) if alone)


def test_numbers_lead_to_their_pages(desk):
    client, _ = desk
    page = client.get("/dashboard?days=7").text
    for href in (
        "/dashboard/pages?days=7",
        "/dashboard/pages?days=7&amp;clicked=1",
        "/dashboard/pages?days=7&amp;version=v1",
        "/dashboard/pages?days=7&amp;position=2",
        "/dashboard/pages?days=7&amp;q=shoes&amp;clicked=0",
    ):
        assert f'href="{href}"' in page, href
    assert 'class="swatch s1"' in page
    assert "data-refresh" in page
    found = client.get("/dashboard/pages?days=7&position=2").text
    assert "1 page" in found
    assert "clicked at rank 2" in found
    assert client.get("/dashboard/pages?days=x").status_code == 400
    assert client.get("/dashboard/pages?position=-1").status_code == 400
    client.cookies.clear()
    assert client.get("/dashboard/pages").status_code == 401
    client.post("/login", data={"token": TOKEN})


def form_token(client):
    return client.get("/dashboard").text.partition('name="form_token" value="')[2].partition('"')[0]


def test_a_learner_is_registered_from_the_page(desk):
    client, service = desk
    fields = {
        "form_token": form_token(client),
        "learner": "thompson",
        "floor": "v1",
        "control": "10",
        "keep": "70",
    }
    wrong = client.post("/dashboard/online", data=fields)
    assert wrong.status_code == 400
    assert "A bandit chooses among two or more versions" in wrong.text
    assert '<option value="thompson" selected>' in wrong.text, "what was typed stays"
    assert client.post("/dashboard/online", data={**fields, "control": "99"}).status_code == 400
    made = client.post("/dashboard/online", data={**fields, "arm v2": "1"})
    assert made.status_code == 303
    version = made.headers["location"].rpartition("=")[2]
    assert service.registry.version(version).lineage["online"]["arms"] == ["v1", "v2"]
    page = client.get("/dashboard").text
    assert "thompson among v1, v2" in page
    assert "has not served yet" in page
    assert past_acts(service.store, 1)[0].act == "register"


def test_a_stopped_learner_is_a_warning(desk):
    client, service = desk
    settings = OnlineSettings("pdgd", "v1")
    version = register_learner(service.registry, service.index, service.config, settings)
    row = {"version": version, "run": 1, "number": 3, "state": '{"pages": 12}', "started": time.time()}
    with service.store.writing() as connection:
        connection.execute(
            learners.insert(), {**row, "time": 0.0, "stopped": time.time(), "reason": "fewer clicks"}
        )
    page = client.get("/dashboard").text
    assert f"{version}, which learns while it serves, was rolled back" in page
    assert "fewer clicks" in page
