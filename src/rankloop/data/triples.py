"""Triples of texts, as MS MARCO publishes them: query, relevant passage, irrelevant passage."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from rankloop._atomic import replacing
from rankloop.data.files.records import Faults, numbered_lines

__all__ = ["read_triples", "write_triples"]

Triple = tuple[str, str, str]


def read_triples(
    path: str | Path, *, on_error: str = "raise", skipped: "Counter[str] | None" = None
) -> Iterator[Triple]:
    """The lines `query<TAB>positive<TAB>negative` of a file, one after the other (plain, gzip or zstd).

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "triples.tsv"
    >>> write_triples([("shoes", "red shoes", "blue hat")], path)
    >>> list(read_triples(path))
    [('shoes', 'red shoes', 'blue hat')]
    """
    with Faults(path, on_error, skipped).summed_up() as faults:
        for number, line in numbered_lines(path, faults):
            cells = line.rstrip("\r").split("\t")
            if len(cells) == 3 and all(cells):
                yield cells[0], cells[1], cells[2]
            elif line.strip():
                problem = f"wanted query, positive and negative between tabs, got {len(cells)} cells"
                faults(number, "line", problem, "correct or drop the line")


def write_triples(triples: Iterable[Triple], path: str | Path) -> None:
    """Write one triple per line; tabs and line breaks in texts become blanks."""
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        for number, triple in enumerate(triples, 1):
            cells = [" ".join(text.split()) for text in triple]
            if len(cells) != 3 or not all(cells):
                raise ValueError(f"triple {number} needs three texts, got {triple!r}")
            file.write("\t".join(cells) + "\n")
