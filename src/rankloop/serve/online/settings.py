"""How a version learns while it serves."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rankloop._names import one_of

__all__ = ["BANDITS", "LEARNERS", "OnlineSettings"]

BANDITS = ("thompson", "epsilon_greedy")  # choose a version for each page
LEARNERS = ("pdgd", *BANDITS)


@dataclass(frozen=True)
class OnlineSettings:
    """A learner, and the version below which it may not fall.

    `floor` is that version: a share `control` of the people always gets its pages, which the alarm compares
    with the others. `keep` is the share of the exposure on the floor's page that every page of "pdgd" leaves
    to the same documents. A bandit chooses among `arms`, of which the floor is one. A page teaches `settle`
    seconds after it was shown.

    >>> OnlineSettings("thompson", "v1", arms=("v1", "v2")).versions
    ('v1', 'v2')
    """

    learner: str
    floor: str
    arms: tuple[str, ...] = ()
    keep: float = 0.7
    control: float = 0.1
    settle: float = 60.0
    learning_rate: float = 0.05
    epsilon: float = 0.1

    def __post_init__(self) -> None:
        one_of("learner", self.learner, LEARNERS)
        for name, low, high in (("keep", 0.0, 1.0), ("control", 0.01, 0.5), ("epsilon", 0.0, 1.0)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} is a share from {low:g} to {high:g}, got {getattr(self, name)}")
        if not 0 <= self.settle <= 86_400:
            raise ValueError(f"settle is a number of seconds, at most a day, got {self.settle}")
        if not 0 < self.learning_rate <= 1:
            raise ValueError(f"learning_rate is above 0 and at most 1, got {self.learning_rate}")
        if self.chooses and (len(set(self.arms)) < 2 or self.floor not in self.arms):
            raise ValueError(
                f"a bandit chooses among two or more versions, of which the floor {self.floor} is one; "
                f"got {', '.join(self.arms) or 'none'}"
            )
        if not self.chooses and self.arms:
            raise ValueError("pdgd learns weights; only a bandit has arms")

    @property
    def chooses(self) -> bool:
        """Whether it is a bandit, which chooses a version for each page."""
        return self.learner in BANDITS

    @property
    def versions(self) -> tuple[str, ...]:
        """The other versions that it needs."""
        return self.arms if self.chooses else (self.floor,)

    def to_dict(self) -> dict[str, Any]:
        """As the lineage of a version keeps it."""
        return {**asdict(self), "arms": list(self.arms)}

    @classmethod
    def of(cls, lineage: Mapping[str, Any]) -> "OnlineSettings | None":
        """The settings in the lineage of a version; None for one that does not learn while it serves."""
        saved = lineage.get("online")
        if not isinstance(saved, Mapping):
            return None
        return cls(**{**saved, "arms": tuple(saved.get("arms", ()))})
