"""The solver of pairs of ranks against loops, hands and a general optimiser."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from rankloop.clicks import ClickLog, aggregate
from rankloop.propensity.fitting.pairs import Edges, edges_of, solve, tied
from rankloop.propensity.harvest import compare_ranks


def naive_likelihood(edges, counts, theta):
    """AllPairs, each relevance by a fine golden search of its own."""
    total = 0.0
    for e, (low, high) in enumerate(zip(edges.low, edges.high, strict=True)):
        a, b, n = counts[e]
        ta, tb = np.exp(theta[low]), np.exp(theta[high])

        def loss(r, a=a, b=b, n=n, ta=ta, tb=tb):
            return -(
                a * np.log(ta * r)
                + (n - a) * np.log(1 - ta * r)
                + b * np.log(tb * r)
                + (n - b) * np.log(1 - tb * r)
            )

        low_r, high_r = 1e-9, (1 - 1e-9) / max(ta, tb)
        for _ in range(200):
            third = (high_r - low_r) / 3
            if loss(low_r + third) < loss(high_r - third):
                high_r -= third
            else:
                low_r += third
        total -= loss((low_r + high_r) / 2)
    return total


@given(
    st.integers(2, 4).flatmap(
        lambda k: st.tuples(
            st.just(k),
            st.lists(
                st.tuples(st.integers(1, 60), st.integers(1, 60), st.integers(0, 40)),
                min_size=k * (k - 1) // 2,
                max_size=k * (k - 1) // 2,
            ),
        )
    )
)
def test_allpairs_is_the_maximum(drawn):
    ranks, rows = drawn
    edges = edges_of(ranks, "allpairs")
    counts = np.array([[a, b, max(a, b) + rest + 1] for a, b, rest in rows], float)
    theta = solve(edges, counts[None])[0]
    assert theta[0] == 0
    best = naive_likelihood(edges, counts, theta)
    for k in range(1, ranks):
        for step in (-1e-3, 1e-3):
            other = theta.copy()
            other[k] += step
            assert naive_likelihood(edges, counts, other) <= best + 1e-9


def test_allpairs_against_a_general_optimiser():
    rng = np.random.default_rng(0)
    edges = edges_of(4, "allpairs")
    truth = np.array([1, 0.6, 0.4, 0.2])
    pages = rng.integers(200, 2000, len(edges)).astype(float)
    relevance = rng.uniform(0.2, 0.9, len(edges))
    clicks = [rng.binomial(pages.astype(int), truth[side] * relevance) for side in (edges.low, edges.high)]
    counts = np.stack([*clicks, pages], axis=1).astype(float)

    def loss(point):
        theta, r = np.append(0.0, point[:3]), point[3:]
        p = [np.exp(np.minimum(theta[side] + r, -1e-9)) for side in (edges.low, edges.high)]
        return -sum(
            np.sum(c * np.log(q) + (pages - c) * np.log1p(-q)) for c, q in zip(clicks, p, strict=True)
        )

    start = np.concatenate([np.full(3, -1.0), np.full(len(edges), -1.0)])
    found = minimize(loss, start, method="L-BFGS-B", options={"maxfun": 100_000, "ftol": 1e-15})
    np.testing.assert_allclose(solve(edges, counts[None])[0][1:], found.x[:3], atol=2e-4)


def test_pairs_with_one_product_have_relevance_of_their_own():
    """Ranks (1,6) and (2,3) share a product; with one relevance for both the curve would be wrong."""
    truth = 1 / np.arange(1, 7)
    edges = edges_of(6, "allpairs")
    relevance = np.where((edges.low == 0) & (edges.high == 5), 0.9, 0.1)
    counts = np.stack([truth[edges.low] * relevance, truth[edges.high] * relevance, np.ones(15)], axis=1)
    np.testing.assert_allclose(np.exp(solve(edges, 1e4 * counts[None])[0]), truth, rtol=1e-9)


@pytest.mark.parametrize("scheme", ["pivot", "chain"])
def test_trees_give_products_of_ratios(scheme):
    counts = np.array([[40, 20, 100], [30, 10, 90]], float)
    second = 20 / 40
    third = 10 / 30 if scheme == "pivot" else second * 10 / 30
    found = np.exp(solve(edges_of(3, scheme), counts[None])[0])
    np.testing.assert_allclose(found, [1, second, third], rtol=1e-12)


def test_ranks_that_nothing_ties_are_named():
    edges = Edges(4, np.array([0, 2]), np.array([1, 3]))
    with pytest.raises(
        ValueError, match=r"swaps connect no clicks at rank 3, 4 with clicks at rank 1.*depth=2"
    ):
        tied(edges, np.array([[5, 3, 10], [4, 2, 10.0]]), "swaps")


def naive_compare(counts, group, ranks, overlap):
    out = {}
    cells = list(
        zip(
            counts.names.code.tolist(),
            counts.position.tolist(),
            counts.impressions.tolist(),
            counts.clicks.tolist(),
            group.tolist(),
            strict=True,
        )
    )
    for document, a, shown_a, clicks_a, where in cells:
        for other, b, shown_b, clicks_b, _ in cells:
            if document == other and a < b <= ranks:
                weight = shown_a * shown_b / (shown_a + shown_b) if overlap else 1.0
                row = out.setdefault((where, a, b), np.zeros(3))
                row += [weight * clicks_a / shown_a, weight * clicks_b / shown_b, weight]
    return out


@given(st.integers(0, 10_000), st.booleans(), st.integers(2, 5))
def test_comparisons_of_ranks_against_loops(seed, overlap, ranks):
    rng = np.random.default_rng(seed)
    pages = int(rng.integers(1, 12))
    lengths = rng.integers(1, 6, pages)
    query = np.repeat(rng.integers(0, 3, pages), lengths)
    document = np.concatenate([rng.permutation(6)[:n] for n in lengths])
    position = np.concatenate([np.arange(1, n + 1) for n in lengths])
    session = np.repeat(np.arange(pages), lengths)
    counts = aggregate(ClickLog(session, query, document, position, rng.integers(0, 2, len(query))))
    group = counts.row_query.code.astype(np.int64)
    edges = edges_of(ranks, "allpairs")
    number = np.full((ranks, ranks), -1, np.int64)
    number[edges.low, edges.high] = np.arange(len(edges))
    out = np.zeros((3, len(edges), 3))
    compare_ranks(
        counts.names.code, counts.position.astype(np.int64) - 1, counts.impressions.astype(float),
        counts.clicks.astype(float), group, number, overlap, out,
    )  # fmt: skip
    slow = naive_compare(counts, group, ranks, overlap)
    for e, (low, high) in enumerate(zip(edges.low + 1, edges.high + 1, strict=True)):
        for g in range(3):
            np.testing.assert_allclose(out[g, e], slow.get((g, low, high), np.zeros(3)), atol=1e-12)
