"""The loop on one page: what is missing, what was learned, what changed, and learning at a button."""

import pytest

from rankloop.search import Deadline
from rankloop.search.index.lock import WriterLock
from rankloop.serve.config import Config, GateSettings
from rankloop.serve.desk.acts import past_acts
from rankloop.serve.learning.missing import Traffic, missing
from rankloop.serve.learning.record import LearningRun, begin, finish, note_stage
from rankloop.serve.learning.run import learn_once
from rankloop.serve.learning.what_changed import what_changed
from rankloop.serve.pages.rendering import signed
from rankloop.serve.service import Service
from serve.running import TOKEN, another, client_of, on_a_port, wait_until
from serve.test_learning import NOW, served, shop  # noqa: F401 - a fixture
from serve.test_pages import FIREFOX, read

CONFIG = Config(index="shop.index", gate=GateSettings(pages=1000))


def test_what_is_missing_is_counted():
    told = missing(CONFIG, Traffic(588, 300, 40, 60, 19), None)
    assert told == [
        "40 more clicks until something can be learned",
        "1 more query with a click until something can be learned",
        "412 more pages until the gate can open",
    ]
    assert missing(CONFIG, Traffic(5000, 300, 0, 900, 90), None) == [
        "no page was swapped yet: the bias curve needs some"
    ]
    assert missing(CONFIG, Traffic(5000, 300, 40, 900, 90), None) == []


def gate(gain, low, **record):
    reasons = ["the gain is not sure"]
    return LearningRun(
        "r",
        0.0,
        record={
            "gate": {"opens": False, "reasons": reasons},
            "best": "x",
            "candidates": {"x": {"gain": [gain, low, 1.0]}},
            "window": {"pages": 1000},
        },
    )


def test_the_pages_until_a_gain_is_sure_are_estimated():
    """By hand: a bound at -0.1 below a gain of 0.1 must come half as near: four times the pages."""
    enough = Traffic(5000, 300, 40, 900, 90)
    assert missing(CONFIG, enough, gate(0.1, -0.1)) == [
        "the gain is not sure",
        "about 3\N{NARROW NO-BREAK SPACE}000 more pages, if the gain stays as it is",
    ]
    assert missing(CONFIG, enough, gate(-0.1, -0.2)) == ["the gain is not sure"]


def test_an_empty_loop_says_what_it_waits_for(tmp_path):
    with client_of(tmp_path) as (client, _):
        assert read(client.get("/loop"), 401)
        client.post("/login", data={"token": TOKEN})
        text = read(client.get("/loop")).text
        assert "100 more clicks until something can be learned" in text
        assert "20 more queries with a click until" in text
        assert "1\N{NARROW NO-BREAK SPACE}000 more pages until the gate can open" in text
        assert client.post("/loop/learn", data={}).status_code == 403


def test_what_was_learned_before_the_service_began_is_shown(tmp_path):
    """As in the demo: the curve and the gains are in the lineage of its versions, no run is in the store."""
    with client_of(tmp_path) as (client, service):
        client.post("/login", data={"token": TOKEN})
        empty = read(client.get("/loop"))
        assert "nothing yet" in empty.text
        assert not empty.all("svg", role="img")
        curve = {"values": [1.0, 0.5], "low": [1.0, 0.4], "high": [1.0, 0.6]}
        service.registry.note(another(service), {"name": "naive", "gain": [0.02, -0.01, 0.05]})
        about = {"name": "unbiased", "gain": [0.1, 0.05, 0.15], "propensity": curve}
        service.registry.note(another(service), about)
        page = read(client.get("/loop"))
        assert "before this service began" in page.text
        assert "What each ranking gains over the one that served" in page.text
        assert "v2 naive" in page.text
        assert "v3 unbiased" in page.text
        assert page.all("svg", role="img")
        assert "A click on a rank that is seen half as often counts twice" in page.text


@pytest.fixture(scope="module")
def learned(shop, tmp_path_factory):  # noqa: F811
    """A service that learned from what people did."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankloop.serve.learning.candidates.TREES", 20)
        patch.setattr("rankloop.serve.learning.candidates.JUDGE", 20)
        folder = tmp_path_factory.mktemp("learned")
        config = served(shop, folder, {"bm25(title)": 1.0}, pages=3000, admin_token=TOKEN)
        with Service.open(config) as service:
            run = learn_once(service, now=NOW)
            assert run.state == "promoted", run
            service.versions.reload()
            with on_a_port(service) as client:
                client.headers["user-agent"] = FIREFOX
                client.post("/login", data={"token": TOKEN})
                yield client, service, run


def test_what_changed_shows_the_clicks_and_their_weight(learned):
    _, service, run = learned
    changed = what_changed(service, run, Deadline(30))
    assert 0 < len(changed) <= 5
    for one in changed:
        assert one.before != one.after
        assert one.after[one.ranks[1] - 1] == one.risen if one.ranks[1] <= 5 else True
        assert one.ranks[0] is None or one.ranks[1] < one.ranks[0], "it rose"
        assert sum(voice.shown for voice in one.voices) > 0
        for voice in one.voices:
            assert voice.clicks <= voice.shown
    curve = next(iter(run.record["curves"].values()))["values"]
    voice = changed[0].voices[0]
    assert voice.weight == pytest.approx(1 / curve[voice.rank - 1])


def test_the_page_tells_the_story(learned):
    client, _, run = learned
    page = read(client.get("/loop"))
    for words in (
        "Shown",
        "Clicked",
        "3\N{NARROW NO-BREAK SPACE}000",
        "What changed with v2",
        "Before",
        "After",
    ):
        assert words in page.text
    gain, low, _ = run.record["candidates"][run.record["best"]]["gain"]
    assert f"v2 gains {signed(gain)} over v1 by clicks, at least {signed(low)}" in page.text
    assert page.all("a", href=f"/reports/{run.report}")
    assert "unbiased" in page.text
    assert "each worth" in page.text
    assert len(page.all("svg")) >= 2


def test_the_page_before_learning_is_a_preview(learned):
    client, service, _ = learned
    now = read(client.get("/", params={"q": "topic7"}))
    assert now.all("a", href="/?q=topic7&before=1")
    client.cookies.delete("rankloop_user")
    wait_until(lambda: service.recorder.spool.waiting == 0)
    pages = service.store.click_frame(include_bots=True)["session"].n_unique()
    before = client.get("/", params={"q": "topic7", "before": "1"})
    then = read(before)
    assert "rankloop_user" not in before.headers.get("set-cookie", "")
    order = [[one["data-document"] for one in page.all("li", **{"class": "result"})] for page in (now, then)]
    assert order[1] == [str(id) for id in service.rankings.top("v1", "topic7")]
    assert order[0] != order[1]
    assert then.all("div", **{"class": "results"})[0]["data-impression"] == ""
    wait_until(lambda: service.recorder.spool.waiting == 0)
    assert service.store.click_frame(include_bots=True)["session"].n_unique() == pages
    client.cookies.clear()
    assert not read(client.get("/", params={"q": "topic7"})).all("a", href="/?q=topic7&before=1")
    client.post("/login", data={"token": TOKEN})


def test_what_is_typed_shows_the_same_as_an_address(learned):
    """Results that replace others while somebody types lead to the order before learning, and to pins."""
    client, _, _ = learned
    client.post("/login", data={"token": TOKEN})
    typed = read(client.get("/fragment", params={"q": "topic7", "settled": "1"}))
    assert typed.all("a", href="/?q=topic7&before=1")
    assert "pin or hide" in typed.text
    assert "pin or hide" not in read(client.get("/fragment", params={"q": "topic7"})).text, (
        "not with each key"
    )
    client.cookies.clear()
    stranger = read(client.get("/fragment", params={"q": "topic7", "settled": "1"}))
    assert not stranger.all("a", href="/?q=topic7&before=1")
    assert "pin or hide" not in stranger.text
    client.post("/login", data={"token": TOKEN})


def test_learn_now_starts_one_run_and_says_how_it_goes(learned, monkeypatch):
    client, service, _ = learned
    slow = "import sys, time; sys.stdin.readline(); time.sleep(2); raise SystemExit('no luck today')"
    monkeypatch.setattr("rankloop.serve.learning.process._PROGRAM", slow)
    [token] = {one["value"] for one in read(client.get("/loop")).all("input", name="form_token")}
    assert client.post("/loop/learn", data={"form_token": token}).headers["location"] == "/loop"
    page = read(client.get("/loop"))
    assert "Learning: starting" in page.text
    assert page.all("meta", **{"http-equiv": "refresh"})
    assert not page.all("form", action="/loop/learn"), "one at a time"
    assert not service.learn_now.start()
    wait_until(lambda: not service.learn_now.running)
    assert "learning failed: no luck today" in read(client.get("/loop")).text
    assert (past_acts(service.store)[0].who, past_acts(service.store)[0].act) == ("admin", "learn now")


def test_learning_that_is_under_way_is_no_failure(learned):
    """Enough clicks began a run, and somebody presses the button before the page says so."""
    client, service, _ = learned
    lock = WriterLock(service.config.home / "learning.lock")
    lock.acquire()
    try:
        assert service.learn_now.start()
        wait_until(lambda: not service.learn_now.running, 200)  # it starts a process, on a busy machine
    finally:
        lock.release()
    assert service.learn_now.message == ""
    assert "failed" not in read(client.get("/loop")).text


def test_a_run_says_what_it_does(learned):
    client, service, _ = learned
    run = begin(service.store, NOW + 10)
    note_stage(service.store, run, "reading clicks")
    assert "Learning: reading clicks" in read(client.get("/loop")).text
    finish(service.store, run, NOW + 20, state="too little", record={"message": "too few clicks"})
    note_stage(service.store, run, "late")
    assert "Learning:" not in read(client.get("/loop")).text
    assert "too few clicks" in read(client.get("/loop")).text


@pytest.mark.slow
def test_learn_now_learns(shop, tmp_path, monkeypatch):  # noqa: F811
    from rankloop.serve.learning import process

    small = "from rankloop.serve.learning import candidates as some; some.TREES = some.JUDGE = 20; "
    monkeypatch.setattr(process, "_PROGRAM", small + process._PROGRAM)
    config = served(shop, tmp_path, {"bm25(title)": 1.0}, pages=1500, admin_token=TOKEN)
    with Service.open(config) as service:
        assert service.learn_now.start()
        wait_until(lambda: not service.learn_now.running, 200)
        assert service.learn_now.message == ""
        assert [one.version for one in service.registry.versions()] == ["v1", "v2"]
