"""Losses and metrics of allRank (Allegro), from the checkout that RANKLOOP_ALLRANK names.

allRank takes the logarithms of discounts in single precision, so figures agree to about 1e-7. It also cuts
probabilities at 1e-10 (`eps`), which changes pairs that are far out of order: here `eps` is as good as 0.
Conventions that differ, each named where it matters:

- most of its losses are means over a batch; it is called with one list at a time;
- with `k` it keeps pairs with both documents among the first k, we those with one of them;
- its `ndcgLoss1` also pairs each document with itself, which adds NDCG to the value;
- its MRR looks for the document with the highest grade, ours for the first relevant one.
"""

import importlib
import sys

import numpy as np
import pytest
import torch

from oracles.padded import some_lists
from oracles.peers import checkout
from rankloop import losses, metrics

checkout("RANKLOOP_ALLRANK")

peer = importlib.import_module("allrank.models.losses")
peer_metrics = importlib.import_module("allrank.models.metrics")

RTOL, ATOL = 1e-6, 5e-7
EPS = 1e-300
NUMBER, LONGEST = 150, 12


def each(lists, function):
    """Value and gradient of a loss of allRank for every list; NaN where it has none."""
    values, gradients = [], []
    for one in lists.each():
        scores = torch.tensor(lists.scores[one][None, :], dtype=torch.float64, requires_grad=True)
        labels = torch.tensor(lists.labels[one][None, :].astype(np.float64))
        value = function(scores, labels)
        if value.requires_grad:
            value.backward()
        values.append(float(value.detach()))
        gradients.append(np.zeros(scores.shape[1]) if scores.grad is None else scores.grad[0].numpy())
    return np.array(values), np.concatenate(gradients)


def agree(ours, lists, function, *, value=lambda theirs, lists: theirs, where=None, rtol=RTOL, atol=ATOL):
    found = ours(lists.scores, lists.labels, lists.offsets)
    theirs, gradient = each(lists, function)
    compared = lists.contrast if where is None else where
    assert compared.sum() > 100
    rows = np.repeat(compared, np.diff(lists.offsets))
    expected = value(theirs, lists)
    np.testing.assert_allclose(found.value[compared], expected[compared], rtol=rtol, atol=atol)
    return found, gradient, rows


SCHEMES = {
    "rankNet_scheme": losses.RankNet(),
    "lambdaRank_scheme": losses.LambdaRank(),
    "ndcgLoss2_scheme": losses.LambdaLoss(form="ndcg2"),
    "ndcgLoss2PP_scheme": losses.LambdaLoss(form="ndcg2++", mu=10.0),
    "rankNetWeightedByGTDiff_scheme": losses.LambdaLoss(form="arp2"),
}


@pytest.mark.parametrize("sigma", [1.0, 0.5])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_lambda_losses(scheme, sigma):
    """RankNet and LambdaRank take natural logarithms here, LambdaLoss binary ones."""
    ours = type(SCHEMES[scheme])(**{**SCHEMES[scheme].__dict__, "sigma": sigma})
    log = "binary" if isinstance(ours, losses.LambdaLoss) else "natural"
    lists = some_lists(1, number=NUMBER, longest=LONGEST)

    def function(scores, labels):
        return peer.lambdaLoss(
            scores, labels, weighing_scheme=scheme, sigma=sigma, reduction_log=log, eps=EPS
        )

    found, gradient, rows = agree(ours, lists, function)
    np.testing.assert_allclose(found.gradient[rows], gradient[rows], rtol=RTOL, atol=ATOL)


def test_ndcg_loss_1_pairs_documents_with_themselves():
    """log2(1 + e^0) = 1, so the pairs of a document with itself add the sum of G / D, which is NDCG."""
    lists = some_lists(2, number=NUMBER, longest=LONGEST)
    ndcg = metrics.ndcg(lists.scores, lists.labels, lists.offsets, empty="zero")
    found, gradient, rows = agree(
        losses.LambdaLoss(form="ndcg1"),
        lists,
        lambda s, y: peer.lambdaLoss(s, y, weighing_scheme="ndcgLoss1_scheme"),
        value=lambda theirs, _: theirs - ndcg,
    )
    np.testing.assert_allclose(found.gradient[rows], gradient[rows], rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("k", [2, 5])
def test_truncation_means_two_things(k):
    """allRank at k is our loss of the first k documents alone, over the ideal DCG@k of the whole list."""
    lists = some_lists(3, number=NUMBER, longest=LONGEST)
    theirs, _ = each(
        lists,
        lambda s, y: peer.lambdaLoss(s, y, weighing_scheme="lambdaRank_scheme", k=k, reduction_log="natural"),
    )
    differ = 0
    for q, one in enumerate(lists.each()):
        top = np.argsort(-lists.scores[one])[:k]
        scores, labels = lists.scores[one][top], lists.labels[one][top]
        inside = losses.LambdaRank(metric="dcg")(scores, labels, [0, len(top)]).value[0]
        best = np.sort(lists.labels[one])[::-1][:k].astype(np.float64)
        ideal = np.sum((2**best - 1) / np.log2(np.arange(len(best)) + 2))
        assert theirs[q] == pytest.approx(inside / ideal if ideal else 0.0, rel=RTOL, abs=ATOL)
        cut = losses.LambdaRank(truncation=k)(
            lists.scores[one], lists.labels[one], [0, len(lists.labels[one])]
        )
        differ += abs(cut.value[0] - theirs[q]) > 1e-3
    assert differ > NUMBER / 4


def test_ranknet_is_a_mean_over_pairs():
    lists = some_lists(4, number=NUMBER, longest=LONGEST)
    pairs = np.array([np.sum(lists.labels[one][:, None] > lists.labels[one]) for one in lists.each()])
    found, gradient, rows = agree(
        losses.RankNet(), lists, peer.rankNet, value=lambda theirs, _: theirs * pairs
    )
    expected = gradient * np.repeat(pairs, np.diff(lists.offsets))
    np.testing.assert_allclose(found.gradient[rows], expected[rows], rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("name", ["listNet", "listMLE"])
def test_listwise(name):
    """ListMLE on labels without ties: allRank breaks ties at random, we average them."""
    lists = some_lists(5, number=NUMBER, longest=LONGEST, distinct_labels=name == "listMLE")
    ours = losses.ListNet() if name == "listNet" else losses.ListMLE()
    found, gradient, rows = agree(ours, lists, lambda s, y: getattr(peer, name)(s, y, eps=EPS))
    np.testing.assert_allclose(found.gradient[rows], gradient[rows], rtol=RTOL, atol=ATOL)


def test_binary_listnet_is_listnet_of_binary_gains():
    lists = some_lists(6, number=NUMBER, longest=LONGEST, grades=2)
    found, gradient, rows = agree(
        losses.ListNet(target="gains"), lists, lambda s, y: peer.binary_listNet(s, y, eps=EPS)
    )
    np.testing.assert_allclose(found.gradient[rows], gradient[rows], rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("alpha", [1.0, 5.0])
def test_approx_ndcg(alpha):
    """allRank's loss is minus NDCG at smooth ranks, ours one minus it; alpha is one over our temperature."""
    lists = some_lists(7, number=NUMBER, longest=LONGEST)
    found, gradient, rows = agree(
        losses.ApproxNDCG(temperature=1 / alpha),
        lists,
        lambda s, y: peer.approxNDCGLoss(s, y, alpha=alpha),
        value=lambda theirs, _: 1 + theirs,
    )
    np.testing.assert_allclose(found.gradient[rows], gradient[rows], rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("k", [None, 3])
def test_neural_ndcg(k, monkeypatch):
    """allRank scales 50 times in single precision, which has not converged: values of these lists are off by
    up to 1.1e-3. Here its own scaling goes on until sums are within 1e-9 of 1, as ours do. allRank fails on a
    list of one document, where our value is 0.
    """
    module = sys.modules["allrank.models.losses.neuralNDCG"]
    scaling = module.sinkhorn_scaling
    monkeypatch.setattr(
        module,
        "sinkhorn_scaling",
        lambda mat, mask, **_: scaling(mat.double(), mask, tol=1e-9, max_iter=5000).float(),
    )
    lists = some_lists(8, number=NUMBER, longest=LONGEST)

    def function(scores, labels):
        if scores.shape[1] == 1:
            return 0 * scores.sum() - 1
        return peer.neuralNDCG(scores.float(), labels.float(), temperature=1.0, k=k)

    found, gradient, rows = agree(
        losses.NeuralNDCG(temperature=1.0, k=k),
        lists,
        function,
        value=lambda theirs, _: 1 + theirs,
        rtol=0,
        atol=2e-6,
    )
    np.testing.assert_allclose(found.gradient[rows], gradient[rows], rtol=0, atol=1e-4)


def test_pointwise():
    """allRank's RMSE is a root of a mean; its cross-entropies are means over documents of probabilities."""
    lists = some_lists(9, number=NUMBER, longest=LONGEST)
    sizes = np.diff(lists.offsets)
    everywhere = np.ones(NUMBER, bool)
    agree(
        losses.Squared(), lists, lambda s, y: peer.pointwise_rmse(s, y, 1),
        value=lambda theirs, _: theirs**2 * sizes, where=everywhere,
    )  # fmt: skip
    thresholds = torch.arange(1, 5, dtype=torch.float64) - 2.5
    found, gradient, _ = agree(
        losses.Ordinal(max_label=4), lists,
        lambda s, y: peer.ordinal(torch.sigmoid(s[:, :, None] - thresholds).float(), y, 4),
        value=lambda theirs, _: theirs * sizes, where=everywhere, rtol=1e-5,
    )  # fmt: skip
    np.testing.assert_allclose(found.gradient, gradient * np.repeat(sizes, sizes), rtol=1e-4, atol=1e-5)
    binary = some_lists(10, number=NUMBER, longest=LONGEST, grades=2)
    # Its binary cross-entropy is a sum over the documents of a list, divided by the number of lists.
    found, gradient, _ = agree(
        losses.SigmoidCrossEntropy(max_label=1), binary, lambda s, y: peer.bce(torch.sigmoid(s), y),
        where=everywhere,
    )  # fmt: skip
    np.testing.assert_allclose(found.gradient, gradient, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("k", [None, 1, 5])
def test_metrics(k):
    lists = some_lists(11, number=NUMBER, longest=LONGEST)
    given = lists.scores, lists.labels, lists.offsets
    ats = None if k is None else [k]
    theirs = {
        name: each(lists, lambda s, y, name=name: getattr(peer_metrics, name)(s.detach(), y, ats=ats)[0, 0])[
            0
        ]
        for name in ("ndcg", "dcg")
    }
    ours = {"ndcg": metrics.ndcg(*given, k=k, empty="one"), "dcg": metrics.dcg(*given, k=k, empty="zero")}
    for name, values in ours.items():
        np.testing.assert_allclose(values, theirs[name], rtol=RTOL, atol=ATOL)
    # Binary labels, of which one is relevant: the highest grade is then that of the relevant documents.
    binary = some_lists(12, number=NUMBER, longest=LONGEST, grades=2)
    found, _ = each(binary, lambda s, y: peer_metrics.mrr(s.detach(), y, ats=ats)[0, 0])
    expected = metrics.reciprocal_rank(binary.scores, binary.labels, binary.offsets, k=k, empty="zero")
    np.testing.assert_allclose(expected, found, rtol=RTOL, atol=ATOL)
