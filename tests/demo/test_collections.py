"""What the demo reads from the machine: the crawl, and sources that are never run."""

import sys
import textwrap
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rankloop.demo import crawl
from rankloop.demo.library import Library, read_library, split_name
from rankloop.demo.stdlib import collect, popularity, references
from rankloop.demo.steps import Steps
from rankloop.demo.usage import Usage, in_turns, read_usage, sources
from rankloop.search import load_pipeline
from tiny_encoder import Words, make_model


@pytest.fixture(scope="module")
def library():
    return read_library()


def test_the_crawl_finds_what_people_use(library):
    assert len(library.documents) > 4000
    for name in ("tempfile.TemporaryDirectory", "collections.Counter.most_common", "open", "os.path.join"):
        assert library.canonical[name] == name
    assert library.documents["os.getcwd"]["summary"].startswith("Return")
    assert library.documents["concurrent.futures.ThreadPoolExecutor"]["body"] == ""  # not its base class's


def test_the_tests_of_the_library_are_no_documents(library):
    modules = {document["module"] for document in library.documents.values()}
    assert not [name for name in modules if {"test", "tests"} & set(name.split("."))]


def test_a_signature_that_cannot_be_evaluated_is_left_out(monkeypatch):
    """Python 3.13 fails on the defaults of epoll's methods, which are written in C."""

    def unknown(thing):
        raise AttributeError("'builtin_function_or_method' object has no attribute 'EPOLLIN'")

    monkeypatch.setattr("inspect.signature", unknown)
    assert crawl._document("select.epoll.register", len, "method")["signature"] == ""


def test_other_names_lead_to_the_documented_one(library):
    assert library.canonical["posixpath.join"] == "os.path.join"
    assert library.canonical["datetime.datetime.strftime"] == "datetime.date.strftime"


def test_nearly_every_written_answer_is_there(library):
    assert len(library.searches) >= 150
    assert library.dropped <= 20
    assert all(
        max(grades.values()) <= 3 and min(grades.values()) >= 1 for grades in library.searches.values()
    )


@pytest.fixture
def source(tmp_path):
    def write(text: str, package: str = "shop") -> list[tuple[str, Path]]:
        path = tmp_path / f"{package}.py"
        path.write_text(textwrap.dedent(text))
        return [(package, path)]

    return write


def test_calls_are_resolved_through_imports(source):
    usage = read_usage(
        source(
            """
            import os.path as p, json
            from collections import (
                Counter as C,
                OrderedDict,
            )
            def f():
                import shutil
                return shutil.copy(p.join("a", "b"), json.dumps(C()))
            "".join(open("x"))
            """
        )
    )
    assert dict(usage.calls["shop"]) == {
        "shutil.copy": 1,
        "os.path.join": 1,
        "json.dumps": 1,
        "collections.Counter": 1,
        "str.join": 1,
        "open": 1,
    }


def test_names_that_a_file_defines_are_its_own(source):
    usage = read_usage(source("def open(x, *any): any()\nopen(1)\nfor len in []: len()\nid = 3\nid()\n"))
    assert not usage.calls["shop"]


def test_unreadable_files_are_skipped(tmp_path):
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00")
    files = [("x", tmp_path / "binary.py"), ("y", tmp_path / "absent.py")]
    assert read_usage(files).files == 0


def test_packages_take_turns_and_reading_ends(source):
    files = [*source("len([])", "a"), ("a", Path("second")), *source("len([])", "b")]
    assert [package for package, _ in in_turns(files)] == ["a", "b", "a"]
    usage = read_usage(files)
    assert (usage.files, usage.calls["a"]["len"]) == (2, 1)
    assert read_usage(files, seconds=-1).files == 0
    assert read_usage(files, most=1).files == 1


def test_sources_hold_the_standard_library_and_no_tests_of_it():
    found = dict(sources())
    assert found["stdlib/json"].parent.name == "json"
    assert "stdlib/test" not in found


def test_popularity_counts_packages(library, tmp_path):
    usage = Usage()
    usage.calls["a"]["os.remove"] = 5
    usage.calls["b"]["os.remove"] = usage.calls["b"]["os.unlink"] = usage.calls["b"]["unknown.name"] = 1
    documents, modules = popularity(library, usage)
    assert (documents["os.remove"], documents["os.unlink"], modules["os"]) == (2, 1, 2)
    collection = collect(library, usage, tmp_path / "stdlib.index")
    assert collection.index["os.remove"]["popularity"] == pytest.approx(1.0986, abs=1e-3)  # log 3
    assert collection.index["os.remove"]["module_popularity"] == pytest.approx(1.0986, abs=1e-3)


def test_an_encoder_gives_names_and_summaries_a_meaning(library, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", SimpleNamespace(Tokenizer=Words))
    monkeypatch.setenv("RANKLOOP_ENCODERS", str(tmp_path))
    few = Library(dict(list(library.documents.items())[:50]), library.canonical, {"red shoe": {"open": 3}}, 0)
    plain = collect(few, Usage(), tmp_path / "plain.index")
    assert not [name for name in plain.features if name.startswith("similarity")]
    make_model(tmp_path / "tiny")
    found = collect(few, Usage(), tmp_path / "stdlib.index", encoder="tiny")
    assert found.features == (*plain.features, "similarity(meaning)")
    assert "meaning" in found.index[next(iter(few.documents))]
    search = found.pipeline(found.feature_sum(found.bm25))
    assert set(search.stages[0].vectors) == {"meaning"}
    data = found.candidates(found.searches)
    assert np.isfinite(data.X[:, list(data.feature_names).index("similarity(meaning)")]).all()
    search.save(tmp_path / "search")
    again = load_pipeline(tmp_path / "search", found.index, exact=True)
    assert again("red shoe").ids.tolist() == search("red shoe").ids.tolist()


def test_the_demo_takes_the_encoder_that_is_there_and_fetches_none(tmp_path, monkeypatch):
    home = import_module("rankloop.demo.run_demo")
    monkeypatch.setenv("RANKLOOP_ENCODERS", str(tmp_path))
    monkeypatch.setattr(home, "find_spec", lambda module: object())
    assert home.own_encoder() is None
    make_model(tmp_path / "minilm")
    assert home.own_encoder() == "minilm"
    monkeypatch.setattr(home, "find_spec", lambda module: None if module == "tokenizers" else object())
    assert home.own_encoder() is None


def test_texts_that_name_a_document_refer_to_it(library):
    found = references(library)
    assert found["os.remove"] >= 1
    assert sum(found.values()) > 500


def test_names_become_words():
    assert split_name("xml.etree.ElementTree") == "xml etree ElementTree Element Tree"


@pytest.mark.parametrize("compiles", [True, False])
def test_the_wait_for_code_that_is_compiled_is_a_step(compiles, library, monkeypatch, tmp_path, capsys):
    run_demo, ended = import_module("rankloop.demo.run_demo"), []

    @contextmanager
    def compiling():
        yield compiles
        ended.append(list(steps.seconds))

    monkeypatch.setattr(run_demo, "compiling_demo", compiling)
    monkeypatch.setattr(run_demo, "own_encoder", lambda: None)
    monkeypatch.setattr("rankloop.demo.library.read_library", lambda: library)
    monkeypatch.setattr("rankloop.demo.usage.read_usage", lambda *given, **more: Usage())
    monkeypatch.setattr("rankloop.demo.stdlib.collect", lambda *given, **more: SimpleNamespace(index=[]))
    steps = Steps()
    run_demo._stdlib(steps, tmp_path)
    assert ended == [["documents", "usage"]]
    wanted = ["documents", "usage", *(["compiled"] if compiles else []), "index"]
    assert list(steps.seconds) == wanted
    assert ("compiled once and kept" in capsys.readouterr().out) == compiles
