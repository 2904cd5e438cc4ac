from datetime import UTC, date, datetime

import numpy as np
import pytest

from rankloop.data import Qrels
from rankloop.rankers import LambdaMART, LinearRanker
from rankloop.search import Index, Query, collapse, first
from rankloop.search.features.features import Features
from rankloop.search.load_pipeline import load_pipeline

WORDS = ["red", "blue", "green", "old", "new", "fast", "slow", "big", "small", "round"]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    rng = np.random.default_rng(0)
    index = Index.create(
        tmp_path_factory.mktemp("i") / "shop", {"title": "text", "body": "text", "price": "number"}
    )
    index.add(
        {
            "id": i,
            "title": " ".join(rng.choice(WORDS, 2)),
            "body": " ".join(rng.choice(WORDS, rng.integers(3, 12))),
            "price": float(rng.integers(1, 100)),
        }
        for i in range(300)
    )
    index.commit()
    return index


@pytest.fixture(scope="module")
def judged(index):
    """People want a title with their word, and a low price."""
    queries = {f"q{i}": " ".join(sorted({WORDS[i % 10], WORDS[(i * 3 + 1) % 10]})) for i in range(30)}
    grades = {}
    for qid, text in queries.items():
        found = index.retriever(k=40)(text)
        grades[qid] = {
            hit.id: float(any(word in hit.document["title"] for word in text.split()))
            + float(hit.document["price"] < 50)
            for hit in found
        }
    return queries, grades


@pytest.fixture(scope="module")
def search(index, judged):
    queries, grades = judged
    made = index.retriever(k=100) >> Features.standard(index) >> LambdaMART(trees=30, threads=1) >> first(10)
    train = {qid: text for qid, text in queries.items() if int(qid[1:]) < 24}
    valid = {qid: text for qid, text in queries.items() if int(qid[1:]) >= 24}
    return made.fit(train, grades, valid=valid, among="retrieved")


def test_it_learns_and_is_measured_like_a_ranker(index, judged, search):
    queries, grades = judged
    held_out = {qid: text for qid, text in queries.items() if int(qid[1:]) >= 24}
    plain = (index.retriever(k=100) >> first(10)).evaluate(held_out, grades, ["ndcg@10"])
    learned = search.evaluate(held_out, grades, ["ndcg@10"])
    assert learned.mean["ndcg@10"] > plain.mean["ndcg@10"] + 0.1
    assert len(learned.per_query["ndcg@10"]) == len(held_out)
    assert len(search("red")) == 10
    assert len(search("unheard")) == 0


def test_a_run_holds_the_pages(index, judged, search):
    queries, _ = judged
    run = search.run({**queries, "none": "unheard"})
    assert list(run["q3"]) == [str(id) for id in search(queries["q3"]).ids.tolist()]
    assert set(run) == set(queries)  # a query without results is not in it
    tied = (index.retriever(k=20) >> (lambda found: found.scored(np.zeros(len(found))))).run({"a": "red"})
    assert list(tied["a"]) == [str(id) for id in index.retriever(k=20)("red").ids.tolist()]


def test_judgments_may_be_qrels_and_lists_may_hold_more(index, judged, search):
    queries, grades = judged
    some = dict(list(queries.items())[:3])
    by_dict = search.dataset(some, grades)
    rows = [(qid, id, grade) for qid in some for id, grade in grades[qid].items()]
    qrels = Qrels(*([row[i] for row in rows] for i in range(3)))
    by_qrels = search.dataset(some, qrels)
    assert sorted(by_dict.docid.tolist()) == sorted(by_qrels.docid.tolist())
    assert by_dict.feature_names == search.features.names
    shown = search.dataset(some, grades, among="retrieved")
    both = search.dataset(some, {qid: {**grades[qid], "7": 1.0} for qid in some}, among="both")
    assert len(shown.y) > len(by_dict.y)
    assert len(both.y) >= len(shown.y)
    assert (shown.y > 0).sum() == (by_dict.y > 0).sum()


def test_logged_requests_score_the_same_to_the_last_bit(index, judged, tmp_path):
    queries, grades = judged
    trees = LambdaMART(trees=10, threads=1)
    search = index.retriever(k=50) >> Features.standard(index) >> trees >> first(10)
    search.fit(queries, grades)
    logged = []
    for text in list(queries.values())[:8]:
        page = search(Query.of_words(text))
        logged.append((text, page.ids.tolist(), page.columns["features"], page.scores, search.fingerprint))
    search.save(tmp_path / "shop.search")
    again = load_pipeline(tmp_path / "shop.search", Index.open(index.path), exact=True)
    for text, ids, features, scores, fingerprint in logged:
        assert again.fingerprint == fingerprint
        found = again.rescore(Query.of_words(text), ids)
        order = [ids.index(id) for id in found.ids.tolist()]
        np.testing.assert_array_equal(found.columns["features"], features[order])
        np.testing.assert_array_equal(found.scores, scores[order])
    train = search.dataset(queries, grades)
    qid = next(iter(queries))
    served = search.rescore(queries[qid], train.docid[: train.offsets[1]]).columns["features"]
    assert sorted(map(bytes, served)) == sorted(map(bytes, train.X[: train.offsets[1]]))


def test_one_file_holds_it(search, index, tmp_path):
    search.save(tmp_path / "a")
    search.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    again = load_pipeline(tmp_path / "a", index)
    assert repr(again) == repr(search)
    np.testing.assert_array_equal(again("red blue").scores, search("red blue").scores)
    assert again("red blue").ids.tolist() == search("red blue").ids.tolist()


def test_the_fingerprint_is_of_what_the_index_holds(judged, tmp_path):
    """An index made again from the same documents is the same; with another price or deletion it is not."""
    documents = [{"id": i, "title": WORDS[i % 10], "price": float(i)} for i in range(20)]

    def made(name, documents, gone=()):
        index = Index.create(tmp_path / name, {"title": "text", "price": "number"})
        index.add(documents)
        index.commit()
        index.delete(gone)
        index.commit()
        search = index.retriever() >> Features(["value(price)", "bm25(title)"]) >> LinearRanker()
        return search.fit({"a": "red"}, {"a": {0: 1, 1: 0, 10: 0}})

    dearer = [{**d, "price": 99.0} if d["id"] == 7 else d for d in documents]
    whole = made("a", documents)
    assert made("b", documents).fingerprint == whole.fingerprint
    assert made("c", dearer).fingerprint != whole.fingerprint
    assert made("d", documents, [3]).fingerprint != made("e", documents, [4]).fingerprint
    whole.save(tmp_path / "saved")
    with pytest.raises(ValueError, match="another generation"):
        load_pipeline(tmp_path / "saved", Index.open(tmp_path / "c"), exact=True)


def test_filters_and_collapse_are_saved_too(index, judged, tmp_path):
    queries, grades = judged
    for filters in (
        {"price": (20, 60)},
        {"price": (None, 60)},
        {"price": 30},
        {"price": (np.float64(20), np.int64(60))},
    ):
        whole = index.retriever(k=50, filters=filters) >> Features(["bm25(title)"]) >> LinearRanker()
        search = (whole >> collapse(0.9) >> first(10)).fit(queries, grades)
        search.save(tmp_path / "a")
        again = load_pipeline(tmp_path / "a", index, exact=True)
        assert again("red blue").ids.tolist() == search("red blue").ids.tolist()
        assert repr(again) == repr(search)


def test_filters_by_date_and_set_are_saved_too(tmp_path):
    index = Index.create(tmp_path / "i", {"t": "text", "brand": "keyword", "day": "date"})
    index.add(
        [
            {"id": 1, "t": "red", "brand": "Hare", "day": "2024-03-01"},
            {"id": 2, "t": "red", "brand": "Fox", "day": "2024-03-02"},
            {"id": 3, "t": "red", "brand": "Hare", "day": "2023-03-02"},
        ]
    )
    index.commit()
    wanted = {"day": (date(2024, 1, 1), datetime(2024, 12, 1, tzinfo=UTC)), "brand": {"Hare"}}
    search = index.retriever(filters=wanted) >> Features(["bm25(t)"]) >> LinearRanker()
    search.fit({"a": "red"}, {"a": {1: 1, 2: 0, 3: 0}}).save(tmp_path / "a")
    assert search("red").ids.tolist() == [1]
    assert load_pipeline(tmp_path / "a", index)("red").ids.tolist() == [1]


def test_a_file_that_does_not_fit_says_so(search, index, tmp_path):
    def cheap(found):
        return found.numbers("price") < 10

    search.save(tmp_path / "plain")
    other = Index.create(tmp_path / "other", {"title": "text", "body": "text", "price": "number"})
    other.add([{"id": 1, "title": "red", "body": "red", "price": 3}])
    other.commit()
    assert len(load_pipeline(tmp_path / "plain", other)("red")) == 1
    with pytest.raises(ValueError, match="another generation"):
        load_pipeline(tmp_path / "plain", other, exact=True)
    wrong = Index.create(tmp_path / "wrong", {"title": "text", "price": "number"})
    with pytest.raises(ValueError, match="other fields"):
        load_pipeline(tmp_path / "plain", wrong)
    own = index.retriever() >> Features(["covered(title)", cheap]) >> LinearRanker()
    own.fit({"a": "red"}, {"a": {i: i % 2 for i in range(20)}})
    own.save(tmp_path / "own")
    with pytest.raises(ValueError, match=r"functions=\[cheap\]"):
        load_pipeline(tmp_path / "own", index)
    assert len(load_pipeline(tmp_path / "own", index, functions=[cheap])("red"))
    cheap.version = 2
    with pytest.raises(ValueError, match="no longer computed"):
        load_pipeline(tmp_path / "own", index, functions=[cheap])
    (tmp_path / "broken").write_bytes((tmp_path / "own").read_bytes()[:200])
    with pytest.raises(ValueError, match=r"not a saved pipeline .* fit and save the pipeline again"):
        load_pipeline(tmp_path / "broken", index)
    with pytest.raises(FileNotFoundError, match="no pipeline file"):
        load_pipeline(tmp_path / "absent", index)


def test_wrong_pipelines_say_so(index, judged):
    queries, grades = judged
    with pytest.raises(ValueError, match="join a feature set before it"):
        (index.retriever() >> LinearRanker())("red")
    with pytest.raises(ValueError, match="a pipeline needs one feature set"):
        (index.retriever() >> LinearRanker()).fit(queries, grades)
    with pytest.raises(ValueError, match="a pipeline needs one ranker"):
        (index.retriever() >> Features(["bm25(title)"])).fit(queries, grades)
    whole = index.retriever() >> Features(["bm25(title)"]) >> LinearRanker()
    with pytest.raises(ValueError, match="none of the 30 queries has judgments"):
        whole.fit(queries, {"other": {1: 1}})
    with pytest.raises(ValueError, match="no judged document is in the index"):
        whole.fit(queries, {"q1": {"nope": 1}})
    with pytest.raises(ValueError, match="cannot be saved"):
        (whole.fit(queries, grades) >> (lambda found: found)).save("x")
    odd = (lambda query: index.retriever()(query)) >> Features(["bm25(title)"]) >> LinearRanker()
    with pytest.raises(ValueError, match="cannot look up judged documents"):
        odd.fit(queries, grades)
    assert odd.fit(queries, grades, among="retrieved")("red").ids.tolist()
