"""Which version ranks a page, and the swap of adjacent results that estimators need."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from random import Random
from typing import TYPE_CHECKING, Any

from rankloop.serve.events.shown_page import swap

if TYPE_CHECKING:
    from rankloop.serve.experiments.experiments import Experiment
    from rankloop.serve.online.explore import Draw

__all__ = ["Arm", "arm_of", "share_of", "swapped"]


@dataclass(frozen=True)
class Arm:
    """The version or, interleaved, the two versions that rank a page, and for which experiment.

    `online` is what was drawn for a version that learns while it serves.
    """

    versions: tuple[str, ...]
    experiment: "Experiment | None" = None
    online: "Draw | None" = None

    @property
    def ranker(self) -> str:
        """The name under which its pages are recorded."""
        return self.online.ranker if self.online is not None else " + ".join(self.versions)

    @property
    def group(self) -> str | None:
        """What its pages are compared in: an experiment, or a run of a version that learns."""
        if self.online is not None:
            return self.online.group
        return self.experiment.id if self.experiment is not None else None

    def one(self, unit: str) -> str:
        """One of the versions, drawn for a unit: neither the first nor the second of an experiment is known.

        >>> sorted({Arm(("v1", "v2")).one(f"person {number}") for number in range(20)})
        ['v1', 'v2']
        """
        group = self.group or ""
        return self.versions[int(len(self.versions) * share_of("one", group, unit))]


def share_of(*unit: str) -> float:
    """A number in [0, 1) that is always the same for the same unit.

    >>> share_of("canary", "ann") == share_of("canary", "ann") != share_of("canary", "bob")
    True
    """
    digest = blake2b("/".join(unit).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2.0**53


def arm_of(
    unit: str,
    production: str,
    *,
    experiments: "Iterable[Experiment]" = (),
    canary: str | None = None,
    share: float = 0.0,
) -> Arm:
    """The versions for a unit: a person, or a page where the person is unknown.

    Experiments have disjoint shares, so a unit is in one at most; a canary gets its share of the rest.

    >>> arm_of("ann", "v1", canary="v2", share=1.0).versions
    ('v2',)
    """
    place, start = share_of("experiments", unit), 0.0
    for one in experiments:
        if start <= place < start + one.share:
            if one.kind == "interleave":
                return Arm((one.a, one.b), one)
            return Arm((one.a if share_of(one.id, unit) < 0.5 else one.b,), one)
        start += one.share
    if canary is not None and share_of("canary", canary, unit) < share:
        return Arm((canary,))
    return Arm((production,))


def swapped(page_id: str, shown: int, rate: float, top: int) -> dict[str, Any] | None:
    """The swap of two adjacent results on this page, if it takes part; half of those pages stay unchanged.

    The draw depends on the page id alone, so that a log can be checked.

    >>> swapped("a", 10, 1.0, 10)["swap"]
    [6, 7]
    """
    chance = Random(f"swap/{page_id}")
    pairs = min(shown, top) - 1
    if pairs < 1 or chance.random() >= rate:
        return None
    low = 1 + int(chance.random() * pairs)
    return swap(low, low + 1, swapped=chance.random() < 0.5) | {"rate": rate}
