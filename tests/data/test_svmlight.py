"""The SVMLight reader against a plain one, scikit-learn's, real files and broken ones."""

import gzip
import re
from collections import Counter

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.data import RankingDataset, read_svmlight
from rankloop.data.files.text import TextSource
from rankloop.data.svmlight import parser

pytestmark = pytest.mark.filterwarnings("ignore:.*has no value in any:UserWarning")

NUMBER = rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|null|inf|infinity)"


def naive_number(text):
    if not re.fullmatch(NUMBER, text, re.IGNORECASE):
        raise ValueError(text)
    value = np.nan if text.lower().lstrip(b"+-") == b"null" else float(text)
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if np.isinf(single) and np.isfinite(value):
        raise ValueError(text)
    return single


def naive_line(line, first):
    body, mark, comment = line.partition(b"#")
    tokens = re.findall(rb"[^ \t\r]+", body)
    if not tokens:
        return None
    label = naive_number(tokens[0])
    if not 0 <= label < np.inf:
        raise ValueError(tokens[0])
    qid = None
    if len(tokens) > 1 and tokens[1].startswith(b"qid:"):
        qid = tokens.pop(1)[4:]
        if not qid or b"\0" in qid:
            raise ValueError("qid")
    row = {}
    for token in tokens[1:]:
        index, value = re.fullmatch(rb"(\d{1,14}):(.*)", token, re.DOTALL).groups()
        column = int(index) - first
        if column < 0 or column in row or column >= 1_000_000:
            raise ValueError(token)
        row[column] = naive_number(value)
    found = re.search(rb"[ \t\r#]docid[ \t=:]*([^ \t\r\n]*)", b"#" + comment) if mark else None
    docid = found[1] if found else b""
    if b"\0" in docid:
        raise ValueError("docid")
    return label, qid, row, docid


def naive_ids(raw):
    if all(re.fullmatch(rb"0|-?[1-9]\d*", item) and abs(int(item)) < 2**63 for item in raw):
        return np.array([int(item) for item in raw])
    return np.array([item.decode() for item in raw])


def naive_read(text, *, first=1, missing=0.0):
    """What a file says, in plain loops; any fault is a ValueError (or AttributeError from the match)."""
    lines = [naive_line(line, first) for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    rows = [line for line in lines if line]
    if not rows or any(qid is None for _, qid, _, _ in rows):
        raise ValueError("no rows, or no query ids")
    width = max(max(row, default=-1) + 1 for _, _, row, _ in rows)
    X = np.full((len(rows), width), missing, np.float32)
    for i, (_, _, row, _) in enumerate(rows):
        for column, value in row.items():
            X[i, column] = value
    docid = naive_ids([d for *_, d in rows]) if any(d for *_, d in rows) else None
    return RankingDataset(X, [label for label, *_ in rows], naive_ids([q for _, q, *_ in rows]), docid=docid)


def assert_same(a, b):
    for name in ("X", "y", "offsets", "qid", "docid"):
        mine, other = getattr(a, name), getattr(b, name)
        if mine is None or other is None:
            assert mine is other
            continue
        assert mine.shape == other.shape
        assert mine.dtype.kind == other.dtype.kind
        assert np.array_equal(mine, other, equal_nan=mine.dtype.kind == "f"), name


@pytest.fixture
def read(tmp_path):
    def read_text(text, **options):
        path = tmp_path / "set.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_svmlight(path, **options)

    return read_text


def test_a_file_by_hand(read):
    data = read(
        "2 qid:10 1:0.5 3:-1e-3 # docid = GX1 inc = 1\n\n# note\n0 qid:10 2:7 # docid = GX2\n1 qid:9 1:.5\n"
    )
    assert data.X.tolist() == [[0.5, 0, np.float32(-0.001)], [0, 7, 0], [0.5, 0, 0]]
    assert data.y.tolist() == [2, 0, 1]
    assert data.qid.tolist() == [10, 9]
    assert data.docid.tolist() == ["GX1", "GX2", ""]


def test_spaces_tabs_line_ends_and_order_do_not_matter(read):
    plain = read("1 qid:a 1:1 2:2\n0 qid:b 1:3 2:4\n")
    assert_same(plain, read("\t1  qid:a\t1:1   2:2 \r\n\r\n  0 qid:b 2:4 1:3"))
    assert_same(plain, read(b"\xef\xbb\xbf1 qid:a 1:1 2:2\n0 qid:b 1:3 2:4#c"))


def test_rows_of_a_query_may_lie_apart(read):
    data = read("1 qid:a 1:1\n0 qid:b 1:2\n2 qid:a 1:3\n")
    assert data.qid.tolist() == ["a", "b"]
    assert data.X[:, 0].tolist() == [1, 3, 2]


def test_missing_null_and_the_number_of_features(read):
    assert np.isnan(read("1 qid:1 2:NULL 3:nan\n").X[0]).tolist() == [False, True, True]
    assert np.isnan(read("1 qid:1 2:1\n", missing=np.nan).X[0]).tolist() == [True, False]
    assert read("1 qid:1 2:1\n", n_features=5).n_features == 5
    assert read("1 qid:1 0:4 2:1\n", zero_based=True).X.tolist() == [[4, 0, 1]]


@settings(max_examples=300)
@given(
    st.one_of(
        st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
        st.floats(-1e30, 1e30).map(repr),
        st.from_regex(r"\A[+-]?[0-9]{0,25}\.[0-9]{1,25}(e[+-]?[0-9]{1,2})?\Z", fullmatch=True),
        st.integers(-(10**25), 10**25).map(str),
        st.integers(1, 2**24 - 1).flatmap(  # halfway between two float32, and a hair off it
            lambda m: st.sampled_from(
                [f"{2 * m + 1}", f"{2 * m + 1}.0000000000000000001", f"{2 * m}.9999999999"]
            )
        ),
    )
)
def test_every_number_is_what_python_makes_of_it(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "number.txt"
    path.write_text(f"0 qid:1 1:{text} 2:{text}\n")
    try:
        want = naive_number(text.encode())
    except ValueError:
        with pytest.raises(ValueError, match="too large for float32"):
            read_svmlight(path)
        return
    assert read_svmlight(path).X.view(np.uint32).tolist() == [[np.float32(want).view(np.uint32)] * 2]


@pytest.mark.parametrize("sign", ["", "-", "+"])
def test_plain_numbers_of_every_length_with_the_point_at_every_place(read, sign):
    digits = "98765432101234567890123"
    texts = [sign + digits[:size] for size in range(1, len(digits))]
    texts += [text[:at] + "." + text[at:] for text in texts for at in range(len(sign), len(text) + 1)]
    tokens = " ".join(f"{column}:{text}" for column, text in enumerate(texts, 1))
    for end in (" \n", "\n", "\r\n", "\t\n", "#docid = d\n"):
        got = read(f"1 qid:1 {tokens}{end}").X[0]
        assert got.tolist() == [np.float32(naive_number(text.encode())) for text in texts]


@pytest.mark.parametrize("label", ["1", "1.", ".5", "+1", "0.25", "1234567", "1234567.5", "0.1234567", "1e1"])
def test_a_label_of_any_length_before_which_the_file_has_no_byte(read, label):
    data = read(f"{label} qid:1 1:2\n{label} qid:1 1:3\n")
    assert data.y.tolist() == [np.float32(label)] * 2
    assert data.X.tolist() == [[2], [3]]


@pytest.mark.parametrize("odd", ["1\x0b2", "1.2.3", ".", "-", "+.", "--1", "1-", "1,5", "0x1", "١"])
def test_what_looks_like_a_number_is_refused(read, odd):
    with pytest.raises(ValueError, match="line 2"):
        read(f"1 qid:1 1:1\n1 qid:1 1:{odd} 2:1\n")


TOKENS = ["1:1", "2:0.25", "3:-1.5e-3", "4:NULL", "70:9", "12:12345678.5", "5:0.1234567890123456789"]
valid_line = st.builds(
    lambda label, qid, tokens, tail: " ".join([label, f"qid:{qid}", *tokens]) + tail,
    st.sampled_from(["0", "1", "2.5", "4"]),
    st.sampled_from(["1", "22", "a", "ä", "007"]),
    st.lists(st.sampled_from(TOKENS), max_size=5, unique_by=lambda token: token.split(":")[0]),
    st.sampled_from(["", " ", " # docid = d1", "#docid=é inc = 1", " # nothing", "\r", " # docid = 5"]),
)
valid_file = st.lists(valid_line, min_size=1, max_size=12).map(lambda lines: "\n".join(lines).encode())
edits = st.lists(
    st.tuples(
        st.integers(0, 400),
        st.sampled_from([b"", b" ", b":", b"\n", b"#", b"q", b"-", b"0", b"e", b"\xff", b"\0", b"."]),
    ),
    max_size=3,
)


@pytest.mark.parametrize("block", [1 << 20, 48])
@settings(max_examples=250)
@given(text=valid_file, changes=edits)
def test_broken_files_are_refused_exactly_where_the_plain_reader_refuses(
    tmp_path_factory, block, text, changes
):
    for at, new in changes:
        at %= len(text)
        text = text[:at] + new + text[at + 1 :]
        if not text:
            return
    path = tmp_path_factory.getbasetemp() / f"mutated{block}.txt"
    path.write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parser, "_TEXT", block)
        patch.setattr(parser, "_ROOM", block)
        try:
            want = naive_read(text)
        except (ValueError, AttributeError):
            with pytest.raises(ValueError, match="mutated"):
                read_svmlight(path, threads=1)
            return
        assert_same(read_svmlight(path, threads=2 if block == 48 else 1), want)


@pytest.mark.parametrize("block", [1 << 20, 48])
@settings(max_examples=250)
@given(text=valid_file, changes=edits)
def test_skipping_reads_the_other_lines(tmp_path_factory, block, text, changes):
    for at, new in changes:
        text = text[: at % len(text)] + new + text[at % len(text) + 1 :] or b"#"
    right, wrong = [], 0
    for line in text.split(b"\n"):
        try:
            naive_read(b"0 qid:1 1:1\n" + line)
            right.append(line)
        except (ValueError, AttributeError):
            wrong += 1
    path = tmp_path_factory.getbasetemp() / f"skipped{block}.txt"
    path.write_bytes(text)
    skipped = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parser, "_TEXT", block)
        patch.setattr(parser, "_ROOM", block)
        try:
            want = naive_read(b"\n".join(right))
        except ValueError:
            with pytest.raises(ValueError, match="holds no documents"):
                read_svmlight(path, on_error="skip", skipped=skipped)
        else:
            assert_same(read_svmlight(path, threads=2, on_error="skip", skipped=skipped), want)
    assert skipped.total() == wrong


def test_skipped_lines_are_summed_up_in_one_warning(read):
    with pytest.warns(UserWarning, match="2 records were skipped .*1 x the label must be a number"):
        data = read("x qid:1 1:1\n1 qid:1 1:2\n1 1:3\n", on_error="skip")
    assert data.X.tolist() == [[2.0]]


def test_comments_before_a_wide_first_row_count_as_lines(read):
    wide = " ".join(f"{i}:1" for i in range(1, 100))
    with pytest.raises(ValueError, match="line 4 "):
        read(f"# one\n# two\n1 qid:1 {wide}\nx qid:1 1:1\n")


@settings(max_examples=200)
@given(st.binary(max_size=300))
def test_random_bytes_are_a_value_error(tmp_path_factory, junk):
    path = tmp_path_factory.getbasetemp() / "junk.txt"
    path.write_bytes(junk)
    try:
        want = naive_read(junk)
    except (ValueError, AttributeError):
        with pytest.raises(ValueError, match="junk"):
            read_svmlight(path)
        return
    assert_same(read_svmlight(path), want)


BROKEN = {
    "x qid:1 1:1": r"line 1 \(row 0, query 1\): the label must be a number, got 'x'; lines look like",
    "-1 qid:7 1:1": r"line 1 \(row 0, query 7\): labels must be finite and >= 0, got '-1'; drop the line",
    "0 qid:3 1:1\nnan qid:3 1:1": r"line 2 \(row 1, query 3\): labels must be finite and >= 0, got 'nan'",
    "inf qid:3 1:1": "labels must be finite and >= 0, got 'inf'",
    "0 qid:3 1:1 1:2": r"line 1 \(row 0, query 3\): feature 1 appears twice; keep one",
    "0 qid:3 5:1 1:2 5:2": "feature 5 appears twice",
    "0 qid:3 0:1": "feature indices start at 1, got '0:1'; pass zero_based=True",
    "0 qid:3 1:1 2": "expected index:value, got '2'",
    "0 qid:3 1:1 2:": "feature 2 must be a number, got ''",
    "0 qid:3 1:1 :2": "expected index:value, got ':2'",
    "0 qid:3 1:1e": "feature 1 must be a number, got '1e'",
    "0 qid:3 1:0x10": "feature 1 must be a number, got '0x10'",
    "0 qid:3 1:1_0": "feature 1 must be a number, got '1_0'",
    "0 qid:3 1:1,5": "feature 1 must be a number, got '1,5'",
    "0 qid:3 1:1e39": "'1e39' is too large for float32; scale the feature",
    "0 qid:3 4000000000:1": "feature 4000000000 would make a table of more than 1,000,000 columns",
    "0 qid: 1:1": "expected a query id as in qid:17, got 'qid:'",
    "0 qid:1 1:1\n0 1:1": r"line 2 \(row 1\): this line has no qid and the lines before have one",
    "0 1:1": r"set.txt, line 1 \(row 0\): the line has no query id; write qid:17 after each label",
    "": "set.txt holds no documents",
    "# only\n\n": "set.txt holds no documents",
    "0 qid:\ud800 1:1".encode("utf-8", "surrogatepass"): "is not UTF-8 text",
    "0 qid:1 1:1 \xff".encode("latin-1"): r"expected index:value, got '\\\\xff'",
    b"0 qid:1 1:1\x002:1": "feature 1 must be a number",
}


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_a_fault_is_one_clear_sentence(read, text):
    with pytest.raises(ValueError, match=BROKEN[text]) as error:
        read(text)
    assert "\n" not in str(error.value)


def test_a_fault_far_into_the_file_names_its_line(read):
    lines = [f"0 qid:{i // 10} 1:1 2:0.5 # docid = d{i}" for i in range(60_000)]
    lines[54_321] += " "
    lines[54_321] = "0 qid:5432 1:1 1:0.5"
    for threads in (1, 2):
        with pytest.raises(
            ValueError, match=r"line 54322 \(row 54321, query 5432\): feature 1 appears twice"
        ):
            read("\n".join(lines), threads=threads)


def test_features_beyond_the_number_given(read):
    with pytest.raises(ValueError, match="feature 3 is beyond n_features=2; raise n_features"):
        read("0 qid:1 3:1", n_features=2)
    with pytest.raises(ValueError, match="n_features is 1 or more, got 0"):
        read("0 qid:1 3:1", n_features=0)


def test_more_features_than_we_would_guess(read):
    text = "0 qid:1 1100000:inf 5:1\n" * 3
    with pytest.raises(ValueError, match="feature 1100000 would make a table of more than 1,000,000 columns"):
        read(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parser, "_ROOM", 1)
        data = read(text, n_features=1_200_000)
    assert data.X.shape == (3, 1_200_000)
    assert data.X[:, 1_099_999].tolist() == [np.inf] * 3


def test_a_table_that_grows_wider_and_longer(read):
    lines = [f"{i % 3} qid:{i // 7} {i // 40 + 1}:{i}" for i in range(8000)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parser, "_TEXT", 512)
        data = read("\n".join(lines), missing=np.nan)
    assert_same(data, naive_read("\n".join(lines).encode(), missing=np.nan))


def test_compressed_files_and_cut_ones(tmp_path):
    text = b"".join(b"%d qid:%d 1:%d.5 2:3\n" % (i % 5, i // 9, i) for i in range(5000))
    (tmp_path / "plain.txt").write_bytes(text)
    plain = read_svmlight(tmp_path / "plain.txt")
    half = len(text) // 2
    packed = {
        "gz": gzip.compress(text[:half]) + gzip.compress(text[half:]),
        "zst": zstandard.compress(text[:half]) + zstandard.compress(text[half:]),
    }
    for suffix, data in packed.items():
        path = tmp_path / f"set.{suffix}"
        path.write_bytes(data)
        assert_same(read_svmlight(path), plain)
        path.write_bytes(data[:-9])
        with pytest.raises(ValueError, match="ends in the middle of its compressed data; copy it again"):
            read_svmlight(path)
        path.write_bytes(data[:20] + b"\x00\x01\x02\x03" * 8 + data[52:])
        with pytest.raises(ValueError, match="broken compressed data"):
            read_svmlight(path)


def test_one_endless_line_fails_in_bounded_memory(tmp_path):
    path = tmp_path / "line.txt"
    with open(path, "wb") as file:
        file.write(b"1 qid:1 1:")
        file.truncate(10 << 30)  # sparse: takes no disk
    with TextSource(path, longest_line=1 << 20) as source:
        with pytest.raises(ValueError, match="a line is longer than 1,048,576 bytes; is this a text file"):
            source.fill(bytearray(1 << 16), beyond=32)
        assert source.done < 3 << 20


def test_a_long_line_is_read_whole(read):
    line = "1 qid:1 " + " ".join(f"{i}:{i}" for i in range(1, 200_001))
    data = read("2 qid:1 1:5\n" + line + "\n0 qid:2 3:1\n")
    assert data.X.shape == (3, 200_000)
    assert np.array_equal(data.X[1], np.arange(1, 200_001))


def test_several_files_are_one_set(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n")
    (tmp_path / "b.txt").write_text("1 qid:2 2:1\n0 qid:1 1:7\n")
    both = [tmp_path / "a.txt", tmp_path / "b.txt"]
    with pytest.raises(
        ValueError, match=r"query 1 is in both .*a\.txt and .*b\.txt; pass shared_queries=True"
    ):
        read_svmlight(both)
    data = read_svmlight(both, shared_queries=True)
    assert data.qid.tolist() == [1, 2]
    assert data.X.tolist() == [[1, 0], [7, 0], [0, 1]]
    with pytest.raises(ValueError, match="empty list"):
        read_svmlight([])
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_svmlight(tmp_path / "none.txt")
    with pytest.raises(ValueError, match="is a folder"):
        read_svmlight(tmp_path)


def test_lightgbm_example_as_scikit_learn_reads_it(collections):
    from sklearn.datasets import load_svmlight_file

    folder = collections / "lightgbm_lambdarank"
    for name, queries in (("rank.train", 201), ("rank.test", 50)):
        data = read_svmlight(folder / name, n_features=300)
        X, y = load_svmlight_file(str(folder / name), n_features=300)
        assert data.n_queries == queries
        assert data.lengths.tolist() == [int(n) for n in (folder / f"{name}.query").read_text().split()]
        assert np.array_equal(data.X, X.toarray().astype(np.float32))
        assert np.array_equal(data.y, y)


def test_webis_folds_as_scikit_learn_reads_them(collections):
    from sklearn.datasets import load_svmlight_file

    paths = sorted((collections / "webis_clueweb09_letor").glob("Fold*_test.txt"))
    data = read_svmlight(paths)
    assert (data.n_queries, data.n_documents, data.n_features) == (61, 26_646, 42)
    assert data.docid[0] == "clueweb09-en0006-78-20618"
    X, y, qid = load_svmlight_file(str(paths[0]), query_id=True)
    first = data.select(np.arange(len(np.unique(qid))))
    assert np.array_equal(first.X, X.toarray().astype(np.float32))
    assert np.array_equal(first.y, y)
    assert np.array_equal(first.row_qid, qid)
