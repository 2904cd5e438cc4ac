"""User Behavior Insights 1.3: what the schema allows, what is kept, and the way back."""

import gzip
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.clicks import ClickLog, read_ubi, write_ubi

PAGE = {
    "query_id": "q-1",
    "client_id": "c-9",
    "application": "shop",
    "user_query": "red shoes",
    "timestamp": "2026-03-01T10:00:00Z",
    "object_id_field": "sku",
    "query_response_id": "r-1",
    "query_response_hit_ids": ["17", "4"],
    "query_attributes": {"experiment_id": "v2"},
}


def event(action, document=None, at="10:00:07", ordinal=None, **more):
    details = {}
    if document is not None:
        details["object"] = {"object_id": document}
    if ordinal is not None:
        details["position"] = {"ordinal": ordinal}
    when = f"2026-03-01T{at}Z"
    return {"query_id": "q-1", "action_name": action, "timestamp": when, "event_attributes": details} | more


def test_everything_known_is_kept():
    events = [
        event("impression", 17, "10:00:01", 1),
        event("click", 17, "10:00:07", 1, session_id="s-3"),
        event("impression", 4, "10:00:09", 2),
        event("page_exit", None, "10:00:52.5"),
    ]
    log = read_ubi([PAGE], events)
    assert log.document.tolist() == ["17", "4"]
    assert log.click.tolist() == [1, 0]
    assert set(log.user) == {"s-3"}
    assert set(log.layout) == {"shop"}
    assert set(log.ranker) == {"v2"}
    assert log.timestamp.tolist() == [1772359200.0] * 2  # 2026-03-01 10:00:00 UTC
    assert log.dwell[0] == 45.5  # from the click to the exit; a view of another result is no action
    assert np.isnan(log.dwell[1])


def test_what_the_schema_allows_to_be_missing_is_counted():
    queries = [PAGE, {"user_query": "x"}, {"query_id": "q-2"}, {"query_id": "q-3", "user_query": "tv"}]
    events = [
        {"action_name": "page_exit", "timestamp": "2026-03-01T10:00:00Z"},
        event("click", "4"),
        event("login"),
        event("click", "4", query_id="q-99"),
    ]
    left_out = Counter()
    log = read_ubi(queries, events, skipped=left_out)
    assert log.click.tolist() == [0, 1]
    assert left_out == {
        "queries without query_id": 1,
        "queries without user_query": 1,
        "queries without results": 1,
        "events without query_id": 1,
        "events without document": 1,
        "events of unknown queries": 1,
    }


def test_the_other_name_of_the_results():
    page = {name: value for name, value in PAGE.items() if name != "query_response_hit_ids"}
    log = read_ubi([page | {"query_response_objects_ids": [3, 1, 3]}], [event("click", 1)])
    assert log.document.tolist() == ["3", "1"]
    assert log.click.tolist() == [0, 1]


def test_views_show_results_too():
    page = {"query_id": "q-1", "user_query": "tv"}
    events = [event("view", "a", ordinal=1), event("seen", "b", ordinal=2), event("click", "a")]
    assert read_ubi([page], events).document.tolist() == ["a"]
    assert read_ubi([page], events, shown=["seen"]).document.tolist() == ["b"]


def test_arrays_on_lines_bulk_bodies_and_packed_files(tmp_path):
    """As ubi.js posts them, and as OpenSearch takes them."""
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(gzip.compress(f"[{json.dumps(event('click', '4'))}]\n".encode()))
    bulk = tmp_path / "queries.bulk"
    bulk.write_text(f'{{"index": {{"_index": "ubi_queries"}}}}\n{json.dumps(PAGE)}\n')
    assert read_ubi(bulk, path).click.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("queries", "events", "reason"),
    [
        (
            [PAGE | {"timestamp": "yesterday"}],
            [],
            r"record 1, timestamp: wanted a time such as .* 'yesterday'",
        ),
        ([PAGE | {"query_response_hit_ids": "17"}], [], "record 1, query_response_hit_ids: wanted a list"),
        ([PAGE | {"query_attributes": 3}], [], "record 1, query_attributes: wanted an object, got 3"),
        ([PAGE], [event("click", "4"), event("")], "record 2, action_name: every event has an action"),
        (
            [PAGE],
            [event("click") | {"event_attributes": [1]}],
            "record 1, event_attributes: wanted an object",
        ),
        ([PAGE], ["text"], "record 1, record: wanted a JSON object, got 'text'"),
        (
            [{"query_id": "q-1", "user_query": "tv"}],
            [event("view", "a", ordinal=0)],
            "record 1, event_attributes.position.ordinal: wanted a whole number from 1, got 0",
        ),
        (
            [{"query_id": "q-1", "user_query": "tv"}],
            [event("view", "a", ordinal=1), event("view", "b", ordinal=1)],
            "record 2, .*: position 1 of query q-1 already shows 'a'; drop one",
        ),
    ],
)
def test_mistakes_name_record_and_field(queries, events, reason):
    with pytest.raises(ValueError, match=reason):
        read_ubi(queries, events)
    good = [PAGE | {"query_id": "fine"}]
    with pytest.warns(UserWarning, match="1 records were skipped"):
        assert read_ubi(queries + good, events, on_error="skip").n_pages >= 1
    left_out = Counter()
    read_ubi(queries + good, events, on_error="skip", skipped=left_out)  # told: no warning
    assert left_out.total() >= 1


def test_damaged_lines(tmp_path):
    path = tmp_path / "queries.jsonl"
    path.write_text(f'{{"query_id"\n{json.dumps(PAGE)}\n{{"a": \n')
    with pytest.raises(ValueError, match="neither JSON nor JSON lines"):
        read_ubi(path, [])
    left_out = Counter()
    assert read_ubi(path, [], on_error="skip", skipped=left_out).n_pages == 1
    assert left_out == {"a line is not JSON": 2}


def test_half_a_letter_is_named_or_skipped(tmp_path):
    """A collector that cuts a text by its units leaves half of an emoji, which no file can hold."""
    path = tmp_path / "queries.jsonl"
    other = PAGE | {"query_id": "2", "user_query": "tv \ud83d"}
    path.write_text(f"{json.dumps(PAGE)}\n{json.dumps(other)}\n")
    with pytest.raises(ValueError, match="record 2, record: a text holds half a letter"):
        read_ubi(path, [])
    left_out = Counter()
    log = read_ubi(path, [], on_error="skip", skipped=left_out)
    assert (log.n_pages, left_out.total()) == (1, 1)
    path.write_text(json.dumps([PAGE, PAGE | {"query_id": "2", "user_query": "tv \U0001f600"}], indent=1))
    assert read_ubi(path, []).n_pages == 2


def test_a_byte_order_mark_inside_a_packed_file(tmp_path):
    path = tmp_path / "queries.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(PAGE).encode("utf-8-sig")))
    assert read_ubi(path, []).n_pages == 1


@st.composite
def logs(draw):
    pages = draw(st.integers(1, 4))
    columns = {name: [] for name in ("session", "query", "document", "position", "click", "conversion")}
    more = {name: [] for name in ("user", "layout", "ranker", "timestamp", "dwell")}
    for page in range(pages):
        ids = draw(st.lists(st.sampled_from("abcdé"), unique=True, min_size=1, max_size=5))
        skip = draw(st.integers(0, 1))
        about = [draw(st.sampled_from(names)) for names in (["u", "v"], ["web", "app"], ["x", "y"])]
        when = draw(st.integers(0, 4_000_000_000))
        for rank, document in enumerate(ids, 1 + skip):
            clicked = draw(st.integers(0, 1))
            bought = draw(st.sampled_from([0.0, 1.0, 2.5])) if clicked else 0.0
            row = (f"s{page}", draw(st.just(f"query {page % 2}")), document, rank, clicked, bought)
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
            dwell = draw(st.sampled_from([0.5, 30.0])) if clicked else float("nan")
            for name, value in zip(more, (*about, float(when), dwell), strict=True):
                more[name].append(value)
    return ClickLog(**columns, **more)


@given(log=logs(), bulk=st.booleans())
@settings(max_examples=60, deadline=None)
def test_written_and_read_back(tmp_path_factory, log, bulk):
    folder = tmp_path_factory.mktemp("ubi")
    write_ubi(log, folder / "queries.jsonl", folder / "events.jsonl", bulk=bulk)
    back = dict(read_ubi(folder / "queries.jsonl", folder / "events.jsonl").columns())
    for name, values in log.columns():
        if name == "dwell" and np.isnan(values).all():
            assert name not in back
            continue
        np.testing.assert_array_equal(back[name].astype(values.dtype), values)


def test_every_written_record_has_the_required_fields(tmp_path):
    log = ClickLog([1, 1, 2], ["tv", "tv", "pc"], ["a", "b", "a"], [1, 2, 3], [1, 0, 1])
    with pytest.raises(ValueError, match="every event of UBI has a time"):
        write_ubi(log, tmp_path / "q", tmp_path / "e")
    assert list(tmp_path.iterdir()) == []
    write_ubi(log, tmp_path / "q", tmp_path / "e", timestamp=1772359200)
    queries = [json.loads(line) for line in (tmp_path / "q").read_text().splitlines()]
    events = [json.loads(line) for line in (tmp_path / "e").read_text().splitlines()]
    assert queries[0] == {
        "query_id": "1",
        "timestamp": "2026-03-01T10:00:00Z",
        "user_query": "tv",
        "query_response_hit_ids": ["a", "b"],
    }
    assert [one["action_name"] for one in events] == ["click", "impression", "click"]
    assert all({"action_name", "timestamp"} <= set(one) for one in events)
    assert events[1]["event_attributes"] == {"object": {"object_id": "a"}, "position": {"ordinal": 3}}


def test_pages_of_one_session_get_names_of_their_own(tmp_path):
    log = ClickLog([1, 1], ["tv", "pc"], ["a", "b"], [1, 1], [1, 0])
    write_ubi(log, tmp_path / "q", tmp_path / "e", timestamp=0)
    assert read_ubi(tmp_path / "q", tmp_path / "e").n_pages == 2
