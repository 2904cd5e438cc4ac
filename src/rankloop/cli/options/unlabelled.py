"""SVMLight text without labels, as documents to predict come."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["begins_with_query", "labelled_text"]

_BLOCK = 1 << 22


@contextmanager
def labelled_text(source: str | list[str]) -> Iterator[list[str] | None]:
    """Copies of text files whose lines begin with `qid:`, with label 0 in front; None for any other files.

    The copies lie in a temporary folder while the context lasts, and are written in bounded memory.
    """
    import tempfile

    files = [Path(one) for one in ([source] if isinstance(source, str) else source)]
    if not all(begins_with_query(file) for file in files):
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        copies = []
        for number, file in enumerate(files):
            copies.append(str(Path(folder) / f"{number}-{file.name}.txt"))
            with open(copies[-1], "wb") as copy:
                for lines in _lines(file):
                    copy.write(b"".join(b"0 " + line if line.startswith(b"qid:") else line for line in lines))
        yield copies


def begins_with_query(file: Path) -> bool:
    """Whether the first line that is no comment begins with a query."""
    if "://" in str(file) or not file.is_file():
        return False
    for lines in _lines(file, 1 << 16):
        for line in lines:
            if line.strip() and not line.lstrip().startswith(b"#"):
                return line.startswith(b"qid:")
    return False


def _lines(file: Path, block: int = _BLOCK) -> Iterator[list[bytes]]:
    """Whole lines in blocks, of plain or packed text."""
    from rankloop.data.files.text import TextSource

    with TextSource(file) as source:
        buffer, end = source.fill(bytearray(block), beyond=1)
        while end:
            yield bytes(buffer[:end]).splitlines(keepends=True)
            buffer, end = source.fill(buffer, beyond=1)
