"""Whole comparisons, simulated and logged, through Python and the command."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from rankloop import unbiased
from rankloop.cli import app
from rankloop.clicks import simulate
from rankloop.data import RankingDataset, synthetic
from rankloop.interleaving import Balanced, Duel, method, read_duel, simulate_duel
from rankloop.rankers import LinearRanker


@pytest.fixture(scope="module")
def data():
    return synthetic(n_queries=80, docs_per_query=15, n_features=8, seed=1)


def scores_of(data, noise, seed):
    return data.y + noise * np.random.default_rng(seed).normal(size=data.n_documents)


@pytest.mark.parametrize(
    "how", ["team_draft", "balanced", "probabilistic", "optimized", "pairwise_preference"]
)
def test_the_better_ranker_wins(data, how):
    rankers = {"good": scores_of(data, 0.3, 0), "poor": scores_of(data, 5.0, 1)}
    found = simulate_duel(data, rankers, method=how, pages=400, k=5, seed=2).verdicts()[0]
    assert found.winner == "good"


def test_equal_rankers_are_not_distinguished(data):
    """Two noisy copies of one quality: over 20 experiments at most 4 find a winner at the 5 % level."""
    found = 0
    for seed in range(20):
        rankers = {"a": scores_of(data, 2.0, 10 + seed), "b": scores_of(data, 2.0, 10 + seed)}
        found += simulate_duel(data, rankers, pages=200, seed=seed).verdicts()[0].winner is not None
    assert found <= 4


def test_three_rankers_give_three_verdicts(data):
    rankers = {name: scores_of(data, noise, 3) for name, noise in (("a", 0.2), ("b", 1.5), ("c", 9.0))}
    duel = simulate_duel(data, rankers, pages=600, seed=0)
    assert [(found.first, found.second) for found in duel.verdicts()] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert duel.verdicts()[1].winner == "a"
    assert duel.always_valid("a", "c").stop is not None


def test_the_shape_of_the_lectures_table():
    """Propensity-weighted against production and against naive learning: more wins than losses, many ties.

    All three come from one biased log (examination 1 / rank), as in Joachims et al. (2017); people who judge
    them know what they want. With clicks as noisy as the log's it would take some 10,000 pages.
    """
    train, test = (synthetic(n_queries=200, docs_per_query=10, n_features=8, seed=seed) for seed in (0, 1))
    log = simulate(train, logging_policy=train.X[:, 0], user="pbm", sessions=20_000, k=10, seed=0)
    fair = LinearRanker(loss="ranknet").fit(unbiased.ips(log, 1 / np.arange(1, 11), train))
    naive = LinearRanker(loss="ranknet").fit(unbiased.naive(log, train))
    for other in (test.X[:, 0], naive):
        rankers = {"propensity": fair, "other": other}
        found = simulate_duel(test, rankers, user="perfect", pages=3_000, seed=3).verdicts()[0]
        assert found.winner == "propensity"
        assert found.p_value < 0.001
        assert found.ties > found.wins > found.losses > 0.5 * found.wins


def test_a_logged_comparison_is_the_simulated_one(data, tmp_path):
    rankers = {"good": scores_of(data, 0.3, 0), "poor": scores_of(data, 5.0, 1)}
    duel = simulate_duel(data, rankers, pages=50, seed=2)
    duel.save(tmp_path / "pages.jsonl")
    again = read_duel(tmp_path / "pages.jsonl")
    assert np.array_equal(again.credits, duel.credits)
    assert again.names == ("good", "poor")


def test_a_log_with_users_counts_each_once_at_every_look(data, tmp_path):
    rankers = {"good": scores_of(data, 0.3, 0), "poor": scores_of(data, 5.0, 1)}
    duel = simulate_duel(data, rankers, pages=300, seed=2)
    one_person = replace(duel, users=["ann"] * 300)
    one_person.save(tmp_path / "pages.jsonl")
    again = read_duel(tmp_path / "pages.jsonl")
    assert again.users == ["ann"] * 300
    assert duel.always_valid("good", "poor").stop is not None
    assert again.always_valid("good", "poor").stop is None


def test_the_command(data, tmp_path):
    data.save(tmp_path / "data")
    for name, noise in (("good", 0.3), ("poor", 5.0)):
        np.save(tmp_path / f"{name}.npy", scores_of(data, noise, 0))
    pages = tmp_path / "pages.jsonl"
    arguments = [str(tmp_path / name) for name in ("data", "good.npy", "poor.npy")]
    done = CliRunner().invoke(
        app, ["interleave", *arguments, "-n", "300", "--plan", "0.02", "--out", str(pages)]
    )
    assert done.exit_code == 0, done.output
    assert "good is preferred" in done.output
    assert "pages would show" in done.output
    logged = json.loads(CliRunner().invoke(app, ["interleave", str(pages), "--json"]).output)
    assert logged["pages"] == 300
    assert logged["verdicts"][0]["winner"] == "good"


def test_a_method_whose_credit_is_not_fair_says_so(data, tmp_path):
    """Random clicks on a ranking and its shift: balanced interleaving names a winner, and the fault."""
    how, rng = Balanced(seed=0), np.random.default_rng(0)
    pages = [how.combine([list("abcd"), list("bcda")], 4) for _ in range(300)]
    clicks = [[page.documents[rng.integers(4)]] for page in pages]
    credits = np.array([how.credit(page, clicked) for page, clicked in zip(pages, clicks, strict=True)])
    duel = Duel(("one", "shifted"), pages, clicks, credits)
    assert duel.verdicts()[0].winner is not None
    assert "even under random clicks" in duel.caution
    duel.save(tmp_path / "pages.jsonl")
    command = ["interleave", str(tmp_path / "pages.jsonl")]
    assert "even under random clicks; use team_draft" in CliRunner().invoke(app, command).output
    told = json.loads(CliRunner().invoke(app, [*command, "--json"]).output)
    assert told["caution"] == duel.caution
    fair = simulate_duel(data, {"a": data.y, "b": -data.y}, pages=20)
    assert fair.caution == ""


def test_mistakes_are_named(data, tmp_path):
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"page": 1}\n')
    with pytest.raises(ValueError, match=r"line 1: not an interleaved page"):
        read_duel(broken)
    broken.write_text("")
    with pytest.raises(ValueError, match="holds no pages"):
        read_duel(broken)
    page = '{"page": {"method": "team_draft", "documents": [1], "rankers": 2, "notes": %s}, "clicks": [%d]}\n'
    broken.write_text(page % ('{"teams": [0]}', 1) + page % ("{}", 1))
    with pytest.raises(ValueError, match=r"line 2: the clicks cannot be credited to this team_draft page"):
        read_duel(broken)
    broken.write_text(page % ('{"teams": [0]}', 7))
    with pytest.raises(ValueError, match=r"line 1: .* document 7 is not on this page"):
        read_duel(broken)
    data.save(tmp_path / "data")
    folder = CliRunner().invoke(app, ["interleave", str(tmp_path / "data")])
    assert "name two or more rankers" in str(folder.exception)
    gone = CliRunner().invoke(app, ["interleave", str(tmp_path / "gone.jsonl")])
    assert "there is no log" in str(gone.exception)
    with pytest.raises(ValueError, match="did you mean 'team_draft'"):
        method("teamdraft")
    with pytest.raises(ValueError, match="one score per document"):
        simulate_duel(data, {"a": [1.0], "b": [2.0]})
    one = RankingDataset([[1.0]], [1], ["q"])
    assert simulate_duel(one, {"a": [1.0], "b": [2.0]}, pages=5).credits.shape == (5, 2)
