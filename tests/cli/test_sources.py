"""What a SOURCE is, by its content: a data set, an index, a service."""

import pytest
from typer.testing import CliRunner

from rankloop.cli import app
from rankloop.cli.options.sources import is_index, is_service
from rankloop.data import synthetic, write_svmlight
from rankloop.search import Index


@pytest.fixture
def files(tmp_path):
    data = synthetic(n_queries=5, docs_per_query=4, n_features=2, seed=0)
    write_svmlight(data, tmp_path / "data.txt")
    data.save(tmp_path / "saved")
    with Index.create(tmp_path / "shop", {"title": "text"}) as index:
        index.add([{"id": "a", "title": "red shoes"}])
        index.commit()
    return tmp_path


def test_an_index_is_known_by_its_manifest(files):
    assert is_index(files / "shop")
    assert not any(is_index(files / name) for name in ("data.txt", "saved", "none"))
    (files / "other").mkdir()
    (files / "other" / "manifest.json").write_text("not JSON")
    with pytest.raises(ValueError, match=r"manifest.json is damaged or cut short"):
        is_index(files / "other")


def test_a_service_is_an_index_or_a_toml_file(files):
    assert is_service(files / "shop")
    assert is_service(files / "shop.toml")
    assert not is_service(files / "saved")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "data.txt", "--qrels", "qrels.txt"], "--queries, --qrels and --features are for train"),
        (["train", "shop"], "training on shop needs --qrels"),
        (["learn", "saved"], "a data set needs its click log: rankloop learn saved LOG"),
    ],
)
def test_what_does_not_fit_the_source_is_named(files, monkeypatch, arguments, message):
    monkeypatch.chdir(files)
    with pytest.raises(ValueError, match=message):
        CliRunner().invoke(app, arguments, catch_exceptions=False)


@pytest.mark.parametrize("command", ["convert", "shard"])
def test_one_argument_of_two_is_an_error_that_names_both(command):
    """Click gives the one to the last place, and would call the first place missing."""
    done = CliRunner().invoke(app, [command, "train.txt"])
    assert done.exit_code == 2
    assert "'sources' or 'target': all of them are needed" in done.output
