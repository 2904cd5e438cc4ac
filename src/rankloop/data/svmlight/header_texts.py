"""Texts of queries in the comment lines at the top of a file."""

import re
from pathlib import Path

from rankloop.data.files.text import TextSource

__all__ = ["header_texts"]

_HEAD = 1 << 20  # bytes that are looked at
_LINE = re.compile(rb"#[ \t]*qid:([^ \t\r\n:#]+):[ \t]*([^\r\n]*?)(?:\*[0-9.eE+-]+)?[ \t\r]*")


def header_texts(path: Path) -> dict[bytes, str]:
    """The texts in lines such as `# qid:1: rambo*1` (words and their weight) before the first document.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "judgments.txt"
    >>> _ = path.write_text("# qid:1: red shoes*1\\n# qid:2: rambo*1\\n4\\tqid:1\\t1:9.8\\n")
    >>> header_texts(path)
    {b'1': 'red shoes', b'2': 'rambo'}
    """
    with TextSource(path) as source:
        buffer, end = source.fill(bytearray(_HEAD), beyond=1)
    found = {}
    for line in bytes(buffer[:end]).split(b"\n"):
        if line.strip() and not line.lstrip().startswith(b"#"):
            break
        match = _LINE.fullmatch(line.strip())
        if match:
            found[match[1]] = match[2].decode("utf-8", "replace").replace("\0", "").strip()
    return found
