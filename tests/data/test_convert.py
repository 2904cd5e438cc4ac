"""A converted set equals the one that is read directly."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.cli.convert import convert as command
from rankloop.data import convert, fingerprint, load_dataset, open_dataset, read_svmlight, write_svmlight
from rankloop.data.svmlight import parser

pytestmark = pytest.mark.filterwarnings("ignore:.*has no value in any:UserWarning")


@st.composite
def texts(draw):
    """Files whose queries lie apart, whose width grows and whose docids come and go."""
    kinds = st.sampled_from(["", " # docid = 7", " # docid = GX-ü", " # note"])
    comments = draw(st.sampled_from([st.just(""), st.just(" # docid = 12"), kinds]))
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 4), st.integers(1, 5), st.integers(1, 90), comments),
            min_size=1,
            max_size=40,
        )
    )
    return "".join(f"{label} qid:{qid} {index}:{index}.25{tail}\n" for label, qid, index, tail in rows)


@given(text=texts(), missing=st.sampled_from([0.0, np.nan]))
def test_streaming_gives_the_same_set(tmp_path_factory, text, missing):
    folder = tmp_path_factory.getbasetemp()
    (folder / "stream.txt").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parser, "_TEXT", 64)
        patch.setattr(parser, "_ROOM", 256)
        convert(folder / "stream.txt", folder / "stream", missing=missing)
    direct = read_svmlight(folder / "stream.txt", missing=missing)
    assert load_dataset(folder / "stream", verify=True).fingerprint() == direct.fingerprint()
    assert not list(folder.glob("stream/*.spill"))


@pytest.mark.parametrize("text", ["0 qid:1\n", "0 qid:1\n1 qid:1\n2 qid:2 3:1\n"])
def test_rows_without_features(tmp_path, text):
    (tmp_path / "bare.txt").write_text(text)
    convert(tmp_path / "bare.txt", tmp_path / "bare")
    data = load_dataset(tmp_path / "bare", verify=True)
    assert fingerprint(data) == fingerprint(read_svmlight(tmp_path / "bare.txt"))
    assert data.n_documents == text.count("\n")


def test_side_files_are_converted(tmp_path):
    (tmp_path / "set.txt").write_text("1 1:1\n0 1:2\n2 1:3\n")
    (tmp_path / "set.txt.query").write_text("2\n1\n")
    (tmp_path / "set.txt.weight").write_text("1\n2\n3\n")
    convert(tmp_path / "set.txt", tmp_path / "set")
    assert load_dataset(tmp_path / "set").item_weight.tolist() == [1, 2, 3]
    assert fingerprint(load_dataset(tmp_path / "set")) == fingerprint(read_svmlight(tmp_path / "set.txt"))


def test_round_the_forms(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{i % 5} qid:q{i // 8} 1:{rng.random()} 2:{i}  # docid = d{i}\n" for i in range(100)]
    (tmp_path / "a.txt").write_text("".join(lines))
    start = read_svmlight(tmp_path / "a.txt")
    chain = ["a.txt", "b", "c.svm.gz", "d", "e.parquet", "f.letor.zst", "g"]
    for source, target in pairwise(chain):
        convert(tmp_path / source, tmp_path / target)
        assert fingerprint(open_dataset(tmp_path / target).replace(feature_names=None)) == fingerprint(start)


def test_a_failed_conversion_leaves_nothing(tmp_path):
    (tmp_path / "bad.txt").write_text("1 qid:1 1:1\n1 qid:1 1:1 1:2\n")
    with pytest.raises(ValueError, match=r"line 2 .* feature 1 appears twice"):
        convert(tmp_path / "bad.txt", tmp_path / "set")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.txt"]
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "diary").write_text("mine")
    with pytest.raises(ValueError, match="is not a saved data set"):
        convert(tmp_path / "bad.txt", tmp_path / "set")


def test_real_files_convert_to_what_is_read(collections, tmp_path):
    paths = sorted((collections / "webis_clueweb09_letor").glob("Fold*_test.txt"))
    convert(paths, tmp_path / "webis")
    data = load_dataset(tmp_path / "webis")
    assert fingerprint(data) == fingerprint(read_svmlight(paths))
    write_svmlight(data, tmp_path / "webis.txt")
    assert fingerprint(read_svmlight(tmp_path / "webis.txt")) == fingerprint(data)


def test_the_command(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n")
    (tmp_path / "b.txt").write_text("1 qid:2 1:1\n")
    command([tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "both", n_features=4, json=True)
    assert json.loads(capsys.readouterr().out) == {
        "target": str(tmp_path / "both"),
        "queries": 2,
        "documents": 2,
        "features": 4,
    }
    command([tmp_path / "both"], tmp_path / "back.txt")
    assert capsys.readouterr().out == f"wrote {tmp_path / 'back.txt'}\n"
    assert read_svmlight(tmp_path / "back.txt").n_features == 4
    with pytest.raises(ValueError, match="--missing is for SVMLight text"):
        command([tmp_path / "both"], tmp_path / "c.txt", missing=0.0)
    with pytest.raises(ValueError, match="several files are one data set if all are SVMLight"):
        command([tmp_path / "both", tmp_path / "a.txt"], tmp_path / "c")
