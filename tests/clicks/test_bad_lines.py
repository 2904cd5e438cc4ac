"""One bad line of a click log is one skipped line."""

from collections import Counter

import pytest

from rankloop.clicks import read_clicks

HEAD = "session,query,document,position,click\n"
GOOD = ["1,shoes,a,1,0", "1,shoes,b,2,1", '2,"red, hat",c,1,1', "3,shoes,a,1,0"]
BAD = [
    "2,hat,c",
    "2,hat,c,first,1",
    "2,hat,,1,1",
    "2,hat,c,1,1,9",
    "2,hat,c,0,1",
    "2,hat,c,1,often",
    "2,hat,c,1.5,1",
]


def test_bad_lines_of_csv_are_counted_and_the_others_read(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(HEAD + "\n".join([*GOOD[:2], *BAD, "", *GOOD[2:]]) + "\n")
    skipped = Counter()
    log = read_clicks(path, on_error="skip", skipped=skipped)
    assert (log.n_pages, len(log), int(log.click.sum())) == (3, 4, 2)
    assert skipped.total() == len(BAD)
    path.write_text(HEAD + "\n".join(GOOD) + "\n")
    assert (read_clicks(path).to_frame() == log.to_frame()).to_numpy().all()
    path.write_text(HEAD + "\n".join([*GOOD, BAD[1]]) + "\n")
    with pytest.raises(ValueError, match=r"log\.csv|position"):
        read_clicks(path)


def test_bad_lines_of_json_are_counted_and_the_others_read(tmp_path):
    good = '{"session": 1, "query": "q", "document": ["a", "b"], "click": [0, 1]}'
    bad = [
        '{"session": 1, "query": "q", "docu',
        "[1, 2]",
        '{"session": 2, "query": "q", "document": ["a", "b"], "click": [0]}',
        '{"session": 2, "query": null, "document": ["a"], "click": [0]}',
        '{"session": 2, "query": "q", "document": ["a"], "click": ["yes"]}',
        '{"session": 2, "query": "q", "document": ["a"], "click": [NaN]}',
    ]
    path = tmp_path / "log.jsonl"
    path.write_bytes("\n".join([bad[0], good, *bad[1:]]).encode() + b"\n\xff\xfe\n")
    with pytest.warns(UserWarning, match=r"7 records were skipped"):
        log = read_clicks(path, on_error="skip")
    assert (log.n_pages, len(log), int(log.click.sum())) == (1, 2, 1)
    path.write_text("\n".join(bad))
    with pytest.raises(ValueError, match="no line that is a record"):
        read_clicks(path, on_error="skip", skipped=Counter())


def test_what_cannot_be_skipped_is_said(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("x")
    with pytest.raises(ValueError, match="for CSV and JSON lines"):
        read_clicks(path, format="yandex", on_error="skip")
    with pytest.raises(ValueError, match="on_error"):
        read_clicks(path, format="csv", on_error="ignore")


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    path = tmp_path / "log.jsonl"
    line = '{"session": 1, "query": "q", "document": "a", "position": 1, "click": 1}\n'
    path.write_bytes(line.encode("utf-8-sig"))
    skipped = Counter()
    for log in (read_clicks(path), read_clicks(path, on_error="skip", skipped=skipped)):
        assert len(log) == 1
    assert not skipped
