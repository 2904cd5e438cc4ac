"""What a release consists of: no file that is not needed, none missing, metadata that an index takes."""

import sys
import tarfile
import tomllib
import zipfile

import pytest

from house import ROOT

pytest.importorskip("hatchling", reason="wheels are built by hatchling, of the extra dev")
pytest.importorskip("trove_classifiers", reason="it comes with hatchling")


@pytest.fixture(scope="module")
def dist():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        import dist

        yield dist
    sys.modules.pop("dist", None)


@pytest.fixture(scope="module")
def built(dist, tmp_path_factory):
    return dist.build(tmp_path_factory.mktemp("dist"))


def test_the_wheel_holds_what_is_needed_and_no_more(dist, built):
    assert dist.not_needed(built[0]) == []
    assert dist.not_packed(built[0]) == []
    with zipfile.ZipFile(built[0]) as wheel:
        names = wheel.namelist()
    assert len(names) > 500
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "name", ["tests/test_x.py", "rankloop/x.nbi", "rankloop/tests/x.py", "rankloop/notes.md"]
)
def test_a_needless_file_is_seen(dist, tmp_path, name):
    path = tmp_path / "x.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("rankloop/__init__.py", "")
        wheel.writestr(name, "")
    assert dist.not_needed(path) == [f"{name} should not be in the wheel"]


def test_a_missing_file_is_seen(dist, tmp_path):
    path = tmp_path / "x.whl"
    zipfile.ZipFile(path, "w").close()
    missing = dist.not_packed(path)
    assert "rankloop/__init__.py is missing in the wheel" in missing
    assert "rankloop/py.typed is missing in the wheel" in missing


def test_the_metadata_is_sound(dist, built):
    assert dist.mistakes_in_metadata(dist.metadata_of(built[0])) == []


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        (
            b"Classifier: Typing :: Typed",
            b"Classifier: Typing :: Perhaps",
            "no classifier 'Typing :: Perhaps'",
        ),
        (b"License-Expression: Apache-2.0", b"License-Expression: MIT", "licence Apache-2.0"),
        (b"Requires-Python: >=3.11", b"Requires-Python: >=3.8", "requires-python"),
        (b"Version: ", b"Version: not a version ", "version"),
        (b"Name: rankloop", b"Name: rankloop\nProject-URL: Home, ftp://a.example", "Home is no address"),
    ],
)
def test_mistakes_in_metadata_are_seen(dist, built, old, new, mistake):
    raw = dist.metadata_of(built[0])
    assert old in raw
    found = dist.mistakes_in_metadata(raw.replace(old, new, 1))
    assert len(found) == 1
    assert mistake in found[0]


def test_the_archive_can_be_built_from(built):
    folder = built[1].name.removesuffix(".tar.gz")
    with tarfile.open(built[1]) as archive:
        names = set(archive.getnames())
    for name in ("pyproject.toml", "README.md", "LICENSE", "src/rankloop/__init__.py", "tests/conftest.py"):
        assert f"{folder}/{name}" in names
    ignored = (".venv", ".git/", "__pycache__", ".pytest_cache", ".nbi", ".nbc", f"{folder}/site/", ".ci/")
    assert [name for name in names if any(part in name for part in ignored)] == []
    assert f"{folder}/.git" not in names


def test_the_ten_lines_are_found(dist):
    lines = dist.lines_of_readme()
    assert lines.startswith(">>> import rankloop as rl\n")
    assert lines.count(">>>") <= 10


def test_each_package_that_is_asked_for_is_pinned(dist):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [one for more in project["optional-dependencies"].values() for one in more]
    wanted = [one for one in [*project["dependencies"], *wanted] if not one.startswith("rankloop[")]
    assert len(wanted) > 50
    assert dist.not_pinned(wanted) == []
    assert dist.not_pinned(["numpy>=2", "Rank_BM25", "psycopg[binary]>=3.2"]) == ["Rank_BM25"]


def test_each_extra_of_users_is_tried(dist, built):
    extras = set(dist.extras(built[0]))
    assert {"neural", "search", "serve", "report", "trees", "encoders"} <= extras - dist.ONLY_IF_NAMED
    assert extras > dist.ONLY_IF_NAMED
