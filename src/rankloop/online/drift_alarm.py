"""An alarm for falling rewards."""

from collections import OrderedDict
from collections.abc import Hashable
from math import sqrt

__all__ = ["DriftAlarm"]

STEEPEST = 0.9  # of the largest bet that a single reward cannot lose


class DriftAlarm:
    r"""A bet on every page that rewards are below normal; the alarm rings when the bets have won.

    .. math:: R_t = (R_{t-1} + 1) \, (1 + \lambda (\mu - x_t)), \quad \text{alarm when } R_t > \mathrm{apart}

    (Shiryaev, 1963; Roberts, 1966). `normal` is the usual mean :math:`\mu` of the reward, which lies between
    0 and `most`; `shift` the fall to detect, in standard deviations of `spread` (by default that of a share,
    :math:`\sqrt{\mu (1 - \mu)}`). While rewards are as usual the bets are fair, whatever else the rewards are
    like, so that false alarms are at least `apart` pages apart on average.

    Pages of one person are alike: with `user=` a person counts once in a thousand pages, and people who
    search a lot, or a bot, raise no alarm. Where the usual reward changes with the hour, give that of the
    page.

    >>> alarm = DriftAlarm(normal=0.5)
    >>> any(alarm.update(page % 2) for page in range(1000))  # as usual
    False
    >>> any(alarm.update(page % 4 == 0) for page in range(1000))  # half the clicks are gone
    True
    """

    remembered = 1000  # pages after which a person counts again

    def __init__(
        self,
        *,
        normal: float,
        spread: float | None = None,
        shift: float = 0.25,
        apart: float = 10_000.0,
        most: float = 1.0,
    ) -> None:
        if spread is None:
            if not 0 < normal < 1:
                raise ValueError(f"without a spread, normal is a share in (0, 1), got {normal}")
            spread = sqrt(normal * (1 - normal))
        if not spread > 0 or not shift > 0 or not apart >= 1:
            raise ValueError("spread and shift must be above 0, apart at least 1 page")
        if not most > normal:
            raise ValueError(f"most is the largest reward and lies above normal ({normal}), got {most}")
        self.normal, self.spread, self.shift, self.apart, self.most = normal, spread, shift, apart, most
        self.sum = 0.0
        self.pages = 0
        self.unknown = 0  # pages without a user
        self.hourly = False  # whether the usual reward of the hour was ever given
        self._lately: OrderedDict[Hashable, int] = OrderedDict()  # the page at which each person counted

    def update(self, reward: float, *, user: Hashable = None, normal: float | None = None) -> bool:
        """Take the reward of one page; True when rewards have fallen.

        `normal` is the usual mean at this hour, where it is not that of the whole day.
        """
        usual = self.normal if normal is None else normal
        self.hourly = self.hourly or normal is not None
        if not 0 <= reward <= self.most or not 0 <= usual < self.most:
            raise ValueError(
                f"rewards and their usual mean lie between 0 and {self.most:g}, got {reward} and {usual}; "
                "set most= to the largest reward"
            )
        if self._counts(user):
            bet = min(self.shift / self.spread, STEEPEST / (self.most - usual))
            self.sum = (self.sum + 1.0) * (1.0 + bet * (usual - reward))
        return self.sum > self.apart

    @property
    def reason(self) -> str:
        """What the bets show, and what else can make an alarm.

        >>> alarm = DriftAlarm(normal=0.5)
        >>> _ = [alarm.update(page % 4 == 0) for page in range(1000)]
        >>> print(alarm.reason)
        rewards are below 0.5: by chance once in 10,000 pages; ...
        """
        other = []
        if self.unknown:
            other.append(
                f"the person of {self.unknown:,} of {self.pages:,} pages is not known, and few people may "
                "have made it: give update(user=)"
            )
        if not self.hourly:
            other.append(
                "one usual reward stands for every hour: where it changes, give that of the hour, "
                "update(normal=)"
            )
        fallen = "below" if self.sum > self.apart else "not shown to be below"
        chance = f": by chance once in {self.apart:,.0f} pages" if self.sum > self.apart else ""
        return "; ".join([f"rewards are {fallen} {self.normal:g}{chance}", *other])

    def reset(self) -> None:
        self.sum = 0.0

    def _counts(self, user: Hashable) -> bool:
        """Whether this page counts: the first of its person, or one long after the last that counted."""
        self.pages += 1
        if user is None:
            self.unknown += 1
            return True
        while self._lately and next(iter(self._lately.values())) <= self.pages - self.remembered:
            self._lately.popitem(last=False)
        if user in self._lately:
            return False
        self._lately[user] = self.pages
        return True
