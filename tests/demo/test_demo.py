"""The demo's parts: the crawl, reading sources without running them, mined searches, and the story."""

import textwrap
from pathlib import Path

import pytest

from rankloop.demo import tell
from rankloop.demo.library import read_library, split_name
from rankloop.demo.mining import mined_queries
from rankloop.demo.usage import Comment, Usage, read_usage


@pytest.fixture(scope="module")
def library():
    return read_library()


def test_the_crawl_finds_what_people_use(library):
    assert len(library.documents) > 4000
    for name in ("tempfile.TemporaryDirectory", "collections.Counter.most_common", "open", "os.path.join"):
        assert library.canonical[name] == name
    assert library.documents["os.getcwd"]["summary"].startswith("Return")
    assert library.documents["concurrent.futures.ThreadPoolExecutor"]["body"] == ""  # not its base class's


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


@pytest.mark.slow
def test_the_story_is_told(tmp_path, capsys):
    story = tell(out=tmp_path, seed=0, sessions=5_000, reading=1.0)
    told = capsys.readouterr().out
    assert "unbiased" in told
    assert story.numbers["documents"] > 4000
    assert 0.3 < story.numbers["rank 2"] < 0.7
    assert (tmp_path / "stdlib.index").is_dir()


def test_names_become_words():
    assert split_name("xml.etree.ElementTree") == "xml etree ElementTree Element Tree"
