"""How far a difference of means has moved on: the time in which its evidence is made, measured by people."""

from typing import Any

import numpy as np

from rankloop._arrays import Bools, Floats
from rankloop._jit import kernel
from rankloop.interleaving.sequential.people import People

__all__ = ["renewal"]

STEP = 0.5  # of renewal, after which it is compared with a later moment
LEAST = 1e-4  # squared correlation, below which nothing is left


def renewal(
    people: People,
    ready: Bools,
    lowest: Floats | float,
    highest: Floats | float,
    taken: tuple[Floats, Floats] | None = None,
) -> Floats:
    r"""How far the difference has moved on, after each page, since the first page that is `ready`.

    A standardised difference z without a true one is an Ornstein-Uhlenbeck process in the time L for which
    the correlation of z then and now is :math:`e^{-L/2}`. Where the people who came do not move, and later
    ones vary as those before, L is the logarithm of the information. It runs faster where later people
    outweigh those before, and where the means of people who come back move on. The covariance of two
    moments is that between people, of everybody who was there at both:

    .. math:: L = -\log \frac{(\sum_i m_i m'_i)^2}{\sum_i m_i^2 \sum_i m_i'^2}

    with means m centred over the people of the moment. Steps of `STEP` are added up, so that what a person's
    second page mends at once counts little. One more person at `lowest` and at `highest` is there from the
    start. `taken` are, page by page, what its person did before, and the slope by which that is taken out.
    """
    pages, count = len(people.code), int(people.code.max(initial=-1)) + 1
    low, high = (np.broadcast_to(np.asarray(one, np.float64), pages).copy() for one in (lowest, highest))
    before, slope = (np.zeros(pages), np.zeros(pages)) if taken is None else taken
    found = np.zeros(pages)
    state = np.zeros((3, count)), np.zeros((2, count), np.bool_)
    move_on(people.code, people.enters, people.now, ready, low, high, before, slope, *state, found)
    return found


@kernel
def move_on(
    code: Any, enters: Any, now: Any, ready: Any, low: Any, high: Any, before: Any, slope: Any,
    means: Any, there: Any, found: Any,
) -> None:  # fmt: skip
    """`means` are of each person now, at the last step and before the experiment; `there` is who counts."""
    mean, then, own = means[0], means[1], means[2]
    here, both = there[0], there[1]  # now; at the last step and now
    n = total = squares = 0.0  # of the people now
    n_then = total_then = squares_then = 0.0
    n_both = cross = both_then = both_now = 0.0
    theta = done = most = 0.0
    started = False
    for page in range(len(code)):
        person = code[page]
        # The sums without this person, and again with the new mean
        if here[person]:
            value = mean[person] - theta * own[person]
            n -= 1
            total -= value
            squares -= value * value
            if both[person]:
                n_both -= 1
                cross -= then[person] * value
                both_then -= then[person]
                both_now -= value
        here[person] = enters[page] >= 0
        if here[person]:
            mean[person], own[person] = now[page], before[page]
            value = mean[person] - theta * own[person]
            n += 1
            total += value
            squares += value * value
            if both[person]:
                n_both += 1
                cross += then[person] * value
                both_then += then[person]
                both_now += value
        else:
            both[person] = False
        if not ready[page]:
            continue
        # What is left of the last step
        since = 0.0
        if started:
            a, b = low[page], high[page]
            centre, centre_then = (total + a + b) / (n + 2), (total_then + a + b) / (n_then + 2)
            shared = cross - centre * both_then - centre_then * both_now + n_both * centre * centre_then
            shared += (a - centre) * (a - centre_then) + (b - centre) * (b - centre_then)
            spread = squares + a * a + b * b - (n + 2) * centre * centre
            spread_then = squares_then + a * a + b * b - (n_then + 2) * centre_then * centre_then
            left = LEAST
            if shared > 0 and spread > 0 and spread_then > 0:
                left = min(max(shared * shared / (spread * spread_then), LEAST), 1.0)
            since = -np.log(left)
        # The next step begins here, with the slope of this page
        if since >= STEP or not started:
            done, since, started = done + since, 0.0, True
            theta = slope[page]
            n = total = squares = 0.0
            for one in range(len(mean)):
                both[one] = here[one]
                if here[one]:
                    then[one] = mean[one] - theta * own[one]
                    n += 1
                    total += then[one]
                    squares += then[one] * then[one]
            n_then = n_both = n
            total_then = both_then = both_now = total
            squares_then = cross = squares
        most = max(most, done + since)
        found[page] = most
