"""Reports of what other families made, and the command that writes them."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

import rankloop.report as family
from commands import app_of, running
from rankloop.cli.compare import compare
from rankloop.cli.learn import learn
from rankloop.cli.online import online as online_command
from rankloop.cli.report import report
from rankloop.cli.train import train
from rankloop.clicks import ClickLog, simulate, user, write_clicks
from rankloop.data import RankingDataset, load_dataset, synthetic
from rankloop.interleaving import simulate_duel
from rankloop.online.learning_curve import LearningCurve
from rankloop.rankers import RankBoost, RankSVM
from rankloop.report.reports.by_day import by_day
from rankloop.unbiased import candidates
from rankloop.unbiased import learn as learn_from
from rankloop.unbiased.counterfactual_estimate import CounterfactualEstimate
from rankloop.unbiased.select import Selection

app = app_of(report, train, compare, learn)
app.command(name="online")(online_command)
run = running(app)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    data = synthetic(n_queries=60, docs_per_query=8, n_features=4, seed=0)
    for name, part in zip(("train", "test"), data.split(0.7, seed=0), strict=True):
        part.save(folder / name)
        np.savetxt(folder / f"{name}.first", part.X[:, 0])
        np.savetxt(folder / f"{name}.second", part.X[:, 1])
    shown = {"logging_policy": part.X[:, 0], "user": "pbm", "k": 5, "randomize": "swap"}
    write_clicks(simulate(part, sessions=3000, seed=0, **shown), folder / "log.parquet")
    simulate_duel(part, {"labels": part.y, "<b>": -part.y}, pages=200).save(folder / "pages.jsonl")
    run("train", folder / "train", "--valid", folder / "test", "--set", "trees=8", "--set", "leaves=4",
        "--set", "threads=1", "-m", "ndcg@5", "-m", "map", "--out", folder / "run",
        "--report", folder / "trained.html")  # fmt: skip
    return folder


def test_training_ends_in_a_page(files):
    page = (files / "trained.html").read_text(encoding="utf-8")
    for heading in ("Metrics", "Learning curves", "Features", "One list", "Parameters", "Environment"):
        assert f"{heading}</" in page
    again = run("report", files / "run", "--out", files / "run.html")
    assert "5 figures on one page" in again
    assert len(page) < 1_000_000


def test_a_run_whose_data_is_gone_or_changed_has_no_lists(files, tmp_path):
    moved = shutil.copytree(files / "run", tmp_path / "moved")
    facts = json.loads((moved / "data.json").read_text())
    for part in facts.values():
        part["fingerprint"] = "another"
    (moved / "data.json").write_text(json.dumps(facts))
    assert len(family.report_of_run(moved).figures) == 3
    lists = synthetic(n_queries=5, docs_per_query=8, n_features=4, seed=1)
    drawn = family.report_of_run(moved, lists, query=lists.qid[2])
    assert len(drawn.figures) == 5
    assert f"The list of query {lists.qid[2]}: NDCG@10 is" in drawn.html
    assert "Lowest: query" in drawn.html
    with pytest.raises(ValueError, match="there is no query 'none'"):
        family.report_of_run(moved, lists, query="none")
    irrelevant = lists.replace(y=np.zeros(lists.n_documents))
    assert "No list has a relevant document" in family.report_of_run(moved, irrelevant).html
    (moved / "model.rank").unlink()
    assert len(family.report_of_run(moved).figures) == 1


def test_a_ranker_without_trees_has_another_importance(files):
    lists = load_dataset(files / "test")
    linear = RankSVM().fit(lists)
    page = family.report_of_ranker(linear)
    assert "Weights of the standardised features" in page.html
    assert max(range(4), key=lambda i: abs(linear.coef_[i])) == feature_drawn_first(page.figures[0])
    boosted = RankBoost(iterations=5).fit(lists)
    assert (
        "when a feature is shuffled within each of 18 queries" in family.report_of_ranker(boosted, lists).html
    )
    assert "needs judged lists for this ranker" in family.report_of_ranker(boosted).html


def test_too_many_features_are_not_shuffled():
    lists = synthetic(n_queries=5, docs_per_query=4, n_features=401, seed=0)
    page = family.report_of_ranker(RankBoost(iterations=1).fit(lists), lists).html
    assert "401 features are too many for permutation importance here; see rankloop explain." in page


def feature_drawn_first(figure):
    return int(figure.description.split("by weight: ")[1].split(",")[0].removeprefix("plain_")) - 1


def test_a_saved_ranker(files, tmp_path):
    page = tmp_path / "ranker.html"
    printed = run(
        "report", files / "run" / "model.rank", "--data", files / "test", "-m", "err@10", "-o", page
    )
    assert printed.startswith("model: 5 figures on one page")
    assert "err@10" in page.read_text(encoding="utf-8")
    run("report", files / "run" / "model.rank", "-o", page)
    assert "One list" not in page.read_text(encoding="utf-8")


def test_a_comparison(files):
    rankings = (files / "test.first", files / "test.second", files / "run")
    page = files / "compared.html"
    printed = json.loads(run("report", *rankings, "--data", files / "test", "-m", "ndcg@5", "-m", "arp",
                          "--out", page, "--json"))  # fmt: skip
    assert printed == {"title": "test.second, run against test.first", "page": str(page), "plots": []}
    text = page.read_text(encoding="utf-8")
    assert "of arp lower is better" in text
    assert text.count("by query:") >= 4
    run("compare", *rankings[:2], "--data", files / "test", "--report", files / "again.html")
    assert "Query by query" in (files / "again.html").read_text(encoding="utf-8")


def test_a_verdict_has_the_right_direction():
    from rankloop.metrics import compare as compared

    data = synthetic(n_queries=80, docs_per_query=10, n_features=3, seed=0)
    rng = np.random.default_rng(0)
    rankings = {
        "noise": rng.normal(size=data.n_documents),
        "labels": data.y,
        "more noise": rng.normal(size=data.n_documents),
    }
    for metric in ("ndcg@10", "arp"):
        page = family.report_of_comparison(compared(rankings, data, metric)).html
        assert f"By {metric}, labels is better than noise" in page
        assert f"By {metric}, more noise is not shown to differ from noise" in page
    worse = {"labels": data.y, "noise": rankings["noise"]}
    assert "noise is worse than labels" in family.report_of_comparison(compared(worse, data, "arp")).html


def test_a_log(files, tmp_path):
    shown = run("report", files / "log.parquet", "--plots", tmp_path / "figures")
    assert "4 figures written to" in shown
    assert not (tmp_path / "report.html").exists()
    names = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert names == [
        "01-clicks-by-position.svg",
        "02-click-rate-by-query-and-position.svg",
        "03-how-likely-each-rank-is-to-be-seen.svg",
        "04-click-models-against-the-log.svg",
    ]


def test_a_poor_log_says_what_it_lacks():
    rows = {
        "session": [1, 1, 2, 2],
        "query": ["q"] * 4,
        "document": ["a", "b", "a", "b"],
        "position": [1, 2, 1, 2],
    }
    page = family.report_of_log(ClickLog(click=[0, 0, 0, 0], **rows)).html
    assert "There are too few clicks to fit a model." in page
    assert "No curve can be estimated from this log alone" in page
    assert "nothing was clicked" in page
    both = ClickLog(click=[1, 0, 0, 1], layout=["phone", "phone", "desk", "desk"], **rows)
    assert "phone" in family.report_of_log(both, models=["rank_ctr"]).html


def test_curves_belong_to_layouts():
    """Pages in a second layout do not take the curve of the first away, and one that is rare is not drawn."""
    data = RankingDataset(np.zeros((40, 1)), np.arange(40) % 4, np.arange(40) // 8)
    swaps = {
        "logging_policy": -np.arange(40.0),
        "user": user("pbm", max_label=3),
        "randomize": "adjacent",
        "rate": 1.0,
    }
    shown = {"desk": 4000, "phone": 2000, "watch": 20}
    parts = [simulate(data, sessions=pages, layout=name, seed=1, **swaps) for name, pages in shown.items()]
    page = family.report_of_log(ClickLog.concat(parts), models=["rank_ctr"]).html
    assert "swap intervention (desk)" in page
    assert "swap intervention (phone)" in page
    assert "watch)" not in page
    few = ClickLog.concat([part.select(np.arange(2)) for part in parts])
    page = family.report_of_log(few, models=["rank_ctr"]).html
    assert re.search(r"No curve can be estimated from this log alone: \w", page)


def test_a_log_with_dates_is_drawn_by_day():
    day, start = 86_400.0, 1_767_225_600.0
    rows = {
        "session": [1, 2, 3, 4],
        "query": ["q"] * 4,
        "document": ["a"] * 4,
        "position": [1] * 4,
        "click": [1, 0, 1, 1],
    }
    times = start + day * np.array([0.1, 0.9, 1.2, 1.3])
    figure = by_day(ClickLog(timestamp=times, ranker=["v1", "v1", "v1", "v2"], **rows))
    assert "v1: 2 values, from 0.5000 to 1; v2: 1 values, from 1 to 1" in figure.description
    assert by_day(ClickLog(**rows)) is None
    assert by_day(ClickLog(timestamp=[start] * 4, **rows)) is None
    assert by_day(ClickLog(timestamp=[0.0, day, 2 * day, 3 * day], **rows)) is None
    assert by_day(ClickLog(timestamp=[np.nan] * 4, **rows)) is None
    assert "from 0.5000 to 1" in by_day(ClickLog(timestamp=times, **rows)).description


def test_what_a_service_recorded(tmp_path):
    pytest.importorskip(
        "sqlalchemy", reason="no event store without sqlalchemy: pip install 'rankloop[serve]'"
    )
    from rankloop.serve.events.shown_page import Event, ShownPage
    from rankloop.serve.events.store import Store

    settings = f'index = "shop.index"\ndatabase = "sqlite:///{tmp_path}/events.db"\n'
    (tmp_path / "shop.toml").write_text(settings)
    shared = {"feature_names": ("bm25",), "ranker": "v1", "seconds": {}, "found": 2}
    with Store.open(f"sqlite:///{tmp_path}/events.db") as store:
        for number in range(3):
            shown = ShownPage(
                f"{number:032x}", 1e9, "<b>", ("a", "b"), np.zeros(2), np.zeros((2, 1)), **shared
            )
            store.put_pages([shown])
        store.put_events([Event("0", shown.page_id, "click", "b", value=None, time=1e9 + 1)])
    for source in ("events.db", "shop.toml"):
        run("report", tmp_path / source, "--out", tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert "3 pages, 6 impressions, 1 clicks." in page
        assert "&lt;b&gt;" in page


def test_what_was_learned(files):
    run("learn", files / "test", files / "log.parquet", "--trees", 10, "--report", files / "learned.html")
    page = (files / "learned.html").read_text(encoding="utf-8")
    assert "No queries were held out" in page
    assert "Warning: fewer than 30 queries" in page


def test_the_verdict_on_what_was_learned():
    data = synthetic(n_queries=10, docs_per_query=8, n_features=5, seed=0)
    log = simulate(data, logging_policy=data.X[:, 0], sessions=500, k=4, randomize="swap", seed=0)
    found = learn_from(log, data, rankers=candidates(trees=3, threads=1))
    estimates = {
        name: CounterfactualEstimate("dcg@10", "doubly_robust", value, value - 0.1, value + 0.1, 100.0, ())
        for name, value in (("new", 0.9), ("shown", 0.7))
    }
    for best, behind, conclusion in (
        ("new", (-0.2, -0.3, -0.1), "the new order is better than the one shown: the other is 0.2000 behind"),
        ("new", (-0.2, -0.5, 0.1), "neither the new order nor the one shown is clearly better"),
        ("shown", (-0.2, -0.3, -0.1), "the order shown is better"),
    ):
        other = {"new": "shown", "shown": "new"}[best]
        selection = Selection(best, estimates, {best: (0.0, 0.0, 0.0), other: behind})
        judged = replace(found, selection=selection, held_out={"plain leaves": 0.2, "linear leaves": 0.1})
        page = family.report_of_learning(judged).html
        assert f"On held-out queries {conclusion}" in page
        assert "<b>0.10000</b>" in page


def test_interleaved_pages(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("report", files / "pages.jsonl")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "labels is preferred" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


def test_online_learning_is_drawn(files, tmp_path):
    command = ["online", files / "train", "--test", files / "test", "-n", 40, "--out"]
    run(*command, tmp_path / "curve.svg")
    assert "ndcg@10 on the test set" in (tmp_path / "curve.svg").read_text(encoding="utf-8")
    run(*command, tmp_path / "curve.html")
    assert "pages below the floor" in (tmp_path / "curve.html").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"--out writes an \.svg or \.html file, got .*png"):
        run(*command, tmp_path / "curve.png")
    curves = {name: LearningCurve(np.array([0, 9]), np.array([0.1, 0.2]), 1.0, 0.0) for name in ("a", "b")}
    assert family.report_of_online(curves, metric="ndcg@5").figures[0].title.startswith("ndcg@5")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "there is no file or folder nowhere"),
        (["train"], "train is not a run folder: it has no metrics.json"),
        (["test.first", "test.second"], "give the judgments, --qrels FILE or --data FILE"),
        (["run", "--out", "page.pdf"], "name an .html file, got page.pdf"),
        (["test.first"], "is not known by its ending"),
    ],
)
def test_mistakes_end_in_a_sentence(arguments, message, files, monkeypatch):
    monkeypatch.chdir(files)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        run("report", *arguments)
