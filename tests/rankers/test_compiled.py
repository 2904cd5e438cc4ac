"""The compiled forest against LightGBM itself, and against a walk in plain Python."""

import math

import lightgbm
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.rankers import Forest, compile_forest
from rankloop.rankers.trees.compile_forest import read_trees
from rankloop.rankers.trees.lightgbm_trees import read_lightgbm
from rankloop.rankers.trees.packing import pack
from rankloop.rankers.trees.trees import CATEGORY, LEFT, NAN, ZERO, Trees

BATCHES = (0, 1, 4, 5, 8, 9, 13, 16, 17, 64, 65, 80, 200)


def naive(trees, x):
    """The score of one document, node by node."""
    total, node0, leaf0 = 0.0, 0, 0
    for nodes in trees.nodes:
        at = 0 if nodes else ~0
        while at >= 0:
            at = (trees.left if goes_left(trees, node0 + at, x) else trees.right)[node0 + at]
        total += trees.value[leaf0 + ~at]
        node0, leaf0 = node0 + nodes, leaf0 + nodes + 1
    return total / trees.divisor + trees.bias


def goes_left(trees, node, x):
    value, rule = float(x[trees.feature[node]]), trees.rule[node]
    if abs(value) <= trees.zero:
        value = 0.0
    if rule & CATEGORY and math.isnan(value):
        return bool(rule & LEFT)
    if rule & CATEGORY:
        return math.isfinite(value) and value > -1 and int(value) in trees.sets[int(trees.threshold[node])]
    if math.isnan(value) and not rule & NAN:
        value = 0.0
    if (rule & NAN and math.isnan(value)) or (rule & ZERO and value == 0.0):
        return bool(rule & LEFT)
    return value <= trees.threshold[node]


@st.composite
def forests(draw):
    """Trees of up to nine leaves over three features, with every rule and thresholds that values meet."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns = {name: [] for name in ("feature", "threshold", "rule", "left", "right", "value")}
    sets, nodes = [], draw(st.lists(st.integers(0, 8), min_size=1, max_size=12))
    for count in nodes:
        left, right = np.zeros((2, count), np.int64)
        open_ends = [(0, None)]
        children = {}
        for node in range(count):
            parent, side = open_ends.pop(rng.integers(len(open_ends)))
            if side is not None:
                children[parent, side] = node
            open_ends += [(node, "left"), (node, "right")]
        for leaf, (parent, side) in enumerate(open_ends if count else []):
            children[parent, side] = ~leaf
        for (parent, side), child in children.items():
            (left if side == "left" else right)[parent] = child
        for _ in range(count):
            rule = rng.choice([0, LEFT, NAN, NAN | LEFT, ZERO, ZERO | LEFT, CATEGORY, CATEGORY | LEFT])
            columns["rule"].append(rule)
            columns["feature"].append(rng.integers(3))
            columns["threshold"].append(len(sets) if rule & CATEGORY else rng.integers(-3, 4) / 2)
            if rule & CATEGORY:
                sets.append(np.flatnonzero(rng.random(6) < 0.4))
        columns["left"].extend(left)
        columns["right"].extend(right)
        columns["value"].extend(rng.normal(size=count + 1))
    kinds = {"threshold": float, "value": float}
    return Trees(
        **{name: np.array(found, kinds.get(name, np.int64)) for name, found in columns.items()},
        nodes=np.array(nodes),
        n_features=3,
        sets=sets,
        zero=draw(st.sampled_from([0.0, 1e-35])),
        bias=draw(st.sampled_from([0.0, 0.5])),
        divisor=draw(st.sampled_from([1.0, 7.0])),
    )


odd_values = st.sampled_from(
    [-2.0, -1.5, -1.0, -0.5, 0.0, -0.0, 1e-40, 0.5, 1.0, 2.0, 5.0, 9.0, math.nan, math.inf]
)


@given(forests(), st.lists(st.tuples(odd_values, odd_values, odd_values), min_size=1, max_size=70))
def test_packed_trees_score_as_a_walk_does(trees, rows):
    X = np.array(rows)
    forest = Forest.from_arrays(pack(trees))
    np.testing.assert_array_equal(forest.score(X), [naive(trees, x) for x in X])
    np.testing.assert_array_equal(
        forest.score(X.astype(np.float32)), [naive(trees, x) for x in np.float32(X)]
    )


def test_one_tree_by_hand():
    """x0 <= 1.5 ? 10 : (x1 <= 0 or missing ? 20 : 30)."""
    trees = Trees(
        feature=np.array([0, 1]),
        threshold=np.array([1.5, 0.0]),
        rule=np.array([NAN, NAN | LEFT]),
        left=np.array([~0, ~1]),
        right=np.array([1, ~2]),
        value=np.array([10.0, 20.0, 30.0]),
        nodes=np.array([2]),
        n_features=2,
    )
    X = [[1.5, 9], [1.6, 0], [1.6, 0.1], [np.nan, np.nan]]
    np.testing.assert_array_equal(Forest.from_arrays(pack(trees)).score(X), [10, 20, 30, 20])


def data(rows=600, features=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1])
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 2] = rng.integers(0, 40, rows)
    y = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + (X[:, 2] % 3) + rng.normal(size=rows)
    return X, y


def train(X, y, rounds=25, categories="auto", **parameters):
    fixed = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 3, "num_leaves": 20}
    return lightgbm.train(fixed | parameters, lightgbm.Dataset(X, y, categorical_feature=categories), rounds)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"zero_as_missing": True},
        {"use_missing": False},
        {"categories": [2], "min_data_per_group": 1, "cat_smooth": 1.0},
        {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5},
        {"boosting": "dart"},
        {"max_bin": 1000, "num_leaves": 300, "min_data_in_leaf": 1},
        {"num_leaves": 256, "min_data_in_leaf": 1},
        {"extra_trees": True},
    ],
    ids=str,
)
def test_lightgbm_to_the_last_bit(parameters):
    X, y = data()
    booster = train(X, y, **parameters)
    forest = compile_forest(booster.model_to_string())
    rng = np.random.default_rng(1)
    odd = rng.choice([0.0, -0.0, 1e-36, -1e-36, 1e-30, np.nan, np.inf, -np.inf, -0.5, 1e20, 39.9], X.shape)
    for rows in (X, X.astype(np.float64), np.where(rng.random(X.shape) < 0.3, odd, X), np.asfortranarray(X)):
        wanted = booster.predict(rows, num_threads=1)
        for n in BATCHES:
            np.testing.assert_array_equal(forest.score(rows[:n]), wanted[:n])


def test_xgboost_to_single_precision():
    xgboost = pytest.importorskip("xgboost")
    X, y = data()
    rows = xgboost.DMatrix(X, y - y.min(), nthread=1)
    booster = xgboost.train({"max_depth": 5, "nthread": 1}, rows, 40)
    forest = compile_forest(booster.save_raw("json").decode())
    np.testing.assert_allclose(
        forest.score(X), booster.predict(rows, output_margin=True), rtol=1e-5, atol=1e-5
    )
    cuts = np.unique(read_trees(booster.save_raw("json").decode()).threshold)
    for near in (cuts, cuts * (1 + 1e-9), np.nextafter(np.float32(cuts), np.float32(9)), cuts + 1e-9):
        odd = np.repeat(near[:, None], 6, axis=1).astype(np.float64)
        wanted = booster.predict(xgboost.DMatrix(odd, nthread=1), output_margin=True)
        np.testing.assert_allclose(forest.score(odd), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("onehot", [1, 100])
def test_categories_of_xgboost(onehot):
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.integers(0, 40, 800), rng.integers(0, 3, 800), rng.normal(size=800)))
    X[::17, 0] = np.nan
    y = np.sin(np.nan_to_num(X[:, 0]) * 7) + X[:, 1] * X[:, 2]
    kinds = {"feature_types": ["c", "c", "q"], "enable_categorical": True, "nthread": 1}
    settings = {"max_depth": 5, "nthread": 1, "max_cat_to_onehot": onehot, "max_cat_threshold": 64}
    booster = xgboost.train(settings, xgboost.DMatrix(X, y, **kinds), 20)
    text = booster.save_raw("json").decode()
    assert (read_trees(text).rule & CATEGORY).any()
    unknown = np.column_stack(([77.0, np.nan, 5.0], [50.0, 1.0, np.nan], [np.nan, 0.0, 1.0]))
    for rows in (X, unknown):
        wanted = booster.predict(xgboost.DMatrix(rows, **kinds), output_margin=True)
        np.testing.assert_allclose(compile_forest(text).score(rows), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("grow", ["SymmetricTree", "Lossguide", "Depthwise"])
@pytest.mark.parametrize("missing", ["Min", "Max"])
def test_catboost_to_the_last_bit(grow, missing, tmp_path):
    catboost = pytest.importorskip("catboost")
    X, y = data()
    settings = {"iterations": 20, "depth": 4, "grow_policy": grow, "nan_mode": missing, "thread_count": 1}
    model = catboost.CatBoost(settings | {"verbose": 0, "allow_writing_files": False}).fit(X, y)
    model.save_model(str(tmp_path / "model.json"), format="json")
    forest = compile_forest((tmp_path / "model.json").read_text())
    cuts = np.unique(read_trees((tmp_path / "model.json").read_text()).threshold)
    near = np.repeat(cuts[:, None] * [1, 1 + 1e-9, 1 - 1e-9, 1 + 1e-6, 1 - 1e-6], 6, axis=1)[:, ::5]
    for rows in (X, near):
        np.testing.assert_array_equal(forest.score(rows), model.predict(rows))


def test_trees_that_did_not_grow():
    X, y = data()
    booster = train(X, y, rounds=3, min_data_in_leaf=400)
    forest = compile_forest(booster.model_to_string())
    np.testing.assert_array_equal(forest.score(X), booster.predict(X))


@pytest.mark.parametrize("bins", [1, 1000, 1 << 16])
def test_any_number_of_rows_in_any_number_of_blocks(bins, monkeypatch):
    """Blocks go through a tree together, a last few rows walk: nobody can tell from the scores."""
    X, y = data(rows=300)
    booster = lightgbm.train({"verbose": -1, "num_leaves": 20, "num_threads": 1}, lightgbm.Dataset(X, y), 15)
    forest = compile_forest(booster.model_to_string())
    wanted = booster.predict(X, num_threads=1)
    monkeypatch.setattr("rankloop.rankers.trees.forest._BINS", bins)
    for rows in (*range(1, 30), 63, 64, 65, 80, 81, 127, 128, 129, 192, 210, 255, 299, 300):
        np.testing.assert_array_equal(forest.score(X[:rows]), wanted[:rows])
        np.testing.assert_array_equal(forest.score(X[-rows:]), wanted[-rows:])


def test_many_rows_in_threads():
    X, y = data()
    booster = train(X, y)
    forest = compile_forest(booster.model_to_string())
    many = np.tile(X, (10, 1))
    many.flags.writeable = False
    np.testing.assert_array_equal(forest.score(many, threads=3), booster.predict(many))


def test_arrays_bring_a_forest_back():
    X, y = data()
    forest = compile_forest(train(X, y).model_to_string())
    again = Forest.from_arrays(forest.arrays())
    np.testing.assert_array_equal(again.score(X), forest.score(X))
    assert repr(again) == "Forest(25 trees, 500 leaves, 6 features)"


@pytest.mark.parametrize(
    ("name", "at", "value"),
    [
        ("words", 0, -1),
        ("words", 0, 0),  # a child that is its own parent
        ("words", 3, 255 | 1 << 31 | 40 << 32 | 41 << 48),  # a column that is not there
        ("words", 3, 255 | 40 << 32 | 4000 << 48),  # a child that is not there
        ("words", 30, 255 | 31 << 32 | 31 << 48),  # a leaf that leads on
        ("trees", (1, 0), 7),
        ("trees", (1, 1), 10**6),
        ("trees", (1, 2), -1),
        ("columns", (0, 0), 6),
        ("columns", (0, 1), 10**6),
        ("columns", (0, 2), 1 << 20),
        ("columns", (0, 2), 3),
        ("constants", 0, 1.0),
    ],
)
def test_damaged_arrays_are_refused(name, at, value):
    X, y = data()
    arrays = {key: one.copy() for key, one in compile_forest(train(X, y).model_to_string()).arrays().items()}
    arrays[name][at] = value
    with pytest.raises(ValueError, match="not those of a compiled forest; compile or save it again"):
        Forest.from_arrays(arrays)
    arrays[name] = arrays[name][:-1]
    with pytest.raises(ValueError, match="not those of a compiled forest"):
        Forest.from_arrays(arrays)


def test_only_the_best_trees_are_kept():
    X, y = data()
    booster = train(X, y)
    booster.best_iteration = 7
    assert compile_forest(booster.model_to_string()).n_trees == 7


def test_bad_input():
    X, y = data()
    text = train(X, y).model_to_string()
    with pytest.raises(ValueError, match=r"6 features, got shape \(600, 5\)"):
        compile_forest(text).score(X[:, :5])
    with pytest.raises(ValueError, match="no trees or is cut short"):
        compile_forest(text[: len(text) // 2])
    with pytest.raises(ValueError, match="wanted the text of"):
        compile_forest("hello")
    with pytest.raises(ValueError, match="cut short"):
        compile_forest('{"learner": ')
    with pytest.raises(ValueError, match="XGBoost or CatBoost model, got one with a"):
        compile_forest('{"a": 1}')
    with pytest.raises(ValueError, match="one"):
        compile_forest(train(X, y > 0, objective="multiclass", num_class=3).model_to_string())
    X = np.nan_to_num(X)
    with pytest.raises(ValueError, match="linear_tree=False"):
        compile_forest(train(X, y, linear_tree=True).model_to_string())
    damaged = text.replace("left_child=", "left_child=1 ", 1)
    with pytest.raises(ValueError, match="damaged"):
        compile_forest(damaged)
    trees = read_lightgbm(text)
    trees.left[:] = 0
    with pytest.raises(ValueError, match="damaged"):
        pack(trees)
