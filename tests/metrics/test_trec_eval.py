"""trec_eval, through pytrec_eval, on 10,000 random runs: every measure that both have, query by query."""

import numpy as np
import pytest

from rankloop.metrics import evaluate

pytrec_eval = pytest.importorskip("pytrec_eval")

QUERIES = 10_000
DOCUMENTS = 40  # of the collection of each query; some of them judged, some retrieved
CUTS = (1, 3, 5, 10, 20)
MEASURES = {
    "ndcg": "ndcg",
    "map": "map",
    "mrr": "recip_rank",
    "rprec": "Rprec",
    "f1": "set_F",
    "precision": "set_P",
    "recall": "set_recall",
    **{f"ndcg@{k}": f"ndcg_cut_{k}" for k in CUTS},
    **{f"map@{k}": f"map_cut_{k}" for k in CUTS},
    **{f"p@{k}": f"P_{k}" for k in CUTS},
    **{f"recall@{k}": f"recall_{k}" for k in CUTS},
    **{f"success@{k}": f"success_{k}" for k in CUTS},
}


@pytest.fixture(scope="module")
def world():
    """Runs and judgments as dictionaries: ties, also of single precision only, and unjudged documents.

    Judged documents may be missing from a run, runs are short or long, a tenth of the queries has nothing
    relevant, and every tenth run has no ties.
    """
    rng = np.random.default_rng(0)
    runs, judged = {}, {}
    for query in range(QUERIES):
        shown = rng.permutation(DOCUMENTS)[: rng.integers(1, 26)]
        scores = rng.integers(0, rng.integers(1, 12), len(shown)) + 1e-9 * rng.random(len(shown))
        if query % 10 == 0:
            scores = rng.permutation(len(shown)) + rng.random(len(shown)) / 2
        known = rng.permutation(DOCUMENTS)[: rng.integers(1, 21)]
        grades = rng.choice(5, len(known), p=[0.55, 0.2, 0.1, 0.1, 0.05])
        if query % 10 == 1:
            grades[:] = 0
        name = f"q{query:05d}"
        runs[name] = {f"d{d}": float(s) for d, s in zip(shown, scores, strict=True)}
        judged[name] = {f"d{d}": int(g) for d, g in zip(known, grades, strict=True)}
    return runs, judged


def theirs(runs, judged, level=1):
    evaluator = pytrec_eval.RelevanceEvaluator(judged, set(MEASURES.values()), relevance_level=level)
    found = evaluator.evaluate(runs)
    return {name: np.array([found[query][peer] for query in runs]) for name, peer in MEASURES.items()}


def test_every_measure_of_every_query(world):
    """The convention "trec": ties by document id, scores in single precision, 0 where nothing is relevant."""
    runs, judged = world
    expected = theirs(runs, judged)
    names = [name for name in MEASURES if name != "f1"]  # the convention has none: it is below
    ours = evaluate(runs, judged, names, convention="trec")
    assert ours.per_query.shape == (QUERIES, 1 + len(names))
    for name in names:
        np.testing.assert_allclose(ours.per_query[name], expected[name], rtol=0, atol=1e-12, err_msg=name)
        assert ours.mean[name] == pytest.approx(expected[name].mean(), abs=1e-12)


@pytest.mark.parametrize("level", [2, 4])
def test_a_higher_relevance_level(world, level):
    """trec_eval's -l moves what counts as relevant; its NDCG keeps all gains, as ours has no such option."""
    runs, judged = world
    expected = theirs(runs, judged, level)
    asked = {}
    for name in MEASURES:
        if name != "f1" and not name.startswith("ndcg"):
            metric, at, k = name.partition("@")
            asked[name] = f"{metric}(rel={level}){at}{k}"
    ours = evaluate(runs, judged, asked.values(), convention="trec").per_query
    for name, own in asked.items():
        np.testing.assert_allclose(ours[own], expected[name], rtol=0, atol=1e-12, err_msg=own)


def test_runs_without_ties_need_no_convention(world):
    """Only the gain of NDCG and the value of a query with nothing relevant differ from our own defaults."""
    runs, judged = ({query: one[query] for query in list(one)[::10]} for one in world)
    expected = theirs(runs, judged)
    assert all(len(set(run.values())) == len(run) for run in runs.values())
    asked = {name: name.replace("ndcg", "ndcg(gain=linear)") for name in MEASURES}
    ours = evaluate(runs, judged, asked.values(), empty="zero").per_query
    for name, own in asked.items():
        np.testing.assert_allclose(ours[own], expected[name], rtol=0, atol=1e-12, err_msg=own)


def test_sets_do_not_know_ties(world):
    """F1, precision and recall of all that was retrieved, of every run."""
    runs, judged = world
    expected = theirs(runs, judged)
    ours = evaluate(runs, judged, ["f1", "precision", "recall"], empty="zero")
    for name in ours.names:
        np.testing.assert_allclose(ours.per_query[name], expected[name], rtol=0, atol=1e-12, err_msg=name)


def test_what_a_tie_is_worth_is_between_the_best_and_the_worst_run(world):
    """Our expected value of a tie lies between trec_eval's figures for the luckiest and unluckiest ids."""
    runs, judged = ({query: one[query] for query in list(one)[:2000]} for one in world)
    bounds = []
    for way in (1, -1):
        lucky = {
            query: {d: round(s) + way * 0.01 * judged[query].get(d, 0) for d, s in run.items()}
            for query, run in runs.items()
        }
        bounds.append(theirs(lucky, judged)["ndcg@5"])
    rounded = {query: {d: round(s) for d, s in run.items()} for query, run in runs.items()}
    ours = evaluate(rounded, judged, "ndcg(gain=linear)@5", empty="zero").per_query["ndcg(gain=linear)@5"]
    assert np.all(np.asarray(ours) <= bounds[0] + 1e-12)
    assert np.all(np.asarray(ours) >= bounds[1] - 1e-12)
    assert np.count_nonzero(bounds[0] > bounds[1] + 1e-3) > 500
