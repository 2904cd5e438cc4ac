"""What every ranker promises: a new one is checked by being exported."""

import json
import zipfile

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

import tiny_bert
from rankloop import rankers
from rankloop.data import Pairs, RankingDataset
from rankloop.metrics import metric
from rankloop.rankers import Ranker, load

TEXTS = {}  # the documents of the text fixture, by id
TEXT = {"learning_rate": 3e-3, "epochs": 12, "batch_documents": 32, "dropout": 0.0, "device": "cpu"}

CLASSES = {
    name: found
    for name in rankers.__all__
    if isinstance(found := getattr(rankers, name), type)
    and issubclass(found, Ranker)
    and name not in ("FeatureSum", "Ranker")  # a sum with given weights learns nothing: test_feature_sum.py
}

# Small settings for the slow ones, parts for those made of rankers; every other class is made as it comes.
SMALL = {
    "AutoRanker": {
        "fits": 3,
        "members": 2,
        "folds": 2,
        "divisions": 1,
        "backends": ["lightgbm"],
        "threads": 1,
    },
    "CoordinateAscent": {"restarts": 1},
    "RankBoost": {"iterations": 100},
    "LambdaMART": {"trees": 30, "leaves": 8, "min_sum_hessian": 0.0},
    "NeuralRanker": {"seed": 0},
}


@pytest.fixture(autouse=True)
def tiny_checkpoint(request, tmp_path_factory):
    """A checkpoint for the ranker that reads texts: small, with random weights."""
    if request.node.callspec.params.get("name") == "TextRanker" and "checkpoint" not in TEXT:
        pytest.importorskip("torch")
        pytest.importorskip("tokenizers", reason="the extra text is not installed")
        TEXT["checkpoint"] = str(tiny_bert.checkpoint(tmp_path_factory.mktemp("bert")))


def make(name):
    if name == "TextRanker":
        return CLASSES[name](**{"checkpoint": "", **TEXT}, documents=TEXTS)
    if name == "PointwiseRanker":
        from sklearn.ensemble import HistGradientBoostingRegressor

        return CLASSES[name](HistGradientBoostingRegressor(max_iter=50, min_samples_leaf=2))
    if name in ("Ensemble", "Fusion"):
        return CLASSES[name]([rankers.RankSVM(C=1.0), rankers.RankSVM(C=100.0)])
    return CLASSES[name](**SMALL.get(name, {}))


def judged(queries=12, documents=8, features=5, seed=0):
    """Labels that follow a weighted sum of the features closely."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(queries * documents, features)).astype(np.float32)
    utility = X @ np.linspace(2.0, 0.5, features)
    return RankingDataset.from_groups(X, np.digitize(utility, [0.0, 1.5, 3.0]), [documents] * queries)


def lists(name, queries=12, seed=0, **shape):
    """Lists as this ranker takes them: columns of features, or texts."""
    if name != "TextRanker":
        return judged(queries=queries, seed=seed, **shape)
    data, documents = tiny_bert.judged(queries, seed=seed)
    TEXTS.update(documents)
    return data


def by_rows(name, ranker, data, order):
    """The scores of rows in any order, each with its query."""
    if name != "TextRanker":
        return ranker.predict(data.X[order], qid=data.row_qid[order])
    some = RankingDataset(
        data.X[order], data.y[order], data.row_qid[order], docid=data.docid[order],
        query_text=data.query_text[data.row_query[order]],
    )  # fmt: skip
    known = dict(zip(zip(some.row_qid, some.docid, strict=True), ranker.predict(some), strict=True))
    return np.array([known[pair] for pair in zip(data.row_qid[order], data.docid[order], strict=True)])


def fitted(name, data):
    """`Calibrated` wants a ranker that is fitted already."""
    ranker = make(name)
    if name == "Calibrated":
        ranker.set_params(ranker=rankers.RankSVM().fit(data))
    return ranker.fit(data)


every_ranker = pytest.mark.parametrize("name", sorted(CLASSES))
trained_ranker = pytest.mark.parametrize("name", sorted(set(CLASSES) - {"Calibrated"}))
# A ranker that reads texts ignores the columns of X; its own tests are in test_text_ranker.py.
by_features = pytest.mark.parametrize("name", sorted(set(CLASSES) - {"TextRanker"}))
trained_by_features = pytest.mark.parametrize("name", sorted(set(CLASSES) - {"Calibrated", "TextRanker"}))


@every_ranker
def test_same_seed_same_scores(name):
    data = lists(name)
    first, second = fitted(name, data).predict(data), fitted(name, data).predict(data)
    assert first.dtype == np.float64
    assert first.shape == (data.n_documents,)
    np.testing.assert_array_equal(first, second)


@every_ranker
def test_order_of_rows_does_not_matter(name):
    data = lists(name)
    mixed = np.random.default_rng(1).permutation(data.n_documents)
    ranker = fitted(name, data)
    scores = by_rows(name, ranker, data, np.arange(data.n_documents))
    again = by_rows(name, ranker, data, mixed)
    exact = 1e-4 if name == "TextRanker" else 1e-9  # it scores in single precision
    np.testing.assert_allclose(again, scores[mixed], rtol=exact, atol=exact)
    if name not in ("Calibrated", "TextRanker"):
        other = make(name).fit(data.X[mixed], data.y[mixed], qid=data.row_qid[mixed])
        quality = metric("ndcg")(other.predict(data), data.y, data.offsets).mean()
        assert quality == pytest.approx(metric("ndcg")(scores, data.y, data.offsets).mean(), abs=0.02)


@every_ranker
def test_load_gives_what_was_saved(name, tmp_path):
    data = lists(name)
    ranker = fitted(name, data)
    ranker.propensity_ = np.array([1.0, 0.5])
    ranker.save(tmp_path / "model")
    again = load(tmp_path / "model")
    if name == "TextRanker":
        again.set_params(documents=TEXTS, device="cpu")  # of this machine, so not in the file
    assert type(again) is type(ranker)
    assert repr(again) == repr(ranker)
    np.testing.assert_array_equal(again.predict(data), ranker.predict(data))
    np.testing.assert_array_equal(again.propensity_, ranker.propensity_)
    assert again.fingerprint_ == ranker.fingerprint_ == data.fingerprint()
    with zipfile.ZipFile(tmp_path / "model") as archive:
        about = json.loads(archive.read("manifest.json"))["about"]
    assert about["class"] == name
    assert about["versions"]["rankloop"]
    again.save(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "model").read_bytes()


@every_ranker
def test_learns_five_queries_exactly(name):
    data = lists(name, queries=5)
    scores = fitted(name, data).predict(data)
    assert metric("ndcg")(scores, data.y, data.offsets).mean() > 0.97


@every_ranker
def test_parameters_come_and_go(name):
    ranker = make(name)
    copy = clone(ranker)
    assert repr(copy) == repr(ranker)
    assert type(copy).__name__ == name
    assert not copy.__sklearn_is_fitted__()
    copy.set_params(**ranker.get_params(deep=False))
    with pytest.raises(ValueError, match="nonsense"):
        copy.set_params(nonsense=1)


@every_ranker
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_estimator_repr,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_set_params,
    ],
    ids=lambda check: check.__name__,
)
def test_checks_of_scikit_learn_without_data(name, check):
    check(name, make(name))


@trained_by_features
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_dict_unchanged,
        estimator_checks.check_estimators_overwrite_params,
        estimator_checks.check_fit_idempotent,
        estimator_checks.check_methods_sample_order_invariance,
        estimator_checks.check_n_features_in,
    ],
    ids=lambda check: check.__name__,
)
def test_checks_of_scikit_learn_on_one_list(name, check):
    if CLASSES[name]().needs_lists and check is estimator_checks.check_methods_sample_order_invariance:
        pytest.skip("a score depends on its list")

    class OneList(CLASSES[name]):
        __init__ = CLASSES[name].__init__

        def fit(self, X, y):
            return super().fit(X, np.abs(np.asarray(y, float)), qid=np.zeros(len(y), int))

        def predict(self, X):
            return super().predict(X, qid=np.zeros(len(X), int))

    check(name, OneList(**make(name).get_params(deep=False)))


@by_features
def test_other_features_are_refused(name):
    data = judged(features=3).replace(feature_names=["bm25", "pagerank", "length"])
    ranker = fitted(name, data)
    assert ranker.feature_names_in_.tolist() == ["bm25", "pagerank", "length"]
    with pytest.raises(ValueError, match="2 features but the ranker was trained on 3"):
        ranker.predict(data.X[:, :2], qid=data.row_qid)
    swapped = data.replace(X=data.X[:, [1, 0, 2]], feature_names=["pagerank", "bm25", "length"])
    with pytest.raises(ValueError, match="another order: column 0 is 'pagerank', was 'bm25'"):
        ranker.predict(swapped)
    with pytest.raises(ValueError, match="lacks the feature 'length'"):
        ranker.predict(data.replace(feature_names=["bm25", "pagerank", "len"]))


@every_ranker
def test_unfitted_rankers_say_so(name):
    with pytest.raises(NotFittedError, match=r"call fit first|got none"):
        make(name).predict(np.zeros((2, 5)), qid=[0, 0])


@by_features
def test_poor_lists_and_features_do_no_harm(name):
    """A constant feature, a missing one, missing values, lists of one document and of equal labels."""
    data = judged()
    rng = np.random.default_rng(2)
    X = data.X.copy()
    X[rng.random(X.shape) < 0.2] = np.nan
    X = np.column_stack((X, np.full(len(X), 3.0), np.full(len(X), np.nan))).astype(np.float32)
    qid = data.row_qid.copy()
    qid[:4] = [100, 101, 102, 103]
    y = data.y.copy()
    y[qid == 3] = 1.0
    poor = RankingDataset(X, y, qid)
    scores = fitted(name, poor).predict(poor)
    assert np.isfinite(scores).all()
    assert np.nanmean(metric("ndcg")(scores, poor.y, poor.offsets)) > 0.7


@trained_ranker
def test_labels_without_an_order_are_refused_or_harmless(name):
    data = lists(name).replace(y=np.ones(96))
    try:
        scores = make(name).fit(data).predict(data)
    except ValueError as error:
        assert "no order to learn" in str(error)  # noqa: PT017
    else:
        assert np.isfinite(scores).all()


@trained_ranker
def test_a_field_that_would_be_ignored_is_refused(name):
    data = lists(name)
    honoured = CLASSES["RankSVM" if name in ("Ensemble", "Fusion") else name]._honours  # that of its parts
    for field, value in {"position": np.ones(96, int), "pairs": Pairs([1], [0])}.items():
        with_field = data.replace(**{field: value})
        if field in honoured:
            continue
        with pytest.raises(ValueError, match=rf"would ignore the {field}.*replace\({field}=None\)"):
            make(name).fit(with_field)


@trained_by_features
def test_queries_weigh_what_they_weigh(name):
    """Half of the queries prefer a high feature, half a low one: the heavier half wins."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(160, 1)).astype(np.float32)
    side = np.repeat(np.arange(20) % 2, 8)
    data = RankingDataset.from_groups(X, (X[:, 0] * (2 * side - 1) > 0).astype(int), [8] * 20)
    for heavy in (0, 1):
        weighed = data.replace(query_weight=np.where(np.arange(20) % 2 == heavy, 10.0, 0.1))
        scores = make(name).fit(weighed).predict(X, qid=np.zeros(160))
        assert np.sign(np.corrcoef(scores, X[:, 0])[0, 1]) == 2 * heavy - 1


@every_ranker
def test_validation_sets_are_recorded(name):
    train, valid = lists(name, seed=4), lists(name, seed=5)
    ranker = make(name)
    if name == "Calibrated":
        ranker.set_params(ranker=rankers.RankSVM().fit(train))
    ranker.fit(train, valid)
    assert ranker.metrics_["valid"]["ndcg@10"] > 0.7
