"""One immutable part of an index: forward index, postings, columns, and stored documents."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._arrays import Array, Bytes, Ints, Ints32
from rankloop.search.index.arrays import MappedArrays, MemoryArrays, pack, read_arrays, unpack
from rankloop.search.index.postings import Arrays, Forward
from rankloop.search.index.top import term_frequencies

__all__ = ["REMEMBERED", "Segment", "id_columns", "id_hashes", "keyword_columns", "name_of_field"]

REMEMBERED = 100_000  # looked-up terms that are cached


class Segment:
    """The memory-mapped arrays of one part, without the documents deleted since it was written.

    `arrays` are given for a part that is in memory only.

    Forward rows are `field * documents + document`, posting rows `field * terms + term`; text fields are
    numbered in the order in which the index declares them. Damage is seen when a part is first used: of
    `forward` only the rows that `touch_forward` was called with were compared with their checksums.
    """

    def __init__(
        self, path: Path, digest: str, deleted: Ints32, base: int, arrays: MemoryArrays | None = None
    ) -> None:
        self.name = path.name
        self.path = path
        self.digest = digest
        self.base = base
        self.arrays: MappedArrays | MemoryArrays = read_arrays(path, digest) if arrays is None else arrays
        self.deleted = deleted
        self.forward = Forward(*(self.arrays.raw[f"forward.{name}"] for name in Forward._fields))
        self.documents = len(self.arrays.raw["live"])
        self.terms = len(self.arrays.raw["vocabulary.offsets"]) - 1
        self.live: Bytes = self.arrays["live"].copy()
        self.live[deleted] = 0
        self.live.flags.writeable = False
        self._numbers: dict[str, int] = {}
        self._folded: dict[str, dict[str, list[int]]] = {}

    @property
    def n_live(self) -> int:
        return self.documents - len(self.deleted)

    @cached_property
    def lengths(self) -> Ints32:
        """The number of tokens of each document, one row per text field."""
        return self.arrays["forward.lengths"]

    @cached_property
    def longest(self) -> int:
        """The number of tokens in all text fields of the longest document."""
        return int(self.lengths.sum(0).max(initial=0))

    @cached_property
    def total_lengths(self) -> Ints:
        """Per text field the number of tokens in live documents."""
        return np.asarray(
            self.lengths.sum(1, dtype=np.int64) - self.lengths[:, self.deleted].sum(1, dtype=np.int64)
        )

    @cached_property
    def _gone(self) -> tuple[Ints, Ints] | None:
        """Per posting row how many documents and tokens were deleted."""
        if not len(self.deleted):
            return None
        rows = len(self.arrays["postings.total"])
        df, total = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        offsets = self.arrays["forward.offsets"]
        for field in range(len(self.lengths)):
            gone = field * self.documents + self.deleted.astype(np.int64)
            counts = offsets[gone + 1] - offsets[gone]
            before = np.cumsum(counts) - counts
            entries = np.repeat(offsets[gone] - before, counts) + np.arange(counts.sum())
            self.touch_forward(self.deleted.astype(np.int64))
            at = field * self.terms + self.forward.terms[entries].astype(np.int64)
            np.add.at(df, at, 1)
            np.add.at(total, at, self.forward.tf[entries])
        return df, total

    def df(self, field: int, term: int) -> int:
        """The number of live documents that have the term in this field."""
        row = field * self.terms + term
        offsets = self.arrays["postings.offsets"]
        return int(offsets[row + 1] - offsets[row]) - (int(self._gone[0][row]) if self._gone else 0)

    def dfs(self, field: int, terms: range) -> Ints:
        """The number of live documents that have each of consecutive terms in this field."""
        first = field * self.terms + terms.start
        df = np.diff(self.arrays["postings.offsets"][first : first + len(terms) + 1])
        return df - self._gone[0][first : first + len(terms)] if self._gone else df

    def total(self, field: int, term: int) -> int:
        """How often the term occurs in this field of live documents."""
        row = field * self.terms + term
        return int(self.arrays["postings.total"][row]) - (int(self._gone[1][row]) if self._gone else 0)

    def postings(self, field: int, term: int, last: int | None = None) -> Ints32:
        """The documents, deleted ones included, that have the term in this field.

        With `last`, those of all terms from the one to the other, one term after the other.
        """
        row = field * self.terms + term
        offsets = self.arrays["postings.offsets"]
        end = row if last is None else field * self.terms + last
        a, b = offsets[row : row + 1], offsets[end + 1 : end + 2]
        found: Ints32 = self.arrays.touch("postings.docs", a, b)[a[0] : b[0]]
        return found

    def postings_of(self, rows: Ints) -> tuple[Ints32, Ints32, Ints, Ints]:
        """The arrays of documents and frequencies, and where those of each posting row begin and end."""
        offsets = self.arrays["postings.offsets"]
        starts, ends = offsets[rows], offsets[rows + 1]
        docs = self.arrays.touch("postings.docs", starts, ends)
        return docs, self.arrays.touch("postings.tf", starts, ends), starts, ends

    def frequencies(self, field: Ints, term: Ints, documents: Ints, order: Ints | None = None) -> Ints32:
        """How often each term (its number, or -1) is in its field of each document: documents x terms.

        `order` sorts the documents, where it is known.
        """
        docs, tf, starts, ends = self.postings_of(field * self.terms + np.maximum(term, 0))
        order = np.argsort(documents) if order is None else order
        found: Ints32 = term_frequencies(
            docs, tf, starts, np.where(term < 0, starts, ends), documents[order], order
        )
        return found

    def touch_forward(self, documents: Ints) -> None:
        """Compare the rows of these documents in the forward index with their checksums."""
        arrays = self.arrays
        if "forward.terms" in arrays and "forward.tf" in arrays and "forward.positions" in arrays:
            return
        offsets, starts = arrays["forward.offsets"], arrays["forward.starts"]
        for field in range(len(self.lengths)):
            rows = field * self.documents + documents
            arrays.touch("forward.terms", offsets[rows], offsets[rows + 1])
            arrays.touch("forward.tf", offsets[rows], offsets[rows + 1])
            arrays.touch("forward.positions", starts[rows], starts[rows + 1])

    def term(self, term: str) -> int:
        """The number of a term in this segment, or -1."""
        known = self._numbers.get(term)
        if known is not None:
            return known
        wanted = term.encode("utf-8", "surrogatepass")
        at = self._first_not_below(wanted)
        number = at if at < self.terms and self._term_bytes(at) == wanted else -1
        if len(self._numbers) >= REMEMBERED:
            self._numbers.clear()
        self._numbers[term] = number
        return number

    def terms_with_prefix(self, prefix: str) -> range:
        """The numbers of all terms with this prefix."""
        start = prefix.encode("utf-8", "surrogatepass")
        return range(self._first_not_below(start), self._first_not_below(start + b"\xff"))

    def term_text(self, number: int) -> str:
        """The term with this number."""
        return self._term_bytes(number).decode("utf-8", "surrogatepass")

    def _term_bytes(self, number: int) -> bytes:
        offsets = self.arrays["vocabulary.offsets"]
        return self.arrays["vocabulary.bytes"][offsets[number] : offsets[number + 1]].tobytes()

    def _first_not_below(self, wanted: bytes) -> int:
        offsets, data = self.arrays["vocabulary.offsets"].data, self.arrays["vocabulary.bytes"].data
        low, high = 0, self.terms
        while low < high:
            middle = (low + high) // 2
            if bytes(data[offsets[middle] : offsets[middle + 1]]) < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    def ids(self, documents: Ints) -> list[str]:
        """The ids of documents, as text."""
        offsets, data = self.arrays["ids.offsets"], self.arrays["ids.bytes"].data
        ends = zip(offsets[documents].tolist(), offsets[documents + 1].tolist(), strict=True)
        return [str(data[start:end], "utf-8", "surrogatepass") for start, end in ends]

    def find(self, id: str) -> int:
        """The live document with this id, or -1."""
        hashed = id_hashes([id])[0]
        at = int(np.searchsorted(self.arrays["ids.hash"], hashed))
        while at < self.documents and self.arrays["ids.hash"][at] == hashed:
            document = int(self.arrays["ids.order"][at])
            if self.live[document] and self.ids(np.array([document])) == [id]:
                return document
            at += 1
        return -1

    def find_all(self, ids: Sequence[str], hashes: Array) -> Ints:
        """The live documents with these ids, -1 for the others; `hashes` are those of the ids."""
        found = np.full(len(ids), -1, np.int64)
        if not self.documents:
            return found
        known = self.arrays["ids.hash"]
        at = np.minimum(np.searchsorted(known, hashes), self.documents - 1)
        likely = np.flatnonzero(known[at] == hashes)
        documents = self.arrays["ids.order"][at[likely]].astype(np.int64)
        texts = self.ids(documents)
        for one, document, text in zip(likely.tolist(), documents.tolist(), texts, strict=True):
            whole = self.live[document] and text == ids[one]
            found[one] = document if whole else self.find(ids[one])
        return found

    def stored(self, document: int) -> dict[str, Any]:
        """A document as it was given, without its vectors."""
        ends = self.arrays["stored.offsets"][document : document + 2]
        whole = self.arrays.touch("stored.bytes", ends[:1], ends[1:])
        text = whole[ends[0] : ends[1]].tobytes().decode("utf-8", "surrogatepass")
        found: dict[str, Any] = json.loads(text)  # of bytes it would detect the encoding first
        return found

    def keyword_numbers(self, field: str) -> dict[str, list[int]]:
        """The numbers of the values of a keyword field, by the value in lower case."""
        if field not in self._folded:
            numbers: dict[str, list[int]] = {}
            for at, value in enumerate(self.keyword_values(field)):
                numbers.setdefault(value.casefold(), []).append(at)
            self._folded[field] = numbers
        return self._folded[field]

    def keyword_values(self, field: str) -> list[str]:
        """The values of a keyword field in this segment, in the order of their numbers."""
        name = name_of_field("keyword", field)
        values = unpack(self.arrays[f"{name}.bytes"], self.arrays[f"{name}.offsets"])
        return [value.decode("utf-8", "surrogatepass") for value in values]

    def keyword_value(self, field: str, number: int) -> str:
        """One of them."""
        name = name_of_field("keyword", field)
        first, last = self.arrays[f"{name}.offsets"][number : number + 2].tolist()
        return self.arrays[f"{name}.bytes"][first:last].tobytes().decode("utf-8", "surrogatepass")


def name_of_field(kind: str, field: str) -> str:
    """The name under which the columns of a field are stored."""
    return f"{'number' if kind == 'date' else kind}.{field}"


def id_hashes(ids: Iterable[str]) -> Array:
    """A hash of each id that is the same on every machine."""
    texts = (id.encode("utf-8", "surrogatepass") for id in ids)
    digests = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def id_columns(ids: list[str]) -> Arrays:
    """The arrays that find a document by its id."""
    packed, offsets = pack(id.encode("utf-8", "surrogatepass") for id in ids)
    hashes = id_hashes(ids)
    order = np.argsort(hashes, kind="stable").astype(np.int32)
    return {"ids.bytes": packed, "ids.offsets": offsets, "ids.hash": hashes[order], "ids.order": order}


def keyword_columns(field: str, values: Iterable[list[str]]) -> Arrays:
    """The arrays of a keyword field: its values in order, and the documents of each."""
    documents: dict[str, list[int]] = {}
    for document, words in enumerate(values):
        for word in words:
            documents.setdefault(word, []).append(document)
    known = sorted(documents)
    name = name_of_field("keyword", field)
    packed, offsets = pack(word.encode("utf-8", "surrogatepass") for word in known)
    starts = np.concatenate(([0], np.cumsum([len(documents[word]) for word in known]))).astype(np.int64)
    docs = np.array([d for word in known for d in documents[word]], np.int32)
    return {
        f"{name}.bytes": packed,
        f"{name}.offsets": offsets,
        f"{name}.starts": starts,
        f"{name}.docs": docs,
    }
