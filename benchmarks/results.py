"""`--json FILE` of every benchmark: what it measured, with the day, the machine and the options.

A script calls `record` for each row that it prints, and ends with

    if __name__ == "__main__":
        benchmark(main)

A run replaces the tables that it measured and leaves the others in the file, so that the parts of a long
benchmark may be run one by one. `make tables` writes the tables of the documentation from the files in
`benchmarks/results`.
"""

import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any

from rankloop import __version__

__all__ = ["benchmark", "load", "machine", "record", "save"]

DIGITS = 6  # that are kept: more than any table shows
_measured: dict[str, list[dict[str, Any]]] = {}


def record(table: str, **cells: Any) -> None:
    """Keep a row of a table. Cells are texts, numbers, truth values, None, or lists of them."""
    _measured.setdefault(table, []).append({name: _plain(cell) for name, cell in cells.items()})


def benchmark(main: Callable[[], Any]) -> None:
    """Run a benchmark; with `--json FILE` among its options, write what it recorded there."""
    words, file = _without_json(sys.argv[1:])
    sys.argv[1:] = words
    if {"-h", "--help"} & {*words}:
        print("every benchmark also takes  --json FILE  to write there what it measured\n")
    ended = main()
    if file is not None:
        if not _measured:
            raise SystemExit(f"nothing was measured: {file} is left as it was")
        save(file, _measured, words)
    if ended:
        raise SystemExit(ended)


def save(file: Path, measured: dict[str, list[dict[str, Any]]], options: list[str]) -> None:
    """Put tables into a file, each with the day, the machine and the options of its run."""
    kept = load(file)["tables"] if file.exists() else {}
    about = {
        "date": datetime.now(UTC).date().isoformat(),
        "version": __version__,
        "machine": machine(),
        "load": round(os.getloadavg()[1], 1),
        "options": [Path(word).name if os.sep in word else word for word in options],
    }
    parts = Path(sys.argv[0]).resolve().parts
    if "benchmarks" in parts[:-2]:  # one of a folder in benchmarks
        about["script"] = "/".join(parts[parts.index("benchmarks") :])
    tables = kept | {table: about | {"rows": rows} for table, rows in measured.items()}
    partial = file.with_suffix(".partial")
    partial.write_text("".join(_written(file.stem, tables)), encoding="utf-8")
    partial.replace(file)


def load(file: Path) -> dict[str, Any]:
    """What a file of results holds: `name`, and `tables` by name."""
    found = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(found, dict) or not {"name", "tables"} <= {*found}:
        raise ValueError(f"{file.name} has no results of a benchmark; write it with --json {file.name}")
    return found


def machine() -> str:
    """The machine in words, without its name."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores, {memory:.0f} GB, {platform.machine()}, Python {platform.python_version()}"


def _without_json(words: list[str]) -> tuple[list[str], Path | None]:
    """The options without `--json FILE`, and the file."""
    for at, word in enumerate(words):
        if word.startswith("--json="):
            return words[:at] + words[at + 1 :], Path(word.removeprefix("--json="))
        if word == "--json":
            if at + 1 == len(words):
                raise SystemExit("--json wants a file, as in --json benchmarks/results/metrics.json")
            return words[:at] + words[at + 2 :], Path(words[at + 1])
    return words, None


def _plain(cell: Any) -> Any:
    """A cell as JSON has it; a number that is not finite is null."""
    if hasattr(cell, "tolist"):  # of numpy
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return [_plain(one) for one in cell]
    if isinstance(cell, float):
        return float(f"{cell:.{DIGITS}g}") if isfinite(cell) else None
    return cell


def _written(name: str, tables: dict[str, Any]) -> Iterator[str]:
    """JSON with one row a line, so that a change of a row is a change of a line."""
    yield f'{{"name": {json.dumps(name)}, "tables": {{\n'
    for at, (table, found) in enumerate(tables.items()):
        about = json.dumps({key: one for key, one in found.items() if key != "rows"}, ensure_ascii=False)
        rows = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in found["rows"])
        ends = ",\n" if at + 1 < len(tables) else "\n"
        yield f'{json.dumps(table)}: {about[:-1]}, "rows": [\n{rows}\n]}}{ends}'
    yield "}}\n"
