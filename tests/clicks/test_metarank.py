"""Metarank's events, in and out."""

import json
from collections import Counter

import numpy as np
import pytest

from rankloop.clicks import ClickLog, read_clicks, read_metarank, write_metarank

RANKING = {
    "event": "ranking",
    "id": "r1",
    "timestamp": "1599391467000",
    "user": "u1",
    "session": "s1",
    "fields": [{"name": "query", "value": "cat"}],
    "items": [{"id": "i3", "fields": [{"name": "relevancy", "value": 2.0}], "label": 1.0}, {"id": "i1"}],
}
CLICK = {
    "event": "interaction",
    "id": "x1",
    "ranking": "r1",
    "timestamp": "1599391470000",
    "user": "u1",
    "type": "click",
    "item": "i1",
}
ITEM = {"event": "item", "id": "e1", "timestamp": "1599391467000", "item": "i1", "fields": []}


def test_events():
    left_out = Counter()
    events = [CLICK, ITEM, RANKING, CLICK | {"ranking": ""}, CLICK | {"item": "i9"}]
    log = read_metarank(events, skipped=left_out)
    assert log.document.tolist() == ["i3", "i1"]
    assert log.click.tolist() == [0, 1]
    assert log.query.tolist() == ["cat", "cat"]
    assert log.user.tolist() == ["u1", "u1"]
    assert log.timestamp.tolist() == [1599391467.0] * 2
    assert left_out == {
        "item events": 1,
        "interactions without ranking": 1,
        "interactions with an unknown ranking or item": 1,
    }


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (
            {"event": "rating"},
            "record 1, event: wanted one of interaction, item, ranking, user, got 'rating'",
        ),
        (RANKING | {"id": ""}, "record 1, id: every ranking has an id"),
        (RANKING | {"items": ["i1"]}, "record 1, items: wanted items with ids"),
        (RANKING | {"fields": ["i1"]}, "record 1, fields: wanted names and values"),
        (RANKING | {"timestamp": "now"}, "record 1, timestamp: wanted milliseconds since 1970, got 'now'"),
        (CLICK | {"type": None}, "record 1, item: an interaction has an item and a type"),
    ],
)
def test_mistakes_name_record_and_field(wrong, reason):
    with pytest.raises(ValueError, match=reason):
        read_metarank([wrong, RANKING])
    with pytest.warns(UserWarning, match="1 records were skipped"):
        assert read_metarank([wrong, RANKING], on_error="skip").n_pages == 1


def test_written_and_read_back(tmp_path):
    rng = np.random.default_rng(0)
    pages = np.repeat(np.arange(20), 5)
    click = rng.integers(0, 2, 100)
    log = ClickLog(
        pages,
        [f"query {page % 3}" for page in pages],
        np.tile(list("abcde"), 20),
        np.tile(np.arange(1, 6), 20),
        click,
        conversion=click * rng.integers(0, 2, 100),
        user=[f"u{page}" for page in pages],
        timestamp=pages + 0.25,
    )
    path = tmp_path / "events.jsonl"
    write_metarank(log, path)
    back = dict(read_clicks(path, format="metarank").columns())
    for name, values in log.columns():
        np.testing.assert_array_equal(back[name].astype(values.dtype), values)


def test_what_cannot_be_said(tmp_path):
    with pytest.raises(ValueError, match="page of session 1 lacks some positions"):
        write_metarank(ClickLog([1, 1], ["q", "q"], ["a", "b"], [1, 3], [0, 1]), tmp_path / "x")
    with pytest.raises(ValueError, match="hold no ranking event"):
        read_metarank([ITEM], skipped=Counter())


def test_read_clicks_tells_metarank_by_its_content(tmp_path):
    path = tmp_path / "events.jsonl"
    shown = {"event": "ranking", "id": "r1", "items": [{"id": "i3"}, {"id": "i1"}]}
    done = {"event": "interaction", "id": "x", "ranking": "r1", "type": "click", "item": "i1"}
    path.write_text("".join(json.dumps(one) + "\n" for one in (shown, done)))
    assert read_clicks(path).click.tolist() == [0, 1]
    path.write_text('{"action_name": "click", "timestamp": "2026-03-01T10:00:00Z"}\n')
    with pytest.raises(ValueError, match="one of the two files of UBI"):
        read_clicks(path)
