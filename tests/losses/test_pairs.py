"""The pairwise losses against plain loops, the lecture's tables, and LightGBM."""

import math
from collections import Counter
from itertools import chain, groupby, pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings

from rankloop.data import Pairs
from rankloop.losses import Exponential, Hinge, LambdaLoss, LambdaRank, RankNet, loss
from strategies import ragged_lists

MODEL_A, MODEL_B = [0.2, 0.3, 0.1, 0.1, 0.1], [0.9, 0.5, 0.5, 0.5, 0.5]
LECTURE = [1, 0, 0, 0, 0]


def naive_metric(name, labels, cut, top=4.0):
    """A metric of labels by rank, from its definition."""
    hits = [label >= 1 for label in labels]
    if name in ("dcg", "ndcg"):
        dcg = sum((2**label - 1) / math.log2(2 + r) for r, label in enumerate(labels))
        best = sorted(labels, reverse=True)[:cut]
        ideal = sum((2**label - 1) / math.log2(2 + r) for r, label in enumerate(best))
        return dcg if name == "dcg" else dcg / ideal if ideal else 0.0
    if name == "err":
        value, reach = 0.0, 1.0
        for r, label in enumerate(labels, start=1):
            stop = (2**label - 1) / 2**top
            value, reach = value + reach * stop / r, reach * (1 - stop)
        return value
    if name == "map":
        if not any(hits):
            return 0.0
        return sum(sum(hits[: r + 1]) / (r + 1) for r, hit in enumerate(hits) if hit) / sum(hits)
    if name == "mrr":
        return next((1 / r for r, hit in enumerate(hits, start=1) if hit), 0.0)
    if name == "precision":
        return sum(hits[:cut]) / cut
    if name == "arp":
        return sum(label * r for r, label in enumerate(labels, start=1)) / sum(labels) if sum(labels) else 0.0
    raise AssertionError(name)


def swap_weight(name, ranked, i, j, cut):
    swapped = list(ranked)
    swapped[i], swapped[j] = swapped[j], swapped[i]
    return abs(naive_metric(name, ranked, cut) - naive_metric(name, swapped, cut))


def logistic_forces(scores, weights):
    """Value, gradient and Hessian of pairs (preferred row, other row, weight)."""
    value, gradient, hessian = 0.0, np.zeros(len(scores)), np.zeros(len(scores))
    for i, j, weight in weights:
        z = scores[i] - scores[j]
        rho = 1 / (1 + math.exp(z))
        value += weight * math.log1p(math.exp(-z))
        gradient[i] -= weight * rho
        gradient[j] += weight * rho
        for row in (i, j):
            hessian[row] += weight * rho * (1 - rho)
    return value, gradient, hessian


def check(result, scores, offsets, pairs_of_list, unit=1.0):
    for q, (start, stop) in enumerate(pairwise(offsets)):
        value, gradient, hessian = logistic_forces(scores[start:stop], pairs_of_list(start, stop))
        np.testing.assert_allclose(result.value[q], unit * value, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(result.gradient[start:stop], unit * gradient, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(result.hessian[start:stop], unit * hessian, rtol=1e-9, atol=1e-11)


def tie_orders(scores, labels, worst):
    """Every order of falling scores; `worst`: of those, the ones with the lowest label of each tie first."""
    rows = sorted(range(len(scores)), key=lambda i: -scores[i])
    blocks = [list(block) for _, block in groupby(rows, key=lambda i: scores[i])]
    made = [list(chain(*parts)) for parts in product(*(permutations(block) for block in blocks))]
    if not worst:
        return made
    return [
        order
        for order in made
        if not any(scores[a] == scores[b] and labels[a] > labels[b] for a, b in pairwise(order))
    ]


def mean_pairs(orders, weight_of):
    """(preferred, other, mean weight over the orders); `weight_of(order, upper, lower)` gives two or none."""
    total = Counter()
    for order in orders:
        for a in range(len(order)):
            for b in range(a + 1, len(order)):
                for i, j, weight in weight_of(order, a, b):
                    total[i, j] += weight / len(orders)
    return [(i, j, weight) for (i, j), weight in total.items()]


@pytest.mark.parametrize("cut", [3, None])
@pytest.mark.parametrize("name", ["ndcg", "dcg", "err", "map", "mrr", "precision", "arp"])
@settings(max_examples=15, deadline=None)
@given(lists=ragged_lists(max_lists=3, max_length=5))
def test_lambdarank_is_ranknet_times_the_mean_change_of_the_real_metric(name, cut, lists):
    """Over all orders of ties; for the metrics that look between two documents, over the worst ones."""
    scores, labels, offsets = lists
    k = cut or (4 if name == "precision" else None)

    def pairs(start, stop):
        grades = [float(v) for v in labels[start:stop]]

        def weight_of(order, a, b):
            ranked = [grades[i] for i in order]
            if ranked[a] == ranked[b] or (k and a >= k):
                return
            first, second = (a, b) if ranked[a] > ranked[b] else (b, a)
            yield order[first], order[second], swap_weight(name, ranked, a, b, k)

        orders = tie_orders(scores[start:stop], grades, name in ("err", "map", "mrr"))
        return mean_pairs(orders, weight_of)

    check(LambdaRank(metric=name, truncation=k, max_label=4)(*lists), scores, offsets, pairs)


@pytest.mark.parametrize("cut", [2, None])
@pytest.mark.parametrize("form", ["ndcg1", "ndcg2", "ndcg2++", "arp1", "arp2"])
@settings(max_examples=15, deadline=None)
@given(lists=ragged_lists(max_lists=3, max_length=5))
def test_lambdaloss_follows_its_paper_at_mean_ranks(form, cut, lists):
    """Discounts, ranks, distances within a tie and the share above the truncation: means over tie orders."""
    scores, labels, offsets = lists

    def discount(rank):
        return 1 / np.log2(1 + rank)

    def pairs(start, stop):
        n, label = stop - start, [float(v) for v in labels[start:stop]]
        orders = tie_orders(scores[start:stop], label, worst=False)
        places = [{row: r for r, row in enumerate(order, start=1)} for order in orders]

        best = sum((2**v - 1) * discount(r) for r, v in enumerate(sorted(label, reverse=True)[:cut], start=1))
        gain = [(2**v - 1) / best if best else 0.0 for v in label]
        for i in range(n):
            for j in range(n):
                if i == j or ("1" not in form and label[i] <= label[j]):
                    continue
                met = np.array([(place[i], place[j]) for place in places], float)
                inside = met.min(1) <= (cut or n)
                tied, counts = scores[start + i] == scores[start + j], inside.mean()
                gaps = met[:, 0] - met[:, 1]
                apart = np.abs(gaps).mean() if tied else abs(gaps.mean())
                drop = counts * (discount(apart) - discount(apart + 1))
                differ = np.mean(inside * np.abs(discount(met[:, 0]) - discount(met[:, 1])))
                yield (
                    i,
                    j,
                    {
                        "ndcg1": gain[i] * discount(met[:, 0]).mean() * counts,
                        "ndcg2": (gain[i] - gain[j]) * drop,
                        "ndcg2++": (gain[i] - gain[j]) * (differ + 10 * drop),
                        "arp1": label[i] * counts,
                        "arp2": (label[i] - label[j]) * counts,
                    }[form],
                )

    check(LambdaLoss(form=form, truncation=cut)(*lists), scores, offsets, pairs, unit=1 / math.log(2))


@given(ragged_lists(max_lists=3, max_length=9))
def test_ranknet_takes_every_pair_of_different_labels(lists):
    scores, labels, offsets = lists

    def pairs(start, stop):
        rows = range(stop - start)
        return [(i, j, 1.0) for i in rows for j in rows if labels[start + i] > labels[start + j]]

    def with_ties(start, stop):
        rows = range(stop - start)
        tied = [(i, j, 0.5) for i in rows for j in rows if i != j and labels[start + i] == labels[start + j]]
        return pairs(start, stop) + tied

    check(RankNet()(*lists), scores, offsets, pairs)
    check(RankNet(ties=True)(*lists), scores, offsets, with_ties)


def test_ranknet_of_burges_by_hand():
    # C = log(1 + e^z) - (1 - S) z / 2 with z = -sigma (s_i - s_j): S = 1, 0, -1 at s_i - s_j = 1, sigma = 2.
    for chance, wanted in (
        (1.0, math.log1p(math.exp(-2))),
        (0.5, math.log1p(math.exp(-2)) + 1),
        (0.0, math.log1p(math.exp(2))),
    ):
        result = RankNet(sigma=2)([1.0, 0.0], [0, 0], [0, 2], pairs=Pairs([0], [1], [chance]))
        assert result.value[0] == pytest.approx(wanted, rel=1e-7)
        rho = 1 / (1 + math.exp(2))
        assert result.gradient[0] == pytest.approx(2 * ((1 - chance) - rho), rel=1e-6)
        assert result.hessian[0] == pytest.approx(4 * rho * (1 - rho))


def test_the_hinge_table_of_the_lecture():
    assert Hinge()(MODEL_A, LECTURE, [0, 5]).value[0] == pytest.approx(3.8)
    assert Hinge()(MODEL_B, LECTURE, [0, 5]).value[0] == pytest.approx(2.4)


@pytest.mark.parametrize("squared", [False, True])
@given(lists=ragged_lists(max_lists=3, max_length=10))
def test_the_sweep_of_hinge_is_the_sum_over_pairs(squared, lists):
    scores, labels, offsets = lists
    scores = scores * 0.7  # no pair exactly at the margin
    weight = np.linspace(0.5, 2, len(scores)).astype(np.float32)
    result = Hinge(squared=squared)(scores, labels, offsets, weight=weight)
    for q, (start, stop) in enumerate(pairwise(offsets)):
        value, gradient, hessian = 0.0, np.zeros(stop - start), np.zeros(stop - start)
        for i in range(start, stop):
            for j in range(start, stop):
                short = 1 - (scores[i] - scores[j])
                if labels[i] <= labels[j] or short <= 0:
                    continue
                value += weight[i] * (short**2 if squared else short)
                lambda_ = weight[i] * (2 * short if squared else 1)
                gradient[i - start] -= lambda_
                gradient[j - start] += lambda_
                hessian[[i - start, j - start]] += weight[i] * (2 if squared else 1)
        np.testing.assert_allclose(result.value[q], value, atol=1e-9)
        np.testing.assert_allclose(result.gradient[start:stop], gradient, atol=1e-9)
        np.testing.assert_allclose(result.hessian[start:stop], hessian, atol=1e-9)


@given(ragged_lists(max_lists=3, max_length=10))
def test_exponential_is_the_sum_over_pairs(lists):
    scores, labels, offsets = lists
    result = Exponential()(scores, labels, offsets)
    for q, (start, stop) in enumerate(pairwise(offsets)):
        rows = range(start, stop)
        costs = [math.exp(scores[j] - scores[i]) for i in rows for j in rows if labels[i] > labels[j]]
        assert result.value[q] == pytest.approx(sum(costs), rel=1e-9, abs=1e-12)


PAIRWISE = ["hinge", "hinge(squared=true)", "exponential", "ranknet", "lambdarank", "lambdaloss"]


@pytest.mark.parametrize("name", [*PAIRWISE, "lambdarank(truncation=2)", "lambdaloss(form=ndcg2++)"])
def test_explicit_pairs_that_repeat_the_labels_change_nothing(name):
    rng = np.random.default_rng(3)
    scores, labels = rng.normal(size=9), np.array([0, 2, 1, 0, 3, 0, 1, 1, 0])
    offsets, weight = [0, 5, 9], rng.uniform(0.5, 2, 9)
    query = np.repeat([0, 1], [5, 4])
    same = [(i, j) for i in range(9) for j in range(9) if query[i] == query[j] and labels[i] > labels[j]]
    better, worse = map(list, zip(*same, strict=True))
    plain = loss(name)(scores, labels, offsets, weight=weight)
    judged = loss(name)(scores, labels, offsets, weight=weight, pairs=Pairs(better, worse))
    for a, b in zip(plain, judged, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", PAIRWISE)
def test_judges_who_disagree_pull_both_ways(name):
    scores, labels, offsets = [0.4, 0.1], [1, 0], [0, 2]
    one, two, both = (
        loss(name)(scores, labels, offsets, pairs=pairs)
        for pairs in (Pairs([0], [1]), Pairs([1], [0]), Pairs([0], [1], probability=[0.75], weight=[4.0]))
    )
    np.testing.assert_allclose(both.value, 3 * one.value + two.value)
    np.testing.assert_allclose(both.gradient, 3 * one.gradient + two.gradient)


@pytest.mark.parametrize("name", PAIRWISE)
def test_pairs_of_two_lists_or_of_no_row_are_refused(name):
    with pytest.raises(ValueError, match="pair 0 joins list 0 with list 1"):
        loss(name)([0.0, 1.0], [0, 1], [0, 1, 2], pairs=Pairs([0], [1]))
    with pytest.raises(ValueError, match="pair 0 names row 7"):
        loss(name)([0.0, 1.0], [0, 1], [0, 2], pairs=Pairs([0], [7]))


def lightgbm_forces(scores, labels, lengths, **options):
    """LightGBM's own lambdas: refit a tree with one leaf per row, at two strengths of lambda_l2."""
    lgb = pytest.importorskip("lightgbm")
    n = len(scores)
    X = np.arange(n, dtype=float)[:, None]
    alone = {"num_leaves": n + 1, "min_data_in_leaf": 1, "min_data_in_bin": 1, "min_sum_hessian_in_leaf": 0}
    base = {**alone, "max_bin": 4 * n, "learning_rate": 1.0, "verbose": -1, "num_threads": 1}
    tree = lgb.train({**base, "objective": "l2"}, lgb.Dataset(X, np.arange(n) % 7 + np.arange(n) / 100.0), 1)
    outputs = []
    for strength in (1.0, 3.0):
        refit = {**base, **options, "objective": "lambdarank", "lambda_l2": strength}
        again = lgb.Booster(model_str=tree.model_to_string())
        again.params = refit
        again = again.refit(X, labels, group=lengths, init_score=scores, decay_rate=0.0)
        outputs.append(again.predict(X, raw_score=True))
    first, second = outputs  # -g / (h + 1) and -g / (h + 3)
    gradient = -2 * first * second / (first - second)
    return gradient, -gradient / first - 1.0


@pytest.mark.parametrize("norm", [False, True])
def test_lambdarank_gives_lightgbms_lambdas(norm):
    rng = np.random.default_rng(0)
    lengths = np.array([12, 8])
    labels = np.array([0, 1, 2, 0, 4, 1, 0, 3, 0, 0, 2, 1, 3, 0, 1, 0, 2, 0, 0, 1], np.float64)
    scores = rng.normal(size=20)
    gradient, hessian = lightgbm_forces(
        scores, labels, lengths, lambdarank_truncation_level=5, lambdarank_norm=norm
    )
    ours = LambdaRank(truncation=5, norm_gap=norm, norm_list=norm)(scores, labels, [0, 12, 20])
    felt = np.abs(ours.gradient) > 1e-9
    np.testing.assert_allclose(gradient[felt], ours.gradient[felt], rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(hessian[felt], ours.hessian[felt], rtol=2e-2, atol=2e-4)


def test_options_are_checked():
    for wrong, message in [
        ({"metric": "ndgc"}, "did you mean 'ndcg'"),
        ({"truncation": 0}, "truncation of LambdaRank must be a whole number from 1"),
        ({"sigma": 0.0}, "sigma of LambdaRank must be above 0"),
        ({"gain": "exp"}, "unknown gain of LambdaRank"),
        ({"gain": (3.0, 1.0)}, "gain of LambdaRank must rise"),
        ({"metric": "precision"}, "needs truncation"),
    ]:
        with pytest.raises(ValueError, match=message):
            LambdaRank(**wrong)
    with pytest.raises(ValueError, match="takes the labels 0 to 1, got label 2"):
        LambdaRank(gain=(0.0, 1.0))([0.0, 1.0], [0, 2], [0, 2])
    with pytest.raises(ValueError, match="use gain='linear'"):
        LambdaRank()([0.0, 1.0], [0, 900], [0, 2])
    with pytest.raises(ValueError, match="max_label of LambdaRank is 2, but a label is 3"):
        LambdaRank(metric="err", max_label=2)([0.0, 1.0], [0, 3], [0, 2])


def test_a_gain_table_is_a_gain():
    scores, labels, offsets = np.linspace(0, 1, 6), [0, 3, 1, 2, 0, 1], [0, 6]
    for one in (LambdaRank, LambdaLoss):
        plain, table = one()(scores, labels, offsets), one(gain=(0.0, 1.0, 3.0, 7.0))(scores, labels, offsets)
        for a, b in zip(plain, table, strict=True):
            np.testing.assert_allclose(a, b)


def test_labels_between_grades_are_taken():
    scores, labels, offsets = np.linspace(0, 1, 4), [0.5, 1.25, 0, 2], [0, 4]
    exact = LambdaRank()(scores, labels, offsets)
    gradient, _ = LambdaRank().derivatives(scores, labels, offsets)
    np.testing.assert_allclose(gradient, exact.gradient, rtol=1e-6)
