"""Features in the answers of search engines."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data import Qrels, read_ltr_log

NAMES = ["title_bm25", "price(x,y)"]


def plugin(documents, name="log1"):
    """OpenSearch's: a feature without value is missing."""
    hits = [
        {
            "_id": document,
            "fields": {
                "_ltrlog": [
                    {
                        name: [
                            {"name": n} if np.isnan(v) else {"name": n, "value": v} for n, v in values.items()
                        ]
                    }
                ]
            },
        }
        for document, values in documents.items()
    ]
    return {"took": 3, "hits": {"total": {"value": 1}, "hits": hits}}


def native(documents):
    """Elasticsearch's own: scores of the named queries that match."""
    hits = [
        {"_id": document, "matched_queries": {n: v for n, v in values.items() if not np.isnan(v)}}
        for document, values in documents.items()
    ]
    return {"hits": {"hits": hits}}


def vespa(documents):
    children = [
        {"id": f"id:shop:item::{document}", "fields": {"matchfeatures": {**values, "vespa.cached": 0}}}
        for document, values in documents.items()
    ]
    return {"root": {"id": "top", "children": [{"id": "group:root", "children": children}]}}


ROWS = st.dictionaries(
    st.text("abc:1", min_size=1, max_size=4),
    st.fixed_dictionaries({name: st.floats(width=32, allow_infinity=False) for name in NAMES}),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("answered", [plugin, native, vespa])
@given(first=ROWS, second=ROWS)
def test_the_values_of_every_engine(answered, first, second):
    answers = {"q1": answered(first), "q2": answered(second)}
    known = {name for rows in (first, second) for values in rows.values() for name in values}
    if answered is native:
        known = {
            name
            for rows in (first, second)
            for values in rows.values()
            for name, value in values.items()
            if not np.isnan(value)
        }
    if known != set(NAMES):
        return
    data = read_ltr_log(answers, features=NAMES)
    wanted = [[values[name] for name in NAMES] for rows in (first, second) for values in rows.values()]
    np.testing.assert_array_equal(data.X, np.array(wanted, np.float32))
    assert data.docid.tolist() == [*first, *second]
    assert data.qid.tolist() == ["q1", "q2"]


def test_solr():
    docs = [
        {"id": "17", "score": 1.0, "[features]": "title_bm25=4.2,price=80.0"},
        {"id": 4, "[features]": "price=1.0E-3"},
    ]
    data = read_ltr_log([{"response": {"numFound": 2, "docs": docs}}], queries={"q": "red shoes"})
    np.testing.assert_array_equal(data.X, np.array([[4.2, 80], [0, 1e-3]], np.float32))
    assert data.docid.tolist() == ["17", "4"]
    assert data.query_text.tolist() == ["red shoes"]


def test_labels_and_unjudged_documents():
    answers = {"q": plugin({"a": {"x": 1.0}, "b": {"x": 2.0}, "c": {"x": 3.0}})}
    qrels = Qrels(["q", "q"], ["b", "c"], [3, -2])
    left_out = Counter()
    assert read_ltr_log(answers, qrels, skipped=left_out).y.tolist() == [0, 3, 0]
    assert left_out == {"documents without judgment": 1}
    assert read_ltr_log(answers, qrels, unjudged="drop").docid.tolist() == ["b", "c"]
    assert read_ltr_log(answers).y.tolist() == [0, 0, 0]


def test_ids_that_never_match_are_said():
    answers = {"q": plugin({"id:shop:doc::1": {"x": 1.0}})}
    with pytest.warns(UserWarning, match="no document is judged.*'id:shop:doc::1', the judgments like '1'"):
        assert read_ltr_log(answers, {"q": {"1": 2}}).y.tolist() == [0]


def test_files(tmp_path):
    first, second = plugin({"a": {"x": 1.0}}), plugin({"b": {"x": 2.0}})
    path = tmp_path / "answers.json"
    path.write_text(json.dumps({"responses": [first, second]}))
    wanted = (["1", "2"], ["a", "b"])
    data = read_ltr_log(path, queries=["1", "2"])
    assert (data.qid.tolist(), data.docid.tolist()) == wanted
    lines = [{"qid": 1, "query": "tv", "answer": first}, {"qid": 2, "query": "pc", "answer": second}]
    path.write_text("\n".join(map(json.dumps, lines)))
    data = read_ltr_log(path)
    assert (data.qid.tolist(), data.docid.tolist()) == wanted
    assert data.query_text.tolist() == ["tv", "pc"]
    path.write_text(json.dumps(first) + "\n{oops")
    with pytest.raises(ValueError, match=r"answers.json, line 2 is not JSON"):
        read_ltr_log(path, queries=["1"])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"error": "timeout"}, "record 1, answer: wanted an answer of OpenSearch .* an object with error"),
        ({"hits": {"hits": [{"_id": "a"}]}}, "document 'a' has no features; ask with ext.ltr_log"),
        (
            {"response": {"docs": [{"id": "a"}]}},
            r"document 'a' has no features; ask with fl=id,score,\[features\]",
        ),
        ({"response": {"docs": [{"[features]": ""}]}}, "a document of Solr has no id"),
        ({"response": {"docs": [{"id": "a", "[features]": "x"}]}}, "wanted name=value in .*, got 'x'"),
        ({"response": {"docs": [{"id": "a", "[features]": "x=y"}]}}, "'x' must be a number, got 'y'"),
        ({"root": {"children": [{"id": "a", "fields": {}}]}}, "'a' has no features; add match-features"),
    ],
)
def test_answers_without_features(answer, reason):
    with pytest.raises(ValueError, match=reason):
        read_ltr_log({"q": answer})
    left_out = Counter()
    answers = {"q": answer, "good": plugin({"b": {"x": 1.0}})}
    assert read_ltr_log(answers, on_error="skip", skipped=left_out).docid.tolist() == ["b"]
    assert left_out.total() == 1


def test_other_mistakes():
    one = plugin({"a": {"x": 1.0}})
    with pytest.raises(
        ValueError, match="record 1, qid: the query of this answer is not known; pass queries="
    ):
        read_ltr_log([one])
    with pytest.raises(ValueError, match="queries has 2 ids, and there are 1 answers"):
        read_ltr_log([one], queries=["1", "2"])
    with pytest.raises(ValueError, match="no answer has the feature 'z'; it has x"):
        read_ltr_log([one], queries=["1"], features=["z"])
    both = plugin({"a": {"x": 1.0}})
    both["hits"]["hits"][0]["fields"]["_ltrlog"][0]["log2"] = [{"name": "y", "value": 2.0}]
    with pytest.raises(ValueError, match="has the logs log1, log2; choose one with log="):
        read_ltr_log([both], queries=["1"])
    assert read_ltr_log([both], queries=["1"], log="log2").feature_names == ("y",)
    with pytest.raises(ValueError, match="hold no document with features"):
        read_ltr_log([{"hits": {"hits": []}}], queries=["1"])


GOOD = plugin({"7": {"a": 1.0}})
BROKEN = [
    3,
    None,
    "text",
    {"hits": {"hits": [3]}},
    {"hits": {"hits": [{"_id": "7", "fields": {"_ltrlog": [3]}}]}},
    {"hits": {"hits": [{"_id": "7", "fields": {"_ltrlog": [{"log1": [{"value": 2}]}]}}]}},
    {"response": {"docs": [None]}},
    {"root": {"children": [3]}},
    {"qid": "x", "answer": 3},
    {"responses": 3},
]


@pytest.mark.parametrize("broken", BROKEN, ids=range(len(BROKEN)))
def test_what_is_no_answer_is_named_or_skipped_and_keeps_its_turn(broken, tmp_path):
    """The answers after it still belong to their own queries."""
    own = isinstance(broken, dict) and "qid" in broken
    queries = ["q1", "q2"] if own else ["q1", "bad", "q2"]
    given = [GOOD, broken, GOOD]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in given))
    for source in (given, path):
        with pytest.raises(ValueError, match="record 2"):
            read_ltr_log(source, queries=queries)
        skipped = Counter()
        data = read_ltr_log(source, queries=queries, on_error="skip", skipped=skipped)
        assert data.qid.tolist() == ["q1", "q2"]
        assert sum(skipped.values()) == 1


def test_a_line_that_is_not_json_keeps_its_turn(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n{{cut\n{json.dumps(GOOD)}\n")
    with pytest.raises(ValueError, match="line 2 is not JSON"):
        read_ltr_log(path, queries=["q1", "q2", "q3"])
    data = read_ltr_log(path, queries=["q1", "q2", "q3"], on_error="skip", skipped=Counter())
    assert data.qid.tolist() == ["q1", "q3"]


def test_a_mapping_with_a_wrong_answer():
    with pytest.raises(ValueError, match="record 2, q2: wanted an answer"):
        read_ltr_log({"q1": GOOD, "q2": [GOOD]})
    assert read_ltr_log({"q1": GOOD, "q2": 3}, on_error="skip", skipped=Counter()).qid.tolist() == ["q1"]


def test_a_log_that_is_not_utf_8(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"hits": {}}\n{"hits": "\xe9"}\n')
    with pytest.raises(ValueError, match=r"log\.jsonl, line 2: byte 0xe9 is not UTF-8 text; convert"):
        read_ltr_log(path, queries=["q1", "q2"])
