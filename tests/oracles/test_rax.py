"""Losses and metrics of Rax (Jagerman et al., 2022) in double precision, list by list.

Conventions that differ, each named where it matters:

- a list whose labels are all equal has value 0 and no gradient in our list-wise losses; Rax gives it a value;
- Rax multiplies lambda weights by the length of the (padded) list;
- with `topn` Rax drops the discounts below it, we drop the pairs below it;
- Rax's metrics are 0 where nothing is relevant, and its precision divides by the documents shown;
- Rax breaks ties by position; we take expected values.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rax

from oracles.padded import some_lists
from rankloop import losses, metrics

SEEDS = range(2)
RTOL, ATOL = 1e-9, 1e-11

seeds = pytest.mark.parametrize("seed", SEEDS)


def per_list(loss, lists, *, weighted=False, **options):
    """Value and gradient of each list on its own, one row of padded arrays at a time."""
    scores, labels, mask = lists.rows(lists.scores), lists.rows(lists.labels), lists.mask
    weight = lists.rows(lists.weight, 1.0)

    def value(s, y, where, w):
        given = {"weights": w} if weighted else {}
        return jnp.sum(loss(s, y, where=where, reduce_fn=jnp.sum, **given, **options))

    both = jax.jit(jax.vmap(jax.value_and_grad(value)))
    values, gradients = both(scores, labels, mask, weight)
    return np.asarray(values), lists.flat(gradients)


def softmax_of_labels(labels, where):
    return jax.nn.softmax(jnp.where(where, labels, -jnp.inf))


def shares_of_gains(labels, where):
    gains = jnp.where(where, 2.0**labels - 1, 0.0)
    return gains / jnp.where(gains.sum() > 0, gains.sum(), 1.0)


# Ours, theirs with options, and whether both take item weights in one meaning.
LISTWISE = {
    "softmax": (losses.Softmax(), rax.softmax_loss, {}, True),
    "listnet": (losses.ListNet(), rax.softmax_loss, {"label_fn": softmax_of_labels}, False),
    "listnet-gains": (losses.ListNet(target="gains"), rax.softmax_loss, {"label_fn": shares_of_gains}, False),
    "unique-softmax": (losses.UniqueSoftmax(), rax.unique_softmax_loss, {}, True),
    "unique-softmax-linear": (
        losses.UniqueSoftmax(gain="linear"),
        rax.unique_softmax_loss,
        {"gain_fn": lambda label: label},
        True,
    ),
    "ranknet": (losses.RankNet(), rax.pairwise_logistic_loss, {}, True),
    "hinge": (losses.Hinge(), rax.pairwise_hinge_loss, {}, True),
    "squared": (losses.Squared(), rax.pointwise_mse_loss, {}, True),
}


@seeds
@pytest.mark.parametrize("name", LISTWISE)
def test_losses(name, seed):
    ours, theirs, options, weights = LISTWISE[name]
    lists = some_lists(seed)
    for weighted in {False, weights}:
        given = {"weight": lists.weight} if weighted else {}
        found = ours(lists.scores, lists.labels, lists.offsets, **given)
        value, gradient = per_list(theirs, lists, weighted=weighted, **options)
        compared = lists.contrast | ours.pointwise
        rows = np.repeat(compared, np.diff(lists.offsets))
        assert compared.sum() > 300
        np.testing.assert_allclose(found.value[compared], value[compared], rtol=RTOL, atol=ATOL)
        np.testing.assert_allclose(found.gradient[rows], gradient[rows], rtol=RTOL, atol=ATOL)
        assert np.all(found.value[~compared] == 0)


@seeds
def test_sigmoid_cross_entropy(seed):
    """Rax clips labels to [0, 1] and we divide by the highest grade: the same for binary labels."""
    lists = some_lists(seed, grades=2)
    for given in ({}, {"weight": lists.weight}):
        found = losses.SigmoidCrossEntropy(max_label=1)(lists.scores, lists.labels, lists.offsets, **given)
        value, gradient = per_list(rax.pointwise_sigmoid_loss, lists, weighted=bool(given))
        np.testing.assert_allclose(found.value, value, rtol=RTOL, atol=ATOL)
        np.testing.assert_allclose(found.gradient, gradient, rtol=RTOL, atol=ATOL)


@seeds
def test_listmle_of_labels_without_ties(seed):
    lists = some_lists(seed, distinct_labels=True)
    found = losses.ListMLE()(lists.scores, lists.labels, lists.offsets)
    value, gradient = per_list(rax.listmle_loss, lists)
    np.testing.assert_allclose(found.value, value, rtol=RTOL, atol=ATOL)
    np.testing.assert_allclose(found.gradient, gradient, rtol=RTOL, atol=ATOL)


LAMBDAS = {
    "lambdarank": (losses.LambdaRank(), rax.dcg_lambdaweight, {"normalize": True}, 1.0),
    "lambdarank-dcg": (losses.LambdaRank(metric="dcg"), rax.dcg_lambdaweight, {}, 1.0),
    "lambdarank-linear": (
        losses.LambdaRank(gain="linear"),
        rax.dcg_lambdaweight,
        {"normalize": True, "gain_fn": lambda label: label},
        1.0,
    ),
    # Our LambdaLoss takes logarithms to base 2, as its paper does.
    "lambdaloss": (losses.LambdaLoss(), rax.dcg2_lambdaweight, {"normalize": True}, np.log(2)),
    "lambdaloss-arp2": (losses.LambdaLoss(form="arp2"), rax.labeldiff_lambdaweight, {}, np.log(2)),
}


@seeds
@pytest.mark.parametrize("name", LAMBDAS)
def test_lambda_losses(name, seed):
    ours, weigh, options, unit = LAMBDAS[name]
    lists = some_lists(seed)
    width = lists.mask.shape[1]
    found = ours(lists.scores, lists.labels, lists.offsets)
    value, gradient = per_list(
        rax.pairwise_logistic_loss, lists, lambdaweight_fn=lambda *a, **kw: weigh(*a, **kw, **options)
    )
    scale = unit if weigh is rax.labeldiff_lambdaweight else unit * width
    np.testing.assert_allclose(scale * found.value, value, rtol=RTOL, atol=ATOL)
    np.testing.assert_allclose(scale * found.gradient, gradient, rtol=RTOL, atol=ATOL * width)


def test_truncation_means_two_things():
    """Ranks 1 and 3 with a cut at 2: Rax counts the whole discount of rank 1, we the difference of both."""
    scores, labels = np.array([3.0, 2.0, 1.0]), np.array([0.0, 0.0, 1.0])
    theirs = rax.dcg_lambdaweight(jnp.array(scores), jnp.array(labels), topn=2).reshape(3, 3)[2, 0] / 3
    assert float(theirs) == pytest.approx(1.0)
    ours = losses.LambdaRank(metric="dcg", truncation=2)(scores, labels, [0, 3])
    pairs = [(1.0 - 0.5) * np.log1p(np.e**2), (1 / np.log2(3) - 0.5) * np.log1p(np.e)]
    assert ours.value[0] == pytest.approx(sum(pairs))


@seeds
@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_smooth_ranks(temperature, seed):
    """Rax's losses are minus the metric, ours one minus it; its smooth MRR is a maximum, ours a mean."""
    lists = some_lists(seed)

    def approximate(metric):
        """What `rax.approx_t12n` makes; that function itself needs a jax below 0.7."""

        def loss(scores, labels, **options):
            return -metric(scores, labels, rank_fn=ranks, cutoff_fn=rax.utils.approx_cutoff, **options)

        return loss

    def ranks(scores, **options):
        return rax.utils.approx_ranks(
            scores, step_fn=lambda gap: jax.nn.sigmoid(gap / temperature), **options
        )

    found = losses.ApproxNDCG(temperature=temperature)(lists.scores, lists.labels, lists.offsets)
    value, gradient = per_list(approximate(rax.ndcg_metric), lists)
    rows = np.repeat(lists.contrast, np.diff(lists.offsets))
    np.testing.assert_allclose(found.value[lists.contrast] - 1, value[lists.contrast], rtol=RTOL, atol=ATOL)
    np.testing.assert_allclose(found.gradient[rows], gradient[rows], rtol=1e-8, atol=1e-10)
    # With one relevant document the mean and the maximum are the same.
    one = lists._replace(labels=np.zeros(len(lists.labels), np.float32))
    one.labels[lists.offsets[:-1]] = 1
    found = losses.ApproxMRR(temperature=temperature)(one.scores, one.labels, one.offsets)
    value, gradient = per_list(approximate(rax.mrr_metric), one)
    rows = np.repeat(one.contrast, np.diff(one.offsets))
    np.testing.assert_allclose(found.value[one.contrast] - 1, value[one.contrast], rtol=RTOL, atol=ATOL)
    np.testing.assert_allclose(found.gradient[rows], gradient[rows], rtol=1e-8, atol=1e-10)


METRICS = {
    "ndcg": (metrics.ndcg, {}, rax.ndcg_metric),
    "dcg": (metrics.dcg, {}, rax.dcg_metric),
    "map": (metrics.average_precision, {}, rax.ap_metric),
    "mrr": (metrics.reciprocal_rank, {}, rax.mrr_metric),
    "precision": (metrics.precision, {"divide_by": "shown"}, rax.precision_metric),
    "recall": (metrics.recall, {}, rax.recall_metric),
}


@seeds
@pytest.mark.parametrize("k", [None, 1, 3, 10])
@pytest.mark.parametrize("name", METRICS)
def test_metrics_of_scores_without_ties(name, k, seed):
    ours, options, theirs = METRICS[name]
    lists = some_lists(seed)
    for weighted in {False, name in ("dcg", "ndcg")}:
        own = {"weight": lists.weight} if weighted else {}
        found = ours(lists.scores, lists.labels, lists.offsets, k=k, empty="zero", **options, **own)
        given = {"weights": lists.rows(lists.weight, 1.0)} if weighted else {}
        expected = theirs(
            lists.rows(lists.scores), lists.rows(lists.labels),
            where=lists.mask, topn=k, reduce_fn=None, **given,
        )  # fmt: skip
        np.testing.assert_allclose(found, expected, rtol=RTOL, atol=ATOL)


@seeds
@pytest.mark.parametrize("ties", [False, True])
def test_ordered_pairs(ties, seed):
    """Rax counts a pair of equal scores as wrong: our worst order of ties, not our expected value."""
    lists = some_lists(seed, ties=ties)
    found = metrics.pair_accuracy(lists.scores, lists.labels, lists.offsets, ties="worst", empty="zero")
    expected = rax.opa_metric(
        lists.rows(lists.scores), lists.rows(lists.labels), where=lists.mask, reduce_fn=None
    )
    np.testing.assert_allclose(found, expected, rtol=RTOL, atol=ATOL)
