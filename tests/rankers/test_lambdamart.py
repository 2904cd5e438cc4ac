"""LambdaMART: lambdas reach the trees of every backend, metrics stop them, and nothing is ignored."""

import sys
import types

import numpy as np
import pytest
from sklearn.base import clone

from members import LOSSES
from rankloop import losses
from rankloop._jit import thread_count
from rankloop.data import Pairs, RankingDataset, synthetic
from rankloop.losses import LambdaRank, RankNet
from rankloop.metrics import evaluate, metric
from rankloop.rankers import LambdaMART, load
from rankloop.rankers.trees.callbacks import MLflow

BACKENDS = {"lightgbm": "lambdarank", "xgboost": "rank:ndcg", "catboost": "YetiRank"}
every_backend = pytest.mark.parametrize("backend", BACKENDS)
ours_too = pytest.mark.parametrize("backend", [*BACKENDS, "rankloop"])
TRAIN, VALID = synthetic(n_queries=60, docs_per_query=12, n_features=6, seed=0).split(0.7, seed=0)


def small(**options):
    return LambdaMART(**{"trees": 15, "leaves": 8, "threads": 1, **options})


@ours_too
def test_one_tree_by_hand(backend):
    """One split, two leaves: each leaf is -(sum of gradients) / (sum of Hessians), times the rate."""
    X = np.array([[0.0], [0.1], [0.9], [1.0], [0.2], [0.8]], np.float32)
    data = RankingDataset.from_groups(X, [0, 1, 2, 1, 0, 2], [4, 2])
    found = LambdaRank()(np.zeros(6), data.y, data.offsets)
    left = X[:, 0] < 0.5
    leaf = [-found.gradient[side].sum() / found.hessian[side].sum() for side in (left, ~left)]
    # LightGBM puts at least three values into a bin by default
    params = {"min_data_in_bin": 1} if backend == "lightgbm" else {}
    ranker = LambdaMART(
        trees=1, leaves=2, learning_rate=0.5, loss=LambdaRank(), backend=backend, threads=1, params=params
    )
    scores = ranker.fit(data).predict(X)
    np.testing.assert_allclose(scores, 0.5 * np.where(left, leaf[0], leaf[1]), rtol=1e-6)


@every_backend
@pytest.mark.parametrize("loss", ["lambdagap", "softmax", "xendcg", "own"])
def test_backends_learn_the_same_things(backend, loss):
    chosen = f"backend:{BACKENDS[backend]}" if loss == "own" else loss
    ranker = small(backend=backend, loss=chosen, trees=40).fit(TRAIN)
    assert evaluate(ranker, VALID, ["ndcg@10"]).mean["ndcg@10"] > 0.65


@pytest.mark.parametrize("kind", LOSSES)
def test_every_loss_moves_trees_at_the_default_rate(kind):
    ranker = small(loss=kind(), trees=20).fit(TRAIN)
    before, after = (kind()(scores, TRAIN.y, TRAIN.offsets).value.sum()
                     for scores in (np.zeros(TRAIN.n_documents), ranker.predict(TRAIN)))  # fmt: skip
    assert after < before
    if kind is not losses.PiRank:  # whose smooth sort lets a document fill several ranks: NDCG may not follow
        assert evaluate(ranker, TRAIN, ["ndcg"]).mean["ndcg"] > 0.85


def test_threads_hold_for_the_kernels_too(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "64")
    before, seen = thread_count(), []
    small(trees=2, callbacks=[lambda _: seen.append(thread_count())]).fit(TRAIN, VALID)
    assert seen == [1, 1]
    assert thread_count() == before


@every_backend
@pytest.mark.parametrize("own", [False, True])
def test_a_weight_of_two_is_the_query_twice(backend, own):
    """Rounded features, so that repeated rows leave the bins where they are."""
    if own and backend != "lightgbm":
        pytest.skip("XGBoost and CatBoost sample pairs, other ones for other lists")
    loss = f"backend:{BACKENDS[backend]}" if own else "lambdagap"
    X = np.round(np.nan_to_num(TRAIN.X)).clip(-3, 3)
    twice = np.arange(TRAIN.n_queries) % 2 == 0
    again = twice[TRAIN.row_query]
    weighed = RankingDataset(X, TRAIN.y, TRAIN.row_query, query_weight=1.0 + twice)
    repeated = RankingDataset(
        np.concatenate((X, X[again])),
        np.concatenate((TRAIN.y, TRAIN.y[again])),
        np.concatenate((TRAIN.row_query, TRAIN.row_query[again] + 1000)),
    )
    params = {"min_data_in_bin": 1} if backend == "lightgbm" else {}
    scores = [small(backend=backend, loss=loss, trees=5, params=params).fit(data).predict(X)
              for data in (weighed, repeated, weighed.replace(query_weight=None))]  # fmt: skip
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-4, atol=1e-5)
    assert np.abs(scores[0] - scores[2]).max() > 0.01


@ours_too
def test_item_weights_reach_the_loss(backend):
    weight = np.where(TRAIN.y == TRAIN.y.max(), 3.0, 1.0)
    weighed = small(backend=backend, trees=1, leaves=2).fit(TRAIN.replace(item_weight=weight))
    found = LambdaRank()(np.zeros(TRAIN.n_documents), TRAIN.y, TRAIN.offsets, weight=weight)
    scores = weighed.predict(TRAIN)
    for value in np.unique(scores):
        side = scores == value
        expected = -0.1 * found.gradient[side].sum() / found.hessian[side].sum()
        assert value == pytest.approx(expected, rel=1e-4)


def test_pairs_replace_labels():
    flat = TRAIN.replace(y=np.zeros(TRAIN.n_documents))
    better = np.flatnonzero(TRAIN.y > 1)
    worse = TRAIN.offsets[TRAIN.row_query[better]]
    differs = TRAIN.y[better] > TRAIN.y[worse]
    pairs = Pairs(better[differs], worse[differs])
    ranker = small(loss=RankNet()).fit(flat.replace(pairs=pairs))
    assert evaluate(ranker, TRAIN, ["ndcg@10"]).mean["ndcg@10"] > 0.7
    with pytest.raises(ValueError, match="ignore the pairs"):
        small(loss="softmax").fit(TRAIN.replace(pairs=pairs))
    with pytest.raises(ValueError, match="lambdarank of lightgbm would ignore the pairs"):
        small(loss="backend:lambdarank").fit(TRAIN.replace(pairs=pairs))


@ours_too
@pytest.mark.parametrize("named", ["ndcg@5", "arp", metric("ndcg@10", convention="lightgbm")], ids=str)
def test_the_best_round_is_kept(backend, named):
    ranker = small(backend=backend, metric=named, learning_rate=0.5, trees=40, patience=8).fit(TRAIN, VALID)
    chosen = metric(named)
    best = ranker.curve_.argmax() if chosen.higher_is_better else ranker.curve_.argmin()
    assert ranker.n_trees_ == best + 1
    assert len(ranker.curve_) == min(40, best + 1 + 8)
    reached = chosen.mean(chosen(ranker.predict(VALID), VALID.y, VALID.offsets))
    assert reached == pytest.approx(ranker.curve_[best], abs=1e-12)
    assert ranker.metrics_["valid"][str(chosen)] == pytest.approx(reached)


@pytest.mark.parametrize(
    ("backend", "params"),
    [
        ("lightgbm", {"boosting": "dart", "drop_rate": 0.3}),
        ("xgboost", {"booster": "dart", "rate_drop": 0.3}),
    ],
)
def test_all_rounds_of_dart_are_kept(backend, params):
    """A later round shrinks earlier trees: the model of the best round no longer exists."""
    ranker = small(backend=backend, params=params, learning_rate=0.5, trees=40, patience=5).fit(TRAIN, VALID)
    assert ranker.n_trees_ == len(ranker.curve_) == 40
    assert ranker.metrics_["valid"]["ndcg@10"] == pytest.approx(ranker.curve_[-1], abs=1e-9)
    assert ranker.curve_[-1] < ranker.curve_.max()


@ours_too
def test_warm_start_is_continued_training(backend):
    whole = small(backend=backend, trees=12).fit(TRAIN)
    half = small(backend=backend, trees=6).fit(TRAIN)
    continued = small(backend=backend, trees=6, init=half).fit(TRAIN, VALID)
    assert continued.n_trees_ == 6 + continued.curve_.argmax() + 1
    again = clone(small(backend=backend, trees=6, init=half)).fit(TRAIN)
    np.testing.assert_allclose(again.predict(VALID), whole.predict(VALID), rtol=1e-6, atol=1e-7)


@every_backend
@pytest.mark.parametrize("own", [False, True])
def test_saved_forests_score_to_the_last_bit(backend, own, tmp_path):
    loss = f"backend:{BACKENDS[backend]}" if own else "lambdagap"
    ranker = small(backend=backend, loss=loss, callbacks=[print], params={}).fit(TRAIN, VALID)
    ranker.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(VALID), ranker.predict(VALID))
    np.testing.assert_array_equal(again.curve_, ranker.curve_)
    assert again.n_trees_ == ranker.n_trees_
    assert again.callbacks == ()


def test_a_saved_forest_scores_without_its_backend(tmp_path, monkeypatch):
    ranker = small().fit(TRAIN)
    ranker.save(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "lightgbm", None)  # cannot be imported
    monkeypatch.setattr("rankloop.rankers.trees.lightgbm.compile_forest", None)  # nor compiled again
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(VALID), ranker.predict(VALID))


@pytest.mark.parametrize("linear", [False, True])
def test_scores_are_those_of_lightgbm(linear):
    ranker = small(params={"linear_tree": linear}).fit(TRAIN)
    assert (ranker.forest_.compiled is None) == linear
    np.testing.assert_array_equal(ranker.predict(VALID), ranker.forest_.booster.predict(VALID.X))


def coarse(ranker):
    return "[use_quantized_grad: 1]" in ranker.forest_.text


def test_coarse_gradients_of_many_documents_leave_the_leaves_exact(monkeypatch):
    """With the squared loss the value of a leaf is the rate times the mean label of its documents."""
    monkeypatch.setattr("rankloop.rankers.trees.lightgbm._MANY", (100, 10_000))
    ranker = small(trees=1, loss="squared", learning_rate=0.5).fit(TRAIN)
    assert coarse(ranker)
    scores = ranker.predict(TRAIN)
    assert len(np.unique(scores)) == 8
    for value in np.unique(scores):
        assert value == pytest.approx(0.5 * TRAIN.y[scores == value].mean(), abs=1e-5)


def test_coarse_gradients_rank_as_well(monkeypatch):
    train, test = synthetic(n_queries=1200, docs_per_query=12, n_features=6, seed=3).split(0.5, seed=0)
    exact = small(trees=60).fit(train)
    monkeypatch.setattr("rankloop.rankers.trees.lightgbm._MANY", (100, 10_000))
    ranker = small(trees=60).fit(train)
    assert coarse(ranker)
    assert not coarse(exact)
    found, wanted = (evaluate(one, test, ["ndcg@10"]).mean["ndcg@10"] for one in (ranker, exact))
    assert found == pytest.approx(wanted, abs=0.008)
    np.testing.assert_array_equal(small(trees=60).fit(train).predict(test), ranker.predict(test))


@pytest.mark.parametrize(
    "options",
    [
        {"params": {"use_quantized_grad": False}},
        {"params": {"linear_tree": True}},
        {"feature_fraction": 0.5},
        {"monotone": {0: 1}},
        {"loss": "backend:lambdarank"},
    ],
)
def test_gradients_stay_exact_where_coarse_ones_do_not_do(options, monkeypatch):
    monkeypatch.setattr("rankloop.rankers.trees.lightgbm._MANY", (100, 10_000))
    assert not coarse(small(**options).fit(TRAIN))


def test_gradients_stay_exact_under_weights(monkeypatch):
    """One weight of a thousand would leave nothing of the other gradients."""
    monkeypatch.setattr("rankloop.rankers.trees.lightgbm._MANY", (100, 10_000))
    assert not coarse(small().fit(TRAIN.replace(query_weight=np.ones(TRAIN.n_queries))))
    assert not coarse(small().fit(TRAIN.replace(item_weight=np.ones(TRAIN.n_documents))))


@ours_too
def test_seeds(backend):
    options = {"backend": backend, "bagging_fraction": 0.5, "feature_fraction": 0.5}
    first, same, other = (small(**options, seed=seed).fit(TRAIN).predict(VALID) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


@every_backend
def test_scores_rise_where_they_must(backend):
    feature = 0
    ranker = small(backend=backend, monotone={TRAIN.feature_names[feature]: 1}, trees=30).fit(TRAIN)
    probe = np.repeat(VALID.X[:20], 15, axis=0)
    probe[:, feature] = np.tile(np.linspace(-3, 3, 15), 20)
    steps = np.diff(ranker.predict(probe).reshape(20, 15), axis=1)
    assert steps.min() >= -1e-6
    assert steps.max() > 0


@pytest.mark.parametrize("backend", ["lightgbm", "xgboost"])
def test_features_meet_only_within_their_groups(backend):
    """Without a common branch, scores are a sum of functions of the groups; the rest stand alone."""
    ranker = small(backend=backend, interaction=[[0, 1]], trees=30).fit(TRAIN)
    base, moved = VALID.X[:50].copy(), VALID.X[50:100]
    one, two, both = base.copy(), base.copy(), base.copy()
    one[:, 0], two[:, 2:] = moved[:, 0], moved[:, 2:]
    both[:, 0], both[:, 2:] = moved[:, 0], moved[:, 2:]
    scores = [ranker.predict(X) for X in (base, one, two, both)]
    np.testing.assert_allclose(scores[1] + scores[2], scores[0] + scores[3], atol=1e-5)
    assert np.ptp(scores[2] - scores[0]) > 0


@every_backend
def test_categories_have_no_order(backend):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (400, 1)).astype(np.float32)
    data = RankingDataset.from_groups(X, X[:, 0] % 3 == 0, [8] * 50)
    ranker = small(backend=backend, categorical=[0], trees=20, leaves=4).fit(data)
    assert np.nanmean(metric("ndcg")(ranker.predict(data), data.y, data.offsets)) > 0.99
    with pytest.raises(ValueError, match=r"holds codes from 0 on .* 'feature 1' has"):
        small(backend=backend, categorical=[0]).fit(data.replace(X=X + 0.5))


def test_positions_go_to_lightgbm_alone():
    positioned = TRAIN.replace(position=np.concatenate([np.arange(1, n + 1) for n in TRAIN.lengths]))
    small(loss="backend:lambdarank").fit(positioned)
    for options in (
        {"loss": "lambdagap"},
        {"loss": "backend:rank_xendcg"},
        {"backend": "xgboost", "loss": "backend:rank:ndcg"},
        {"backend": "catboost", "loss": "backend:YetiRank"},
    ):
        with pytest.raises(ValueError, match="would ignore the position"):
            small(**options).fit(positioned)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "lightgmb"}, "unknown backend 'lightgmb'; did you mean 'lightgbm'"),
        ({"loss": "lambdrank"}, "unknown loss"),
        ({"loss": "lambdarank(nonsense=1)"}, "unknown option of lambdarank"),
        ({"loss": "backend:rank:ndcg"}, "unknown objective of LightGBM"),
        ({"loss": "backend:lambdarank", "backend": "xgboost"}, "unknown objective of XGBoost"),
        ({"loss": "backend:nonsense", "backend": "catboost"}, "CatBoost failed"),
        ({"params": {"num_leafs": 3}}, "unknown parameter of LightGBM 'num_leafs'; did you mean"),
        ({"params": {"nonsense": 3}, "backend": "xgboost"}, "unknown parameter of XGBoost"),
        ({"params": {"nonsense": 3}, "backend": "catboost"}, "CatBoost failed: .*nonsense"),
        ({"metric": "ndgc"}, "unknown metric"),
        ({"trees": 0}, "trees must be a whole number from 1"),
        ({"learning_rate": 0}, r"learning_rate lies in \(0, 1\]"),
        ({"min_sum_hessian": -1.0}, "min_sum_hessian must be"),
        ({"patience": 0}, "patience must be at least 1"),
        ({"monotone": {"nonsense": 1}}, "unknown feature 'nonsense'"),
        ({"monotone": {9: 1}}, "numbered from 0 to 5, got 9"),
        ({"monotone": {"9": 1}}, "numbered from 1 to 6 in text, got '9'"),
        ({"monotone": {0: 2}}, "unknown direction of monotone '2'"),
        ({"backend": "catboost", "interaction": [[0]]}, "no interaction constraints"),
        ({"backend": "catboost", "min_sum_hessian": 1.0}, "no min_sum_hessian"),
        ({"backend": "catboost", "params": {"grow_policy": "Lossguide"}}, "symmetric"),
        ({"init": LambdaMART()}, "call fit first"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(Exception, match=message) as raised:
        small(**options).fit(TRAIN, VALID)
    assert isinstance(raised.value, ValueError)


def test_leaves_too_large_for_the_documents_are_named():
    with pytest.raises(ValueError, match=r"into two large enough leaves; .*min_data_in_leaf"):
        small(params={"min_data_in_leaf": TRAIN.n_documents}).fit(TRAIN)
    with pytest.raises(ValueError, match=r"no feature tells the .* documents apart"):
        small().fit(TRAIN.replace(X=np.ones_like(TRAIN.X)))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_what_a_callback_raises_comes_out(backend, own, error):
    """An interrupt that arrives in a callback stays one: CatBoost would make an error of its own of it."""

    def raising(now):
        if now.number == 3:
            raise error("third round")

    options = {"backend": backend, "callbacks": [raising]}
    if own:
        options["loss"] = f"backend:{BACKENDS[backend]}"
    with pytest.raises(error, match="third round"):
        small(**options).fit(TRAIN, VALID)


def test_limits_of_the_backends_own_objectives():
    """LightGBM's objectives end at 10,000 documents a list and 31 grades; ours do not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_500, 2)).astype(np.float32)
    y = (X[:, 0] > 1).astype(np.float32)
    long = RankingDataset.from_groups(X, y, [10_500])
    with pytest.raises(ValueError, match="up to 10,000 documents, got one of 10,500"):
        small(loss="backend:lambdarank").fit(long)
    ranker = small(loss=LambdaRank(truncation=10), trees=2).fit(long)
    assert metric("ndcg@10")(ranker.predict(long), y, long.offsets)[0] == pytest.approx(1)
    high = TRAIN.replace(y=TRAIN.y * 10)
    for backend, objective in (("lightgbm", "lambdarank"), ("xgboost", "rank:ndcg")):
        with pytest.raises(ValueError, match=r"got 40.*linear"):
            small(backend=backend, loss=f"backend:{objective}").fit(high)
        small(backend=backend, loss=LambdaRank(gain="linear"), trees=2).fit(high)
    with pytest.raises(ValueError, match="takes labels 0 and 1, got 4"):
        small(backend="xgboost", loss="backend:rank:map").fit(TRAIN)


def test_a_forest_without_a_split_says_so():
    with pytest.warns(UserWarning, match="lower min_sum_hessian"):
        ranker = small(min_sum_hessian=1e9).fit(TRAIN)
    assert np.ptp(ranker.predict(TRAIN)) == 0


def test_a_validation_set_without_a_value_is_refused():
    empty = VALID.replace(y=np.zeros(VALID.n_documents))
    for backend in BACKENDS:
        with pytest.raises(ValueError, match="no value on the validation set"):
            small(backend=backend).fit(TRAIN, empty)


@ours_too
def test_callbacks_see_each_round_and_may_stop(backend, monkeypatch):
    seen = []

    def stop_after_four(now):
        seen.append(now)
        return now.number == 4

    logged = types.SimpleNamespace(log_metric=lambda name, value, step: seen.append((name, value, step)))
    monkeypatch.setitem(sys.modules, "mlflow", logged)
    ranker = small(backend=backend, callbacks=[stop_after_four, MLflow()]).fit(TRAIN, VALID)
    rounds = seen[::2]
    assert [now.number for now in rounds] == [1, 2, 3, 4]
    assert [now.value for now in rounds] == ranker.curve_.tolist()
    assert rounds[-1].best == ranker.curve_.max()
    assert seen[1] == ("valid ndcg at 10", ranker.curve_[0], 1)
    without = small(backend=backend, trees=2, callbacks=[seen.append]).fit(TRAIN)
    assert without.n_trees_ == 2
    assert seen[-1].value is None


def test_tensorboard_gets_every_round(tmp_path):
    pytest.importorskip("tensorboard")
    from rankloop.rankers.trees.callbacks import TensorBoard

    with TensorBoard(tmp_path) as board:
        small(trees=3, callbacks=[board]).fit(TRAIN, VALID)
    (written,) = tmp_path.iterdir()
    assert written.read_bytes().count(b"valid/ndcg@10") == 3


def test_a_name_means_the_same_loss_here_and_in_losses():
    for name in ("lambdarank", "lambdagap"):
        named, made = (small(loss=one).fit(TRAIN).predict(VALID) for one in (name, losses.loss(name)))
        np.testing.assert_array_equal(named, made)
    default, near = (one.fit(TRAIN).predict(VALID) for one in (small(), small(loss="lambdagap")))
    np.testing.assert_array_equal(default, near)
    tuned = small(loss=LambdaRank(truncation=30, norm_gap=True)).fit(TRAIN).predict(VALID)
    np.testing.assert_array_equal(default, tuned)
    assert not np.array_equal(default, small(loss="lambdarank").fit(TRAIN).predict(VALID))
