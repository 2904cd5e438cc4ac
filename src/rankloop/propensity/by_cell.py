"""Examination on a page of rows and columns: a grid, or carousels one below the other."""

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop.clicks import ClickLog
from rankloop.propensity.estimate import estimate
from rankloop.propensity.propensity import Propensity

__all__ = ["by_cell"]

DRAWS = 400  # of the curve by position, for the interval


def by_cell(log: ClickLog, *, method: str = "auto", seed: int = 0) -> Propensity:
    r"""The curve by position, with one effect of each row and one of each column.

    .. math:: \log \theta_k = r_{\mathrm{row}(k)} + c_{\mathrm{column}(k)}

    The curve of `propensity.estimate` has one number per position; here the effects are fitted to its
    logarithms, weighted by how certain each is, so that all positions of a row tell about the row. The log
    has the columns `row` and `column`, and one page layout: a position is always at the same place. Where
    rows and columns do not multiply, a curve by position is right and this one is not.

    >>> from rankloop.clicks import PBM, simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=6, n_features=3, seed=0)
    >>> user = PBM(examination=[1.0, 0.8, 0.5, 0.4, 0.25, 0.2], attraction=[0.1, 0.2, 0.4, 0.6, 0.9])
    >>> log = simulate(data, logging_policy=data.y, user=user, sessions=20_000, k=6, columns=2,
    ...                randomize="shuffle", seed=0)
    >>> by_cell(log).values.round(1)[:4]
    array([1. , 0.8, 0.5, 0.4])
    """
    row, column = _places(log)
    curve = estimate(log, method=method)
    if len(curve) < log.n_positions:
        raise ValueError(
            f"{curve.method} covers positions 1 to {len(curve)}, the log shows {log.n_positions}; "
            "shuffle or swap all of them"
        )
    design = _design(row, column)
    draws = curve.sample(DRAWS, seed=seed)
    spread = np.log(np.maximum(draws, 1e-12)).std(axis=0)
    weight = 1.0 / np.maximum(spread, max(1e-3, float(spread[1:].min(initial=1.0))))
    weight[0] = 1e3 * weight.max()  # the first is 1 by definition
    solve = np.linalg.pinv(design * weight[:, None]) * weight
    fitted = _fitted(np.log(curve.values), design, solve)
    others = np.array([_fitted(np.log(np.maximum(one, 1e-12)), design, solve) for one in draws])
    low, high = np.quantile(others, [0.025, 0.975], axis=0)
    return Propensity(
        fitted,
        np.minimum(low, fitted),
        np.maximum(high, fitted),
        f"{curve.method}, by row and column",
        curve.layout,
        log.n_pages,
        np.cov(np.log(others), rowvar=False),
        others,
        units=curve.units,
        trust=curve.trust,
        stopping=curve.stopping,
    )


def _places(log: ClickLog) -> tuple[Ints, Ints]:
    """The row and the column of each position, from 0."""
    if log.row is None or log.column is None:
        raise ValueError("the log has no columns row and column; log both beside position")
    found = []
    for name, values in (("row", log.row), ("column", log.column)):
        low, high = (np.full(log.n_positions, one) for one in (np.iinfo(np.int32).max, 0))
        np.minimum.at(low, log.position - 1, values)
        np.maximum.at(high, log.position - 1, values)
        moved = np.flatnonzero(low < high)
        if len(moved):
            raise ValueError(
                f"position {moved[0] + 1} is in {name} {low[moved[0]]} and in {name} {high[moved[0]]}: "
                "estimate each layout by itself (propensity.by_layout)"
            )
        if (high == 0).any():
            raise ValueError(
                f"position {int((high == 0).argmax()) + 1} was never shown; its place is unknown"
            )
        found.append(np.unique(high, return_inverse=True)[1].astype(np.int64))
    return found[0], found[1]


def _design(row: Ints, column: Ints) -> Floats:
    """An indicator of each row and of each column; the first position has effect 0."""
    rows, columns = (np.eye(one.max() + 1)[one] for one in (row, column))
    return np.hstack([rows, columns])


def _fitted(logs: Floats, design: Floats, solve: Floats) -> Floats:
    found = design @ (solve @ logs)
    return np.asarray(np.exp(found - found[0]), np.float64)
