"""Which peers the oracle suites need, and what is missing: `make oracles` runs this file.

With the argument `checkouts` it looks at those only, before the packages are installed.
"""

import importlib.util
import os
import sys
from pathlib import Path

__all__ = ["checkout", "missing"]

PACKAGES = {"rax": "rax", "obp": "obp", "clax": "clax-models"}
CHECKOUTS = {
    "RANKLOOP_ALLRANK": ("allrank/models/losses/lambdaLoss.py", "https://github.com/allegro/allRank"),
    "RANKLOOP_PYCLICK": ("pyclick/click_models/PBM.py", "https://github.com/markovi/PyClick"),
}


def missing(packages=True):
    """One sentence for each peer that is not there."""
    found = []
    for module, package in PACKAGES.items() if packages else ():
        if importlib.util.find_spec(module) is None:
            found.append(
                f"the package {package} is not installed: install tests/oracles/requirements.txt and "
                "requirements-alone.txt (make oracles does) into the environment that runs the oracle suites"
            )
    found.extend(problem for variable in CHECKOUTS if (problem := _problem(variable)))
    return found


def checkout(variable):
    """The folder that an environment variable names, as a place to import from."""
    problem = _problem(variable)
    if problem:
        raise RuntimeError(problem)
    folder = str(Path(os.environ[variable]).resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return folder


def _problem(variable):
    known, address = CHECKOUTS[variable]
    folder = os.environ.get(variable)
    if not folder:
        return f"{variable} is not set: clone {address} and set it to the folder of the clone"
    if not (Path(folder) / known).is_file():
        return f"{variable} is {folder}, which has no {known}: set it to the folder of a clone of {address}"
    return None


if __name__ == "__main__":
    problems = missing(packages="checkouts" not in sys.argv)
    for sentence in problems:
        print(f"oracles: {sentence}", file=sys.stderr)
    sys.exit(1 if problems else 0)
