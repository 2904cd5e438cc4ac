"""Tuning over whole-query folds."""

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from rankloop.data import synthetic
from rankloop.metrics import metric
from rankloop.rankers import LambdaMART, LinearRanker, PointwiseRanker, RankBoost, RankSVM, tune
from rankloop.rankers.base.known_settings import known_settings
from rankloop.rankers.base.race import NEAR
from rankloop.rankers.study import Study, Trial


@dataclass(kw_only=True, eq=False, repr=False)
class _Known(LinearRanker):
    """The labels plus noise as the score, or minus them."""

    flip: float = 1.0
    noise: float = 0.1
    turn: int = 0
    fits: ClassVar[list[dict]] = []

    def fit(self, train, valid=None):
        self.fits.append(self.get_params())
        return self

    def predict(self, data):
        rng = np.random.default_rng([self.turn, len(data.y)])
        return self.flip * data.y + self.noise * rng.normal(size=len(data.y))


DATA = synthetic(n_queries=40, docs_per_query=8, n_features=4, seed=0).replace(feature_names=None)


def test_the_best_trial_by_hand():
    study = tune(RankSVM(), {"C": [1e-9, 1.0]}, DATA, "ndcg@5", folds=3, trials=4, seed=1)
    values = []
    for train, test in DATA.folds(3, seed=1):
        ranker = study.best_ranker().fit(train)
        values.append(np.nanmean(metric("ndcg@5")(ranker.predict(test), test.y, test.offsets)))
    np.testing.assert_allclose(study.best_.values, values)
    assert study.best_value_ == pytest.approx(np.mean(values))
    assert study.best_value_ == max(trial.mean for trial in study.trials if not trial.pruned)


def test_same_seed_same_study():
    space = {"C": (0.001, 10.0, "log"), "loss": ["hinge", "squared_hinge"], "iterations": (50, 60)}
    first, second = (tune(RankSVM(), space, DATA, folds=2, trials=4, seed=2).to_dict() for _ in range(2))
    assert json.dumps(first) == json.dumps(second)
    for trial in first["trials"]:
        assert 0.001 <= trial["params"]["C"] <= 10
        assert isinstance(trial["params"]["iterations"], int)


def test_lower_is_better_where_the_metric_says_so():
    study = tune(
        PointwiseRanker(Ridge()), {"estimator__alpha": (1e-3, 1e6, "log")}, DATA, "arp", trials=4, folds=2
    )
    assert study.best_value_ == min(trial.mean for trial in study.trials if not trial.pruned)
    assert study.best_value_ > 0


def test_hold_out_serves_early_stopping():
    study = tune(
        RankBoost(iterations=20),
        {"thresholds": {"low": 4, "high": 8, "step": 4}},
        DATA,
        trials=2,
        hold_out=0.25,
    )
    assert {trial.params["thresholds"] for trial in study.trials} <= {4, 8}


def test_hopeless_trials_are_pruned():
    data = synthetic(n_queries=120, docs_per_query=8, n_features=4, seed=0)
    space = {"flip": [-1.0, 1.0], "noise": (0.0, 0.1)}
    study = tune(_Known(flip=1.0), space, data, folds=3, trials=20, seed=0)
    flipped = [trial for trial in study.trials if trial.params["flip"] < 0]
    assert flipped
    assert sum(len(trial.values) == 1 for trial in flipped) >= len(flipped) - 1  # one may take what is left
    assert study.best_params_["flip"] == 1.0
    study = tune(_Known(flip=1.0), space, data, folds=3, trials=8, prune=False)
    assert not any(trial.pruned for trial in study.trials)


@given(
    trials=st.integers(1, 9),
    folds=st.integers(2, 4),
    noise=st.sampled_from([0.1, 3.0]),
    seed=st.integers(0, 99),
)
@settings(max_examples=25, deadline=None)
def test_the_budget_is_of_fits(trials, folds, noise, seed):
    """What a pruned trial does not take is given to others, and what is left to the last is used up."""
    data = synthetic(n_queries=120, docs_per_query=8, n_features=4, seed=seed)
    space = {"flip": (-1.0, 1.0), "turn": (0, 10_000)}
    _Known.fits.clear()
    study = tune(_Known(noise=noise), space, data, folds=folds, trials=trials, seed=seed)
    used = sum(len(trial.values) for trial in study.trials)
    assert len(_Known.fits) == used <= trials * folds
    assert len(study.trials) >= trials
    left = trials * folds - used
    assert all(folds - len(trial.values) > left for trial in study.trials if trial.pruned)
    assert left < folds
    for trial in study.trials:
        assert trial.pruned == (len(trial.values) < folds)
    assert len(study.best_.values) == folds
    assert study.best_value_ == max(trial.mean for trial in study.trials if not trial.pruned)
    again = tune(_Known(noise=noise), space, data, folds=folds, trials=trials, seed=seed)
    assert again.to_dict() == study.to_dict()
    _Known.fits.clear()
    study = tune(_Known(noise=noise), space, data, folds=folds, trials=trials, seed=seed, prune=False)
    assert len(_Known.fits) == trials * folds
    assert [len(trial.values) for trial in study.trials] == [folds] * trials


def test_pruned_trials_are_finished_where_no_setting_is_left():
    data = synthetic(n_queries=120, docs_per_query=8, n_features=4, seed=0)
    study = tune(_Known(), {"flip": [-1.0, -0.5, 0.5, 1.0]}, data, folds=3, trials=9)
    assert [len(trial.values) for trial in study.trials] == [3, 3, 3, 3]


def test_the_first_trials_are_known_settings_moved_into_the_ranges():
    space = {
        "leaves": {"low": 4, "high": 20},
        "learning_rate": {"low": 0.2, "high": 0.3},
        "l2": [0.5, 10.0],
        "loss": ["squared", "softmax"],
        "trees": {"low": 5, "high": 12, "step": 3},
    }
    found = list(known_settings(LambdaMART.__mro__, LambdaMART(trees=9, loss="softmax").get_params(), space))
    assert found[0] == {"leaves": 20, "learning_rate": 0.2, "loss": 1, "trees": 8}
    assert found[-1] == {"leaves": 8, "learning_rate": 0.2, "l2": 1, "loss": 1, "trees": 8}
    assert all(a != b for i, a in enumerate(found) for b in found[:i])
    assert [one["leaves"] for one in found] == [20, 4, 8]
    assert list(known_settings(RankBoost.__mro__, {}, {"thresholds": {"low": 4, "high": 8}})) == []


def test_tuning_begins_with_the_parameters_of_the_ranker():
    study = tune(RankSVM(C=0.37), {"C": (0.001, 10.0, "log")}, DATA, folds=2, trials=1)
    assert study.best_params_ == {"C": 0.37}
    study = tune(RankSVM(C=100.0), {"C": (0.001, 10.0, "log")}, DATA, folds=2, trials=1)
    assert study.best_params_ == {"C": 10.0}


def test_no_setting_is_tried_twice():
    """Near the best the sampler draws what it knows; a small space is tried once, and no longer."""
    space = {"turn": [*range(8)], "noise": [1.0, 3.0]}
    study = tune(_Known(), space, DATA, folds=2, trials=30, prune=False)
    tried = [tuple(trial.params.values()) for trial in study.trials]
    assert len(tried) == len(set(tried)) == 16
    study = tune(_Known(), {**space, "flip": (-1.0, 1.0)}, DATA, folds=2, trials=20, prune=False)
    assert len(study.trials) == 20


def test_what_is_nearly_the_same_is_drawn_again():
    study = tune(_Known(noise=1e-6), {"noise": (1e-6, 10.0, "log")}, DATA, folds=2, trials=25, prune=False)
    places = np.sort([np.log10(trial.params["noise"]) / 7 for trial in study.trials])
    assert np.diff(places).min() > NEAR / 25


def test_the_time_ends_tuning():
    assert len(tune(_Known(), {"noise": (0.1, 1.0)}, DATA, folds=2, trials=9, timeout=1e-9).trials) == 1


def test_table():
    study = tune(RankSVM(), {"C": (0.001, 10.0, "log"), "loss": ["squared_hinge"]}, DATA, folds=2, trials=3)
    assert repr(study).splitlines()[0].split() == ["C", "loss", "ndcg@10", "spread", "folds"]
    pruned = sum(trial.pruned for trial in study.trials)
    assert f"{len(study.trials)} trials, {pruned} pruned, 6 fits" in repr(study)
    assert study._repr_html_().count("<tr") >= 3


@pytest.mark.parametrize(
    ("space", "options", "message"),
    [
        ({}, {}, "needs a space"),
        ({"c": [1.0]}, {}, "unknown parameter of RankSVM 'c'"),
        ({"C": []}, {}, "the space of C is empty"),
        ({"C": (1.0, 2.0, "linear")}, {}, r"written \(low, high\)"),
        ({"C": 3.0}, {}, "a list of choices, a tuple"),
        ({"C": {"low": 1.0}}, {}, "a table with low, high"),
        ({"C": [1.0]}, {"hold_out": 1.0}, "hold_out must be at least 0"),
        ({"C": [1.0]}, {"folds": 1}, "folds takes 2 to 40"),
        ({"C": (1.0, 0.1)}, {}, "the space of C goes from low to high, got 1.0 and 0.1"),
        ({"C": (0.0, 1.0, "log")}, {}, "the space of C is logarithmic and must start above 0, got 0.0"),
        ({"C": ("low", "high")}, {}, "the space of C goes between two numbers, got 'low' and 'high'"),
        ({"C": {"low": 1, "high": 5, "step": 0}}, {}, "the step of C must be above 0, got 0"),
        ({"C": {"low": 1, "high": 5, "step": 2, "log": True}}, {}, "the space of C has a step or is log"),
        ({"C": [1.0]}, {"trials": 0}, "trials must be a whole number from 1, got 0"),
    ],
)
def test_wrong_use(space, options, message, capfd):
    with pytest.raises(ValueError, match=message):
        tune(RankSVM(), space, DATA, **{"trials": 1, **options})
    assert not capfd.readouterr().err  # raised before a trial starts


def test_the_values_of_a_pruned_trial_are_those_of_the_folds_that_it_names():
    study = tune(RankSVM(), {"C": (1e-4, 10.0, "log")}, DATA, "ndcg@5", folds=3, trials=3, seed=1)
    folds = list(DATA.folds(3, seed=1))
    assert len({trial.folds[0] for trial in study.trials if trial.pruned}) > 1
    for trial in study.trials:
        assert trial.folds == sorted(trial.folds)
        assert trial.pruned == (len(trial.folds) < 3)
        for fold, value in zip(trial.folds, trial.values, strict=True):
            train, test = folds[fold]
            scores = RankSVM(**trial.params).fit(train).predict(test)
            assert value == pytest.approx(np.nanmean(metric("ndcg@5")(scores, test.y, test.offsets)))


def test_a_metric_that_is_lower_for_better_rankings_is_minimised():
    study = tune(_Known(), {"noise": (0.0, 3.0)}, DATA, "arp", folds=2, trials=6, seed=0)
    reverse = tune(_Known(flip=-1.0), {"noise": (0.0, 3.0)}, DATA, "arp", folds=2, trials=6, seed=0)
    assert study.best_params_["noise"] < 1
    assert study.best_value_ == min(trial.mean for trial in study.trials if not trial.pruned)
    assert reverse.best_params_["noise"] > 1


def test_estimates_of_pruned_trials_by_hand():
    """The second fold is .2 easier: what is .1 behind the others there is .1 behind their mean."""
    trials = [
        Trial({"C": 1.0}, [0.5, 0.7], False, [0, 1]),
        Trial({"C": 2.0}, [0.6, 0.8], False, [0, 1]),
        Trial({"C": 3.0}, [0.65], True, [1]),
    ]
    study = Study(RankSVM(), metric("ndcg@10"), trials)
    np.testing.assert_allclose(study.estimates_, [0.6, 0.7, 0.55])
    assert repr(study).splitlines()[3].split() == ["3", "0.5500", "0.0000", "1"]
    assert study.best_params_ == {"C": 2.0}


def test_a_study_without_values_says_so():
    study = Study(RankSVM(), metric("ndcg@10"), [Trial({"C": 1.0}, [float("nan")], True, [1])])
    with pytest.raises(ValueError, match=r"no trial has a finite ndcg@10 on every fold"):
        _ = study.best_params_
    assert np.isnan(study.estimates_).all()
