"""One file for whatever was learned: what is read is what was written, or one sentence says why not."""

import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rankloop import _archive
from rankloop._archive import FORMAT, pack, read, read_manifest, unpack, write

AGAIN = "train it again"
ABOUT = {"class": "LambdaMART", "parameters": {"trees": 3, "loss": None}, "names": ["bm25", "größe"]}
MEMBERS = {
    "weights": np.linspace(0, 1, 50),
    "bins": np.arange(300, dtype=np.uint8).reshape(3, 100),
    "words": np.array(["a", "größe"]),
    "none": np.zeros((0, 4), np.float32),
    "model": "tree\nΔ = 1\n" * 20,
    "raw": bytes(range(256)),
}
WHOLE = pack("ranker", ABOUT, MEMBERS)


def same(archive):
    about, members = archive
    if about != ABOUT or list(members) != list(MEMBERS):
        return False
    for name, value in MEMBERS.items():
        if isinstance(value, np.ndarray):
            found = members[name]
            if found.dtype != value.dtype or found.shape != value.shape or found.tobytes() != value.tobytes():
                return False
        elif members[name] != value:
            return False
    return True


def remade(change):
    """The archive with its manifest (or its entries) changed, its checksums right."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(WHOLE)) as old, zipfile.ZipFile(buffer, "w") as new:
        entries = {name: old.read(name) for name in old.namelist()}
        manifest = json.loads(entries["manifest.json"])
        entries["manifest.json"] = json.dumps(change(manifest, entries)).encode()
        for name, data in entries.items():
            new.writestr(name, data)
    return buffer.getvalue()


def test_what_is_read_is_what_was_written(tmp_path):
    write(tmp_path / "model", "ranker", ABOUT, MEMBERS)
    assert same(read(tmp_path / "model", "ranker", again=AGAIN))
    assert read_manifest(tmp_path / "model", "ranker", again=AGAIN) == ABOUT
    assert (tmp_path / "model").read_bytes() == WHOLE  # the same content gives the same bytes
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@settings(max_examples=30)
@given(arrays.arrays(arrays.scalar_dtypes(), arrays.array_shapes(max_side=4)), st.text(), st.binary())
def test_any_array_text_and_bytes(array, text, raw):
    members = unpack(pack("x", {}, {"array": array, "text": text, "raw": raw}), "x", again=AGAIN).members
    assert members["array"].dtype == array.dtype
    assert members["array"].tobytes() == array.tobytes()
    assert (members["text"], members["raw"]) == (text, raw)


@settings(max_examples=400)
@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_a_changed_byte_is_refused_or_harmless(place, change):
    damaged = bytearray(WHOLE)
    damaged[place] ^= change
    try:
        found = unpack(bytes(damaged), "ranker", again=AGAIN)
    except ValueError as error:
        assert_says_what_to_do(error)
    else:
        assert same(found)


@settings(max_examples=100)
@given(st.integers(0, len(WHOLE) - 1))
def test_a_file_that_was_cut_off_is_refused(length):
    with pytest.raises(
        ValueError, match=r"this ranker is damaged, cut short or not a saved ranker"
    ) as caught:
        unpack(WHOLE[:length], "ranker", again=AGAIN)
    assert_says_what_to_do(caught.value)


@settings(max_examples=50)
@given(st.binary(max_size=200))
def test_other_bytes_are_refused(noise):
    with pytest.raises(ValueError, match="not a saved ranker"):
        unpack(noise, "ranker", again=AGAIN)


def assert_says_what_to_do(error):
    assert "\n" not in str(error)
    assert str(error).endswith((AGAIN, "upgrade rankloop"))


def test_another_kind_is_refused(tmp_path):
    write(tmp_path / "model", "click model", {}, {})
    for reader in (read, read_manifest):
        with pytest.raises(ValueError, match=r"model holds a click model, not a ranker; train it again"):
            reader(tmp_path / "model", "ranker", again=AGAIN)


def test_other_formats_are_refused():
    older = remade(lambda manifest, entries: {**manifest, "format": FORMAT - 1})
    with pytest.raises(ValueError, match=r"older rankloop \(format 1\); train it again"):
        unpack(older, "ranker", again=AGAIN)
    newer = remade(lambda manifest, entries: {**manifest, "format": FORMAT + 1, "rankloop": "9.0"})
    with pytest.raises(ValueError, match=r"format 3, written by rankloop 9\.0; .*: upgrade rankloop"):
        unpack(newer, "ranker", again=AGAIN)
    without = remade(lambda manifest, entries: {"class": "LambdaMART"})  # as it was before there was a format
    with pytest.raises(ValueError, match=r"older rankloop \(format 0\); train it again"):
        unpack(without, "ranker", again=AGAIN)


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest, entries: [1, 2],
        lambda manifest, entries: None,
        lambda manifest, entries: "text",
        lambda manifest, entries: {**manifest, "members": ["weights"]},
        lambda manifest, entries: {**manifest, "members": {"weights": "pickle"}},
        lambda manifest, entries: {**manifest, "members": {"elsewhere": "array"}},
        lambda manifest, entries: {**manifest, "members": {"raw": "array"}},
        lambda manifest, entries: {**manifest, "format": "two"},
        lambda manifest, entries: {**manifest, "format": None},
        lambda manifest, entries: {**manifest, "format": []},
        lambda manifest, entries: {**manifest, "about": [1]},
        lambda manifest, entries: {key: value for key, value in manifest.items() if key != "about"},
        lambda manifest, entries: (entries.update({"raw.bin": b""}), entries.pop("weights.npy"), manifest)[2],
    ],
)
def test_strange_manifests_are_refused(change):
    with pytest.raises(ValueError, match="damaged, cut short or not a saved ranker") as caught:
        unpack(remade(change), "ranker", again=AGAIN)
    assert_says_what_to_do(caught.value)


def test_nothing_is_pickled():
    with pytest.raises(ValueError, match="allow_pickle"):
        pack("ranker", {}, {"objects": np.array([{}], object)})
    pickled = io.BytesIO()
    np.save(pickled, np.array([{}], object), allow_pickle=True)
    trojan = remade(
        lambda manifest, entries: (entries.update({"weights.npy": pickled.getvalue()}), manifest)[1]
    )
    with pytest.raises(ValueError, match="damaged"):
        unpack(trojan, "ranker", again=AGAIN)


def test_a_missing_file_says_so(tmp_path):
    for reader in (read, read_manifest):
        with pytest.raises(FileNotFoundError, match="there is no ranker file"):
            reader(tmp_path / "model", "ranker", again=AGAIN)
        with pytest.raises(FileNotFoundError, match="there is no ranker file"):
            reader(tmp_path, "ranker", again=AGAIN)


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    write(tmp_path / "model", "ranker", ABOUT, MEMBERS)
    monkeypatch.setattr("rankloop._atomic.os.replace", failing)
    with pytest.raises(OSError, match="disk"):
        write(tmp_path / "model", "ranker", {}, {})
    assert same(read(tmp_path / "model", "ranker", again=AGAIN))
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def failing(*paths):
    raise OSError("the disk is full")


def test_an_archive_in_an_archive():
    inner = unpack(pack("pipeline", {}, {"ranker": WHOLE}), "pipeline", again=AGAIN).members["ranker"]
    assert same(unpack(inner, "ranker", again=AGAIN))
    assert set(_archive.__all__) >= {"pack", "unpack"}
