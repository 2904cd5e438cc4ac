import json
import math
import subprocess
import sys

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankloop.data import Qrels, RankingDataset, Run
from rankloop.metrics.compare import compare
from rankloop.metrics.evaluate import evaluate
from rankloop.metrics.metric import metric
from rankloop.metrics.results.evaluation import Evaluation
from rankloop.metrics.results.mean import mean_of
from strategies import ragged_lists


def dataset(labels, offsets, **columns):
    qid = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return RankingDataset(np.zeros((len(labels), 1)), labels, qid, **columns)


SMALL = dataset([2, 0, 1, 0, 0, 1, 0], [0, 3, 5, 7])
SCORES = [3.0, 2.0, 1.0, 1.0, 2.0, 1.0, 2.0]


def test_by_hand():
    found = evaluate(SCORES, SMALL, ["ndcg@10", "mrr"])
    first = (3 + 1 / math.log2(4)) / (3 + 1 / math.log2(3))
    last = 1 / math.log2(3)
    assert found.mean["ndcg@10"] == pytest.approx((first + last) / 2)
    assert found.mean["mrr"] == pytest.approx(0.75)
    assert found.left_out == {"ndcg@10": 1, "mrr": 1}
    assert found.values["ndcg@10"] == pytest.approx([first, np.nan, last], nan_ok=True)


def test_interval_of_a_bounded_metric_solves_the_score_equation():
    """At both ends the mean is t errors away, with the error that the values would have at that mean.

    The variance is 1 + skew**2 / 2 times that of the values, with the skewness of the mean.
    """
    rng = np.random.default_rng(0)
    data = dataset(rng.integers(0, 3, 400), np.arange(0, 401, 10))
    found = evaluate(rng.random(400), data, "ndcg@10", confidence=0.9)
    values = found.values["ndcg@10"]
    mean, t = values.mean(), stats.t.ppf(0.95, len(values) - 1)
    wider = np.sqrt(1 + stats.skew(values) ** 2 / len(values) / 2)
    assert wider > 1.0001
    for end in found.interval["ndcg@10"]:
        error = wider * stats.sem(values) * np.sqrt(end * (1 - end) / (mean * (1 - mean)))
        assert abs(end - mean) == pytest.approx(t * error)


def test_interval_without_bounds_reaches_further_where_the_tail_is():
    rng = np.random.default_rng(0)
    for values in (rng.exponential(size=60), -rng.exponential(size=60)):
        mean = mean_of(values, np.ones(60))
        low, high = stats.t.interval(0.95, 59, values.mean(), stats.sem(values))
        assert mean.error == pytest.approx(stats.sem(values))
        assert (mean.low > low and mean.high > high) == (values.mean() > 0)
    even = np.concatenate([values, 2 * values.mean() - values])  # symmetric: Student's t
    mean = mean_of(even, np.ones(120))
    assert (mean.low, mean.high) == pytest.approx(
        stats.t.interval(0.95, 119, even.mean(), stats.sem(even)), rel=1e-6
    )


def test_interval_of_a_share_stays_within_0_and_1():
    one = dataset([1, 0], [0, 2])
    assert evaluate([2.0, 1.0], one, "mrr").interval["mrr"] == (0.0, 1.0)
    assert evaluate([2.0, 1.0], one, "dcg").interval["dcg"] == (-np.inf, np.inf)


def test_query_weights_weigh_the_mean_and_only_lists_with_a_value():
    weighted = dataset(SMALL.y, SMALL.offsets, query_weight=[3, 100, 1])
    found = evaluate(SCORES, weighted, "mrr")
    assert found.mean["mrr"] == pytest.approx((3 * 1 + 1 * 0.5) / 4)
    assert evaluate(SCORES, weighted, "mrr", empty="zero").mean["mrr"] == pytest.approx(3.5 / 104)


def test_item_weights_multiply_gains():
    heavy = dataset([1, 1], [0, 2], item_weight=[1.0, 3.0])
    best = 3 + 1 / math.log2(3)
    assert evaluate([2.0, 1.0], heavy, "ndcg").mean["ndcg"] == pytest.approx((1 + 3 / math.log2(3)) / best)


@given(ragged_lists(), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(lists, seed):
    scores, labels, offsets = lists
    row_query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    shuffled = np.random.default_rng(seed).permutation(len(scores))
    made = RankingDataset(scores[shuffled, None], labels[shuffled], row_query[shuffled])
    mixed = evaluate(made.X[:, 0], made, ["ndcg@10", "map"])
    straight = evaluate(scores, dataset(labels, offsets), ["ndcg@10", "map"])
    for name in mixed.names:
        assert mixed.mean[name] == pytest.approx(straight.mean[name], nan_ok=True)


@given(ragged_lists())
def test_a_run_of_everything_is_the_data_set(lists):
    scores, labels, offsets = lists
    data = dataset(labels, offsets, docid=[f"d{i}" for i in range(len(labels))])
    run, qrels = Run.from_dataset(data, scores), Qrels.from_dataset(data)
    plain = evaluate(scores, data, ["ndcg@5", "map", "mrr"])
    for judgments in (data, qrels, qrels.to_dict()):
        for ranking in (run, run.to_dict()):
            joined = evaluate(ranking, judgments, ["ndcg@5", "map", "mrr"])
            assert joined.mean == pytest.approx(plain.mean, nan_ok=True)


# runs that miss documents and queries


def random_run(seed):
    """A run that misses judged documents and queries, and retrieves strangers; no ties."""
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for q in range(20):
        documents = [f"d{i}" for i in range(30)]
        qrels[f"q{q}"] = {d: int(rng.integers(-1, 4)) for d in documents[:20]}
        if q % 7 == 3:
            qrels[f"q{q}"] = dict.fromkeys(documents[:5], 0)
        if q % 5:
            some = rng.choice(documents, 12, replace=False)
            run[f"q{q}"] = {str(d): float(s) for d, s in zip(some, rng.permutation(12), strict=True)}
    run["nobody-judged"] = {"d1": 1.0}
    return run, qrels


@pytest.mark.parametrize("seed", range(3))
def test_a_run_is_measured_against_all_judgments_as_trec_eval_does(seed):
    run, qrels = random_run(seed)
    names = {"map": "map", "mrr": "recip_rank"}
    found = evaluate(run, qrels, list(names), empty="zero")
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(names.values())).evaluate(run)
    for row in found.per_query.iter_rows(named=True):
        for ours, name in names.items():
            expected = theirs[row["qid"]][name] if row["qid"] in theirs else 0.0
            assert row[ours] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_names_of_trec_eval_give_its_figures(seed):
    run, qrels = random_run(seed)
    tied = {q: {d: float(s // 4) for d, s in documents.items()} for q, documents in run.items()}
    names = ["P_5", "ndcg_cut_5", "map_cut_5", "recip_rank", "recall_10", "success_1", "Rprec"]
    asked = {"P.5", "ndcg_cut.5", "map_cut.5", "recip_rank", "recall.10", "success.1", "Rprec"}
    found = evaluate(tied, qrels, names)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(tied)
    for name in names:
        expected = [theirs[q][name] if q in theirs else 0.0 for q in found.qid.tolist()]
        assert found.values[name] == pytest.approx(expected, abs=1e-6), name
    assert found.settings["convention"] == "trec"
    assert evaluate(tied, qrels, ["P_5", "p@5"]).settings["convention"] == "mixed"
    assert evaluate(tied, qrels, "p@5").settings["convention"] == "rankloop"


def test_a_name_of_trec_eval_without_its_cut_off_is_not_known():
    for name in ("P", "ndcg_cut", "Rprec_5"):
        if name != "P":
            with pytest.raises(ValueError, match="unknown metric"):
                metric(name)
    assert metric("P").k is None  # our own p, over the whole list


@pytest.mark.parametrize("seed", range(3))
def test_trec_convention_breaks_ties_as_trec_eval_does(seed):
    run, qrels = random_run(seed)
    tied = {q: {d: float(s // 4) for d, s in documents.items()} for q, documents in run.items()}
    names = {"map": "map", "mrr": "recip_rank", "ndcg@5": "ndcg_cut_5"}
    found = evaluate(tied, qrels, list(names), convention="trec")
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "recip_rank", "ndcg_cut.5"}).evaluate(tied)
    for ours, name in names.items():
        expected = [theirs[q][name] if q in theirs else 0.0 for q in found.qid.tolist()]
        assert found.values[ours] == pytest.approx(expected, abs=1e-9)
    rows = [(q, d, label, tied.get(q, {}).get(d, -1.0)) for q in qrels for d, label in qrels[q].items()]
    data = RankingDataset(
        np.zeros((len(rows), 1)), [max(0, row[2]) for row in rows], [row[0] for row in rows],
        docid=[row[1] for row in rows],
    )  # fmt: skip
    everything = {q: {d: score for other, d, _, score in rows if other == q} for q in qrels}
    by_row = evaluate([row[3] for row in rows], data, "map", convention="trec")
    assert by_row.mean == pytest.approx(evaluate(everything, qrels, "map", convention="trec").mean)


@pytest.mark.parametrize("convention", ["lightgbm", "xgboost", "catboost", "sklearn", "trec"])
def test_every_convention_has_usual_metrics(convention):
    found = evaluate(SCORES, SMALL, convention=convention)
    assert "ndcg@10" in found.names
    assert f"convention {convention}" in repr(found)


def test_lightgbm_counts_blank_lists_as_perfect():
    ours = evaluate(SCORES, SMALL, "ndcg@10")
    theirs = evaluate(SCORES, SMALL, "ndcg@10", convention="lightgbm")
    assert theirs.left_out == {"ndcg@10": 0}
    assert theirs.mean["ndcg@10"] == pytest.approx((2 * ours.mean["ndcg@10"] + 1) / 3)
    assert theirs.per_query["ndcg@10"][1] == 1.0
    light = dataset(SMALL.y, SMALL.offsets, query_weight=[0.1, 0.1, 0.1])
    assert evaluate(SCORES, light, "ndcg@10").mean == pytest.approx(ours.mean)
    assert evaluate(SCORES, light, "ndcg@10", convention="lightgbm").mean["ndcg@10"] > 3  # as it prints


def test_what_was_missed_and_what_is_unknown_is_told():
    run, qrels = random_run(0)
    found = evaluate(run, qrels, "ndcg@10")
    assert found.n_queries == 20
    assert "judged queries without a result in the run: 4 (they found nothing)" in repr(found)
    assert "queries of the run without judgments: 1 (left out)" in repr(found)
    assert "retrieved documents without judgment: " in repr(found)
    assert found.left_out["ndcg@10"] == 3


def test_recall_bases_come_from_the_judgments():
    # Two relevant documents, one retrieved first: a perfect short list is not a perfect answer.
    found = evaluate({"q": {"a": 1.0}}, {"q": {"a": 1, "b": 1}}, ["map", "ndcg"])
    assert found.mean["map"] == 0.5
    assert found.mean["ndcg"] == pytest.approx(1 / (1 + 1 / math.log2(3)))


# what may rank


class Ranker:
    def predict(self, X):
        return X[:, 0]


class ListRanker:
    needs_lists = True

    def predict(self, data):
        return np.arange(data.n_documents) - data.offsets[data.row_query]


def test_anything_with_predict_ranks():
    data = RankingDataset([[1.0], [2.0], [3.0], [0.0]], [0, 1, 0, 1], [1, 1, 2, 2])
    assert evaluate(Ranker(), data, "mrr").mean["mrr"] == 0.75
    assert evaluate(ListRanker(), data, "mrr").mean["mrr"] == 1.0


def test_a_column_of_scores_is_scores():
    assert evaluate(np.array(SCORES)[:, None], SMALL, "mrr").mean["mrr"] == 0.75


# what is asked for


def test_usual_metrics():
    assert evaluate(SCORES, SMALL).names == ("ndcg@10", "map", "mrr", "err@10")
    assert evaluate([1.0, 2.0], dataset([0, 1], [0, 2])).names == ("ndcg@10", "map", "mrr")


def test_ties_and_blank_lists_as_asked():
    data = dataset([1, 0, 0, 0], [0, 2, 4])
    tied = [1.0, 1.0, 1.0, 1.0]
    assert evaluate(tied, data, "mrr").mean["mrr"] == 0.75
    assert evaluate(tied, data, "mrr", ties="stable").mean["mrr"] == 1.0
    assert evaluate(tied, data, "mrr", ties="worst").mean["mrr"] == 0.5
    assert evaluate(tied, data, "mrr", ties="worst", empty="one").mean["mrr"] == 0.75
    both = evaluate(tied, data, ["mrr", "mrr(ties=worst)"], ties="stable")
    assert both.mean == {"mrr": 1.0, "mrr(ties=worst)": 0.5}
    assert both.settings["ties"] == "mixed"


# how it shows


def test_table():
    assert repr(evaluate(SCORES, SMALL, ["mrr"])).splitlines() == [
        "metric    mean     95 % interval  queries  left out",
        "mrr     0.7500  [0.0103, 0.9988]        2         1",
        "convention rankloop, ties average, empty nan",
        "a rough interval of mrr: fewer than 15 queries differ from the most common value",
    ]


def test_to_dict_is_strict_json():
    told = json.loads(json.dumps(evaluate(SCORES, SMALL, ["ndcg@10"]).to_dict(), allow_nan=False))
    assert list(told) == ["queries", "confidence", "convention", "ties", "empty", "metrics", "notes"]
    assert list(told["metrics"]["ndcg@10"]) == ["mean", "low", "high", "queries", "left_out"]
    blank = evaluate([1.0], dataset([0], [0, 1]), "map").to_dict()["metrics"]["map"]
    assert blank == {"mean": None, "low": None, "high": None, "queries": 0, "left_out": 1}


def test_per_query_frame():
    frame = evaluate(SCORES, SMALL, ["mrr"]).per_query
    assert frame.columns == ["qid", "mrr"]
    assert frame["mrr"].to_list() == pytest.approx([1.0, np.nan, 0.5], nan_ok=True)
    weighted = dataset(SMALL.y, SMALL.offsets, query_weight=[1, 2, 3])
    assert evaluate(SCORES, weighted, ["mrr"]).per_query["weight"].to_list() == [1, 2, 3]


def test_html_shows_names_as_text():
    found = Evaluation({"<script>x</script>": np.array([0.5, 1.0])}, np.array(["a", "b"]), notes=["<b>"])
    assert "<script" not in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    assert "&lt;script&gt;" in found._repr_html_()


# rows that were put in order


def test_a_column_of_a_mixed_table_is_no_ranking_of_the_data_set():
    """Its rows are in another order: the figure would be wrong, and nobody would know."""
    import polars

    from rankloop.data import from_frame

    table = polars.DataFrame(
        {"qid": ["a", "b", "a", "b"], "label": [1, 0, 0, 1], "bm25": [2.0, 1.0, 1.0, 2.0]}
    )
    for column in (table["bm25"], pytest.importorskip("pandas").Series(table["bm25"].to_list())):
        with pytest.raises(ValueError, match="a column of the table may be in another order; sort the table"):
            evaluate(column, from_frame(table), "ndcg")
    ordered = table.sort("qid", maintain_order=True)
    assert evaluate(ordered["bm25"], from_frame(ordered), "ndcg").mean == {"ndcg": 1.0}
    data = from_frame(table)
    found = evaluate(data.X[:, 0], data, "ndcg")
    assert found.mean == {"ndcg": 1.0}
    assert "scores follow the data set" in str(found)
    assert "scores follow" not in str(evaluate(ordered["bm25"].to_numpy(), from_frame(ordered), "ndcg"))


# bad input


@pytest.mark.parametrize(
    ("ranking", "said"),
    [
        ([1.0, 2.0], r"one number per row of the data set \(7\), got shape \(2,\)"),
        ([1, 2, 3, 4, np.nan, 6, 7], r"got nan in row 4 \(query 1\), 1 in all"),
        (["a"] * 7, "a ranking is one score per row, a ranker with predict, or a Run, got list"),
        (None, r"got shape \(\)|got NoneType|one number per row"),
        ({"q": {"d": 1.0}}, "the data set has no docid"),
    ],
)
def test_bad_rankings(ranking, said):
    with pytest.raises(ValueError, match=said):
        evaluate(ranking, SMALL, "ndcg@10")


def test_bad_questions():
    with pytest.raises(ValueError, match="unknown metric 'ndgc'; did you mean 'ndcg'"):
        evaluate(SCORES, SMALL, "ndgc@10")
    with pytest.raises(ValueError, match="at least one metric"):
        evaluate(SCORES, SMALL, [])
    with pytest.raises(ValueError, match="'map' is named twice"):
        evaluate(SCORES, SMALL, ["map", "mrr", "map"])
    with pytest.raises(ValueError, match="unknown ties 'avrage'; did you mean 'average'"):
        evaluate(SCORES, SMALL, "map", ties="avrage")
    with pytest.raises(ValueError, match="unknown empty 'drop'"):
        evaluate(SCORES, SMALL, "map", empty="drop")
    with pytest.raises(ValueError, match="unknown convention"):
        evaluate(SCORES, SMALL, "map", convention="ranklib")
    with pytest.raises(ValueError, match="confidence lies between 0 and 1"):
        _ = evaluate(SCORES, SMALL, "map", confidence=95).mean


def test_bad_judgments():
    with pytest.raises(ValueError, match="judgments by document need a run to judge, got list"):
        evaluate(SCORES, {"q": {"d": 1}}, "map")
    with pytest.raises(ValueError, match="judgments are a RankingDataset, a Qrels or"):
        evaluate(SCORES, [1, 0], "map")
    with pytest.raises(ValueError, match="no query of the run is judged: the run has queries such as 'q7'"):
        evaluate({"q7": {"d": 1.0}}, {"7": {"d": 1}}, "map")
    heavy = dataset([1, 0], [0, 2], item_weight=[1, 2], docid=["a", "b"])
    with pytest.raises(ValueError, match="a run has no item weights"):
        evaluate({"0": {"a": 1.0}}, heavy, "map")


def test_few_queries_that_differ_are_said():
    """Fourteen of a hundred queries are not perfect: coverage moves in steps. Fifteen are enough."""
    for wrong, said in ((0, True), (14, True), (15, False)):
        values = np.where(np.arange(100) >= 100 - wrong, 0.5, 1.0)
        found = Evaluation({"mrr": values}, np.arange(100), bounded=frozenset({"mrr"}))
        note = "a rough interval of mrr: fewer than 15 queries differ from the most common value"
        assert (note in found.table().notes) == (note in found.to_dict()["notes"]) == said
    assert not mean_of(np.array([np.nan]), np.ones(1)).few


# comparing, end to end


def test_compare_takes_what_evaluate_takes():
    data = RankingDataset([[1.0], [2.0], [3.0], [0.0]], [0, 1, 0, 1], [1, 1, 2, 2])
    compared = compare({"a": [0, 1, 0, 1], "b": Ranker()}, data, ["mrr", "map"], baseline="b", test="t")
    assert compared.rivals == ("a",)
    assert compared.verdicts["mrr"]["a"].difference == pytest.approx(0.25)
    assert compare({"a": [0, 1, 0, 1], "b": Ranker()}, data, "mrr", ties="worst").systems["a"].settings


def test_compare_bad_questions():
    systems = {"a": SCORES, "b": SCORES}
    with pytest.raises(ValueError, match="at least two systems, got 1: a"):
        compare({"a": SCORES}, SMALL)
    with pytest.raises(ValueError, match="unknown test 'student'"):
        compare(systems, SMALL, test="student")
    with pytest.raises(ValueError, match="unknown baseline 'c'"):
        compare(systems, SMALL, baseline="c")


def test_evaluating_needs_neither_polars_nor_rich():
    probe = (
        "import sys\n"
        "for name in ('polars', 'rich', 'typer', 'lightgbm', 'zstandard', 'sklearn'):\n"
        "    sys.modules[name] = None\n"
        "from rankloop.metrics import compare, evaluate\n"
        "qrels = {'q': {'a': 1}, 'r': {'b': 1}}\n"
        "run = {'q': {'a': 2.0, 'b': 1.0}, 'r': {'a': 2.0, 'b': 1.0}}\n"
        "print(evaluate(run, qrels, 'mrr'), compare({'a': run, 'b': run}, qrels, 'mrr'))\n"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "0.7500" in done.stdout
