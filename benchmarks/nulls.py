"""False alarms, power and coverage of everything that shows an interval, a p-value, a gate or an alarm.

python benchmarks/nulls.py [--quick] [--only NAME] [--json FILE] [--markdown PAGE]
python benchmarks/nulls.py --from benchmarks/results/nulls.json --markdown docs/proof.md

`--only` is the name of a section (a file in `benchmarks/null_lab`) or a part of a subject. The whole takes an
hour of CPU time, `--quick` (100 experiments a cell) minutes. The bars: at most 5 % false alarms, with two
standard errors for chance; coverage of 95 % intervals between 93 and 97 %. `--json` writes each section to a
file as soon as it is done (a part of one is not written), and leaves its other sections as they are;
`--markdown` puts the table on a page between its two marks; `--from` takes the cells from such a file.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import null_lab
from null_lab.cell import Cell
from null_lab.results import Section, load, save
from null_lab.table import HEAD, line, markdown, put, summary

__all__ = ["HEAD", "cells", "line", "main", "summary"]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="100 experiments a cell")
    parser.add_argument("--json", type=Path, help="write the cells to this file too")
    parser.add_argument("--markdown", type=Path, help="put the table on this page, between its marks")
    parser.add_argument("--from", dest="given", type=Path, help="the cells of this file, without a run")
    parser.add_argument("--only", default="", help="a section, or a part of a subject")
    asked = parser.parse_args()
    start = time.perf_counter()
    print(HEAD, flush=True)
    if asked.given is not None:
        sections = load(asked.given)
        print("\n".join(line(one) for section in sections.values() for one in section.cells))
    else:
        sections = _run(quick=asked.quick, only=asked.only, file=asked.json)
    found = [one for section in sections.values() for one in section.cells]
    print("\n".join(summary(found)), f"\n{time.perf_counter() - start:,.0f} s", flush=True)
    if asked.markdown is not None:
        put(markdown(sections if asked.json is None else load(asked.json)), asked.markdown)
    return 0 if all(one.ok or one.note for one in found) else 1


def _run(*, quick: bool, only: str, file: Path | None) -> dict[str, Section]:
    """The cells, printed one by one; each section is written as soon as it is done."""
    done: dict[str, Section] = {}
    for name in _sections(only):
        cpu, found = time.process_time(), []
        for cell in cells(quick=quick, only=only, section=name):
            found.append(cell)
            print(line(cell), flush=True)
        if found:
            done[name] = Section.of(found, (time.process_time() - cpu) / 60)
        if found and file is not None and only in (name, ""):
            save({name: done[name]}, file)
    return done


def cells(*, quick: bool, only: str = "", section: str = "") -> Iterator[Cell]:
    """The cells of every subject of the laboratory, or of one section, in the order of their files."""
    for name in [section] if section else _sections(only):
        module = import_module(f"null_lab.{name}")
        yield from (one for one in module.cells(quick) if only in (name, "") or only in one.subject)


def _sections(only: str) -> list[str]:
    """The files of the laboratory that have cells; the one that is named, or all."""
    names = [name for _, name, _ in iter_modules(null_lab.__path__)]
    names = [name for name in names if hasattr(import_module(f"null_lab.{name}"), "cells")]
    return [only] if only in names else names


if __name__ == "__main__":
    sys.exit(main())
