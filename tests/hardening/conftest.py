"""The event stores of the tests of the service; what was tried is printed at the end."""

from hardening.damage import TRIED
from serve.conftest import database, postgres, store

__all__ = ["database", "postgres", "store"]


def pytest_terminal_summary(terminalreporter):
    """The counts of one run, in one process."""
    if TRIED:
        terminalreporter.section("tried")
        for what, count in sorted(TRIED.items()):
            terminalreporter.write_line(f"{count:>9,} {what}")
