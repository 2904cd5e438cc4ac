"""Kinds of clicks by ranker, as features of a verdict."""

import numpy as np

from rankloop._arrays import Floats
from rankloop.interleaving.duel import Duel
from rankloop.interleaving.method import method

__all__ = ["CLICK_KINDS", "click_contrasts"]

CLICK_KINDS = ("any", "first", "last", "top", "only")


def click_contrasts(duel: Duel, first: str, second: str) -> Floats:
    """Clicks of each kind on one ranker minus those on another, page by page: the input of `learn_weights`.

    Each click is credited by itself. The kinds are `CLICK_KINDS`: any click, the first and the last click
    from the top, a click on the first document, and the only click of the page.

    >>> from rankloop.data import synthetic
    >>> from rankloop.interleaving import learn_weights, simulate_duel
    >>> data = synthetic(n_queries=50, docs_per_query=20, n_features=10, seed=0)
    >>> rankers = {"good": data.y, "poor": data.X[:, 0]}
    >>> past = simulate_duel(data, rankers, user="informational", pages=500)
    >>> contrasts = click_contrasts(past, "good", "poor")
    >>> contrasts.shape, learn_weights(contrasts).shape
    ((500, 5), (5,))
    """
    a, b = duel.names.index(first), duel.names.index(second)
    contrasts = np.zeros((len(duel.pages), len(CLICK_KINDS)))
    for row, page, clicks in zip(contrasts, duel.pages, duel.clicks, strict=True):
        how = method(page.method)
        places = page.clicked(clicks)
        for place in places:
            credit = how.credit(page, [page.documents[place]])
            kinds = (True, place == places[0], place == places[-1], place == 0, len(places) == 1)
            row += (credit[a] - credit[b]) * np.array(kinds)
    return contrasts
