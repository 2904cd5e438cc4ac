"""Metrics of lists with documents that nobody judged: slow twins, trec_eval, worked numbers, bad input."""

import json
from itertools import chain, groupby, pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from rankloop import RankingDataset, metrics
from rankloop.cli import app
from rankloop.metrics import evaluate
from strategies import ragged_lists

MARKS = {"bpref": (1, 0), "infap": (1, 0, -1), "infndcg": (1, 0, -1), "judged_share": (1, 0, -1)}


def naive_judged_share(ranking, k):
    return sum(mark == 1 for _, mark in ranking[:k]) / (len(ranking) if k is None else k)


def naive_bpref(ranking, k):
    known = [label for label, mark in ranking if mark == 1]
    return metrics.bpref(-np.arange(len(known)), known, [0, len(known)])[0]  # it reads judged documents only


def naive_infap(ranking, k):
    total = 0.0
    for at, (label, mark) in enumerate(ranking):
        if mark == 1 and label >= 1:
            above = ranking[:at]
            good = sum(m == 1 and other >= 1 for other, m in above)
            bad = sum(m == 1 and other < 1 for other, m in above)
            waiting = sum(m == 0 for _, m in above)
            total += (1 + (good + bad + waiting) * (good + 1e-5) / (good + bad + 2e-5)) / (at + 1)
    return total / sum(m == 1 and label >= 1 for label, m in ranking)


def naive_infndcg(ranking, k):
    """Ranks of the best order cut into small steps, each with the gain of the label that stands there."""
    k = len(ranking) if k is None else k
    known = sorted((label for label, mark in ranking if mark == 1), reverse=True)
    rate = sum(mark >= 0 for _, mark in ranking) / len(known)
    made = 0.0
    for rank, (label, mark) in enumerate(ranking[:k], 1):
        if mark == 1:
            made += rate * (2**label - 1) / np.log2(1 + rank)
    best, edges = 0.0, sorted({*range(k + 1), *(i * rate for i in range(len(known) + 1))})
    for low, high in pairwise(edge for edge in edges if edge <= k + 1e-9):
        middle = (low + high) / 2
        at = int(middle / rate)
        if at < len(known):
            best += (2 ** known[at] - 1) * (high - low) / np.log2(2 + int(middle))
    return made / best


def orders(scores, ties):
    rows = sorted(range(len(scores)), key=lambda i: -scores[i])
    if ties == "stable":
        return [rows]
    blocks = [list(block) for _, block in groupby(rows, key=lambda i: scores[i])]
    return [list(chain(*made)) for made in product(*(permutations(block) for block in blocks))]


@pytest.mark.parametrize("name", MARKS)
@pytest.mark.parametrize("ties", ["average", "stable"])
@settings(max_examples=40)
@given(data=ragged_lists(max_lists=2, max_length=5), k=st.none() | st.integers(1, 6), draw=st.data())
def test_it_is_its_slow_twin_over_all_tie_breaks(name, ties, data, k, draw):
    scores, labels, offsets = data
    marks = np.array([draw.draw(st.sampled_from(MARKS[name])) for _ in labels], np.int8)
    cut = {"k": k} if name in ("infndcg", "judged_share") else {}
    made = getattr(metrics, name)(scores, labels, offsets, judged=marks, ties=ties, **cut)
    for q, (a, b) in enumerate(pairwise(offsets)):
        pairs = list(zip(labels[a:b].tolist(), marks[a:b].tolist(), strict=True))
        if name == "judged_share":
            nothing = not pairs
        else:
            nothing = not any(label >= 1 and mark == 1 for label, mark in pairs)
        if nothing:
            assert np.isnan(made[q])
            continue
        twin = globals()[f"naive_{name}"]
        found = [twin([pairs[i] for i in order], k) for order in orders(scores[a:b], ties)]
        np.testing.assert_allclose(made[q], np.mean(found), rtol=1e-9, atol=1e-12)


def test_trec_eval_agrees_on_bpref_and_infap():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(1)
    runs, qrels = {}, {}
    for query in range(500):
        shown = rng.permutation(40)[: rng.integers(1, 30)]
        known = rng.permutation(40)[: rng.integers(2, 30)]
        runs[f"q{query}"] = {f"d{d}": float(rng.integers(0, 9)) for d in shown}
        qrels[f"q{query}"] = {f"d{d}": int(rng.choice([-1, 0, 1, 2], p=[0.3, 0.4, 0.2, 0.1])) for d in known}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"bpref", "infAP"}).evaluate(runs)
    ours = evaluate(runs, qrels, ["bpref", "infap"], convention="trec").per_query
    for name, peer in {"bpref": "bpref", "infap": "infAP"}.items():
        expected = [theirs[query][peer] for query in runs]
        np.testing.assert_allclose(ours[name], expected, rtol=0, atol=1e-7, err_msg=name)


def test_a_run_knows_from_its_qrels_what_was_judged():
    run = {"q": {"a": 4.0, "x": 3.0, "b": 2.0, "y": 1.0}}
    qrels = {"q": {"a": 0, "b": 1, "c": 1, "y": -1}}
    found = evaluate(run, qrels, ["judged@2", "judged@4", "bpref", "mrr"])
    assert found.mean == {"judged@2": 0.5, "judged@4": 0.5, "bpref": 0.0, "mrr": 1 / 3}
    condensed = evaluate(run, qrels, ["mrr", "recall"], condensed=True)
    assert condensed.mean == {"mrr": 0.5, "recall": 0.5}  # x and y are gone, c is still missing
    assert "condensed lists: 2 documents without judgment taken out" in str(condensed)


def test_the_command_condenses(tmp_path):
    (tmp_path / "a.run").write_text("q 0 x 1 3.0 r\nq 0 b 2 2.0 r\n")
    (tmp_path / "qrels.txt").write_text("q 0 a 0\nq 0 b 1\n")
    command = ["evaluate", str(tmp_path / "a.run"), str(tmp_path / "qrels.txt"), "-m", "mrr", "--json"]
    for more, expected in ([], 0.5), (["--condensed"], 1.0):
        done = CliRunner().invoke(app, [*command, *more])
        assert json.loads(done.output)["metrics"]["mrr"]["mean"] == expected


def test_marks_of_rows_reach_the_metrics():
    data = RankingDataset([[0.0]] * 4, [0, 0, 1, 1], qid=[1] * 4)
    scores = [4.0, 3.0, 2.0, 1.0]
    judged = [False, True, True, True]
    assert evaluate(scores, data, ["bpref"], judged=judged).mean == {"bpref": 0.0}
    assert evaluate(scores, data, ["mrr"], judged=judged, condensed=True).mean == {"mrr": 0.5}
    with pytest.raises(ValueError, match="a run takes judged from its qrels"):
        evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, "bpref", judged=[True])


def test_condensing_then_measuring_is_measuring_the_judged_part():
    rng = np.random.default_rng(0)
    scores, labels, judged = rng.normal(size=60), rng.integers(0, 3, 60), rng.random(60) < 0.5
    made = metrics.condense(scores, labels, [0, 25, 25, 60], judged=judged)
    assert made.offsets.tolist() == [0, judged[:25].sum(), judged[:25].sum(), judged.sum()]
    np.testing.assert_array_equal(made.labels, labels[judged])
    np.testing.assert_array_equal(made.kept, np.flatnonzero(judged))


def test_inferred_metrics_are_near_those_of_full_judgments():
    """Half of the pool is judged, at random: the mean over 400 samples is that of full judgments, about."""
    rng = np.random.default_rng(0)
    labels = (rng.random(60) < 0.3) * rng.integers(1, 3, 60)
    scores = rng.normal(size=60) + labels
    full = {
        name: getattr(metrics, name)(scores, labels, [0, 60])[0] for name in ("ndcg", "average_precision")
    }
    found = {"infndcg": [], "infap": []}
    for _ in range(400):
        judged = rng.permutation(60) < 30
        for name, values in found.items():
            values += getattr(metrics, name)(scores, labels, [0, 60], judged=judged).tolist()
    blind = metrics.average_precision(scores, np.where(judged, labels, 0), [0, 60])[0]
    assert np.mean(found["infndcg"]) == pytest.approx(full["ndcg"], abs=0.03)
    assert np.mean(found["infap"]) == pytest.approx(full["average_precision"], abs=0.03)
    assert blind < full["average_precision"] - 0.1  # what counting them as irrelevant would have said


@pytest.mark.parametrize(
    ("judged", "message"), [([1, 2], "got .*2"), ([True], "one mark per document"), ([np.nan, 1], "nan")]
)
def test_wrong_marks_are_refused(judged, message):
    with pytest.raises(ValueError, match=message):
        metrics.bpref([1.0, 2.0], [0, 1], [0, 2], judged=judged)


def test_pool_marks_without_a_pool_are_refused():
    with pytest.raises(ValueError, match="pool_judged comes with pool_labels"):
        metrics.bpref([1.0, 2.0], [0, 1], [0, 2], pool_judged=[True, True])


def test_a_label_without_judgment_is_not_read():
    made = metrics.bpref([2.0, 1.0], [3, 1], [0, 2], judged=[False, True])
    assert made.tolist() == metrics.bpref([2.0, 1.0], [0, 1], [0, 2], judged=[False, True]).tolist() == [1.0]


def test_a_long_tie_with_holes():
    rng = np.random.default_rng(0)
    n = 3000
    judged = rng.choice([1, 0, -1], n)
    for name in MARKS:
        made = getattr(metrics, name)(np.zeros(n), rng.integers(0, 2, n), [0, n], judged=judged)
        assert 0 < made[0] < 1.1
