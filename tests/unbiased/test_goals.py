"""Several goals: labels by hand, weights by constraints, and who is beaten on none of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.clicks import DBN, ClickLog, simulate
from rankloop.data import RankingDataset, synthetic
from rankloop.metrics import compare
from rankloop.rankers import LinearRanker
from rankloop.unbiased import balance, goals, ips

THETA = np.array([1.0, 0.5, 0.25])


@pytest.fixture(scope="module")
def shop():
    """Clicks go by the labels, the margin of a click by another feature that pulls the other way."""
    data = synthetic(n_queries=150, docs_per_query=8, n_features=5, seed=3)
    data = data.replace(docid=np.arange(data.n_documents))
    log = simulate(data, logging_policy=data.X[:, 1], sessions=20_000, k=6, seed=0)
    rich = np.exp(-1.2 * (data.y - 2.0) + 0.5 * np.random.default_rng(0).normal(size=len(data.y)))
    return data, log, log.click * rich[log.rows(data)]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_labels_beside_plain_loops(seed):
    rng = np.random.default_rng(seed)
    data = RankingDataset(np.zeros((6, 1)), np.zeros(6), [0, 0, 0, 1, 1, 1])
    rows = []
    for page in range(5):
        q = page % 2
        for k, d in enumerate(3 * q + rng.permutation(3)):
            click = int(rng.random() < 0.6)
            rows.append(
                (page, q, int(d), k + 1, click, float(click * rng.integers(0, 2)), click * rng.random())
            )
    session, query, document, position, click, bought, margin = zip(*rows, strict=True)
    if not any(click) or not any(bought):
        return
    log = ClickLog(session, query, document, position, click, conversion=bought)
    weights = {"click": 1.0, "conversion": 2.0, "margin": 0.5}
    found = goals(log, THETA, data, weights, values={"margin": margin}, unseen="keep")
    total = np.zeros(6)
    for at, weight in ((4, 1.0), (5, 2.0), (6, 0.5)):
        mean = np.zeros(6)
        for d in range(6):
            shown = [one for one in rows if one[2] == d]
            if shown:
                mean[d] = sum(one[at] / THETA[one[3] - 1] for one in shown) / len(shown)
        seen = [d for d in range(6) if any(one[2] == d for one in rows)]
        total += weight * mean / np.mean(mean[seen])
    kept = np.isin(data.row_query, [one[1] for one in rows])
    np.testing.assert_allclose(found.y, total[kept], rtol=1e-5)


def test_one_goal_is_a_correction(shop):
    data, log, _ = shop
    theta = 1 / np.arange(1, 7)
    clicks, plain = goals(log, theta, data, {"click": 3.0}), ips(log, theta, data)
    np.testing.assert_allclose(clicks.y / clicks.y.mean(), plain.y / plain.y.mean(), rtol=1e-4)
    assert goals(log, DBN().fit(log), data, {"click": 1.0}).n_documents == plain.n_documents


def test_constraints_are_kept(shop):
    data, log, margin = shop
    theta, linear = 1 / np.arange(1, 7), LinearRanker(loss="softmax")
    values = {"margin": margin}
    loose, strict = (
        balance(log, theta, data, linear, "margin", at_least={"click": least}, values=values)
        for least in (0.1, 0.995)
    )
    assert loose.kept
    assert strict.kept
    assert loose.weights["margin"] > strict.weights["margin"]
    assert loose.to_dict()["weights"] == loose.weights
    assert "constraints are met" in repr(loose)
    assert "Pareto" in repr(loose)
    shares = list(loose.table.systems)
    assert {shares[0], shares[-1]} & set(loose.table.pareto)


def test_who_is_beaten_on_no_goal():
    """By hand: b is beaten by a on both goals, c is best on the second."""
    X = np.zeros((3, 1))
    first = RankingDataset(X, [2, 1, 0], ["q"] * 3)
    second = RankingDataset(X, [0, 0, 2], ["q"] * 3)
    systems = {"a": [3.0, 1.0, 2.0], "b": [2.0, 3.0, 1.0], "c": [1.0, 2.0, 3.0]}
    found = compare(systems, {"click": first, "margin": second}, "ndcg@3")
    assert found.names == ("ndcg@3 of click", "ndcg@3 of margin")
    assert found.pareto == ("a", "c")
    assert "Pareto: no other system is as good on every goal as a, c" in repr(found)
    assert found.to_dict()["pareto"] == ["a", "c"]
    lower = compare(systems, {"click": first, "margin": second}, "arp")
    assert lower.pareto == ("a", "c")
    same = compare({"a": systems["a"], "twin": systems["a"]}, {"click": first, "margin": second}, "ndcg@3")
    assert same.pareto == ("a", "twin")  # neither beats the other


def test_bad_input(shop):
    data, log, margin = shop
    theta = 1 / np.arange(1, 7)
    for weights in ({}, {"click": -1.0}, {"click": 0.0}, {"click": np.nan}):
        with pytest.raises(ValueError, match="weight"):
            goals(log, theta, data, weights)
    with pytest.raises(ValueError, match="'conversion'"):
        goals(log, theta, data, {"conversion": 1.0})
    with pytest.raises(ValueError, match="values below 0"):
        goals(log, theta, data, {"margin": 1.0}, values={"margin": -margin})
    with pytest.raises(ValueError, match="nobody reached"):
        goals(log, theta, data, {"margin": 1.0}, values={"margin": 0 * margin})
    with pytest.raises(ValueError, match="other goals"):
        balance(log, theta, data, LinearRanker(), "click", at_least={"click": 0.5})
    with pytest.raises(ValueError, match="up to 1"):
        balance(
            log, theta, data, LinearRanker(), "margin", at_least={"click": 1.5}, values={"margin": margin}
        )
    other = data.select(np.arange(10))
    with pytest.raises(ValueError, match="different lists"):
        compare({"a": data.y, "b": data.y}, {"one": data, "two": other})
