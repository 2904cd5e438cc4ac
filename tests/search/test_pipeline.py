import numpy as np
import pytest

from rankloop.rankers import FeatureSum
from rankloop.search import Features, Index, Pipeline, Remembered, Stage, first, load_pipeline


@pytest.fixture
def index(tmp_path):
    index = Index.create(tmp_path / "i", {"title": "text", "price": "number"})
    index.add({"id": i, "title": "fox " * (i + 1) + "<end>", "price": i} for i in range(5))
    index.commit()
    return index


class Cheapest(Stage):
    def __call__(self, given):
        return given.scored([-hit.document["price"] for hit in given])


def test_stages_join_with_functions_and_objects(index):
    class Ranker:
        def stage(self):
            return Cheapest()

    for pipeline in (
        index.retriever() >> Cheapest() >> first(2),
        index.retriever() >> Ranker() >> (lambda found: found.take([0, 1])),
        index.retriever() >> (Cheapest() >> first(2)),
        (lambda query: index.retriever()(query)) >> Cheapest() >> first(2),
    ):
        assert isinstance(pipeline, Pipeline)
        assert pipeline("fox").ids.tolist() == [0, 1]
    assert repr(index.retriever(k=3) >> first(2)) == "Index('i', 5 documents).retriever(k=3) >> first(2)"


def test_candidates_travel_with_their_columns(index):
    found = index.retriever()("fox").with_column("x", np.arange(10).reshape(5, 2))
    turned = found.take([4, 0])
    assert turned.columns["x"].tolist() == [[8, 9], [0, 1]]
    assert turned.ids.tolist() == [found.ids[4], found.ids[0]]
    assert turned.ranks["words"].tolist() == [5, 1]
    assert len(first(100)(found)) == 5
    assert found.scored([1, 1, 2, 1, 1]).ids.tolist() == found.ids[[2, 0, 1, 3, 4]].tolist()


def test_hits_are_for_people(index):
    hit = next(iter(index.retriever()("foxes")))
    assert hit.rank == 1
    assert "<mark>fox</mark>" in hit.snippet
    assert "&lt;end&gt;" in hit.snippet
    assert hit.document["price"] == hit.id


def test_wrong_stages_say_so(index):
    with pytest.raises(ValueError, match="int cannot be called"):
        index.retriever() >> 3
    with pytest.raises(ValueError, match="at least 1"):
        first(0)
    with pytest.raises(NotImplementedError, match="Stage does not define"):
        Stage()("x")
    found = index.retriever()("fox")
    with pytest.raises(ValueError, match=r"one value per candidate \(5\)"):
        found.scored([1.0])
    with pytest.raises(ValueError, match="needs one row per candidate"):
        found.with_column("x", np.zeros(2))


def test_what_is_remembered_is_saved_and_served(index, tmp_path):
    ranker = FeatureSum({"bm25(title)": 1.0}, features=("bm25(title)",))
    plain = index.retriever() >> Features(("bm25(title)",)) >> ranker >> first(3)
    last = str(plain("fox").ids[-1])
    memory = Remembered({"Fox ": {last: 99.0, "404": 1.0}})
    search = Pipeline((*plain.stages[:3], memory, plain.stages[3]))
    assert str(search("fox").ids[0]) == last
    assert search("end").ids.tolist() == plain("end").ids.tolist(), "another query"
    search.save(tmp_path / "search.zip")
    again = load_pipeline(tmp_path / "search.zip", index)
    assert again.remembered.shifts == {"fox": {last: 99.0, "404": 1.0}}
    assert again.fingerprint == search.fingerprint != plain.fingerprint
    assert again("FOX").ids.tolist() == search("fox").ids.tolist()
    rescored = again.rescore("fox", [last])
    assert rescored.scores[0] == pytest.approx(plain.rescore("fox", [last]).scores[0] + 99.0)
    assert repr(memory) == "Remembered(1 query)"
    assert plain.remembered is None
