"""Versions over a query set: by judgments, by clicks corrected for rank, on the page, kept, and in CI."""

import json
import math

import pytest
from typer.testing import CliRunner

from rankloop.cli import app
from rankloop.search import Deadline
from rankloop.serve.desk.click_values import click_values
from rankloop.serve.desk.live_scores import Score
from rankloop.serve.desk.query_sets import SetQuery, put_query_set, query_set
from rankloop.serve.desk.set_comparison import QueryChange, SetComparison, compare_over_set
from serve.running import TOKEN, another, client_of
from serve.test_pages import read

QUERIES = ("red hat", "running shoes", "polish", "green")


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    with client_of(folder, swap_rate=0.0) as (client, service):
        worse = another(service, **{"value(price)": -1.0})
        queries = [SetQuery(one) for one in QUERIES]
        put_query_set(service.store, "few", queries, author="admin", made="by hand")
        yield client, service, worse, folder


def compared(service, worse, name="few"):
    chosen = query_set(service.store, name)
    return compare_over_set(
        service.store, service.registry, service.rankings, chosen, "v1", worse, Deadline(30)
    )


def judge_as(service, version, query):
    """Grades by which a version is perfect."""
    for rank, document in enumerate(service.rankings.top(version, query)):
        service.store.put_judgment(query, document, float(max(3 - rank, 0)), "ann")


def log_in(client):
    client.cookies.clear()
    client.post("/login", data={"token": TOKEN})


def test_nothing_is_known_before_anybody_judges_or_clicks(desk):
    _, service, worse, _ = desk
    found = compared(service, worse)
    assert found.known == []
    assert (found.wins, found.losses, found.ties, found.waiting) == (0, 0, 0, 0)
    assert not found.judged.known
    assert not found.clicked.known
    done = CliRunner().invoke(app, ["compare", "v1", worse, "--queries", "few", "--service", config_of(desk)])
    assert done.exit_code == 2
    assert "nothing is known of these queries" in done.output


def config_of(desk):
    return str(desk[3] / "shop.index")


def test_clicks_are_corrected_for_rank(store, page, click):
    """By hand: a is clicked on 1 of 2 first ranks, b on 1 of 2 second ranks that are seen half as often."""
    shown = [page("hat", "ab", user=f"u{i}") for i in range(2)]
    store.put_pages(shown)
    store.put_events([click(shown[0], "a"), click(shown[1], "b")])
    naive = click_values(store, ["hat"], None)
    assert naive.attraction["hat"] == {"a": 0.5, "b": 0.5}
    fair = click_values(store, ["hat"], [1.0, 0.5])
    assert fair.attraction["hat"] == {"a": 0.5, "b": 1.0}
    assert fair.people == {"hat": 2}
    assert fair.ndcg("hat", ("b", "a"), 10) == 1.0
    assert fair.ndcg("hat", ("a", "b"), 10) == pytest.approx(
        (0.5 + 1 / 1.584962500721156) / (1 + 0.5 / 1.584962500721156)
    )
    assert fair.ndcg("hat", ("x",), 10) == 0.0
    assert fair.ndcg("hat", ("x", "b", "y", "a"), 10) == 1.0, "nothing is known of what was never shown"
    assert fair.ndcg("shoes", ("a",), 10) is None


def test_a_person_has_one_voice_and_crawlers_none(store, page, click):
    mine = [page("hat", "ab", user="ann", shown=1000.0 + i) for i in range(20)]
    store.put_pages([*mine, page("hat", "ba", user="bob"), page("hat", "ab", bot=True)])
    store.put_events([click(one, "a") for one in mine])
    found = click_values(store, ["hat", "shoes"], None)
    assert found.people == {"hat": 2}
    assert found.attraction["hat"] == {"a": 0.5, "b": 0.0}


def test_judged_queries_are_compared_by_judgments_the_others_by_clicks(desk, page, click):
    _, service, worse, _ = desk
    judge_as(service, "v1", "red hat")
    judge_as(service, "v1", "running shoes")
    top = service.rankings.top("v1", "polish")
    shown = [page("polish", top, user=f"u{i}") for i in range(5)]
    service.store.put_pages(shown)
    service.store.put_events([click(one, top[0]) for one in shown])
    found = compared(service, worse)
    assert [one.by for one in found.known].count("judgments") == 2
    assert found.count("clicks") == 1
    by_query = {one.query: one for one in found.changes}
    assert by_query["red hat"].change < 0
    assert (by_query["green"].change, by_query["green"].by) == (None, "")
    assert by_query["polish"].people == 5
    known = [one.change for one in found.known]
    assert known == sorted(known), "the largest loss comes first"
    assert found.wins + found.losses + found.ties == 3
    assert found.judged.low < found.judged.value < 0
    assert not found.corrected, "no curve was estimated"
    again = SetComparison.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.to_dict() == found.to_dict()


def test_new_documents_do_not_make_a_version_lose_by_clicks(desk, page, click):
    """People saw the last ten of 16 and liked the best of them; a new version begins with the other six."""
    _, service, worse, _ = desk
    put_query_set(service.store, "one", [SetQuery("shoes")], author="admin", made="by hand")
    new = service.rankings.top(worse, "shoes", 16)
    assert len(new) == 16
    seen = tuple(reversed(new[6:]))
    shown = [page("shoes", seen, user=f"p{i}") for i in range(5)]
    service.store.put_pages(shown)
    service.store.put_events([click(one, seen[-1]) for one in shown])
    [one] = compared(service, worse, "one").changes
    assert (one.by, one.b) == ("clicks", 1.0)
    assert one.share < 1


def test_ci_fails_where_a_version_loses(desk):
    _, _, worse, _ = desk
    service = ["--service", config_of(desk)]
    lost = CliRunner().invoke(
        app, ["compare", "v1", worse, "--queries", "few", "--max-loss", "0.01", *service]
    )
    assert lost.exit_code == 1, lost.output
    assert f"{worse} loses more than 0.01: NDCG@10 by judgments changes by -" in lost.output
    won = CliRunner().invoke(
        app, ["compare", worse, "v1", "--queries", "few@1", "--max-loss", "0.01", *service]
    )
    assert won.exit_code == 0, won.output
    assert f"v1 against {worse} on few@1: " in won.output
    told = CliRunner().invoke(app, ["compare", "v1", worse, "--queries", "few", "--json", *service])
    assert told.exit_code == 0
    assert json.loads(told.stdout)["losses"] >= 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["v1"], "compares two versions, as in v3 v4; got 1"),
        (["v1", "v77"], "unknown version 'v77'"),
        (["v1", "v1", "--max-loss", "7"], "from 0 to 1, got 7"),
        (["v1", "v1", "-m", "map"], "takes only --service, --max-loss and --json"),
        (["v1", "v1", "--out", "x.txt"], "takes only --service, --max-loss and --json"),
        (["v1", "v1", "--test", "t"], "takes only --service, --max-loss and --json"),
        (["v1", "v1", "--qrels", "qrels.txt"], "takes only --service, --max-loss and --json"),
    ],
)
def test_mistakes_in_ci_are_named(desk, words, message):
    done = CliRunner().invoke(app, ["compare", *words, "--queries", "few", "--service", config_of(desk)])
    assert done.exit_code != 0
    assert message in str(done.exception)


def test_without_a_service_it_says_what_to_give(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["compare", "v1", "v2", "--queries", "few"])
    assert "--service shop.toml (0 were found here)" in str(done.exception)
    for name in ("shop.serve", "shop.index"):
        (tmp_path / name).mkdir()
    (tmp_path / "shop.toml").write_text('index = "nothing.index"')  # it counts before the index beside it
    done = CliRunner().invoke(app, ["compare", "v1", "v2", "--queries", "few"])
    assert "nothing.index" in str(done.exception)
    assert CliRunner().invoke(app, ["compare", "a", "b"]).exit_code == 2


def test_the_page_shows_it_and_keeps_a_snapshot(desk):
    client, service, worse, _ = desk
    client.cookies.clear()
    assert read(client.get("/compare", params={"set": "few"}), 401)
    log_in(client)
    page = read(client.get("/compare", params={"set": "few", "a": "v1", "b": worse}))
    assert f"{worse} against v1 on few@1" in page.text
    assert "by judgments" in page.text
    [token] = {one["value"] for one in page.all("input", name="form_token")}
    fields = {"form_token": token, "set": "few@1", "a": "v1", "b": worse}
    where = client.post("/compare/snapshot", data=fields).headers["location"]
    kept = read(client.get(where)).text
    assert "Kept by admin" in kept
    before = compared(service, worse)
    judge_as(service, worse, "green")
    assert compared(service, worse).count("judgments") == before.count("judgments") + 1
    assert read(client.get(where)).text == kept, "a snapshot stays as it was"
    assert read(client.get("/compare/kept/nothing"), 404)


def test_losses_come_first_then_gains_and_the_unchanged_stay_folded(desk, monkeypatch):
    """A set of which a third did not change shows at once what did, as a picture and in two tables."""
    client, _, worse, _ = desk
    log_in(client)
    found = of_changes([-0.3, -0.1, 0.0, 0.0, 0.1, 0.4])
    assert [one.query for one in found.worse] == ["q0", "q1"]
    assert [one.query for one in found.better] == ["q5", "q4"]
    assert [one.query for one in found.rest] == ["q2", "q3"]
    monkeypatch.setattr("rankloop.serve.pages.comparison.compare_over_set", lambda *_: found)
    page = read(client.get("/compare", params={"set": "few", "a": "v1", "b": worse}))
    assert "Most gained: q5 (+0.400), q4 (+0.100). Most lost: q0 (-0.300)" in page.text
    assert [
        one.get("href", "").split("q=")[-1][:2] for one in page.all("a") if "&q=" in one.get("href", "")
    ] == ["q0", "q1", "q5", "q4", "q2", "q3"]
    assert "No change: 2 queries" in page.text
    assert "open" not in page.all("details")[0]


def of_changes(changes, by="judgments", low=-0.5, high=0.5):
    """A comparison whose queries change by these values."""
    rows = tuple(QueryChange(f"q{at}", 1.0, by, 0.5, 0.5 + one, 1.0, 3, 2) for at, one in enumerate(changes))
    known, nothing = Score(0.0, low, high), Score(math.nan, math.nan, math.nan)
    judged, clicked = (known, nothing) if by == "judgments" else (nothing, known)
    return SetComparison("few@1", "v1", "v2", 0.0, judged, clicked, True, 0, rows)


@pytest.mark.parametrize("by", ["judgments", "clicks"])
def test_a_change_that_few_queries_make_is_called_rough(by):
    every = of_changes([0.01 * (-1) ** at * (1 + at % 7) for at in range(60)], by)
    assert every.notes == []
    fourteen = of_changes([0.1, -0.1] * 7 + [0.0] * 200, by)
    assert fourteen.notes == [
        f"A few queries make most of the change by {by}: its interval is rough, and may be narrow."
    ]
    one_large = of_changes([0.001 * (-1) ** at for at in range(100)] + [0.9], by)
    assert len(one_large.notes) == 1
    endless = of_changes([0.1], by, low=-1.0, high=1.0)
    assert endless.notes == [], "it says that queries are too few already"
    assert fourteen.to_dict()["notes"] == fourteen.notes


def test_the_page_and_the_command_say_that_an_interval_is_rough(desk):
    client, service, worse, _ = desk
    [note] = [one for one in compared(service, worse).notes if "by judgments" in one]
    log_in(client)
    assert note in read(client.get("/compare", params={"set": "few", "a": "v1", "b": worse})).text
    told = CliRunner().invoke(app, ["compare", "v1", worse, "--queries", "few", "--service", config_of(desk)])
    assert note in told.output


def test_one_click_to_side_by_side_with_reasons(desk):
    client, _, worse, _ = desk
    log_in(client)
    page = read(client.get("/compare", params={"set": "few", "a": "v1", "b": worse}))
    link = next(one["href"] for one in page.all("a") if "q=red" in one["href"])
    sides = read(client.get(link))
    assert "What moved, and why" in sides.text
    assert "value(price)" in sides.text
    assert "all queries of few@1" in sides.text


def test_a_set_too_large_for_one_request_goes_on(desk, monkeypatch):
    client, service, worse, _ = desk
    log_in(client)
    names = [SetQuery(f"{one} {number}") for one in ("red", "hat", "shoes") for number in range(4)]
    put_query_set(service.store, "many", names, author="admin", made="by hand")
    monkeypatch.setattr("rankloop.serve.pages.comparison.RANKING", 1e-9)
    waiting = []
    for _ in range(len(names)):
        text = read(client.get("/compare", params={"set": "many", "a": "v1", "b": worse})).text
        waiting.append("queries are not ranked yet" in text)
        if not waiting[-1]:
            break
        service.rankings.tops(("v1", worse), [names[len(waiting)].query], Deadline(9))
    assert waiting[0]
    assert not waiting[-1]
