"""False alarms, power and coverage of everything that shows an interval, a p-value, a gate or an alarm.

python benchmarks/nulls.py [--quick] [--json FILE] [--only NAME]

`--only` is the name of a file in `benchmarks/null_lab` or a part of a subject. The whole takes hours of CPU
time, `--quick` (100 experiments a cell) minutes. The bars: at most 5 % false alarms, with two standard errors
for chance; coverage of 95 % intervals between 93 and 97 %.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import null_lab
from null_lab.cell import Cell

HEAD = f"{'subject':<34} {'condition':<52} {'what':<13} {'value':>7} {'of':>6}  {'bar':<16} "


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="100 experiments a cell")
    parser.add_argument("--json", type=Path, help="write the cells to this file too")
    parser.add_argument("--only", default="", help="a file of null_lab, or a part of a subject")
    asked = parser.parse_args()
    start, found = time.perf_counter(), []
    print(HEAD, flush=True)
    for cell in cells(quick=asked.quick, only=asked.only):
        found.append(cell)
        print(line(cell), flush=True)
    print("\n".join(summary(found)), f"\n{time.perf_counter() - start:,.0f} s", flush=True)
    if asked.json is not None:
        asked.json.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", encoding="utf-8")
    return 0 if all(one.ok or one.note for one in found) else 1


def cells(*, quick: bool, only: str = "") -> Iterator[Cell]:
    """The cells of every subject of the laboratory, in the order of their files."""
    subjects = {name: import_module(f"null_lab.{name}") for _, name, _ in iter_modules(null_lab.__path__)}
    subjects = {name: module for name, module in subjects.items() if hasattr(module, "cells")}
    chosen = {only: subjects[only]} if only in subjects else subjects
    for name, module in chosen.items():
        yield from (one for one in module.cells(quick) if only in (name, "") or only in one.subject)


def line(cell: Cell) -> str:
    """One line of the table."""
    verdict = "ok" if cell.ok else f"MISSED{': ' if cell.note else ''}{cell.note}"
    return (
        f"{cell.subject:<34} {cell.condition:<52} {cell.what:<13} {cell.value:>7.1%} {cell.experiments:>6,}  "
        f"{cell.bar:<16} {verdict}"
    )


def summary(found: list[Cell]) -> list[str]:
    """How many cells hold, and which are missed without a known reason."""
    missed = [one for one in found if not one.ok]
    unknown = [one for one in missed if not one.note]
    lines = [f"\n{len(found) - len(missed)} of {len(found)} cells hold; {len(missed)} are missed"]
    if missed:
        lines[0] += f", {len(missed) - len(unknown)} of them for a reason that the result itself says"
    return [*lines, *(f"missed: {one.subject}, {one.condition}: {one.value:.1%}" for one in unknown)]


if __name__ == "__main__":
    sys.exit(main())
