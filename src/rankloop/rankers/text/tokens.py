"""Texts as tokens, and pairs of a query and a document put together from them."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rankloop._arrays import Ints, Ints32
from rankloop._tokenizer import read_tokenizer

__all__ = ["Frame", "PairTokens", "Pairs", "Texts", "Tokenizer", "ranges"]

_AT_ONCE = 4_096  # texts


class PairTokens(NamedTuple):
    """Packed pairs: tokens, their types (0 for the query, 1 for the document), and the length of each."""

    tokens: Ints
    types: Ints
    lengths: Ints


class Tokenizer:
    """A tokenizer.json, with what it puts before, between and after the two texts of a pair."""

    def __init__(self, written: str) -> None:
        self.written = written
        self._tokenizer = read_tokenizer(written)

    def flat(self, texts: Sequence[str]) -> tuple[Ints32, Ints]:
        """The tokens of texts one after the other, without special ones, and where each starts."""
        parts: list[Ints32] = [np.zeros(0, np.int32)]
        lengths = np.zeros(len(texts), np.int64)
        for start in range(0, len(texts), _AT_ONCE):
            some = [text.encode("utf-8", "replace").decode() for text in texts[start : start + _AT_ONCE]]
            read = self._tokenizer.encode_batch_fast(some, add_special_tokens=False)
            lengths[start : start + len(some)] = [len(one) for one in read]
            parts.append(np.fromiter((id for one in read for id in one.ids), np.int32))
        return np.concatenate(parts), np.concatenate(([0], np.cumsum(lengths)))

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """How many rows a network needs for its tokens, and for their types."""
        pair = [self._tokenizer.encode("a"), self._tokenizer.encode("a", "a")]
        known = max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=0)
        ids = max((id for one in pair for id in one.ids), default=0)
        return max(known, ids) + 1, max((kind for one in pair for kind in one.type_ids), default=0) + 1

    @cached_property
    def frame(self) -> "Frame":
        """Special tokens around a pair, as the tokenizer's own template sets them."""
        pair = self._tokenizer.encode("a", "a")
        of = np.array([-1 if one is None else one for one in pair.sequence_ids])
        first, second = np.flatnonzero(of == 0), np.flatnonzero(of == 1)
        if not len(first) or not len(second) or second[0] == first[-1] + 1:
            raise ValueError(
                "the tokenizer puts nothing between two texts; a cross-encoder needs a separator"
            )
        tokens = np.array([pair.ids, pair.type_ids], np.int64)
        parts = np.split(tokens, [first[0], first[-1] + 1, second[0], second[-1] + 1], axis=1)
        return Frame(parts[0], parts[2], parts[4], int(tokens[1, first[0]]), int(tokens[1, second[0]]))

    @cached_property
    def alone(self) -> Ints:
        """The special tokens (ids, types) after a text without a second one."""
        one = self._tokenizer.encode("a")
        inside = np.flatnonzero(np.array([part is not None for part in one.sequence_ids]))
        if not len(inside):
            raise ValueError("the tokenizer leaves nothing of a text; copy tokenizer.json again")
        made: Ints = np.array([one.ids, one.type_ids], np.int64)[:, inside[-1] + 1 :]
        return made


class Frame(NamedTuple):
    """The special tokens before, between and after the texts of a pair (ids, types), and the texts' types."""

    before: Ints
    middle: Ints
    after: Ints
    first: int
    second: int

    @property
    def tokens(self) -> int:
        return int(self.before.shape[1] + self.middle.shape[1] + self.after.shape[1])


class Texts:
    """Texts alone, each tokenized once, of at most `limit` tokens."""

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[str], limit: int) -> None:
        self.before, self.after = tokenizer.frame.before, tokenizer.alone
        room = limit - self.before.shape[1] - self.after.shape[1]
        if room < 1:
            raise ValueError(f"tokens must be {limit - room + 1} or more, got {limit}")
        self.tokens, self.starts = tokenizer.flat(texts)
        self.kept = np.minimum(np.diff(self.starts), room)
        self.lengths = self.kept + limit - room

    def packed(self, rows: Ints) -> PairTokens:
        """These texts, one after the other."""
        lengths = self.lengths[rows]
        ends = np.cumsum(lengths)
        made = np.zeros((2, int(ends[-1])), np.int64)
        place = _set(made, ends - lengths, self.before)
        place = _fill(made, place, self.kept[rows], self.tokens, self.starts[rows], 0)
        _set(made, place, self.after)
        return PairTokens(made[0], made[1], lengths)


class Pairs:
    """Every text is tokenized once; a pair is put together when it is needed.

    A pair has at most `limit` tokens. The query keeps up to half of them, the document the rest.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        queries: Sequence[str],
        documents: Sequence[str],
        row_query: Ints,
        row_document: Ints,
        limit: int,
    ) -> None:
        self.frame, self.limit = tokenizer.frame, limit
        self.row_query, self.row_document = row_query, row_document
        self.queries, self.query_starts = tokenizer.flat(queries)
        self.documents, self.document_starts = tokenizer.flat(documents)
        room = limit - self.frame.tokens
        if room < 2:
            raise ValueError(f"tokens must be {self.frame.tokens + 2} or more, got {limit}")
        of_query = np.diff(self.query_starts)[row_query]
        of_document = np.diff(self.document_starts)[row_document]
        self.query_lengths = np.minimum(of_query, np.maximum(room // 2, room - of_document))
        self.document_lengths = np.minimum(of_document, room - self.query_lengths)
        self.lengths = self.query_lengths + self.document_lengths + self.frame.tokens

    def __len__(self) -> int:
        return len(self.row_query)

    def packed(self, rows: Ints) -> PairTokens:
        """The pairs of these rows, one after the other."""
        frame, lengths = self.frame, self.lengths[rows]
        ends = np.cumsum(lengths)
        made = np.empty((2, int(ends[-1])), np.int64)
        place = _set(made, ends - lengths, frame.before)
        counts, starts = self.query_lengths[rows], self.query_starts[self.row_query[rows]]
        place = _fill(made, place, counts, self.queries, starts, frame.first)
        place = _set(made, place, frame.middle)
        counts, starts = self.document_lengths[rows], self.document_starts[self.row_document[rows]]
        place = _fill(made, place, counts, self.documents, starts, frame.second)
        _set(made, place, frame.after)
        return PairTokens(made[0], made[1], lengths)


def _set(made: Ints, places: Ints, special: Ints) -> Ints:
    """Write the same special tokens at every place; gives the places after them."""
    for column in special.T:
        made[:, places] = column[:, None]
        places = places + 1
    return places


def _fill(made: Ints, places: Ints, counts: Ints, source: Ints32, starts: Ints, kind: int) -> Ints:
    """Copy `counts` tokens of a text to every place; gives the places after them."""
    at = ranges(places, counts)
    made[0, at] = source[ranges(starts, counts)]
    made[1, at] = kind
    return places + counts


def ranges(starts: Ints, counts: Ints) -> Ints:
    """`counts` numbers from each start on.

    >>> ranges(np.array([5, 9]), np.array([2, 3]))
    array([ 5,  6,  9, 10, 11])
    """
    ends = np.cumsum(counts)
    return np.repeat(starts - ends + counts, counts) + np.arange(int(ends[-1]))
