"""`rankloop delete`: ids typed, or in a file."""

import json

import pytest
from typer.testing import CliRunner

from rankloop.cli import app
from rankloop.search import Index


@pytest.fixture
def shop(tmp_path):
    with Index.create(tmp_path / "shop.index", {"title": "text"}) as index:
        index.add({"id": f"a{number}", "title": "red shoes"} for number in range(5))
        index.commit()
    return str(tmp_path / "shop.index")


def run(*given, **more):
    result = CliRunner().invoke(app, ["delete", *given], **more)
    assert result.exit_code == 0, result.output + repr(result.exception)
    return result.output


def test_ids_that_are_typed(shop):
    assert run(shop, "a1", "a2", "a1") == f"deleted 2; 3 documents in {shop}\n"
    assert run(shop, "a1", "a3") == f"deleted 1, 1 not found; 2 documents in {shop}\n"
    assert sorted(Index.open(shop).ids.tolist()) == ["a0", "a4"]


def test_ids_in_a_file_and_from_standard_input(shop, tmp_path):
    (tmp_path / "ids.txt").write_text("a1\n\n  a2  \nnothing\n")
    found = json.loads(run(shop, "--file", str(tmp_path / "ids.txt"), "--json"))
    assert found == {"index": shop, "deleted": 2, "absent": 1, "documents": 3}
    run(shop, "--file", "-", input="a0\n")
    assert sorted(Index.open(shop).ids.tolist()) == ["a3", "a4"]
