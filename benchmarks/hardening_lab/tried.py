"""The tests of hardening, many times over, with the number of everything that was tried.

    python benchmarks/hardening_lab/tried.py [--times 20] [--out counts.json] [NAME ...]

A NAME is a part of the name of a test file; without one all are run, each in a process of its own. Files
whose counts are in --out already are not run again. A test that fails ends the run.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from results import benchmark, record

__all__ = ["counted", "tried"]

TESTS = Path(__file__).parents[2] / "tests"
SECONDS = 3000  # of one test


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("names", nargs="*", metavar="NAME")
    options.add_argument("--times", type=int, default=20)
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    done = json.loads(given.out.read_text()) if given.out and given.out.exists() else {}
    for file in sorted((TESTS / "hardening").glob("test_*.py")):
        if file.name in done or not any(name in file.name for name in given.names or [""]):
            continue
        done[file.name] = tried(file, given.times)
        print(file.name, done[file.name], flush=True)
        if given.out:
            given.out.write_text(json.dumps(done))
    total: Counter[str] = sum(map(Counter, done.values()), Counter())
    for what, count in sorted(total.items()):
        print(f"{count:>9,} {what}")
        record("tried", what=what, count=count)


def tried(file: Path, times: int) -> dict[str, int]:
    """Run the tests of a file; how many passed, and what they tried."""
    command = [sys.executable, "-m", "pytest", "--timeout", str(SECONDS), str(file)]
    environment = {**os.environ, "RANKLOOP_HARDENING": str(times)}
    run = subprocess.run(
        command, env=environment, cwd=TESTS.parent, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise SystemExit(f"{file.name} failed:\n{run.stdout[-4000:]}")
    return counted(run.stdout)


def counted(output: str) -> dict[str, int]:
    """The counts that the tests print at their end, and the number of tests that passed.

    >>> counted("=== tried ===\\n    1,200 damaged files\\n3 passed in 1.0s")
    {'tests passed': 3, 'damaged files': 1200}
    """
    found = {"tests passed": int(re.findall(r"(\d+) passed", output)[-1])}
    for count, what in re.findall(r"^ *([\d,]+) (\D+)$", output.partition(" tried ")[2], re.MULTILINE):
        found[what] = int(count.replace(",", ""))
    return found


if __name__ == "__main__":
    benchmark(main)
