"""The loop on a tiny collection, from BM25 to the page that is served; and the movies."""

import gzip
import json
import re
import sys
from importlib import import_module

import numpy as np
import pytest

from rankloop.cli.demo import demo
from rankloop.demo import run_demo, run_loop
from rankloop.demo.collection import Collection
from rankloop.demo.conclusion import preferred
from rankloop.demo.movies import collect
from rankloop.demo.report import demo_report
from rankloop.demo.service import HELD_OUT, prepare
from rankloop.demo.service import _settings as prepare_settings
from rankloop.demo.story import story
from rankloop.interleaving import Verdict
from rankloop.search import Deadline, Index
from rankloop.serve.config import Config
from rankloop.serve.desk.query_sets import query_set
from rankloop.serve.desk.set_comparison import compare_over_set
from rankloop.serve.http.schema import SearchRequest
from rankloop.serve.service import Service

FEATURES = ("bm25(title)", "length(title)", "value(popularity)", "value(quality)")
TOPICS = [f"topic{at}" for at in range(60)]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """People want quality; popularity is a weak sign of it, and words are none."""
    folder = tmp_path_factory.mktemp("tiny")
    random = np.random.default_rng(0)
    index = Index.create(
        folder / "tiny.index", fields={"title": "text", "popularity": "number", "quality": "number"}
    )
    quality = {f"{topic}-{at}": float(random.normal()) for topic in TOPICS for at in range(12)}
    index.add(
        {
            "id": id,
            "title": " ".join([id.partition("-")[0], *["filler"] * int(random.integers(0, 6))]),
            "quality": value,
            "popularity": value + float(random.normal(scale=2.0)),
        }
        for id, value in quality.items()
    )
    index.commit()
    searches: dict[str, dict[str, int]] = {}
    for id, value in quality.items():
        if value > 0:
            searches.setdefault(id.partition("-")[0], {})[id] = 1 + int(value > 0.7) + int(value > 1.4)
    return Collection(
        "tiny", "A tiny shop", index, {"title": 1.0}, FEATURES, "value(popularity)", searches, 3
    )


@pytest.fixture(scope="module")
def done(tiny):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_module("rankloop.demo.run_loop"), "PAGES", 500)
        return run_loop(tiny, tiny.index.path.parent, seed=0, sessions=20_000)


def test_every_step_has_a_time_and_a_number(done):
    steps = ["candidates", "baselines", "clicks", "propensity", "learning"]
    verdicts = ["offline", "counterfactual", "interleaved"]
    assert list(done.steps.seconds) == [*steps, *verdicts]
    numbers = done.steps.numbers
    assert numbers["clicks"]["pages"] == 20_000
    assert numbers["propensity"]["estimated"][1] == pytest.approx(0.5, abs=0.1)
    assert set(numbers["offline"]) == {"bm25", "bm25 + popularity", "naive", "unbiased"}
    assert json.dumps(done.steps.to_dict())


def test_clicks_teach_what_people_want(done):
    quality = done.steps.numbers["offline"]
    assert quality["unbiased"] > quality["bm25 + popularity"] > quality["bm25"]
    gain = done.counterfactual["unbiased"]
    assert gain.low < gain.truth < gain.high
    assert gain.low > 0
    assert {one.second: one.winner for one in done.interleaved}["bm25"] == "unbiased"


def test_the_same_seed_gives_the_same_numbers(tiny, done):
    again = run_loop(tiny, done.folder, seed=0, sessions=20_000)
    assert again.steps.numbers["offline"] == done.steps.numbers["offline"]


def test_the_report_shows_it(done, tmp_path):
    report = demo_report(done)
    report.save(tmp_path / "report.html")
    assert "unbiased" in report.html
    told = float(re.search(r"with BM25 to (\d\.\d+)\.", report.html)[1])
    drawn = [float(one) for one in re.findall(r"= (\d\.\d{4})<", report.html)]
    assert any(abs(one - told) <= 0.0005 + 1e-9 for one in drawn), "the figure draws what its text says"
    assert len(report.html) < 1_000_000


def test_all_rankers_are_served_side_by_side(done):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankloop.demo.service.RECORDED", 400)
        settings, versions = prepare(done)
    assert list(versions) == ["bm25", "bm25 + popularity", "naive", "unbiased"]
    with Service.open(settings) as service:
        assert service.registry.roles().production == versions["unbiased"]
        assert service.registry.roles().previous == versions["bm25"]
        sides = service.searcher.compare("topic3", list(versions.values()), k=5).sides
        assert [side.ranker for side in sides] == list(versions.values())
        best = done.collection.searches["topic3"]
        assert best[sides[3].results[0].id] == max(best.values())
        assert sum(day.pages for day in service.store.daily()) == 400 + 1000
        standing = service.experiments.progress(service.experiments.every()[0])
        assert standing.pages == 1000
        assert standing.verdict["winner"] == versions["unbiased"]
        assert service.store.click_frame()["intervention"].str.starts_with("swap").any()
        taught = set(service.store.click_frame()["layout"].to_list())
        assert taught == {SearchRequest(query="topic3").layout}, "a visitor's clicks are learned from too"
        answer = service.search(SearchRequest(query="topic3"))
        assert answer.impression is not None
        lineage = service.registry.version(versions["unbiased"]).lineage
        assert lineage["metrics"]["ndcg@10"][0] == done.steps.numbers["offline"]["unbiased"]
        chosen = query_set(service.store, HELD_OUT)
        assert {one.query for one in chosen.queries} == {str(one) for one in done.test.qid}
        pair, parts = (versions["bm25"], versions["unbiased"]), (service.store, service.registry)
        found = compare_over_set(*parts, service.rankings, chosen, *pair, Deadline(60))
    assert {(one.by, one.share) for one in found.changes} == {("judgments", 1.0)}, (
        "all that is shown is graded"
    )
    measured = done.steps.numbers["offline"]
    assert np.mean([one.b for one in found.changes]) == pytest.approx(measured["unbiased"], abs=1e-6)
    assert found.judged.value == pytest.approx(measured["unbiased"] - measured["bm25"], abs=0.05)


def test_examples_are_the_largest_gains_and_one_loss(done):
    config = Config.read(prepare_settings(done))
    moved = done.offline.most_changed("unbiased", "ndcg@10", 1000)
    gains = [str(one.qid) for one in moved if one.difference > 0]
    losses = [str(one.qid) for one in moved if one.difference < 0]
    assert list(config.examples) == [*gains[:4], *losses[:1]]
    assert f"The {min(len(gains), 4)} searches that learning improved most" in config.examples_are
    assert ("made worst" in config.examples_are) == bool(losses)


def test_the_command_ends_with_the_verdicts(done, monkeypatch, capsys):
    monkeypatch.setattr("rankloop.demo.run_demo", lambda name, **options: done)
    monkeypatch.setattr("rankloop.demo.service.prepare", lambda demo: (demo.folder / "tiny.toml", {}))
    demo("tiny", serve=False, json=True)
    lines = capsys.readouterr().out.splitlines()
    assert json.loads(next(line for line in lines if line.startswith("{")))["seconds"]["report"] >= 0
    assert (done.folder / "report.html").exists()
    assert "rankloop serve" in lines[-2]
    grades = next(line for line in lines if "by grades" in line)
    assert f"{done.steps.numbers['offline']['unbiased']:.3f} (bm25 " in grades
    assert "may be chance" not in grades
    assert any("wins against" in line for line in lines)


def test_the_story_has_five_parts_with_the_figures_of_the_run(done):
    told = story(done)
    titles = re.findall(r"^\d\. (.*)$", told, re.MULTILINE)
    assert titles[:4] == [
        "A bad search", "What users clicked", "How biased the clicks are", "What was learned"
    ]  # fmt: skip
    assert titles[4] == f"The proof, on {done.test.n_queries} searches that were not learned from"
    query = re.search(r'learns nothing, for "(.*)"', told)[1]
    moved = done.offline.most_changed("unbiased", "ndcg@10", 1000)
    assert query == max(moved, key=lambda one: one.difference).qid
    before, after = (int(rank) for rank in re.findall(r"best answer is at rank (\d+)", told))
    assert after < before
    assert f"{int(done.log.click.sum()):,} clicks on 20,000" in told
    first = done.log.click[done.log.position == 1].mean()
    rates, seen = (re.findall(r"rank (\d+) +(\d+)%", part) for part in told.split("3. How biased")[:2])
    assert rates[0] == ("1", f"{100 * first:.0f}")
    assert [rank for rank, _ in seen] == ["1", "2", "3", "5", "10"]
    assert seen[1] == ("2", f"{100 * done.propensity.values[1]:.0f}")
    largest = FEATURES[int(np.argmax(np.abs(done.rankers["unbiased"].coef_)))]
    first = told.partition("what they weigh:\n")[2].splitlines()[0].split()
    assert first[1] == largest
    assert len(first) > 3, "and what it means"
    assert "by grades:" in told
    assert told == told.strip(), "no blank line at the end: what follows begins with one"


def test_a_conclusion_says_what_was_not_shown():
    bounds = {"bm25": (0.1, 0.3), "naive": (-0.1, 0.1), "popularity": (-0.3, -0.1)}
    same = {"wins": 5, "losses": 5, "ties": 0, "difference": 0.0, "p_value": 0.5}
    same |= {"people": 10, "first": "unbiased", "own_width": 1.0}
    verdicts = [
        Verdict(
            second=name,
            winner="unbiased" if low > 0 else name if high < 0 else None,
            low=low,
            high=high,
            **same,
        )
        for name, (low, high) in bounds.items()
    ]
    assert preferred(verdicts) == "wins against bm25; no difference shown to naive; loses to popularity"


@pytest.mark.parametrize(("module", "extra"), [("Stemmer", "search"), ("jinja2", "serve")])
def test_a_missing_extra_is_reported_at_the_start(module, extra, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr("rankloop.demo.run_demo", lambda *given, **options: pytest.fail("it went on"))
    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'rankloop\[{extra}\]'"):
        demo(serve=False, out=tmp_path)


def test_a_token_that_is_too_short_is_reported_at_the_start(monkeypatch, tmp_path):
    monkeypatch.setenv("RANKLOOP_ADMIN_TOKEN", "too short")
    monkeypatch.setattr("rankloop.demo.run_demo", lambda *given, **options: pytest.fail("it went on"))
    with pytest.raises(ValueError, match="admin_token has at least 16 characters, got 9"):
        demo(out=tmp_path, port=0)


def test_wrong_names_and_used_folders_are_refused(tmp_path):
    with pytest.raises(ValueError, match="unknown demo 'movie'; did you mean 'movies'"):
        run_demo("movie")
    (tmp_path / "stdlib.index").mkdir()
    with pytest.raises(ValueError, match="holds this demo already"):
        run_demo("stdlib", out=tmp_path)


def test_movies_are_read_from_the_machine_and_never_fetched_unasked(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKLOOP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(FileNotFoundError, match="rankloop datasets get msrd-movies"):
        collect(tmp_path / "movies.index")
    folder = tmp_path / "data" / "msrd_movies"
    folder.mkdir(parents=True)
    movies = [
        {
            "id": "1",
            "title": "Alien",
            "overview": "In space",
            "genres": ["Horror"],
            "votes": 99,
            "year": 1979,
        },
        {"id": "2", "title": "Heat", "director": None, "actors": ["Al Pacino"], "rating": 8.1},
    ]
    with gzip.open(folder / "movies-corpus.jsonl.gz", "wt") as out:
        out.write("\n".join(map(json.dumps, movies)))
    with gzip.open(folder / "movies-judgments.tsv.gz", "wt") as out:
        out.write(
            "query_id\tquery\tdoc_id\tgrade\nq1\tspace horror\t1\t1\nq1\tspace horror\t2\t0\nq2\tx\t2\t0\n"
        )
    collection = collect(tmp_path / "movies.index")
    assert collection.searches == {"space horror": {"1": 1}}
    assert collection.pipeline(collection.feature_sum(collection.bm25))("al pacino").ids.tolist() == ["2"]
    assert collection.index["1"]["popularity"] == pytest.approx(np.log(100))
