"""How far features separate ranks, and how much relevance they do not explain."""

import numpy as np
from scipy.special import ndtr

from rankloop._arrays import Floats
from rankloop.clicks import Aggregate
from rankloop.data import RankingDataset
from rankloop.propensity.fitting.likelihood import JointLikelihood

__all__ = ["hidden_relevance", "overlap_of_features"]

WORK = 2e9  # multiplications spent on the features; larger logs are sampled


def overlap_of_features(counts: Aggregate, data: RankingDataset, ranks: int) -> tuple[float, ...]:
    """Twice the normal tail at half the Mahalanobis distance between documents of rank 1 and of rank k."""
    row = counts.rows(data)
    keep = np.arange(len(row))
    most = max(int(WORK / max(data.n_features, 1) ** 2), 50 * ranks)
    if len(keep) > most:
        keep = np.random.default_rng(0).choice(len(row), most, replace=False)
    X = np.nan_to_num(np.asarray(data.X[row[keep]], np.float64))
    rank = counts.position[keep] - 1
    weight = counts.impressions[keep].astype(np.float64)
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    mass = np.maximum(np.bincount(rank, weight, ranks), 1e-300)
    mean = np.stack([np.bincount(rank, weight * column, ranks) / mass for column in X.T], axis=1)
    inside = X - mean[rank]
    within = (inside * weight[:, None]).T @ inside / weight.sum()
    within[np.diag_indices_from(within)] += 1e-6
    apart = mean - mean[0]
    distance = np.einsum("kf,fk->k", apart, np.linalg.solve(within, apart.T))
    size = np.maximum(np.bincount(rank, minlength=ranks), 1)
    distance = np.maximum(distance - data.n_features * (1 / size + 1 / size[0]), 0.0)
    distance[0] = 0.0
    return tuple(float(one) for one in 2 * ndtr(-np.sqrt(distance) / 2))


def hidden_relevance(
    counts: Aggregate, data: RankingDataset, rates: Floats
) -> tuple[tuple[float, ...] | None, tuple[float, ...] | None, float | None, tuple[float, ...] | None]:
    """How far features move log theta, how far other relevance may, the share that features explain, and
    what the rest of the model absorbs of a change at one rank."""
    clicks = np.bincount(counts.position - 1, counts.clicks, len(rates))
    if len(rates) < 2 or np.any(clicks == 0):
        return None, None, None, None
    joint = JointLikelihood(counts, data)
    point = joint.fit()
    shift = np.append(0.0, point[1 - len(rates) :]) - np.log(rates / rates[0])
    shown, unseen = joint.variances(point)
    # without documents that were clicked twice it is unknown: assume that the rest is as large
    ratio = 1.0 if unseen is None else float(np.sqrt(unseen / max(shown, 1e-12)))
    bias = np.minimum(np.abs(shift) * ratio, 10.0)
    explained = None if unseen is None else shown / max(shown + unseen, 1e-12)
    return tuple(shift.tolist()), tuple(bias.tolist()), explained, joint.absorbed(point)
