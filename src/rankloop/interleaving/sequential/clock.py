"""The time that a boundary counts: information and planned people, where a difference is renewed faster."""

import numpy as np

from rankloop._arrays import Bools, Floats

__all__ = ["counted_information", "part_of_plan"]

ORDINARY = 1.25  # times as fast as by information is a difference renewed by the second pages of new people
FREE = 0.5  # of a renewal, which chance makes among the first people
WIDEST = 2.3  # standard errors at the end of a plan, around which an excess is weighed
LATELY = 0.05  # growth of the logarithm of people, from which on there is a rate of renewal
MOST = 600.0  # of a renewal, beyond which there are no numbers


def counted_information(information: Floats, renewal: Floats, ready: Bools) -> Floats:
    """The information that has passed: more than there is where the difference was renewed faster than by it.

    Loyal people followed by many with one page, clicks that become frequent, and people who are others at
    every visit bring differences of their own, though all together know no more than the variance says.
    """
    start = information[np.argmax(ready)] if ready.any() else 1.0
    most = np.maximum.accumulate(np.where(ready, information, start))
    excess = renewal - ORDINARY * np.log(np.maximum(most / start, 1.0)) - FREE
    more = np.where(ready & (excess > 0), information * np.exp(np.clip(excess, 0.0, MOST)), 0.0)
    return np.maximum(information, np.maximum.accumulate(more))


def part_of_plan(
    people: Floats, planned: int, arrived: Floats, renewal: Floats, ready: Bools
) -> tuple[Floats, Floats]:
    r"""The part of a plan's time that has passed after each page, and the renewal that was not planned.

    The part is that of the planned people to the power of c, :math:`(n / N)^c`, where c >= 1 is how fast
    the difference was renewed, by the logarithm of people, since three quarters of those who `arrived`
    were there: people to come are expected to renew it as fast. What was renewed beyond that does not
    follow from the number of people, say where all came at the start and come back until the last one
    arrives. It is added up with the weight :math:`b \phi(b)`, the chance to pass a boundary that is b
    standard errors away.
    """
    if not ready.any():
        return np.minimum(people / planned, 1.0), np.zeros(len(people))
    first = int(np.argmax(ready))
    then = np.maximum(np.searchsorted(arrived, 0.75 * arrived), first)
    grown = np.log(np.maximum(arrived, 1) / np.maximum(arrived[then], 1))
    pace = (renewal - renewal[then]) / np.maximum(grown, LATELY) / ORDINARY
    pace = np.where(grown > LATELY, np.maximum(pace, 1.0), 1.0)
    part = np.maximum(np.minimum(people / planned, 1.0) ** pace, 1e-6)
    weight = np.exp(-(WIDEST**2) / 2 * (1 / part - 1)) / np.sqrt(part)
    new, moved = np.diff(np.log(np.maximum(people, 1.0))), np.diff(renewal)
    surprise = np.concatenate([[0.0], moved - ORDINARY * pace[1:] * new])
    total = np.cumsum(np.where(ready, weight * surprise, 0.0))
    return part, np.maximum.accumulate(np.maximum(total, 0.0))
