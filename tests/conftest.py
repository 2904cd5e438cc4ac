"""What all tests share: few threads, and the real collections where they are."""

import os
from pathlib import Path

import numba  # noqa: F401 (once it is loaded, small inputs too go to the compiled kernels, which are to be tested)
import pytest
from hypothesis import HealthCheck, settings

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ["RANKLOOP_VECTORS"] = "off"  # no test writes to the user's cache

settings.register_profile(
    "rankloop",
    deadline=None,  # the first call of a kernel compiles it
    max_examples=50,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("rankloop")

PROCESSES = (
    "serve",
    "engines",
    "cluster",
    "hardening",
)  # their tests drive browsers, engines, other processes
CLOCK = ["did not happen in time", "did not start", "[Tt]imeout", "timed out"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where other processes are waited for, a failure by the clock alone is tried once more, and counted."""
    if not config.pluginmanager.hasplugin("rerunfailures"):
        return
    folders = [Path(__file__).parent / name for name in PROCESSES]
    for item in items:
        if any(folder in item.path.parents for folder in folders):
            item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=CLOCK))


@pytest.fixture(scope="session")
def collections() -> Path:
    """The folder of real collections named by RANKLOOP_DATA."""
    folder = os.environ.get("RANKLOOP_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set RANKLOOP_DATA to the folder of real collections to run this")
    return Path(folder)
