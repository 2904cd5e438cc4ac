"""Models for search engines, evaluated with each engine's own arithmetic, give the ranker's scores."""

import json
import warnings
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankloop.data import RankingDataset, synthetic
from rankloop.rankers import (
    FeatureSum,
    LambdaMART,
    LinearRanker,
    NeuralRanker,
    RankBoost,
    compile_forest,
    to_elasticsearch,
    to_opensearch,
    to_ranklib,
    to_solr,
    to_vespa,
)
from rankloop.rankers.export.model_text import model_text
from rankloop.rankers.export.to_solr import without_slack
from rankloop.rankers.trees.compile_forest import read_trees

NAMES = ["title_bm25", "price", "bm25(body)", 'odd "name"', "last"]
f32 = np.float32


# Evaluators: what each engine does with the text it is given, for one row of float32.


def opensearch_score(text, x):
    """Float32; missing to its side, else left iff threshold > value; a sum in float32."""
    model = json.loads(text)["model"]["model"]
    values = dict(zip(NAMES, x, strict=False))
    total = f32(0)
    if model["type"] == "model/linear":
        for name, weight in json.loads(model["definition"]).items():
            value = f32(0) if np.isnan(values[name]) else values[name]
            norm = model.get("feature_normalizers", {}).get(name)
            if norm is not None:
                value = (value - f32(norm["standard"]["mean"])) / f32(norm["standard"]["standard_deviation"])
            total = f32(total + f32(weight) * value)
        return total
    if model["type"] == "model/ranklib":
        return ranklib_score(model["definition"], x)
    for node in json.loads(model["definition"]):
        while "leaf" not in node:
            assert [child["nodeid"] for child in node["children"]] == [node["yes"], node["no"]]
            value, threshold = values[node["split"]], f32(node["split_condition"])
            if np.isnan(value):
                left = node["missing"] == node["yes"]
            else:
                left = threshold > value
            node = node["children"][0 if left else 1]
        total = f32(total + f32(node["leaf"]))
    return total


def elasticsearch_score(text, x):
    """Float64; a missing or infinite value to its side, else left iff value <= threshold."""
    ensemble = json.loads(text)["definition"]["trained_model"]["ensemble"]
    assert ensemble["aggregate_output"] == {"weighted_sum": {}}
    total = 0.0
    for one in ensemble["trained_models"]:
        nodes = one["tree"]["tree_structure"]
        assert [node["node_index"] for node in nodes] == list(range(len(nodes)))
        node = nodes[0]
        while "leaf_value" not in node:
            assert node["decision_type"] == "lte"
            value = float(x[node["split_feature"]])
            left = value <= node["threshold"] if np.isfinite(value) else node["default_left"]
            node = nodes[node["left_child" if left else "right_child"]]
        total += node["leaf_value"]
    return total


def solr_score(text, x):
    """Float32; 1e-6 is added to each threshold, then left iff value <= threshold; missing is 0 by default."""
    model = json.loads(text)
    kind, params = model["class"].rpartition(".")[2], model["params"]
    null_is_zero = params.get("isNullSameAsZero", True)
    values = {}
    for feature, value in zip(model["features"], x, strict=True):
        value = f32(0) if np.isnan(value) and null_is_zero else value
        norm = feature.get("norm")
        if norm is not None:
            value = (value - f32(norm["params"]["avg"])) / f32(norm["params"]["std"])
        values[feature["name"]] = value
    if kind == "LinearModel":
        total = f32(0)
        for name, weight in params["weights"].items():
            total = f32(total + f32(weight) * values[name])
        return total
    if kind == "NeuralNetworkModel":
        row = np.array(list(values.values()), f32)
        for layer in params["layers"]:
            row = np.array(layer["matrix"], f32) @ row + np.array(layer["bias"], f32)
            row = {"relu": lambda z: np.maximum(z, 0), "tanh": np.tanh, "identity": lambda z: z}[
                layer["activation"]
            ](row)
        (score,) = row
        return score
    total = f32(0)
    for tree in params["trees"]:
        node = tree["root"]
        while "value" not in node:
            value, threshold = values[node["feature"]], f32(f32(node["threshold"]) + f32(1e-6))
            left = node["missing"] == "left" if np.isnan(value) else value <= threshold
            node = node["left" if left else "right"]
        total = f32(total + f32(tree["weight"]) * f32(node["value"]))
    return total


def vespa_score(text, x):
    """Float64; left iff value < threshold, or not value >= threshold where missing values go left."""
    model = json.loads(text)
    assert model["pandas_categorical"] == []
    total = 0.0
    for tree in model["tree_info"]:
        node = tree["tree_structure"]
        while "leaf_value" not in node:
            value = float(x[node["split_feature"]])
            threshold = node["threshold"]
            left = not value >= threshold if node["default_left"] else value < threshold
            node = node["left_child" if left else "right_child"]
        total += node["leaf_value"]
    return total


def ranklib_score(text, x):
    """Float32; missing is 0, left iff value <= threshold. Lines are stripped and joined before parsing."""
    lines = [line.strip() for line in text.splitlines()]
    body = "".join(line for line in lines if line and not line.startswith("##"))
    x = np.where(np.isnan(x), f32(0), x)
    if not body.startswith("<"):
        pairs = [pair.split(":") for pair in body.split(" ")]
        return sum(float(weight) * float(x[int(feature) - 1]) for feature, weight in pairs)
    total = f32(0)
    for tree in ElementTree.fromstring(body):
        node = tree[0]
        while node[0].tag == "feature":
            left = x[int(node[0].text) - 1] <= f32(node[1].text)
            node = node[2] if left else node[3]
        total = f32(total + f32(node[0].text) * f32(tree.get("weight")))
    return total


def as_opensearch(model):
    return to_opensearch(model, features=features_of(model))


def as_elasticsearch(model):
    return to_elasticsearch(model, features=features_of(model))


def as_solr(model):
    return to_solr(model, features=features_of(model))


def as_vespa(model):
    return to_vespa(model, features=features_of(model))


def features_of(model):
    return NAMES[: read_trees(model).n_features if isinstance(model, str) else model.n_features_in_]


TARGETS = {
    "opensearch": (as_opensearch, opensearch_score),
    "elasticsearch": (as_elasticsearch, elasticsearch_score),
    "solr": (as_solr, solr_score),
    "vespa": (as_vespa, vespa_score),
}


def edges(trees):
    """Rows that lie on the thresholds and their float32 neighbours, beside zeros and missing values."""
    near = trees.threshold.astype(f32)
    ups, downs = np.nextafter(near, f32(np.inf)), np.nextafter(near, f32(-np.inf))
    values = np.unique(np.concatenate((near, ups, downs, [f32(0)])))
    values = values[(np.abs(values) > 1e-34) | (values == 0)]  # LightGBM takes smaller ones for 0
    rows = np.repeat(values[:, None], trees.n_features, axis=1)
    rng = np.random.default_rng(0)
    mixed = rng.permuted(rows, axis=0)
    holes = np.where(rng.random(mixed.shape) < 0.3, f32(np.nan), mixed)
    return np.concatenate((rows, mixed, holes, np.full((1, trees.n_features), np.nan, f32))).astype(f32)


@pytest.fixture(scope="module", params=["rankloop", "lightgbm", "xgboost", "catboost"])
def forest(request):
    pytest.importorskip(request.param)
    data = synthetic(n_queries=30, docs_per_query=12, n_features=5, seed=0)
    X = data.X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return LambdaMART(trees=12, leaves=8, threads=1, backend=request.param).fit(data.replace(X=X))


@pytest.mark.parametrize("target", TARGETS)
def test_forests_of_each_library_at_their_thresholds(forest, target):
    written, evaluated = TARGETS[target]
    text = written(forest)
    rows = edges(read_trees(model_text(forest)))
    scores = [float(evaluated(text, x)) for x in rows]
    np.testing.assert_allclose(scores, forest.predict(rows), rtol=2e-6, atol=2e-6)


def test_ranklib_takes_missing_for_zero(forest):
    with pytest.raises(ValueError, match=r"RankLib takes a missing feature for 0, .* pass complete=True"):
        to_ranklib(forest)
    text = to_ranklib(forest, complete=True)
    rows = edges(read_trees(model_text(forest)))
    rows = rows[~np.isnan(rows).any(axis=1)]
    np.testing.assert_allclose(
        [float(ranklib_score(text, x)) for x in rows], forest.predict(rows), rtol=2e-6, atol=2e-6
    )
    wrapped = to_opensearch(forest, features=NAMES, form="ranklib", complete=True)
    assert opensearch_score(wrapped, rows[0]) == ranklib_score(text, rows[0])


# Random trees as LightGBM text; leaves are whole numbers, so that sums are exact in float32 and two scores
# are equal only if all decisions are.

THRESHOLDS = st.one_of(
    st.floats(-1e3, 1e3).filter(lambda t: abs(t) > 1e-34),
    st.floats(-3e38, 3e38).filter(lambda t: abs(t) > 1e-34),
    st.sampled_from([0.0, -0.0, 1.0000000180025095e-35, 0.1, 0.5, 1e-3, 33.0]),
    st.floats(-1e3, 1e3, width=32).filter(lambda t: abs(t) > 1e-34),
)
MISSING_NONE, MISSING_NAN = 0, 2


@st.composite
def forests(draw, thresholds=THRESHOLDS, missing=(MISSING_NONE, MISSING_NAN)):
    """The text of a LightGBM model with random trees of up to six leaves."""
    parts = []
    for number in range(draw(st.integers(1, 4))):
        nodes = draw(st.integers(0, 5))
        left, right, spare = [None] * nodes, [None] * nodes, []
        for node in range(nodes):
            if node:
                side, parent = spare.pop(draw(st.integers(0, len(spare) - 1)))
                side[parent] = node
            spare += [(left, node), (right, node)]
        for leaf, (side, parent) in enumerate(spare):
            side[parent] = ~leaf
        columns = {
            "num_leaves": [nodes + 1],
            "num_cat": [0],
            "split_feature": [draw(st.integers(0, 2)) for _ in range(nodes)],
            "threshold": [repr(draw(thresholds)) for _ in range(nodes)],
            "decision_type": [
                draw(st.sampled_from(missing)) << 2 | draw(st.booleans()) << 1 for _ in range(nodes)
            ],
            "left_child": left,
            "right_child": right,
            "leaf_value": [draw(st.integers(-9999, 9999)) for _ in range(nodes + 1)],
        }
        lines = [f"{name}={' '.join(map(str, values))}" for name, values in columns.items()]
        parts.append(f"\nTree={number}\n" + "\n".join(lines) + "\n")
    head = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=2\n"
    return head + "".join(parts) + "\nend of trees\n"


@pytest.mark.parametrize("target", ["opensearch", "elasticsearch", "vespa"])
@given(text=forests())
@settings(max_examples=60, deadline=None)
def test_every_decision_is_the_same(target, text):
    written, evaluated = TARGETS[target]
    rows = edges(read_trees(text))
    rows = rows[~np.isinf(rows).any(axis=1)]
    made = written(text)
    assert [float(evaluated(made, x)) for x in rows] == compile_forest(text).score(rows).tolist()


@given(text=forests())
@settings(max_examples=60, deadline=None)
def test_every_decision_is_the_same_in_ranklib(text):
    rows = edges(read_trees(text))
    rows = rows[np.isfinite(rows).all(axis=1)]
    made = to_ranklib(text, complete=True)
    assert [float(ranklib_score(made, x)) for x in rows] == compile_forest(text).score(rows).tolist()


AWAY_FROM_ZERO = st.one_of(
    st.floats(0.01, 1e6),
    st.floats(-1e6, -0.01),
    st.sampled_from([0.0, 1.0000000180025095e-35, 0.1, 31.999, 32.0, 33.0]),
)


@given(text=forests(AWAY_FROM_ZERO))
@settings(max_examples=60, deadline=None)
def test_every_decision_is_the_same_in_solr(text):
    """Solr's slack of 1e-6 is taken off exactly, away from 0."""
    rows = edges(read_trees(text))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = as_solr(text)
    if not told:
        assert [float(solr_score(made, x)) for x in rows] == compile_forest(text).score(rows).tolist()
    assert not [warning for warning in told if "cannot be written exactly" not in str(warning.message)]


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@example(wanted=float(np.finfo(np.float32).max))
@example(wanted=float(np.finfo(np.float32).min))
@settings(max_examples=300)
def test_the_slack_is_taken_off(wanted):
    """A search over many more neighbours finds no number that comes closer from below."""
    wanted = f32(wanted)
    (found,), (got,) = without_slack(np.array([wanted]))
    assert got == f32(found + f32(1e-6))
    assert got <= wanted
    best = -np.inf
    for way in (-np.inf, np.inf):
        other = wanted - f32(1e-6)
        for _ in range(40):
            sum_there = f32(other + f32(1e-6))
            best = max(best, sum_there) if sum_there <= wanted else best
            with np.errstate(over="ignore"):
                other = np.nextafter(other, f32(way))
    assert got == best


@pytest.mark.parametrize(
    ("threshold", "gap", "left", "right"),
    [
        (1e-9, "2e-14|[0-9]e-14", [0.0, 9e-10], [1.1e-9]),
        (-1.0000000180025095e-35, "1e-13", [-1e-9], [0.0, 1e-9]),  # LightGBM's "below 0"
    ],
)
def test_thresholds_near_zero_are_told(threshold, gap, left, right):
    text = "tree\nnum_tree_per_iteration=1\nmax_feature_idx=0\n\nTree=0\nnum_leaves=2\nnum_cat=0\n"
    text += f"split_feature=0\nthreshold={threshold}\ndecision_type=2\nleft_child=-1\nright_child=-2\n"
    text += "leaf_value=1 2\n\nend of trees\n"
    with pytest.warns(
        UserWarning, match=rf"1 thresholds cannot be written exactly, .* less than ({gap}) below"
    ):
        made = to_solr(text, features=["a"])
    for values, score in ((left, 1), (right, 2)):
        assert [solr_score(made, np.array([x], f32)) for x in values] == [score] * len(values)
        assert compile_forest(text).score(np.array(values, f32)[:, None]).tolist() == [score] * len(values)


def test_a_hand_made_tree():
    """x <= 0.1 in float64: the float32 nearest to 0.1 is above it, so it goes right in every engine."""
    text = "tree\nnum_tree_per_iteration=1\nmax_feature_idx=0\n\nTree=0\nnum_leaves=2\nnum_cat=0\n"
    text += "split_feature=0\nthreshold=0.1\ndecision_type=2\nleft_child=-1\nright_child=-2\n"
    text += "leaf_value=1 2\n\nend of trees\n"
    assert float(f32(0.1)) > 0.1
    for written, evaluated in TARGETS.values():
        made = written(text)
        row = np.array([0.1], f32)
        assert [float(evaluated(made, x)) for x in (np.nextafter(row, f32(0)), row)] == [1.0, 2.0]
    body = json.loads(to_elasticsearch(text, features=["a"]))
    (tree,) = body["definition"]["trained_model"]["ensemble"]["trained_models"]
    assert tree["tree"]["tree_structure"][0]["threshold"] == 0.1


@given(text=forests(missing=(0, 1, 2)))
@settings(max_examples=60, deadline=None)
def test_zeros_as_missing_are_the_same_or_refused(text):
    rows = edges(read_trees(text))
    rows = rows[np.isfinite(rows).all(axis=1) | np.isnan(rows).all(axis=1)]
    try:
        made = as_vespa(text)
    except ValueError:
        with pytest.raises(ValueError, match="cannot send zeros where missing values go"):
            as_vespa(text)
        return
    assert [float(vespa_score(made, x)) for x in rows] == compile_forest(text).score(rows).tolist()


def test_a_deep_tree():
    """A chain of nodes: deeper than Python calls itself, and than OpenSearch reads."""
    text = chain(1500)
    rows = np.array([[-5.0], [700.5], [1e6], [np.nan]], f32)
    wanted = compile_forest(text).score(rows).tolist()
    flat = to_elasticsearch(text, features=["a"])
    assert [elasticsearch_score(flat, x) for x in rows] == wanted
    assert to_solr(text, features=["a"], complete=True).count("threshold") == 1500
    with pytest.raises(ValueError, match="a tree is 1500 nodes deep, and OpenSearch reads at most 490"):
        to_opensearch(text, features=["a"])
    assert to_opensearch(chain(490), features=["a"])


def chain(nodes):
    columns = {
        "num_leaves": [nodes + 1],
        "num_cat": [0],
        "split_feature": [0] * nodes,
        "threshold": range(nodes),
        "decision_type": [10] * nodes,
        "left_child": [~leaf for leaf in range(nodes)],
        "right_child": [*range(1, nodes), ~nodes],
        "leaf_value": range(nodes + 1),
    }
    lines = "\n".join(f"{name}={' '.join(map(str, values))}" for name, values in columns.items())
    return f"tree\nnum_tree_per_iteration=1\nmax_feature_idx=0\n\nTree=0\n{lines}\n\nend of trees\n"


def test_weighted_sums():
    data = synthetic(n_queries=20, docs_per_query=10, n_features=5, seed=1)
    data = data.replace(X=data.X + 3, feature_names=NAMES)
    ranker = LinearRanker(loss="ranknet").fit(data)
    with pytest.raises(ValueError, match="missing feature counts as its mean, in OpenSearch as 0"):
        to_opensearch(ranker)
    wanted = ranker.predict(data)
    for made, evaluated in (
        (to_opensearch(ranker, complete=True), opensearch_score),
        (to_solr(ranker, complete=True), solr_score),
    ):
        scores = [float(evaluated(made, x)) for x in data.X]
        np.testing.assert_allclose(scores, wanted - ranker.intercept_, rtol=1e-4, atol=1e-4)
    scores = np.array([ranklib_score(to_ranklib(ranker, complete=True), x) for x in data.X])
    shift = scores - wanted
    np.testing.assert_allclose(shift, shift[0], atol=1e-9)
    for refused in (to_elasticsearch, to_vespa):
        with pytest.raises(ValueError, match="has no model for LinearRanker; export"):
            refused(ranker)


def test_a_sum_of_features_needs_no_word_about_missing_values():
    ranker = FeatureSum({"price": 2.0}, features=["title_bm25", "price"])
    for made, evaluated in ((to_opensearch(ranker), opensearch_score), (to_solr(ranker), solr_score)):
        assert [evaluated(made, np.array([9, x], f32)) for x in (3.0, np.nan)] == [6, 0]


@pytest.mark.parametrize("options", [{"activation": "relu"}, {"activation": "tanh"}, {"hidden": ()}], ids=str)
@pytest.mark.parametrize("transform", [None, "standard"])
def test_networks_in_solr(options, transform):
    pytest.importorskip("torch")
    data = synthetic(n_queries=10, docs_per_query=8, n_features=5, seed=1).replace(feature_names=NAMES)
    X = data.X.copy()
    X[:, 2] = 7.0  # a constant feature
    data = data.replace(X=X)
    settings = {"hidden": (6, 4), "epochs": 2, "feature_transform": transform} | options
    ranker = NeuralRanker(seed=0, **settings).fit(data)
    if transform == "standard":
        with pytest.raises(ValueError, match="counts as its mean, in Solr as 0"):
            to_solr(ranker)
    text = to_solr(ranker, complete=True)
    scores = [float(solr_score(text, x)) for x in data.X[:20]]
    np.testing.assert_allclose(scores, ranker.predict(data)[:20], rtol=1e-4, atol=1e-5)


def test_what_solr_cannot_compute_of_a_network():
    pytest.importorskip("torch")
    data = synthetic(n_queries=10, docs_per_query=8, n_features=3, seed=1)
    for options, reason in (
        ({}, "cannot compute feature_transform='log1p'"),
        ({"scorer": "gam"}, "plain layers, not 'gam'"),
        ({"activation": "gelu"}, "no activation 'gelu'"),
    ):
        ranker = NeuralRanker(hidden=(4,), epochs=1, **options).fit(data)
        with pytest.raises(ValueError, match=reason):
            to_solr(ranker, features=NAMES[:3])


def test_what_no_engine_can_say():
    rng = np.random.default_rng(0)
    X = np.column_stack((rng.integers(0, 5, 300), rng.normal(size=300))).astype(f32)
    data = RankingDataset(X, (X[:, 0] == 2).astype(f32), np.arange(300) // 20, feature_names=["a", "b"])
    loose = {"min_data_per_group": 1, "cat_smooth": 1.0, "min_data_in_leaf": 1}
    codes = LambdaMART(trees=5, leaves=4, threads=1, categorical=[0], params=loose).fit(data)
    lines = LambdaMART(trees=3, leaves=4, threads=1, loss="squared", params={"linear_tree": True}).fit(data)
    for export in (to_opensearch, to_elasticsearch, to_solr, to_vespa, to_ranklib):
        with pytest.raises(ValueError, match="no sets of categories"):
            export(codes)
        with pytest.raises(ValueError, match="cannot compute linear leaves"):
            export(lines)
        with pytest.raises(ValueError, match="has no model for RankBoost"):
            export(RankBoost(iterations=2).fit(data))


def test_names_of_features(forest):
    for export in (to_opensearch, to_elasticsearch, to_solr, to_vespa):
        with pytest.raises(ValueError, match=r"trained without names; pass features=\[...\], .* 5 columns"):
            export(model_text(forest))
        with pytest.raises(ValueError, match="features needs 5 names, one per column, got 2"):
            export(forest, features=["a", "b"])
        with pytest.raises(ValueError, match="two features are named 'a'"):
            export(forest, features=["a", "a", "b", "c", "d"])


def test_queries_of_elasticsearch_features():
    model = chain(2)
    query = {"match": {"title": "{{query}}"}}
    body = json.loads(to_elasticsearch(model, features=["a"], extractors={"a": query}))
    assert body["inference_config"] == {
        "learning_to_rank": {
            "feature_extractors": [{"query_extractor": {"feature_name": "a", "query": query}}]
        }
    }
    with pytest.raises(ValueError, match="without a query: a; not a feature: b"):
        to_elasticsearch(model, features=["a"], extractors={"b": query})


def test_a_large_model_of_solr_gets_a_wrapper(tmp_path):
    small, large = tmp_path / "small.json", tmp_path / "large.json"
    to_solr(chain(5), small, features=["a"])
    head, tree = chain(30).split("\nTree=0")
    many = head + "".join(f"\nTree={i}{tree}" for i in range(800))
    text = to_solr(many, large, features=["a"], name="m1", store="shop")
    assert large.read_text() == text
    assert len(text) > 1_000_000
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "large.json",
        "large.wrapper.json",
        "small.json",
    ]
    assert json.loads((tmp_path / "large.wrapper.json").read_text()) == {
        "class": "org.apache.solr.ltr.model.DefaultWrapperModel",
        "name": "m1",
        "store": "shop",
        "params": {"resource": "large.json"},
    }
