"""One record with anything wrong in it, for every reader: an error that names it, or a record the less."""

import copy
import json
from collections import Counter, namedtuple
from types import SimpleNamespace

import pytest

from rankloop.clicks import read_metarank, read_ubi
from rankloop.data import (
    from_ir_datasets,
    from_sentence_transformers,
    read_beir,
    read_judgments,
    read_ltr_log,
    read_msmarco,
    read_triples,
)

WRONG = (None, "", "x", 7, -1, True, [], {}, [None], {"a": 1}, [[1]], float("inf"), [{"a": []}])


def judgments(form, wrap):
    def read(records, folder, **options):
        (folder / "judgments").write_text(json.dumps(wrap(records)))
        return len(read_judgments(folder / "judgments", format=form, **options))

    return read


def beir(part):
    def read(records, folder, **options):
        files = {
            "corpus": [{"_id": "d1", "text": "x"}],
            "queries": [{"_id": "q1", "text": "y"}, {"_id": "q2", "text": "y"}],
        } | {part: records}
        for name, rows in files.items():
            (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
        (folder / "qrels").mkdir(exist_ok=True)
        (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td1\t2\n")
        return len(read_beir(folder, **options).queries)

    return read


def ir_dataset(method):
    def read(records, folder, **options):
        given = {
            "docs_iter": [{"doc_id": "d1", "text": "x"}],
            "queries_iter": [{"query_id": "q1", "text": "y"}, {"query_id": "q2", "text": "y"}],
            "qrels_iter": [{"query_id": "q2", "doc_id": "d1", "relevance": 1}],
        } | {method: records}
        made = {name: [as_tuple(one) for one in rows] for name, rows in given.items()}
        source = SimpleNamespace(**{name: lambda rows=rows: rows for name, rows in made.items()})
        return len(from_ir_datasets(source, **options).queries)

    return read


def as_tuple(record):
    if not isinstance(record, dict) or not all(str(name).isidentifier() for name in record):
        return record
    return namedtuple("Record", record)(**record)


def of_ubi(part):
    def read(records, folder, **options):
        given = {"queries": [QUERY, QUERY | {"query_id": "2"}], "events": [EVENT]} | {part: records}
        return len(read_ubi(given["queries"], given["events"], **options))

    return read


def shown_by_events(records, folder, **options):
    pages = [{"query_id": name, "user_query": "tv"} for name in "12"]
    return len(read_ubi(pages, records, **options))


def logged(records, folder, **options):
    return read_ltr_log(records, {"q2": {"7": 1}}, **options).n_documents


BOOK = {
    "query_text": "tv",
    "doc_id": "a",
    "position": 1,
    "document_fields": {"title": "t"},
    "judgements": [{"rating": 2, "user_email": "ann", "explanation": "good"}],
}
QUERY = {
    "query_id": "1",
    "user_query": "tv",
    "client_id": "c",
    "application": "shop",
    "timestamp": "2026-03-01T10:00:00Z",
    "query_response_hit_ids": ["a", "b"],
    "query_attributes": {"experiment_id": "v"},
}
EVENT = {
    "action_name": "click",
    "query_id": "2",
    "session_id": "s",
    "timestamp": 1772359200400,
    "event_attributes": {
        "object": {"object_id": "a"},
        "position": {"ordinal": 1},
        "dwell_time": 3.0,
        "conversion": 2.5,
    },
}
IMPRESSION = EVENT | {"action_name": "impression"}
RANKING = {
    "event": "ranking",
    "id": "r1",
    "timestamp": "1599391467000",
    "user": "u",
    "fields": [{"name": "query", "value": "cat"}],
    "items": [{"id": "i3"}, {"id": "i1"}],
}
CLICK = {"event": "interaction", "id": "x", "ranking": "r2", "type": "click", "item": "i1"}
ANSWERS = {
    "opensearch": {
        "hits": {"hits": [{"_id": "7", "fields": {"_ltrlog": [{"a": [{"name": "f", "value": 9}]}]}}]}
    },
    "elasticsearch": {"hits": {"hits": [{"_id": "7", "matched_queries": {"f": 1.0}}]}},
    "solr": {"response": {"docs": [{"id": "7", "[features]": "f=4.2,price=80.0"}]}},
    "vespa": {"root": {"children": [{"fields": {"documentid": "id:x:y::7", "matchfeatures": {"f": 2.0}}}]}},
}
RATED = {"query": "tv", "ratings": [{"docId": "a", "rating": "3.0"}]}
GAINS = {"placeholders": {"$query": "tv"}, "relevant_documents": {"17": {"gain": 3}}}
GRADES = GAINS | {"relevant_documents": {"3": ["17", "4"]}}

READERS = {  # a record, another one that is right, and how many are read of both
    "book": (BOOK, BOOK | {"doc_id": "b"}, judgments("quepid-book", lambda of: {"query_doc_pairs": of})),
    "workbench": (RATED, RATED | {"query": "x"}, judgments("workbench", lambda of: {"judgmentRatings": of})),
    "ratings": (
        {"query": "tv", "ratings": {"a": 3}},
        {"query": "x", "ratings": {"a": 3}},
        judgments("quepid-json", lambda of: {"queries": of}),
    ),
    "rre": (GAINS, GRADES, judgments("rre", lambda of: {"queries": of})),
    "rre, by grade": (GRADES, GAINS, judgments("rre", lambda of: {"queries": of})),
    "ubi queries": (QUERY, QUERY | {"query_id": "2"}, of_ubi("queries")),
    "ubi events": (EVENT, EVENT | {"query_id": "1"}, of_ubi("events")),
    "ubi impressions": (IMPRESSION, IMPRESSION | {"query_id": "1"}, shown_by_events),
    "metarank rankings": (
        RANKING,
        RANKING | {"id": "r2"},
        lambda records, folder, **options: len(read_metarank([*records, CLICK], **options)),
    ),
    "metarank clicks": (
        CLICK,
        CLICK | {"id": "y"},
        lambda records, folder, **options: len(read_metarank([*records, RANKING | {"id": "r2"}], **options)),
    ),
    "beir documents": ({"_id": "d1", "text": "x"}, {"_id": "d2", "text": "x"}, beir("corpus")),
    "beir queries": ({"_id": "q1", "text": "x"}, {"_id": "q2", "text": "x"}, beir("queries")),
    "ir_datasets documents": (
        {"doc_id": "d1", "text": "x"},
        {"doc_id": "d2", "text": "x"},
        ir_dataset("docs_iter"),
    ),
    "ir_datasets queries": (
        {"query_id": "q1", "text": "x"},
        {"query_id": "q2", "text": "x"},
        ir_dataset("queries_iter"),
    ),
    "ir_datasets judgments": (
        {"query_id": "q1", "doc_id": "d1", "relevance": 1},
        {"query_id": "q2", "doc_id": "d1", "relevance": 1},
        ir_dataset("qrels_iter"),
    ),
    **{
        f"answers of {name}": (
            {"qid": "q1", "query": "tv", "answer": one},
            {"qid": "q2", "query": "x", "answer": one},
            logged,
        )
        for name, one in ANSWERS.items()
    },
    **{
        f"rows with {' and '.join(row)}": (
            row,
            {"query": "z", "positive": "x"},
            lambda records, folder, **options: len(from_sentence_transformers(records, **options).queries),
        )
        for row in (
            {"query": "a", "docs": ["x"], "labels": [1]},
            {"anchor": "a", "positive": "x", "negative_1": "y"},
            {"sentence1": "a", "sentence2": "x", "score": 1.0},
            {"query": "a", "passages": {"passage_text": ["x"], "is_selected": [1]}},
        )
    },
}


def places(node, at=()):
    """The way to every value inside a record, and to the record."""
    yield at
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, value in inside:
        yield from places(value, (*at, name))


def put(node, place, value):
    if not place:
        return value
    made = inner = copy.deepcopy(node)
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    return made


@pytest.mark.parametrize("name", READERS)
def test_a_wrong_value_anywhere_is_named_or_counted(name, tmp_path):
    good, other, read = READERS[name]
    assert read([good, other], tmp_path) > 0
    refused = 0
    for place in places(good):
        for wrong in WRONG:
            records = [put(good, place, wrong), other]
            counts = Counter()
            assert read(records, tmp_path, on_error="skip", skipped=counts) > 0, (place, wrong)
            told = refusal(read, records, tmp_path)
            assert told is None or "record 1, " in told or "judges query" in told, (place, wrong)
            assert told is None or counts, (place, wrong)
            refused += told is not None
    assert refused > 0


def refusal(read, records, folder):
    """What the error says, if there is one; any other kind of error is a mistake of the reader."""
    try:
        read(records, folder)
    except ValueError as error:
        return str(error)
    return None


def test_lines_that_are_wrong_are_counted(tmp_path):
    (tmp_path / "collection.tsv").write_bytes(b"7\tred\nno tab\n8\t\xff\n")
    (tmp_path / "queries.dev.tsv").write_text("1\tshoes\n")
    (tmp_path / "qrels.dev.tsv").write_text("1 0 7 1\n1 0 8 good\n2 0 7 1\n")
    counts = Counter()
    found = read_msmarco(tmp_path, on_error="skip", skipped=counts)
    assert found.documents == {"7": {"text": "red"}}
    assert found.qrels.to_dict() == {"1": {"7": 1.0}}
    assert counts.total() == 4
    (tmp_path / "triples.tsv").write_bytes(b"a\tb\tc\n\xff\td\te\n")
    assert list(read_triples(tmp_path / "triples.tsv", on_error="skip", skipped=counts)) == [("a", "b", "c")]
    assert counts["a line is not UTF-8 text"] == 2
    with pytest.raises(ValueError, match=r"triples.tsv, line 2 is not UTF-8 text; convert the file"):
        list(read_triples(tmp_path / "triples.tsv"))
