import gzip
import json
import sqlite3

import polars
import pytest

from rankloop.search import Index, infer_fields, read_documents
from rankloop.search.field import read_fields
from rankloop.search.read_documents import Unreadable
from rankloop.search.reading.tables import written_number

ROWS = [{"id": "a", "title": "Red, hat", "price": 5.0}, {"id": "b", "title": "Blue\nshoe", "price": 7.5}]
FIELDS = read_fields({"title": "text", "price": "number", "v": "vector:2"})


def test_json_lines(tmp_path):
    text = "\n".join(json.dumps(row) for row in ROWS) + "\n\n"
    (tmp_path / "a.jsonl").write_text(text)
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as file:
        file.write(text)
    assert list(read_documents(tmp_path / "a.jsonl")) == ROWS
    assert list(read_documents(tmp_path / "a.jsonl.gz")) == ROWS


def test_a_broken_line_is_refused_or_skipped(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "title": "x"}\n{"id": 2,\n[3]\n{"id": 4, "title": "y"}\n')
    documents = list(read_documents(tmp_path / "a.jsonl"))
    assert isinstance(documents[1], Unreadable)
    index = Index.create(tmp_path / "i", {"title": "text"})
    added = index.add(documents, on_error="skip")
    assert added.documents == 2
    assert [skip.number for skip in added.skipped] == [1, 2]
    assert "line 2: not JSON" in added.skipped[0].reason
    with pytest.raises(ValueError, match=r"a.jsonl, line 2: not JSON"):
        index.update(documents)


def test_csv_takes_kinds_from_fields(tmp_path):
    (tmp_path / "a.csv").write_text(
        'id,title,price,v\na,"Red, hat",5,"[1, 2]"\nb,"Blue\nshoe",7.5,\nc,x,cheap,\n'
    )
    read = list(read_documents(tmp_path / "a.csv", fields=FIELDS))
    assert read[0] == {**ROWS[0], "v": [1.0, 2.0]}
    assert read[1] == ROWS[1]
    assert read[2]["price"] == "cheap"
    (tmp_path / "a.tsv").write_text("id\ttitle\na\tRed, hat\n")
    assert list(read_documents(tmp_path / "a.tsv")) == [{"id": "a", "title": "Red, hat"}]


def test_tables_of_spreadsheets(tmp_path):
    """With the mark that they write at the beginning, and cells of any length."""
    path = tmp_path / "shop.csv"
    path.write_bytes(f"id,title\n1,Red hat\n2,{'x' * 200_000}\n".encode("utf-8-sig"))
    first, second = read_documents(path)
    assert first == {"id": "1", "title": "Red hat"}
    assert len(second["title"]) == 200_000
    path.write_bytes("id,title\n1,Red hat\n".encode("utf-16"))
    assert list(read_documents(path)) == [{"id": "1", "title": "Red hat"}]
    lines = tmp_path / "shop.jsonl"
    lines.write_bytes('{"id": 1}\n{"id": 2}\n'.encode("utf-8-sig"))
    assert list(read_documents(lines)) == [{"id": 1}, {"id": 2}]


def test_tables_of_other_countries(tmp_path):
    """Semicolons and decimal commas, as a German spreadsheet writes them, and not in UTF-8."""
    path = tmp_path / "shop.csv"
    path.write_bytes(
        'id;title;price\n1;"Bügeleisen, 5 m";1.299,00\n2;Hut;5,99 €\n3;Tür;1.299\n'.encode("cp1252")
    )
    with pytest.raises(ValueError, match=r"line 2: not UTF-8 text; give its encoding, which is often cp1252"):
        Index.create(tmp_path / "i", {"title": "text"}).add(read_documents(path))
    read = list(read_documents(path, fields=FIELDS, encoding="cp1252"))
    assert [one["title"] for one in read] == ["Bügeleisen, 5 m", "Hut", "Tür"]
    assert [one["price"] for one in read] == [1299.0, 5.99, 1299.0]
    assert infer_fields(read_documents(path, encoding="cp1252"), numbers_as_text=True) == {
        "title": "text",
        "price": "number",
    }
    path.write_text('id,price\n1,"1,299.00"\n2,"5,99"\n3,"1,299"\n4,$12\n5,1.299\n')
    assert [one["price"] for one in read_documents(path, fields=FIELDS)] == [
        1299.0,
        5.99,
        1299.0,
        12.0,
        1.299,
    ]
    path.write_text("id|price\n1|5\n")
    assert list(read_documents(path)) == [{"id": "1", "price": "5"}]
    with pytest.raises(ValueError, match="unknown encoding 'latin-x'"):
        list(read_documents(path, encoding="latin-x"))


@pytest.mark.parametrize(
    "text", ["41 to 42", "1,2,3", "", "€", "12,34,567", "1.299.00", "007-1", "0,123,456"]
)
def test_what_is_no_number_stays_text(text):
    assert written_number(text) is None
    assert written_number(text, decimal=",") is None


def test_texts_may_lose_their_markup(tmp_path):
    path = tmp_path / "shop.jsonl"
    row = {
        "id": "a&b",
        "title": "<p>Caf&eacute; &amp; <b>bar</b></p><script>x()</script>",
        "price": 3,
        "tags": ["<i>a</i>", "b < c"],
    }
    path.write_text(json.dumps(row))
    [read] = read_documents(path, html=True)
    assert read == {"id": "a&b", "title": "Café & bar", "price": 3, "tags": ["a", "b < c"]}
    assert list(read_documents(path)) == [row]


def test_parquet(tmp_path):
    polars.DataFrame([*ROWS, {"id": "c", "title": None, "price": None}]).write_parquet(tmp_path / "a.parquet")
    assert list(read_documents(tmp_path / "a.parquet")) == [*ROWS, {"id": "c"}]


def test_databases(tmp_path):
    path = tmp_path / "shop.db"
    connection = sqlite3.connect(path)
    connection.execute("create table shop (id text, title text, price real)")
    connection.executemany("insert into shop values (:id, :title, :price)", ROWS)
    connection.commit()
    connection.close()
    assert list(read_documents(path, sql="select * from shop order by id")) == ROWS
    assert list(read_documents(f"sqlite:///{path}", sql="select * from shop order by id")) == ROWS
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        list(read_documents(path, sql="delete from shop"))
    with pytest.raises(FileNotFoundError, match="no SQLite file"):
        list(read_documents(tmp_path / "none.db", sql="select 1"))


def test_folders_of_files(tmp_path):
    folder = tmp_path / "docs"
    (folder / "deep").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "x.md").write_text("# no")
    (folder / "a.md").write_text("intro\n\n# The title #\ntext")
    (folder / "deep" / "b.html").write_text(
        "<html><head><title>T &amp; t</title><style>p{}</style></head><p>One</p>"
        "<p>two<b>!</b><script>x</script></p>"
    )
    (folder / "c.txt").write_bytes(b"caf\xe9 # not a title")
    (folder / "d.bin").write_bytes(b"no")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    found = {document["id"]: (document["title"], document["body"]) for document in read_documents(folder)}
    assert found == {
        "a.md": ("The title", "intro\n\n# The title #\ntext"),
        "deep/b.html": ("T & t", "One two!"),
        "c.txt": ("c", "caf\ufffd # not a title"),
    }


def test_wrong_sources_say_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="no documents at"):
        read_documents(tmp_path / "none.jsonl")
    (tmp_path / "a.xyz").write_text("")
    with pytest.raises(ValueError, match="is none of"):
        read_documents(tmp_path / "a.xyz")
