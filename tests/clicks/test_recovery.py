"""Fitted parameters are the ones that made the clicks."""

import numpy as np
import pytest

import rankloop.clicks as clicks
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset

SESSIONS, QUERIES, DOCUMENTS = 200_000, 20, 8


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    n = QUERIES * DOCUMENTS
    return RankingDataset.from_groups(rng.normal(size=(n, 2)), rng.integers(0, 4, n), [DOCUMENTS] * QUERIES)


def log_of(data, user, sessions=SESSIONS, **options):
    scores = np.random.default_rng(1).normal(size=data.n_documents)
    return clicks.simulate(
        data, logging_policy=scores, user=user, sessions=sessions, temperature=2.0, k=8, **options
    )


def by_grade(values, data):
    return np.asarray(values)[data.y.astype(int)]


A, S = [0.15, 0.3, 0.6, 0.9], [0.1, 0.3, 0.5, 0.8]


def learned(model, name, data):
    """The learned values, one per row of the data set."""
    table = getattr(model, f"{name}_")
    return np.array([table[data.row_qid[row], row] for row in range(data.n_documents)])


def error(model, name, data, truth):
    return np.abs(learned(model, name, data) - by_grade(truth, data)).mean()


@pytest.mark.slow
def test_dbn(data):
    user = clicks.DBN(attraction=A, satisfaction=S, continuation=0.8)
    model = clicks.DBN().fit(log_of(data, user, sessions=1_000_000))
    assert error(model, "attraction", data, A) < 0.02
    assert error(model, "satisfaction", data, S) < 0.02
    assert model.continuation_ == pytest.approx(0.8, abs=0.01)
    assert np.corrcoef(model.relevance(data), by_grade(np.multiply(A, S), data))[0, 1] > 0.99


def test_sdbn(data):
    model = clicks.SDBN().fit(log_of(data, clicks.SDBN(attraction=A, satisfaction=S)))
    assert error(model, "attraction", data, A) < 0.02
    assert error(model, "satisfaction", data, S) < 0.03


@pytest.mark.slow
def test_ccm(data):
    user = clicks.CCM(attraction=A, after_skip=0.9, after_poor=0.8, after_good=0.3)
    model = clicks.CCM().fit(log_of(data, user, sessions=1_000_000))
    assert error(model, "attraction", data, A) < 0.02
    found = model.after_skip_, model.after_poor_, model.after_good_
    assert found == pytest.approx((0.9, 0.8, 0.3), abs=0.01)


def test_dcm(data):
    onward = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2])
    model = clicks.DCM().fit(log_of(data, clicks.DCM(attraction=A, continuation=onward)))
    assert error(model, "attraction", data, A) < 0.02
    np.testing.assert_allclose(model.continuation_[:6], onward[:6], atol=0.05)


def test_cascade(data):
    model = clicks.Cascade().fit(log_of(data, clicks.Cascade(attraction=A)))
    assert error(model, "attraction", data, A) < 0.03


def test_pbm_from_pages_and_from_an_aggregate(data):
    curve = 1 / np.arange(1, 9)
    log = log_of(data, clicks.PBM(examination=curve, attraction=A))
    model = clicks.PBM().fit(log)
    np.testing.assert_allclose(model.examination_, curve, rtol=0.06)
    assert error(model, "attraction", data, A) < 0.02
    again = clicks.PBM().fit(clicks.aggregate(log))
    np.testing.assert_allclose(again.examination_, model.examination_, rtol=1e-9)


def test_pbm_with_a_known_curve_learns_documents_only(data):
    curve = 1 / np.arange(1, 9)
    log = log_of(data, clicks.PBM(examination=curve, attraction=A))
    model = clicks.PBM(examination=curve).fit(log)
    assert model.examination_ is curve
    assert error(model, "attraction", data, A) < 0.015


def test_ubm(data):
    distance = np.arange(1, 9)[:, None] - np.arange(9)
    sight = 1 / np.maximum(distance, 1.0)
    sight[0, 0] = 1.0
    model = clicks.UBM().fit(log_of(data, clicks.UBM(examination=sight, attraction=A)))
    assert error(model, "attraction", data, A) < 0.02
    np.testing.assert_allclose(model.examination_[:4, 0], sight[:4, 0], atol=0.04)
    np.testing.assert_allclose(model.examination_[2, 1:3], sight[2, 1:3], atol=0.04)


def test_trust_identifies_the_ratio_of_slopes(data):
    user = clicks.user("trust", max_label=3)
    model = clicks.TrustPBM(iterations=1000).fit(log_of(data, user))
    truth = user.alpha(8) / user.alpha(8)[0]
    np.testing.assert_allclose(model.alpha(8) / model.alpha(8)[0], truth, rtol=0.12)
    known = clicks.TrustPBM(relevant=user.relevant, other=user.other).fit(log_of(data, user))
    assert error(known, "attraction", data, np.arange(4) / 3) < 0.03


def test_contextual_learns_a_curve_per_layout(data):
    curves = {"phone": 1 / np.arange(1, 9) ** 2, "desktop": 0.8 / np.sqrt(np.arange(1, 9))}
    user = clicks.ContextualPBM(examination=curves, attraction=A)
    log = ClickLog.concat([log_of(data, user, layout=name, seed=i) for i, name in enumerate(curves)])
    model = clicks.ContextualPBM().fit(log)
    scale = model.examination_["desktop"][0] / 0.8
    np.testing.assert_allclose(model.examination_["desktop"] / scale, curves["desktop"], rtol=0.06)
    np.testing.assert_allclose(model.examination_["phone"][:4] / scale, curves["phone"][:4], rtol=0.1)
    with pytest.raises(ValueError, match="no curve for layout 'tablet'"):
        model.at("tablet")


def test_features_recover_the_weights():
    """attraction = sigmoid(2 x_1 - 1), satisfaction = sigmoid(x_2): learned from clicks of a DBN."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 2)).astype(np.float32)
    data = RankingDataset.from_groups(X, np.arange(400), [8] * 50)
    sigmoid = lambda t: 1 / (1 + np.exp(-t))  # noqa: E731
    user = clicks.DBN(
        attraction=lambda y: sigmoid(2 * X[y.astype(int), 0] - 1),
        satisfaction=lambda y: sigmoid(X[y.astype(int), 1].astype(float)),
        continuation=0.9,
    )
    log = log_of(data, user)
    model = clicks.DBN().fit(log, features=data)
    np.testing.assert_allclose(model.attraction_.weights / model.attraction_.scale, [2, 0], atol=0.05)
    np.testing.assert_allclose(model.satisfaction_.weights / model.satisfaction_.scale, [0, 1], atol=0.05)
    assert model.continuation_ == pytest.approx(0.9, abs=0.01)
