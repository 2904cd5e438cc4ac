"""How far a test has come, where people do not stay the same: the time that its boundary counts."""

import numpy as np

from rankloop._arrays import Bools, Floats

__all__ = ["part_of_plan", "renewed"]

RENEWED = 2.0  # times as much as the information says, from which on the boundary for any look allows for it
RISEN = 1.25  # times the variance of all people, from which on a plan expects more of those to come


def renewed(information: Floats, spread: Floats, people: Floats, ready: Bools) -> Floats:
    r"""Information by which a difference was renewed so far; where people stay the same, the information.

    The sum of people's means is a random walk in the time :math:`C = n^2 V`, so that later people outweigh
    those before wherever C grows faster than `information` does. That is so where clicks become frequent
    (`spread`, the variance of first pages, rises), and where people with one page come after people with
    hundreds, whose means hardly vary: they bring a difference of their own, though all together know less
    than was known before. From its largest value M on, at m people, information counts as
    :math:`M \, C / C_m = M (n / m)^2 M / I`.
    """
    least = np.minimum.accumulate(np.where(ready, spread, np.inf))
    steady = information * np.where(ready, least / np.maximum(spread, 1e-300), 1.0)
    most = np.maximum.accumulate(steady)
    at = np.maximum.accumulate(np.where(steady >= most, np.arange(len(steady)), 0))
    growth = (people / np.maximum(people[at], 1.0)) ** 2 * most / np.maximum(steady, 1e-300)
    return np.maximum(information, np.maximum.accumulate(most * growth) / RENEWED)


def part_of_plan(people: Floats, planned: int, arrived: Floats, spread: Floats) -> Floats:
    """The part of a plan's information that has come, after each page: that of its people.

    Where the last quarter of those who `arrived` vary more than all did (`spread`, the variance of first
    pages), those to come are expected to vary as much more again, and the part is smaller.
    """
    total = arrived * spread
    then = np.searchsorted(arrived, 0.75 * arrived)
    lately = (total - total[then]) / np.maximum(arrived - arrived[then], 1.0)
    more = np.maximum(lately / np.maximum(RISEN * spread, 1e-300), 1.0) ** 2
    return np.asarray(people / (people + np.maximum(planned - people, 0.0) * more))
