import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.search import BM25, BM25F, Analyser, Index, Query
from rankloop.search.index.top import Postings, top_combined, top_sum

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
DOCUMENTS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12)


@pytest.fixture(scope="module", autouse=True)
def _segments_stay_apart():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankloop.search.index.writer.MERGE_DOCUMENTS", 0)
        yield


def build(folder, documents, commits=1):
    index = Index.create(folder / "i", {"title": "text", "body": "text"})
    for part in range(commits):
        index.add(
            {"id": i, "title": title, "body": body}
            for i, (title, body) in enumerate(documents)
            if i % commits == part
        )
        index.commit()
    return index


def mapped(values):
    """As read from an index: not writeable."""
    values.flags.writeable = False
    return values


def naive_bm25f(documents, query, weights, k1, b, length):
    """BM25F in plain loops: one saturation per term over the fields."""
    texts = [[Analyser().terms(text) for text in document] for document in documents]
    n = len(texts)
    averages = [sum(len(text[f]) for text in texts) / n for f in range(2)]
    scores = np.zeros(n)
    for term in Analyser().terms(query):
        df = sum(any(term in field for field in text) for text in texts)
        idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
        for i, text in enumerate(texts):
            if length == "field":
                x = sum(
                    w * field.count(term) / (1 - b + b * len(field) / average)
                    for w, field, average in zip(weights, text, averages, strict=True)
                    if field
                )
                below = k1
            else:
                x = sum(w * field.count(term) for w, field in zip(weights, text, strict=True))
                below = k1 * (1 - b + b * sum(map(len, text)) / max(sum(averages), 1e-9))
            scores[i] += idf * x / (x + below) if x else 0.0
    return scores


def test_a_number_by_hand(tmp_path):
    index = build(tmp_path, [("", "alpha beta"), ("", "alpha alpha gamma delta"), ("", "beta")])
    found = index.retriever()("alpha")
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    average = 7 / 3
    wanted = [
        idf * 2 / (2 + 1.2 * (0.25 + 0.75 * 4 / average)),
        idf * 1 / (1 + 1.2 * (0.25 + 0.75 * 2 / average)),
    ]
    assert found.ids.tolist() == [1, 0]
    assert found.scores.tolist() == pytest.approx(wanted, rel=1e-14)


@settings(max_examples=40)
@given(DOCUMENTS, TEXTS, st.sampled_from(["field", "whole"]), st.integers(1, 3))
def test_bm25f_equals_plain_loops(tmp_path_factory, documents, query, length, commits):
    index = build(tmp_path_factory.mktemp("bm25f"), documents, commits)
    unique = " ".join(dict.fromkeys(query.split()))
    model = BM25F(k1=0.9, b=0.4, fields={"title": 2.0, "body": 1.0}, length=length)
    wanted = naive_bm25f(documents, unique, (2.0, 1.0), 0.9, 0.4, length)
    retriever = index.retriever(model=model)
    found = retriever(unique)
    assert found.matches == (wanted > 0).sum() == len(found)
    np.testing.assert_allclose(found.scores, wanted[found.ids], rtol=1e-12)
    np.testing.assert_allclose(retriever.score(unique, range(len(documents))), wanted, rtol=1e-12)
    for id in found.ids.tolist():
        parts = retriever.explain(unique, id)
        assert sum(part.score for part in parts) == pytest.approx(wanted[id], rel=1e-12)


@settings(max_examples=40)
@given(DOCUMENTS, TEXTS, st.integers(1, 5))
def test_the_best_k_scores_and_explanations_agree(tmp_path_factory, documents, query, k):
    index = build(tmp_path_factory.mktemp("bm25"), documents, 3)
    assert len(index.snapshot.segments) == min(3, len(documents))
    model = BM25(fields={"title": 2.0, "body": 0.5})
    everything = index.retriever(k=1000, model=model)
    whole, best = everything(query), index.retriever(k=k, model=model)(query)
    assert best.ids.tolist() == whole.ids.tolist()[:k]
    assert best.matches == whole.matches
    assert best.scores.tolist() == whole.scores.tolist()[:k]
    np.testing.assert_allclose(everything.score(query, whole.ids), whole.scores, rtol=1e-12)
    for id, score in zip(whole.ids.tolist(), whole.scores.tolist(), strict=True):
        parts = everything.explain(query, id)
        assert sum(part.score for part in parts) == pytest.approx(score, rel=1e-12)
        assert all(part.weight in (2.0, 0.5) or part.weight > 0 for part in parts)


@settings(max_examples=25)
@given(DOCUMENTS, TEXTS)
def test_equal_to_bm25s(tmp_path_factory, documents, query):
    bm25s = pytest.importorskip("bm25s")
    bodies = [body.split() for _, body in documents]
    if not any(bodies) or not query:
        return
    index = build(tmp_path_factory.mktemp("bm25s"), documents)
    peer = bm25s.BM25(k1=1.2, b=0.75, method="lucene", dtype="float64")
    peer.index([[Analyser().terms(word)[0] for word in body] for body in bodies], show_progress=False)
    known = [term for term in Analyser().terms(query) if term in peer.vocab_dict]
    wanted = peer.get_scores(known) if known else np.zeros(len(documents))
    found = index.retriever(model=BM25(fields={"body": 1.0}))(query)
    scores = np.zeros(len(documents))
    scores[found.ids] = found.scores
    np.testing.assert_allclose(scores, wanted, rtol=1e-12)


def postings(seed, n, terms, most_tf):
    """Random postings of some terms in two fields over n documents, as a segment has them."""
    random = np.random.default_rng(seed)
    parts = [np.flatnonzero(random.random(n) < share) for share in random.choice([0.02, 0.3, 0.9], terms)]
    ends = np.cumsum([len(part) for part in parts])
    docs = np.concatenate(parts).astype(np.int32)
    tf = random.integers(1, most_tf + 1, len(docs)).astype(np.int32)
    lengths = random.integers(1, 4, (2, n)).astype(np.int32)
    allowed = (random.random(n) < 0.9).astype(np.uint8)
    return mapped(docs), mapped(tf), mapped(lengths), np.append(0, ends[:-1]), ends, mapped(allowed)


def naive_best(scores, allowed, k, floor):
    """Sort everything: by score, of equals the first document."""
    shown = [d for d in range(len(scores)) if scores[d] > 0 and allowed[d]]
    best = sorted((d for d in shown if scores[d] > floor), key=lambda d: (-scores[d], d))[:k]
    return [(scores[d], d) for d in best], len(shown)


CASES = {
    "seed": st.integers(0, 10**6),
    "n": st.sampled_from([1, 50, 3_000, 20_000]),
    "terms": st.integers(1, 4),
    "most_tf": st.sampled_from([1, 3]),
    "k": st.sampled_from([1, 7, 300, 1_500]),
    "floor": st.sampled_from([0.0, 0.7]),
    "every": st.booleans(),
}


@settings(max_examples=40)
@given(**CASES)
def test_the_best_of_a_segment_are_those_of_a_full_sort(seed, n, terms, most_tf, k, floor, every):
    """To the last bit, with many equal scores, more matches than the list of candidates holds, two blocks."""
    docs, tf, lengths, starts, ends, allowed = postings(seed, n, terms, most_tf)
    allowed = mapped(np.ones(n, np.uint8)) if every else allowed
    field = np.arange(terms) % 2
    weight, flat, slope = np.linspace(1.0, 2.0, terms), np.full(terms, 0.3), np.full(terms, 0.25)
    scores = np.zeros(n)
    for t in range(terms):
        for i in range(starts[t], ends[t]):
            below = tf[i] + flat[t] + slope[t] * lengths[field[t], docs[i]]
            scores[docs[i]] += weight[t] * tf[i] / below
    best, matches = naive_best(scores, allowed, k, floor)
    rows = Postings(docs, tf, lengths, starts, ends, field)
    got, who, seen = top_sum(rows, weight, flat, slope, allowed, every, min(k, n), floor)
    assert sorted(zip(got.tolist(), who.tolist(), strict=True)) == sorted(best)
    assert seen == matches


@settings(max_examples=40)
@given(**CASES)
def test_the_best_of_combined_fields_are_those_of_a_full_sort(seed, n, terms, most_tf, k, floor, every):
    docs, tf, lengths, starts, ends, allowed = postings(seed, n, 2 * terms, most_tf)
    allowed = mapped(np.ones(n, np.uint8)) if every else allowed
    field, group = np.arange(2 * terms) % 2, np.arange(2 * terms) // 2
    gain, flat, slope = np.linspace(1.0, 2.0, 2 * terms), np.full(2 * terms, 0.3), np.full(2 * terms, 0.25)
    whole, idf = mapped(lengths.sum(0, dtype=np.int32)), np.linspace(0.5, 1.5, terms)
    scores = np.zeros(n)
    for term in range(terms):
        x = np.zeros(n)
        for t in np.flatnonzero(group == term):
            for i in range(starts[t], ends[t]):
                x[docs[i]] += gain[t] * tf[i] / (flat[t] + slope[t] * lengths[field[t], docs[i]])
        scores += np.where(x > 0, idf[term] * x / (x + 1.2 + 0.1 * whole), 0.0)
    best, matches = naive_best(scores, allowed, k, floor)
    rows = Postings(docs, tf, lengths, starts, ends, field)
    got, who, seen = top_combined(
        rows, whole, gain, flat, slope, group, idf, 1.2, 0.1, allowed, every, min(k, n), floor
    )
    assert sorted(zip(got.tolist(), who.tolist(), strict=True)) == sorted(best)
    assert seen == matches


def test_many_documents_pass_the_edge_of_a_block(tmp_path, monkeypatch):
    index = Index.create(tmp_path / "i", {"t": "text"})
    index.add({"id": i, "t": "rare word" if i % 9_999 == 0 else "word"} for i in range(70_000))
    index.commit()
    assert index.retriever(k=10)("rare").ids.tolist() == list(range(0, 70_000, 9_999))
    found = index.retriever(k=5)("word")
    assert found.matches == 70_000
    assert found.ids.tolist() == [1, 2, 3, 4, 5]


def test_words_only_queries_know_no_marks(tmp_path):
    index = build(tmp_path, [("alpha", ""), ("beta", "")])
    assert index.retriever()("beta -alpha").ids.tolist() == [1]
    assert index.retriever()(Query.of_words("beta -alpha")).ids.tolist() == [0, 1]


@pytest.mark.parametrize("bad", [{"k1": 0}, {"b": 2}, {"fields": {}}, {"fields": {"title": 0}}])
@pytest.mark.parametrize("model", [BM25, BM25F])
def test_wrong_parameters_say_so(model, bad):
    with pytest.raises(ValueError, match="got"):
        model(**bad)


def test_wrong_fields_say_so(tmp_path):
    index = build(tmp_path, [("alpha", "")])
    with pytest.raises(ValueError, match="did you mean 'title'"):
        index.retriever(model=BM25(fields={"titel": 1.0}))
    with pytest.raises(ValueError, match="no document 7"):
        index.retriever().explain("alpha", 7)
    assert np.isnan(index.retriever().score("alpha", [7])).all()
