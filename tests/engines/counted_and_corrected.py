"""Histograms and corrections over an engine; the embedded index is the twin."""

import numpy as np
import pytest

from rankloop.search import Features
from rankloop.serve import Config, Service
from serve.running import TOKEN, on_a_port

HALF = {"price": (None, 50)}


class CountedAndCorrected:
    """Tests that every engine passes: `shop` is the engine, `index` the embedded index of its documents."""

    def test_a_misspelt_query_has_the_list_of_the_corrected_one(self, shop, index):
        """The engine has no words to offer: they are seen in documents with words like those typed."""
        features = Features(["bm25(title)", "covered(*)", "query_length"])
        for typed, meant in (
            ("red wintr", "red winter"),
            ("+wintr red", "+winter red"),
            ("red winte winte*", "red winter"),
            ("summr gren", "summer green"),
        ):
            found = shop.retriever(k=1000, typos="missing")(typed)
            right = shop.retriever(k=1000)(meant)
            assert found.query.understood == meant, found.query.understood
            assert index.retriever(typos="missing")(typed).query.understood == meant
            place = {id: at for at, id in enumerate(found.ids.tolist())}
            assert sorted(place) == sorted(right.ids.tolist())  # copies of a shard may score otherwise
            assert found.matches == right.matches > 0
            same = found.take([place[id] for id in right.ids.tolist()])
            assert np.allclose(features.matrix(same), features.matrix(right), rtol=1e-5)
            assert "<mark>" in next(iter(found)).snippet
            options = {"filters": HALF, "typos": "missing"}
            ours, theirs = (one.counts(typed, ["genre"], ["price"], **options) for one in (index, shop))
            assert theirs == ours == shop.counts(found.query, ["genre"], ["price"], **options)
            assert shop.facets(typed, "genre", typos="missing") == shop.facets(meant, "genre")
        assert shop.retriever(typos="missing")("red zzzqqqq").query.understood is None
        assert shop.retriever()("red wintr").query.understood is None
        assert shop.retriever()("wintr").matches == 0

    def test_histograms_as_in_the_embedded_index(self, shop, index):
        """Each field without its own filter; the ends are found in two requests."""
        for query in ("red", "", "title:red -shoes", "price:>=90"):
            for filters in (None, HALF, {"genre": ["sport"]}, {"genre": ["sport"], "price": (20, 30)}):
                for bins in (12, 3):
                    options = {"filters": filters, "bins": bins}
                    ours, theirs = (
                        one.counts(query, ["genre"], ["price"], **options) for one in (index, shop)
                    )
                    assert theirs.values == ours.values
                    assert theirs.ranges == ours.ranges
                    assert sum(one.documents for one in theirs.ranges["price"]) > 0
        assert shop.counts("zzzqqqq", ["genre"], ["price"]) == ({"genre": {}}, {"price": []})
        with pytest.raises(ValueError, match=r"histograms are of number fields \(price\), got 'released'"):
            shop.counts("red", [], ["released"])

    def test_the_page_narrows_and_says_what_was_meant(self, shop, tmp_path):
        """As people see it: the correction, facets and bars that follow it, and a bar that narrows."""
        settings = Config(index=str(shop.address), folder=tmp_path / "pages", admin_token=TOKEN)
        with Service.open(settings) as service, on_a_port(service) as client:
            page = client.get("/", params={"q": "red wintr"}).text
            assert "Showing results for" in page
            assert "red winter" in page
            assert 'class="bars"' in page
            assert "f.price=" in page
            right = client.post(
                "/search", json={"query": "red winter", "ranges": ["price"], "facets": ["genre"]}
            )
            wrong = client.post(
                "/search", json={"query": "red wintr", "ranges": ["price"], "facets": ["genre"]}
            )
            assert wrong.json()["understood"] == "red winter"
            for name in ("found", "facets", "ranges"):
                assert wrong.json()[name] == right.json()[name] != {}
            bar = right.json()["ranges"]["price"][0]
            narrowed = {"query": "red winter", "filters": {"price": {"min": bar["min"], "max": bar["max"]}}}
            assert client.post("/search", json=narrowed).json()["found"] == bar["count"]
