"""The house rules that a machine can hold."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rankloop

SOURCE = Path(rankloop.__file__).parent

# What each family may import from; the families of the application stand on top.
BELOW = {
    "lists": set(),
    "data": {"lists"},
    "metrics": {"lists", "data"},
    "losses": {"lists", "data"},
    "rankers": {"lists", "data", "metrics", "losses"},
    "clicks": {"lists", "data"},
    "propensity": {"lists", "data", "clicks"},
    "unbiased": {"lists", "data", "metrics", "losses", "rankers", "clicks", "propensity"},
    "interleaving": {"lists", "data", "clicks"},
    "online": {"lists", "data", "metrics", "losses", "rankers", "clicks", "interleaving"},
    "search": {"lists", "data", "metrics", "rankers"},
}
TOP = {"report", "serve", "cluster", "cli", "demo"}
SLOW = (
    "polars",
    "sklearn",
    "lightgbm",
    "torch",
    "xgboost",
    "catboost",
    "tantivy",
    "fastapi",
    "numba",
)


def imported_families(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import in line {node.lineno}"
            modules = [node.module or ""]
            if node.module == "rankloop":
                modules = [f"rankloop.{alias.name}" for alias in node.names]
        for module in modules:
            parts = module.split(".")
            if parts[0] == "rankloop" and len(parts) > 1 and (SOURCE / parts[1]).is_dir():
                yield parts[1], node.lineno


@pytest.mark.parametrize("family", sorted(BELOW))
def test_imports_point_one_way(family):
    allowed = BELOW[family] | {family}
    wrong = [
        f"{path.relative_to(SOURCE)}:{line} imports {other}"
        for path in sorted((SOURCE / family).rglob("*.py"))
        for other, line in imported_families(path)
        if other not in allowed
    ]
    assert wrong == []


def test_every_family_is_placed():
    families = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert families <= set(BELOW) | TOP


def test_no_file_is_named_after_nothing():
    assert not [p for p in SOURCE.rglob("*.py") if p.stem in {"utils", "helpers", "common", "misc"}]


def test_public_names_resolve():
    missing = [name for name in rankloop.__all__ if getattr(rankloop, name, None) is None]
    assert missing == []


@pytest.mark.parametrize("command", ["import rankloop", "from rankloop.cli import app; app(['--help'])"])
def test_starting_is_fast_and_loads_nothing_heavy(command):
    """Half a second of CPU time: other work on the machine must not fail this."""
    probe = (
        "import sys, time\n"
        f"try:\n    {command}\nexcept SystemExit: pass\n"
        "print('took', time.process_time(), file=sys.stderr)\n"
        f"print([m for m in {SLOW!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    took, loaded = done.stderr.strip().splitlines()[-2:]
    assert loaded == "[]"
    assert float(took.split()[1]) < 0.5


def test_every_family_is_reached_from_the_top():
    inner = {"cli", "demo"}  # these are run, not imported
    families = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert families - inner <= set(rankloop.__all__)
