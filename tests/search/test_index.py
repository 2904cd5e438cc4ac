"""The index against dictionaries: whatever is added, updated and deleted, both agree."""

import json
import math
from collections import Counter
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop._checksums import signed_json
from rankloop.search import BM25, Analyser, Field, Index

FIELDS = {"title": "text", "body": "text", "tag": "keyword", "price": "number"}


def naive_bm25(documents, query, fields=("title", "body"), k1=1.2, b=0.75):
    """Scores by id, in plain loops over plain documents."""
    analyser, scores = Analyser(), Counter()
    for field in fields:
        tokens = {id: analyser.terms(document.get(field) or "") for id, document in documents.items()}
        average = sum(map(len, tokens.values())) / max(len(tokens), 1)
        for term in analyser.terms(query):
            df = sum(term in words for words in tokens.values())
            idf = math.log(1 + (len(tokens) - df + 0.5) / (df + 0.5))
            for id, words in tokens.items():
                tf = words.count(term)
                if tf:
                    scores[id] += idf * tf / (tf + k1 * (1 - b + b * len(words) / average))
    return scores


def check_against(index, documents, query="red fox"):
    assert len(index) == len(documents)
    assert sorted(map(str, index.ids.tolist())) == sorted(documents)
    wanted = naive_bm25(documents, query)
    found = index.retriever(k=1000)(query)
    assert found.matches == len(found) == len(wanted)
    for id, score in zip(found.ids.tolist(), found.scores.tolist(), strict=True):
        assert score == pytest.approx(wanted[str(id)], rel=1e-12)
    assert np.all(np.diff(found.scores) <= 0)
    for id in documents:
        assert index[id]["title"] == documents[id]["title"]
    check_both_ways(index)


def check_both_ways(index):
    """The forward index and the postings say the same."""
    for segment in index.snapshot.segments:
        forward, postings = [], []
        arrays = segment.arrays
        for field in range(len(segment.lengths)):
            for document in range(segment.documents):
                row = field * segment.documents + document
                span = slice(arrays["forward.offsets"][row], arrays["forward.offsets"][row + 1])
                tf = arrays["forward.tf"][span]
                assert tf.sum() == segment.lengths[field, document]
                assert arrays["forward.starts"][row + 1] - arrays["forward.starts"][row] == tf.sum()
                forward += [
                    (field, document, *pair) for pair in zip(arrays["forward.terms"][span], tf, strict=True)
                ]
            for term in range(segment.terms):
                row = field * segment.terms + term
                span = slice(arrays["postings.offsets"][row], arrays["postings.offsets"][row + 1])
                tf = arrays["postings.tf"][span]
                assert arrays["postings.total"][row] == tf.sum()
                postings += [
                    (field, document, term, n)
                    for document, n in zip(segment.postings(field, term), tf, strict=True)
                ]
        assert sorted(forward) == sorted(postings)


WORDS = st.lists(st.sampled_from(["red", "fox", "blue", "dog", "the", "foxes", "É", "東京"]), max_size=6).map(
    " ".join
)
IDS = st.sampled_from("abcdef")
STEP = st.one_of(
    st.tuples(st.just("put"), IDS, WORDS, WORDS),
    st.tuples(st.just("price"), IDS, st.integers(0, 9)),
    st.tuples(st.just("delete"), IDS),
    st.tuples(st.just("commit")),
    st.tuples(st.just("compact")),
    st.tuples(st.just("rollback")),
    st.tuples(st.just("reopen")),
)


@settings(max_examples=60)
@given(st.lists(STEP, max_size=14))
def test_any_history_equals_dictionaries(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("any") / "i"
    index = Index.create(folder, FIELDS)
    committed, now = {}, {}
    for step, *what in [*steps, ("commit",)]:
        if step == "put":
            id, title, body = what
            if id in now:
                with pytest.raises(ValueError, match="already"):
                    index.add([{"id": id, "title": title}])
            index.update([{"id": id, "title": title, "body": body, "tag": [title[:3]]}])
            now = {**now, id: {**now.get(id, {}), "title": title, "body": body}}
        elif step == "price":
            id, price = what
            index.update([{"id": id, "price": price, "title": now.get(id, {}).get("title", "")}])
            now = {**now, id: {"title": "", **now.get(id, {}), "price": price}}
        elif step == "delete":
            assert index.delete(what[0]) == (what[0] in now)
            now = {id: document for id, document in now.items() if id != what[0]}
        elif step == "commit":
            index.commit()
            committed = now
        elif step == "compact":
            index.compact()
            committed = now
            assert len(index.snapshot.segments) <= 1
        elif step == "rollback":
            index.rollback()
            now = committed
        elif step == "reopen":
            check_against(Index.open(folder), committed)
    check_against(index, committed)
    check_against(Index.open(folder), committed)
    for id, document in committed.items():
        assert index[id].get("price") == document.get("price")


@pytest.fixture
def shop(tmp_path):
    index = Index.create(tmp_path / "shop", {**FIELDS, "day": "date", "v": "vector:2"})
    index.add(
        {
            "id": i,
            "title": f"Shoe {i} red" if i % 2 else f"Boot {i}",
            "tag": ["Odd" if i % 2 else "Even", "all"],
            "price": i * 10,
            "day": f"2024-0{i % 9 + 1}-01",
            "v": [i, 1],
            "note": {"kept": i},
        }
        for i in range(20)
    )
    index.commit()
    return index


def test_ids_keep_their_kind_and_are_one_namespace(shop):
    assert shop.retriever(k=3)("red").ids.dtype == np.int64
    with pytest.raises(ValueError, match="already"):
        shop.add([{"id": "3", "title": "x"}])
    with pytest.raises(ValueError, match="whole numbers, got 'x'"):
        shop.add([{"id": "x", "title": "x"}])
    shop.rollback()
    assert shop.delete(np.int64(3)) == 1
    shop.rollback()
    assert 3 in shop
    assert "3" in shop
    assert 99 not in shop
    with pytest.raises(KeyError):
        shop[99]


def test_what_was_given_comes_back(shop):
    assert shop[3]["note"] == {"kept": 3}
    assert np.allclose(shop[3]["v"], np.array([3, 1]) / math.hypot(3, 1))


def test_update_keeps_other_fields_and_none_removes(shop):
    shop.update([{"id": 3, "price": 5}, {"id": 4, "price": None, "v": None}])
    shop.commit()
    assert shop[3]["title"] == "Shoe 3 red"
    assert shop[3]["price"] == 5
    assert "price" not in shop[4]
    assert "v" not in shop[4]
    assert len(shop) == 20


def test_filters_and_facets(shop):
    find = shop.retriever(k=100, filters={"price": (50, None), "tag": "odd"})
    assert sorted(find("shoe").ids.tolist()) == [5, 7, 9, 11, 13, 15, 17, 19]
    assert sorted(shop.retriever(filters={"price": 70})("shoe").ids.tolist()) == [7]
    assert sorted(shop.retriever(filters={"day": ("2024-02-01", "2024-03-01")})("red boot").ids.tolist()) == [
        1, 2, 10, 11, 19
    ]  # fmt: skip
    assert shop.facets("shoe", "tag") == {"Odd": 10, "all": 10}
    assert shop.facets("", "tag", k=1) == {"all": 20}
    assert shop.facets("price:<=30", "tag") == {"all": 4, "Even": 2, "Odd": 2}
    with pytest.raises(ValueError, match="unknown keyword field"):
        shop.facets("x", "title")
    with pytest.raises(ValueError, match="unknown field 'prise'; did you mean 'price'"):
        shop.retriever(filters={"prise": 3})("red")
    with pytest.raises(ValueError, match="filters are on"):
        shop.retriever(filters={"title": "x"})("red")


def test_facets_match_like_the_search(tmp_path):
    index = Index.create(tmp_path / "i", {"t": "text", "brand": "keyword"})
    index.add([{"id": 1, "t": "red shoes", "brand": "Hare"}, {"id": 2, "t": "red hat", "brand": "Fox"}])
    index.commit()
    assert index.facets("red shoes", "brand") == {"Fox": 1, "Hare": 1}
    assert index.facets("red shoes", "brand", match="all") == {"Hare": 1}
    assert index.facets("shoez", "brand") == {}
    assert index.facets("shoez", "brand", typos="missing") == {"Hare": 1}
    with pytest.raises(ValueError, match="unknown typos 'sometimes'"):
        index.facets("red", "brand", typos="sometimes")


def test_source_fields_are_analysed_again(tmp_path):
    grams = Field("text", source="title", analyser=Analyser(grams=(3, 3)))
    index = Index.create(tmp_path / "g", {"title": "text", "grams": grams})
    index.add([{"id": "a", "title": "Spider Man"}, {"id": "b", "title": "Batman"}])
    index.commit()
    assert index.retriever()("spiderman").ids.tolist() == []
    assert index.retriever(model=BM25(fields={"grams": 1}))("spidreman").ids.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"title": "x"}, "needs its id under 'id'"),
        ({"id": None}, "needs its id"),
        ({"id": 1.5}, "text or a whole number"),
        ({"id": True}, "text or a whole number"),
        ({"id": ""}, "text or a whole number"),
        ("text", "maps field names"),
        (
            {"id": "x", "price": "cheap"},
            "document 'x', field 'price': wanted a finite number, got str 'cheap'",
        ),
        ({"id": "x", "title": 3}, "document 'x', field 'title'"),
        ({"id": "x", "extra": object()}, "cannot be stored"),
    ],
)
def test_wrong_documents_name_the_document_and_field(tmp_path, document, message):
    index = Index.create(tmp_path / "i", FIELDS)
    with pytest.raises(ValueError, match=message):
        index.add([{"id": "fine", "title": "fine"}, document])
    added = index.add([document, {"id": "good", "title": "good"}], on_error="skip")
    index.commit()
    assert sorted(index.ids.tolist()) == ["fine", "good"]
    assert added.documents == 1
    assert added.skipped[0].number == 0


def test_values_of_databases_and_frames_are_stored(tmp_path):
    index = Index.create(tmp_path / "i", {"price": "number", "tag": "keyword", "day": "date"})
    index.add([{"id": np.int64(7), "price": Decimal("2.50"), "tag": {"b", "a"}, "day": date(2024, 5, 1)}])
    index.commit()
    index.update([{"id": 7, "extra": np.arange(2)}])
    index.commit()
    assert index[7] == {"id": 7, "price": 2.5, "tag": ["a", "b"], "day": "2024-05-01", "extra": [0, 1]}


def test_a_failed_update_leaves_the_old_document(shop):
    with pytest.raises(ValueError, match="field 'price'"):
        shop.update([{"id": 3, "price": "cheap"}])
    shop.commit()
    assert shop[3]["price"] == 30


def test_paths_are_safe(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious.txt").write_text("keep")
    with pytest.raises(ValueError, match="not an empty folder"):
        Index.create(tmp_path / "full", FIELDS)
    with pytest.raises(FileNotFoundError, match="no index at"):
        Index.open(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="no index at"):
        Index.open(tmp_path / "full" / "precious.txt")
    index = Index.create(tmp_path / "i", FIELDS)
    with pytest.raises(ValueError, match="is an index already"):
        Index.create(tmp_path / "i", FIELDS)
    index.add([{"id": "../../evil", "title": "x"}])
    index.commit()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "i"]
    manifest = json.loads((tmp_path / "i" / "manifest.json").read_text())
    manifest["segments"][0]["name"] = "../full/precious.txt"
    manifest = {key: value for key, value in manifest.items() if key not in ("signed", "digest")}
    (tmp_path / "i" / "manifest.json").write_text(signed_json(manifest))
    with pytest.raises(ValueError, match="names a file that no index has"):
        Index.open(tmp_path / "i")


@pytest.mark.parametrize("number", [1, 9])
def test_another_format_says_how_to_make_it_anew(tmp_path, number):
    Index.create(tmp_path / "i", FIELDS)
    path = tmp_path / "i" / "manifest.json"
    path.write_text(path.read_text().replace('"format": 3', f'"format": {number}'))
    with pytest.raises(ValueError, match=f"has format {number}, .* again with `rankloop index`"):
        Index.open(tmp_path / "i")


@pytest.mark.parametrize(
    "content", ["{", "[]", "{}", '{"format": 3}', signed_json({"format": 3, "fields": 7})]
)
def test_a_damaged_manifest_says_how_to_make_it_anew(tmp_path, content):
    Index.create(tmp_path / "i", FIELDS)
    (tmp_path / "i" / "manifest.json").write_text(content)
    with pytest.raises(ValueError, match=r"is damaged .* make the index again"):
        Index.open(tmp_path / "i")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda whole: whole.replace(b"arrays 3", b"arrays 2", 1), "not a segment of this version"),
        (lambda whole: b"", "not a segment of this version"),
        (lambda whole: whole[:40], "damaged or cut short"),
        (lambda whole: whole[:-200], "damaged or cut short"),
        (lambda whole: whole.replace(b'"arrays"', b'"arrayt"', 1), "damaged or cut short"),
    ],
)
def test_a_damaged_segment_says_how_to_make_it_anew(tmp_path, damage, message):
    index = Index.create(tmp_path / "i", FIELDS)
    index.add([{"id": "1", "title": "red fox"}])
    index.commit()
    segment = next((tmp_path / "i").glob("segment-*.bin"))
    segment.write_bytes(damage(segment.read_bytes()))
    with pytest.raises(ValueError, match=f"{message}.* make the index again"):
        Index.open(tmp_path / "i")


def test_waiting_documents_spill_to_disk_and_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr("rankloop.search.index.writer.SPILL_TOKENS", 10)
    monkeypatch.setattr("rankloop.search.index.writer.MERGE_DOCUMENTS", 6)
    index = Index.create(tmp_path / "i", FIELDS)
    documents = {str(i): {"id": str(i), "title": "red fox", "body": f"dog {i} " * 3} for i in range(9)}
    index.add(documents.values())
    index.update([{"id": "0", "title": "blue"}, {"id": "1", "title": "red red"}])
    documents["0"] = {**documents["0"], "title": "blue"}
    documents["1"] = {**documents["1"], "title": "red red"}
    assert index.delete(["2", "8", "nothing"]) == 2
    assert len(index) == 0
    index.commit()
    assert len(index.snapshot.segments) > 1
    kept = {id: document for id, document in documents.items() if id not in ("2", "8")}
    check_against(index, kept)
    index.compact()
    check_against(index, kept)


def test_odd_unicode_survives(tmp_path):
    index = Index.create(tmp_path / "i", FIELDS)
    odd = ["\ud800 lone", "a\x00b", "😀 smile", "ﬀ ﬃ", "\u202eright", "e\u0301clair", "ß STRASSE", "İstanbul"]
    index.add({"id": f"{i}\n\x01é", "title": text, "tag": text} for i, text in enumerate(odd))
    index.commit()
    again = Index.open(tmp_path / "i")
    assert [again[id]["title"] for id in again.ids.tolist()] == odd
    assert again.retriever()("éclair").ids.tolist() == ["5\n\x01é"]
    assert again.facets("", "tag", k=99)["😀 smile"] == 1
