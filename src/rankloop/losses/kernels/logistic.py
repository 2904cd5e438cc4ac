"""The logistic function and its integral, for any score."""

import numpy as np

from rankloop._arrays import Floats

__all__ = ["log1p_exp", "sigmoid"]


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + exp(-x)) without overflow.

    >>> sigmoid(np.array([-1e4, 0.0, 1e4]))
    array([0. , 0.5, 1. ])
    """
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def log1p_exp(x: Floats) -> Floats:
    """log(1 + exp(x)) without overflow.

    >>> log1p_exp(np.array([-1e4, 1e4]))
    array([    0., 10000.])
    """
    result: Floats = np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))
    return result
