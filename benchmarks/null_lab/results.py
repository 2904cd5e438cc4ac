"""The cells that were measured, kept in a file: by section, with the day, the version and the machine."""

import json
import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import rankloop
from null_lab.cell import Cell

__all__ = ["Section", "load", "save"]


@dataclass(frozen=True)
class Section:
    """The cells of one file of the laboratory, and where and when they were measured."""

    date: str
    version: str
    machine: str
    cpu_minutes: float
    cells: tuple[Cell, ...]

    @classmethod
    def of(cls, found: list[Cell], cpu_minutes: float) -> "Section":
        """Cells that were measured here and now."""
        machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
        day = datetime.now(UTC).date().isoformat()
        return cls(day, rankloop.__version__, machine, round(cpu_minutes, 1), tuple(found))


def load(file: Path) -> dict[str, Section]:
    """The sections in a file."""
    table: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return {
        name: Section(**{**one, "cells": tuple(Cell(**cell) for cell in one["cells"])})
        for name, one in sorted(table.items())
    }


def save(sections: dict[str, Section], file: Path) -> None:
    """Put sections into a file; others that it has stay. One line a cell."""
    every = {**(load(file) if file.exists() else {}), **sections}
    parts = []
    for name, section in sorted(every.items()):
        plain = asdict(section)
        lines = ",\n".join(f"  {json.dumps(one, ensure_ascii=False)}" for one in plain.pop("cells"))
        about = json.dumps(plain, ensure_ascii=False)[1:-1]
        parts.append(f'"{name}": {{{about}, "cells": [\n{lines}\n]}}')
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
