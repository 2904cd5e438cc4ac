"""Which of many features AutoRanker's models see."""

import time

import numpy as np
import pytest

import rankloop as rl
from rankloop.data import RankingDataset
from rankloop.rankers import AutoRanker
from rankloop.rankers.auto import screen
from rankloop.rankers.auto.clock import Clock
from rankloop.rankers.auto.division import divided
from rankloop.rankers.auto.search import Setting, affordable, search
from rankloop.rankers.auto.view import ALL, View, missing_features, varying_features


def wide(useful, queries=120, features=120, curve=np.tanh):
    """So many features of which the first few count, with noise."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20 * queries, features)).astype(np.float32)
    utility = curve(X[:, :useful]) @ rng.uniform(1, 2, useful)
    utility = utility / utility.std() + 0.5 * rng.normal(size=len(X))
    y = np.digitize(utility, np.quantile(utility, [0.6, 0.8, 0.95]))
    return RankingDataset.from_groups(X, y, np.full(queries, 20))


def setting(**more):
    return Setting("ndcg@10", 1, 0, ("lightgbm",), **({"fits": None} | more))


@pytest.fixture
def slow(monkeypatch):
    """Every forest of all features takes long, on a machine that does nothing else."""
    monkeypatch.setattr(screen, "QUICK", 0.0)
    monkeypatch.setattr("rankloop.rankers.auto.clock.now", time.process_time)


def test_useless_features_are_left_out_and_the_mixture_says_so(slow, tmp_path):
    data = wide(useful=4, curve=lambda X: np.sin(2 * X))
    ranker = AutoRanker(minutes=0.1, backends=["lightgbm"], threads=1).fit(data)
    seen = {part.view.columns for part in ranker.parts_}
    assert len(seen) == 1
    (columns,) = seen
    assert {0, 1, 2, 3} <= {*columns}
    assert len(columns) <= 40
    assert f"models see the {len(columns)} of 120 features" in ranker.leaderboard_.plain()
    ranker.save(tmp_path / "auto.zip")
    np.testing.assert_array_equal(rl.load(tmp_path / "auto.zip").predict(data), ranker.predict(data))
    other = data.replace(X=np.where(np.isin(np.arange(120), columns), data.X, 0).astype(np.float32))
    np.testing.assert_array_equal(ranker.predict(other), ranker.predict(data))


def test_features_of_which_a_linear_model_makes_use_are_kept(slow):
    """Forests of the best 40 of 120 are as good as one of all, and the linear model is far better."""
    data = wide(useful=120, queries=60, curve=np.asarray)
    seen = screen.screened(divided(data, None, seed=0), Clock(20), setting())
    assert (seen.view, seen.reason) == (ALL, "")
    assert [one.candidate.kind for one in seen.tried] == ["trees", "linear"]
    assert seen.tried[1].value > seen.tried[0].value


def test_where_all_features_are_quick_fewer_are_one_more_model():
    over = divided(wide(useful=4, curve=lambda X: np.sin(2 * X)), None, seed=0)
    seen = screen.screened(over, Clock(1e6), setting())
    assert seen.view == ALL
    every, linear, fewer = seen.tried
    assert every.candidate.view == linear.candidate.view == ALL
    assert len(fewer.candidate.view.columns) < 120
    assert fewer.value > every.value
    found = search(over, Clock(1e6), setting(fits=5), seen.view, seen.tried)
    assert {id(one) for one in seen.tried} < {id(one) for one in found}
    assert len({(one.candidate.name, one.candidate.view) for one in found}) == 5


@pytest.mark.parametrize(
    ("features", "more"), [(99, {}), (120, {"fits": 3}), (120, {"backends": ("catboost",)})]
)
def test_few_features_or_a_number_of_fits_are_not_screened(slow, features, more):
    given = Setting("ndcg@10", 1, 0, **({"backends": ("lightgbm",), "fits": None} | more))
    seen = screen.screened(divided(wide(4, 30, features), None, seed=0), Clock(60), given)
    assert (seen.view, seen.tried, seen.reason) == (ALL, [], "")


def test_the_last_forest_is_begun_in_time(slow, monkeypatch):
    """Every model takes half of the time: no forest of fewer features is begun."""
    passed = [0.0]
    monkeypatch.setattr("rankloop.rankers.auto.clock.now", lambda: passed[0])
    original = screen.try_one

    def long(*given):
        fitted = original(*given)
        passed[0] += 30
        return fitted

    monkeypatch.setattr(screen, "try_one", long)
    seen = screen.screened(
        divided(wide(useful=4, curve=lambda X: np.sin(2 * X)), None, seed=0), Clock(60), setting()
    )
    assert passed[0] == 60
    assert [one.candidate.view for one in seen.tried] == [ALL, ALL]


@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_interrupt_leaves_all_features(slow, monkeypatch, at):
    original, calls = screen.try_one, [0]

    def interrupted(*given):
        calls[0] += 1
        if calls[0] == at:
            raise KeyboardInterrupt
        return original(*given)

    monkeypatch.setattr(screen, "try_one", interrupted)
    over, clock = divided(wide(useful=4, curve=lambda X: np.sin(2 * X)), None, seed=0), Clock(60)
    if at == 1:
        with pytest.raises(KeyboardInterrupt):
            screen.screened(over, clock, setting())
        return
    seen = screen.screened(over, clock, setting())
    assert (seen.view, len(seen.tried), clock.left) == (ALL, at - 1, 0.0)
    assert {*search(over, clock, setting(), seen.view, seen.tried)} == {*seen.tried}


def test_fewer_features_need_no_sample():
    over = divided(wide(useful=4, queries=600), None, seed=0)
    few = affordable(over, Clock(10), setting(), View(columns=(0, 1, 2)))
    assert affordable(over, Clock(10), setting(), ALL).sampled < few.sampled == 1


def test_views_of_some_features_by_hand():
    X = np.array([[1.0, 5.0, 9.0], [3.0, np.nan, 8.0], [2.0, 5.0, 7.0]], np.float32)
    offsets = np.array([0, 3])
    view = View(columns=(1, 2), by_query=(2,), missing=(1,))
    assert view.of(X, offsets)[:, :2].tolist()[0] == [5, 9]
    np.testing.assert_allclose(view.of(X, offsets)[:, 3], [1, 0.5, 0])
    assert view.of(X, offsets)[:, 4].tolist() == [0, 1, 0]
    assert View(columns=(2, 0)).of(X, offsets).tolist() == [[9, 1], [8, 3], [7, 2]]
    assert (view.kept(3), ALL.kept(3), view.name) == (2, 3, "2 features + by query + missing")
    assert View.from_dict(view.to_dict()) == view
    assert View.from_dict({"by_query": [1], "missing": []}) == View(
        (1,)
    )  # as saved before there were columns
    data = RankingDataset.from_groups(X, [0, 1, 2], [3])
    assert varying_features(data, 10, (2,)) == (2,)
    assert (missing_features(data), missing_features(data, (0, 2))) == ((1,), ())
