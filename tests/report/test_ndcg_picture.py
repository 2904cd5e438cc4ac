"""The picture is the metric: areas sum to its DCG, and its title is its value."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.metrics import ndcg
from rankloop.report import ndcg_picture
from rankloop.report.ndcg_picture import _discount, _order, _shared

SVG = "{http://www.w3.org/2000/svg}"


def lists():
    one = st.tuples(st.integers(0, 3), st.integers(0, 4))
    return st.lists(one, min_size=1, max_size=12)


@given(lists(), st.integers(1, 12), st.sampled_from(["exp2", "linear"]))
def test_the_number_is_that_of_the_metric_with_ties_too(pairs, k, gain):
    scores, labels = (np.array(part, float) for part in zip(*pairs, strict=True))
    value = ndcg(scores, labels, [0, len(scores)], k=k, gain=gain)[0]
    title = ndcg_picture(scores, labels, k=k, gain=gain).title
    assert title == (f"NDCG@{k} = {value:.3f}" if np.isfinite(value) else f"NDCG@{k}: nothing is relevant")


def test_areas_by_hand():
    drawn = ndcg_picture([3.0, 2.0, 1.0], [0, 1, 2], k=3).inline(600)
    bars = [
        element.attrib
        for element in ET.fromstring(drawn).iter(f"{SVG}rect")
        if element.attrib["class"] in ("s1", "s3")
    ]
    area = [(float(one["width"]) + 1.5) * float(one["height"]) for one in bars]
    got, best = 1 / np.log2(3) + 3 / 2, 3 + 1 / np.log2(3)
    assert sum(area[:3]) / sum(area[3:]) == pytest.approx(got / best, rel=1e-3)


def test_equal_scores_share():
    shared = _shared(np.array([1.0, 1.0, 2.0]), np.array([7.0, 0.0, 1.0]))
    assert shared.tolist() == [3.5, 3.5, 1.0]
    order = _order(
        "as ranked", np.array([-1.0, -1.0, -2.0]), shared, np.array([3.0, 0, 1]), ["a", "b", "c"], 2
    )
    assert order.documents == ["c", "a"]
    assert "share their gains" in ndcg_picture([1.0, 1.0, 2.0], [3, 0, 1]).svg
    assert "share their gains" not in ndcg_picture([1.0, 1.0, 2.0], [1, 1, 3]).svg
    assert order.dcg == pytest.approx(1 + 3.5 * _discount(2)[1])


def test_documents_below_the_cut_off_are_counted():
    drawn = ndcg_picture([3.0, 2.0, 1.0], [0, 0, 1], k=2).svg
    assert "1 relevant document is below rank 2." in drawn


@pytest.mark.parametrize(
    ("scores", "labels", "options", "message"),
    [
        ([1.0], [1, 2], {}, "1 scores, 2 labels and 1 documents"),
        ([np.nan], [1], {}, "scores must be finite"),
        ([1.0], [-1], {}, "labels finite and >= 0"),
        ([1.0], [1], {"k": 0}, "k must be at least 1"),
        ([1.0], [1], {"gain": "exp"}, "unknown gain 'exp'"),
        ([[1.0]], [1], {}, "one-dimensional"),
        (["a"], [1], {}, "scores must be numbers"),
    ],
)
def test_wrong_use(scores, labels, options, message):
    with pytest.raises(ValueError, match=message):
        ndcg_picture(scores, labels, **options)


def test_what_the_list_misses_counts_in_the_best_order():
    """By hand: 3 first of (3, 3) has a DCG of 7 of the best 7 + 7 / log2(3)."""
    assert ndcg_picture([1.0], [3], missed=[3]).title == f"NDCG@10 = {7 / (7 + 7 / np.log2(3)):.3f}"
    assert "not in the list" in ndcg_picture([1.0], [3], missed=[3]).inline(600)
    with pytest.raises(ValueError, match="missed labels must be finite"):
        ndcg_picture([1.0], [3], missed=[-1])
