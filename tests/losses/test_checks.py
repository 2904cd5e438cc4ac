"""The two checks of the theory of LambdaRank, and the bridge to torch."""

import numpy as np
import pytest

from rankloop.losses import LambdaRank, RankNet, torch_loss
from rankloop.losses.checks import local_optimum, symmetry


def ndcg(scores, labels):
    ranked = np.take_along_axis(labels, np.argsort(-scores.reshape(labels.shape), axis=1), axis=1)
    discount = 1 / np.log2(2 + np.arange(labels.shape[1]))
    best = (2 ** -np.sort(-labels) - 1) @ discount
    return float(np.mean((2**ranked - 1) @ discount / np.where(best > 0, best, 1.0)))


@pytest.mark.parametrize("seed", [0, 1])
def test_a_trained_linear_lambdarank_is_a_local_optimum_and_its_start_is_not(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20_000, 3))
    labels = np.clip(np.round(X @ [1.0, 0.5, -0.5] + rng.normal(0, 0.7, 20_000)), 0, 4)
    offsets, weights = np.arange(0, 20_001, 20), np.zeros(3)
    for _ in range(15):
        _, gradient, hessian = LambdaRank()(X @ weights, labels, offsets)
        weights -= np.linalg.solve(X.T @ (hessian[:, None] * X) + np.eye(3), X.T @ gradient)

    def test(at, **options):
        return local_optimum(
            lambda w: X @ w, at, lambda s: ndcg(s, labels.reshape(-1, 20)), step=1.0, **options
        )

    trained = test(weights, grain=1e-3)
    assert trained.holds, trained
    assert trained.raised == 0
    assert trained.share == pytest.approx(0.01, abs=1e-4)
    assert not test(np.array([0.1, -1.0, 1.0]), grain=1e-3, directions=50).holds


def test_a_confidence_in_per_cent_is_an_error():
    with pytest.raises(ValueError, match="confidence lies between 0 and 1, got 99"):
        local_optimum(lambda w: w, [1.0], lambda s: 0.0, confidence=99)


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


def test_a_cut_off_of_the_metric_is_the_truncation():
    with pytest.raises(
        ValueError, match="metric of LambdaRank is 'ndcg' alone; for ndcg@10 give truncation=10"
    ):
        LambdaRank(metric="ndcg@10")
