"""The two checks of the theory of LambdaRank, and the bridge to torch."""

from itertools import pairwise

import numpy as np
import pytest

from rankloop.losses import LambdaRank, RankNet, torch_loss
from rankloop.losses.checks import local_optimum, symmetry


def ndcg(scores, labels, offsets):
    values = []
    for start, stop in pairwise(offsets):
        ranked = labels[start:stop][np.argsort(-scores[start:stop], kind="stable")]
        discount = 1 / np.log2(2 + np.arange(stop - start))
        values.append((2**ranked - 1) @ discount / ((2 ** np.sort(ranked)[::-1] - 1) @ discount))
    return float(np.mean(values))


def test_a_trained_linear_lambdarank_is_a_local_optimum_and_its_start_is_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    labels = np.clip(np.round(X @ [1.0, 0.5, -0.5, 0.0] + rng.normal(0, 0.7, 3000)), 0, 4)
    offsets = np.arange(0, 3001, 20)
    weights = np.zeros(4)
    for _ in range(150):
        result = LambdaRank()(X @ weights, labels, offsets)
        weights -= np.linalg.solve(X.T @ (result.curvature[:, None] * X) + np.eye(4), X.T @ result.gradient)

    def test(at):
        # Steps that are large beside the grain of the metric: NDCG is a staircase.
        return local_optimum(
            lambda w: X @ w, at, lambda s: ndcg(s, labels, offsets), step=0.5, directions=459
        )

    trained = test(weights)
    assert trained.holds, trained
    assert trained.raised == 0
    assert trained.share == pytest.approx(0.01, abs=1e-4)
    assert not test(np.array([0.1, -1.0, 0.0, 1.0])).holds


def test_lambdas_are_symmetric_within_a_sort_and_normalised_ones_are_not():
    scores, labels = [0.3, 1.2, -0.4, 0.9, 2.0], [1, 0, 3, 0, 2]
    for metric in ("ndcg", "dcg", "err", "map", "mrr", "arp"):
        assert symmetry(LambdaRank(metric=metric), scores, labels) < 1e-6
    assert symmetry(RankNet(), scores, labels) < 1e-6
    assert symmetry(LambdaRank(norm_list=True), scores, labels) > 1e-3
    with pytest.raises(ValueError, match="the sort must stay fixed"):
        symmetry(RankNet(), [0.0, 0.0], [0, 1])


def test_torch_sees_our_gradient():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    scores, labels, offsets = rng.normal(size=6), np.array([0, 1, 2, 0, 1, 0]), [0, 4, 6]
    tensor = torch.tensor(scores, requires_grad=True)
    value = torch_loss("listnet")(tensor, torch.tensor(labels), torch.tensor(offsets))
    (value * torch.tensor([1.0, 3.0])).sum().backward()
    from rankloop.losses import ListNet

    wanted = ListNet()(scores, labels, offsets, query_weight=[1.0, 3.0])
    np.testing.assert_allclose(tensor.grad.numpy(), wanted.gradient)
    half = torch.tensor(scores, dtype=torch.float32, requires_grad=True)
    assert torch_loss("ranknet")(half, labels, offsets).dtype == torch.float32
    checked = torch.tensor(scores, requires_grad=True)
    assert torch.autograd.gradcheck(lambda s: torch_loss("softmax")(s, labels, offsets), (checked,))
