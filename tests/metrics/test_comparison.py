import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop._ratio import ratio
from rankloop.metrics.results.comparison import Comparison
from rankloop.metrics.results.evaluation import Evaluation
from rankloop.metrics.results.significance import paired_t


def evaluation(values, *, name="ndcg@10", qid=None, **fields):
    values = np.array(values, float)
    return Evaluation({name: values}, np.arange(len(values)) if qid is None else np.array(qid), **fields)


def by_hand(**fields):
    """Ten queries: seven better by 0.1, one worse by 0.3, one the same, one blank."""
    old = np.array([0.5] * 9 + [np.nan])
    new = old + np.array([0.1] * 7 + [-0.3, 0.0, 0.0])
    return Comparison({"old": evaluation(old), "new": evaluation(new)}, "old", **fields)


def test_by_hand():
    verdict = by_hand(test="t").verdicts["ndcg@10"]["new"]
    assert verdict.difference == pytest.approx(0.4 / 9)
    assert (verdict.wins, verdict.losses, verdict.ties, verdict.queries) == (7, 1, 1, 9)
    expected = paired_t(np.array([0.6] * 7 + [0.2, 0.5]), np.full(9, 0.5))
    assert (verdict.low, verdict.high) == pytest.approx((expected.low, expected.high))
    assert verdict.p_value == verdict.p_holm == pytest.approx(expected.p_value)


def test_randomization_by_hand():
    # Of the 2^8 swaps of seven 0.1 and one 0.3, |sum| >= 0.4 when with +0.3: sum of seven signs >= 1
    # (64 ways), or with -0.3: sum >= 7 (1 way); twice for both signs: 130 of 256.
    assert by_hand().verdicts["ndcg@10"]["new"].p_value == 130 / 256


def test_most_changed_queries_come_first():
    first = by_hand().most_changed(n=2)
    assert [change.qid for change in first] == [7, 0]
    assert first[0].difference == pytest.approx(-0.3)
    assert len(by_hand().most_changed(n=100)) == 8  # the unchanged and the blank are not named


def test_holm_corrects_over_the_systems():
    rng = np.random.default_rng(0)
    base = rng.random(30)
    systems = {"base": evaluation(base)}
    systems |= {f"s{i}": evaluation(base + rng.normal(0.02 * i, 0.05, 30)) for i in range(4)}
    verdicts = Comparison(systems, "base", "t").verdicts["ndcg@10"]
    raw = {name: verdict.p_value for name, verdict in verdicts.items()}
    smallest = min(raw, key=raw.get)
    assert verdicts[smallest].p_holm == pytest.approx(min(1, 4 * raw[smallest]))
    assert all(verdict.p_holm >= verdict.p_value for verdict in verdicts.values())
    assert "corrected by Holm over the 4 systems for each metric" in repr(Comparison(systems, "base", "t"))


def test_query_weights_decide_the_difference():
    weight = np.array([3, 1], np.float32)
    systems = {
        "a": evaluation([0.0, 1.0], query_weight=weight),
        "b": evaluation([1.0, 0.0], query_weight=weight),
    }
    assert Comparison(systems, "a").verdicts["ndcg@10"]["b"].difference == pytest.approx(0.5)


def test_less_is_a_win_where_lower_is_better():
    lower = frozenset({"arp"})
    systems = {
        "a": evaluation([3.0, 3.0, 3.0], name="arp", lower_is_better=lower),
        "b": evaluation([2.0, 1.0, 4.0], name="arp", lower_is_better=lower),
    }
    compared = Comparison(systems, "a")
    assert compared.verdicts["arp"]["b"][5:8] == (2, 1, 0)
    assert "**2.3333**" in compared.to_markdown()


def test_all_blank_lists_are_no_proof():
    systems = {"a": evaluation([np.nan, np.nan]), "b": evaluation([np.nan, np.nan])}
    compared = Comparison(systems, "a")
    assert compared.verdicts["ndcg@10"]["b"].queries == 0
    assert compared.to_dict()["verdicts"]["ndcg@10"]["b"]["difference"] is None
    assert "nan" in repr(compared)
    assert "| b |" in compared.to_markdown()


def test_to_dict_is_strict_json():
    told = json.loads(json.dumps(by_hand().to_dict(), allow_nan=False))
    assert set(told) == {
        "baseline", "test", "seed", "confidence", "systems", "verdicts", "most_changed"
    }  # fmt: skip
    assert set(told["verdicts"]["ndcg@10"]["new"]) == {
        "difference", "low", "high", "p_value", "p_holm", "wins", "losses", "ties", "queries"
    }  # fmt: skip
    assert told["systems"]["old"]["metrics"]["ndcg@10"]["left_out"] == 1
    few = Comparison({"a": evaluation([0.1]), "b": evaluation([0.2])}, "a").to_dict()
    assert few["verdicts"]["ndcg@10"]["b"]["low"] is None  # one query bounds nothing


def test_per_query_frame():
    frame = by_hand().per_query
    assert frame.columns == ["system", "qid", "ndcg@10"]
    assert frame["system"].to_list() == ["old"] * 10 + ["new"] * 10


def test_tables_for_papers():
    old = evaluation(np.linspace(0.1, 0.5, 20))
    new = evaluation(np.linspace(0.1, 0.5, 20) + np.tile([0.1, 0.2], 10))
    compared = Comparison({"bm25": old, "my_ltr & co": new}, "bm25", "t")
    assert compared.to_markdown().splitlines()[:4] == [
        "| system | ndcg@10 |",
        "| --- | ---: |",
        "| bm25 | 0.3000 |",
        "| my_ltr & co | **0.4500†** |",
    ]
    assert r"my\_ltr \& co & \textbf{0.4500$^{\dagger}$} \\" in compared.to_latex()
    assert compared.to_latex().startswith("\\begin{tabular}{lr}\n\\toprule")


def test_html_shows_any_name_as_text():
    evil = "<script>alert(1)</script>"
    systems = {"a": evaluation([0.1, 0.2], qid=[evil, "q2"]), evil: evaluation([0.9, 0.3], qid=[evil, "q2"])}
    page = Comparison(systems, "a")._repr_html_()
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 3  # the system, in its row and its note, and the query


def test_unknown_names_get_the_nearest():
    with pytest.raises(ValueError, match="unknown system 'nwe'; did you mean 'new'"):
        by_hand().most_changed("nwe")
    with pytest.raises(ValueError, match="unknown metric 'ndcg@1'; did you mean 'ndcg@10'"):
        by_hand().most_changed(metric="ndcg@1")


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12))
def test_wins_losses_and_ties_are_all_queries(pairs):
    a, b = np.array(pairs).T / 4
    there = Comparison({"a": evaluation(a), "b": evaluation(b)}, "a", "t").verdicts["ndcg@10"]["b"]
    back = Comparison({"b": evaluation(b), "a": evaluation(a)}, "b", "t").verdicts["ndcg@10"]["a"]
    assert there.wins + there.losses + there.ties == there.queries == len(pairs)
    assert (there.wins, there.losses) == (back.losses, back.wins)
    assert there.p_value == pytest.approx(back.p_value)


def test_a_difference_on_few_queries_is_said():
    """One query of twenty makes the difference: a symmetric interval is too narrow, and the table says so."""
    old = np.full(20, 0.5)
    few, even = old.copy(), old + np.tile([0.05, -0.03], 10)
    few[0] = 1.0
    alike = old + np.where(np.arange(20) < 14, 0.05 * (-1.0) ** np.arange(20), 0.0)
    assert not abs(ratio(alike - old, np.ones(20)).skew) > 0.2
    named = {"old": old, "few": few, "even": even, "alike": alike, "all": old + 0.1}
    systems = {name: evaluation(values) for name, values in named.items()}
    for test, told in (("randomization", True), ("t", True), ("bootstrap", False)):
        notes = " ".join(Comparison(systems, "old", test=test).table().notes)
        said = "a few queries make most of the difference by ndcg@10 of few, ndcg@10 of alike:"
        assert (said in notes) == told


def test_too_few_queries_for_an_interval_are_said():
    """Three queries allow no 95 % interval by randomisation: it is not called narrow."""
    systems = {"old": evaluation(np.array([0.1, 0.2, 0.3])), "new": evaluation(np.array([0.2, 0.3, 0.9]))}
    found = Comparison(systems, "old")
    assert np.isinf(found.verdicts["ndcg@10"]["new"].low)
    assert "3 queries are too few for an interval with confidence 0.95" in found.table().notes
    assert "narrow" not in str(found)
