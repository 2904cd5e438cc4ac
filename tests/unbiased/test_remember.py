"""Clicks learned by heart: the posterior by hand and in plain loops, and whose voice counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from rankloop.clicks import PBM, ClickLog, simulate
from rankloop.clicks.user import attraction_by_grade, power_law
from rankloop.data import RankingDataset, synthetic
from rankloop.metrics import ndcg
from rankloop.unbiased import remember

CURVE = 1.0 / np.arange(1, 11)


def pages(clicked, users, *, query="q", documents=("a", "b", "c")):
    """Pages of one query with all documents in order; of each the index that was clicked, or None."""
    log = {"session": [], "query": [], "document": [], "position": [], "click": [], "user": []}
    for at, (one, who) in enumerate(zip(clicked, users, strict=True)):
        for rank, document in enumerate(documents):
            row = (f"{query}{at}", query, document, rank + 1, int(one == rank), who)
            for name, value in zip(log, row, strict=True):
                log[name].append(value)
    return ClickLog(**log)


def lists(queries=("q",), documents=("a", "b", "c")):
    qid = [one for one in queries for _ in documents]
    docid = [*documents] * len(queries)
    return RankingDataset(np.zeros((len(qid), 1)), np.zeros(len(qid)), qid, docid=docid)


def in_plain_loops(chance, cells, strength, steps):
    """`cells` has (document, examination, impressions, clicks)."""
    found = list(chance)
    for _ in range(steps):
        liked, passed = [0.0] * len(chance), [0.0] * len(chance)
        for document, seen, shown, clicks in cells:
            liked[document] += clicks
            missed = seen * (1 - found[document]) / (1 - seen * found[document])
            passed[document] += (shown - clicks) * missed
        found = [
            (strength * p + c) / (strength + c + s) for p, c, s in zip(chance, liked, passed, strict=True)
        ]
    return found


@given(
    clicked=st.lists(st.sampled_from([None, 0, 1, 2]), min_size=1, max_size=12),
    strength=st.sampled_from([2.0, 8.0, 32.0]),
)
def test_the_posterior_in_plain_loops(clicked, strength):
    log, data = pages(clicked, [f"p{at}" for at in range(len(clicked))]), lists()
    scores = np.array([1.0, 0.0, -1.0])
    found = remember(log, data, scores, propensity=CURVE, strength=strength)
    from rankloop.unbiased.estimation.evidence import evidence
    from rankloop.unbiased.remember import STEPS, _Prior

    seen = evidence(log, CURVE, data)
    prior = _Prior.of(scores, seen)
    chance, _ = prior.posterior(seen, np.inf)
    cells = [(d, CURVE[d], len(clicked), clicked.count(d)) for d in range(3)]
    slow = np.clip(in_plain_loops(chance.tolist(), cells, strength, STEPS), 1e-6, 1 - 1e-6)
    shift = (logit(slow) - logit(chance)) / prior.weight
    asked = np.where(shift > 0, [clicked.count(d) > 0 for d in range(3)], True)
    np.testing.assert_allclose(found.shift, np.where(asked, shift, 0.0), atol=1e-8)


def test_a_click_where_few_look_says_more():
    """By hand: three clicks in three views at rank 3 lift more than three clicks in three at rank 1."""
    scores = np.zeros(3)
    low, high = (
        remember(pages([at] * 3, ["x", "y", "z"]), lists(), scores, propensity=CURVE, strength=4.0).shift
        for at in (2, 0)
    )
    assert low[2] > 0 > low[0]
    assert high[0] > 0
    assert abs(low[0]) > abs(high[2]), (
        "who passes over rank 1 has seen it, who passes over rank 3 perhaps not"
    )


def test_a_document_rises_with_enough_voices_only():
    log, data, scores = pages([2] * 4, ["x", "x", "x", "y"]), lists(), np.array([1.0, 0.5, 0.0])
    one, two, three = (
        remember(log, data, scores, propensity=CURVE, strength=4.0, voices=voices).shift
        for voices in (1, 2, 3)
    )
    assert one[2] > 0
    np.testing.assert_array_equal(one, two)
    assert not three.any()
    same = remember(log, data, scores, propensity=CURVE, strength=4.0, voices=2, origins=np.zeros(4, int))
    assert not same.shift.any(), "one address range is one voice"


def test_other_queries_stay_as_they_are():
    log = pages([2] * 5, list("vwxyz"))
    both = lists(("q", "r"))
    found = remember(log, both, np.tile([1.0, 0.5, 0.0], 2), propensity=CURVE, strength=4.0)
    assert found.shift[:3].any()
    assert not found.shift[3:].any()


def world(seed, attraction=None):
    data = synthetic(n_queries=60, docs_per_query=10, n_features=4, seed=seed)
    scores = data.X[:, 0].astype(np.float64)
    if attraction is not None:
        data = data.replace(y=np.digitize(scores, attraction).astype(np.float32))
    person = PBM(examination=power_law(), attraction=attraction_by_grade())
    log = simulate(data, logging_policy=scores, user=person, sessions=6000, seed=seed)
    return data, scores, log


@pytest.mark.parametrize("seed", range(3))
def test_what_is_remembered_is_what_people_want(seed):
    data, scores, log = world(seed)
    found = remember(log, data, scores, propensity=CURVE)
    before, after = (ndcg(one, data.y, data.offsets, k=10) for one in (scores, scores + found.shift))
    assert np.nanmean(after) > np.nanmean(before) + 0.1
    assert found.costs[found.strength] < found.costs[np.inf]


@pytest.mark.parametrize("seed", range(3))
def test_memory_does_little_harm_where_the_scores_know_it_all(seed):
    data, scores, log = world(seed, attraction=[-1.0, 0.0, 1.0, 2.0])
    found = remember(log, data, scores, propensity=CURVE)
    before, after = (ndcg(one, data.y, data.offsets, k=10) for one in (scores, scores + found.shift))
    assert np.nanmean(after) > np.nanmean(before) - 0.01


def test_scores_that_say_nothing_still_have_a_scale():
    found = remember(pages([2] * 9, list("qrstuvxyz")), lists(), np.zeros(3), propensity=CURVE)
    assert np.isfinite(found.shift).all()
    assert expit(found.shift[2]) > 0.5


def test_wrong_arguments_are_refused():
    log = pages([0], ["x"])
    with pytest.raises(ValueError, match=r"one finite number per row of the data set \(3\)"):
        remember(log, lists(), [1.0], propensity=CURVE)
    with pytest.raises(ValueError, match="voices is a number of people"):
        remember(log, lists(), np.zeros(3), propensity=CURVE, voices=0)


def test_one_person_is_not_split_in_halves():
    found = remember(pages([2] * 3, ["x"] * 3), lists(), np.zeros(3), propensity=CURVE)
    assert found.strength == np.inf
    assert not found.shift.any()
