"""Do people look where a page puts things, or do they read on until they have found something?"""

import numpy as np

from rankloop.clicks import DBN, PBM, ClickLog

__all__ = ["stop_reading"]

PAGES = 200_000  # that are enough to tell
TAUGHT = 0.8  # of the pages; the others are predicted
LEAST = 30  # queries among those
CLEARLY = 3.0  # standard errors over queries


def stop_reading(log: ClickLog, seed: int) -> bool:
    """Whether a `DBN` predicts the clicks on held-out pages clearly better than a `PBM`.

    Documents have parameters for each query here: what features do not explain makes the clicks of a page
    alike too, and would pass for people who have stopped. So would pages of several layouts: none is asked.
    """
    if log.page_layout is not None and len(np.unique(log.page_layout.code)) > 1:
        return False
    part = log
    if log.n_pages > PAGES:
        chosen = np.random.default_rng(seed).choice(log.n_pages, PAGES, replace=False)
        part = log.select(np.sort(chosen))
    taught, asked = part.split(TAUGHT, seed=seed)
    queries, query = np.unique(asked.page_query.code, return_inverse=True)
    if len(queries) < LEAST:
        return False
    by_rank, stopping = (user.fit(taught).log_likelihood(asked) for user in (PBM(), DBN()))
    gain = np.bincount(query, stopping - by_rank)
    return bool(gain.sum() > CLEARLY * np.sqrt(len(gain)) * gain.std())
