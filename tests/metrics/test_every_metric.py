"""Checks that walk over every exported metric: slow twins, invariances, bounds, ends of the range."""

from itertools import chain, groupby, pairwise, permutations, product
from math import log2, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop import metrics
from rankloop.metrics.kernels.measure import MEASURES
from strategies import ragged_lists

PLAIN = sorted(MEASURES)
WEIGHED = sorted(name for name, one in MEASURES.items() if "weight" in one.data)
POOLED = sorted(name for name, one in MEASURES.items() if "pool_labels" in one.data)
CUT = sorted(name for name, one in MEASURES.items() if "k" in one.options)


# The slow twins: a metric of one ranking, from (label, weight) in ranked order and a pool of the same.


def gains_to(ranking, k):
    return [w * (2**label - 1) / log2(1 + r) for r, (label, w) in enumerate(ranking[:k], 1)]


def relevant(documents):
    return [(label, w) for label, w in documents if label >= 1 and w > 0]


def found(ranking, k):
    return sum(w for _, w in relevant(ranking[:k]))


def naive_dcg(ranking, pool, k):
    return sum(gains_to(ranking, k))


def naive_ndcg(ranking, pool, k):
    best = sorted(pool, key=lambda d: -d[1] * (2 ** d[0] - 1))
    return sum(gains_to(ranking, k)) / sum(gains_to(best, k))


def naive_err(ranking, pool, k):
    total, going_on = 0.0, 1.0
    for r, (label, w) in enumerate(ranking[:k], 1):
        stop = w * (2**label - 1) / 2**4
        total += going_on * stop / r
        going_on *= 1 - stop
    return total


def precisions(ranking, k):
    total = before = 0.0
    for r, document in enumerate(ranking[:k], 1):
        if relevant([document]):
            total += document[1] * (1 + before) / r
            before += document[1]
    return total


def naive_average_precision(ranking, pool, k):
    return precisions(ranking, k) / precisions(sorted(relevant(pool), key=lambda d: -d[1]), None)


def naive_reciprocal_rank(ranking, pool, k):
    for r, document in enumerate(ranking[:k], 1):
        if relevant([document]):
            return document[1] / r
    return 0.0


def naive_hit(ranking, pool, k):
    return next((w for _, w in relevant(ranking[:k])), 0.0)


def naive_precision(ranking, pool, k):
    return found(ranking, k) / (len(ranking) if k is None else k)


def naive_recall(ranking, pool, k):
    return found(ranking, k) / found(pool, None)


def naive_f1(ranking, pool, k):
    p, r = naive_precision(ranking, pool, k), naive_recall(ranking, pool, k)
    return 2 * p * r / (p + r) if p + r > 0 else 0.0


def naive_r_precision(ranking, pool, k):
    return found(ranking, len(relevant(pool))) / found(pool, None)


def naive_arp(ranking, pool, k):
    return sum(w * label * r for r, (label, w) in enumerate(ranking, 1)) / sum(
        w * label for label, w in ranking
    )


def naive_rbp(ranking, pool, k):
    return sum(0.2 * 0.8**r * found([document], 1) for r, document in enumerate(ranking[:k]))


def naive_pairs(ranking):
    right = wrong = 0.0
    for i in range(len(ranking)):
        for j in range(i + 1, len(ranking)):
            right += ranking[i][1] * (ranking[i][0] > ranking[j][0])
            wrong += ranking[j][1] * (ranking[i][0] < ranking[j][0])
    return right, wrong


def naive_pair_accuracy(ranking, pool, k):
    right, wrong = naive_pairs(ranking)
    return right / (right + wrong)


def naive_inversions(ranking, pool, k):
    return naive_pairs(ranking)[1]


def naive_judged_share(ranking, pool, k):
    return len(ranking[:k]) / (len(ranking) if k is None else k)


def naive_bpref(ranking, pool, k):
    known = len(relevant(pool))
    most, total, above = min(known, len(pool) - known), 0.0, 0
    for label, _ in ranking:
        if label < 1:
            above += 1
        else:
            total += 1 - (min(above, known) / most if above else 0)
    return total / known


def naive_infap(ranking, pool, k):
    total = 0.0
    for r, (label, _) in enumerate(ranking, 1):
        if label >= 1:
            before = len(relevant(ranking[: r - 1]))
            total += (1 + (r - 1) * (before + 1e-5) / (r - 1 + 2e-5)) / r
    return total / len(relevant(pool))


naive_infndcg = naive_ndcg  # where all are judged


def topics(label):
    """The subtopics of a document in these checks: the bits of its label."""
    return [int(label) >> bit & 1 for bit in range(3)]


def columns(ranking):
    """The subtopics that are there, each as the marks of the documents in order."""
    return [column for column in zip(*(topics(label) for label, _ in ranking), strict=True) if any(column)]


def naive_subtopic_recall(ranking, pool, k):
    found = columns(ranking)
    return sum(any(column[:k]) for column in found) / len(found)


def naive_err_ia(ranking, pool, k):
    found = columns(ranking)
    total = 0.0
    for column in found:
        going_on = 1.0
        for r, marked in enumerate(column[:k], 1):
            stop = marked * (2**1 - 1) / 2**4
            total += going_on * stop / r
            going_on *= 1 - stop
    return total / len(found)


def alpha_gains(ranking, k):
    seen, total = [0, 0, 0], 0.0
    for r, (label, _) in enumerate(ranking[:k], 1):
        total += sum(0.5**c for c, has in zip(seen, topics(label), strict=True) if has) / log2(1 + r)
        seen = [c + has for c, has in zip(seen, topics(label), strict=True)]
    return total


def naive_alpha_ndcg(ranking, pool, k):
    greedy, left = [], sorted(ranking, key=lambda d: topics(d[0]))
    while left:
        seen = [sum(topics(label)[bit] for label, _ in greedy) for bit in range(3)]
        best = max(left, key=lambda d: sum(0.5**c for c, has in zip(seen, topics(d[0]), strict=True) if has))
        left.remove(best)
        greedy.append(best)
    return alpha_gains(ranking, k) / alpha_gains(greedy, k)


def nothing_in(name, ranking, pool):
    if name == "judged_share":
        return not ranking
    if name in ("pair_accuracy", "inversions", "kendall_tau"):
        return len({label for label, _ in ranking}) < 2 or (
            name in ("pair_accuracy", "inversions") and sum(naive_pairs(ranking)) == 0
        )
    return not relevant(ranking if name == "arp" else pool)


def naive_kendall_tau(scores, labels):
    sign = [
        (np.sign(scores[i] - scores[j]), np.sign(labels[i] - labels[j]))
        for i in range(len(scores))
        for j in range(i)
    ]
    base = sqrt(sum(s != 0 for s, _ in sign) * sum(y != 0 for _, y in sign))
    return sum(float(s * y) for s, y in sign) / base if base else nan


def orders(scores, labels, ties):
    """Every order of documents with falling scores, or the one that `ties` picks."""
    rows = sorted(range(len(scores)), key=lambda i: -scores[i])
    blocks = [list(block) for _, block in groupby(rows, key=lambda i: scores[i])]
    if ties == "stable":
        return [rows]
    if ties == "worst":
        return [[i for block in blocks for i in sorted(block, key=lambda i: labels[i])]]
    return [list(chain(*made)) for made in product(*(permutations(block) for block in blocks))]


def twin(name, scores, labels, weight, pool, k, ties):
    documents = list(zip(map(float, labels), map(float, weight), strict=True))
    pool = documents if pool is None else [(float(label), 1.0) for label in pool]
    if nothing_in(name, documents, pool):
        return nan
    if name == "kendall_tau":
        return naive_kendall_tau(scores, labels)
    one = globals()[f"naive_{name}"]
    made = [one([documents[i] for i in order], pool, k) for order in orders(scores, labels, ties)]
    return sum(made) / len(made)


def options(name, k, ties):
    own = {"k": k, "ties": ties, "max_label": 4}
    return {key: value for key, value in own.items() if key in MEASURES[name].options}


def inputs(name, labels):
    """What a metric needs besides scores and labels."""
    bits = np.array([topics(label) for label in labels]).reshape(-1, 3)
    return {"subtopics": bits} if "subtopics" in MEASURES[name].data else {}


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("ties", ["average", "stable", "worst"])
@settings(max_examples=25)
@given(data=ragged_lists(max_lists=2, max_length=5), k=st.none() | st.integers(1, 6))
def test_it_is_its_slow_twin_over_all_tie_breaks(name, ties, data, k):
    scores, labels, offsets = data
    made = getattr(metrics, name)(scores, labels, offsets, **options(name, k, ties), **inputs(name, labels))
    assert_as_twin(made, name, data, k, ties)


def assert_as_twin(made, name, data, k, ties="average", weight=None, pools=None):
    """The values of a metric with those of its slow twin, list by list."""
    scores, labels, offsets = data
    weight = np.ones(len(labels)) if weight is None else weight
    for q, (a, b) in enumerate(pairwise(offsets)):
        pool = None if pools is None else pools[q]
        expected = twin(name, scores[a:b], labels[a:b], weight[a:b], pool, k, ties)
        np.testing.assert_allclose(made[q], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", WEIGHED)
@settings(max_examples=20)
@given(data=ragged_lists(max_lists=2, max_length=5), k=st.none() | st.integers(1, 6), draw=st.data())
def test_item_weights_multiply_gains(name, data, k, draw):
    scores, labels, offsets = data
    weight = np.array(
        draw.draw(st.lists(st.sampled_from([0, 0.25, 0.5, 1]), min_size=len(labels), max_size=len(labels)))
    )
    made = getattr(metrics, name)(scores, labels, offsets, weight=weight, **options(name, k, "average"))
    assert_as_twin(made, name, data, k, weight=weight)


@pytest.mark.parametrize("name", POOLED)
@settings(max_examples=20)
@given(data=ragged_lists(max_lists=2, max_length=5), k=st.none() | st.integers(1, 6), draw=st.data())
def test_judged_documents_that_were_not_retrieved_count(name, data, k, draw):
    scores, labels, offsets = data
    pools = [
        np.append(labels[a:b], draw.draw(st.lists(st.integers(0, 4), max_size=3)))
        for a, b in pairwise(offsets)
    ]
    pool_offsets = np.concatenate(([0], np.cumsum([len(pool) for pool in pools])))
    made = getattr(metrics, name)(
        scores, labels, offsets,
        pool_labels=np.concatenate(pools), pool_offsets=pool_offsets, **options(name, k, "average"),
    )  # fmt: skip
    assert_as_twin(made, name, data, k, pools=pools)


@pytest.mark.parametrize("name", PLAIN)
@settings(max_examples=15)
@given(
    data=ragged_lists(max_length=40, max_lists=4), k=st.none() | st.integers(1, 12), seed=st.integers(0, 9)
)
def test_order_of_rows_and_shifts_of_scores_change_nothing(name, data, k, seed):
    scores, labels, offsets = data
    own = options(name, k, "average")
    function = getattr(metrics, name)
    made = function(scores, labels, offsets, **own, **inputs(name, labels))
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in pairwise(offsets)])
    np.testing.assert_allclose(
        function(scores[rows], labels[rows], offsets, **own, **inputs(name, labels[rows])), made, rtol=1e-12
    )
    np.testing.assert_allclose(
        function(3 * scores + 7, labels, offsets, **own, **inputs(name, labels)), made, rtol=1e-12
    )
    twice = function(
        np.tile(scores, 2), np.tile(labels, 2), np.concatenate((offsets, offsets[-1] + offsets[1:])),
        **own, **inputs(name, np.tile(labels, 2)),
    )  # fmt: skip
    np.testing.assert_array_equal(twice, np.tile(made, 2))
    if MEASURES[name].bounded:
        assert np.all(np.isnan(made) | ((made >= 0) & (made <= 1 + 1e-12)))


@pytest.mark.parametrize("name", CUT)
@settings(max_examples=15)
@given(data=ragged_lists(max_length=60, max_lists=3), k=st.integers(1, 5))
def test_looking_only_at_the_top_gives_what_the_whole_ranking_gives(name, data, k):
    scores, labels, offsets = data
    given = inputs(name, labels)
    together = metrics.values([f"{name}@{k}", f"{name}@100"], scores, labels, offsets, **given)
    alone = metrics.values([f"{name}@{k}"], scores, labels, offsets, **given)
    np.testing.assert_array_equal(alone[f"{name}@{k}"], together[f"{name}@{k}"])


@pytest.mark.parametrize("name", PLAIN)
def test_the_ends_of_the_range(name):
    def function(scores, labels, offsets, **own):
        return getattr(metrics, name)(scores, labels, offsets, **own, **inputs(name, labels))

    assert function([], [], [0]).shape == (0,)
    assert function([], [], [0, 0, 0]).shape == (2,)
    assert np.all(np.isnan(function([], [], [0, 0])))
    single = function([1.0], [1], [0, 1])
    pairs = name in ("pair_accuracy", "inversions", "kendall_tau")
    assert np.isnan(single[0]) if pairs else np.isfinite(single[0])
    nothing = ([], [], [0, 0]) if name == "judged_share" else ([1.0, 2.0], [0, 0], [0, 2])
    assert function(*nothing, empty="one").tolist() == [1.0]
    assert function(*nothing, empty="zero").tolist() == [0.0]
    with_infinite = function([np.inf, -np.inf, 0.0, np.inf], [1, 0, 2, 0], [0, 4])
    assert np.isfinite(with_infinite[0])


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("spread", ["continuous", "tied", "one tie"])
def test_a_very_long_list(name, spread):
    rng = np.random.default_rng(0)
    n = 200_000
    labels = (rng.random(n) < 0.01) * rng.integers(1, 5, n)
    scores = {"continuous": rng.normal(size=n), "tied": rng.integers(0, 1000, n), "one tie": np.zeros(n)}[
        spread
    ]
    made = getattr(metrics, name)(scores, labels, [0, n], **inputs(name, labels))
    if name == "kendall_tau" and spread == "one tie":
        assert np.isnan(made[0])
    else:
        assert np.isfinite(made[0])


@pytest.mark.parametrize("name", PLAIN)
def test_an_unknown_column_is_refused_in_the_name_of_the_metric(name):
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'wieght'"):
        getattr(metrics, name)([1.0], [1], [0, 1], wieght=[1.0])
