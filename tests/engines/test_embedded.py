"""The embedded index as an engine, addresses, and credentials: nothing here needs a cluster."""

import pytest

import rankloop as rl
from engines.shop import FIELDS, documents
from rankloop.engines import Embedded, EngineAway, OpenSearch
from rankloop.engines.remote.address import Address, is_address
from rankloop.engines.remote.credentials import Credentials
from rankloop.search import Features, Index


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    path = tmp_path_factory.mktemp("shop") / "shop.index"
    Index.create(path, fields=FIELDS)
    engine = rl.engines.open(path)
    assert isinstance(engine, Embedded)
    assert engine.add(documents()).documents == 300
    return engine


def test_a_pipeline_is_written_as_over_every_engine(shop):
    search = shop.retriever(k=100) >> rl.Features.standard(shop) >> rl.first(10)
    assert search("red shoes").ids.tolist() == shop.index.retriever(k=100)("red shoes").ids[:10].tolist()


def test_pages_sorting_and_what_was_understood(shop):
    whole = shop.retrieve("red", 40)
    pages = [shop.retrieve("red", 10, offset=start) for start in (0, 10, 20, 30, 1000)]
    assert whole.ids == tuple(id for page in pages for id in page.ids)
    assert whole.understood == "red"
    dear = shop.documents(shop.retrieve("red", 500, sort="-price").ids)
    prices = [one.get("price") for one in dear]
    known = [price for price in prices if price is not None]
    assert known == sorted(known, reverse=True)
    assert prices[len(known) :] == [None] * (len(prices) - len(known))  # without a price: last
    cheap = shop.documents(shop.retrieve("red", 5, sort="price", filters={"genre": ["sport"]}).ids)
    assert all("sport" in one["genre"] for one in cheap)
    with pytest.raises(ValueError, match="number or date field to sort by"):
        shop.retrieve("red", sort="title")
    assert shop.retrieve("the").understood == "no word that is searched"


def test_documents_features_reasons_and_health(shop):
    assert shop.documents(["d3", "nope"])[1] is None
    assert shop.documents(["d3"])[0]["title"] == documents()[3]["title"]
    assert "d3" in shop
    assert "nope" not in shop
    best = shop.retrieve("red shoes", 1)
    reasons = shop.explain("red shoes", best.ids[0])
    assert reasons.score == pytest.approx(best.scores[0])
    assert reasons.score == pytest.approx(sum(part.score for part in reasons.parts))
    standard = Features.standard(shop)
    table = shop.features("red shoes", ["d3", "nope", "d1"])
    assert table.ids == ("d3", "d1")
    assert table.names == standard.names == shop.computes(standard.names)
    assert shop.features("red", ["d3"], ["length(title)"]).values[0, 0] > 0
    assert shop.health().status == "green"
    assert shop.health().documents == len(shop) == 300
    assert all("run" in title for title in shop.suggest("run"))
    assert shop.suggest("") == []


def test_changes_are_there_when_they_return(tmp_path):
    Index.create(tmp_path / "i", fields={"title": "text"})
    engine = rl.engines.open(str(tmp_path / "i"))
    assert engine.any_document() is None
    engine.add([{"id": 1, "title": "red"}, {"id": 1, "title": "blue"}])
    assert engine.retrieve("blue").ids == ("1",)
    assert engine.retrieve("red").ids == ()
    assert engine.any_document()["title"] == "blue"
    assert engine.delete([1, 2]) == 1
    assert len(engine) == 0


def test_an_address_is_read():
    address = Address.parse("opensearch://a:9201,[::1]/shop?shards=3&tls=true&timeout=2.5")
    assert address.hosts == (("a", 9201), ("::1", 9200))
    assert (address.tls, address.timeout, address.number("shards", 1), address.local) == (True, 2.5, 3, None)
    assert str(address) == "opensearch://a:9201,[::1]:9200/shop"
    assert Address.parse("solr://h/c").hosts == (("h", 8983),)
    assert not is_address("C:/shop.index")
    assert not is_address("s3://bucket/shop")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("opensearch://localhost", "named like opensearch://localhost:9200/shop"),
        ("opensearch://localhost/a/b", "named like"),
        ("opensearch:///shop", "named like"),
        ("opensearch://h:port/shop", "a host is named like"),
        ("opensearch://h/shop?shard=3", "did you mean 'shards'"),
        ("opensearch://h/shop?shards=0", "whole number from 1"),
        ("opensearch://h/shop?replicas=-1", "whole number from 0"),
        ("opensearch://h/shop?timeout=soon", "in seconds"),
        ("opensearch://h/shop?timeout=0", "above 0"),
        ("elastic://h/shop", "did you mean 'elasticsearch'"),
    ],
)
def test_a_wrong_address_says_what_is_wrong(text, reason):
    with pytest.raises(ValueError, match=reason):
        Address.parse(text)


def test_secrets_are_not_in_addresses_reprs_or_errors(tmp_path):
    with pytest.raises(ValueError, match="no user and no password") as told:
        Address.parse("opensearch://ann:s3cret@localhost:9200/shop")
    assert "s3cret" not in str(told.value)
    address = Address.parse("opensearch://localhost:9200/shop")
    secrets = {"RANKLOOP_ENGINE_USER": "ann", "RANKLOOP_ENGINE_PASSWORD": "s3cret"}
    found = Credentials.find(address, secrets)
    assert "s3cret" not in repr(found)
    assert "ann" not in repr(found)
    assert found.headers == {"Authorization": "Basic YW5uOnMzY3JldA=="}
    with pytest.raises(ValueError, match="no user") as told:
        Credentials.find(address, {"RANKLOOP_ENGINE_PASSWORD": "s3cret"})
    assert "s3cret" not in str(told.value)


def test_credentials_from_a_file_and_the_environment_before_it(tmp_path):
    path = tmp_path / "engines.toml"
    one = '["search.example:9200"]\nuser = "ann"\npassword = "s3cret"\n'
    path.write_text(one + '[other]\napi_key = "k3y"\nverify = false\n')
    named = {"RANKLOOP_ENGINES": str(path)}
    one = Credentials.find(Address.parse("opensearch://search.example/shop"), named)
    assert (one.user, one.password) == ("ann", "s3cret")
    two = Credentials.find(Address.parse("opensearch://other:1/shop"), named)
    assert two.headers == {"Authorization": "ApiKey k3y"}
    assert not two.verify
    assert Credentials.find(Address.parse("opensearch://third/shop"), named).headers == {}
    both = named | {"RANKLOOP_ENGINE_PASSWORD": "new"}
    changed = Credentials.find(Address.parse("opensearch://search.example/shop"), both)
    assert changed.password == "new"
    for text, reason in (
        ('[other]\npass = "s3cret"', "unknown setting"),
        ("[other]\npassword = 7", "is a str"),
        ('other = "s3cret"', "table per host"),
        ("s3cret", "is not TOML"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=reason) as told:
            Credentials.find(Address.parse("opensearch://other/shop"), named)
        assert "s3cret" not in str(told.value)
    with pytest.raises(FileNotFoundError, match="RANKLOOP_ENGINES names"):
        Credentials.find(Address.parse("opensearch://other/shop"), {"RANKLOOP_ENGINES": str(tmp_path / "no")})


def test_an_engine_that_is_away_says_so():
    pytest.importorskip("opensearchpy")
    with pytest.raises(EngineAway, match="does not answer"):
        OpenSearch("opensearch://127.0.0.1:1/shop")


def test_browsing_and_sorting_equal_a_plain_sort(shop):
    """All documents, or those that match, by a field; those without a value last, equal ones by score."""
    given = documents()

    def key(sort, scores):
        name, sign = sort.removeprefix("-"), -1 if sort.startswith("-") else 1

        def order(one):
            value = one.get(name)
            if value is None:
                return (1, 0.0, 0.0)
            return (0, sign * value, -scores.get(one["id"], 0.0))

        return order

    found = shop.retriever(k=1000)("red")
    scores = dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True))
    for sort in ("price", "-price"):
        for query, some in (("red", [one for one in given if one["id"] in scores]), ("", given)):
            wanted = [one["id"] for one in sorted(some, key=key(sort, scores))]
            priced = sum("price" in one for one in some)
            for k in (1, 7, 300):
                got = shop.retrieve(query, k, sort=sort)
                assert got.matches == len(some)
                assert list(got.ids)[: min(k, priced)] == wanted[: min(k, priced)]
                assert set(got.ids[priced:]) <= set(wanted[priced:])
    assert len(shop.retrieve("", 10)) == 0
    sport = shop.retrieve("", 500, filters={"genre": ["sport"]})
    assert set(sport.ids) == {one["id"] for one in given if "sport" in one["genre"]}
    assert shop.retrieve("red", 5, sort="score").ids == shop.retrieve("red", 5).ids
    assert len(shop.retrieve("the", 10, filters={"genre": ["sport"]})) == 0


def test_an_address_of_no_known_engine_is_not_a_folder():
    with pytest.raises(ValueError, match=r"unknown kind of engine 'elastic'; .* known: elasticsearch, open"):
        rl.engines.open("elastic://localhost:9200/shop")
