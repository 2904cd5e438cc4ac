"""Learning from a served log: a better ranking is promoted, a worse one is not, and a kill leaves no mess."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from propensity.test_people import crowded
from rankloop.clicks import ClickLog, World, simulate, user
from rankloop.data import RankingDataset
from rankloop.demo.people import put_people
from rankloop.rankers import FeatureSum
from rankloop.search import Features, Index, first
from rankloop.serve.config import Config, GateSettings
from rankloop.serve.events.shown_page import ShownPage
from rankloop.serve.events.store import Store
from rankloop.serve.http.schema import SearchRequest
from rankloop.serve.learning.candidates import Gain, train_candidates
from rankloop.serve.learning.gate import at_every_look, decide
from rankloop.serve.learning.record import UNDER_WAY, begin
from rankloop.serve.learning.run import learn_once, runs
from rankloop.serve.learning.window import curves_of
from rankloop.serve.models.registry import Registry
from rankloop.serve.service import Service
from serve.topics import graded_documents, searches

NOW = 1_700_000_000.0
FEATURES = ("bm25(title)", "covered(title)", "length(title)", "value(quality)", "value(noise)")
TOPICS = [f"topic{at}" for at in range(60)]


@pytest.fixture(autouse=True)
def small_forests(monkeypatch):
    monkeypatch.setattr("rankloop.serve.learning.candidates.TREES", 40)
    monkeypatch.setattr("rankloop.serve.learning.candidates.JUDGE", 30)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """An index in which quality is what people want, and words say nothing about it."""
    folder = tmp_path_factory.mktemp("shop")
    random = np.random.default_rng(0)
    index = Index.create(
        folder / "shop.index", fields={"title": "text", "quality": "number", "noise": "number"}
    )

    def title(topic):
        return " ".join([topic, *["filler"] * int(random.integers(0, 6))])

    index.add(graded_documents(random, TOPICS, 12, title))
    index.commit()
    return index


def grades(index, topic):
    quality = {f"{topic}-{at}": index[f"{topic}-{at}"]["quality"] for at in range(12)}
    return {id: int(np.digitize(value, [0.0, 0.7, 1.4])) for id, value in quality.items()}


def served(shop, folder, weights, *, pages=4000, rate=0.8, seed=0, **settings):
    """A service's folder after people have searched: one version in production, its pages in the store."""
    config = Config(index=shop.path, folder=folder, features=FEATURES, **settings)
    features = Features(FEATURES)
    ranker = FeatureSum(weights, features=FEATURES)
    search = shop.retriever(k=50) >> features >> ranker >> first(10)
    judged = {topic: grades(shop, topic) for topic in TOPICS}
    data = search.dataset({topic: topic for topic in TOPICS}, judged, among="retrieved")
    log = searches(data, ranker, pages, randomize="adjacent", rate=rate, seed=seed)
    with Store.open(config.database) as store:
        models = Registry(store, config.home / "models")
        models.promote(models.register(search, lineage={"made": "test"}))
        put_people(store, log, data, version="v1", now=NOW, seed=seed)
    return config


def roles_of(config):
    with Store.open(config.database) as store:
        return Registry(store, config.home / "models").roles()


def test_a_better_ranking_is_promoted_with_its_lineage(shop, tmp_path, database):
    config = served(shop, tmp_path, {"bm25(title)": 1.0}, database=database)
    run = learn_once(config, now=NOW)
    assert run.state == "promoted", run
    assert roles_of(config).production == run.version == "v2"
    assert roles_of(config).previous == "v1"
    with Store.open(config.database) as store:
        models = Registry(store, config.home / "models")
        lineage = models.version("v2").lineage
        ranked = models.load("v2", shop)("topic7")
        assert [repr(one) for one in runs(store)] == [repr(run)]
    assert lineage["window"]["pages"] == 4000
    assert lineage["gate"] == {"opens": True, "reasons": []}
    assert lineage["gain"][1] > 0
    assert lineage["propensity"]["low"][1] < 0.5 < lineage["propensity"]["high"][1]
    found = grades(shop, "topic7")
    assert max(found.values()) == found[ranked.ids[0]]
    page = (config.home / "reports" / run.report).read_text(encoding="utf-8")
    assert "2023-11-14 22:13 UTC" in page, "times are written for people"
    assert "pages of crawlers, left out" in page
    assert "naive weights" in run.record["candidates"]
    assert json.dumps(run.to_dict(), allow_nan=False)
    assert "registered as v2" in repr(run)


def test_a_running_service_swaps_to_what_was_learned(shop, tmp_path):
    config = served(shop, tmp_path, {"bm25(title)": 1.0})
    with Service.open(config) as service:
        request = SearchRequest(query="topic7")
        before = service.searcher.search(request, record=False)
        assert learn_once(service, now=NOW).state == "promoted"
        wait_until(lambda: service.versions.live.roles.production == "v2", 10)
        after = service.searcher.search(request, record=False)
    assert (before.ranker, after.ranker) == ("v1", "v2")
    worth = grades(shop, "topic7")
    assert worth[after.results[0].id] == max(worth.values())
    assert [one.id for one in before.results] != [one.id for one in after.results]


def test_nothing_is_learned_twice_from_the_same_clicks(shop, tmp_path):
    config = served(shop, tmp_path, {"bm25(title)": 1.0}, pages=1200)
    first_run = learn_once(config, now=NOW)
    assert learn_once(config, now=NOW + 1).state == "nothing new"
    with Store.open(config.database) as store:
        assert [run.id for run in runs(store)] == [first_run.id]
    assert learn_once(config, again=True, now=NOW + 2).state in ("registered", "promoted")


def test_candidates_of_another_engine_do_not_stop_learning(shop, tmp_path):
    """Pages of `POST /rank` with features of their own are recorded, and teach nothing about the index."""
    config = served(shop, tmp_path, {"bm25(title)": 1.0})
    with Store.open(config.database) as store:
        own = np.array([[9.0, 1.0], [1.0, 0.0]])
        names = {"feature_names": ("price", "stock"), "layout": "rank", "ranker": "own.model"}
        store.put_pages(
            [
                ShownPage(
                    f"{at:032x}", NOW - 30 + at, f"topic{at}", ("x", f"topic{at}-1"), [2, 1], own, **names
                )
                for at in range(20)
            ]
        )
    run = learn_once(config, now=NOW)
    assert run.state == "promoted", run
    assert run.record["dropped"]["features"] == 20
    assert run.record["window"]["pages"] == 4000


def test_what_is_no_better_is_not_promoted(shop, tmp_path):
    config = served(shop, tmp_path, {"value(quality)": 1.0})
    run = learn_once(config, now=NOW)
    assert run.state == "registered"
    assert run.version == "v2"
    assert roles_of(config).production == "v1"
    assert "gains" in run.record["gate"]["reasons"][0]


def test_without_swaps_nothing_is_promoted(shop, tmp_path):
    config = served(shop, tmp_path, {"bm25(title)": 1.0}, rate=0.0, pages=2000)
    run = learn_once(config, now=NOW)
    assert run.state == "registered"
    assert any("no swapped pages" in one for one in run.record["gate"]["reasons"])


def test_people_who_judge_can_stop_a_promotion(shop, tmp_path):
    """Judgments that contradict the clicks are an alarm."""
    config = served(shop, tmp_path, {"bm25(title)": 1.0})
    with Store.open(config.database) as store:
        search = Registry(store, config.home / "models").load("v1", shop)
        for topic in TOPICS[:20]:
            for rank, id in enumerate(search(topic).ids.tolist()):
                store.put_judgment(topic, id, 3.0 if rank < 2 else 0.0, at=NOW)
    run = learn_once(config, now=NOW)
    assert run.state == "registered"
    assert [one for one in run.record["gate"]["reasons"] if "judgments say it is worse" in one]
    assert run.record["judged"]["difference"][0] < 0


def test_a_canary_is_not_pushed_aside(shop, tmp_path):
    config = served(shop, tmp_path, {"bm25(title)": 1.0}, pages=1500)
    with Store.open(config.database) as store:
        models = Registry(store, config.home / "models")
        models.canary(models.register(models.path("v1"), lineage={"name": "tried by hand"}))
    run = learn_once(config, now=NOW)
    assert "v2 is a canary; end that first" in run.record["gate"]["reasons"]
    assert roles_of(config).production == "v1"


def test_a_failed_run_says_why(shop, tmp_path, monkeypatch):
    config = served(shop, tmp_path, {"bm25(title)": 1.0}, pages=300)

    def broken(*arguments, **options):
        raise OSError("the disk is full")

    monkeypatch.setattr("rankloop.serve.learning.run.curves_of", broken)
    with pytest.raises(OSError, match="the disk is full"):
        learn_once(config, now=NOW)
    with Store.open(config.database) as store:
        assert [(run.state, run.record["message"]) for run in runs(store)] == [
            ("failed", "OSError: the disk is full")
        ]


def test_too_little_is_said(shop, tmp_path):
    config = Config(index=shop.path, folder=tmp_path, features=FEATURES)
    assert learn_once(config, now=NOW).state == "too little"
    few = served(shop, tmp_path / "few", {"bm25(title)": 1.0}, pages=3)
    run = learn_once(few, now=NOW)
    assert run.state in ("too little", "registered")
    assert roles_of(few).production == "v1"


@pytest.mark.parametrize(
    ("pages", "low", "clicks", "alarms", "why"),
    [
        (5000, 0.01, 900, (), None),
        (999, 0.01, 900, (), "999 pages, 1,000 are needed"),
        (5000, 0.0, 900, (), "it must be above 0"),
        (5000, 0.01, 50, (), "rests on 50 clicks"),
        (5000, 0.01, 900, ("smoke",), "smoke"),
    ],
)
def test_the_gate(pages, low, clicks, alarms, why):
    decision = decide(GateSettings(), pages, Gain(0.5, 0.4, 0.6, 0.05, low, 0.1, clicks), alarms)
    assert decision.opens == (why is None)
    assert why is None or why in str(decision)


def test_the_gate_counts_looks_and_candidates_by_hand():
    """5 % over two candidates: 1.25 % each at the first look, a third of that at the second; never more."""
    assert at_every_look(GateSettings(), 1, 2).confidence == pytest.approx(0.9875)
    assert at_every_look(GateSettings(), 2, 2).confidence == pytest.approx(1 - 0.0125 / 3)
    spent = sum(2 * (1 - at_every_look(GateSettings(), look, 2).confidence) for look in range(1, 1000))
    assert 0.0499 < spent < 0.05


def test_each_run_against_the_same_version_is_a_look(shop, tmp_path):
    config = served(shop, tmp_path, {"value(quality)": 1.0}, pages=1500)
    for run in (learn_once(config, now=NOW), learn_once(config, again=True, now=NOW + 60)):
        assert run.state == "registered", run
    with Store.open(config.database) as store:
        last, first = runs(store)
    assert "(99.17 %)" in first.record["message"], (
        "5 % for three candidates of all looks; half of it for this one"
    )
    assert "(99.72 %)" in last.record["message"]


def test_curves_belong_to_layouts(shop):
    """The pages of a layout without swapped ones are left out; where no layout has any, there is an alarm."""
    random = np.random.default_rng(0)
    data = RankingDataset(random.normal(size=(200, 2)), random.integers(0, 4, 200), np.arange(200) // 10)
    shown = {"logging_policy": data.X[:, 0], "user": user("pbm", max_label=3), "sessions": 6000, "k": 5}
    swapped = simulate(data, **shown, randomize="adjacent", layout="list", seed=0)
    phone = simulate(data, **shown, randomize="adjacent", layout="phone", seed=1)
    fixed = simulate(data, **shown, layout="card", randomize="adjacent", rate=0.0, seed=2)
    both, log = curves_of(ClickLog.concat([swapped, phone]))
    assert sorted(both.given) == ["list", "phone"]
    assert log.n_pages == 12_000
    some, log = curves_of(ClickLog.concat([swapped, fixed]))
    assert list(some.by_layout) == ["list"]
    assert log.n_pages == 6000
    assert any("card" in one for one in some.notes)
    assert some.given.values[1] == pytest.approx(0.5, abs=0.1)
    none, log = curves_of(fixed)
    assert none.given is None
    assert "no swapped pages" in none.alarms[0]


def test_layouts_that_callers_name_hide_no_change_and_cost_little(monkeypatch):
    """A second layout must not turn the alarm off, nor a thousand take an hour."""
    random = np.random.default_rng(0)
    data = RankingDataset(random.normal(size=(200, 2)), random.integers(0, 4, 200), np.arange(200) // 10)
    shown = {
        "logging_policy": data.X[:, 0],
        "user": user("pbm", max_label=3),
        "k": 5,
        "randomize": "adjacent",
    }
    logs = [
        simulate(data, **shown, sessions=sessions, layout=name, seed=at)
        for at, (name, sessions) in enumerate([("a", 2000), ("list", 5000), ("b", 2000), ("c", 3000)])
    ]
    looked_at = []
    monkeypatch.setattr(
        "rankloop.serve.learning.window._changed", lambda log, seed: looked_at.append(log) or ["changed"]
    )
    found, log = curves_of(ClickLog.concat(logs))
    assert list(found.by_layout) == ["list", "c", "a", "b"]
    assert found.alarms == ("changed",)
    assert [one.n_pages for one in looked_at] == [5000]
    monkeypatch.setattr("rankloop.serve.learning.window.MOST_LAYOUTS", 2)
    found, log = curves_of(ClickLog.concat(logs))
    assert list(found.by_layout) == ["list", "c"]
    assert log.n_pages == 8000
    assert "of 4 layouts, the 2 with most pages are looked at" in found.notes


def test_a_run_of_learning_says_what_its_curve_says():
    """Twelve people made most of the clicks, each reading in a way of their own: the run says so."""
    found, _ = curves_of(crowded(1, design="swap"))
    told = [one.partition("the curve of layout 'page': ")[2] for one in found.notes]
    assert any("few people or queries made most of the clicks" in one for one in told)
    assert set(found.given.warnings) <= set(told)


def test_one_learner_at_a_time(shop, tmp_path):
    from rankloop.search.index.lock import WriterLock

    lock = WriterLock(tmp_path / "learning.lock")
    lock.acquire()
    with pytest.raises(ValueError, match="another run learns from these clicks; wait until it has ended"):
        learn_once(Config(index=shop.path, folder=tmp_path, features=FEATURES))
    lock.release()


@pytest.mark.parametrize(
    "where", [pytest.param("Registry.register", marks=pytest.mark.slow), "Registry.promote"]
)
def test_a_killed_run_leaves_nothing_half_written(shop, tmp_path, where):
    config = served(shop, tmp_path, {"bm25(title)": 1.0}, pages=2500)
    with Store.open(config.database) as store:
        begin(store, NOW - 5)
    code = f"""
        import os, signal, sys
        from rankloop.serve.learning import candidates as learning_candidates, run as learning
        from rankloop.serve.models.registry import Registry
        learning_candidates.TREES = learning_candidates.JUDGE = 30
        def die(*arguments, **options):
            os.kill(os.getpid(), signal.SIGKILL)
        {where} = die
        learning.learn_once(learning.Config(
            index={str(config.index)!r}, folder={str(config.folder)!r}, features={FEATURES!r}
        ), now={NOW})
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert roles_of(config).production == "v1"
    with Store.open(config.database) as store:
        models = Registry(store, config.home / "models")
        for one in models.versions():
            assert len(models.load(one.version, shop)("topic1")) == 10
        assert [run.state for run in runs(store)] == ["running", "stopped"]
    assert learn_once(config, now=NOW + 1).state in ("promoted", "registered")
    with Store.open(config.database) as store:
        assert [run.state for run in runs(store)][1:] == ["stopped", "stopped"]


def test_the_command_learns_once(shop, tmp_path, capsys):
    from rankloop.cli.learn import learn

    config = served(shop, tmp_path, {"bm25(title)": 1.0}, pages=1200)
    text = f'index = "{shop.path}"\nfolder = "{tmp_path}"\nfeatures = {json.dumps(FEATURES)}\n'
    (tmp_path / "shop.toml").write_text(text)
    learn(tmp_path / "shop.toml", json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed["version"] == "v2"
    assert roles_of(config).production == {"promoted": "v2", "registered": "v1"}[printed["state"]]
    learn(tmp_path / "shop.toml", again=True)
    [path] = [
        line.removeprefix("written to ") for line in capsys.readouterr().out.splitlines() if "written" in line
    ]
    assert Path(path).read_text().startswith("<!doctype html>")
    with pytest.raises(ValueError, match="--out belongs to learning from a file"):
        learn(tmp_path / "shop.toml", out=tmp_path / "model")


@pytest.mark.slow
def test_a_schedule_learns_in_a_process_of_its_own(shop, tmp_path, monkeypatch):
    from rankloop.serve.learning import process as learning_schedule
    from rankloop.serve.learning.schedule import Schedule

    small = "from rankloop.serve.learning import candidates as some; some.TREES = some.JUDGE = 20; "
    monkeypatch.setattr(learning_schedule, "_PROGRAM", small + learning_schedule._PROGRAM)
    with pytest.raises(ValueError, match="above 0"):
        Schedule(Config(index=shop.path))
    config = served(shop, tmp_path, {"bm25(title)": 1.0}, pages=1200)
    schedule = Schedule(config.but(learn_every=0.2))
    schedule.start()
    wait_until(lambda: schedule.last, 60)
    schedule.stop()
    assert "registered as v2" in schedule.last
    assert roles_of(config).production in ("v1", "v2")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("no index here", "learning failed: no index here"),
        (f"{UNDER_WAY}; wait until it has ended", f"{UNDER_WAY}; wait until it has ended"),
    ],
    ids=["failed", "another run"],
)
def test_a_schedule_that_did_not_learn_says_why(tmp_path, monkeypatch, caplog, said, shown):
    from rankloop.serve.learning.schedule import Schedule

    monkeypatch.setattr("rankloop.serve.learning.process._PROGRAM", f"raise SystemExit({said!r})")
    schedule = Schedule(Config(index=tmp_path / "none.index", learn_every=0.05))
    schedule.start()
    wait_until(lambda: schedule.last, 60)
    schedule.stop()
    assert schedule.last == shown
    assert schedule.last in caplog.messages


def wait_until(true, seconds):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def test_the_stack_or_one_forest():
    """The trees of a run are the stack of `learn`, evaluated by its held-out scores; or one forest."""
    drawn = World(queries=60, sessions=1500, features=5, seed=1).draw()
    data = drawn.train.replace(y=np.zeros(drawn.train.n_documents), docid=np.arange(drawn.train.n_documents))
    usual = train_candidates(drawn.log, data, None)
    assert usual.learned.weights
    np.testing.assert_array_equal(usual.candidates["unbiased trees"].scores, usual.learned.scores)
    quick = train_candidates(drawn.log, data, None, budget="quick")
    assert not quick.learned.weights
    assert usual.candidates.keys() == quick.candidates.keys()
    with pytest.raises(ValueError, match="learn_budget"):
        Config(index="shop.index", learn_budget="huge")
