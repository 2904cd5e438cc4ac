"""Addresses that ask for much: answered or refused quickly, whatever they repeat."""

from urllib.parse import urlencode

import pytest

from serve.running import client_of


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with client_of(tmp_path_factory.mktemp("shop")) as (client, _):
        yield client


@pytest.mark.parametrize("path", ["/", "/fragment"])
@pytest.mark.parametrize("name", ["f.price", "f.brand", "f.nothing", "from.x{}", "from.price{}"])
def test_an_address_with_thousands_of_filters_is_refused(client, path, name):
    """Every link of the page repeats them: 3,000 ranges took more than a minute."""
    pairs = [(name.format(number), f"{number}..{number + 1}") for number in range(2000)]
    answer = client.get(f"{path}?{urlencode([('q', 'red'), *pairs])}")
    assert answer.status_code == 400
    assert "An address has at most 100 filters, got 2,000; remove some" in answer.text
    assert len(answer.content) < 10_000


def test_a_hundred_filters_are_an_ordinary_page(client):
    pairs = [("f.brand", "Hare"), *(("f.brand", f"brand {number}") for number in range(99))]
    answer = client.get(f"/?{urlencode([('q', 'red'), *pairs])}")
    assert answer.status_code == 200
    assert len(answer.content) < 2**20
