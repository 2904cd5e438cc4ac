"""Short queries that ask for much: bounded, answered once, given up at the deadline."""

import random
import re
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankloop.search.bm25
import rankloop.search.features.features
import rankloop.search.index.counts
import rankloop.search.index.expand
import rankloop.search.index.match
import rankloop.search.index.phrase
import rankloop.search.index.segment
import rankloop.search.text.snippet
from rankloop.search import BM25F, Analyser, Deadline, Features, Index, Query
from rankloop.search.deadline import DeadlineExceeded
from rankloop.search.index.expand import prefix_terms
from rankloop.search.text.snippet import snippet
from rankloop.serve.presenter import Presenter

LETTERS = "abcdefghij"


def words_of(rng, n):
    return ["".join(rng.choice(LETTERS) for _ in range(rng.randint(1, 6))) for _ in range(n)]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Three segments and deleted documents."""
    rng = random.Random(0)
    vocabulary = words_of(rng, 3000)
    made = Index.create(
        tmp_path_factory.mktemp("queries") / "i",
        {"title": "text", "body": "text", "price": "number"},
        analyser=Analyser(None),
    )
    for first in (0, 1500, 2200):
        made.add(
            {
                "id": i,
                "title": " ".join(rng.choices(vocabulary, k=3)),
                "body": " ".join(rng.choices(vocabulary, k=12)),
                "price": i,
            }
            for i in range(first, first + (1500 if first == 0 else 700 if first == 1500 else 300))
        )
        made.commit()
    made.delete(range(0, 400, 7))
    made.commit()
    assert len(made.snapshot.segments) == 3
    return made


def naive_prefix(snapshot, field, prefix, most):
    counts = {}
    for segment in snapshot.segments:
        for term in range(segment.terms):
            text = segment.term_text(term)
            docs = segment.postings(field, term)
            live = int(segment.live[docs].sum())
            if text.startswith(prefix) and live:
                counts[text] = counts.get(text, 0) + live
    best = sorted(counts, key=lambda t: (-counts[t], t))[:most]
    return {term: counts[term] for term in best}


@pytest.mark.parametrize("prefix", ["", "a", "b", "ca", "jjj", "zz"])
@pytest.mark.parametrize("most", [1, 3, 50])
def test_prefixes_equal_a_count_of_everything(index, prefix, most):
    for field in (0, 1):
        found = prefix_terms(index.snapshot, field, prefix, most)
        assert found == naive_prefix(index.snapshot, field, prefix, most)
        assert list(found) == sorted(found, key=lambda t: (-found[t], t))


ATTACKS = {
    "one prefix": "a* " * 166,
    "required and excluded": "+a* -b* " * 62,
    "different prefixes": " ".join(a + b + "*" for a in LETTERS for b in LETTERS),
    "misspelt": " ".join("+" + word * 2 for word in words_of(random.Random(1), 100)),
    "a long phrase": '"' + "a " * 249,
    "many phrases": '"a b" ' * 83,
    "ranges": " ".join(f"price:>{i}" for i in range(60)),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_equal_parts_of_a_query_are_computed_once(index, name, monkeypatch):
    calls = []
    for module, function in (
        (rankloop.search.index.expand, "prefix_terms"),
        (rankloop.search.index.expand, "near_terms"),
        (rankloop.search.index.match, "_has"),
    ):
        real = getattr(module, function)

        def counted(*args, real=real, function=function):
            calls.append((function, *map(repr, args[:3])))
            return real(*args)

        monkeypatch.setattr(module, function, counted)
    found = index.retriever(typos="always")(ATTACKS[name][:500])
    assert len(calls) == len(set(calls))
    assert len(calls) <= 2 * 32 + 2 * 100 + 3 * 100
    assert len(found.leaves) <= 2 * 20 * 50 + 2 * 256


def test_a_repeated_prefix_finds_what_it_found_before(index):
    retrieve = index.retriever(k=3000)
    once, often = retrieve("+ab* -ba*"), retrieve("+ab* -ba* " * 50)
    assert sorted(once.ids) == sorted(often.ids)
    np.testing.assert_allclose(50 * np.sort(once.scores), np.sort(often.scores))
    excluded = {d for d in index.ids.tolist() if _has_prefix(index[d], "ba")}
    wanted = {d for d in index.ids.tolist() if _has_prefix(index[d], "ab")} - excluded
    assert set(once.ids.tolist()) == wanted


def _has_prefix(document, prefix):
    return any(w.startswith(prefix) for f in ("title", "body") for w in document[f].split())


def test_what_was_cut_is_said(index):
    assert index.retriever()("abc").query.cut == ()
    few = index.retriever(clauses=2, expansions=3)
    found = few("a* b* c*")
    assert [clause.text for clause in found.query.clauses] == ["a", "b"]
    assert found.query.cut == (
        "the first 2 of 3 different words and conditions count",
        "the 3 most frequent words are searched for each of a*, b*",
    )
    many = index.retriever(expansions=3)(
        " ".join(f"{a}*" for a in LETTERS) + " " + ATTACKS["different prefixes"]
    )
    assert "prefixes and misspelt words stand for 60 words of a field in all" in many.query.cut
    assert re.search(r"each of a\*, b\*, c\* and \d+ more", many.query.cut[0])
    spelt = index.retriever(typos="always")(" ".join("abcd" + a + b for a in LETTERS for b in LETTERS))
    assert "the spelling of the first 32 unknown words was corrected" in spelt.query.cut


def test_the_bounds_of_a_retriever_are_checked(index):
    with pytest.raises(ValueError, match="at least 1, got 0 and 50"):
        index.retriever(clauses=0)


@pytest.mark.parametrize("model", [None, BM25F(), BM25F(length="whole")])
def test_scoring_in_spans_changes_nothing(index, model, monkeypatch):
    retrieve = index.retriever(k=40, **({"model": model} if model else {}))
    queries = ["a b c d e", "a* b* c*", "aa ab ac ad +a*", "j*"]
    whole = [retrieve(query) for query in queries]
    monkeypatch.setattr(rankloop.search.bm25, "AT_ONCE", 50)
    for query, one in zip(queries, whole, strict=True):
        again = retrieve(query)
        assert again.rows.tolist() == one.rows.tolist()
        assert again.scores.tolist() == one.scores.tolist()
        assert again.matches == one.matches


def test_features_in_pieces_are_the_same(index, monkeypatch):
    features, found = Features.standard(index), index.retriever(k=300)("a b c aa ab ba a*")
    whole = features.matrix(found)
    monkeypatch.setattr(rankloop.search.features.features, "AT_ONCE", 100)
    np.testing.assert_array_equal(features.matrix(found), whole)


@settings(max_examples=15, deadline=None)
@given(word=st.text(alphabet=LETTERS, min_size=4, max_size=9))
def test_the_vocabulary_in_pieces_has_the_same_neighbours(index, word):
    whole = rankloop.search.index.expand.near_terms(index.snapshot, 1, word)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rankloop.search.index.expand, "AT_ONCE", 13)
        assert rankloop.search.index.expand.near_terms(index.snapshot, 1, word) == whole


class After(Deadline):
    """A deadline that passes at its n-th check."""

    def __init__(self, checks):
        super().__init__()
        self.left_checks = checks

    def check(self):
        self.left_checks -= 1
        if self.left_checks < 0:
            raise DeadlineExceeded("over")


@pytest.mark.parametrize("name", ATTACKS)
def test_every_check_can_end_a_search_and_the_next_one_is_whole(index, name):
    search = index.retriever(k=100, typos="missing") >> Features.standard(index)
    query = ATTACKS[name][:500]
    whole = search(query)
    passed = False
    for checks in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 2000]:
        try:
            found = search(query, deadline=After(checks))
            assert found.ids.tolist() == whole.ids.tolist()
            passed = True
        except DeadlineExceeded:
            assert not passed
    assert passed
    assert search(query).ids.tolist() == whole.ids.tolist()


@pytest.mark.parametrize(
    ("module", "query"),
    [
        (rankloop.search.bm25, "a b c d e f"),
        (rankloop.search.index.phrase, '"a b"'),
        (rankloop.search.index.match, "+a*"),
        (rankloop.search.features.features, "a b c d"),
    ],
)
def test_long_loops_look_at_the_clock(index, module, query, monkeypatch):
    """With small pieces of work the same query has many more checks."""
    search = index.retriever(k=1000) >> Features.standard(index)

    def checks():
        deadline = After(10**9)
        search(query, deadline=deadline)
        return 10**9 - deadline.left_checks

    before = checks()
    monkeypatch.setattr(module, "AT_ONCE", 1 if module is rankloop.search.index.phrase else 10)
    assert checks() > before + 5


def test_a_deadline_in_the_query_holds_for_facets_and_features(tmp_path):
    index = Index.create(tmp_path / "i", {"title": "text", "kind": "keyword"})
    index.add([{"id": 1, "title": "red shoes", "kind": "a"}])
    index.commit()
    late = Query.parse("red -blue", index.fields)
    late = Query(late.text, late.clauses, deadline=After(0))
    with pytest.raises(DeadlineExceeded):
        index.retriever()(late)
    with pytest.raises(DeadlineExceeded):
        index.facets(late, "kind")


def test_counting_many_values_looks_at_the_clock(tmp_path, monkeypatch):
    index = Index.create(tmp_path / "i", {"kind": "keyword", "price": "number"})
    for start, end in ((0, 1500), (1500, 1800)):  # two segments, whose values are added up one by one
        index.add({"id": i, "kind": f"k{i}", "price": i} for i in range(start, end))
        index.commit()
    assert len(index.snapshot.segments) == 2
    every = Query("", (), deadline=After(10**9))
    index.counts(every, ["kind"], ["price"])
    before = 10**9 - every.deadline.left_checks
    monkeypatch.setattr(rankloop.search.index.counts, "AT_ONCE", 10)
    index.counts(every, ["kind"], ["price"])
    assert 10**9 - every.deadline.left_checks > 2 * before + 150


def test_a_field_that_is_named_often_is_counted_once(index_of_kinds, monkeypatch):
    counted = []
    for name in ("value_counts", "number_bins"):
        real = getattr(rankloop.search.index.counts, name)
        monkeypatch.setattr(
            rankloop.search.index.counts,
            name,
            lambda snapshot, field, *rest, real=real, **more: (
                counted.append(field) or real(snapshot, field, *rest, **more)
            ),
        )
    index_of_kinds.counts(Query("", ()), ["kind"] * 10, ["price"] * 10)
    assert counted == ["kind", "price"]


def test_equally_frequent_values_are_not_all_read(index_of_kinds, monkeypatch):
    """A field with an own value for each document: only the values that are shown are decoded."""
    read = []
    real = rankloop.search.index.segment.Segment.keyword_value
    monkeypatch.setattr(
        rankloop.search.index.segment.Segment,
        "keyword_value",
        lambda self, field, number: read.append(number) or real(self, field, number),
    )
    found = index_of_kinds.counts(Query("", ()), ["kind"], [], k=7).values["kind"]
    assert len(read) == 7
    assert list(found) == sorted(f"k{i}" for i in range(300))[:7]


@pytest.fixture
def index_of_kinds(tmp_path):
    index = Index.create(tmp_path / "i", {"kind": "keyword", "price": "number"})
    index.add({"id": i, "kind": f"k{i}", "price": i} for i in range(300))
    index.commit()
    return index


def test_a_search_is_cancelled_from_another_thread(index, monkeypatch):
    monkeypatch.setattr(rankloop.search.bm25, "AT_ONCE", 2)
    deadline = Deadline(seconds=60)
    slow = deadline.check

    def check():
        time.sleep(0.002)
        slow()

    deadline.check = check
    threading.Timer(0.05, deadline.cancel).start()
    start = time.monotonic()
    with pytest.raises(DeadlineExceeded, match="cancelled"):
        index.retriever()("a* b* c* d*", deadline=deadline)
    assert time.monotonic() - start < 20
    assert deadline.left == 0


def test_a_book_is_not_searched_for_every_match(monkeypatch):
    """A word that a text has 100,000 times took a second to show, which no deadline ended."""
    looked_at = []
    window = rankloop.search.text.snippet._best_window
    monkeypatch.setattr(
        rankloop.search.text.snippet,
        "_best_window",
        lambda hits, *rest: looked_at.append(len(hits)) or window(hits, *rest),
    )
    book = "blue shoes and red hats. " + "red " * 100_000 + "red shoes at the end"
    found = snippet(book, {"red", "shoe"}, Analyser(), words=5)
    assert found.startswith("blue <mark>shoes</mark> and <mark>red</mark>")
    assert looked_at == [1000]


def test_showing_results_looks_at_the_clock(tmp_path):
    index = Index.create(tmp_path / "i", {"title": "text"})
    index.add({"id": i, "title": "red shoes"} for i in range(20))
    index.commit()
    found = index.retriever()("red")
    presenter = Presenter.of(index)
    assert len(presenter.results(found)) == 20
    for checks in (0, 5, 19):
        late = replace(found, query=replace(found.query, deadline=After(checks)))
        with pytest.raises(DeadlineExceeded):
            presenter.results(late)


def test_deadlines():
    with pytest.raises(ValueError, match="above 0"):
        Deadline(0)
    with pytest.raises(ValueError, match="above 0"):
        Deadline(float("nan"))
    short = Deadline(0.001)
    time.sleep(0.005)
    assert short.left == 0
    with pytest.raises(DeadlineExceeded, match=r"more than 0\.001 seconds"):
        short.check()
