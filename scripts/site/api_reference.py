"""One page of reference for each family: its contract, and every public name where it is defined."""

import ast
from importlib import import_module
from pathlib import Path

from docstrings import to_markdown

__all__ = ["names", "overview", "pages"]

PACKAGE = Path(__file__).parents[2] / "src" / "rankloop"
NOT_A_LIBRARY = {"cli", "demo"}  # the commands have a page of their own


def pages() -> dict[str, str]:
    """The Markdown of each family's page."""
    return {family: page(family) for family in families()}


def families() -> list[str]:
    found = (path.parent.name for path in PACKAGE.glob("*/__init__.py"))
    return sorted(family for family in found if family not in NOT_A_LIBRARY)


def page(family: str) -> str:
    contract = ast.get_docstring(_tree(PACKAGE / family / "__init__.py")) or ""
    members = "\n".join(
        f"::: {home}\n    options:\n      heading: {name}\n      toc_label: {name}\n"
        for name, home in names(family).items()
    )
    return f"# rankloop.{family}\n\n{to_markdown(contract)}\n\n{members}"


def overview() -> str:
    """The names of `rankloop` itself, each with the page of its family."""
    rows = "\n".join(
        f"- [`rankloop.{name}`][{home}]"
        for name, home in sorted(
            _imported(_tree(PACKAGE / "__init__.py")).items(), key=lambda row: row[0].lower()
        )
        if name not in {"import_module", "lazy", "TYPE_CHECKING", "Any", "catalog"}
    )
    listed = "\n".join(f"- [`rankloop.{family}`]({family}.md)" for family in families())
    return f"# Python\n\n## Families\n\n{listed}\n\n## Names of `rankloop` itself\n\n{rows}\n"


def names(family: str) -> dict[str, str]:
    """The public names of a family, in alphabetical order, and the dotted path of each."""
    package = import_module(f"rankloop.{family}")
    imported = _imported(_tree(PACKAGE / family / "__init__.py"))
    found = {}
    for name in sorted(package.__all__, key=str.lower):
        member = getattr(package, name)
        home = member.__module__ if hasattr(member, "__qualname__") else package.__name__  # else a constant
        found[name] = imported.get(name, f"{home}.{name}")
    return found


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imported(tree: ast.Module) -> dict[str, str]:
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
