import json

import pytest
from typer.testing import CliRunner

from rankloop.cli import app
from rankloop.data import read_qrels, read_run
from rankloop.metrics import evaluate
from rankloop.search import Index, Pipeline
from rankloop.search.load_pipeline import load_pipeline

COLOURS = ("red", "blue", "green", "black", "white", "grey")


@pytest.fixture
def shop(tmp_path):
    index = Index.create(tmp_path / "shop.index", {"title": "text", "price": "number"})
    index.add(
        {"id": f"{c}{i}", "title": f"{c} {'thing ' * (i + 1)}", "price": i} for c in COLOURS for i in range(6)
    )
    index.commit()
    (tmp_path / "queries.tsv").write_text("".join(f"{c}\t{c} thing\n" for c in COLOURS))
    (tmp_path / "qrels.txt").write_text(
        "".join(f"{c} 0 {c}{i} {int(i > 3)}\n" for c in COLOURS for i in range(6))
    )
    return tmp_path


def test_a_search_is_trained_from_judgments(shop):
    done = CliRunner().invoke(
        app,
        ["train", str(shop / "shop.index"), "--queries", str(shop / "queries.tsv"),
         "--qrels", str(shop / "qrels.txt"), "--ranker", "linear", "--out", str(shop / "run"), "--json"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    figures = json.loads(done.output)["metrics"]
    assert set(figures) == {"words alone", "learned"}
    found = json.loads(
        CliRunner()
        .invoke(app, ["search", str(shop / "shop.index"), "red thing", "-k", "2", "--json", "--explain",
                      "--pipeline", str(shop / "run")])
        .output
    )  # fmt: skip
    assert {hit["id"] for hit in found["hits"]} == {"red4", "red5"}
    assert {part["term"] for part in found["hits"][0]["explain"]} == {"red", "thing"}
    with pytest.raises(ValueError, match="has its own weights"):
        CliRunner().invoke(
            app,
            ["search", str(shop / "shop.index"), "red", "--fields", "title:2", "--pipeline", str(shop)],
            catch_exceptions=False,
        )
    search = load_pipeline(shop / "run" / "search.rank", Index.open(shop / "shop.index"), exact=True)
    assert search("red thing").ids[0] in ("red4", "red5")


def test_the_figures_are_of_queries_that_nothing_was_chosen_by(shop, monkeypatch):
    """What is measured was neither learned from nor used to stop: one of six queries."""
    seen = {}
    fit, run = Pipeline.fit, Pipeline.run

    def fitted(self, queries, judgments, *, valid, among):
        seen.update(train=set(queries), valid=set(valid))
        return fit(self, queries, judgments, valid=valid, among=among)

    def ran(self, queries):
        seen["test"] = set(queries)
        return run(self, queries)

    monkeypatch.setattr(Pipeline, "fit", fitted)
    monkeypatch.setattr(Pipeline, "run", ran)
    words = ["train", "shop.index", "--queries", "queries.tsv", "--qrels", "qrels.txt"]
    words = [str(shop / word) if "." in word else word for word in words]
    done = CliRunner().invoke(app, [*words, "--ranker", "linear", "--out", str(shop / "run")])
    assert done.exit_code == 0, done.output
    assert seen["train"] | seen["valid"] | seen["test"] == set(COLOURS)
    assert sum(map(len, seen.values())) == len(COLOURS)


def test_judgments_of_a_tool_bring_their_queries(shop):
    rows = "".join(f"{c} thing,{c}{i},{int(i > 3)}\n" for c in COLOURS for i in range(6))
    (shop / "case.csv").write_text("query,doc_id,rating\n" + rows)
    words = ["train", str(shop / "shop.index"), "--qrels", str(shop / "case.csv"), "--ranker", "linear"]
    done = CliRunner().invoke(app, [*words, "--out", str(shop / "run"), "--json"])
    assert done.exit_code == 0, done.output
    assert set(json.loads(done.output)["metrics"]) == {"words alone", "learned"}
    trec = ["train", str(shop / "shop.index"), "--qrels", str(shop / "qrels.txt"), "--out", str(shop / "r2")]
    with pytest.raises(ValueError, match=r"needs --qrels .* and --queries"):
        CliRunner().invoke(app, trec, catch_exceptions=False)


def test_what_is_missing_is_named(shop):
    asked = ["train", str(shop / "shop.index"), "--out", str(shop / "run")]
    with pytest.raises(ValueError, match="needs --qrels"):
        CliRunner().invoke(app, asked, catch_exceptions=False)
    (shop / "queries.tsv").write_text("red red\n")
    more = ["--queries", str(shop / "queries.tsv"), "--qrels", str(shop / "qrels.txt")]
    with pytest.raises(ValueError, match="line 1: wanted an id, a tab"):
        CliRunner().invoke(app, asked + more, catch_exceptions=False)


def test_a_ranking_worse_than_words_alone_is_said_to_be_so(shop, monkeypatch):
    fit = Pipeline.fit

    def misled(self, queries, judgments, **options):
        """The longest titles are judged best, but it learns that they are worst."""
        wrong = {qid: {doc: 1 - label for doc, label in judgments[qid].items()} for qid in judgments}
        return fit(self, queries, wrong, **options)

    asked = ["train", str(shop / "shop.index"), "--queries", str(shop / "queries.tsv"), "--qrels"]
    asked += [str(shop / "qrels.txt"), "--ranker", "linear"]
    good = CliRunner().invoke(app, [*asked, "--out", str(shop / "good")])
    assert "worse than words alone" not in good.output
    ranked = read_run(shop / "good" / "test.run")
    told = json.loads((shop / "good" / "metrics.json").read_text())["learned"]["metrics"]["ndcg@10"]["mean"]
    held_out = {qid: grades for qid, grades in read_qrels(shop / "qrels.txt").items() if qid in ranked}
    assert evaluate(ranked, held_out, "ndcg@10").mean["ndcg@10"] == pytest.approx(told)
    monkeypatch.setattr(Pipeline, "fit", misled)
    (shop / "qrels.txt").write_text(
        "".join(f"{c} 0 {c}{i} {int(i < 2)}\n" for c in COLOURS for i in range(6))
    )  # words alone put short titles first
    bad = CliRunner().invoke(app, [*asked, "--out", str(shop / "bad")])
    assert "worse than words alone (BM25) by ndcg@10 on the held-out queries" in bad.output
    assert json.loads((shop / "bad" / "comparison.json").read_text())["ndcg@10"]["learned"]["difference"] < 0
