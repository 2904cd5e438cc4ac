"""What entries of one query, or of one document, have in common: a factor on the odds of their centres."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Array, Floats

__all__ = ["Centres", "shifted", "updated"]

WIDEST = 1e3  # a factor, and one over it


@dataclass(frozen=True, eq=False)
class Centres:
    """The centres of a parameter of documents: of each entry by its rank, and factors on the odds."""

    rank: Floats
    odds: Mapping[str, Floats]  # by the codes of queries, and of documents

    def of(self, groups: Mapping[str, Array]) -> Floats:
        """The centre of each entry, with what it has in common with others."""
        centre = self.rank
        for name, code in groups.items():
            centre = shifted(centre, self.odds[name][code])
        return np.clip(centre, 1e-4, 1 - 1e-4)


def shifted(centre: Floats | float, odds: Floats) -> Floats:
    """The probabilities whose odds are `odds` times those of the centre.

    >>> shifted(0.5, np.array([1.0, 3.0]))
    array([0.5 , 0.75])
    """
    up = centre * odds
    return np.asarray(up / (1.0 - centre + up))


def updated(
    centres: Centres, groups: Mapping[str, Array], weights: Mapping[str, float], counts: tuple[Floats, Floats]
) -> Centres:
    r"""One step towards the factors that explain the counts (successes, trials) of each group.

    Before it is seen, a factor is 1 with the weight of `weights[group]` successes:
    :math:`\sum_i y_i + w = \sum_i n_i c_i + w f`, where the centres c contain the factors f. Multiplying by
    the ratio of the two sides leads there, as odds change centres by less than their ratio.
    """
    odds = dict(centres.odds)
    yes, trials = counts
    for name, code in groups.items():
        weight = weights[name]
        if np.isinf(weight):
            continue
        expected = trials * Centres(centres.rank, odds).of(groups)
        size = len(odds[name])
        seen = np.bincount(code, yes, size) + weight
        wanted = np.bincount(code, expected, size) + weight * odds[name]
        odds[name] = np.clip(odds[name] * seen / wanted, 1 / WIDEST, WIDEST)
    return Centres(centres.rank, odds)
