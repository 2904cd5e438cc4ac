"""One block of SVMLight ranking text: its rows, and the lines that cannot be read."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankloop._arrays import Ints
from rankloop.data.columns.text_ids import is_text
from rankloop.data.files.records import Faults
from rankloop.data.files.text import TextSource
from rankloop.data.svmlight import parse_kernel as fast
from rankloop.data.svmlight.block import Block, Layout, Place, shown

__all__ = ["Parser"]

_TEXT = 1 << 20
_ROOM = 1 << 20  # values of one block
_PREDICTED = 4096  # columns whose index is compared as one word
_WIDEST = 1_000_000
_LONGEST_ID = 1024
_NOT_A_NUMBER = -1
_COMMENT, _NEW_LINE = ord("#"), ord("\n")
_LOOKS = "lines look like '2 qid:17 1:0.5 2:3 # comment'"
_TOKEN = re.compile(rb"[^ \t\r\n#]*")
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:nan|null|inf(?:inity)?)", re.I)


class Parser:
    """One block of text, and arrays for its rows."""

    def __init__(self, path: Path, layout: Layout, faults: Faults) -> None:
        self.path, self.layout, self.faults = path, layout, faults
        self.buffer = bytearray(_TEXT + fast.BEYOND_END)
        self.begin = self.at = self.stop = self.bytes = 0
        self.odd = np.empty((1024, 4), np.int64)
        self.state = np.zeros(8, np.int64)
        self.reason = fast.DONE
        self.widen(layout.n_features or 64)

    def widen(self, width: int) -> None:
        rows = max(1, _ROOM // width)
        self.X = np.empty((rows, width), np.float32)
        self.y = np.empty(rows, np.float32)
        self.runs = np.empty((rows, 4), np.int64)
        self.documents = np.empty((rows, 4), np.int64)
        self.seen = np.empty(width, np.int64)

    def fill(self, source: TextSource) -> bool:
        start = source.done
        self.buffer, self.stop = source.fill(self.buffer, beyond=fast.BEYOND_END)
        self.at, self.bytes = 0, source.done - start
        self.text = np.frombuffer(self.buffer, np.uint8)
        return self.stop > 0

    def step(self) -> None:
        """Parse until the text or the arrays end."""
        layout, self.begin = self.layout, self.at
        base = 0 if layout.zero_based else 1
        while True:
            self.reason = fast.parse_lines(
                self.text,
                self.at,
                self.stop,
                base,
                -1 if layout.n_features is None else layout.n_features,
                layout.missing,
                *_index_words(base, min(_PREDICTED, self.X.shape[1])),
                self.X,
                self.y,
                self.runs,
                self.documents,
                self.odd,
                self.seen,
                self.state,
            )
            self.at = int(self.state[0])
            if self.state[1] or self.reason not in (fast.FULL, fast.WIDER):
                return
            if self.reason == fast.FULL:
                self.odd = np.empty((2 * len(self.odd), 4), np.int64)
            elif self.state[7] >= _WIDEST:
                return
            else:
                self.widen(max(int(self.state[7]) + 1, self.X.shape[1] * 5 // 4))
            self.at = self.begin  # comments before the first row count as lines

    def blocks(self, before: Place) -> Iterator[Block]:
        """The rows parsed so far, then the rest of this text.

        A line that is to be skipped becomes a comment, and the text is parsed again.
        """
        while True:
            rows, lines, n_runs, n_odd, widest = (int(value) for value in self.state[1:6])
            wrong = self.odd_values(n_odd, before) or self.lost_queries(n_runs, rows, lines, before)
            docid = None if wrong else self.docid(rows, before, wrong)
            if wrong:
                for line in wrong:
                    self.buffer[line] = _COMMENT
                self.at = self.begin
                self.step()
                continue
            if rows:
                runs = [
                    (row, bytes(self.buffer[at : at + size]) if size >= 0 else None, before.lines + line + 1)
                    for row, at, size, line in self.runs[:n_runs].tolist()
                ]
                texts = [self.query_text(row) for row, _, _ in runs]
                yield Block(self.X[:rows, :widest], self.y[:rows], runs, docid, texts, self.bytes)
            before.rows += rows
            before.lines += lines
            if self.reason == fast.DONE:
                return
            place, column = int(self.state[6]), int(self.state[7])
            if self.reason != fast.FULL and not (self.reason == fast.WIDER and column < _WIDEST):
                self.fault(self.reason, place, before.lines, before.rows, column)
                self.buffer[self.at] = _COMMENT
            self.bytes = 0
            self.step()

    def odd_values(self, count: int, before: Place) -> set[int]:
        """Set the values that the kernel did not parse; returns the starts of lines to be skipped."""
        wrong: set[int] = set()
        for row, column, place, line in self.odd[:count].tolist():
            start = self.line_start(place)
            if start in wrong:
                continue
            value, reason = self.odd_value(column, place)
            if reason:
                self.fault(reason, place, before.lines + line, before.rows + row, column)
                wrong.add(start)
            elif column < 0:
                self.y[row] = value
            else:
                self.X[row, column] = value
        return wrong

    def odd_value(self, column: int, place: int) -> tuple[float, int]:
        """A value that is long, close to a rounding edge or infinite, or the reason why it is none."""
        text = self.token(place)
        if not _NUMBER.fullmatch(text):
            return 0.0, _NOT_A_NUMBER
        value = float("nan") if text.lower().endswith(b"null") else float(text)
        with np.errstate(over="ignore"):
            single = float(np.float32(value))
        if column < 0 and not 0 <= single < np.inf:
            return 0.0, fast.BAD_LABEL
        if np.isinf(single) and np.isfinite(value):
            return 0.0, fast.TOO_LARGE
        return single, 0

    def lost_queries(self, n_runs: int, rows: int, lines: int, before: Place) -> set[int]:
        """The starts of lines to be skipped for their qid: none unlike the first line, or not in UTF-8.

        Without skipping, the collector of queries raises the error.
        """
        wrong: set[int] = set()
        if not self.faults.skips or not n_runs:
            return wrong
        ends = self.begin + 1 + np.flatnonzero(self.text[self.begin : self.at] == _NEW_LINE)
        starts = np.concatenate(([self.begin], ends))
        runs = [*self.runs[:n_runs].tolist(), [rows, 0, 0, lines]]
        for (row, at, size, line), (next_row, _, _, next_line) in pairwise(runs):
            named = size >= 0
            if before.named is None:
                before.named = named
            if before.named != named:
                problem = "a line without a query id" if before.named else "a line with a query id"
            elif named and not is_text(bytes(self.buffer[at : at + size])):
                problem = "a query id that is not UTF-8 text"
            else:
                continue
            for one in range(row, next_row):
                self.faults.at(f"{self.path}, row {before.rows + one}", problem, "correct it")
            wrong.update(starts[line:next_line].tolist())
        return wrong

    def line_start(self, place: int) -> int:
        return self.buffer.rfind(b"\n", 0, place) + 1

    def fault(self, reason: int, place: int, line: int, row: int, column: int) -> None:
        """Raise or count what is wrong at `place`."""
        got, index = shown(self.token(place)), self.index(column)
        start = self.line_start(place)
        query = re.search(rb"qid:([^ \t\r\n#]+)", self.buffer[start : min(start + 1000, self.stop)])
        where = f", query {shown(query[1])[1:-1]}" if query else ""
        what = "the label" if column < 0 else f"feature {index}"
        why = {
            _NOT_A_NUMBER: f"{what} must be a number, got {got}; " + _LOOKS,
            fast.BAD_LABEL: f"labels must be finite and >= 0, got {got}; drop the line or set it to 0",
            fast.BAD_TOKEN: f"expected index:value, got {got}; " + _LOOKS,
            fast.BAD_QID: f"expected a query id as in qid:17, got {got}; " + _LOOKS,
            fast.INDEX_ZERO: f"feature indices start at 1, got {got}; "
            "pass zero_based=True if they start at 0",
            fast.INDEX_ABOVE: f"feature {index} is beyond n_features={self.layout.n_features}; "
            "raise n_features or leave the feature out",
            fast.TWICE: f"feature {index} appears twice; keep one of them",
            fast.TOO_LARGE: f"{got} is too large for float32; scale the feature",
            fast.WIDER: f"feature {index} would make a table of more than {_WIDEST:,} columns; number the "
            "features that occur from 1 on",
        }[reason]
        self.faults.at(f"{self.path}, line {line + 1} (row {row}{where})", *why.split("; ", 1))

    def token(self, place: int) -> bytes:
        found = _TOKEN.match(self.buffer, place)
        return found[0] if found else b""

    def index(self, column: int) -> int:
        return column if self.layout.zero_based else column + 1

    def docid(self, rows: int, before: Place, wrong: set[int]) -> NDArray[np.bytes_] | None:
        """The document ids of the rows; `wrong` gets the starts of lines to be skipped."""
        start, stop, _, end = self.documents[:rows].T
        if not stop.any():
            end[:] = 0
            return None
        fast.find_comments(self.text, self.documents, rows)
        sizes = stop - start
        for row in np.flatnonzero(sizes > _LONGEST_ID).tolist():
            problem = f"a docid of more than {_LONGEST_ID} bytes, got {sizes[row]}"
            self.faults.at(f"{self.path}, row {before.rows + row}", problem, "shorten it")
            wrong.add(self.line_start(int(start[row])))
        longest = int(sizes.max(initial=0))
        if longest == 0 or wrong:
            return None
        letters = np.arange(longest)
        chosen = self.text[start[:, None] + np.minimum(letters, np.maximum(sizes[:, None] - 1, 0))]
        behind = letters >= sizes[:, None]
        plain = chosen.max() < 128 and bool(np.all((chosen != 0) | behind))
        chosen[behind] = 0
        ids: NDArray[np.bytes_] = chosen.view(f"S{longest}")[:, 0]
        for row in range(0 if plain else rows):
            raw = bytes(self.buffer[start[row] : stop[row]])
            if not is_text(raw):
                problem = f"a docid that is not UTF-8 text, got {shown(raw)}"
                self.faults.at(f"{self.path}, row {before.rows + row}", problem, "convert the file to UTF-8")
                wrong.add(self.line_start(int(start[row])))
        return ids

    def query_text(self, row: int) -> str:
        """The text of the query in the comment of a row, after `docid`."""
        start, stop = self.documents[row, 2:].tolist()
        return self.buffer[start:stop].decode("utf-8", "replace").replace("\0", "") if stop else ""


@lru_cache(maxsize=8)
def _index_words(base: int, width: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64], Ints]:
    """The text of each index with its colon as one word, the mask of its bytes, and its size."""
    texts = [f"{index}:".encode() for index in range(base, base + width)]
    words = np.array([int.from_bytes(text, "little") for text in texts], np.uint64)
    masks = np.array([(1 << 8 * len(text)) - 1 for text in texts], np.uint64)
    return words, masks, np.array([len(text) for text in texts], np.int64)
