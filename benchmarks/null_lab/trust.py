"""What is said of trust in high ranks and of people who stop reading: where there are such, and where not."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from null_lab.cell import Cell, false_alarms, power
from null_lab.coverage_propensity import EXPERIMENTS, OWN, RESAMPLES, people_of
from null_lab.people import Crowd, log_of
from rankloop.propensity import Propensity

__all__ = ["cells"]

TRIED = 100  # logs of a cell
LARGE = (10, 40_000)  # how many logs of how many pages, by twice as few people
CROWDS = (("light", 0.0), ("zipf", OWN), ("heavy", OWN))


def cells(quick: bool) -> Iterator[Cell]:
    tried = 20 if quick else TRIED
    for design, estimator in EXPERIMENTS:
        name = f"{estimator.__name__} ({design})"
        documents = 6 if design == "draws" else 4
        world = Crowd(design=design, users="trust", documents=documents)
        seen = _said(world, "light", estimator, tried)
        how = f"{name}, light people who trust, found {seen.found} times, else not excluded"
        yield power("TrustWarning", how, seen.found + seen.unsure, tried, least=0.95)
        yield false_alarms("Propensity.stopping", f"{name}, light people who trust", seen.stops, tried)
        for crowd, own in CROWDS[:1] if quick else CROWDS:
            world = Crowd(design=design, own=own, documents=documents)
            seen = _said(world, crowd, estimator, tried)
            how = f"{name}, {crowd} people, no trust, not excluded {seen.unsure} times"
            yield false_alarms("TrustWarning", how, seen.found, tried)
            yield false_alarms("Propensity.stopping", f"{name}, {crowd} people", seen.stops, tried)
        if not quick:
            world = Crowd(design=design, documents=documents)
            seen = _said(world, "", estimator, LARGE[0])
            how = f"{name}, {LARGE[1]:,} pages without trust, nothing is said"
            yield power("TrustWarning", how, seen.quiet, LARGE[0], least=0.5)


@dataclass
class Said:
    """In how many logs trust is found, not excluded, not spoken of; and people are said to stop reading."""

    found: int = 0
    unsure: int = 0
    quiet: int = 0
    stops: int = 0


def _said(world: Crowd, crowd: str, estimator: Callable[..., Propensity], experiments: int) -> Said:
    """What curves of so many logs say; `crowd` "" is a large log."""
    rng = np.random.default_rng([len(world.design), len(world.users), len(crowd), 18])
    seen = Said()
    while seen.found + seen.unsure + seen.quiet < experiments:
        person = people_of(rng, crowd) if crowd else rng.integers(0, LARGE[1] // 2, LARGE[1])
        log, _ = log_of(world, person, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                curve = estimator(log, resamples=RESAMPLES)
            except ValueError:  # no click at a rank: there is no curve, and it says so
                continue
        trust = curve.trust
        found = trust is not None and trust.found
        said = trust is not None and trust.warning(curve) is not None
        seen.found += found
        seen.unsure += said and not found
        seen.quiet += not said
        seen.stops += "people stop reading" in repr(curve)
    return seen
