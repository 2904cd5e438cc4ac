"""Several data sets as one."""

from collections.abc import Sequence

import numpy as np

from rankloop._arrays import Array, Singles
from rankloop.data.pairs import Pairs
from rankloop.data.ranking_dataset import RankingDataset

__all__ = ["concat"]


def concat(parts: Sequence[RankingDataset]) -> RankingDataset:
    """Join data sets with the same features and different queries, in order.

    Weights and pairs that only some parts have are filled (with 1, and with none); docids and positions must
    be in all parts or in none.

    >>> a = RankingDataset([[1.0]], [1], ["q1"])
    >>> b = RankingDataset([[2.0], [3.0]], [0, 1], ["q2", "q2"])
    >>> concat([a, b]).offsets
    array([0, 1, 3])
    """
    if not parts:
        raise ValueError("concat needs at least one data set, got none")
    _check_features(parts)
    lengths = np.concatenate([part.lengths for part in parts])
    return RankingDataset._trusted(
        X=np.concatenate([part.X for part in parts]),
        y=np.concatenate([part.y for part in parts]),
        offsets=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        qid=_queries(parts),
        docid=_all_or_none(parts, "docid"),
        query_text=_texts(parts),
        query_weight=_weights(parts, "query_weight"),
        item_weight=_weights(parts, "item_weight"),
        position=_all_or_none(parts, "position"),
        pairs=_pairs(parts),
        feature_names=parts[0].feature_names,
    )


def _check_features(parts: Sequence[RankingDataset]) -> None:
    first = parts[0]
    for i, part in enumerate(parts[1:], 2):
        if part.n_features != first.n_features:
            raise ValueError(
                f"part {i} has {part.n_features} features but part 1 has {first.n_features}; "
                "read them with the same n_features"
            )
        if part.feature_names != first.feature_names:
            theirs = part.feature_names or ("no names",) * part.n_features
            ours = first.feature_names or ("no names",) * part.n_features
            at = next(j for j in range(part.n_features) if theirs[j] != ours[j])
            raise ValueError(
                f"feature {at} is {theirs[at]!r} in part {i} but {ours[at]!r} in part 1; "
                "give all parts the same feature_names, in the same order"
            )


def _queries(parts: Sequence[RankingDataset]) -> Array:
    kinds = {part.qid.dtype.kind for part in parts}
    joined = [part.qid if len(kinds) == 1 else part.qid.astype(np.str_) for part in parts]
    qid = np.concatenate(joined)
    unique, first, code = np.unique(qid, return_index=True, return_inverse=True)
    if len(unique) < len(qid):
        at = int(np.flatnonzero(first[code] != np.arange(len(qid)))[0])
        owner = np.repeat(np.arange(1, len(parts) + 1), [len(part) for part in parts])
        raise ValueError(
            f"query {qid[at]} is in part {owner[first[code[at]]]} and in part {owner[at]}; "
            "a query belongs to one part: rename or drop it"
        )
    return qid


def _all_or_none(parts: Sequence[RankingDataset], name: str) -> Array | None:
    columns = [getattr(part, name) for part in parts]
    have = [column is not None for column in columns]
    if not any(have):
        return None
    if not all(have):
        raise ValueError(
            f"part {have.index(False) + 1} has no {name} but part {have.index(True) + 1} has; "
            f"add it, or drop it with replace({name}=None)"
        )
    if len({column.dtype.kind for column in columns}) > 1:
        columns = [column.astype(np.str_) for column in columns]
    return np.concatenate(columns)


def _texts(parts: Sequence[RankingDataset]) -> Array | None:
    """Queries of parts without texts have empty ones."""
    if all(part.query_text is None for part in parts):
        return None
    return np.concatenate(
        [np.zeros(part.n_queries, "<U1") if part.query_text is None else part.query_text for part in parts]
    )


def _weights(parts: Sequence[RankingDataset], name: str) -> Singles | None:
    if all(getattr(part, name) is None for part in parts):
        return None
    sizes = [part.n_queries if name == "query_weight" else part.n_documents for part in parts]
    columns = [getattr(part, name) for part in parts]
    return np.concatenate(
        [np.ones(n, np.float32) if w is None else w for n, w in zip(sizes, columns, strict=True)]
    )


def _pairs(parts: Sequence[RankingDataset]) -> Pairs | None:
    starts = np.concatenate(([0], np.cumsum([part.n_documents for part in parts])))
    have = [(part.pairs, start) for part, start in zip(parts, starts, strict=False) if part.pairs is not None]
    if not have:
        return None
    return Pairs(
        np.concatenate([pairs.better + start for pairs, start in have]),
        np.concatenate([pairs.worse + start for pairs, start in have]),
        np.concatenate([pairs.probability for pairs, _ in have]),
        np.concatenate([pairs.weight for pairs, _ in have]),
    )
