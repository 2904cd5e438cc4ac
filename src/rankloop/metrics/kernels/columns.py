"""The columns that metrics take beside scores and labels, each declared once for all signatures."""

from typing import TypedDict

from numpy.typing import ArrayLike

__all__ = ["Column", "Columns", "JudgedPool", "WeightedPool"]

Column = ArrayLike | None


class Pool(TypedDict, total=False):
    """Every judged label of each list, retrieved or not."""

    pool_labels: Column
    pool_offsets: Column


class WeightedPool(Pool, total=False):
    """Columns of a metric with gains, which item weights multiply."""

    weight: Column


class JudgedPool(Pool, total=False):
    """Columns of a metric that tells "irrelevant" from "not judged"."""

    judged: Column
    pool_judged: Column


class Columns(WeightedPool, JudgedPool, total=False):
    """All columns, for those who compute any metric."""

    tie_break: Column
    subtopics: Column
