"""What people did before an experiment, used to take their differences out of its noise (CUPED)."""

import numpy as np

from rankloop._arrays import Floats
from rankloop.interleaving.sequential.people import People, Totals

__all__ = ["adjusted"]


def adjusted(
    people: People, before: Floats, sides: tuple[Floats, Floats]
) -> tuple[Totals, Totals, tuple[Floats, Floats]]:
    r"""Totals of both arms for :math:`m - \theta (x - \bar x)`, x a person's value before the experiment.

    :math:`\theta` is the regression of m on x over both arms (Deng et al., 2013), computed again after every
    page. A person whose x is unknown (NaN) is not adjusted. The third result is x and :math:`\theta` of
    each page.
    """
    x = _near_zero(before[people.first_page])
    known = np.isfinite(x).astype(np.float64)
    x = np.where(known > 0, x, 0.0)
    change = people.now - people.earlier

    def sums(side: Floats) -> tuple[Floats, ...]:
        enters = side * known * people.enters
        return (
            np.cumsum(enters),
            np.cumsum(enters * x),
            np.cumsum(enters * x * x),
            np.cumsum(side * known * change),
            np.cumsum(side * known * change * x),
        )

    parts = [sums(side) for side in sides]
    count, of_x, of_xx, of_m, of_mx = (first + second for first, second in zip(*parts, strict=True))
    centre = of_x / np.maximum(count, 1)
    spread = np.maximum(of_xx - centre * of_x, 0.0)
    varies = spread > 1e-12 * of_xx
    theta = np.where(varies, (of_mx - centre * of_m) / np.where(varies, spread, 1.0), 0.0)

    def without(side: Floats, part: tuple[Floats, ...]) -> Totals:
        plain = people.means(side)
        n, sx, sxx, sm, smx = part
        off = sx - centre * n
        cross = smx - centre * sm
        square = sxx - 2 * centre * sx + centre**2 * n
        return Totals(
            plain.count, plain.total - theta * off, plain.squares - 2 * theta * cross + theta**2 * square
        )

    return without(sides[0], parts[0]), without(sides[1], parts[1]), (x, theta)


def _near_zero(x: Floats) -> Floats:
    """The same on a scale of its own: sums of squares lose the digits of large numbers that lie close."""
    known = np.isfinite(x)
    if not known.any():
        return x
    middle = float(np.median(x[known]))
    return np.asarray((x - middle) / max(float(np.abs(x[known] - middle).max()), 1e-300))
