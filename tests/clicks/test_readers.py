"""Other people's formats."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloop.clicks as clicks
from rankloop.clicks.read_graphcm import read_graphcm_grades

PAGE = st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True)


def test_yandex(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(
        "1\t0\tQ\t10\t7\t100\t101\t102\n"
        "1\t4\tC\t101\n"
        "1\t9\tC\t999\n"  # not shown
        "2\t0\tQ\t10\t7\t100\t101\n"
        "1\t20\tQ\t10\t7\t101\t100\n"  # the same query again
        "1\t25\tC\t100\n"
        "1\t26\tC\t100\n"  # a repeated click
    )
    log = clicks.read_clicks(path, format="yandex")
    assert log.n_pages == 3
    assert log.sessions.tolist() == ["1.1", "2.1", "1.2"]
    assert log.click.tolist() == [0, 1, 0, 0, 0, 0, 1]
    assert log.dwell[log.click == 1].tolist() == [5.0, 1.0]
    assert log.user.tolist() == ["1", "1", "1", "2", "2", "1", "1"]
    assert log.query.tolist() == ["10"] * 7


@pytest.mark.parametrize("line", ["1\t0\tX\t10", "1\t0\tQ", "1\tlater\tC\t10"])
def test_yandex_bad_lines(tmp_path, line):
    (tmp_path / "log.txt").write_text(line + "\n")
    with pytest.raises(ValueError, match="line 1"):
        clicks.read_yandex(tmp_path / "log.txt")


@given(pages=st.lists(st.tuples(st.integers(1, 3), PAGE)))
def test_yandex_pages_round_trip(pages, tmp_path_factory):
    path = tmp_path_factory.mktemp("yandex") / "log.txt"
    lines = [
        "\t".join(map(str, [session, i, "Q", 5, 0, *documents]))
        for i, (session, documents) in enumerate(pages)
    ]
    path.write_text("".join(line + "\n" for line in lines))
    log = clicks.read_yandex(path)
    assert log.n_pages == len(pages)
    for page, (session, documents) in enumerate(pages):
        a, b = log.offsets[page : page + 2]
        assert log.document[a:b].tolist() == [str(one) for one in documents]
        assert log.sessions[page].split(".")[0] == str(session)


def test_graphcm(tmp_path):
    path = tmp_path / "pages.txt"
    path.write_text("5\t1\t[7, 8, 0]\t[1, 1, 0]\t[0, 1, 0]\n5\t2\t[8]\t[1]\t[0]\n")
    log = clicks.read_clicks(path, format="graphcm")
    assert log.document.tolist() == [7, 8, 8]
    assert log.sessions.tolist() == ["5.1", "5.2"]
    with pytest.raises(ValueError, match="no sixth column"):
        read_graphcm_grades(path)
    path.write_text("5\t1\t[7, 8]\t[1, 1]\t[0, 1]\t[2, 0]\n")
    assert read_graphcm_grades(path)[1].tolist() == [2, 0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("5\t1\t[7]", "has 3 columns"),
        ("5\t1\t[7\t[1]\t[0]", "are lists like"),
        ("5\t1\t[7, 8]\t[1, 1]\t[0]", "different lengths"),
    ],
)
def test_graphcm_bad_lines(tmp_path, line, message):
    (tmp_path / "pages.txt").write_text(line + "\n")
    with pytest.raises(ValueError, match=message):
        clicks.read_graphcm(tmp_path / "pages.txt")


def test_trec_xml(tmp_path):
    path = tmp_path / "sessions.xml"
    page = (
        '<interaction num="{n}"><query> big  cats </query><results><result rank="1"><url>u1</url></result>'
        '<result rank="2"><url>u2</url></result></results>{clicked}</interaction>'
    )
    clicked = (
        '<clicked><click num="1" starttime="0:01:10" endtime="0:02:00.5"><rank>1</rank></click></clicked>'
    )
    body = page.format(n=1, clicked=clicked) + page.format(n=2, clicked="")
    path.write_text(f'<sessiontrack2013><session num="9">{body}</session></sessiontrack2013>')
    log = clicks.read_clicks(path, format="trec")
    assert log.sessions.tolist() == ["9.1", "9.2"]
    assert set(log.query) == {"big cats"}
    assert log.click.tolist() == [1, 0, 0, 0]
    assert log.dwell[0] == 50.5
    path.write_text("<broken")
    with pytest.raises(ValueError, match="is not XML"):
        clicks.read_trec_sessions(path)
    path.write_text("<sessiontrack/>")
    with pytest.raises(ValueError, match="no interaction with results"):
        clicks.read_trec_sessions(path)


QUERIES = [
    {"query_id": "1", "user_query": "tv", "client_id": "u", "query_response_hit_ids": ["a", "b", "c"]},
    {"query_id": "2", "user_query": "tv", "client_id": "v"},
    {"query_id": "3", "user_query": "nothing"},
]


def event(query, action, document, ordinal=None):
    details = {"object": {"object_id": document}, "position": {"ordinal": ordinal}}
    return {"query_id": query, "action_name": action, "event_attributes": details}


EVENTS = [
    event("1", "click", "b"),
    event("1", "purchase", "c"),
    event("1", "hover", "a"),
    event("2", "impression", "z", 2),
    event("2", "impression", "y", 1),
    event("2", "click", "y"),
    event("9", "click", "a"),
    {"query_id": "1", "action_name": "on_search"},
]


@pytest.mark.parametrize("form", ["list", "lines", "array", "response"])
def test_ubi(form, tmp_path):
    def stored(records, name):
        if form == "list":
            return records
        path = tmp_path / name
        if form == "lines":
            path.write_text("\n".join(json.dumps(one) for one in records))
        elif form == "array":
            path.write_text(json.dumps(records))
        else:
            path.write_text(json.dumps({"hits": {"hits": [{"_source": one} for one in records]}}))
        return path

    log = clicks.read_ubi(stored(QUERIES, "queries.json"), stored(EVENTS, "events.json"))
    assert log.document.tolist() == ["a", "b", "c", "y", "z"]
    assert log.click.tolist() == [0, 1, 1, 1, 0]
    assert log.conversion.tolist() == [0, 0, 1, 0, 0]
    assert log.user.tolist() == ["u", "u", "u", "v", "v"]


def test_ubi_bad_input(tmp_path):
    with pytest.raises(ValueError, match="no query has the results that were shown"):
        clicks.read_ubi(QUERIES[2:], [])
    with pytest.raises(ValueError, match="left out: 1 queries without user_query"):
        clicks.read_ubi([{"query_id": "1", "query_response_hit_ids": ["a"]}], [])
    (tmp_path / "x.json").write_text('{"a": 1}\n{"a": \n')
    with pytest.raises(ValueError, match="line 2 is not JSON"):
        clicks.read_ubi(tmp_path / "x.json", [])


def test_trec_sessions_of_2014(collections):
    """The counts that the collection's own page gives."""
    folder = collections / "trec_session2014_graphcm"
    logs = [clicks.read_graphcm(folder / f"{part}_per_query_quid.txt") for part in ("train", "valid", "test")]
    assert sum(log.n_pages for log in logs) == 3596
    assert sum(int(log.click.sum()) for log in logs) == 1610
    graded, grades = read_graphcm_grades(folder / "human_label_for_GraphCM_per_query_quid.txt")
    assert graded.n_pages == 856
    assert len(grades) == len(graded)
    train, _, test = logs
    found = {
        name: clicks.model(name)().fit(train).perplexity(test).overall
        for name in ("globalctr", "rankctr", "pbm")
    }
    assert found["rankctr"] < found["globalctr"]
    assert found["pbm"] < found["globalctr"]
    assert np.isfinite(found["pbm"])
