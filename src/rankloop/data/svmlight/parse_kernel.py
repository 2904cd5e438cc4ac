"""Kernels that parse the lines of SVMLight ranking files.

In a dense file the next index is known, so its text is compared as one word; only an index that is not the
next one is parsed digit by digit.
"""

import numpy as np
from numpy.typing import NDArray

from rankloop._arrays import Bytes, Ints, Singles
from rankloop._jit import kernel, part
from rankloop.data.svmlight.number_kernel import FLOAT32_END, address, byte, is_end, load, long_number, number

__all__ = [
    "BAD_LABEL",
    "BAD_QID",
    "BAD_TOKEN",
    "BEYOND_END",
    "DONE",
    "FULL",
    "INDEX_ABOVE",
    "INDEX_ZERO",
    "TOO_LARGE",
    "TWICE",
    "WIDER",
    "find_comments",
    "parse_lines",
]

# Bytes that the kernel may read beyond the last line.
BEYOND_END = 32

DONE, FULL, WIDER = 0, 1, 2
# Why a line cannot be read.
BAD_LABEL, BAD_TOKEN, BAD_QID, INDEX_ZERO, INDEX_ABOVE, TWICE, TOO_LARGE = range(10, 17)

_DOCID = np.uint64(0x6469636F64)
_FIVE_BYTES = np.uint64(0xFFFFFFFFFF)


@part
def qid_span(text: int, at: int) -> tuple[int, int]:
    """The end and the size of the id of `qid:ID` at `at`; a size of -1 where there is none."""
    if load(text, at) & np.uint64(0xFFFFFFFF) != np.uint64(0x3A646971):
        return at, -1
    start = at + 4
    at = start
    while not is_end(byte(text, at)):
        at += 1
    return at, at - start


@kernel
def parse_lines(
    letters: Bytes,
    at: int,
    stop: int,
    base: int,
    limit: int,
    missing: float,
    next_word: NDArray[np.uint64],
    next_mask: NDArray[np.uint64],
    next_size: Ints,
    X: Singles,
    y: Singles,
    runs: Ints,
    documents: Ints,
    odd: Ints,
    seen: Ints,
    state: Ints,
) -> int:
    """Parse whole lines until the text ends or the rows, columns or odd values are full.

    `runs` gets (row, qid start, qid size, line) wherever the query changes, `documents` the start and stop
    of each comment, `odd` the (row, column, place, line) of values that Python must parse. `state` gets the
    place reached, the numbers of rows, lines, runs and odd values, the features of the widest row, and the
    place and column of a fault. Parsing stops between two lines; the reason is returned.
    """
    text = address(letters)
    capacity, width = X.shape
    row = lines = n_runs = n_odd = widest = 0
    reason, place, column = DONE, -1, -1
    last_qid, last_size = -1, -1
    careful = False
    while at < stop:
        # Skip empty lines and comments; stop before a row for which there is no room.
        line = at
        while byte(text, at) == 32 or byte(text, at) == 9 or byte(text, at) == 13:
            at += 1
        if byte(text, at) == 10 or byte(text, at) == 35:
            while byte(text, at) != 10:
                at += 1
            at += 1
            lines += 1
            continue
        if row == capacity:
            reason, at = FULL, line
            break
        # Start a row: all features missing, then one number after the other, the label first (column -1).
        for each in range(width):
            X[row, each] = missing
        documents[row, 0] = documents[row, 1] = 0
        column = highest = -1
        qid = qid_size = -1
        odd_before = n_odd
        again = False
        while True:
            # A number; where the fast parser is not sure of the last bit, its place is noted for Python.
            place = at
            value, at, sure = number(text, at)
            if not sure:
                value, at, sure = long_number(text, place)
            if not sure:
                if n_odd == len(odd):
                    reason = FULL
                    break
                odd[n_odd, 0], odd[n_odd, 1], odd[n_odd, 2], odd[n_odd, 3] = row, column, place, lines
                n_odd += 1
                while not is_end(byte(text, at)):
                    at += 1
            elif abs(value) >= FLOAT32_END:
                reason = TOO_LARGE
                break
            if column >= 0:
                X[row, column] = value
            elif value >= 0:
                y[row] = value
            else:
                reason = BAD_LABEL
                break
            # Fast path of dense files: if the next index follows as predicted, eight bytes are compared at
            # once and nothing is parsed. `careful` turns it off once a file has repeated or falling indices.
            while byte(text, at) == 32:
                at += 1
            column += 1
            if (
                column < len(next_word)
                and (load(text, at) & next_mask[column]) == next_word[column]
                and not careful
                and column > highest
            ):
                at += next_size[column]
                highest = column
                continue
            # Slow path: the qid after the label, a comment, the end of the line, or an index in full.
            column -= 1
            while byte(text, at) == 32 or byte(text, at) == 9 or byte(text, at) == 13:
                at += 1
            place = at
            if column < 0 and byte(text, at) == 113:
                at, qid_size = qid_span(text, at)
                qid = at - qid_size
                if qid_size < 1:
                    reason = BAD_QID
                    break
                while byte(text, at) == 32 or byte(text, at) == 9 or byte(text, at) == 13:
                    at += 1
                place = at
            if byte(text, at) == 35:
                documents[row, 0] = at
                while byte(text, at) != 10:
                    at += 1
                documents[row, 1] = at
            if byte(text, at) == 10:
                break
            # An index in full, and its colon.
            index = 0
            while 48 <= byte(text, at) <= 57 and at < place + 15:
                index = index * 10 + byte(text, at) - 48
                at += 1
            if at == place or byte(text, at) != 58:
                reason = BAD_TOKEN
                break
            at += 1
            column = index - base
            if column < 0:
                reason = INDEX_ZERO
                break
            if column >= width:
                reason = WIDER if limit < 0 else INDEX_ABOVE
                break
            # Indices that rise cannot repeat; otherwise the line is parsed again with a table of those seen.
            if careful:
                if seen[column] == line:
                    reason = TWICE
                    break
                seen[column] = line
            elif column <= highest:
                again = True
                break
            if column > highest:
                highest = column
        # A line that was not finished is undone: it is parsed again with care, or its fault is returned.
        if again:
            careful = True
            for each in range(len(seen)):
                seen[each] = -1
        if again or reason != DONE:
            at = line
            n_odd = odd_before
        if reason != DONE:
            break
        if again:
            continue
        # Record the query where it differs from that of the row before, compared as bytes.
        same = 0
        while same < qid_size and byte(text, qid + same) == byte(text, last_qid + same):
            same += 1
        if row == 0 or qid_size != last_size or same < qid_size:
            runs[n_runs, 0], runs[n_runs, 1], runs[n_runs, 2], runs[n_runs, 3] = row, qid, qid_size, lines
            n_runs += 1
        last_qid, last_size = qid, qid_size
        if highest >= widest:
            widest = highest + 1
        row += 1
        lines += 1
        at += 1
    state[0], state[1], state[2], state[3], state[4] = at, row, lines, n_runs, n_odd
    state[5], state[6], state[7] = widest, place, column
    return reason


@kernel
def find_comments(letters: Bytes, documents: Ints, rows: int) -> None:
    """Narrow the start and stop of each comment to its docid, and find the text of the query behind it.

    A comment is `# ID<TAB>words of the query`, or has `docid = ID` in it. Columns 0 and 1 get the start and
    stop of the id, 2 and 3 those of the query's text; 0 and 0 where there is none.
    """
    text = address(letters)
    for row in range(rows):
        start, stop = documents[row, 0], documents[row, 1]
        for column in range(4):
            documents[row, column] = 0
        # The id and a tab first.
        at = start + 1
        while at < stop and byte(text, at) == 32:
            at += 1
        first = at
        while at < stop and byte(text, at) != 32 and byte(text, at) != 9 and byte(text, at) != 13:
            at += 1
        named = at - first == 5 and (load(text, first) & _FIVE_BYTES) == _DOCID
        if first < stop and byte(text, at) == 9 and not named:
            documents[row, 0], documents[row, 1] = first, at
            while at < stop and is_blank(byte(text, at)):
                at += 1
            while stop > at and is_blank(byte(text, stop - 1)):
                stop -= 1
            documents[row, 2], documents[row, 3] = at, stop
            continue
        # Or `docid = ID` anywhere.
        at = start
        while at < stop:
            if (load(text, at) & _FIVE_BYTES) == _DOCID and is_end(byte(text, at - 1)):
                at += 5
                while is_blank(byte(text, at)) or byte(text, at) == 61 or byte(text, at) == 58:
                    at += 1
                documents[row, 0] = at
                while not is_blank(byte(text, at)) and byte(text, at) != 10:
                    at += 1
                documents[row, 1] = at
                break
            at += 1


@part
def is_blank(one: int) -> bool:
    """A space, a tab or a carriage return."""
    return one == 32 or one == 9 or one == 13
