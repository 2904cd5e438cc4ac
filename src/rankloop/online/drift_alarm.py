"""An alarm for falling rewards."""

from math import sqrt

__all__ = ["DriftAlarm"]


class DriftAlarm:
    r"""The cumulative sum (CUSUM) of how far rewards fall below normal (Page, 1954).

    .. math:: S_t = \max(0, S_{t-1} + (\mu - x_t) / \sigma - \mathrm{shift} / 2),
        \quad \text{alarm when } S_t > h

    `normal` and `spread` are the usual mean and standard deviation of the reward (by default that of a share,
    :math:`\sqrt{\mu (1 - \mu)}`), `shift` the fall to detect, in standard deviations. With the default
    threshold h and shift 0.25, false alarms are about 10,000 pages apart.

    >>> alarm = DriftAlarm(normal=0.5)
    >>> any(alarm.update(page % 2) for page in range(1000))  # as usual
    False
    >>> any(alarm.update(page % 4 == 0) for page in range(1000))  # half the clicks are gone
    True
    """

    def __init__(
        self, *, normal: float, spread: float | None = None, shift: float = 0.25, threshold: float = 18.0
    ) -> None:
        if spread is None:
            if not 0 < normal < 1:
                raise ValueError(f"without a spread, normal is a share in (0, 1), got {normal}")
            spread = sqrt(normal * (1 - normal))
        if not spread > 0 or not shift > 0 or not threshold > 0:
            raise ValueError("spread, shift and threshold must be above 0")
        self.normal, self.spread, self.shift, self.threshold = normal, spread, shift, threshold
        self.sum = 0.0

    def update(self, reward: float) -> bool:
        """Take the reward of one page; True when rewards have fallen."""
        self.sum = max(0.0, self.sum + (self.normal - reward) / self.spread - self.shift / 2)
        return self.sum > self.threshold

    def reset(self) -> None:
        self.sum = 0.0
