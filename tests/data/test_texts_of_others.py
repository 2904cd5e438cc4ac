"""Collections of text: BEIR, ir_datasets, MS MARCO, sentence-transformers."""

import gzip
import json
from collections import Counter, namedtuple
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.data import (
    Corpus,
    Qrels,
    from_ir_datasets,
    from_sentence_transformers,
    kind_of,
    read_beir,
    read_msmarco,
    read_triples,
    to_sentence_transformers,
    write_msmarco,
    write_triples,
)
from rankloop.data.files.records import Faults


def beir(folder, corpus='{"_id": "d1", "title": "t", "text": "x", "metadata": {"url": "u"}}\n'):
    (folder / "qrels").mkdir(exist_ok=True)
    (folder / "corpus.jsonl").write_text(corpus)
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "y"}\n{"_id": "q2", "text": "z"}\n')
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\n")
    return folder


def test_beir(tmp_path):
    corpus = read_beir(beir(tmp_path))
    assert corpus.documents == {"d1": {"title": "t", "text": "x", "metadata": {"url": "u"}}}
    assert corpus.queries == {"q1": "y"}
    assert corpus.qrels.to_dict() == {"q1": {"d1": 2.0}}
    assert kind_of(tmp_path) == "beir"
    packed = gzip.compress((tmp_path / "corpus.jsonl").read_bytes())
    (tmp_path / "corpus.jsonl").unlink()
    (tmp_path / "corpus.jsonl.gz").write_bytes(packed)
    assert len(read_beir(tmp_path).documents) == 1


def test_mistakes_in_beir(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no dev.tsv in .*qrels; it has test.tsv"):
        read_beir(beir(tmp_path), split="dev")
    bad = '{"text": "x"}\n{"_id": "d1"}\n{"_id": "d1"}\nno\n'
    with pytest.raises(ValueError, match="record 1, _id: every record has an id"):
        read_beir(beir(tmp_path, bad))
    left_out = Counter()
    assert len(read_beir(tmp_path, on_error="skip", skipped=left_out).documents) == 1
    assert left_out.total() == 3
    beir(tmp_path)
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq9\td1\t2\n")
    with pytest.raises(ValueError, match=r"test.tsv judges query 'q9', which has no text; add it"):
        read_beir(tmp_path)


Doc = namedtuple("Doc", "doc_id title text")
Topic = namedtuple("Topic", "query_id title description")
Qrel = namedtuple("Qrel", "query_id doc_id relevance subtopic_id")


def ir_dataset(**changed):
    made = {
        "docs_iter": lambda: [Doc("d1", "t", "x"), Doc("d2", "u", "y")],
        "queries_iter": lambda: [Topic(7, "red shoes", "long"), Topic(8, "unjudged", "")],
        "qrels_iter": lambda: [Qrel("7", "d1", 0, "1"), Qrel("7", "d1", 2, "2"), Qrel("7", "d2", 1, "1")],
    }
    return SimpleNamespace(**{**made, **changed})


def test_ir_datasets():
    corpus = from_ir_datasets(ir_dataset())
    assert corpus.documents["d1"] == {"title": "t", "text": "x"}
    assert corpus.queries == {"7": "red shoes"}
    assert corpus.qrels.to_dict() == {"7": {"d1": 2.0, "d2": 1.0}}


def test_mistakes_in_ir_datasets():
    with pytest.raises(ValueError, match=r"this one has no qrels_iter\(\); take one of its parts"):
        from_ir_datasets(ir_dataset(qrels_iter=None))
    with pytest.raises(ValueError, match=r"qrels_iter\(\) judges query '7', which has no text"):
        from_ir_datasets(ir_dataset(queries_iter=list))
    with pytest.raises(ValueError, match="has no judgments"):
        from_ir_datasets(ir_dataset(qrels_iter=list))
    with pytest.raises(
        ValueError, match=r"docs_iter\(\), record 1, doc_id: .* got query_id, title, description"
    ):
        from_ir_datasets(ir_dataset(docs_iter=lambda: [Topic(1, "", "")]))


TEXTS = st.text("ab é", min_size=1, max_size=5).map(lambda one: " ".join(one.split())).filter(bool)


@st.composite
def corpora(draw):
    texts = draw(st.lists(TEXTS, min_size=1, max_size=5, unique=True))
    asked = draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True))
    documents = {f"d{i}": {"text": text} for i, text in enumerate(texts, 1)}
    labels = {
        f"q{i}": draw(
            st.dictionaries(st.sampled_from(sorted(documents)), st.integers(0, 3), min_size=1, max_size=5)
        )
        for i in range(1, len(asked) + 1)
    }
    return Corpus(documents, {f"q{i}": text for i, text in enumerate(asked, 1)}, Qrels.from_dict(labels))


def judged(corpus):
    """Labels by text."""
    return {
        corpus.queries[query]: {corpus.documents[name]["text"]: label for name, label in labels.items()}
        for query, labels in corpus.qrels.to_dict().items()
    }


@given(corpora())
@settings(max_examples=60, deadline=None)
def test_lists_to_and_from_sentence_transformers(corpus):
    for form in ("lists", "labelled"):
        assert judged(from_sentence_transformers(to_sentence_transformers(corpus, form))) == judged(corpus)
    binary = {q: {d: float(label >= 1) for d, label in rows.items()} for q, rows in judged(corpus).items()}
    ranked = {q: rows for q, rows in binary.items() if any(rows.values())}
    if ranked:
        assert judged(from_sentence_transformers(to_sentence_transformers(corpus, "reranking"))) == ranked
    both = {q: rows for q, rows in ranked.items() if not all(rows.values())}
    if both:
        assert judged(from_sentence_transformers(to_sentence_transformers(corpus, "triples"))) == both
    good = {(q, d) for q, rows in binary.items() for d, label in rows.items() if label}
    assert {(row["anchor"], row["positive"]) for row in to_sentence_transformers(corpus, "pairs")} == good


@given(corpora())
@settings(max_examples=30, deadline=None)
def test_msmarco_written_and_read_back(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("msmarco")
    write_msmarco(corpus, folder, split="train")
    back = read_msmarco(folder, split="train")
    assert back.documents == corpus.documents
    assert back.queries == corpus.queries
    assert back.qrels.to_dict() == corpus.qrels.to_dict()


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=5))
@settings(max_examples=30, deadline=None)
def test_triples_written_and_read_back(tmp_path_factory, triples):
    path = tmp_path_factory.mktemp("triples") / "t.tsv"
    write_triples(triples, path)
    assert list(read_triples(path)) == triples


def test_other_rows():
    corpus = from_sentence_transformers(
        [
            {"query": "a", "positive": "x", "negative_1": "y", "negative_2": "z"},
            {"query": "b", "passages": {"passage_text": ["x", "w"], "is_selected": [0, 1], "url": ["", ""]}},
            {"query": "a", "positive": ["y"], "documents": ["x"]},
        ]
    )
    assert judged(corpus) == {"a": {"x": 1, "y": 1, "z": 0}, "b": {"x": 0, "w": 1}}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"text": "a"}, "record 1, columns: wanted the columns query and docs"),
        ({"query": "a"}, "record 1, columns: wanted .* got query"),
        ({"query": 3, "positive": "x"}, "record 1, query: wanted a text, got 3; drop the row"),
        ({"query": "a", "positive": ["x", None]}, "record 1, positive: wanted texts, got None"),
        ({"query": "a", "docs": ["x"], "labels": []}, "record 1, labels: wanted as many labels as documents"),
        (
            {"sentence1": "a", "sentence2": "b", "score": "x"},
            "record 1, score: a label must be a number, got 'x'",
        ),
    ],
)
def test_mistakes_in_rows(row, reason):
    with pytest.raises(ValueError, match=reason):
        from_sentence_transformers([row])


def test_many_reasons_are_summed_up(tmp_path):
    """However many records are wrong, and however they differ, the warning stays short."""
    faults = Faults(tmp_path / "x", "skip")

    def read():
        with faults.summed_up():
            for number in range(200):
                faults(number, "id", f"wanted ids that occur once, got '{number}' again", "drop one")
            for number in range(100):
                faults(number, f"field {number}", "wanted a number", "correct it")

    with pytest.warns(
        UserWarning, match=r"x: 300 records were skipped as wrong; counted: 200 x id: wanted .*, and 96 other"
    ):
        read()


def test_other_mistakes(tmp_path):
    lonely = Corpus({}, {"q": "a"}, Qrels(["q"], ["d"], [1]))
    with pytest.raises(ValueError, match="document 'd' is judged and not in the collection"):
        list(to_sentence_transformers(lonely))
    with pytest.raises(ValueError, match="unknown form 'list'; did you mean 'lists'"):
        to_sentence_transformers(lonely, "list")
    with pytest.raises(ValueError, match="there is no row with documents"):
        from_sentence_transformers([])
    path = tmp_path / "t.tsv"
    path.write_text("a\tb\tc\nonly two\tcells\n")
    with pytest.raises(ValueError, match="record 2, line: wanted query, positive and negative"):
        list(read_triples(path))
    with pytest.warns(UserWarning, match="1 records were skipped"):
        assert len(list(read_triples(path, on_error="skip"))) == 1
    (tmp_path / "collection.tsv").write_text("7\tx\n7\ty\n")
    (tmp_path / "queries.dev.tsv").write_text("1\tshoes\n")
    (tmp_path / "qrels.dev.tsv").write_text("1 0 7 1\n")
    with pytest.raises(ValueError, match="record 2, id: wanted ids that occur once, got '7' again"):
        read_msmarco(tmp_path)
    with pytest.raises(
        FileNotFoundError, match=r"no queries.x.tsv in .*; it has collection.tsv, qrels.dev.tsv"
    ):
        read_msmarco(tmp_path, split="x", on_error="skip", skipped=Counter())


def test_json_of_rows_is_plain():
    """The rows are plain values, which `datasets` and JSON take."""
    corpus = Corpus({"d": {"text": "x"}}, {"q": "a"}, Qrels(["q"], ["d"], [1]))
    assert json.loads(json.dumps(list(to_sentence_transformers(corpus)))) == [
        {"query": "a", "docs": ["x"], "labels": [1.0]}
    ]
