"""The oracle suites are collected only where a command names them: few environments have all peers."""

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent

os.environ.setdefault("JAX_ENABLE_X64", "1")  # Rax and CLAX in double precision, as we compute
os.environ.setdefault("JAX_PLATFORMS", "cpu")


def pytest_ignore_collect(collection_path, config):
    """Leave the folder out of `pytest` and `pytest tests`, unless an argument lies inside it."""
    named = [Path(str(argument).split("::")[0]).resolve() for argument in config.args]
    return None if any(path.is_relative_to(HERE) for path in named) else True
