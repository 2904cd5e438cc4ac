"""The recipes of CONTRIBUTING.md: a member written as they say passes the shared checks."""

import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

from house import ROOT

RECIPES = {
    "metrics": ("capped_recall", "capped_recall", "tests/metrics/test_every_metric.py"),
    "losses": ("LogCosh", "logcosh", "tests/losses/test_all_losses.py"),
    "rankers": ("CentredRidge", "CentredRidge", "tests/rankers/test_all_rankers.py"),
    "clicks": ("HarmonicPBM", "harmonicpbm", "tests/clicks/test_models.py"),
}
BLOCK = re.compile(r"^```python\n# (\S+\.py)(?:, in (\w+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(family):
    """(path, name of a table or "", code) of each block about a family."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return [found for found in BLOCK.findall(text) if f"/{family}/" in found[0]]


@pytest.mark.slow
@pytest.mark.parametrize("family", RECIPES)
def test_a_member_written_as_the_recipe_says_passes_the_shared_checks(family, tmp_path):
    name, word, checks = RECIPES[family]
    copy(tmp_path)
    written = blocks(family)
    for path, table, code in written:
        write(tmp_path / path, table, code)
    member = written[0][0]
    for check in ("check", "format --check"):
        linted = python(tmp_path, "ruff", *check.split(), "--no-cache", member)
        assert linted.returncode == 0, linted.stdout
    export(tmp_path, family, member, name)
    shelf = f"tests/test_shelves.py::test_members_live_in_files_of_their_name[{family}]"
    chosen = f"{word} or files_of_their_name"
    done = python(tmp_path, "pytest", "-x", "-p", "no:cacheprovider", checks, member, shelf, "-k", chosen)
    assert done.returncode == 0, done.stdout[-4000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 8


def copy(folder):
    """The package and its tests, with the machine code that numba has already made for them."""
    for part in ("src", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("*.pyc", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", folder)


def write(path, table, code):
    if table:
        opening = f"{table} = {{\n"
        text = path.read_text(encoding="utf-8")
        assert opening in text
        path.write_text(text.replace(opening, opening + code), encoding="utf-8")
    elif path.exists():
        path.write_text(path.read_text(encoding="utf-8") + f"\n\n{code}", encoding="utf-8")
    else:
        path.write_text(code, encoding="utf-8")


def export(folder, family, member, name):
    """Step 2: the import and the registry."""
    init = folder / "src" / "rankloop" / family / "__init__.py"
    text = init.read_text(encoding="utf-8")
    stem = member.removesuffix(".py").rpartition("/")[2]
    registry, entry = ("__all__ = [\n", f'    "{name}",\n')
    line = f"from rankloop.{family}.{stem} import {name}"
    if "_HOME = {\n" in text:
        registry, entry, line = "_HOME = {\n", f'    "{name}": "{stem}",\n', f"    {line} as {name}"
    first = re.search(rf"^ *from rankloop\.{family}\b.*$", text, re.MULTILINE)
    assert first is not None
    assert registry in text
    text = text[: first.start()] + line + "\n" + text[first.start() :]
    init.write_text(text.replace(registry, registry + entry), encoding="utf-8")


def python(folder, *module):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    environment["PYTHONPATH"] = os.pathsep.join(str(folder / part) for part in ("src", "tests"))
    command = [sys.executable, "-m", *module]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_examples_are_new_members():
    for family, (name, _, _) in RECIPES.items():
        package = import_module(f"rankloop.{family}")
        assert isinstance(package, ModuleType)
        assert name not in package.__all__
        assert len(blocks(family)) >= 1
