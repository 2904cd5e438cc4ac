"""Saved folders: whole, checked, and open at once."""

import json
import time

import numpy as np
import pytest

from rankloop.data import Pairs, RankingDataset, fingerprint, load_dataset, save_dataset


@pytest.fixture
def full():
    return RankingDataset(
        X=[[1.0, np.nan], [2.0, -0.5], [3.0, 0.0]],
        y=[0, 2, 1],
        qid=["b", "a", "b"],
        docid=["x", "ü", "zzz"],
        query_weight={"a": 0.5, "b": 2.0},
        item_weight=[1, 2, 3],
        position=[1, 1, 2],
        pairs=Pairs([0], [2], [0.75]),
        feature_names=["bm25", "clicks"],
    )


@pytest.mark.parametrize("mmap", [True, False])
def test_every_column_comes_back(tmp_path, full, mmap):
    full.save(tmp_path / "set")
    back = RankingDataset.load(tmp_path / "set", mmap=mmap, verify=True)
    assert isinstance(back.X, np.memmap) == mmap
    for name in ("X", "y", "offsets", "qid", "docid", "query_weight", "item_weight", "position"):
        assert np.array_equal(getattr(back, name), getattr(full, name), equal_nan=name == "X"), name
        assert getattr(back, name).dtype == getattr(full, name).dtype
    assert back.pairs.better.tolist() == full.pairs.better.tolist()
    assert back.pairs.probability.tolist() == [0.75]
    assert back.feature_names == ("bm25", "clicks")
    assert back.fingerprint() == full.fingerprint() == fingerprint(back)


def test_the_optional_columns_are_optional(tmp_path):
    data = RankingDataset([[1.0]], [1], [3])
    save_dataset(data, tmp_path / "set")
    back = load_dataset(tmp_path / "set")
    assert back.docid is None
    assert back.pairs is None
    assert back.feature_names is None
    assert fingerprint(back) == fingerprint(data)


def test_a_fingerprint_sees_every_column(full):
    prints = {
        fingerprint(changed)
        for changed in [
            full,
            full.replace(X=np.zeros((3, 2))),
            full.replace(y=[0, 0, 0]),
            full.replace(docid=["x", "y", "zzzz"]),
            full.replace(query_weight=[1.0, 1.0]),
            full.replace(item_weight=None),
            full.replace(position=[1, 2, 3]),
            full.replace(pairs=None),
            full.replace(feature_names=["a", "b"]),
            full.select([0]),
            full.select([1, 0]),
        ]
    }
    assert len(prints) == 11


def test_a_fingerprint_is_of_the_content(full):
    wide = full.select([0, 1]).replace(docid=full.docid.astype("<U40"))
    assert fingerprint(wide) == fingerprint(full)
    fortran = RankingDataset._trusted(**{**vars(full), "X": np.asfortranarray(full.X)})
    assert fingerprint(fortran) == fingerprint(full)
    many = np.arange(3_000_000, dtype=np.float32).reshape(-1, 3)
    data = RankingDataset.from_groups(many, np.zeros(len(many)), [len(many)])
    assert fingerprint(data) == fingerprint(data.replace())  # in several chunks


def test_saving_replaces_what_was_saved_and_nothing_else(tmp_path, full):
    save_dataset(full, tmp_path / "set")
    save_dataset(full.select([0]), tmp_path / "set")
    assert load_dataset(tmp_path / "set", verify=True).n_queries == 1
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.txt").write_text("mine")
    with pytest.raises(ValueError, match="notes exists and is not a saved data set; remove it"):
        save_dataset(full, tmp_path / "notes")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes", "set"]


def test_opening_is_quick(tmp_path):
    X = np.zeros((50_000, 50), np.float32)
    save_dataset(RankingDataset.from_groups(X, np.zeros(len(X)), [10] * 5000), tmp_path / "set")
    times = []
    for _ in range(5):
        start = time.perf_counter()
        load_dataset(tmp_path / "set")
        times.append(time.perf_counter() - start)
    assert min(times) < 0.02


def edit(folder, **values):
    """Another manifest, without checksums, as before there were any."""
    path = folder / "manifest.json"
    content = {**json.loads(path.read_text()), **values}
    path.write_text(
        json.dumps({k: v for k, v in content.items() if k not in ("signed", "digest", "checksums")})
    )


def cut(path, by=4):
    path.write_bytes(path.read_bytes()[:-by])


DAMAGE = {
    r"X\.npy has \d+ bytes where \d+ were saved: it was cut short": lambda f: cut(f / "X.npy"),
    r"docid\.npy is missing; save the data set again": lambda f: (f / "docid.npy").unlink(),
    r"pairs_worse\.npy has \d+ bytes where \d+ were saved": lambda f: cut(f / "pairs_worse.npy"),
    r"manifest\.json is damaged, cut short or not of a saved data set": lambda f: cut(f / "manifest.json"),
    "has format 2; this is rankloop .* which reads format 1: upgrade rankloop": lambda f: edit(f, format=2),
    "was written by an older rankloop .format 0.; save the data set again": lambda f: edit(f, format=0),
    "does not describe a saved data set": lambda f: edit(f, kind="rankloop.LambdaMART"),
    "has no fingerprint; save": lambda f: edit(f, fingerprint=None),
    r"X\.npy has shape \(3, 2\) where the manifest has \(3, 5\)": lambda f: edit(f, n_features=5),
    "has no manifest.json; it is not a saved data set": lambda f: (f / "manifest.json").unlink(),
    r"y\.npy holds int32, which y cannot be": lambda f: np.save(f / "y.npy", np.zeros(3, np.int32)),
    r"y\.npy is damaged or cut short": lambda f: (f / "y.npy").write_bytes(bytes(140)),
    r"offsets\.npy does not match the 3 rows": lambda f: np.save(f / "offsets.npy", np.array([0, 3, 2])),
    "does not match its fingerprint": lambda f: np.save(f / "y.npy", np.ones(3, np.float32)),
}


@pytest.mark.parametrize("sentence", DAMAGE)
def test_damage_is_refused_in_one_sentence(tmp_path, full, sentence):
    save_dataset(full, tmp_path / "set")
    edit(tmp_path / "set")
    DAMAGE[sentence](tmp_path / "set")
    with pytest.raises(ValueError, match=sentence) as error:
        load_dataset(tmp_path / "set", verify=True)
    assert "\n" not in str(error.value)


def test_a_missing_folder_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        load_dataset(tmp_path / "set")
