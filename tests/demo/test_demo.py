"""What the demo reads from the machine: the crawl, sources that are never run, mined searches."""

import textwrap
from pathlib import Path

import pytest

from rankloop.demo.library import read_library, split_name
from rankloop.demo.mining import Mined, mined_queries, promising
from rankloop.demo.stdlib import FEATURES, Popularity, collect, mined_lists, references
from rankloop.demo.usage import Comment, Usage, in_turns, read_usage


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
            from collections import Counter as C
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
    usage = read_usage(source("def open(x): pass\nopen(1)\nfor len in []: len()\n"))
    assert not usage.calls["shop"]


def test_comments_above_calls_are_graded(source):
    usage = read_usage(
        source(
            """
            import shutil, os
            # Copy the file to the backup folder
            shutil.copy("a", "b")
            os.remove("a")

            os.rmdir("c")
            """
        )
    )
    assert usage.comments == [
        Comment("Copy the file to the backup folder", "shop", {"shutil.copy": 2, "os.remove": 1})
    ]


def test_broken_files_are_passed_over(source, tmp_path):
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00")
    files = [*source("def ("), ("x", tmp_path / "binary.py"), ("y", tmp_path / "absent.py")]
    assert read_usage(files).files == 0


def test_a_package_does_not_vouch_for_its_own_searches():
    usage = Usage()
    usage.calls["a"]["os.remove"] = 5
    usage.calls["b"]["os.remove"] = 1
    assert usage.popularity()["os.remove"] == 2
    assert usage.popularity(without="a")["os.remove"] == 1


@pytest.mark.parametrize(
    ("comment", "kept"),
    [
        ("Remove the temporary file", True),
        ("removes the temporary file", False),
        ("Remove x[0] from the list", False),
        ("TODO remove the temporary file", False),
        ("Remove file", False),
        ("Count the words", False),  # shares no stem with what it stands above
    ],
)
def test_mined_searches_read_like_searches(comment, kept):
    usage = Usage(comments=[Comment(comment, "a", {"os.remove": 2, "len": 2})])
    words = {"os.remove": frozenset({"os", "remove", "file"}), "len": frozenset({"len", "remove"})}
    mined = mined_queries(usage, {"os.remove": "os.remove", "len": "len"}, words, lambda word: word)
    assert [one.answers for one in mined] == ([{"os.remove": 2}] if kept else [])


def test_files_full_of_searches_come_first(source, tmp_path):
    dull = source("# of no use\nx = 1\n", "dull")
    long = source("# Remove the temporary file\nx()\n" + "y = 1\n" * 100, "long")
    short = source("# Remove the temporary file\nx()\n", "short")
    assert promising([*dull, *long, *short], seconds=5) == [*short, *long]
    assert promising(short, seconds=-1) == []


def test_packages_take_turns_and_no_file_is_read_twice(source):
    files = [*source("len([])", "a"), ("a", Path("second")), *source("len([])", "b")]
    assert [package for package, _ in in_turns(files)] == ["a", "b", "a"]
    usage = read_usage(files)
    again = read_usage(files, into=usage)
    assert again is usage
    assert (usage.files, usage.calls["a"]["len"]) == (2, 1)
    assert read_usage(files, seconds=-1).files == 0
    assert read_usage(files, most=1).files == 1


def test_mined_lists_leave_out_the_popularity_of_their_own_package(library, tmp_path):
    usage = Usage()
    usage.calls["a"]["os.remove"] = 5
    usage.calls["b"]["os.remove"] = usage.calls["b"]["os.unlink"] = 1
    usage.comments = [Comment("Remove a file from the folder", "a", {"os.remove": 2})]
    collection, comments = collect(library, usage, tmp_path / "stdlib.index")
    assert comments == 1
    mined = collection.mined
    assert mined is not None
    column = FEATURES.index("value(popularity)")
    row = mined.docid.tolist().index("os.remove")
    assert mined.y[row] == 1.0
    assert mined.X[row, column] == pytest.approx(0.6931, abs=1e-3)  # log 2: package b alone
    popular = Popularity.of(library, usage)
    assert popular.features("os.remove", "os") == pytest.approx((1.0986, 1.0986), abs=1e-3)
    assert collection.index["os.remove"]["popularity"] == pytest.approx(1.0986, abs=1e-3)
    nothing = [Mined("Remove a file", "a", {"abs": 2})]
    assert mined_lists(collection, library, popular, nothing) is None


def test_texts_that_name_a_document_refer_to_it(library):
    found = references(library)
    assert found["os.remove"] >= 1
    assert sum(found.values()) > 500


def test_names_become_words():
    assert split_name("xml.etree.ElementTree") == "xml etree ElementTree Element Tree"
