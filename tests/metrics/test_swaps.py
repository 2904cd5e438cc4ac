"""Swap two documents of a ranking: every metric changes by what its plain definition says."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import NAIVE
from rankloop import metrics
from rankloop.metrics.kernels.measure import MEASURES

GAINS = ("exp2", "linear", (0.0, 1.0, 1.5, 4.0, 4.5))
CHOICES = {
    "gain": st.sampled_from(GAINS),
    "k": st.none() | st.integers(1, 10),
    "relevance_threshold": st.integers(1, 3),
    "p": st.sampled_from((0.5, 0.8, 0.95)),
}
DIVIDE_BY = {"average_precision": ("relevant", "reachable", "found"), "precision": ("k", "shown")}


# Metrics of judgments with holes and of subtopics have twins of their own.
PLAIN = {name for name, one in MEASURES.items() if not {"judged", "subtopics"} & set(one.data)}


def test_every_metric_has_a_plain_definition():
    assert set(NAIVE) == PLAIN


def options(draw, name):
    """A draw of the options that a metric has; those of a table of gains have no ERR."""
    known = MEASURES[name].options
    made = {option: draw(choice) for option, choice in CHOICES.items() if option in known}
    if "divide_by" in known:
        made["divide_by"] = draw(st.sampled_from(DIVIDE_BY[name]))
    if name == "err":
        made |= {"max_label": 4, "gain": draw(st.sampled_from(("exp2", "linear")))}
    return made


def kernel(name, rankings, pool, given):
    """One value per ranking of the same labels, from scores without ties in a shuffled order of rows."""
    n = len(rankings[0])
    offsets = np.arange(0, len(rankings) * n + 1, n)
    row = np.random.default_rng(n).permutation(n)
    labels = np.array(rankings, np.float32)[:, row].ravel()
    scores = np.tile(-np.sqrt(row + 0.5), len(rankings))
    if "pool_labels" in MEASURES[name].data:
        given = given | {
            "pool_labels": np.tile(pool, len(rankings)),
            "pool_offsets": np.arange(0, len(rankings) * len(pool) + 1, len(pool)),
        }
    return getattr(metrics, name)(scores, labels, offsets, **given)


@pytest.mark.parametrize("name", sorted(PLAIN))
@settings(max_examples=30)
@given(data=st.data())
def test_a_swap_changes_a_metric_by_its_definition(name, data):
    ranking = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=9))
    # Judged documents that the ranking does not hold count for ideals and recall.
    missing = data.draw(st.lists(st.integers(0, 4), max_size=3))
    pool = ranking + (missing if "pool_labels" in MEASURES[name].data else [])
    given = options(data.draw, name)
    made = [ranking]
    for i, j in combinations(range(len(ranking)), 2):
        swapped = list(ranking)
        swapped[i], swapped[j] = swapped[j], swapped[i]
        made.append(swapped)
    expected = [NAIVE[name](one, pool, **given) for one in made]
    expected = np.array([np.nan if value is None else value for value in expected])
    found = kernel(name, made, pool, given)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found[1:] - found[0], expected[1:] - expected[0], atol=1e-12)


@pytest.mark.parametrize("p", [0.5, 0.8])
def test_the_residual_of_rbp_is_what_relevant_documents_below_would_add(p):
    """RBP of 2,000 relevant documents, less that of the first n."""
    for n in (1, 3, 10):
        first = NAIVE["rbp"]([1] * n, [1], p=p)
        rest = NAIVE["rbp"]([1] * 2000, [1], p=p) - first
        assert metrics.rbp_residual([0, n], p=p)[0] == pytest.approx(rest, abs=1e-12)
