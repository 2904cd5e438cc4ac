"""What is said of trust in high ranks: where people trust them, and where they do not."""

import warnings
from collections.abc import Callable, Iterator

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
    for design, estimator in EXPERIMENTS:
        name = f"{estimator.__name__} ({design})"
        documents = 6 if design == "draws" else 4
        world = Crowd(design=design, users="trust", documents=documents)
        found, unsure, quiet = _said(world, "light", estimator, 20 if quick else TRIED)
        how = f"{name}, light people who trust, found {found} times, else not excluded"
        yield power("TrustWarning", how, found + unsure, found + unsure + quiet, least=0.95)
        for crowd, own in CROWDS[:1] if quick else CROWDS:
            world = Crowd(design=design, own=own, documents=documents)
            found, unsure, quiet = _said(world, crowd, estimator, 20 if quick else TRIED)
            how = f"{name}, {crowd} people, no trust, not excluded {unsure} times"
            yield false_alarms("TrustWarning", how, found, found + unsure + quiet)
        if not quick:
            world = Crowd(design=design, documents=documents)
            found, unsure, quiet = _said(world, "", estimator, LARGE[0])
            how = f"{name}, {LARGE[1]:,} pages without trust, nothing is said"
            yield power("TrustWarning", how, quiet, LARGE[0], least=0.5)


def _said(
    world: Crowd, crowd: str, estimator: Callable[..., Propensity], experiments: int
) -> tuple[int, int, int]:
    """In how many logs trust is found, is not excluded, and nothing is said; `crowd` "" is a large log."""
    rng = np.random.default_rng([len(world.design), len(world.users), len(crowd), 18])
    found = unsure = quiet = 0
    while found + unsure + quiet < experiments:
        person = people_of(rng, crowd) if crowd else rng.integers(0, LARGE[1] // 2, LARGE[1])
        log, _ = log_of(world, person, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                curve = estimator(log, resamples=RESAMPLES)
            except ValueError:  # no click at a rank: there is no curve, and it says so
                continue
        trust = curve.trust
        said = trust is not None and trust.warning(curve) is not None
        found += trust is not None and trust.found
        unsure += said and not (trust is not None and trust.found)
        quiet += not said
    return found, unsure, quiet
