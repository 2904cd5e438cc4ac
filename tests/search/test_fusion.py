import numpy as np
import pytest

from rankloop.search import reciprocal_rank, tune_weights, weighted


def test_reciprocal_rank_by_hand():
    fused = reciprocal_rank({"a": [1, 0, 3], "b": [0, 2, 1]}, weights={"a": 1.0, "b": 0.5}, constant=10)
    np.testing.assert_allclose(fused, [1 / 11, 0.5 / 12, 1 / 13 + 0.5 / 11])


def test_weighted_is_free_of_scale():
    scores = {"a": np.array([3.0, 1.0, np.nan]), "b": np.array([0.0, 5.0, 5.0])}
    moved = {"a": scores["a"] * 7 - 3, "b": scores["b"] * 0.01}
    np.testing.assert_allclose(weighted(scores, {"a": 0.3, "b": 0.7}), weighted(moved, {"a": 0.3, "b": 0.7}))
    np.testing.assert_allclose(weighted({"a": [2.0, 2.0]}), [1, 1])
    np.testing.assert_allclose(weighted({"a": [np.nan, np.nan]}), [0, 0])


def test_tuned_weights_are_no_worse_than_the_best_list():
    rng = np.random.default_rng(0)
    labels = [rng.integers(0, 3, 20) for _ in range(30)]
    pools = [
        {"good": one + rng.normal(0, 1, 20), "fair": one + rng.normal(0, 1.5, 20), "bad": rng.normal(size=20)}
        for one in labels
    ]
    weights, quality = tune_weights(pools, labels)
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["good"] > weights["fair"] > weights["bad"]
    assert quality["good"] > quality["fair"] > quality["bad"]


def test_bad_input_says_so():
    with pytest.raises(ValueError, match="one array of labels per pool"):
        tune_weights([{"a": [1.0]}], [])
    with pytest.raises(ValueError, match="no pool holds a relevant document"):
        tune_weights([{"a": [1.0]}], [[0]])
