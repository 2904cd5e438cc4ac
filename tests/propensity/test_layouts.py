"""A curve belongs to a layout, and old ones go stale."""

import numpy as np
import pytest

from rankloop.clicks import PBM, ClickLog, simulate
from rankloop.data import synthetic
from rankloop.propensity import Propensity, by_layout, contextual, drift, estimate, harvest, randomized

CURVES = {"phone": [1, 0.3, 0.1], "desktop": [1, 0.8, 0.6]}


@pytest.fixture(scope="module")
def data():
    return synthetic(n_queries=200, docs_per_query=6, n_features=4, seed=0)


def pages(data, layout, seed=0, sessions=30_000, curve=None):
    user = PBM(examination=curve or CURVES[layout], attraction=[0.1, 0.2, 0.4, 0.8, 1])
    return simulate(
        data,
        logging_policy=data.y,
        user=user,
        sessions=sessions,
        k=3,
        randomize="shuffle",
        layout=layout,
        seed=seed,
    )


@pytest.fixture(scope="module")
def mixed(data):
    return ClickLog.concat([pages(data, "phone"), pages(data, "desktop", 1)])


def test_layouts_are_not_mixed_silently(mixed):
    with pytest.raises(ValueError, match=r"mixes layouts \(desktop, phone\).*by_layout"):
        randomized(mixed)
    with pytest.raises(ValueError, match=r"no page of the log has layout 'watch'; it has desktop, phone"):
        harvest(mixed, layout="watch")


@pytest.mark.parametrize("estimator", [randomized, harvest])
def test_one_curve_per_layout(mixed, estimator):
    curves = by_layout(mixed, estimator)
    for layout, truth in CURVES.items():
        assert curves[layout].layout == layout
        np.testing.assert_allclose(curves[layout].values, truth, rtol=0.1)
        assert estimator(mixed, layout=layout).values == pytest.approx(curves[layout].values)


def test_logs_without_layouts(data):
    log = simulate(data, logging_policy=data.y, sessions=100, k=3)
    with pytest.raises(ValueError, match="the log has no column layout"):
        randomized(log, layout="phone")
    with pytest.raises(ValueError, match="the log has no column layout"):
        by_layout(log, randomized)


def test_drift(data):
    old = randomized(pages(data, "phone"))
    same = drift(old, pages(data, "phone", seed=5))
    assert same.holds
    assert "holds" in repr(same)
    moved = drift(old, pages(data, "phone", seed=5, curve=[1, 0.3, 0.2]))
    assert not moved.holds
    assert moved.ranks == (3,)
    assert "no longer holds" in repr(moved)
    assert moved.to_dict()["p_value"] < 0.01
    with pytest.raises(ValueError, match="a new layout needs a new curve"):
        drift(old, randomized(pages(data, "desktop")))
    with pytest.raises(ValueError, match="neither curve has a covariance"):
        drift(Propensity.given([1, 0.5]), Propensity.given([1, 0.4]))
    with pytest.raises(ValueError, match="confidence lies between"):
        drift(old, old, confidence=2)


def test_drift_takes_the_pages_of_its_layout(data, mixed):
    assert drift(randomized(pages(data, "phone", seed=7)), mixed).holds


@pytest.mark.filterwarnings("ignore:people trust high ranks")  # in 5 % of logs by chance
def test_false_alarms_are_as_rare_as_asked(data):
    alarms = [
        not drift(
            Propensity.given(CURVES["phone"]), pages(data, "phone", seed, 3000), confidence=0.9, resamples=200
        ).holds
        for seed in range(60)
    ]
    assert np.mean(alarms) < 0.25


def test_contextual(data, mixed):
    phone = (mixed.page_layout.values == "phone").astype(float)
    plain = ClickLog(
        mixed.session + 1_000_000 * np.repeat(phone == 0, mixed.lengths), mixed.query, mixed.document,
        mixed.position, mixed.click,
    )  # fmt: skip
    found = contextual(plain, phone)
    np.testing.assert_allclose(found.at([[1], [0]]), list(CURVES.values()), rtol=0.1)
    curve = found.curve([1])
    truth = np.array(CURVES["phone"])
    assert np.all(np.abs(np.log(curve.values / truth))[1:] < 4 * np.sqrt(np.diag(curve.log_covariance))[1:])
    alone = randomized(pages(data, "phone"))
    assert np.diag(curve.log_covariance)[2] == pytest.approx(np.diag(alone.log_covariance)[2], rel=0.5)
    assert "3 ranks, 1 features" in repr(found)


def test_contextual_mistakes(mixed):
    with pytest.raises(ValueError, match="one finite row per page"):
        contextual(mixed, [1.0])
    with pytest.raises(ValueError, match="use fewer distinct contexts"):
        contextual(mixed, np.arange(mixed.n_pages), layout="phone")
    found = contextual(mixed, np.zeros((mixed.n_pages, 2)), layout="phone")
    with pytest.raises(ValueError, match="have 2 features, got 1"):
        found.at([[1.0]])


def test_estimate_chooses(data):
    assert estimate(
        simulate(data, logging_policy=data.y, sessions=20_000, k=3, temperature=1.0)
    ).method.startswith("harvest")
    one = simulate(data, logging_policy=np.zeros(data.n_documents), sessions=20_000, k=3)
    assert estimate(one, data, resamples=50).method == "regression_em"
    with pytest.raises(ValueError, match="pass the data set"):
        estimate(one, method="regression_em")
    with pytest.raises(ValueError, match="did you mean 'harvest'"):
        estimate(one, method="harvset")
    with pytest.raises(ValueError, match="connect no clicks at rank 2, 3"):
        estimate(one)
