"""Judgments in the formats of the tools people judge with."""

import csv
import gzip
import io
import json
import re
from collections import Counter
from math import isnan, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.data import Judgment, Judgments, Qrels, kind_of, read_judgments, read_qrels, write_judgments
from rankloop.data.files.records import Faults
from rankloop.data.judging.forms import READERS, WRITERS

BOOK = {
    "name": "shop",
    "show_rank": False,
    "scale": [0, 1, 2, 3],
    "query_doc_pairs": [
        {
            "query_text": "red shoes",
            "doc_id": "17",
            "position": 1,
            "document_fields": {"title": "Shoe, red"},
            "information_need": "to buy",
            "judgements": [
                {"rating": 3, "unrateable": False, "user_email": "ann@x.org", "explanation": "exact"},
                {"rating": 1.0, "user_email": "bob@x.org", "explanation": None},
                {"rating": None, "unrateable": True, "user_email": "eve@x.org"},
            ],
        },
        {"query_text": "red shoes", "doc_id": 4, "judgements": []},
    ],
}
SAMPLES = {
    "trec": "12 0 17 3\n12 0 4 0\n",
    "beir": "query-id\tcorpus-id\tscore\n12\t17\t3\n12\t4\t0\n",
    "quepid": "query,doc_id,rating\r\n12,17,3\r\n12,4,0\r\nunrated,,\r\n",
    "quepid-detailed": "Team Name,Case Name,Case ID,Query Text,Doc ID,Doc Position,Title,Rating,price\n"
    'T,C,7,12,17,1,"Shoe, red",3,80\nT,C,7,12,4,2,,0,\n',
    "quepid-json": json.dumps({"queries": [{"query": "12", "ratings": {"17": 3, "4": 0}}]}),
    "quepid-book": json.dumps(
        {
            "name": "b",
            "query_doc_pairs": [
                {"query_text": "12", "doc_id": "17", "judgements": [{"rating": 3.0}]},
                {"query_text": "12", "doc_id": "4", "judgements": [{"rating": 0.0}]},
            ],
        },
        indent=2,
    ),
    "workbench": json.dumps(
        {
            "name": "w",
            "type": "IMPORT_JUDGMENT",
            "judgmentRatings": [
                {
                    "query": "12",
                    "ratings": [{"docId": "17", "rating": "3.000"}, {"docId": "4", "rating": "0.000"}],
                }
            ],
        }
    ),
    "rre": json.dumps(
        {
            "id_field": "id",
            "index": "shop",
            "template": "t.json",
            "queries": [
                {
                    "placeholders": {"$query": "12"},
                    "relevant_documents": {"17": {"gain": 3}, "4": {"gain": 0}},
                }
            ],
        }
    ),
    "o19s": "grade,keywords,docId\n3,12,17\n0,12,4\n",
}


def test_every_format_has_a_sample():
    assert set(SAMPLES) == set(READERS) == set(WRITERS)


@pytest.mark.parametrize("form", SAMPLES)
def test_formats_are_told_by_their_content(form, tmp_path):
    path = tmp_path / "judgments.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + SAMPLES[form].encode()))
    found = read_judgments(path)
    assert found.to_qrels().to_dict() == {"12": {"17": 3.0, "4": 0.0}}
    path.write_text(SAMPLES[form])
    assert kind_of(path) == ("qrels" if form == "trec" else "judgments")
    write_judgments(found, tmp_path / "again", format=form)
    assert read_judgments(tmp_path / "again").to_qrels().to_dict() == found.to_qrels().to_dict()


def test_a_book_keeps_raters_reasons_and_texts(tmp_path):
    path = tmp_path / "book.json"
    path.write_text(json.dumps(BOOK))
    book = read_judgments(path)
    assert book.raters == ["ann@x.org", "bob@x.org", "eve@x.org"]
    assert book.rows[0].reason == "exact"
    assert book.rows[0].title == "Shoe, red"
    assert book.rows[0].details["information_need"] == "to buy"
    assert book.rows[2].details["unrateable"]
    assert not book.rows[2].rated
    assert repr(book) == "Judgments(2 ratings of 1 documents for 1 queries, 3 raters)"
    assert book.to_qrels().to_dict() == {"red shoes": {"17": 2.0}}
    assert book.to_qrels(combine="max").to_dict() == {"red shoes": {"17": 3.0}}
    write_judgments(book, tmp_path / "again.json", format="quepid-book")
    again = read_judgments(tmp_path / "again.json")
    assert again.details == book.details
    assert [row._replace(rating=0) for row in again] == [row._replace(rating=0) for row in book]


TEXTS = st.text("ab é-=+@\"',\t", min_size=1, max_size=6).filter(
    lambda one: one.strip() and one[0] not in " \t"
)
IDS = st.text("ab1é-", min_size=1, max_size=4)
RATINGS = st.one_of(st.integers(0, 4).map(float), st.floats(0, 1))


@pytest.mark.parametrize("form", SAMPLES)
@given(
    ratings=st.dictionaries(
        st.tuples(TEXTS, IDS), st.tuples(RATINGS, st.sampled_from(["", "ann"])), min_size=1, max_size=6
    )
)
@settings(max_examples=50, deadline=None)
def test_written_and_read_back(form, ratings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("judgments")
    rows = [Judgment(q, d, rating, rater=rater) for (q, d), (rating, rater) in ratings.items()]
    write_judgments(Judgments(rows), folder / "x", format=form)
    back = read_judgments(folder / "x", format=form)
    if form in ("trec", "beir"):
        queries = {query: str(i) for i, query in enumerate(dict.fromkeys(q for q, _ in ratings), 1)}
        wanted = [(queries[q], d, rating) for (q, d), (rating, _) in ratings.items()]
    else:
        wanted = [(q, d, rating) for (q, d), (rating, _) in ratings.items()]
    assert sorted((row.query, row.docid, row.rating) for row in back) == sorted(wanted)
    if form == "quepid-book":
        assert sorted(row.rater for row in back) == sorted(row.rater for row in rows)


def test_intervals_are_kept_where_there_is_a_place(tmp_path):
    rows = [Judgment("tv", "a", 0.5, low=0.25, high=0.75, position=2, title="A"), Judgment("tv", "b", 1.0)]
    write_judgments(Judgments(rows), tmp_path / "x.csv", format="quepid-detailed")
    back = read_judgments(tmp_path / "x.csv").rows
    assert back[0] == rows[0]
    assert isnan(back[1].low)
    assert isnan(back[1].high)


def test_texts_that_a_spreadsheet_would_compute(tmp_path):
    path = tmp_path / "case.csv"
    write_judgments(Judgments([Judgment("-5 shoes", "=x", 1)]), path, format="quepid")
    assert path.read_text() == "query,doc_id,rating\n -5 shoes, =x,1\n"
    (row,) = read_judgments(path).rows
    assert (row.query, row.docid) == ("-5 shoes", "=x")


@pytest.mark.parametrize("form", ["quepid", "quepid-detailed", "o19s"])
@given(st.lists(st.tuples(*[st.text(" \t'=+-@\uff1d5a\"", min_size=1).filter(str.strip)] * 2), min_size=1))
def test_no_cell_is_a_formula_and_all_are_read_again(form, texts):
    rows = [Judgment(query, document, 1) for query, document in dict(texts).items()]
    written = WRITERS[form](rows, "case", {})
    back, _, _ = READERS[form](written, Faults("x.csv", "raise", None))
    assert [(row.query, row.docid) for row in back] == list(dict(texts).items())
    cells = [cell for row in list(csv.reader(io.StringIO(written)))[1:] for cell in row]
    risky = [cell for cell in cells if cell.lstrip("\t").startswith(("=", "+", "-", "@", "\uff1d"))]
    assert not [cell for cell in risky if not re.fullmatch(r"[+-]\d+", cell)]


def test_groups_of_rre(tmp_path):
    """The long form: topics with groups of queries that share their documents, by gain."""
    whole = {
        "index": "shop",
        "topics": [
            {
                "query_groups": [
                    {
                        "queries": [
                            {"placeholders": {"$query": "tv"}},
                            {"placeholders": {"$query": "telly"}},
                        ],
                        "relevant_documents": {"3": ["a", "b"], "1": ["c"]},
                    }
                ]
            }
        ],
    }
    path = tmp_path / "ratings.json"
    path.write_text(json.dumps(whole))
    labels = {"a": 3.0, "b": 3.0, "c": 1.0}
    assert read_judgments(path).to_qrels().to_dict() == {"tv": labels, "telly": labels}


@pytest.mark.parametrize(
    ("form", "text", "reason"),
    [
        ("quepid", "query,doc_id,rating\ntv,a,good\n", "record 2, rating: wanted a number, got 'good'"),
        ("quepid", "query,doc_id,rating\n,a,1\n", "record 2, query: the query is empty"),
        ("quepid", "query,doc_id,rating\ntv,a\n", "record 2, row: wanted 3 cells, got 2"),
        ("beir", "query-id\tcorpus-id\tscore\nq\td\tinf\n", "record 2, score: wanted a number, got 'inf'"),
        ("trec", "q 0 d 1\nq 0 d\n", "record 2, line: wanted query, iteration, document and label"),
        ("o19s", "grade,keywords,docId\n,tv,a\n", "record 2, grade: wanted a number, got ''"),
        (
            "quepid-detailed",
            "Query Text,Doc ID,Rating,Doc Position\ntv,a,1,first\n",
            "record 2, Doc Position: wanted a whole number, got 'first'",
        ),
        ("quepid-json", '{"queries": [{"query": "tv", "ratings": {"a": "x"}}]}', "record 1, rating of 'a'"),
        (
            "quepid-book",
            '{"query_doc_pairs": [{"doc_id": "a"}]}',
            "record 1, query_doc_pairs: wanted query_text",
        ),
        (
            "workbench",
            '{"judgmentRatings": [{"query": "tv"}]}',
            "record 1, judgmentRatings: wanted query and",
        ),
        (
            "workbench",
            '{"judgmentRatings": [{"query": "tv", "ratings": [{"docId": "a"}]}]}',
            "record 1, rating: wanted a number, got None",
        ),
        ("rre", '{"queries": [{"relevant_documents": {"a": {"gain": 1}}}]}', "record 1, placeholders"),
    ],
)
def test_mistakes_name_record_and_field(form, text, reason, tmp_path):
    path = tmp_path / "bad"
    path.write_text(text)
    with pytest.raises(ValueError, match=reason):
        read_judgments(path)
    left_out = Counter()
    read_judgments(path, format=form, on_error="skip", skipped=left_out)
    assert left_out.total() == 1
    with pytest.warns(UserWarning, match="1 records were skipped"):
        read_judgments(path, on_error="skip")


def test_other_mistakes(tmp_path):
    path = tmp_path / "x"
    path.write_text("a sentence of words")
    with pytest.raises(ValueError, match=r"cannot tell which judgments .* pass format=, one of beir, o19s"):
        read_judgments(path)
    with pytest.raises(ValueError, match="unknown format 'quepit'; did you mean 'quepid'"):
        read_judgments(path, format="quepit")
    path.write_text('{"judgmentRatings": [')
    with pytest.raises(ValueError, match="is not JSON"):
        read_judgments(path)
    path.write_bytes(b"query,doc_id,rating\n\xff,a,1\n")
    with pytest.raises(ValueError, match="is not UTF-8"):
        read_judgments(path)
    with pytest.raises(ValueError, match="no document has a rating"):
        Judgments([Judgment("tv", "a", nan)]).to_qrels()
    with pytest.raises(ValueError, match=r"document id 'a b' cannot be written as 'trec'"):
        write_judgments(Judgments([Judgment("tv", "a b", 1)]), path, format="trec")
    with pytest.raises(ValueError, match=r"graded.. takes ratings from 0 to 1, got 3"):
        Judgments([Judgment("tv", "a", 3)]).graded(4)


def test_ids_of_queries(tmp_path):
    qrels = Qrels(["7", "9"], ["a", "b"], [2, 1])
    named = Judgments([Judgment("red shoes", "a", 2, qid="7"), Judgment("9", "b", 1, qid="9")])
    assert named.queries == {"7": "red shoes", "9": "9"}
    assert named.to_qrels().to_dict() == qrels.to_dict()
    write_judgments(named, tmp_path / "x.trec", format="trec")
    assert read_qrels(tmp_path / "x.trec").to_dict() == qrels.to_dict()
    mixed = Judgments([Judgment("tv", "a", 1), Judgment("pc", "b", 1, qid="1")])
    write_judgments(mixed, tmp_path / "y.trec", format="trec")
    assert (tmp_path / "y.trec").read_text() == "2 0 a 1\n1 0 b 1\n"


@pytest.mark.parametrize("header", ["query,docid,rating", "Query,Doc ID,Rating", '"query","docId","rating"'])
def test_columns_go_by_their_letters(header, tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text(f"{header}\nrambo,7555,3\n")
    (row,) = read_judgments(path)
    assert (row.query, row.docid, row.rating) == ("rambo", "7555", 3.0)


def test_blanks_that_are_not_ascii_are_part_of_an_id_in_trec_as_in_read_qrels(tmp_path):
    path = tmp_path / "x.qrels"
    path.write_text("q1 0 d\u00a07 2\nq1\t0\td\u30008\t1\n")
    wanted = {"q1": {"d\u00a07": 2.0, "d\u30008": 1.0}}
    assert read_judgments(path).to_qrels().to_dict() == wanted
    assert read_qrels(path).to_dict() == wanted
    for blank in "\x0b\x0c\x85\u00a0\u2028":
        with pytest.raises(ValueError, match="cannot be written as 'trec', where blanks end an id"):
            write_judgments(Judgments([Judgment("tv", f"a{blank}b", 1)]), path, format="trec")


@pytest.mark.parametrize("form", ["quepid", "quepid-detailed", "o19s", "beir"])
def test_cells_as_long_as_documents(form, tmp_path):
    rows = [Judgment("q", "d" * 200_000, 1), Judgment("q", "e", 1)]
    write_judgments(Judgments(rows), tmp_path / "x", format=form)
    assert [row.docid for row in read_judgments(tmp_path / "x")] == [row.docid for row in rows]


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_other_encodings_are_named(encoding, tmp_path):
    path = tmp_path / "case.csv"
    path.write_bytes("query,doc_id,rating\nt\u00fcr,a,1\n".encode(encoding))
    with pytest.raises(ValueError, match=r"case\.csv, line \d: byte 0xf\w is not UTF-8 text; convert"):
        read_judgments(path)


def test_half_a_letter_in_json(tmp_path):
    path = tmp_path / "case.json"
    path.write_text(r'{"queries": [{"query": "tv \ud83d", "ratings": {"a": 3}}]}')
    with pytest.raises(ValueError, match=r"case\.json: a text holds half a letter"):
        read_judgments(path)
    path.write_text(r'{"queries": [{"query": "tv \ud83d\ude00", "ratings": {"a": 3}}]}')
    assert read_judgments(path).rows[0].query == "tv \U0001f600"
