"""CatBoost models that were made up: CatBoost trusts its files, so ours are checked before it sees them."""

import copy
import json
import random

import numpy as np
import pytest

import rankloop as rl
from hardening.damage import FULL, TRIED, repacked
from hardening.test_crafted_models import outcomes
from rankloop.data import RankingDataset
from rankloop.rankers.trees.catboost_json import check_catboost

pytest.importorskip("catboost")

FOREST = "state/forest.txt"
ODD = [
    -1,
    0,
    1,
    2,
    7,
    255,
    65536,
    2**31 - 1,
    2**31,
    -(2**31),
    2**64,
    1e300,
    -1e300,
    0.5,
    "",
    "x",
    None,
    True,
    [],
    {},
]
KINDS = {
    "numbers": {},
    "nested": {"params": {"grow_policy": "Lossguide"}},
    "one-hot": {"categorical": [3], "params": {"one_hot_max_size": 50}},
    "statistics": {"categorical": [2, 3], "params": {"max_ctr_complexity": 2}},
    "statistics, nested": {"categorical": [2, 3], "params": {"grow_policy": "Lossguide"}},
    "many statistics": {
        "categorical": [2, 3],
        "loss": "backend:RMSE",
        "params": {
            "simple_ctr": [
                "Borders:TargetBorderCount=2",
                "Buckets:TargetBorderCount=2",
                "BinarizedTargetMeanValue",
                "Counter",
            ],
            "combinations_ctr": ["Borders", "Counter"],
        },
    },
}


def grown(kind, tmp_path):
    """A ranker of that kind and its file; two features are codes that decide the labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)).astype(np.float32)
    X[:, 2], X[:, 3] = rng.integers(0, 3, 400), rng.integers(0, 12, 400)
    X[::7, 1] = np.nan
    y = ((X[:, 3] % 3) + (X[:, 2] == 1) * (X[:, 0] > 0)).astype(np.float32)
    data = RankingDataset.from_groups(X, y, np.full(40, 10))
    options = {"trees": 6, "leaves": 8, "threads": 1, "loss": "backend:QueryRMSE", **KINDS[kind]}
    ranker = rl.LambdaMART(backend="catboost", **options).fit(data)
    ranker.save(tmp_path / "whole")
    return ranker, X, (tmp_path / "whole").read_bytes()


def text_of(whole):
    found = {}
    repacked(whole, found.update)
    return found[FOREST].decode()


def places(value, path=()):
    """The path of every value in JSON, with those inside."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield from places(one, (*path, key))


def made_up(model, rng):
    """The model with one value that is another, missing, or there twice."""
    changed = copy.deepcopy(model)
    *path, last = rng.choice([path for path in places(model) if path])
    parent = changed
    for key in path:
        parent = parent[key]
    how = rng.randrange(6)
    value = parent[last]
    if how == 0:
        del parent[last]
    elif how == 1 and isinstance(parent, list):
        parent.insert(rng.randrange(len(parent) + 1), copy.deepcopy(rng.choice(parent)))
    elif how == 2 and isinstance(parent, list):
        rng.shuffle(parent)
    elif how == 3 and type(value) in (int, float):
        parent[last] = value + rng.choice([-1, 1, 2, 1000])
    elif how == 4 and isinstance(value, str):
        parent[last] = value[: rng.randrange(len(value) + 1)] + rng.choice(["", "1", "9" * 20])
    else:
        parent[last] = rng.choice(ODD)
    return changed


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_the_same_to_the_last_bit(kind, tmp_path):
    ranker, X, whole = grown(kind, tmp_path)
    loaded = rl.load(tmp_path / "whole")
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    loaded.save(tmp_path / "again")
    assert text_of((tmp_path / "again").read_bytes()) == text_of(whole)
    split = "OnlineCtr" if "statistics" in kind else "OneHotFeature" if kind == "one-hot" else "FloatFeature"
    assert split in text_of(whole)


def test_made_up_models_of_catboost_end_in_an_error(tmp_path):
    """In a process of its own, which a crash would end."""
    folder = tmp_path / "crafted"
    folder.mkdir()
    for kind in KINDS:
        _, _, whole = grown(kind, tmp_path)
        model, rng = json.loads(text_of(whole)), random.Random(kind)
        for number in range(FULL * 40):
            TRIED["crafted models"] += 1
            text = json.dumps(made_up(model, rng))
            (folder / f"{kind.replace(' ', '_')}-{number:05d}.model").write_bytes(
                repacked(whole, lambda members, text=text: members.update({FOREST: text.encode()}))
            )
    found = outcomes(folder)
    odd = {name: one for name, one in found.items() if one != "refused" and not one.startswith("loaded")}
    assert not odd
    assert sum(one == "refused" for one in found.values()) > len(found) / 3


def test_a_binary_model_is_refused(tmp_path):
    ranker, _, whole = grown("numbers", tmp_path)
    ranker.forest_.model.save_model(str(tmp_path / "forest.cbm"))

    def binary(members):
        del members[FOREST]
        members["state/forest.bin"] = (tmp_path / "forest.cbm").read_bytes()
        told = json.loads(members["manifest.json"])
        told["members"]["state/forest"] = "bytes"
        members["manifest.json"] = json.dumps(told).encode()

    (tmp_path / "old").write_bytes(repacked(whole, binary))
    with pytest.raises(ValueError, match=r"binary form, .* cannot be checked; train the ranker again"):
        rl.load(tmp_path / "old")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m["oblivious_trees"][0]["splits"][0].update(split_index=10**6), "that is not there"),
        (lambda m: m["oblivious_trees"][0]["leaf_values"].pop(), "leaf_values of a tree"),
        (lambda m: m["oblivious_trees"].clear(), "it has no trees"),
        (lambda m: m.update(scale_and_bias=[1, [0, 0]]), "one score per row"),
        (lambda m: m["features_info"]["float_features"][1].update(flat_feature_index=9), "numbered from 0"),
        (lambda m: m["features_info"]["ctrs"][0].update(target_border_idx=5), "a class that is not there"),
        (lambda m: next(iter(m["ctr_data"].values()))["hash_map"].pop(), "a table is cut short"),
        (lambda m: m["features_info"]["ctrs"][0].update(ctr_type="x"), "is not what it is made of"),
        (lambda m: m["features_info"]["ctrs"][0]["elements"][0].update(cat_feature_index=2), "not there"),
        (lambda m: m["features_info"].pop("categorical_features"), "damaged"),
        (lambda m: m.pop("features_info"), "damaged"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(change, said, tmp_path):
    model = json.loads(text_of(grown("statistics", tmp_path)[2]))
    change(model)
    with pytest.raises(ValueError, match=said):
        check_catboost(json.dumps(model))


def test_deep_trees_and_cut_text_are_refused():
    deep = '{"scale_and_bias":[1,[0]],"features_info":{},"trees":[' + '{"split":' * 100_000
    with pytest.raises(ValueError, match=r"cut short or damaged|RecursionError"):
        check_catboost(deep)
    with pytest.raises(ValueError, match="damaged"):
        check_catboost("[]")
