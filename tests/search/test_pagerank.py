import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.search import link_signals, pagerank, url_depth, url_length


def closed_form(source, target, n, damping, jump):
    """The stationary distribution, from a dense linear system."""
    P = np.zeros((n, n))
    for a, b in zip(source, target, strict=True):
        P[a, b] += 1
    out = P.sum(1)
    P = np.where(out[:, None] > 0, P / np.maximum(out, 1)[:, None], jump[None, :])
    rank = np.linalg.solve(np.eye(n) - damping * P.T, (1 - damping) * jump)
    return rank / rank.sum()


LINKS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20)


@given(LINKS, st.floats(0, 0.95), st.lists(st.floats(0.1, 1), min_size=6, max_size=6))
def test_equal_to_the_closed_form(links, damping, personal):
    source, target = [a for a, _ in links], [b for _, b in links]
    jump = np.array(personal) / sum(personal)
    found = pagerank(source, target, 6, damping=damping, personal=personal)
    np.testing.assert_allclose(found, closed_form(source, target, 6, damping, jump), atol=1e-10)
    assert found.sum() == pytest.approx(1)


def test_by_hand():
    # two pages that link to a third: r2 = (1 + 2d) r0 + ..., all mass jumps evenly from the dangling one
    d = 0.85
    rank = pagerank([0, 1], [2, 2], 3)
    assert rank[2] / rank[0] == pytest.approx(1 + 2 * d)


def test_weights_and_personal_mappings():
    np.testing.assert_allclose(
        pagerank([0, 0], [1, 2], 3, weight=[2, 1]), pagerank([0, 0, 0], [1, 1, 2], 3), atol=1e-12
    )
    alone = pagerank([], [], 3, personal={1: 2.0})
    np.testing.assert_allclose(alone, [0, 1, 0])


@pytest.mark.parametrize(
    "bad",
    [
        {"source": [0], "target": [5], "n": 3},
        {"source": [0.5], "target": [1], "n": 3},
        {"source": [0, 1], "target": [1], "n": 3},
        {"source": [0], "target": [1], "n": 3, "damping": 1.0},
        {"source": [0], "target": [1], "n": 3, "weight": [-1]},
        {"source": [0], "target": [1], "n": 3, "personal": [0, 0, 0]},
        {"source": [], "target": [], "n": 0},
    ],
)
def test_bad_input_says_so(bad):
    with pytest.raises(ValueError):
        pagerank(**bad)


def test_link_signals():
    signals = link_signals(["a", "b", "c"], {"a": ["b", "b", "a", "away"], "c": ["b"], "stranger": ["a"]})
    assert signals.inlinks.tolist() == [0, 2, 0]
    assert signals.outlinks.tolist() == [2, 0, 1]
    assert signals.pagerank.argmax() == 1
    assert len(link_signals([], {}).pagerank) == 0


def test_addresses():
    assert url_depth("example.org") == 1
    assert url_depth("https://example.org//a//b/") == 2
    assert url_length("") == 0
