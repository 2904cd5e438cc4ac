"""The table of the laboratory, as lines of text and as a page of the documentation."""

from collections.abc import Iterator
from pathlib import Path

from null_lab.cell import Cell
from null_lab.results import Section

__all__ = ["BEGIN", "END", "HEAD", "line", "markdown", "put", "summary"]

HEAD = f"{'subject':<34} {'condition':<52} {'what':<13} {'value':>7} {'of':>6}  {'bar':<16} "
BEGIN, END = "<!-- the table begins -->", "<!-- the table ends -->"


def line(cell: Cell) -> str:
    """One line of the table."""
    verdict = cell.state if cell.ok else f"{cell.state.upper()}{': ' if cell.note else ''}{cell.note}"
    return (
        f"{cell.subject:<34} {cell.condition:<52} {cell.what:<13} {cell.value:>7.1%} {cell.experiments:>6,}  "
        f"{cell.bar:<16} {verdict}"
    )


def summary(found: list[Cell]) -> list[str]:
    """How many cells hold, how many miss with a warning, and which are missed for no known reason."""
    missed = [one for one in found if one.state == "missed"]
    unknown = [one for one in missed if not one.note]
    lines = [f"\n{_count(found)}; {len(missed)} missed"]
    if missed:
        lines[0] += f", {len(missed) - len(unknown)} of them for a known reason"
    return [*lines, *(f"missed: {one.subject}, {one.condition}: {one.value:.1%}" for one in unknown)]


def _count(found: list[Cell]) -> str:
    warned = sum(one.state == "warned" for one in found)
    hold = f"{sum(one.ok for one in found):,} of {len(found):,} cells hold"
    return f"{hold}; {warned:,} are outside their bar with a warning in the result" if warned else hold


def markdown(sections: dict[str, Section]) -> str:
    """The cells of all sections as tables, what is missed first."""
    every = [one for section in sections.values() for one in section.cells]
    outside = {state: [one for one in every if one.state == state] for state in ("missed", "warned")}
    minutes = sum(section.cpu_minutes for section in sections.values())
    lines = [
        f"{_count(every)}; {len(outside['missed'])} missed; {minutes:.0f} minutes of CPU time. "
        "The seeds are constants in the files of `benchmarks/null_lab`, so a run gives the same cells again.",
        "",
        *_outside("Missed", outside["missed"]),
        *_outside("Outside the bar, with a warning in the result", outside["warned"]),
    ]
    for name, section in sections.items():
        about = f"{section.date}, version {section.version}, {section.machine}"
        lines += [f"### {name}", "", f"{about}, {section.cpu_minutes:g} minutes of CPU time.", ""]
        lines += [
            "| subject | condition | what | value | experiments | bar | |",
            "|---|---|---|--:|--:|---|---|",
        ]
        lines += [_row(one, _SHOWN[one.state]) for one in section.cells]
        lines.append("")
    return "\n".join(lines)


_SHOWN = {"ok": "ok", "warned": "warned", "missed": "**missed**"}


def _outside(title: str, cells: list[Cell]) -> Iterator[str]:
    if not cells:
        return
    yield from (f"### {title}", "", "| subject | condition | what | value | experiments | bar | why |")
    yield "|---|---|---|--:|--:|---|---|"
    yield from (_row(one, one.note or "not explained by the result") for one in cells)
    yield ""


def _row(cell: Cell, last: str) -> str:
    fields = (
        cell.subject,
        cell.condition,
        cell.what,
        f"{cell.value:.1%}",
        f"{cell.experiments:,}",
        cell.bar,
        last,
    )
    return f"| {' | '.join(fields)} |"


def put(text: str, page: Path) -> None:
    """Replace what a page has between the two marks."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(
            f"{page} needs a line {BEGIN} and below it a line {END}, between which the table goes"
        )
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")
