"""The log keeps what it is given, however it comes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloop.clicks as clicks
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset


@st.composite
def impressions(draw, *, text=True):
    """The columns of a few pages, in a drawn order of rows."""
    pages = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    rows = []
    for session, length in enumerate(pages):
        query = draw(st.integers(0, 2))
        shown = draw(st.permutations(range(6)))[:length]
        ranks = draw(st.permutations(range(1, 8)))[:length]
        layout, ranker = draw(st.sampled_from(["phone", "desktop"])), draw(st.sampled_from(["a", "b"]))
        for document, rank in zip(shown, ranks, strict=True):
            click = draw(st.integers(0, 1))
            rows.append(
                (session, query, document, rank, click, layout, ranker, draw(st.floats(0, 99)), click * 2.5)
            )
    rows = draw(st.permutations(rows))
    names = ("session", "query", "document", "position", "click", "layout", "ranker", "dwell", "conversion")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    if text and draw(st.booleans()):
        columns["query"] = [f"q{one}" for one in columns["query"]]
        columns["document"] = [f"d,{one} ü" for one in columns["document"]]
    return columns


def as_set(log):
    """The rows of a log, whatever their order."""
    columns = [np.asarray(values).tolist() for _, values in log.columns()]
    return sorted(map(repr, zip(*columns, strict=True)))


def assert_same(one, other):
    assert [name for name, _ in one.columns()] == [name for name, _ in other.columns()]
    for (name, left), (_, right) in zip(one.columns(), other.columns(), strict=True):
        np.testing.assert_array_equal(left, right, err_msg=name)
    np.testing.assert_array_equal(one.offsets, other.offsets)


@given(impressions())
def test_nothing_is_lost_and_pages_are_whole(columns):
    log = ClickLog(**columns)
    names = [name for name, _ in log.columns()]
    rows = zip(*(columns[name] for name in names), strict=True)
    assert as_set(log) == sorted(map(repr, rows))
    for a, b in zip(log.offsets[:-1], log.offsets[1:], strict=True):
        assert len(set(log.session[a:b])) == 1
        assert len(set(log.query[a:b])) == 1
        assert np.all(np.diff(log.position[a:b]) > 0)
    assert_same(log, ClickLog(**dict(log.columns())))


@given(impressions())
def test_pairs_name_every_impression(columns):
    log = ClickLog(**columns)
    pairs = log.pairs
    np.testing.assert_array_equal(log.queries[pairs.query[pairs.code]], log.query)
    np.testing.assert_array_equal(log.documents[pairs.document[pairs.code]], log.document)
    assert len(pairs) == len(set(zip(log.query.tolist(), log.document.tolist(), strict=True)))


@given(impressions(), st.data())
def test_select_and_concat(columns, data):
    log = ClickLog(**columns)
    chosen = data.draw(st.lists(st.integers(0, log.n_pages - 1), min_size=1, max_size=8))
    part = log.select(chosen)
    assert_same(part, ClickLog.concat([log.select([one]) for one in chosen]))
    mask = np.isin(np.arange(log.n_pages), chosen)
    assert_same(log.select(mask), log.select(np.flatnonzero(mask)))


def test_concat_of_different_ids():
    one = ClickLog([1], ["q"], ["d"], [1], [0], ranker=["old"])
    other = ClickLog([1], [7], [8], [1], [1])
    both = ClickLog.concat([one, other])
    assert both.query.tolist() == ["q", "7"]
    assert both.document.tolist() == ["d", "8"]
    assert both.ranker is None


@pytest.mark.parametrize(
    "given_ids",
    [[2**63 + 1, 2**63 + 2], [2**63 + 1, 3], [2**70, 2**70 + 1], np.array([2**63, 2**63 + 1], np.uint64)],
)
def test_ids_beyond_64_bits_stay_what_they_are(given_ids):
    assert ClickLog([1, 1], ["q", "q"], given_ids, [1, 2], [0, 0]).document.tolist() == [*map(str, given_ids)]


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
@given(columns=impressions())
def test_files_give_back_what_was_written(ending, columns, tmp_path_factory):
    log = ClickLog(**columns)
    path = tmp_path_factory.mktemp("log") / f"log.{ending}"
    clicks.write_clicks(log, path)
    assert_same(clicks.read_clicks(path), log)
    counted = clicks.aggregate(path)
    assert counted.to_frame().rows() == clicks.aggregate(log).to_frame().rows()


@given(impressions())
def test_frames_of_all_kinds(columns):
    import pandas

    log = ClickLog(**columns)
    assert_same(ClickLog.from_frame(log.to_frame()), log)
    assert_same(ClickLog.from_frame(log.to_frame().lazy()), log)
    assert_same(ClickLog.from_frame(log.to_frame().to_arrow()), log)
    assert_same(ClickLog.from_frame(pandas.DataFrame(dict(log.columns()))), log)


def test_one_page_a_row(tmp_path):
    path = tmp_path / "pages.jsonl"
    path.write_text(
        '{"query": "q", "document": ["a", "b"], "click": [0, 1], "layout": "phone"}\n'
        '{"query": "q", "document": ["b"], "click": [1], "layout": "desktop"}\n'
    )
    log = clicks.read_clicks(path)
    assert log.document.tolist() == ["a", "b", "b"]
    assert log.position.tolist() == [1, 2, 1]
    assert log.layout.tolist() == ["phone", "phone", "desktop"]
    assert clicks.aggregate(path).clicks.sum() == 2


def test_a_session_with_two_queries_is_two_pages():
    assert ClickLog([1, 1], ["a", "b"], [1, 1], [1, 1], [0, 1]).n_pages == 2


def test_times_become_seconds():
    time = np.array(["2026-01-01T00:00:01.5", "NaT"], "M8[ms]")
    log = ClickLog([1, 1], ["q", "q"], [1, 2], [1, 2], [0, 1], timestamp=time)
    assert log.timestamp[0] == 1767225601.5
    assert np.isnan(log.timestamp[1])


GOOD = {"session": [1, 1], "query": ["q", "q"], "document": ["a", "b"], "position": [1, 2], "click": [0, 1]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"click": [0, 2]}, "click is 0 or 1, got 2 in row 1"),
        ({"click": [0, np.nan]}, "click must be finite, got nan in row 1"),
        ({"position": [1, 1]}, "position 1 is taken twice on the page of session 1"),
        ({"position": [0, 1]}, "position is a whole number from 1, got 0 in row 0"),
        ({"position": [1, 1.5]}, "whole number from 1, got 1.5"),
        ({"document": ["a", None]}, "document is missing in row 1"),
        ({"query": [1.0, np.nan]}, "query is missing in row 1"),
        ({"session": [1]}, "query needs one id per impression"),
        ({"layout": ["phone", "desktop"]}, "layout differs within the page of session 1"),
        ({"propensity": [0.0, 0.5]}, r"propensity lies in \(0, 1\], got 0"),
        ({"score": [np.inf, 0.5]}, "score must be finite, got inf in row 0"),
        ({"clicks": [0, 1]}, "no column 'clicks'; its columns are session"),
        ({"dwell": ["long", "short"]}, "dwell must hold numbers, got 'long' in row 0"),
        ({"click": ["1", "no"]}, "click must hold numbers, got 'no' in row 1; write 1 and 0"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(ValueError, match=message):
        ClickLog(**{**GOOD, **change})


def test_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        clicks.read_clicks(tmp_path / "none.csv")
    (tmp_path / "log.csv").write_text("session,query,document,click\n1,q,d,0\n")
    with pytest.raises(ValueError, match="position is missing"):
        clicks.read_clicks(tmp_path / "log.csv")
    (tmp_path / "log.txt").write_text("")
    with pytest.raises(ValueError, match="is not known by its ending"):
        clicks.read_clicks(tmp_path / "log.txt")
    with pytest.raises(ValueError, match="unknown click log format 'yandx'; did you mean 'yandex'"):
        clicks.read_clicks(tmp_path / "log.txt", format="yandx")
    (tmp_path / "counts.csv").write_text("session,query,document,position,click\n1,q,d,1,3\n")
    with pytest.raises(ValueError, match="click is 0 or 1, but 1 impressions of document d"):
        clicks.aggregate(tmp_path / "counts.csv")


HEAD = "session,query,document,position,click\n"


@pytest.mark.parametrize("read", [clicks.read_clicks, clicks.aggregate])
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", "PAR1 and then nothing", "a.parquet cannot be read as parquet: "),
        ("a.jsonl", "not json\n", "a.jsonl cannot be read as jsonl: "),
        ("a.jsonl", '{"session": 1, "query": 1, "document": [1, 2], "click": [1]}\n', "lists of one page"),
        ("a.csv", "session,query,document,position\n1,1,1,1\n", "a click log needs .*; click is missing"),
        ("a.csv", "", "a.csv cannot be read as csv: "),
        ("a.csv", HEAD + "1,1,1,1,yes\n", "click.*yes"),
        ("a.csv", HEAD + "1,1,1,0,1\n", "position is a whole number from 1, got 0"),
        ("a.csv", HEAD + "1,1,,1,1\n", "document is missing in row 0"),
    ],
)
def test_broken_files_are_explained(read, name, content, message, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        read(tmp_path / name)
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        read(tmp_path / "none.csv")


def test_many_files_are_counted_together(tmp_path):
    log = ClickLog(**GOOD)
    for name in ("may", "june"):
        clicks.write_clicks(log, tmp_path / f"{name}.parquet")
    both = clicks.aggregate(tmp_path / "*.parquet")
    assert both.to_frame().rows() == (clicks.aggregate(log) + clicks.aggregate(log)).to_frame().rows()


def test_a_file_without_impressions_is_an_empty_log(tmp_path):
    (tmp_path / "a.csv").write_text(HEAD)
    assert len(clicks.read_clicks(tmp_path / "a.csv")) == len(clicks.aggregate(tmp_path / "a.csv")) == 0


@given(impressions(), impressions())
def test_aggregates_add_up_exactly(one, other):
    first, second = ClickLog(**one), ClickLog(**other)
    wanted = clicks.aggregate(ClickLog.concat([first, second]))
    summed = clicks.aggregate(first) + clicks.aggregate(second)
    assert sorted(summed.to_frame().rows()) == sorted(wanted.to_frame().rows())


@given(impressions(text=False))
def test_aggregate_against_a_dictionary(columns):
    counts = {}
    keys = zip(columns["query"], columns["document"], columns["position"], columns["click"], strict=True)
    for query, document, position, click in keys:
        shown, clicked = counts.get((query, document, position), (0, 0))
        counts[query, document, position] = shown + 1, clicked + click
    found = clicks.aggregate(ClickLog(**columns)).to_frame().rows()
    assert found == [(*key, *value) for key, value in sorted(counts.items())]


@given(impressions(text=False), st.booleans())
def test_rows_find_the_data_set(columns, with_ids):
    log = ClickLog(**columns)
    data = RankingDataset.from_groups(np.zeros((18, 1)), np.arange(18), [6, 6, 6], qid=[2, 0, 1])
    if with_ids:
        data = data.replace(docid=np.tile(np.arange(6), 3))
        row = log.rows(data)
        np.testing.assert_array_equal(data.row_qid[row], log.query)
        np.testing.assert_array_equal(data.docid[row], log.document)
    else:
        row = log.rows(data, missing="mark")
        inside = (log.document < 18) & (data.row_qid[np.minimum(log.document, 17)] == log.query)
        np.testing.assert_array_equal(row, np.where(inside, log.document, -1))


def test_rows_that_are_not_there():
    data = RankingDataset([[0.0]], [0], ["q"], docid=["a"])
    log = ClickLog(**GOOD)
    with pytest.raises(ValueError, match="document b of query q is in the log but not in the data set"):
        log.rows(data)
    assert log.rows(data, missing="mark").tolist() == [0, -1]
    with pytest.raises(
        ValueError, match=r"query r of the log is not in the data set, whose queries are q \(2 pairs"
    ):
        ClickLog([1, 2, 3], ["r", "r", "q"], ["a", "b", "a"], [1, 1, 1], [0, 0, 0]).rows(data)
    assert ClickLog([1], [3], ["a"], [1], [0]).rows(data, missing="mark").tolist() == [-1]


def test_rows_by_number_may_be_written_as_text():
    data = RankingDataset([[0.0]] * 3, [0, 0, 0], ["q"] * 3)
    log = ClickLog([1] * 5, ["q"] * 5, ["2", "0", "x", "3", "99999999999999999999"], [1, 2, 3, 4, 5], [0] * 5)
    assert log.rows(data, missing="mark").tolist() == [2, 0, -1, -1, -1]
    with pytest.raises(ValueError, match="it has no docids, so documents are row numbers from 0 to 2"):
        log.rows(data)


def test_split_parts_are_whole():
    log = ClickLog(np.repeat(np.arange(10), 2), [0] * 20, [1, 2] * 10, [1, 2] * 10, [0, 1] * 10)
    parts = log.split(0.7, seed=1)
    assert [part.n_pages for part in parts] == [7, 3]
    assert sorted(np.concatenate([part.sessions for part in parts])) == list(range(10))
