"""Forests on the same rows share their bins, and are the same as without."""

import lightgbm
import numpy as np
import pytest

from rankloop.data import synthetic
from rankloop.rankers import LambdaMART
from rankloop.rankers.trees import shared_bins as module
from rankloop.rankers.trees.shared_bins import shared_bins

DATA = synthetic(n_queries=60, docs_per_query=8, n_features=5, seed=0)
OTHER = DATA.replace(y=DATA.y.max() - DATA.y)
LINES = {"linear_tree": True, "min_data_in_leaf": 20}


def grown(data, **options):
    return LambdaMART(trees=8, leaves=6, threads=1, **options).fit(data)


@pytest.fixture
def made(monkeypatch):
    """The data sets that LightGBM made."""
    found, kind = [], lightgbm.Dataset

    def counted(*given, **options):
        found.append(kind(*given, **options))
        return found[-1]

    monkeypatch.setattr(lightgbm, "Dataset", counted)
    return found


def test_forests_are_the_same_as_without(made):
    jobs = [
        (data, {"loss": loss, "params": LINES}) for data in (DATA, OTHER) for loss in ("ranknet", "softmax")
    ]
    jobs += [(data, {"loss": "ranknet"}) for data in (DATA, OTHER)]
    alone = [grown(data, **options).forest_.text for data, options in jobs]
    made.clear()
    with shared_bins():
        together = [grown(data, **options).forest_.text for data, options in jobs]
    assert together == alone
    assert len(set(alone)) == len(jobs)
    assert len(made) == 2  # one with lines


def test_other_rows_lists_or_settings_have_bins_of_their_own(made):
    moved = DATA.replace(X=DATA.X + np.float32(0.25))
    halves = DATA.select(np.arange(30))
    with shared_bins():
        for data, options in ((DATA, {}), (moved, {}), (halves, {}), (DATA, {"max_bins": 15})):
            grown(data, **options)
    assert len(made) == 4


def test_objectives_of_lightgbm_and_forests_that_go_on_do_not_share(made):
    with shared_bins():
        first = grown(DATA, loss="backend:lambdarank")
        grown(OTHER, loss="backend:lambdarank")
        grown(DATA, loss="ranknet", init=first)
    assert len(made) == 3


def test_no_more_is_kept_than_fits(made, monkeypatch):
    monkeypatch.setattr(module, "MOST", DATA.X.size)  # one data set with a byte for each feature
    moved = DATA.replace(X=DATA.X + np.float32(0.25))
    with shared_bins():
        for data in (DATA, OTHER, moved, DATA):
            grown(data)
        assert len(made) == 3
        for _ in range(2):
            grown(DATA, params=LINES)  # too large to keep
    assert len(made) == 5
