"""An alarm for falling rewards."""

from collections import OrderedDict
from collections.abc import Hashable
from math import sqrt

__all__ = ["DriftAlarm"]

STEEPEST = 0.9  # of the largest bet that a single reward cannot lose
LATELY = 500  # pages over which the mean of all pages is taken


class DriftAlarm:
    r"""An alarm when rewards fall below normal: a bet on every page, and an alarm when the bets have won.

    .. math:: R_t = (R_{t-1} + 1) \, (1 + \lambda (\mu - x_t)), \quad \text{alarm when } R_t > \mathrm{apart}

    (Shiryaev, 1963; Roberts, 1966). `normal` is the usual mean :math:`\mu` of the reward, which lies between
    0 and `most`; `shift` the fall to detect, in standard deviations of `spread` (by default that of a share,
    :math:`\sqrt{\mu (1 - \mu)}`). While rewards are as usual the bets are fair, whatever else the rewards are
    like, so that false alarms are at least `apart` pages apart on average.

    Pages of one person are alike: a `user` counts once in a thousand pages, so that people who search a lot,
    or a bot, raise no alarm; pages without a user count as those of one person. Where the usual reward of
    the hour is not given, whole days are judged: over a day the bets win no more than they lose, whatever
    the hours are like, since :math:`\prod (1 + \lambda (\mu - \mu_t)) \le 1` where :math:`\mu_t` has the mean
    :math:`\mu`. Without people, or without hour and day, there is no alarm, but a doubt (None), and `reason`
    says what is missing. People who search more may click more, so that pages which count once a person lie
    below the mean over pages on any day: the alarm rings only while the mean of the last pages lies below
    `normal` too, by half of the fall to detect; else that is a doubt as well.

    >>> alarm = DriftAlarm(normal=0.5)
    >>> any(alarm.update(page % 2, user=page, normal=0.5) for page in range(1000))  # as usual
    False
    >>> any(alarm.update(page % 4 == 0, user=page, normal=0.5) for page in range(1000))  # half are gone
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
        self.pages = 0
        self.unknown = 0  # pages without a user
        self.undated = 0  # pages with neither the usual reward of the hour nor a day
        self._lately: OrderedDict[Hashable, int] = OrderedDict()  # the page at which each person counted
        self._day: Hashable = None
        self._whole = False  # whether the day was seen from its start
        self._today, self._bets = 1.0, 0  # what the bets of the day have won so far, and their number
        self._gap, self._seen = 0.0, 0  # how far the last pages are from normal in the mean, and their number
        self.sum = 0.0
        self.seeming = 0.0  # what they had won if each page without a user were a person's, at its usual hour

    def update(
        self, reward: float, *, user: Hashable = None, normal: float | None = None, day: Hashable = None
    ) -> bool | None:
        """Take the reward of one page: True when rewards have fallen, None when they only seem to have.

        `normal` is the usual mean at this hour; `day` any name of the day, or of the week where weekends
        differ. Pages come in order of time; a day is judged when the next one begins, and the first is not,
        as it may be a part.
        """
        usual = self.normal if normal is None else normal
        if not 0 <= reward <= self.most or not 0 <= usual < self.most:
            raise ValueError(
                f"rewards and their usual mean lie between 0 and {self.most:g}, got {reward} and {usual}; "
                "set most= to the largest reward"
            )
        self.undated += normal is None and day is None
        if day is not None and day != self._day:
            self._end_day()
            self._whole, self._day = self._day is not None, day
        counts = self._counts(user)
        factor = 1.0 + min(self.shift / self.spread, STEEPEST / (self.most - usual)) * (usual - reward)
        if counts or user is None:
            self.seeming = (self.seeming + 1.0) * factor
        if counts and normal is not None:
            self.sum = (self.sum + 1.0) * factor
        elif counts and day is not None:
            self._today, self._bets = self._today * factor, self._bets + 1
        self._seen = min(self._seen + 1, LATELY)
        self._gap += (reward - usual - self._gap) / self._seen
        if self.sum > self.apart:
            return True if self._all_below else None
        return None if self.seeming > self.apart else False

    @property
    def reason(self) -> str:
        """What the bets show, and what is missing for an alarm.

        >>> alarm = DriftAlarm(normal=0.5)
        >>> _ = [alarm.update(page % 4 == 0) for page in range(1000)]
        >>> print(alarm.reason)
        rewards seem to be below 0.5, which is no alarm: the person of 1,000 of 1,000 pages is not known...
        """
        if self.sum > self.apart and not self._all_below:
            return (
                f"rewards seem to be below {self.normal:g}, which is no alarm: one page of each person is, "
                f"the last {self._seen:,} pages differ from the usual mean by {self._gap:+.3f}; who "
                "searches more may click more: give the mean over people, of one page each, as normal"
            )
        if self.sum > self.apart:
            return f"rewards are below {self.normal:g}: by chance once in {self.apart:,.0f} pages"
        missing = []
        if self.unknown:
            missing.append(
                f"the person of {self.unknown:,} of {self.pages:,} pages is not known, and few people may "
                "have made them: give update(user=)"
            )
        if self.undated:
            missing.append(
                f"the hour of {self.undated:,} pages is not known, and nights may be lower: give the usual "
                "reward of the hour, update(normal=), or the day, update(day=)"
            )
        elif self._bets:
            missing.append("the day has to end, as the usual reward of the hour is not given")
        if self.seeming > self.apart:
            missing = missing or ["pages without a person or an hour made it"]
            return f"rewards seem to be below {self.normal:g}, which is no alarm: {'; '.join(missing)}"
        return "; ".join([f"rewards are not shown to be below {self.normal:g}", *missing])

    @property
    def _all_below(self) -> bool:
        """Whether the last pages together lie below what is usual, by half of the fall to detect."""
        return self._gap <= -self.shift * self.spread / 2

    def reset(self) -> None:
        """Forget what the bets have won, the last pages and the day that has begun."""
        self._gap, self._seen = 0.0, 0
        self.sum = self.seeming = 0.0
        self._today, self._bets, self._whole = 1.0, 0, False

    def _end_day(self) -> None:
        if self._whole:
            self.sum = (self.sum + self._bets) * self._today
        self._today, self._bets = 1.0, 0

    def _counts(self, user: Hashable) -> bool:
        """Whether this page counts: the first of its person, or one long after the last that counted."""
        self.pages += 1
        self.unknown += user is None
        while self._lately and next(iter(self._lately.values())) <= self.pages - self.remembered:
            self._lately.popitem(last=False)
        if user in self._lately:
            return False
        self._lately[user] = self.pages
        return True
