import json

import pytest

from commands import app_of, running
from rankloop.cli.index import index
from rankloop.cli.search import search


@pytest.fixture
def run():
    return running(app_of(index, search))


def test_index_and_search(tmp_path, run):
    source = tmp_path / "shop.jsonl"
    source.write_text('{"id": 1, "title": "Red <b>shoes</b>", "price": 80}\n{"id": 2, "title": "Red hat"}\n')
    shop = tmp_path / "shop.index"
    printed = run("index", source, "--out", shop, "--fields", "title:text,price:number")
    assert printed.startswith("2 documents added or updated, 2 in")
    found = json.loads(run("search", shop, "red shoes", "--json", "--explain"))
    assert [hit["id"] for hit in found["hits"]] == [1, 2]
    assert found["matches"] == 2
    total = sum(part["score"] for part in found["hits"][0]["explain"])
    assert total == pytest.approx(found["hits"][0]["score"])
    page = run("search", shop, "shoez", "--explain", "--fields", "title:2")
    assert "1 document matches" in page
    assert "Red <b>shoes</b>" in page
    assert "title:shoe" in page
    assert "0 documents match" in run("search", shop, "shoez", "--no-typos")


def test_the_export_of_a_spreadsheet(tmp_path, run):
    """Semicolons, decimal commas, an old encoding and tags: one command."""
    source, shop = tmp_path / "export.csv", tmp_path / "shop.index"
    rows = '1;"<b>Bügeleisen</b> &amp; Brett";1.299,00 €;//a.de/1.png\n2;Tür;5,99 €;//a.de/2.png\n'
    source.write_bytes(f"sku;titel;preis;bild\n{rows}".encode("cp1252"))
    with pytest.raises(ValueError, match="give its encoding, which is often cp1252"):
        run("index", source, "--out", shop, "--id", "sku")
    printed = run("index", source, "--out", shop, "--id", "sku", "--encoding", "cp1252", "--html")
    assert "titel:text,preis:number" in printed
    assert "stored with the documents and not searched by: bild" in printed
    cheap = run("search", shop, "preis:<10", "--fields", "titel:1")
    assert "1 document matches" in cheap
    assert "Tür" in cheap
    assert "Bügeleisen & Brett" in run("search", shop, "brett", "--fields", "titel:1")


def test_indexing_again_updates(tmp_path, run):
    source, shop = tmp_path / "shop.csv", tmp_path / "shop.index"
    source.write_text("id,title,price\na,Red hat,5\nb,Blue hat,cheap\n")
    printed = run("index", source, "--out", shop, "--fields", "title:text,price:number", "--skip-errors")
    assert "1 documents added or updated" in printed
    assert "skipped number 1: document 'b', field 'price'" in printed
    same = ("--fields", "title:text,price:number", "--skip-errors")
    assert "1 documents added or updated" in run(
        "index", source, "--out", shop, *same
    )  # the same command again
    with pytest.raises(ValueError, match="has other fields already"):
        run("index", source, "--out", shop, "--fields", "title:text")
    source.write_text("id,title,price\na,Green hat,6\nb,Blue hat,7\n")
    printed = json.loads(run("index", source, "--out", shop, "--compact", "--json"))
    assert printed["documents"] == 2
    assert json.loads(run("search", shop, "green", "--json"))["hits"][0]["document"]["price"] == 6


def test_mistakes_are_one_sentence(tmp_path, run):
    source = tmp_path / "a.jsonl"
    source.write_text('{"id": 1}\n')
    with pytest.raises(ValueError, match="needs --fields"):
        run("index", source, "--out", tmp_path / "i")
    with pytest.raises(ValueError, match="name:kind pairs"):
        run("index", source, "--out", tmp_path / "i", "--fields", "title")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        run("index", tmp_path / "none.jsonl", "--out", tmp_path / "i", "--fields", "title:text")
    assert not (tmp_path / "i").exists()
    with pytest.raises(FileNotFoundError, match="no index at"):
        run("search", tmp_path / "i", "x")
    run("index", source, "--out", tmp_path / "i", "--fields", "title:text")
    with pytest.raises(ValueError, match="has other fields already"):
        run("index", source, "--out", tmp_path / "i", "--fields", "title:keyword")
    with pytest.raises(ValueError, match="name:weight pairs"):
        run("search", tmp_path / "i", "x", "--fields", "title")
