"""Sums with given weights: ready by names alone, saved, explained, and picky about names."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from rankloop.data import RankingDataset
from rankloop.rankers import FeatureSum, contributions, load, why

NAMES = ["length", "bm25", "popularity"]
DATA = RankingDataset(
    [[10, 3, 2], [20, 4, np.nan], [5, 1, 9]], [0, 1, 0], ["q"] * 3, docid=["a", "b", "c"], feature_names=NAMES
)


def test_names_alone_make_it_ready():
    ranker = FeatureSum({"bm25": 2.0, "popularity": -1.0}, features=NAMES)
    np.testing.assert_array_equal(ranker.predict(DATA), [4.0, 8.0, -7.0])
    np.testing.assert_array_equal(clone(ranker).predict(DATA.X), [4.0, 8.0, -7.0])
    fitted = FeatureSum({"bm25": 2.0, "popularity": -1.0}).fit(DATA)
    np.testing.assert_array_equal(fitted.predict(DATA.X), ranker.predict(DATA.X))
    assert fitted.fingerprint_ == DATA.fingerprint()


def test_features_without_names_go_by_number():
    np.testing.assert_array_equal(
        FeatureSum({"feature 2": 1.0}).fit(DATA.replace(feature_names=None)).predict(DATA.X), [3, 4, 1]
    )


@pytest.mark.parametrize("fit", [False, True])
def test_saved_and_explained_like_the_other_linear_ones(tmp_path, fit):
    ranker = FeatureSum({"bm25": 1.0, "popularity": 0.5}, features=None if fit else NAMES)
    if fit:
        ranker.fit(DATA)
    ranker.save(tmp_path / "sum")
    again = load(tmp_path / "sum")
    assert repr(again) == repr(ranker)
    np.testing.assert_array_equal(again.predict(DATA), ranker.predict(DATA))
    parts = contributions(again, DATA)
    assert parts.exact
    np.testing.assert_array_equal(parts.values, [[0, 3, 1], [0, 4, 0], [0, 1, 4.5]])
    assert why(again, DATA, "q", "c", "a").features[0] == "popularity"


def test_wrong_names_and_weights_are_refused():
    with pytest.raises(NotFittedError, match="call fit first"):
        FeatureSum({"bm25": 1.0}).predict(DATA)
    with pytest.raises(ValueError, match="unknown feature 'bm52'; did you mean 'bm25'"):
        FeatureSum({"bm52": 1.0}).fit(DATA)
    with pytest.raises(ValueError, match=r"names of features to finite numbers.*got None"):
        FeatureSum().fit(DATA)
    with pytest.raises(ValueError, match=r"got \{'bm25': nan\}"):
        FeatureSum({"bm25": float("nan")}, features=NAMES).predict(DATA)
    with pytest.raises(ValueError, match="lacks the feature 'popularity'"):
        FeatureSum({"bm25": 1.0}, features=NAMES).predict(
            DATA.replace(feature_names=["length", "bm25", "pop"])
        )
