"""Metrics of diversity: hand-worked numbers, names, and bad input (the twins are with the shared checks)."""

from math import log2

import numpy as np
import pytest

import rankloop as rl
from rankloop.metrics import alpha_ndcg, err_ia, evaluate, metric, subtopic_recall

# Clarke et al. (2008), as a small example: four documents, three subtopics.
TOPICS = [[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]]
SCORES = [4.0, 3.0, 2.0, 1.0]


def test_alpha_ndcg_by_hand():
    made = 2 + 0.5 / log2(3) + 1 / log2(4)
    best = 2 + 1 / log2(3) + 0.5 / log2(4)
    assert alpha_ndcg(SCORES, [1] * 4, [0, 4], subtopics=TOPICS)[0] == pytest.approx(made / best)
    assert alpha_ndcg(SCORES, [1] * 4, [0, 4], subtopics=TOPICS, k=1)[0] == pytest.approx(1)
    blind = 2 + 0.9 / log2(3) + 1 / log2(4)
    loose = alpha_ndcg(SCORES, [1] * 4, [0, 4], subtopics=TOPICS, alpha=0.1)[0]
    assert loose == pytest.approx(blind / (2 + 1 / log2(3) + 0.9 / log2(4)))


def test_err_ia_and_subtopic_recall_by_hand():
    first = 1 / 2 + 1 / 2 * 1 / 2 / 2  # stops at ranks 1 and 2 with probability 1/2
    assert err_ia(SCORES, [1] * 4, [0, 4], subtopics=TOPICS)[0] == pytest.approx((first + 1 / 2 + 1 / 6) / 3)
    found = [subtopic_recall(SCORES, [1] * 4, [0, 4], k=k, subtopics=TOPICS)[0] for k in (1, 2, 3)]
    np.testing.assert_allclose(found, [2 / 3, 2 / 3, 1])


def test_a_greedy_order_has_value_one():
    rng = np.random.default_rng(0)
    topics = rng.random((30, 6)) < 0.2
    left, seen, order = list(range(30)), np.zeros(6), []
    while left:
        best = max(left, key=lambda d: (0.5**seen)[topics[d]].sum())
        left.remove(best)
        order.append(best)
        seen += topics[best]
    scores = np.empty(30)
    scores[order] = -np.arange(30)
    assert alpha_ndcg(scores, np.ones(30), [0, 30], subtopics=topics)[0] == pytest.approx(1, abs=0.02)


def test_names_in_strings_and_evaluate():
    data = rl.RankingDataset([[0.0]] * 8, [1] * 8, qid=[1] * 4 + [2] * 4)
    topics = np.vstack((TOPICS, np.zeros((4, 3))))
    names = ["alpha_ndcg@10", "err_ia@10", "subtopic_recall@2", "alpha_ndcg(alpha=0.1)@3"]
    found = evaluate(np.tile(SCORES, 2), data, names, subtopics=topics)
    assert found.left_out == dict.fromkeys(names, 1)  # nothing is about anything in the second list
    assert found.mean["subtopic_recall@2"] == pytest.approx(2 / 3)
    assert metric("alpha-ndcg@5").k == 5


@pytest.mark.parametrize("name", ["alpha_ndcg", "err_ia", "subtopic_recall"])
def test_wrong_input(name):
    function = getattr(rl.metrics, name)
    with pytest.raises(ValueError, match=f"{name} needs subtopics="):
        function([1.0], [1], [0, 1])
    with pytest.raises(ValueError, match="one row per document"):
        function([1.0], [1], [0, 1], subtopics=[[1], [0]])
    with pytest.raises(ValueError, match="got -1 in row 0, subtopic 1"):
        function([1.0], [1], [0, 1], subtopics=[[1, -1]])
    with pytest.raises(ValueError, match="needs subtopics="):
        evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, name)


def test_alpha_out_of_range():
    with pytest.raises(ValueError, match="alpha is above 0"):
        alpha_ndcg([1.0], [1], [0, 1], alpha=0, subtopics=[[1]])
