"""Which family may import what, and how fast the package starts."""

import subprocess
import sys

import pytest

import rankloop
from house import SOURCE, families, imports, modules, short

LIBRARY = {
    "lists",
    "data",
    "metrics",
    "losses",
    "rankers",
    "clicks",
    "propensity",
    "unbiased",
    "interleaving",
    "online",
}
EVERY = LIBRARY | {"search", "engines", "cluster", "serve", "report", "demo", "cli"}

MAY_IMPORT = {
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
    "engines": {"data", "search"},
    "cluster": LIBRARY | {"search"},
    "report": LIBRARY,
    "serve": LIBRARY | {"search", "engines", "report"},
    "demo": EVERY - {"cli"},
    "cli": EVERY,
}
NOT_YET: set[str] = set()  # families that the design names and that are not written yet

# Imports that are still to be removed; an entry that is no longer needed fails the test.
WRONG_IMPORTS: dict[str, set[str]] = {}
PRIVATE_IMPORTS: dict[str, set[str]] = {}

SLOW = ("polars", "sklearn", "lightgbm", "torch", "xgboost", "catboost", "fastapi", "numba")


def test_every_family_has_its_row():
    assert set(families()) == set(MAY_IMPORT) - NOT_YET


@pytest.mark.parametrize("family", families())
def test_imports_point_one_way(family):
    wrong = {
        f"{where} imports {other}"
        for where, _, _, other in imports_of_others(family)
        if other not in MAY_IMPORT[family]
    }
    assert wrong == WRONG_IMPORTS.get(family, set())


@pytest.mark.parametrize("family", families())
def test_no_family_imports_what_is_private_to_another(family):
    wrong = {
        f"{where} imports {module}{'.' + name if name else ''}"
        for where, module, name, _ in imports_of_others(family)
        if any(part.startswith("_") for part in (*module.split("."), name or ""))
    }
    assert wrong == PRIVATE_IMPORTS.get(family, set())


def test_the_shared_plumbing_imports_no_family():
    files = [path for path in SOURCE.glob("_*.py") if path.stem not in {"__init__", "__main__"}]
    assert not [
        (short(path), module) for path in files for module, n, _ in imports(path) if family_of(module, n)
    ]


def imports_of_others(family):
    """(file, module, name, family) of each import from another family."""
    for path in modules(SOURCE / family):
        for module, name, _ in imports(path):
            if (other := family_of(module, name)) not in {family, None}:
                yield short(path), module, name, other


def family_of(module, name):
    """The family that an import reaches, also through the names of the root; None outside the families."""
    parts = module.split(".")
    if parts[0] != "rankloop":
        return None
    inner = parts[1] if len(parts) > 1 else name
    return inner if inner in MAY_IMPORT else rankloop._HOME.get(inner)


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
