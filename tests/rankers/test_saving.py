"""Files that cannot be trusted: cut short, changed, newer, or not ours."""

import io
import json
import zipfile
import zlib

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankloop.data import synthetic
from rankloop.metrics import metric
from rankloop.rankers import Calibrated, CoordinateAscent, Ensemble, PointwiseRanker, RankSVM, calibrate, load
from rankloop.rankers.saving.load import manifest

DATA = synthetic(n_queries=15, docs_per_query=8, n_features=4, seed=0).replace(feature_names=None)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "svm"
    RankSVM().fit(DATA).save(path)
    return path.read_bytes()


def rewritten(whole, change):
    """The file with its members changed by `change(members)`."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = b"rankloop crc32 " + bytes(8)
    content = out.getvalue()[:-8]
    return content + b"%08x" % zlib.crc32(content)


def with_manifest(**changes):
    """The whole manifest changed: format, kind, or the part that is the ranker's own."""

    def change(members):
        members["manifest.json"] = json.dumps({**json.loads(members["manifest.json"]), **changes}).encode()

    return change


def with_about(**changes):
    """The ranker's part of the manifest changed."""

    def change(members):
        whole = json.loads(members["manifest.json"])
        with_manifest(about={**whole["about"], **changes})(members)

    return change


def as_before(members):
    """The layout of rankloop's first format: one flat manifest."""
    whole = json.loads(members["manifest.json"])
    flat = {**whole["about"], "format": 1, "members": whole["members"]}
    members["manifest.json"] = json.dumps(flat).encode()


def test_every_cut_is_noticed(whole, tmp_path):
    path = tmp_path / "model"
    for length in range(0, len(whole) - 1, 97):
        path.write_bytes(whole[:length])
        with pytest.raises(
            ValueError, match=r"model is damaged, cut short or not a saved ranker .*; copy the file again"
        ):
            load(path)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("hello there\nand more", "hello there"),
        ("1 qid:1 1:0.5\n", "1 qid:1 1:0.5"),
        ("Größe: " + 60 * "ü", "Größe: ü"),
    ],
)
def test_a_text_is_another_file(tmp_path, text, shown):
    (tmp_path / "notes.txt").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="not a saved ranker: expected a file that rankloop saved") as caught:
        load(tmp_path / "notes.txt")
    assert f"got a text that begins with '{shown}" in str(caught.value)
    assert str(caught.value).endswith("; name another file, or train the ranker again and save it")
    assert "zip" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\x00\x01\xff" * 20, b"PK\x03\x04" + bytes(100)])
def test_other_bytes_may_be_a_damaged_file(tmp_path, content):
    (tmp_path / "bytes").write_bytes(content)
    with pytest.raises(
        ValueError, match=r"damaged, .* \(its start or its end is missing\); copy the file again"
    ):
        load(tmp_path / "bytes")


def test_a_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no ranker file .*: it is a folder without one"):
        load(tmp_path)


def test_changed_bytes_are_noticed_or_harmless(whole, tmp_path):
    path, expected = tmp_path / "model", None
    path.write_bytes(whole)
    expected = load(path).predict(DATA)
    for at in range(0, len(whole), 53):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        try:
            scores = load(path).predict(DATA)
        except ValueError:
            continue
        np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_manifest(format=99), r"has format 99, written by rankloop .* upgrade rankloop"),
        (with_manifest(kind="click model"), "holds a click model, not a ranker"),
        (as_before, r"written by an older rankloop \(format 1\); train the ranker again and save it"),
        (with_about(**{"class": "RankSWM"}), "unknown class of ranker 'RankSWM'; known: .*RankSVM"),
        (with_about(**{"class": "Ranker.__init__"}), "unknown class of ranker"),
        (with_about(**{"class": "load"}), "unknown class of ranker"),
        (with_about(parameters={"speed": 3}), "does not fit its class"),
        (with_about(parameters={"C": {"$sklearn": {"$dict": [[], []]}}}), "does not fit its class"),
        (with_about(parameters={"C": {"$call": "os.system"}}), "unknown kind '\\$call'"),
        (lambda members: members.pop("manifest.json"), "not a saved ranker .*manifest.json"),
        (lambda members: members.pop("state/coef.npy"), "damaged, cut short"),
        (lambda members: members.update({"manifest.json": b"{"}), "damaged, cut short"),
        (lambda members: members.update({"manifest.json": b"[]"}), "damaged, cut short"),
    ],
)
def test_files_that_are_not_ours(whole, tmp_path, change, message):
    (tmp_path / "model").write_bytes(rewritten(whole, change))
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "model")


def test_no_class_from_elsewhere_is_made(tmp_path):
    """A file that names subprocess.Popen inside an estimator is refused before anything is imported."""
    path = tmp_path / "model"
    PointwiseRanker(Ridge()).fit(DATA).save(path)

    def evil(members):
        members["state/estimator.txt"] = members["state/estimator.txt"].replace(
            b"sklearn.linear_model._ridge.Ridge", b"subprocess.Popen"
        )

    path.write_bytes(rewritten(path.read_bytes(), evil))
    with pytest.raises(ValueError, match=r"names the class 'subprocess.Popen', which is not scikit-learn's"):
        load(path)


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), Ridge()),
        LogisticRegression(),
        RandomForestRegressor(n_estimators=3, random_state=0),
        GradientBoostingClassifier(n_estimators=3, random_state=0),
        KNeighborsRegressor(),
        MLPRegressor(
            hidden_layer_sizes=(4,), max_iter=3, random_state=np.random.RandomState(0), early_stopping=True
        ),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_estimators_survive_without_pickle(estimator, tmp_path):
    ranker = PointwiseRanker(estimator).fit(DATA)
    ranker.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(DATA), ranker.predict(DATA))
    np.testing.assert_array_equal(
        again.fit(DATA).predict(DATA), PointwiseRanker(estimator).fit(DATA).predict(DATA)
    )


def test_estimators_from_elsewhere_cannot_be_saved(tmp_path):
    class Mine(Ridge):
        pass

    ranker = PointwiseRanker(Mine()).fit(DATA)
    with pytest.raises(ValueError, match="is a Mine, which cannot be saved without pickle"):
        ranker.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_rankers_within_rankers(tmp_path):
    steady = calibrate(Ensemble([RankSVM().fit(DATA), PointwiseRanker(Ridge()).fit(DATA)]), DATA)
    steady.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert isinstance(again, Calibrated)
    np.testing.assert_array_equal(again.predict(DATA), steady.predict(DATA))
    assert again.reliability_.error == steady.reliability_.error


def test_metrics_are_parameters_too(tmp_path):
    chosen = metric("ndcg(gain=linear)@3")
    CoordinateAscent(metric=chosen, restarts=1).fit(DATA).save(tmp_path / "model")
    assert load(tmp_path / "model").metric == chosen


def test_the_manifest_reads_alone(whole, tmp_path):
    (tmp_path / "model").write_bytes(whole)
    about = manifest(tmp_path / "model")
    assert about["features"] == {"number": 4, "names": None}
    assert about["fingerprint"] == DATA.fingerprint()
    assert about["class"] == "RankSVM"
    assert about["parameters"]["C"] == 1.0
    assert about["metrics"] == {}
    assert about["propensity"] is None
    assert {"rankloop", "python", "numpy", "scikit-learn"} <= set(about["versions"])
    with pytest.raises(FileNotFoundError, match="there is no ranker file"):
        manifest(tmp_path / "other")
