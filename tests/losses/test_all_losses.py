"""What every loss promises; the tests walk `rankloop.losses.__all__`."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from members import LOSSES as CLASSES
from rankloop.data import Pairs
from rankloop.losses import loss
from strategies import ragged_lists

VARIANTS = [
    *(f"lambdarank(metric={metric}, truncation=3)" for metric in ("ndcg", "err", "map", "mrr", "precision")),
    "lambdarank(metric=dcg)",
    "lambdarank(metric=arp)",
    *(f"lambdaloss(form={form})" for form in ("ndcg1", "ndcg2++", "arp1", "arp2")),
    "lambdarank(norm_gap=true, norm_list=true)",
    "ranknet(ties=true)",
    "hinge(squared=true)",
    "listnet(target=gains)",
    "listmle(ties=random)",
    "plistmle(decay=log2)",
    "pirank(k=2)",
    "neuralndcg(k=2, tolerance=1e-09)",
    "gumbel(loss=ranknet, samples=2)",
    "distill(loss=ranknet)",
    "unique_softmax(gain=linear)",
    "ordinal(max_label=4)",
    "triplet(negative=semihard)",
]
LOSSES = [kind() for kind in CLASSES] + [loss(name) for name in VARIANTS]
# Sorts inside: the value jumps where ranks change, and the gradient belongs to the sort at hand.
LAMBDAS = ("lambdagap", "lambdarank", "lambdaloss")

every_loss = pytest.mark.parametrize("one", LOSSES, ids=lambda one: one.name)

OFFSETS = np.array([0, 7, 8, 13, 20])
RNG = np.random.default_rng(5)
SCORES = RNG.permutation(np.linspace(-2, 2, 20)) + RNG.normal(0, 0.01, 20)
LABELS = np.array([0, 2, 1, 4, 0, 0, 3, 1, 0, 1, 0, 2, 0, 0, 0, 1, 3, 2, 0, 1], np.float32)
WEIGHT = RNG.uniform(0.2, 2, 20).astype(np.float32)


def comparable(one):
    """Whether the gradient is that of the value: LightGBM's normalisations have no cost, and the rankings
    that PL-Rank draws change by jumps, while its gradient is that of their expectation."""
    normalised = getattr(one, "norm_gap", False) or getattr(one, "norm_list", False)
    return not normalised and "plrank" not in one.name


@every_loss
def test_gradient_is_that_of_the_value(one):
    result = one(SCORES, LABELS, OFFSETS, weight=WEIGHT)
    if not comparable(one):
        pytest.skip("no cost function beside the gradient")
    step, numeric = 1e-5, np.empty(20)
    for i in range(20):
        moved = np.zeros(20)
        moved[i] = step
        up, down = (one(SCORES + way * moved, LABELS, OFFSETS, weight=WEIGHT).value for way in (1, -1))
        numeric[i] = (up - down).sum() / (2 * step)
    np.testing.assert_allclose(result.gradient, numeric, atol=2e-7 * max(1, np.abs(numeric).max()))


@every_loss
def test_a_smooth_loss_is_the_integral_of_its_gradient_across_swaps(one):
    if not (one.smooth and comparable(one)) or "seed" in {field.name for field in dataclasses.fields(one)}:
        pytest.skip("jumps, corners or draws")
    steps, turned = 4001, SCORES[:7][::-1]
    path = np.linspace(0, 1, steps)[:, None]
    scores = (1 - path) * SCORES[:7] + path * turned
    walked = one(scores.ravel(), np.tile(LABELS[:7], steps), np.arange(0, 7 * steps + 1, 7))
    slope = walked.gradient.reshape(steps, 7) @ (turned - SCORES[:7])
    rise = walked.value[-1] - walked.value[0]
    assert np.trapezoid(slope, dx=1 / (steps - 1)) == pytest.approx(rise, rel=1e-4, abs=1e-4)


@every_loss
def test_hessian_is_not_negative_and_is_positive_where_there_is_a_gradient(one):
    result = one(SCORES, LABELS, OFFSETS)
    assert (result.hessian >= 0).all()
    assert result.hessian.sum() > 0


@every_loss
@pytest.mark.parametrize("size", [1e4, -1e4])
def test_finite_at_extreme_scores(one, size):
    for scores in (
        np.where(RNG.random(20) > 0.5, size, -size),
        np.linspace(-size, size, 20),
        np.full(20, size),
    ):
        for part in one(scores, LABELS, OFFSETS):
            assert np.isfinite(part).all()
        for part in one.derivatives(scores, LABELS, OFFSETS):
            assert np.isfinite(part).all()


@every_loss
def test_nothing_to_learn_is_zero(one):
    if one.pointwise or "ties=true" in one.name.lower():
        pytest.skip("pointwise losses, and ties that count, learn from equal labels too")
    labels = np.array([1, 2, 2, 2, 0, 0], np.float32)
    offsets = [0, 1, 4, 6]  # a list of one document, and two lists of equal labels
    own = np.array([0.3, 2.0, 1.0, 0.0, 5.0, -5.0])
    if one.name == "lambdaloss(form=arp1)" or one.name == "lambdaloss(form=ndcg1)":
        labels[1:4] = 0  # these forms take all pairs of relevant documents
    for part in one(own, labels, offsets):
        assert (part == 0).all()


@every_loss
def test_a_call_whose_labels_are_all_zero_is_finite(one):
    for part in (*one(SCORES, np.zeros(20), OFFSETS), *one.derivatives(SCORES, np.zeros(20), OFFSETS)):
        assert np.isfinite(part).all()


@every_loss
def test_zero_weight_is_zero(one):
    for weights in ({"weight": np.zeros(20)}, {"query_weight": np.zeros(4)}):
        for part in one(SCORES, LABELS, OFFSETS, **weights):
            assert (part == 0).all()


@every_loss
def test_weights_scale_value_gradient_and_hessian_alike(one):
    plain = one(SCORES, LABELS, OFFSETS)
    rows = np.repeat([1.0, 2.0, 0.5, 3.0], np.diff(OFFSETS))
    by_query = one(SCORES, LABELS, OFFSETS, query_weight=[1.0, 2.0, 0.5, 3.0])
    np.testing.assert_allclose(by_query.value, plain.value * [1.0, 2.0, 0.5, 3.0])
    np.testing.assert_allclose(by_query.gradient, plain.gradient * rows)
    np.testing.assert_allclose(by_query.hessian, plain.hessian * rows)
    if "norm_list" not in one.name:  # a logarithm of the sum of lambdas
        by_item = one(SCORES, LABELS, OFFSETS, weight=np.full(20, 3.0))
        for twice, once in zip(by_item, plain, strict=True):
            np.testing.assert_allclose(twice, 3 * once, rtol=1e-10, atol=1e-12)


@every_loss
def test_the_gradient_is_a_sum_over_item_weights(one):
    """What a document's relevance contributes is multiplied: two weights together are one and the other."""
    if "norm_list" in one.name:
        pytest.skip("a logarithm of the sum of lambdas")
    other = RNG.uniform(0.2, 2, 20).astype(np.float32)
    together = one(SCORES, LABELS, OFFSETS, weight=WEIGHT + other)
    first, second = (one(SCORES, LABELS, OFFSETS, weight=weight) for weight in (WEIGHT, other))
    np.testing.assert_allclose(together.gradient, first.gradient + second.gradient, rtol=1e-5, atol=1e-6)
    if type(one).__name__ not in ("ApproxNDCG", "Gumbel", "NeuralNDCG", "PiRank"):  # less the best order
        np.testing.assert_allclose(together.value, first.value + second.value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("one", [one for one in LOSSES if one.takes_pairs], ids=lambda one: one.name)
def test_an_item_weight_multiplies_the_pairs_in_which_the_document_is_preferred(one):
    if "norm_list" in one.name or "1" in one.name or getattr(one, "ties", False):
        pytest.skip("not a sum of pairs of different labels")
    better, worse = zip(
        *[
            (i, j)
            for a, b in pairwise(OFFSETS)
            for i in range(a, b)
            for j in range(a, b)
            if LABELS[i] > LABELS[j]
        ],
        strict=True,
    )
    pairs = Pairs(better, worse, weight=WEIGHT[list(better)])
    weighed, paired = one(SCORES, LABELS, OFFSETS, weight=WEIGHT), one(SCORES, LABELS, OFFSETS, pairs=pairs)
    for a, b in zip(weighed, paired, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("one", [one for one in LOSSES if one.pointwise], ids=lambda one: one.name)
def test_an_item_weight_multiplies_the_term_of_a_pointwise_loss(one):
    plain, weighed = one(SCORES, LABELS, OFFSETS), one(SCORES, LABELS, OFFSETS, weight=WEIGHT)
    np.testing.assert_allclose(weighed.gradient, WEIGHT * plain.gradient, rtol=1e-6)
    np.testing.assert_allclose(weighed.hessian, WEIGHT * plain.hessian, rtol=1e-6)


def test_an_item_weight_multiplies_target_mass():
    """Labels 0, 1, 2 and a weight of 3 on the last: the mass of Softmax is 0, 1, 6."""
    scores, labels, weight = np.array([0.3, -0.2, 0.9]), [0, 1, 2], [1.0, 1.0, 3.0]
    share = np.exp(scores) / np.exp(scores).sum()
    found = loss("softmax")(scores, labels, [0, 3], weight=weight).gradient
    np.testing.assert_allclose(found, 7 * share - [0, 1, 6])
    mass = np.exp([0.0, 1.0, 2.0]) / np.exp([0.0, 1.0, 2.0]).sum() * weight
    found = loss("listnet")(scores, labels, [0, 3], weight=weight).gradient
    np.testing.assert_allclose(found, mass.sum() * share - mass, rtol=1e-6)


@every_loss
def test_lambdas_of_a_list_sum_to_zero(one):
    if one.pointwise:
        pytest.skip("pointwise losses pull each document on its own")
    gradient = one(SCORES, LABELS, OFFSETS, weight=WEIGHT).gradient
    np.testing.assert_allclose(np.add.reduceat(gradient, OFFSETS[:-1]), 0, atol=1e-10)


@every_loss
def test_a_permuted_list_has_a_permuted_gradient(one):
    if "seed" in {field.name for field in dataclasses.fields(one)} and "mle" not in one.name:
        pytest.skip("random draws belong to rows")
    if "ties=random" in one.name:
        pytest.skip("ties are broken by row")
    within = np.concatenate([start + RNG.permutation(stop - start) for start, stop in pairwise(OFFSETS)])
    plain = one(SCORES, LABELS, OFFSETS, weight=WEIGHT)
    moved = one(SCORES[within], LABELS[within], OFFSETS, weight=WEIGHT[within])
    np.testing.assert_allclose(moved.value, plain.value, rtol=1e-10)
    np.testing.assert_allclose(moved.gradient, plain.gradient[within], atol=1e-10)
    np.testing.assert_allclose(moved.hessian, plain.hessian[within], rtol=1e-8, atol=1e-10)


@settings(max_examples=60)
@given(ragged_lists(max_length=9), st.sampled_from(LOSSES), st.integers(0, 99), st.booleans())
def test_ties_of_scores_do_not_depend_on_the_order_of_rows(lists, one, seed, equal):
    """In double precision and as trees take it; also where all scores are equal."""
    drawn = "seed" in {field.name for field in dataclasses.fields(one)}
    if drawn and ("mle" not in one.name or "ties=random" in one.name):
        return  # draws belong to rows
    scores, labels, offsets = lists
    if "mle" in one.name and len(labels) > 8:
        return  # ties of many labels are averaged over drawn orders
    scores = np.zeros(len(scores)) if equal else scores
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in pairwise(offsets)])
    weight = np.linspace(0.5, 2.0, len(scores)).astype(np.float32)
    plain = one(scores, labels, offsets, weight=weight)
    moved = one(scores[rows], labels[rows], offsets, weight=weight[rows])
    if "triplet" in one.name:  # one of the documents that tie is the negative: the value alone is defined
        np.testing.assert_allclose(moved.value, plain.value, rtol=1e-9)
        return
    np.testing.assert_allclose(moved.value, plain.value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moved.gradient, plain.gradient[rows], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(moved.hessian, plain.hessian[rows], rtol=1e-6, atol=1e-8)
    gradient, hessian = one.derivatives(scores, labels, offsets)
    again = one.derivatives(scores[rows], labels[rows], offsets)
    for a, b in zip(again, (gradient, hessian), strict=True):
        np.testing.assert_allclose(a, b[rows], rtol=2e-5, atol=2e-6 * (1e-3 + np.abs(b).max()))


@every_loss
def test_a_small_step_lowers_the_value(one):
    if not comparable(one):
        pytest.skip("no cost function beside the gradient")
    before = one(SCORES, LABELS, OFFSETS)
    size = 1e-4 / np.abs(before.gradient).max()
    after = one(SCORES - size * before.gradient, LABELS, OFFSETS)
    assert after.value.sum() < before.value.sum()


@every_loss
def test_same_call_same_bits_and_lists_do_not_see_each_other(one):
    first, again = one(SCORES, LABELS, OFFSETS), one(SCORES, LABELS, OFFSETS)
    for a, b in zip(first, again, strict=True):
        assert a.tobytes() == b.tobytes()
    if "seed" in {field.name for field in dataclasses.fields(one)}:
        return
    if getattr(one, "max_label", 0.0) is None:
        return  # the highest grade is taken from all lists of the call
    alone = one(SCORES[:7], LABELS[:7], [0, 7])
    np.testing.assert_allclose(alone.gradient, first.gradient[:7], rtol=1e-12, atol=1e-15)


@every_loss
def test_derivatives_agree_with_the_call(one):
    result = one(SCORES, LABELS, OFFSETS)
    gradient, hessian = one.derivatives(SCORES, LABELS, OFFSETS)
    size = np.abs(result.gradient).max()
    np.testing.assert_allclose(gradient, result.gradient, atol=1e-6 * size)
    np.testing.assert_allclose(hessian, result.hessian, atol=1e-6 * np.abs(result.hessian).max())


@every_loss
def test_the_name_gives_the_loss_back(one):
    assert loss(one.name) == one


@every_loss
def test_bad_input_is_refused(one):
    for wrong, message in [
        (
            (np.append(SCORES[:-1], np.nan), LABELS, OFFSETS),
            r"scores must be finite, got nan in list 3 \(row 19\)",
        ),
        ((SCORES[:-1], LABELS, OFFSETS), r"scores needs one value per document \(20 by the offsets\)"),
        ((SCORES, LABELS, [0, 5]), r"scores needs one value per document \(5 by the offsets\)"),
        ((SCORES, LABELS, [0, 9, 7, 20]), "offsets must start at 0 and never fall"),
        ((SCORES, np.where(LABELS == 4, np.nan, LABELS), OFFSETS), "labels must be finite"),
    ]:
        with pytest.raises(ValueError, match=message):
            one(*wrong)
    with pytest.raises(ValueError, match="weight needs one value per document"):
        one(SCORES, LABELS, OFFSETS, weight=[1.0])
    with pytest.raises(ValueError, match="weight must be finite and >= 0, got -1 in list 0"):
        one(SCORES, LABELS, OFFSETS, weight=-np.ones(20))
    with pytest.raises(ValueError, match="query_weight needs one value per list"):
        one(SCORES, LABELS, OFFSETS, query_weight=[1.0])
    if not one.signed_labels:
        with pytest.raises(ValueError, match=r"labels must be finite and >= 0, got -1 in list 0 \(row 0\)"):
            one(SCORES, LABELS - 1, OFFSETS)
    if not one.takes_pairs:
        with pytest.raises(ValueError, match="would ignore the pairs"):
            one(SCORES, LABELS, OFFSETS, pairs=Pairs([0], [1]))


@every_loss
def test_unknown_options_are_refused(one):
    with pytest.raises(TypeError):
        type(one)(nonsense=1)
    with pytest.raises(ValueError, match="unknown option of"):
        loss(f"{type(one).__name__.lower()}(nonsense=1)")


@settings(max_examples=15)
@given(ragged_lists(), st.sampled_from(LOSSES))
def test_ties_of_scores_and_odd_lists_are_taken(lists, one):
    scores, labels, offsets = lists
    for part in one(scores, labels, offsets):
        assert np.isfinite(part).all()


@pytest.mark.parametrize("one", LOSSES[: len(CLASSES)], ids=lambda one: one.name)
def test_threads_change_no_bit(one, monkeypatch):
    many = 60
    offsets = np.arange(0, many * 20 + 1, 20)
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=many * 20), rng.integers(0, 5, many * 20)
    alone = one(scores, labels, offsets)
    monkeypatch.setattr("rankloop._jit._SMALL", 0)
    monkeypatch.setattr("rankloop._jit.thread_count", lambda threads=None: 4)
    together = one(scores, labels, offsets)
    for a, b in zip(alone, together, strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize(
    "one", [c() for c in CLASSES if c.__name__ not in ("NeuralNDCG",)], ids=lambda o: o.name
)
def test_empty_lists_are_empty(one):
    result = one(SCORES[:4], LABELS[:4], [0, 0, 4, 4])
    assert result.value[0] == result.value[2] == 0
    assert np.isfinite(result.gradient).all()
