"""What is written reads back the same, bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankloop.data import Pairs, RankingDataset, fingerprint, read_svmlight, write_svmlight

ids = st.text(
    st.characters(exclude_characters=" \t\r\n\0#", exclude_categories=["Cs"]), min_size=1, max_size=6
)


@st.composite
def datasets(draw):
    rows, features = draw(st.integers(1, 8)), draw(st.integers(1, 6))
    X = draw(arrays(np.float32, (rows, features), elements=st.floats(width=32, allow_nan=False)))
    y = draw(arrays(np.float32, rows, elements=st.floats(0, 1e6, width=32)))
    sizes = draw(st.sampled_from([[rows], [1] * rows]))
    names = draw(
        st.lists(st.one_of(ids, st.integers(-5, 50).map(str)), min_size=rows, max_size=rows, unique=True)
    )
    docid = draw(st.none() | st.lists(ids.filter(lambda s: s[0] not in "=:"), min_size=rows, max_size=rows))
    return RankingDataset(X, y, np.repeat(names[: len(sizes)], sizes), docid=docid)


@pytest.mark.parametrize("suffix", ["txt", "txt.gz", "txt.zst"])
@given(data=datasets())
def test_round_trip(tmp_path_factory, suffix, data):
    path = tmp_path_factory.getbasetemp() / f"round.{suffix}"
    write_svmlight(data, path)
    back = read_svmlight(path)
    assert np.array_equal(back.X.view(np.uint32), data.X.view(np.uint32))
    assert np.array_equal(back.y, data.y)
    assert back.qid.astype(str).tolist() == data.qid.astype(str).tolist()
    assert np.array_equal(back.offsets, data.offsets)
    if data.docid is None:
        assert back.docid is None
    else:
        assert back.docid.astype(str).tolist() == data.docid.astype(str).tolist()


EDGES = {
    "0": 0.0,
    "-0": -0.0,
    "1e-45": 1e-45,
    "1.1754944e-38": 1.17549435e-38,
    "3.4028235e38": 3.4028235e38,
    "16777216": 16777217,
    "1e9": 1e9,
    "0.1": 0.1,
    "0.00001": 1e-5,
    "123456.7": 123456.7,
    "-inf": -np.inf,
}


def written(path, values):
    write_svmlight(RankingDataset(values[:, None], np.zeros(len(values)), np.ones(len(values), int)), path)
    assert np.array_equal(read_svmlight(path).X[:, 0].view(np.uint32), values.view(np.uint32))
    return [line.split(" 1:")[1] for line in path.read_text().splitlines()]


def test_the_edges_of_float32(tmp_path):
    assert written(tmp_path / "edges.txt", np.array(list(EDGES.values()), np.float32)) == list(EDGES)


def test_any_float32_in_its_fewest_digits(tmp_path):
    bits = np.random.default_rng(0).integers(0, 2**32, 40_000, dtype=np.uint32).view(np.float32)
    finite = bits[np.isfinite(bits)]
    values = finite[finite != np.round(finite)]  # whole numbers keep all theirs

    def digits(text):
        return len(text.split("e")[0].lstrip("-").replace(".", "").strip("0"))

    shortest = [np.format_float_scientific(value, unique=True) for value in values]
    assert [digits(text) for text in written(tmp_path / "bits.txt", values)] == [digits(s) for s in shortest]


def test_nan_sparse_and_zero_based(tmp_path):
    path = tmp_path / "set.txt"
    data = RankingDataset([[np.nan, 0.0, 2.5]], [1], [7])
    write_svmlight(data, path, sparse=True)
    assert path.read_text() == "1 qid:7 1:nan 3:2.5\n"
    write_svmlight(data, path, zero_based=True)
    assert path.read_text() == "1 qid:7 0:nan 1:0 2:2.5\n"
    assert fingerprint(read_svmlight(path, zero_based=True)) == fingerprint(data)


@pytest.mark.parametrize("weight", ["item_weight", "query_weight"])
def test_weights_are_written_beside(tmp_path, weight):
    values = [0.1, 2, 3] if weight == "item_weight" else [0.1, 2]
    data = RankingDataset([[1.0], [2.0], [3.0]], [0, 1, 2], [4, 4, 5], **{weight: values})
    write_svmlight(data, tmp_path / "set.txt")
    assert fingerprint(read_svmlight(tmp_path / "set.txt")) == fingerprint(data)
    with pytest.raises(ValueError, match=r"set\.txt\.weight would be read with the new file"):
        write_svmlight(data.replace(**{weight: None}), tmp_path / "set.txt")


def test_scikit_learn_reads_it_back(tmp_path):
    from sklearn.datasets import load_svmlight_file

    X = np.random.default_rng(1).normal(size=(50, 7)).astype(np.float32)
    write_svmlight(RankingDataset(X, np.arange(50) % 5, np.arange(50) // 10), tmp_path / "set.txt")
    back, y, qid = load_svmlight_file(str(tmp_path / "set.txt"), query_id=True)
    assert np.array_equal(back.toarray().astype(np.float32), X)
    assert np.array_equal(qid, np.arange(50) // 10)
    assert np.array_equal(y, np.arange(50) % 5)


def test_what_the_format_cannot_say_is_refused(tmp_path):
    data = RankingDataset([[1.0], [2.0]], [0, 1], ["a", "a"])
    for column, sentence in [
        ({"position": [1, 2]}, "cannot hold position; use save"),
        ({"pairs": Pairs([0], [1])}, "cannot hold pairs"),
        ({"query_weight": [1.0], "item_weight": [1.0, 2.0]}, "one kind of weight"),
        ({"docid": ["x y", "z"]}, "docid 'x y' cannot be written to an SVMLight file"),
        ({"docid": ["= y", "z"]}, "cannot be written"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            write_svmlight(data.replace(**column), tmp_path / "set.txt")
    single = RankingDataset([[1.0]], [0], ["a"], query_weight=[2.0])
    with pytest.raises(ValueError, match="query weights would read back as item weights; use save"):
        write_svmlight(single, tmp_path / "set.txt")
    for qid in ("a b", "#", "", "a\0b"):
        with pytest.raises(ValueError, match=r"query id .* cannot be written to an SVMLight file"):
            write_svmlight(RankingDataset([[1.0]], [0], [qid]), tmp_path / "set.txt")
    assert list(tmp_path.iterdir()) == []
