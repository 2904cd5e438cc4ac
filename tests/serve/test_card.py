"""A shop's card: which images may be shown, prices and ratings, and what the policy of the page allows."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.serve import Config
from rankloop.serve.card_settings import CardSettings
from serve.running import client_of
from serve.test_pages import read

CARD = CardSettings(price="p", currency="EUR", image="i", image_hosts=("img.shop.example",), rating="r")


@pytest.mark.parametrize(
    "address",
    [
        "http://img.shop.example/1.jpg",
        "https://img.shop.example.evil.example/1.jpg",
        "https://evil.example/https://img.shop.example/1.jpg",
        "https://img.shop.example@evil.example/1.jpg",
        "https://user@img.shop.example/1.jpg",
        "https://img.shop.example:8443/1.jpg",
        "//img.shop.example/1.jpg",
        "javascript:alert(1)",
        "data:image/svg+xml,<svg/>",
        "/1.jpg",
        "https://[img.shop.example/1.jpg",
        "https://img.shop.example/" + "x" * 3000,
        "",
        None,
        7,
        [],
        {"src": "https://img.shop.example/1.jpg"},
    ],
)
def test_other_images_are_not_shown(address):
    assert CARD.image_of({"i": address}) is None


@pytest.mark.parametrize(
    "address", ["https://img.shop.example/1.jpg", "https://IMG.shop.example/1.jpg?w=2#a"]
)
def test_images_of_the_host_are_shown(address):
    assert CARD.image_of({"i": address}) == address
    assert CARD.image_of({"i": [address, "other"]}) == address
    assert CardSettings().image_of({"": address, "i": address}) is None


@pytest.mark.parametrize(
    ("price", "text"),
    [
        (20, "20 EUR"),
        (19.5, "19.50 EUR"),
        (1234567.891, "1\N{NARROW NO-BREAK SPACE}234\N{NARROW NO-BREAK SPACE}567.89 EUR"),
        (0, "0 EUR"),
        (math.nan, None),
        (True, None),
        ("cheap", None),
        (None, None),
    ],
)
def test_prices(price, text):
    assert CARD.price_of({"p": price}) == text


def test_ratings():
    assert [CARD.rating_of({"r": value}) for value in (0, 4.5, 5, 5.1, -1, "4", None, math.inf)] == [
        0.0,
        4.5,
        5.0,
        *[None] * 5,
    ]


@pytest.mark.parametrize(
    "hosts",
    [
        ("*",),
        ("https://a.example",),
        ("a.example/path",),
        ("a b.example",),
        ("a.example; script-src *",),
        (7,),
    ],
)
def test_hosts_that_are_none_are_refused(hosts):
    with pytest.raises(ValueError, match=r"card\.image_hosts are "):
        CardSettings(image="i", image_hosts=hosts)


def test_settings_of_a_file():
    given = {"index": "shop.index", "card": {"price": "p", "image": "i", "image_hosts": ["img.shop.example"]}}
    assert Config.from_dict(given).card == CardSettings(
        price="p", image="i", image_hosts=("img.shop.example",)
    )
    for wrong, words in (
        ({"image": "i"}, "card.image needs card.image_hosts"),
        ({"image_hosts": "img.shop.example"}, "card.image_hosts is a list"),
        ({"prize": "p"}, "unknown setting of .card. 'prize'"),
        ({"best_rating": -1.0}, "best_rating is above 0"),
    ):
        with pytest.raises(ValueError, match=words):
            Config.from_dict({"index": "shop.index", "card": wrong})


@given(
    st.dictionaries(st.sampled_from("pir"), st.one_of(st.text(), st.floats(), st.lists(st.text()), st.none()))
)
def test_whatever_is_stored_makes_a_card(document):
    assert isinstance(CARD.price_of(document), str | None)
    assert isinstance(CARD.image_of(document), str | None)
    assert isinstance(CARD.rating_of(document), float | None)


def test_the_policy_names_the_hosts_and_no_others(tmp_path):
    card = CardSettings(price="price", currency="EUR", image="url", image_hosts=("shop.example",))
    with client_of(tmp_path, card=card) as (client, _):
        answer = client.get("/", params={"q": "red"})
        policy = answer.headers["content-security-policy"]
        assert policy.endswith("img-src 'self' data: https://shop.example")
        page = read(answer)
        assert {one["src"] for one in page.all("img")} == {"https://shop.example/1"}
        assert "10 EUR" in page.text or "0 EUR" in page.text
        sent = {"query": "red", "facets": ["brand"], "facet_values": 1, "ranges": ["price"]}
        found = client.post("/search", json=sent).json()
        assert len(found["facets"]["brand"]) == 1
        assert sum(one["count"] for one in found["ranges"]["price"]) == found["found"]
        wrong = client.post("/search", json={"query": "red", "ranges": ["brand"]})
        assert wrong.status_code == 400
        assert "unknown number field 'brand'" in wrong.json()["detail"]
