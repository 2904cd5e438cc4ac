"""Experiments on people of a site: pages in order of time, with or without a difference between two arms."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Site", "Visits"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
RETURNS = 20  # pages more of each person, in the mean, at sites to which people return
LOYAL = 20  # one of so many people is loyal, in sites with the trait


@dataclass(frozen=True)
class Visits:
    """The pages of an experiment in order of time: who, in which arm, with what value."""

    user: Ints
    arm: Bools  # whether the first arm
    value: Floats
    before: Floats  # the person's share of clicks on ten pages before the experiment
    rate: Floats  # of each person


@dataclass(frozen=True)
class Site:
    """A site and its people.

    `crowd` is how many pages people make: light (1 + Poisson 1), zipf (1.6, at most 3,000) or heavy (2 % make
    200 to 1,500). `trait` is one of "", "bots" (0.5 % make 500 to 3,000 pages and click on all or none),
    "daily" (click rates rise and fall twenty times), "falling" (to a seventh), "graded" (values between 0 and
    1), "rare" (2 % clicks), "same" (everybody comes at the start and stays), "rising" (to 55 times the
    clicks), "loyal" (one of twenty makes 200 pages, then the others make one; all click alike), "both" (one
    page of ten draws its arm anew, and people who click much make many pages), "new rates" (people return
    until the end, with a new click rate on every page), "early" (the same, and all but the last person come
    in the first twentieth), "early, loyal" (so, but rates stay).
    """

    people: int
    crowd: str = "light"
    trait: str = ""
    share: float = 0.5
    lift: float = 0.0

    def visits(self, rng: np.random.Generator) -> Visits:
        """One experiment; the first arm multiplies click rates by 1 + lift."""
        n = self.people
        pages, rate = _pages(rng, n, self.crowd), rng.beta(0.7, 1.3, n)
        if self.trait == "rare":
            rate = rate * 0.02 / 0.35
        if self.trait == "bots":
            bot = rng.random(n) < 0.005
            pages[bot] = rng.integers(500, 3001, bot.sum())
            rate[bot] = rng.choice([0.0, 1.0], bot.sum())
        if self.trait == "loyal":
            pages, rate = np.where(np.arange(n) < n // LOYAL, 200, 1), np.full(n, 0.5)
        if self.trait == "both":
            pages = 1 + rng.poisson(np.where(rate > 0.5, 6.0, 0.5))
        returning = self.trait in ("new rates", "early", "early, loyal")
        if returning:
            pages = pages + rng.poisson(RETURNS, n)
        arm = rng.random(n) < self.share
        clicked = np.where(arm, np.minimum(1, rate * (1 + self.lift)), rate)
        user = np.repeat(np.arange(n), pages)
        came = rng.random(n) * 0.02 if self.trait == "same" else np.arange(n) / n
        if self.trait.startswith("early"):
            came = np.where(np.arange(n) < n - 1, came / 20, 1.0)
        until_end = returning or self.trait == "same"
        stays = 1 - came[user] if until_end else rng.exponential(0.05, len(user))
        time = came[user] + stays * rng.random(len(user))
        if self.trait == "loyal":
            time = np.where(user < n // LOYAL, rng.random(len(user)), 1 + came[user])
        chance = clicked[user]
        if self.trait in ("new rates", "early"):
            chance = rng.beta(0.7, 1.3, len(user)) * np.where(arm[user], 1 + self.lift, 1)
        if self.trait == "daily":
            chance = chance * (1 + 0.5 * np.sin(40 * np.pi * time)) / 1.5
        if self.trait == "falling":
            chance = chance * np.exp(-2 * time)
        if self.trait == "rising":
            chance = chance * np.exp(4 * np.minimum(time, 1.0) - 4)
        value = (rng.random(len(user)) < chance).astype(np.float64)
        if self.trait == "graded":
            value *= rng.random(len(user))
        order = np.argsort(time, kind="stable")
        user = user[order]
        side = arm[user]
        if self.trait == "both":
            anew = rng.random(len(user)) < 0.1
            side = np.where(anew, rng.random(len(user)) < self.share, side)
        return Visits(user, side, value[order], rng.binomial(10, rate)[user] / 10, clicked)


def _pages(rng: np.random.Generator, people: int, crowd: str) -> Ints:
    light = 1 + rng.poisson(1.0, people)
    if crowd == "light":
        return light
    if crowd == "zipf":
        ranks = np.arange(1, 3001)
        return rng.choice(ranks, size=people, p=ranks**-1.6 / (ranks**-1.6).sum())
    return np.where(rng.random(people) < 0.02, rng.integers(200, 1501, people), light)
