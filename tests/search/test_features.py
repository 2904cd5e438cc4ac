import math
import statistics
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.clicks import ClickLog
from rankloop.search import Analyser, Candidates, Field, Index, Query
from rankloop.search.features.click_history import ClickHistory
from rankloop.search.features.features import Features
from rankloop.search.features.kernels import PROXIMITY, STATISTICS
from rankloop.search.index.top import term_frequencies

WORDS = st.lists(st.sampled_from("abcde"), max_size=9).map(" ".join)
PLAIN = Analyser(None)


def made(folder, documents, *, commits=1, deleted=(), **fields):
    index = Index.create(folder, {"title": "text", "body": "text", **fields}, analyser=PLAIN)
    for part in range(commits):
        index.add(documents[part::commits])
        index.commit()
    if deleted:
        index.delete(deleted)
        index.commit()
    return index


@pytest.fixture
def shop(tmp_path):
    documents = [
        {"id": 1, "title": "red shoes", "body": "red shoes for running in red", "price": 80, "v": [1, 0]},
        {"id": 2, "title": "hat", "body": "a hat", "price": 10, "v": [0, 1], "added": "2024-01-01"},
        {"id": 3, "title": "blue shoes", "body": "shoes of a red and blue kind"},
    ]
    return made(tmp_path / "shop", documents, price="number", added="date", v="vector:2")


def one(index, query, *names, ids=(1, 2, 3), **options):
    return Features(names, **options).matrix(Candidates.of(query, index.snapshot, ids))


def test_numbers_by_hand(shop):
    names = ("covered(title)", "tf_sum(body)", "length(body)", "boolean(body)")
    assert one(shop, "red shoes", *names).tolist() == [
        [2, 3, 6, 1],
        [0, 0, 2, 0],
        [1, 2, 7, 1],
    ]  # fmt: skip
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))  # "shoes" is in two of three titles
    bm25 = idf / (1 + 1.2 * (0.25 + 0.75 * 2 / (5 / 3)))
    assert one(shop, "shoes", "bm25(title)")[:, 0] == pytest.approx([bm25, 0, bm25])
    # p(shoes | title) = 2 of 5 words; a title of two words mixes 0.9 of 1/2 with 0.1 of 2/5
    assert one(shop, "shoes", "lm_jelinek(title)")[0, 0] == pytest.approx(math.log(0.45 + 0.04))
    names = ("window(body)", "ordered(body)", "phrase(body)", "first(body)")
    assert one(shop, "red shoes", *names).tolist() == [
        [2, 1, 1, 0],
        [0, 0, 0, 2],
        [4, 0, 0, 0],
    ]  # fmt: skip
    assert one(shop, "red blue shoes", "query_length")[0, 0] == 3


def naive(documents, query, id, field):
    """Every text feature in plain Python, from the documents themselves."""
    fields = ("title", "body") if field == "*" else (field,)

    def tokens(document):
        return [t for name in fields for t in PLAIN.terms(document[name])]

    every = [tokens(d) for d in documents]
    mine = tokens(next(d for d in documents if d["id"] == id))
    sequence = PLAIN.terms(query)
    terms = list(dict.fromkeys(sequence))
    n, average = len(documents), sum(map(len, every)) / len(documents)
    idf = {t: math.log(1 + (n - df + 0.5) / (df + 0.5)) for t in terms for df in [sum(t in d for d in every)]}
    chance = {t: max(sum(d.count(t) for d in every), 0.5) / max(sum(map(len, every)), 1) for t in terms}
    tf = {t: mine.count(t) for t in terms}
    size, unique = len(mine), len(set(mine))
    found = dict.fromkeys((*STATISTICS, *PROXIMITY), 0.0)
    found["length"] = found["first"] = size
    if not terms:
        return found
    has = [t for t in terms if tf[t]]
    found["covered"], found["covered_ratio"] = len(has), len(has) / len(terms)
    found["covered_idf"] = sum(idf[t] for t in has) / sum(idf.values())
    found["boolean"] = float(len(has) == len(terms))
    norm = math.sqrt(sum((1 + math.log(mine.count(t))) ** 2 for t in set(mine)))
    query_norm = math.sqrt(sum((sequence.count(t) * idf[t]) ** 2 for t in terms))
    if has:
        dot = sum((1 + math.log(tf[t])) * sequence.count(t) * idf[t] for t in has)
        found["cosine"] = dot / norm / query_norm
    prior = max(average, 1)
    for t in sequence:
        f, p = tf[t], chance[t]
        if f:
            found["bm25"] += idf[t] * f / (f + 1.2 * (0.25 + 0.75 * size / average))
        found["lm_dirichlet"] += math.log((f + prior * p) / (size + prior))
        if size:
            found["lm_absolute"] += math.log(max(f - 0.7, 0) / size + 0.7 * unique / size * p)
            found["lm_jelinek"] += math.log(0.9 * f / size + 0.1 * p)
        else:
            found["lm_absolute"] += math.log(p)
            found["lm_jelinek"] += math.log(p)
    for name, values in {
        "tf": list(tf.values()),
        "tf_length": [f / size if size else 0 for f in tf.values()],
        "tfidf": [tf[t] * idf[t] for t in terms],
    }.items():
        found[f"{name}_sum"], found[f"{name}_mean"] = sum(values), statistics.fmean(values)
        found[f"{name}_min"], found[f"{name}_max"] = min(values), max(values)
        found[f"{name}_variance"] = statistics.pvariance(values)
    if not has:
        return found
    if field == "*":  # the fields end to end, eight words apart
        document = next(d for d in documents if d["id"] == id)
        mine = [*PLAIN.terms(document["title"]), *[None] * 8, *PLAIN.terms(document["body"])]
        size = len(mine)
    found["first"] = min(mine.index(t) for t in has)
    found["window"] = min(
        b - a + 1 for a in range(size) for b in range(a, size) if set(has) <= set(mine[a : b + 1])
    )
    for a, b in pairwise(sequence):
        if a != b:
            at = [i for i, t in enumerate(mine) if t == a]
            found["ordered"] += sum(i + 1 < size and mine[i + 1] == b for i in at)
            found["unordered"] += sum(b in mine[max(0, i - 8) : i + 9] for i in at)
    found["phrase"] = float(any(mine[i : i + len(sequence)] == sequence for i in range(size)))
    return found


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6),
    query=st.lists(st.sampled_from("abcdz"), max_size=4).map(" ".join),
    commits=st.integers(1, 3),
    gone=st.integers(-1, 4),
)
def test_every_text_feature_equals_the_naive_one(tmp_path_factory, texts, query, commits, gone):
    documents = [{"id": i, "title": title, "body": body} for i, (title, body) in enumerate(texts)]
    deleted = [gone] if 0 <= gone < len(texts) and len(texts) > 1 else []
    index = made(tmp_path_factory.mktemp("i") / "x", documents, commits=commits, deleted=deleted)
    kept = [d for d in documents if d["id"] not in deleted]
    names = [f"{family}({field})" for field in ("title", "body", "*") for family in (*STATISTICS, *PROXIMITY)]
    ids = [d["id"] for d in kept]
    found = Features(names).matrix(Candidates.of(Query.of_words(query), index.snapshot, ids))
    for at, id in enumerate(ids):
        wanted = {field: naive(kept, query, id, field) for field in ("title", "body", "*")}
        flat = [wanted[name[:-1].split("(")[1]][name.split("(")[0]] for name in names]
        assert found[at] == pytest.approx(np.array(flat), rel=1e-5, abs=1e-6)


def test_long_documents_and_any_choice_of_features(tmp_path):
    """Rows of more terms than are counted at once; a feature alone has the same bits as beside others."""
    rng = np.random.default_rng(0)
    vocabulary = [f"w{at}x" for at in range(400)]
    sizes = (0, 1, 31, 32, 33, 64, 65, 200, 390)
    bodies = [list(rng.choice(vocabulary, size)) + ["w7x"] * (at % 3) for at, size in enumerate(sizes)]
    documents = [{"id": at, "title": "a", "body": " ".join(words)} for at, words in enumerate(bodies)]
    index, ids = made(tmp_path / "long", documents, commits=2), range(len(sizes))
    for word in (*vocabulary[::17], "w7x", "w398x", "w399x"):
        counts = one(index, word, "tf_sum(body)", ids=ids)[:, 0]
        assert counts.tolist() == [words.count(word) for words in bodies]
    query, names = "w7x w20x w33x", [f"{name}(body)" for name in STATISTICS]
    every = one(index, query, *names, ids=ids)
    for at, name in enumerate(names):
        np.testing.assert_array_equal(one(index, query, name, ids=ids)[:, 0], every[:, at])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 999), documents=st.integers(1, 3000), terms=st.integers(1, 4))
def test_term_frequencies_equal_a_look_at_each_posting(seed, documents, terms):
    """Postings of any length, candidates in any order: few of many, all, none that has the term."""
    random = np.random.default_rng(seed)
    shares = random.choice([0.0, 0.002, 0.1, 0.9], terms)
    lists = [np.flatnonzero(random.random(documents) < share).astype(np.int32) for share in shares]
    ends = np.cumsum([len(one) for one in lists])
    docs = np.concatenate(lists)
    tf = random.integers(1, 9, len(docs)).astype(np.int32)
    asked = random.permutation(documents)[: random.integers(0, documents + 1)]
    order = np.argsort(asked)
    starts = ends - [len(one) for one in lists]
    found = term_frequencies(docs, tf, starts, ends, asked[order], order)
    known = [dict(zip(docs[a:b].tolist(), tf[a:b].tolist(), strict=True)) for a, b in pairwise([0, *ends])]
    assert found.tolist() == [[one.get(document, 0) for one in known] for document in asked.tolist()]


@pytest.mark.parametrize("query", ["a", "a b", "a b a", "c d b", "zz a", ""])
def test_a_feature_alone_is_as_among_all(tmp_path, query):
    """What is not asked for is not computed; what is asked for is the same."""
    random = np.random.default_rng(3)
    texts = [" ".join(random.choice(list("abcdefgh"), random.integers(0, 60))) for _ in range(80)]
    documents = [{"id": at, "title": text[:7], "body": text} for at, text in enumerate(texts)]
    index = made(tmp_path / "index", documents, commits=2, deleted=[3, 4])
    found = Candidates.of(query, index.snapshot, random.permutation(80))
    names = [f"{name}({field})" for name in (*STATISTICS, *PROXIMITY) for field in ("title", "body", "*")]
    every = Features(names).matrix(found)
    for at, name in enumerate(names):
        assert Features([name]).matrix(found)[:, 0].tolist() == every[:, at].tolist(), name


def test_many_candidates_equal_one_by_one(shop):
    features = Features.standard(shop)
    together = features.matrix(Candidates.of("red shoes", shop.snapshot, [3, 1, 2]))
    for at, id in enumerate([3, 1, 2]):
        alone = features.matrix(Candidates.of("red shoes", shop.snapshot, [id]))
        np.testing.assert_array_equal(alone[0], together[at])
    assert features.matrix(Candidates.of("red", shop.snapshot, [])).shape == (0, len(features))


def test_what_does_not_depend_on_words(shop):
    query = replace(Query.of_words("red"), at=1704067200.0 + 86_400, user={"age": 33.0})
    found = one(shop, query, "value(price)", "age(added)", "user(age)", "user(size)")
    np.testing.assert_array_equal(found[:2], [[80, np.nan, 33, np.nan], [10, 1, 33, np.nan]])
    with pytest.raises(ValueError, match="age needs the time of the query"):
        one(shop, "red", "age(added)")


def test_similarity_from_an_encoder_or_the_query(shop):
    found = one(shop, "red", "similarity(v)", encoders={"v": lambda text: [3.0, 4.0]})
    assert found[:2, 0] == pytest.approx([0.6, 0.8])
    assert np.isnan(found[2, 0])
    brought = replace(Query.of_words("red"), vectors={"v": np.array([0, 2], np.float32)})
    assert one(shop, brought, "similarity(v)")[:2, 0].tolist() == [0, 1]
    with pytest.raises(ValueError, match="no vector for field 'v'"):
        one(shop, "red", "similarity(v)")


def test_clicks_come_from_before_the_impression(shop):
    history = ClickHistory(["red", "red", "hat", "red"], [1, 1, 1, 2], [1, 0, 1, 1], [10, 20, 30, 40])
    names = ("impressions", "clicks", "query_impressions", "query_clicks", "query_click_rate")
    for at, wanted in {
        10.0: [0, 0, 0, 0, 0],
        20.0: [1, 1, 1, 1, 1 / 11],
        30.0: [2, 1, 2, 1, 1 / 12],
        99.0: [3, 2, 2, 1, 1 / 12],
    }.items():
        query = replace(Query.of_words("red"), at=at)
        assert one(shop, query, *names, ids=(1,), history=history)[0] == pytest.approx(wanted)
    with pytest.raises(ValueError, match="needs a click history"):
        Features(["clicks"])
    with pytest.raises(ValueError, match="clicks needs the time"):
        one(shop, "red", "clicks", history=history)
    with pytest.raises(ValueError, match="one query, document, click and timestamp"):
        ClickHistory(["a"], [1], [1], [])


def test_a_click_log_with_timestamps_is_a_history():
    pages = {
        "session": [7, 7],
        "query": ["red", "red"],
        "document": [1, 2],
        "position": [1, 2],
        "click": [0, 1],
    }
    history = ClickHistory.from_log(ClickLog(**pages, timestamp=[10.0, 10.0]))
    shown, clicked = history.of_pairs("red", [1, 2, 3], before=11.0)
    assert (shown.tolist(), clicked.tolist()) == ([1, 1, 0], [0, 1, 0])
    with pytest.raises(ValueError, match="needs a log with timestamps"):
        ClickHistory.from_log(ClickLog(**pages))


def test_a_function_is_a_feature(shop):
    def cheap(found):
        """1 if it costs little"""
        return found.numbers("price") < 50

    features = Features(["covered(title)", cheap])
    found = Candidates.of("red", shop.snapshot, [1, 2])
    assert features.matrix(found)[:, 1].tolist() == [0, 1]
    assert features.explain(found, 2)[1]._asdict() == {
        "name": "cheap",
        "value": 1.0,
        "meaning": "1 if it costs little",
        "terms": (),
    }
    before = features.version
    cheap.version = 2
    assert Features(["covered(title)", cheap]).version != before
    with pytest.raises(ValueError, match="gives one number per candidate"):
        Features([lambda found: np.zeros((2, 2))]).matrix(found)


def test_values_are_explained(shop):
    features = Features(["bm25(body)", "value(price)", "bm25(*)"])
    parts = features.explain(shop.retriever()("red shoes"), 1)
    assert [one.name for one in parts] == list(features.names)
    assert parts[0].meaning == "BM25 over body (k1 = 1.2, b = 0.75)"
    assert parts[0].terms[0] == {"term": "red", "tf": 2.0, "df": 2.0, "idf": pytest.approx(0.47, abs=0.01)}
    assert parts[2].meaning.startswith("BM25 over the whole document")
    assert parts[1].value == 80
    with pytest.raises(ValueError, match="no document 9"):
        features.explain(shop.retriever()("red"), 9)


def test_standard_covers_every_field(tmp_path):
    grams = Field("text", source="title", analyser=Analyser(grams=(3, 3)))
    index = Index.create(tmp_path / "i", {"title": "text", "letters": grams, "n": "number", "v": "vector:2"})
    index.add([{"id": 1, "title": "Spider-Man", "n": 3, "v": [1, 1]}])
    index.commit()
    features = Features.standard(index, encoders={"v": lambda text: [1, 1]}, more=["user(age)"])
    assert {"bm25(letters)", "phrase(title)", "value(n)", "similarity(v)", "user(age)"} <= set(features.names)
    assert "bm25(*)" not in features.names  # one field is the whole document
    found = features.matrix(Candidates.of("spiderman", index.snapshot, [1]))
    values = dict(zip(features.names, found[0].tolist(), strict=True))
    assert values["covered(title)"] == 0
    assert values["boolean(letters)"] == values["phrase(letters)"] == 1
    fewer = features.without("value(n)")
    assert len(fewer) == len(features) - 1
    assert fewer.version != features.version
    assert repr(fewer) == f"Features({len(fewer)} features, version {fewer.version})"


def test_wrong_declarations_say_so(shop):
    for names, message in {
        ("bm25(titel)",): "title",
        ("bm52(title)",): "bm25",
        ("bm25",): "takes an argument",
        ("query_length(title)",): "takes no argument",
        ("value(title)",): "price",
        ("bm25 title",): "named like",
        ("length(title)", "length(title)"): "declared twice",
        (): "at least one feature",
    }.items():
        with pytest.raises(ValueError, match=message):
            one(shop, "red", *names)
