"""All data, and which queries of it models are fitted on and compared on."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Ints, Singles
from rankloop.data import RankingDataset

__all__ = ["Division", "divided", "joined"]

HELD_OUT = 0.2  # of the queries, where no validation set is given


@dataclass(frozen=True, eq=False)
class Division:
    """All data; the queries of it that are `held` out; what models are fitted on, and compared on."""

    everything: RankingDataset
    held: Ints
    fitted: RankingDataset
    compared: RankingDataset
    sampled: float = 1.0  # the share of the documents to fit on that `fitted` has


def divided(train: RankingDataset, valid: RankingDataset | None, seed: int) -> Division:
    """The validation set held out, or a fifth of the queries; all of very few queries.

    Of the queries whose labels differ, a fifth is held out too, and never all.
    """
    if valid is not None:
        everything = joined(train, valid)
        return Division(everything, np.arange(train.n_queries, everything.n_queries), train, valid)
    starts = train.offsets[:-1]
    differ = np.maximum.reduceat(train.y, starts) > np.minimum.reduceat(train.y, starts)
    if train.n_queries < 5 or differ.sum() < 2:
        return Division(train, np.arange(train.n_queries), train, train)
    order = np.random.default_rng([seed, 2]).permutation(train.n_queries)
    useful, others = order[differ[order]], order[~differ[order]]
    count = max(round(HELD_OUT * len(useful)), 1)
    held = np.sort(np.concatenate([useful[:count], others[: round(HELD_OUT * len(others))]]))
    rest = np.setdiff1d(np.arange(train.n_queries), held)
    return Division(train, held, train.select(rest), train.select(held))


def joined(train: RankingDataset, valid: RankingDataset) -> RankingDataset:
    """Both as one set; queries of the same name in both are two queries."""
    weights = {
        name: np.concatenate([_weights(part, name) for part in (train, valid)])
        for name in ("query_weight", "item_weight")
        if getattr(train, name) is not None or getattr(valid, name) is not None
    }
    return RankingDataset.from_groups(
        np.concatenate([train.X, valid.X]),
        np.concatenate([train.y, valid.y]),
        np.concatenate([train.lengths, valid.lengths]),
        **weights,
    )


def _weights(data: RankingDataset, name: str) -> Singles:
    found: Singles | None = getattr(data, name)
    if found is not None:
        return found
    return np.ones(data.n_queries if name == "query_weight" else data.n_documents, np.float32)
