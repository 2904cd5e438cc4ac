"""Bad input, and input at the edge of what is possible."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop import metrics
from rankloop.metrics.kernels.lists import MetricLists


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        (([1.0, np.nan], [0, 1], [0, 2]), r"scores must not be nan, got nan in list 0 \(row 1\)"),
        (([1.0, 2.0, np.nan], [0, 1, 1], [0, 1, 3]), r"list 1 \(row 2\)"),
        (([1.0, 2.0], [0, -1], [0, 2]), r"labels must be finite and >= 0, got -1 in list 0 \(row 1\)"),
        (([1.0, 2.0], [0, np.inf], [0, 2]), "labels must be finite and >= 0, got inf"),
        (([1.0, 2.0], [0, np.nan], [0, 2]), "labels must be finite and >= 0, got nan"),
        (([1.0, 2.0], [0, 1, 1], [0, 2]), r"labels needs one value per document \(2 by the offsets\)"),
        (([[1.0, 2.0]], [0, 1], [0, 2]), "scores needs one value per document"),
        ((["a", "b"], [0, 1], [0, 2]), "scores must hold numbers"),
        (([1.0, 2.0], [0, 1], [0, 1]), r"scores needs one value per document \(1 by the offsets\)"),
        (([1.0, 2.0], [0, 1], [1, 2]), "offsets must start at 0 and never fall"),
        (([1.0, 2.0], [0, 1], [0, 2, 1, 2]), "offsets must start at 0 and never fall"),
        (([1.0, 2.0], [0, 1], []), "offsets must be whole numbers"),
        (([1.0, 2.0], [0, 1], [0.0, 2.0]), "offsets must be whole numbers"),
    ],
)
def test_bad_lists(given, answer):
    with pytest.raises(ValueError, match=answer):
        metrics.ndcg(*given)


@pytest.mark.parametrize("k", [0, -1, 2.5, "3", True])
def test_bad_cutoffs(k):
    with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
        metrics.ndcg([1.0], [1], [0, 1], k=k)


def test_bad_pools_and_weights():
    with pytest.raises(ValueError, match="come together"):
        metrics.ndcg([1.0], [1], [0, 1], pool_labels=[1, 2])
    with pytest.raises(ValueError, match="pool_offsets describes 2 lists, offsets 1"):
        metrics.ndcg([1.0], [1], [0, 1], pool_labels=[1, 2], pool_offsets=[0, 1, 2])
    with pytest.raises(ValueError, match="weight and pool_labels cannot be combined"):
        metrics.ndcg([1.0], [1], [0, 1], weight=[1], pool_labels=[1, 2], pool_offsets=[0, 2])
    with pytest.raises(ValueError, match=r"weight must be finite and >= 0, got -2 in list 0 \(row 0\)"):
        metrics.ndcg([1.0], [1], [0, 1], weight=[-2])
    with pytest.raises(ValueError, match=r"is a probability, got 1\.5"):
        metrics.err([1.0], [1], [0, 1], weight=[3])
    with pytest.raises(ValueError, match="tie_break needs one key per document"):
        metrics.metric("ndcg")([1.0], [1], [0, 1], tie_break=["a", "b"])


def test_huge_labels_are_refused_for_exponential_gain_only():
    with pytest.raises(ValueError, match="use gain='linear'"):
        metrics.ndcg([1.0, 2.0], [0, 2000], [0, 2])
    assert metrics.ndcg([1.0, 2.0], [0, 2000], [0, 2], gain="linear").tolist() == [1.0]
    assert metrics.ndcg([1.0, 2.0, 3.0], [40, 500, 0.5], [0, 3])[0] == pytest.approx(1 / np.log2(3))


def test_labels_between_grades():
    labels = [0.5, 0.0, 2.5, 1.0]
    gains = 2 ** np.array(labels) - 1
    discounts = 1 / np.log2(np.arange(2, 6))
    made = metrics.ndcg([4.0, 3.0, 2.0, 1.0], labels, [0, 4])
    assert made[0] == pytest.approx(gains @ discounts / (np.sort(gains)[::-1] @ discounts))


def test_a_table_of_gains_may_fall():
    made = metrics.ndcg([3.0, 2.0, 1.0], [1, 2, 0], [0, 3], gain=[0, 5, 1])
    assert made[0] == pytest.approx(1.0)


def test_any_dtype_and_layout():
    scores, labels = np.arange(6)[::-1], np.array([0, 1, 2, 0, 1, 2])
    expected = metrics.ndcg(scores.astype(float), labels.astype(np.float32), [0, 3, 6])
    for made in (
        metrics.ndcg(scores.tolist(), labels.astype(np.int8), np.array([0, 3, 6], np.int32)),
        metrics.ndcg(np.repeat(scores, 2)[::2].astype(np.float16), labels.astype(bool) * labels, [0, 3, 6]),
    ):
        np.testing.assert_array_equal(made, expected)


def test_inputs_are_left_as_they_are():
    scores, labels, weight = (
        np.array([1.0, 3.0, 2.0]),
        np.array([1, 0, 2], np.float32),
        np.ones(3, np.float32),
    )
    before = scores.copy(), labels.copy(), weight.copy()
    for name in ("ndcg(ties=worst)", "map", "err", "pair_accuracy"):
        metrics.metric(name)(scores, labels, [0, 3], weight=weight * 0.5, tie_break=["c", "a", "b"])
    for now, then in zip((scores, labels, weight), before, strict=True):
        np.testing.assert_array_equal(now, then)


SPREADS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy": lambda rng, n: rng.standard_cauchy(n) ** 3,
    "skewed": lambda rng, n: np.exp(8 * rng.normal(size=n)),
    "tied": lambda rng, n: rng.integers(0, 4, n),
    "sorted": lambda rng, n: np.sort(rng.normal(size=n)),
    "falling": lambda rng, n: -np.sort(rng.normal(size=n)),
    "close": lambda rng, n: 1e9 + rng.integers(0, 1000, n) * 1e-7,
    "tiny": lambda rng, n: rng.integers(0, 100, n) * 5e-324,
    "huge": lambda rng, n: rng.choice([-1.7e308, 1.7e308, 0.0, 1.0], n),
    "infinite": lambda rng, n: rng.choice([-np.inf, np.inf, 0.0, 1.0, 2.0], n),
}


@pytest.mark.parametrize("spread", SPREADS)
@given(n=st.integers(1, 400), seed=st.integers(0, 99), depth=st.none() | st.integers(1, 30))
def test_ranking_is_a_stable_sort_of_any_scores(spread, n, seed, depth):
    rng = np.random.default_rng(seed)
    scores = np.asarray(SPREADS[spread](rng, n), np.float64)
    rows = np.arange(n, dtype=np.float32)
    ranked = MetricLists(scores, rows, [0, n]).ranked("stable", depth)
    kept = int(ranked.kept[0])
    order = np.argsort(-scores, kind="stable")
    assert kept >= min(n, depth or n)
    np.testing.assert_array_equal(ranked.labels[:kept], order[:kept])
    tied = MetricLists(scores, rows, [0, n]).ranked("average", depth).tied[:kept]
    falling = scores[order]
    np.testing.assert_array_equal(tied[1:], falling[1:kept] == falling[: kept - 1])
    assert kept == n or falling[kept] < falling[kept - 1]


def test_many_threads_give_what_one_gives(monkeypatch):
    rng = np.random.default_rng(0)
    offsets = np.concatenate(([0], np.cumsum(rng.integers(0, 60, 9000))))
    scores, labels = rng.integers(0, 30, offsets[-1]), rng.integers(0, 5, offsets[-1])
    assert offsets[-1] > 200_000
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    one = metrics.values(["ndcg@5", "map", "err", "tau"], scores, labels, offsets)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    many = metrics.values(["ndcg@5", "map", "err", "tau"], scores, labels, offsets)
    for name in one:
        np.testing.assert_array_equal(many[name], one[name])
