"""A run against judgments."""

import numpy as np
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data import Qrels, Run, judged

names = st.integers(0, 8).map(lambda i: "d" * (i % 3) + str(i))
queries = st.sampled_from(["q1", "q2", "q3", "q10"])
runs = st.dictionaries(queries, st.dictionaries(names, st.integers(-2, 2).map(float), min_size=1), min_size=1)
judgments = st.dictionaries(queries, st.dictionaries(names, st.integers(-1, 3), min_size=1), min_size=1)


@given(run=runs, qrels=judgments)
def test_the_join_is_that_of_two_dicts(run, qrels):
    both = judged(Run.from_dict(run), Qrels.from_dict(qrels))
    assert both.qid.tolist() == list(qrels)
    assert set(both.unknown) == set(run) - set(qrels)
    for i, query in enumerate(qrels):
        rows = slice(both.offsets[i], both.offsets[i + 1])
        retrieved = dict(zip(both.docid[rows].tolist(), both.scores[rows].tolist(), strict=True))
        assert retrieved == run.get(query, {})
        assert both.missing[i] == (query not in run)
        for document, label, unjudged in zip(
            both.docid[rows].tolist(), both.labels[rows], both.unjudged[rows], strict=True
        ):
            assert unjudged == (document not in qrels[query])
            assert label == max(0, qrels[query].get(document, 0))
        pool = both.pool_labels[both.pool_offsets[i] : both.pool_offsets[i + 1]]
        assert pool.tolist() == [max(0, label) for label in qrels[query].values()]


@given(run=runs, qrels=judgments)
def test_the_order_of_trec_eval(run, qrels):
    """Reciprocal rank of each document in turn tells the whole order of trec_eval."""
    both = judged(Run.from_dict(run), Qrels.from_dict(qrels)).ranked_by_trec()
    for i, query in enumerate(both.qid.tolist()):
        for rank, document in enumerate(both.docid[both.offsets[i] : both.offsets[i + 1]].tolist(), 1):
            one = pytrec_eval.RelevanceEvaluator({query: {document: 1}}, {"recip_rank"})
            assert one.evaluate({query: run[query]})[query]["recip_rank"] == 1 / rank


def test_scores_that_tie_in_single_precision_only():
    run = Run(["q"] * 3, ["a", "b", "c"], [1.0 + 1e-12, 1.0, 0.5])
    both = judged(run, Qrels(["q"], ["a"], [1]))
    assert both.docid.tolist() == ["a", "b", "c"]
    assert both.ranked_by_trec().docid.tolist() == ["b", "a", "c"]


def test_it_says_what_it_left_out():
    run = Run(["q1", "q9"], ["a", "a"], [1.0, 1.0])
    both = judged(run, Qrels(["q1", "q2"], ["b", "b"], [1, 1]))
    assert repr(both) == "JudgedRun(2 queries, 1 missing; 1 documents, 1 unjudged)"
    assert both.unknown == ("q9",)
    assert both.labels.dtype == np.float32


def test_nothing_against_something_and_something_against_nothing():
    run, qrels = Run(["q"], ["a"], [1.0]), Qrels(["p"], ["a"], [1])
    nothing = judged(Run([], [], []), qrels)
    assert nothing.missing.tolist() == [True]
    assert nothing.pool_labels.tolist() == [1.0]
    assert judged(run, qrels).unknown == ("q",)
    assert len(judged(run, Qrels([], [], [])).qid) == 0
    assert len(judged(Run([], [], []), Qrels([], [], [])).ranked_by_trec().scores) == 0
