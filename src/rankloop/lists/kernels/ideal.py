"""The DCG of the best order of one list of grades, compiled into kernels."""

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import part

__all__ = ["GRADES", "ideal_of_grades"]

GRADES = 32  # up to so many grades the best order comes from counting them, beyond from sorting


@part
def ideal_of_grades(
    labels: NDArray[np.float32], table: NDArray[np.float64], sums: NDArray[np.float64]
) -> float:
    """The best DCG by counting grades from the highest; -1 where a label is not a grade of the table.

    `table` holds the gains of grades 0, 1, 2, ..., rising; `sums[r]` the discounts of ranks 1 to r together.
    Every grade is one pass of equal comparisons, which runs in vector lanes.
    """
    high = np.float32(0.0)
    for i in range(len(labels)):
        high = max(high, labels[i])
    if high >= len(table):
        return -1.0
    between = 0
    for i in range(len(labels)):
        between += labels[i] != np.int32(labels[i])
    if between > 0:
        return -1.0
    depth = min(len(labels), len(sums) - 1)
    above, ideal, grade = 0, 0.0, int(high)
    while above < depth and grade >= 0:
        number = 0
        for i in range(len(labels)):
            number += labels[i] == np.float32(grade)
        upto = min(above + number, depth)
        ideal += table[grade] * (sums[upto] - sums[above])
        above = upto
        grade -= 1
    return ideal
