"""Fields inferred from the first documents, and what `rankloop index` leaves behind when it fails."""

import json
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import app_of, running
from rankloop.cli.index import index
from rankloop.cli.search import search
from rankloop.search import Index, infer_fields


@pytest.fixture
def run():
    return running(app_of(index, search), fails=True)


def documents(**field):
    ((name, values),) = field.items()
    return [{"id": number, name: value} for number, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2.5, None], "number"),
        (["1", "2"], "text"),
        (["2024-05-01", "2024-05-01T12:00:00Z"], "date"),
        ([date(2024, 5, 1)], "date"),
        (["2024", "1999"], "text"),
        (["red", "blue", "red", "blue", "red"], "keyword"),
        (["red shoes", "blue hat"], "text"),
        (["a long sentence of many words"] * 5, "text"),
        ([["a", "b"], ["c"]], "keyword"),
        ([True, False], "keyword"),
        ([[0.1] * 8, [0.2] * 8], "vector:8"),
        ([[0.1] * 8, [0.2] * 9], None),
        ([[1, 2], [3, 4]], None),
        (["https://a.example/1", "//b.example"], None),
        ([{"nested": 1}], None),
        ([1, "one"], None),
        (["", []], None),
        ([None], None),
    ],
)
def test_kinds(values, kind):
    found = infer_fields(documents(thing=values))
    assert found == ({} if kind is None else {"thing": kind})


def test_numbers_of_a_table():
    assert infer_fields(documents(price=["1", "2.50"]), numbers_as_text=True) == {"price": "number"}
    assert infer_fields(documents(code=["007", "012"]), numbers_as_text=True) == {"code": "text"}
    assert infer_fields(documents(price=["1", "cheap"]), numbers_as_text=True) == {"price": "text"}


def test_names():
    found = infer_fields([{"sku": 7, "id": 1, "title": "a", "1st": "x", "a b": "y", "name": "a"}], id="sku")
    assert found == {"title": "text", "name": "text"}


VALUE = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, width=32), st.text(max_size=20),
    st.lists(st.text(max_size=5), max_size=3), st.lists(st.floats(-1, 1), min_size=8, max_size=8),
    st.dates().map(str), st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)  # fmt: skip


@given(
    st.lists(st.dictionaries(st.sampled_from(["a", "b", "title"]), VALUE, max_size=3), min_size=1, max_size=6)
)
def test_an_index_with_the_inferred_fields_takes_the_documents(tmp_path_factory, given_documents):
    fields = infer_fields(given_documents)
    if not fields:
        return
    opened = Index.create(tmp_path_factory.mktemp("inferred") / "i", fields)
    huge = [n for one in given_documents for n in one.values() if isinstance(n, int) and abs(n) > 1e38]
    if huge:
        return
    with opened:
        assert opened.add({"id": at, **one} for at, one in enumerate(given_documents)).documents
        opened.commit()


def write(path, *rows):
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def test_the_inferred_fields_are_shown_and_used(tmp_path, run):
    shop = write(
        tmp_path / "shop.jsonl",
        *({"id": n, "title": f"Red shoe {n}", "brand": "Hare", "price": n} for n in range(20)),
    )
    printed = run("index", shop, "--out", tmp_path / "shop.index")
    assert "title:text,brand:keyword,price:number" in printed
    assert "20 documents added" in printed
    assert Index.open(tmp_path / "shop.index").facets("shoe", "brand") == {"Hare": 20}
    told = json.loads(run("index", shop, "--out", tmp_path / "shop.index", "--json"))
    assert told["inferred"] is None  # the index has its fields
    table = tmp_path / "shop.csv"
    table.write_text("id,title,price\n1,Red hat,19.90\n2,Blue hat,5\n")
    assert "title:text,price:number" in run("index", table, "--out", tmp_path / "csv.index")
    assert Index.open(tmp_path / "csv.index")["1"]["price"] == 19.9


def test_a_declared_field_that_no_document_has_is_a_warning(tmp_path, run):
    shop = write(tmp_path / "shop.jsonl", {"id": 1, "title": "Red hat", "price": 5})
    declared = "title:text,prize:number"
    printed = run("index", shop, "--out", tmp_path / "a.index", "--fields", declared)
    assert "warning: no document has the field 'prize'; is it 'price'?" in printed
    told = json.loads(run("index", shop, "--out", tmp_path / "b.index", "--fields", declared, "--json"))
    assert told["nowhere"] == ["prize"]


@pytest.mark.parametrize("extra", [[], ["--fields", "title:text,price:number"]])
def test_nothing_is_left_where_the_input_fails(tmp_path, run, extra):
    rows = [{"id": n, "title": "Red hat", "price": n} for n in range(5)]
    shop = write(tmp_path / "shop.jsonl", *rows, {"id": 5, "title": 7, "price": "dear"})
    out = tmp_path / "shop.index"
    with pytest.raises(ValueError, match="document 6 of those given"):
        run("index", shop, "--out", out, "--fields", "title:text,price:number", *extra)
    assert [path.name for path in tmp_path.iterdir()] == ["shop.jsonl"]
    out.mkdir()
    with pytest.raises(ValueError, match="document 6 of those given"):
        run("index", shop, "--out", out, "--fields", "title:text,price:number")
    assert list(out.iterdir()) == []
    assert "5 documents added" in run(
        "index", shop, "--out", out, "--fields", "title:text,price:number", "--skip-errors"
    )


def test_a_source_without_documents_makes_no_index(tmp_path, run):
    empty, out = tmp_path / "empty.jsonl", tmp_path / "i"
    empty.write_text("\n")
    with pytest.raises(ValueError, match="has no documents; a new index needs --fields"):
        run("index", empty, "--out", out)
    with pytest.raises(ValueError, match="has no document that can be indexed"):
        run("index", empty, "--out", out, "--fields", "title:text")
    wrong = write(tmp_path / "wrong.jsonl", {"title": "no id"})
    with pytest.raises(ValueError, match="has no document that can be indexed: a document needs its id"):
        run("index", wrong, "--out", out, "--fields", "title:text", "--skip-errors")
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{not json\n")
    with pytest.raises(ValueError, match="line 1: not JSON"):
        run("index", broken, "--out", out)
    assert not out.exists()
    assert np.all([not path.name.startswith(".") for path in tmp_path.iterdir()])


def test_a_failed_update_leaves_the_index_as_it_was(tmp_path, run):
    out = tmp_path / "shop.index"
    run("index", write(tmp_path / "a.jsonl", {"id": 1, "title": "Red hat"}), "--out", out)
    with pytest.raises(ValueError, match="document 2 of those given"):
        run(
            "index", write(tmp_path / "b.jsonl", {"id": 2, "title": "x"}, {"id": 3, "title": 3}), "--out", out
        )
    assert len(Index.open(out)) == 1
