"""What PyClick's models by EM predict for pages of ten, in arrays: the same numbers, in far less time.

`equal_to_pyclick` compares them with PyClick's own on a small log. Parameters start at 1/2, with a click and
a skip added to each, as there. What PyClick does otherwise than the papers is done here too: in the DBN and
the CCM the clicks below a rank are taken to be of the first documents of the page, and a page without clicks
to have been read to its end.
"""

import importlib

import numpy as np
from numpy.typing import NDArray

from rankloop.clicks import ClickLog

__all__ = ["IN_ARRAYS", "PEERS", "equal_to_pyclick", "new_peer", "peer_pages", "pyclick_in_arrays"]

PEERS = {
    "globalctr": ("CTR", "GCTR"),
    "rankctr": ("CTR", "RCTR"),
    "documentctr": ("CTR", "DCTR"),
    "cascade": ("CM", "CM"),
    "pbm": ("PBM", "PBM"),
    "ubm": ("UBM", "UBM"),
    "dcm": ("DCM", "DCM"),
    "sdbn": ("SDBN", "SDBN"),
    "dbn": ("DBN", "DBN"),
    "ccm": ("CCM", "CCM"),
}
IN_ARRAYS = ("pbm", "ubm", "dbn", "ccm")
K = 10  # results of a page
PEER_EM, ALMOST_ONE = 50, 1 - 1e-6  # iterations of PyClick, and its largest probability
CLOSE = 1e-12  # to which its predictions and those in arrays are equal

Floats = NDArray[np.float64]


def pyclick_in_arrays(model: str, train: ClickLog, test: ClickLog) -> Floats:
    """The probability of a click on each impression of `test`, after training."""
    return (_by_rank if model in ("pbm", "ubm") else _by_chain)(model, train, test)


def equal_to_pyclick(train: ClickLog, test: ClickLog) -> None:
    for model in IN_ARRAYS:
        peer = new_peer(model)
        peer.train(peer_pages(train))
        theirs = np.concatenate([peer.get_full_click_probs(one) for one in peer_pages(test)])
        np.testing.assert_allclose(pyclick_in_arrays(model, train, test), theirs, atol=CLOSE)


def new_peer(name: str):
    module, kind = PEERS[name]
    return getattr(importlib.import_module(f"pyclick.click_models.{module}"), kind)()


def peer_pages(log: ClickLog) -> list:
    from pyclick.search_session.SearchResult import SearchResult
    from pyclick.search_session.SearchSession import SearchSession

    sessions = []
    for page in range(log.n_pages):
        a, b = log.offsets[page : page + 2]
        session = SearchSession(str(log.page_query.table[log.page_query.code[page]]))
        session.web_results = [
            SearchResult(str(d), int(c)) for d, c in zip(log.document[a:b], log.click[a:b], strict=True)
        ]
        sessions.append(session)
    return sessions


def _by_rank(model: str, train: ClickLog, test: ClickLog) -> Floats:
    """PBM and UBM: examination by the rank, in the UBM also by the rank of the last click."""
    last = last_clicks(train) if model == "ubm" else 0
    cell = (train.position - 1) * (K + 1) + last
    pair, click = train.pairs.code, train.click
    attraction, examination = np.full(len(train.pairs), 0.5), np.full(K * (K + 1), 0.5)
    shown = 2 + np.bincount(pair), 2 + np.bincount(cell, minlength=len(examination))
    for _ in range(PEER_EM):
        a, e = attraction[pair], examination[cell]
        clicked = 1 - a * e
        liked = np.where(click == 1, 1.0, (1 - e) * a / clicked)
        read = np.where(click == 1, 1.0, (1 - a) * e / clicked)
        attraction = np.minimum((1 + np.bincount(pair, liked)) / shown[0], ALMOST_ONE)
        examination = np.minimum((1 + np.bincount(cell, read, len(examination))) / shown[1], ALMOST_ONE)
    a = of_test(attraction, train, test)
    matrix = examination.reshape(K, K + 1)
    state, found = np.zeros((len(a), K + 1)), np.empty(a.shape)
    state[:, 0] = 1.0  # P(the last click was here), 0 for none; in the PBM it stays there
    for k in range(K):
        p = state * matrix[k] * a[:, k : k + 1]
        found[:, k] = p.sum(axis=1)
        if model == "ubm":
            state -= p
            state[:, k + 1] += found[:, k]
    return found.reshape(-1)


def last_clicks(log: ClickLog) -> NDArray[np.int64]:
    """The rank of the last click above each impression of pages of ten, 0 for none."""
    rank = np.where(log.click == 1, log.position, 0).reshape(-1, K)
    latest = np.maximum.accumulate(rank, axis=1)
    return np.concatenate([np.zeros((len(rank), 1), int), latest[:, :-1]], axis=1).reshape(-1)


def _by_chain(model: str, train: ClickLog, test: ClickLog) -> Floats:
    """DBN and CCM: people go on with a chance after a skip, after a click, and after a click that satisfied.

    In the DBN one chance is for the first two, the third is 0, and satisfaction has parameters of its own; in
    the CCM it has those of attraction.
    """
    own = model == "dbn"
    pair, clicks = train.pairs.code.reshape(-1, K), train.click.reshape(-1, K) == 1
    pairs, shown = len(train.pairs), np.bincount(train.pairs.code)
    clicked = np.bincount(train.pairs.code, train.click)
    last = np.where(clicks.any(axis=1), K - 1 - np.argmax(clicks[:, ::-1], axis=1), K)
    attraction, satisfaction, go_on = np.full(pairs, 0.5), np.full(pairs, 0.5), np.full(3, 0.5)
    for _ in range(PEER_EM):
        a = attraction[pair]
        s = satisfaction[pair] if own else a
        after = np.array([go_on[0], go_on[0], 0.0]) if own else go_on
        car = later_clicks(a, after[0])
        below = np.arange(K) >= last[:, None]
        exam = examined(a, s, after)
        liked = np.where(clicks, 1.0, np.where(below, (1 - exam) * a / (1 - exam * car[:, :K]), 0.0))
        ends = clicks & (np.arange(K) == last[:, None])
        stay = (1 - s) * after[1] + s * after[2]
        pleased = np.where(ends, s / (1 - stay * car[:, 1:]), 0.0)
        gone, went = transitions(a, s, after, clicks, last)
        liked_sum, pleased_sum = (np.bincount(pair.ravel(), one.ravel(), pairs) for one in (liked, pleased))
        if own:
            attraction = (1 + liked_sum) / (2 + shown)
            satisfaction = np.minimum((1 + pleased_sum) / (2 + clicked), ALMOST_ONE)
            gone, went = np.array([gone[0] + gone[1], 0, 0]), np.array([went[0] + went[1], 0, 0])
        else:
            attraction = (1 + liked_sum + pleased_sum) / (2 + shown + clicked)
        attraction = np.minimum(attraction, ALMOST_ONE)
        go_on = np.minimum((1 + gone) / (2 + went), ALMOST_ONE)
    a = of_test(attraction, train, test)
    s = of_test(satisfaction, train, test) if own else a
    after = np.array([go_on[0], go_on[0], 0.0]) if own else go_on
    return (a * examined(a, s, after)).reshape(-1)


def examined(a: Floats, s: Floats, after: Floats) -> Floats:
    """The chance that each rank is read."""
    on = (1 - a) * after[0] + a * ((1 - s) * after[1] + s * after[2])
    return np.cumprod(np.concatenate([np.ones((len(a), 1)), on[:, :-1]], axis=1), axis=1)


def later_clicks(a: Floats, skip: float) -> Floats:
    """The chance of a click at a rank or below it, if it is read; 0 below the last."""
    found = np.zeros((len(a), K + 1))
    for k in reversed(range(K)):
        found[:, k] = a[:, k] + (1 - a[:, k]) * skip * found[:, k + 1]
    return found


def tail(a: Floats, s: Floats, after: Floats, clicks: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The likelihood of clicks if the first of them is read, and the chance that each is, given those above.

    PyClick takes the parameters of the first documents of the page, whatever rank the clicks begin at.
    """
    exam, likelihood = np.ones(len(a)), np.ones(len(a))
    read = []
    for j in range(clicks.shape[1]):
        read.append(exam)
        p = np.where(clicks[:, j], a[:, j] * exam, 1 - a[:, j] * exam)
        stay = (1 - s[:, j]) * after[1] + s[:, j] * after[2]
        exam = np.where(clicks[:, j], stay, exam * after[0] * (1 - a[:, j]) / p)
        likelihood = likelihood * p
    return likelihood, np.column_stack(read)


def transitions(
    a: Floats, s: Floats, after: Floats, clicks: NDArray[np.bool_], last: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """How often people are expected to go on, and to choose, after a skip, a click and a satisfying click."""
    read = tail(a, s, after, clicks)[1]
    gone, went = np.zeros(3), np.zeros(3)
    for k in range(K):
        on = tail(a, s, after, clicks[:, k + 1 :])[0] if k + 1 < K else np.ones(len(a))
        off = (last < k + 1).astype(float)
        c, e, p = clicks[:, k], read[:, k], a[:, k]
        first = np.where(c, p * (1 - s[:, k]), 1 - p) * e
        second = np.where(c, p * s[:, k], 0.0) * e
        chance = np.where(c, after[1], after[0])
        moves = [(first * chance * on, first * (1 - chance) * off)]
        moves.append((second * after[2] * on, second * (1 - after[2]) * off))
        total = sum(map(sum, moves)) + np.where(c, 0.0, (1 - p) * (1 - e) * off)
        for kind, rows, (yes, no) in ((0, ~c, moves[0]), (1, c, moves[0]), (2, c, moves[1])):
            gone[kind] += (yes / total)[rows].sum()
            went[kind] += ((yes + no) / total)[rows].sum()
    return gone, went


def of_test(values: Floats, train: ClickLog, test: ClickLog) -> Floats:
    """The parameter of each impression of other pages, 1/2 where the pair was never seen."""
    names = train.queries[train.pairs.query], train.documents[train.pairs.document]
    table = dict(zip(zip(*(ids.tolist() for ids in names), strict=True), values, strict=True))
    pairs = test.pairs
    ids = zip(test.queries[pairs.query].tolist(), test.documents[pairs.document].tolist(), strict=True)
    return np.array([table.get(one, 0.5) for one in ids])[pairs.code].reshape(-1, K)
