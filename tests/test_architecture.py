"""Every file, folder and function that docs/architecture.md names is there; so are the glossary's names."""

import ast
import re
from importlib import import_module

import pytest

from house import ROOT, SOURCE, defined, exported, families, modules

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.(?:py|md))(?:: ([\w.]+))?`", PAGE)))
FOLDERS = sorted(set(re.findall(r"`((?:\w+/)+)`", PAGE)))


def place(path):
    """Files are named from the package, or from the root of the project."""
    return next((base / path for base in (SOURCE, ROOT) if (base / path).exists()), None)


@pytest.mark.parametrize(("path", "name"), NAMED, ids=lambda part: part or "whole")
def test_what_the_page_names_is_there(path, name):
    file = place(path)
    assert file is not None, f"docs/architecture.md names {path}, which is gone"
    inside = defined(file) if name else {}
    for part in name.split(".") if name else []:
        assert part in inside, f"docs/architecture.md names {part} in {path}, which is gone"
        node = inside[part]
        inside = {one.name: one for one in getattr(node, "body", []) if isinstance(one, ast.FunctionDef)}


@pytest.mark.parametrize("folder", FOLDERS)
def test_folders_are_there(folder):
    assert place(folder) is not None


def test_every_family_is_described():
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert sorted(rows) == families()


def test_every_folder_of_machinery_is_named():
    inner = {
        f"{family}/{folder.name}/"
        for family in families()
        for folder in (SOURCE / family).iterdir()
        if (folder / "__init__.py").exists()
    }
    assert inner - set(FOLDERS) == set()


def test_the_walks_name_files_and_functions():
    walks = re.split(r"^### ", PAGE.split("\n## Four walks\n")[1], flags=re.MULTILINE)[1:]
    assert len(walks) == 4
    for walk in walks:
        steps = re.findall(r"^\d+\. ", walk, re.MULTILINE)
        assert len(steps) >= 8
        assert len(re.findall(r"`[\w/]+\.py: [\w.]+`", walk)) >= len(steps)


def test_plumbing_is_named():
    drawn = set(re.findall(r"\b_\w+", PAGE.partition("plumbing")[2].partition("```")[0]))
    assert drawn == {path.stem for path in SOURCE.glob("_*.py")} - {"__init__", "__main__"}


def test_the_names_of_the_glossary_are_ours():
    """Names in code in the first column are public names, or parameters, fields and methods."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    named = {
        name
        for cell in re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", cell)
    }
    assert len(named) > 50
    public = {name for family in families() for name in exported(family)}
    source = "".join(path.read_text(encoding="utf-8") for path in modules())
    assert [
        name for name in sorted(named - public) if not re.search(rf"\b{name}: |def {name}\(", source)
    ] == []


@pytest.mark.parametrize("family", ["losses", "metrics", "unbiased"])
def test_every_method_of_the_literature_is_in_the_glossary(family):
    """Whatever names a paper in the first line of its docstring."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    package = import_module(f"rankloop.{family}")
    members = {name: getattr(package, name) for name in exported(family)}
    first = {
        name: (one.__doc__ or "").partition("\n")[0]
        for name, one in members.items()
        if hasattr(one, "__name__")
    }
    cited = [name for name, line in first.items() if re.search(r"\(.*[12]\d{3}\)", line)]
    assert len(cited) > 3
    assert [name for name in cited if f"`{name}`" not in text] == []
