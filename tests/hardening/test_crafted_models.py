"""Model files that were made up: they load, or end in a ValueError; never a crash, never gigabytes."""

import io
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

import rankloop as rl
from hardening.damage import FULL, TRIED, changed, repacked
from rankloop import _archive

NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][+-]?\d+)?")
ODD = [b"-1", b"0", b"1", b"7", b"-7", b"255", b"65536", b"2147483647", b"-2147483648", b"4294967296"]
ODD += [b"1e300", b"-1e18", b"nan", b"9223372036854775807", b"", b"x"]


@pytest.fixture(scope="module")
def data():
    return rl.synthetic(n_queries=10, docs_per_query=8, n_features=4, seed=0)


def outcomes(folder):
    """What became of each file; the process must have reached the last one."""
    program = Path(__file__).parent / "loading.py"
    done = subprocess.run(
        [sys.executable, str(program), str(folder)], capture_output=True, text=True, timeout=280, check=False
    )
    lines = [line.partition(" ") for line in done.stdout.splitlines()]
    found = {name: result for name, _, result in lines}
    last = lines[-1][0] if lines else "none"
    assert done.returncode == 0, f"{last} ended the process ({done.returncode}): {done.stderr[-500:]}"
    assert set(found) == {path.name for path in Path(folder).iterdir()}
    return found


def with_another_number(content, rng):
    """The text with one of its numbers replaced."""
    places = list(NUMBER.finditer(content))
    if not places:
        return changed(content, "byte", rng)
    place = rng.choice(places)
    return content[: place.start()] + rng.choice(ODD) + content[place.end() :]


def with_another_value(content, rng):
    """The `.npy` file with one value replaced by an extreme one, or another shape."""
    values = np.load(io.BytesIO(content), allow_pickle=False)
    if not values.size or rng.random() < 0.2:
        return content.replace(b"'shape': (", b"'shape': (9", 1)[: len(content)]
    flat = values.copy().reshape(-1)
    at = rng.randrange(len(flat))
    if flat.dtype.names:
        field = rng.choice(flat.dtype.names)
        flat[field][at] = _extreme(flat.dtype[field], rng)
    else:
        flat[at] = _extreme(flat.dtype, rng)
    buffer = io.BytesIO()
    np.save(buffer, flat.reshape(values.shape), allow_pickle=False)
    return buffer.getvalue()


def _extreme(dtype, rng):
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return rng.choice([limits.min, limits.max, 0, 1, min(1000, limits.max), limits.max // 2])
    if dtype.kind == "f":
        return rng.choice([np.inf, -np.inf, np.nan, 0.0, 1e30])
    return np.zeros(1, dtype)[0]


def crafted(whole, count, rng):
    """Copies of a model file in which one number of one member is another."""
    for _ in range(FULL * count):
        TRIED["crafted models"] += 1

        def change(members):
            name = rng.choice(list(members))
            if name.endswith(".npy"):
                members[name] = with_another_value(members[name], rng)
            elif name.endswith(".bin") and members[name].startswith(b"PK"):
                members[name] = repacked(members[name], change)
            elif name.endswith(".bin"):
                members[name] = changed(members[name], "byte", rng)
            else:
                members[name] = with_another_number(members[name], rng)

        yield repacked(whole, change)


RANKERS = {
    "linear": rl.LinearRanker(),
    "lightgbm": rl.LambdaMART(trees=4, leaves=5),
    "xgboost": rl.LambdaMART(trees=4, leaves=5, backend="xgboost"),
    "tree": rl.PointwiseRanker(DecisionTreeRegressor(max_depth=3)),
    "forest": rl.PointwiseRanker(RandomForestRegressor(3, max_depth=3, random_state=0)),
    "boosting": rl.PointwiseRanker(GradientBoostingRegressor(n_estimators=3)),
    "histograms": rl.PointwiseRanker(HistGradientBoostingRegressor(max_iter=3)),
    "neighbours": rl.PointwiseRanker(KNeighborsRegressor(algorithm="kd_tree", leaf_size=3)),
    "vectors": rl.PointwiseRanker(SVR()),
}


@pytest.mark.parametrize("name", RANKERS)
def test_made_up_models_end_in_an_error(data, tmp_path, name):
    if name == "xgboost":
        pytest.importorskip("xgboost")
    path = tmp_path / "whole"
    RANKERS[name].fit(data).save(path)
    folder = tmp_path / "crafted"
    folder.mkdir()
    rng = random.Random(name)
    for number, whole in enumerate(crafted(path.read_bytes(), 25, rng)):
        (folder / f"{number:04d}.model").write_bytes(whole)
    found = outcomes(folder)
    odd = {file: one for file, one in found.items() if one != "refused" and not one.startswith("loaded")}
    assert not odd
    assert "refused" in found.values()


def test_made_up_trees_end_in_an_error(data, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    X = np.array(data.X)
    X[:, 3] = np.arange(len(X)) % 5
    trained = lightgbm.train(
        {"verbose": -1, "num_leaves": 6, "min_data_in_leaf": 2},
        lightgbm.Dataset(X, data.y, categorical_feature=[3]),
        5,
    )
    rng = random.Random(0)
    texts = [trained.model_to_string().encode()]
    xgboost = pytest.importorskip("xgboost")
    matrix = xgboost.DMatrix(X, data.y, feature_types=["q", "q", "q", "c"], enable_categorical=True)
    texts.append(bytes(xgboost.train({"max_depth": 3}, matrix, 4).save_raw("json")))
    for number in range(FULL * 80):
        TRIED["crafted models"] += 1
        text = texts[number % 2]
        changed_text = with_another_number(text, rng) if number % 3 else changed(text, "bit", rng)
        (tmp_path / f"{number:05d}.txt").write_text(changed_text.decode("utf-8", "replace"))
    found = outcomes(tmp_path)
    assert set(found.values()) <= {"loaded", "refused"}, {
        file: result for file, result in found.items() if result not in ("loaded", "refused")
    }


def test_a_file_names_only_estimators(data, tmp_path):
    path = tmp_path / "m"
    rl.PointwiseRanker(DecisionTreeRegressor(max_depth=2)).fit(data).save(path)

    def naming(other):
        def change(members):
            for name in members:
                members[name] = members[name].replace(b"sklearn.tree._classes.DecisionTreeRegressor", other)

        return change

    for other in (
        b"sklearn.utils._testing.TempMemmap",
        b"sklearn.datasets._base.Bunch",
        b"sklearn.model_selection._search.GridSearchCV",
        b"sklearn.feature_extraction.text.CountVectorizer",
        b"os.system",
    ):
        (tmp_path / "other").write_bytes(repacked(path.read_bytes(), naming(other)))
        with pytest.raises(ValueError, match=r"not loaded|has no"):
            rl.load(tmp_path / "other")


def test_an_archive_does_not_unpack_to_gigabytes(data, tmp_path):
    path = tmp_path / "m"
    rl.LinearRanker().fit(data).save(path)

    def bomb(members):
        members["manifest.json"] = b" " * (100 << 20) + members["manifest.json"]

    (tmp_path / "bomb").write_bytes(repacked(path.read_bytes(), bomb))
    assert (tmp_path / "bomb").stat().st_size < 1 << 20
    with pytest.raises(ValueError, match=r"unpacks to 104,\d+,\d+ bytes, .* load it with largest="):
        rl.load(tmp_path / "bomb")
    rl.load(tmp_path / "bomb", largest=200 << 20)


def test_an_array_does_not_promise_more_than_it_has(tmp_path):
    whole = _archive.pack("note", {}, {"counts": np.arange(6).reshape(2, 3)})

    def promise(members):
        members["counts.npy"] = members["counts.npy"].replace(b"(2, 3), }", b"(2, 3000000000), }")

    with pytest.raises(ValueError, match=r"shape \(2, 3000000000\) has 57 bytes"):
        _archive.unpack(repacked(whole, promise), "note", again="write it again")
    for array in (
        np.zeros((0, 3)),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array(5),
        np.array(["é", ""]),
    ):
        again = _archive.unpack(_archive.pack("note", {}, {"a": array}), "note", again="")
        np.testing.assert_array_equal(again.members["a"], array)
        assert again.members["a"].flags.writeable


def test_states_of_generators_are_checked():
    from rankloop.rankers.saving.codec import decode, encode

    members = {}
    saved = encode(np.random.RandomState(0), "parameters/x", members)
    assert decode(saved, members).randint(1000) == np.random.RandomState(0).randint(1000)
    for place in (-1, 625, 10**9):
        text = json.dumps(saved).replace(", 624]", f", {place}]")
        assert text != json.dumps(saved)
        with pytest.raises(ValueError, match="state of a random generator"):
            decode(json.loads(text), members)
    with pytest.raises(ValueError, match="has the type 'V1000000000'"):
        decode({"$scalar": 1, "type": "V1000000000"}, {})
