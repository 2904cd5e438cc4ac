"""Does examination depend on the rank, or do people read on until they are satisfied?"""

import numpy as np

from rankloop.clicks import DBN, PBM, ClickLog

__all__ = ["stop_reading"]

PAGES = 200_000  # that are used at most
TRAIN = 0.8  # of the pages; the others are predicted
LEAST = 30  # queries among those
CLEARLY = 3.0  # standard errors over queries


def stop_reading(log: ClickLog, seed: int) -> bool:
    """Whether a `DBN` predicts the clicks on held-out pages clearly better than a `PBM`.

    Both have one parameter per (query, document): with features instead, relevance that they do not explain
    would correlate the clicks of a page, as stopping does. So would several layouts: then the answer is
    False.
    """
    if log.page_layout is not None and len(np.unique(log.page_layout.code)) > 1:
        return False
    part = log
    if log.n_pages > PAGES:
        chosen = np.random.default_rng(seed).choice(log.n_pages, PAGES, replace=False)
        part = log.select(np.sort(chosen))
    train, test = part.split(TRAIN, seed=seed)
    queries, query = np.unique(test.page_query.code, return_inverse=True)
    if len(queries) < LEAST:
        return False
    users = PBM(prior=1.0), DBN(prior=1.0)  # priors by rank would explain what only stopping should
    by_rank, stopping = (user.fit(train).log_likelihood(test) for user in users)
    gain = np.bincount(query, stopping - by_rank)
    return bool(gain.sum() > CLEARLY * np.sqrt(len(gain)) * gain.std())
