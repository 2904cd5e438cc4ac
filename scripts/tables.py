"""Write the measured tables of the documentation from the files in `benchmarks/results`.

python scripts/tables.py            write them all (make tables)
python scripts/tables.py --check    write nothing; name the pages that differ from the files

A table stands between `<!-- table: FILE/TABLE -->` and `<!-- end of table -->`. `layouts.py` says which
columns it has; a table without a layout is shown as its rows are in the file. The page of figures takes
single cells of several files; `estimates.py` works out those of `estimates/...`.
"""

import re
import string
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from estimates import ESTIMATES  # noqa: E402
from layouts import FIGURES, LAYOUTS, Layout  # noqa: E402

from results import load  # noqa: E402

__all__ = ["main", "pages", "table_of", "written"]

RESULTS = ROOT / "benchmarks" / "results"
BLOCK = re.compile(r"<!-- table: (?P<name>[^>]+?) -->\n.*?<!-- end of table -->", re.DOTALL)
CELL = re.compile(
    r"\{(?P<file>\w+)/(?P<table>[^/{}]+)/(?P<row>[^/{}]+)/(?P<column>[^|{}]+)(?:\|(?P<form>[^{}]*))?\}"
)


def main(arguments: list[str]) -> int:
    differ = []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        new = written(text)
        if new != text:
            differ.append(page.relative_to(ROOT).as_posix())
            if "--check" not in arguments:
                page.write_text(new, encoding="utf-8")
    print(f"{'differ' if '--check' in arguments else 'written'}: {', '.join(differ) or 'none'}")
    return int("--check" in arguments and bool(differ))


def pages() -> list[Path]:
    """The pages that may have tables."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def written(text: str, results: Path = RESULTS) -> str:
    """A page with its tables as the files of results have them."""

    def block(found: re.Match[str]) -> str:
        table = table_of(found["name"], results)
        return f"<!-- table: {found['name']} -->\n{table}<!-- end of table -->"

    return BLOCK.sub(block, text)


def table_of(name: str, results: Path = RESULTS) -> str:
    """The table FILE/TABLE in Markdown, with a line on the run below it."""
    if name == "figures":
        return _markdown(("what", "rankloop", "others", "script"), _figures(results))
    file, _, table = name.partition("/")
    if file == "estimates":
        of, worked_out = ESTIMATES[table]
        heads, *cells = worked_out(_table(results, "cluster", of)["rows"])
        return _markdown(heads, cells)
    if name in LAYOUTS:
        layout = LAYOUTS[name]
        found = _table(results, file, layout.table or table)
        rows = merged(found["rows"], layout) if layout.across else found["rows"]
        cells = ([_text(form, row, layout.words) for form in layout.columns.values()] for row in rows)
        heads: Iterable[str] = layout.columns
    else:
        found = _table(results, file, table)
        heads = found["rows"][0]
        cells = (list(map(str, row.values())) for row in found["rows"])
    return f"{_markdown(heads, cells)}\n{origin(file, found)}\n"


def origin(file: str, found: dict[str, Any]) -> str:
    """A sentence on when and where a table was measured, and how to measure it again."""
    script = found.get("script", f"benchmarks/{file}.py")
    command = " ".join(["python", script, *found["options"]])
    return f"*`{command}`, {found['date']}, {found['machine']}, load {found['load']:g}.*"


def merged(rows: list[dict[str, Any]], layout: Layout) -> list[dict[str, Any]]:
    """Rows that differ in the cell `across` alone, in one: its cells carry that value, as in `worst_05`."""
    by_first: dict[Any, dict[str, Any]] = {}
    for row in rows:
        first = next(iter(row))
        one = by_first.setdefault(row[first], {first: row[first]})
        end = str(row[layout.across]).replace(".", "")
        one.update({f"{name}_{end}": cell for name, cell in row.items() if name != first})
    return list(by_first.values())


class _Forms(string.Formatter):
    """Format strings with a space before %, millions by M, chances by p, and nothing for None."""

    def format_field(self, value: Any, form: str) -> str:
        if value is None:
            return ""
        if form == "p":
            return "< 0.001" if value < 0.001 else f"{value:.3f}"
        if form.endswith("M"):
            return f"{value / 1e6:,.{form[:-1] or 0}f} million"
        text = format(value, form)
        return text.replace("%", " %") if form.endswith("%") else text


def _text(form: str, row: dict[str, Any], words: dict[Any, str]) -> str:
    text = _Forms().vformat(form, (), {name: _worded(cell, words) for name, cell in row.items()})
    return text.strip()


def _worded(cell: Any, words: dict[Any, str]) -> Any:
    return words.get(cell, cell) if isinstance(cell, str) else cell


def _figures(results: Path) -> Iterable[list[str]]:
    """The rows of the page of figures: texts with cells of the files in braces."""

    def cell(found: re.Match[str]) -> str:
        row = _row(_table(results, found["file"], found["table"])["rows"], found["row"])
        if found["column"] not in row:
            raise LookupError(f"{found[0]}: the columns are {', '.join(row)}")
        return _Forms().format_field(row[found["column"]], found["form"] or "")

    for row in FIGURES:
        yield [CELL.sub(cell, text) for text in row]


def _row(rows: list[dict[str, Any]], wanted: str) -> dict[str, Any]:
    """The row whose first cell is `wanted`, or with `rows=10&trees=5` the one with these cells."""
    found = [row for row in rows if str(next(iter(row.values()))) == wanted]
    if not found and "=" in wanted:
        pairs = [part.split("=") for part in wanted.split("&")]
        found = [row for row in rows if all(str(row.get(name)) == value for name, value in pairs)]
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows are {wanted!r}; one was wanted")
    return found[0]


def _table(results: Path, file: str, table: str) -> dict[str, Any]:
    tables: dict[str, Any] = load(results / f"{file}.json")["tables"]
    if table not in tables:
        raise LookupError(f"{file}.json has no table {table!r}; it has {', '.join(tables)}")
    found: dict[str, Any] = tables[table]
    return found


def _markdown(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    body = [list(row) for row in rows]
    numbers = [at > 0 and all(_is_number(row[at]) for row in body) for at in range(len(heads))]
    lines = [heads, ["---:" if number else "---" for number in numbers], *body]
    return "".join(re.sub(r"\|  (?=\|)", "| ", f"| {' | '.join(line)} |\n") for line in lines)


def _is_number(text: str) -> bool:
    return not text or re.match(r"[-+−]?[\d.,]", text) is not None


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
