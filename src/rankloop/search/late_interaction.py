"""The stage that compares every word of the query with every word of a document."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from rankloop import _archive
from rankloop._arrays import Array, Floats, Ints, Singles
from rankloop._extras import require
from rankloop._progress import progress
from rankloop.rankers.text.documents import own_fields, text_of
from rankloop.rankers.text.folder import model_folder
from rankloop.search.candidates import Candidates
from rankloop.search.index.index import Index
from rankloop.search.stage import Stage

__all__ = ["LateInteraction", "max_sim"]

_KIND = "LateInteraction"
_AGAIN = "add the index and save it again"
_SCALE = 127.0
_AT_ONCE = 1_024  # documents


class LateInteraction(Stage):
    r"""Orders the first `k` candidates by the vectors of their tokens (ColBERT; Khattab & Zaharia, 2020).

    .. math:: s(q, d) = \sum_{i \in q} \max_{j \in d} \cos(q_i, d_j)

    The vectors come from a pretrained BERT (`checkpoint`: a folder, or a name such as `"minilm"`; see
    `TextRanker`). `add(index)` computes those of all documents once, as int8: `bytes_per_document` says what
    they take. A document that was not added, or has another text now, is encoded when it is met. This is
    slower than one vector per document, and faster than a `TextRanker`, which reads query and document
    together.

    >>> LateInteraction("minilm", k=50)
    LateInteraction('minilm', k=50, 0 texts)
    """

    def __init__(
        self,
        checkpoint: str | Path = "minilm",
        *,
        fields: Sequence[str] | None = None,
        tokens: int = 128,
        k: int = 100,
        device: str = "auto",
    ) -> None:
        if k < 1:
            raise ValueError(f"a late interaction orders at least k=1 documents, got {k}")
        self.checkpoint, self.fields, self.tokens, self.k, self.device = checkpoint, fields, tokens, k, device
        self.codes: Array = np.zeros((0, 0), np.int8)
        self.offsets: Ints = np.zeros(1, np.int64)
        self._rows: dict[str, int] = {}  # in the order of the vectors
        self._digest: str | None = None
        self._encoder: Any = None

    def __repr__(self) -> str:
        stored = f"{len(self._rows):,} texts"
        if self._rows:
            stored += f" of {self.bytes_per_document:,.0f} bytes"
        return f"LateInteraction({str(self.checkpoint)!r}, k={self.k}, {stored})"

    @property
    def bytes_per_document(self) -> float:
        """What the stored vectors take, on the average."""
        return self.codes.nbytes / max(len(self._rows), 1)

    def add(self, index: Index) -> Self:
        """Compute the token vectors of all documents of an index, in place of those of before."""
        snapshot = index.snapshot
        fields = self._fields(snapshot)
        live = [row for part in snapshot.segments for row in (np.flatnonzero(part.live) + part.base).tolist()]
        parts: list[Array] = []
        lengths: list[int] = []
        keys: list[str] = []
        seen: set[str] = set()
        with progress("token vectors", len(live)) as advance:
            for start in range(0, len(live), _AT_ONCE):
                some = live[start : start + _AT_ONCE]
                texts = [text_of(snapshot.document(row), fields) for row in some]
                texts = [text for text in dict.fromkeys(texts) if _key(text) not in seen]
                seen.update(map(_key, texts))
                for one in self._encoded(texts):
                    parts.append(_int8(one))
                    lengths.append(len(one))
                keys += map(_key, texts)
                advance(len(some), "")
        self.codes = np.concatenate(parts) if parts else np.zeros((0, 0), np.int8)
        self.offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        self._rows = {key: at for at, key in enumerate(keys)}
        self._digest = None
        return self

    def __call__(self, given: Candidates) -> Candidates:
        return given.rescored(self.k, self.scores)

    def scores(self, found: Candidates) -> Floats:
        """The sum of the best cosines for each candidate."""
        if not len(found):
            return np.zeros(0)
        (query,) = self._encoded([found.query.plain])
        fields = self._fields(found.snapshot)
        texts = [text_of(found.snapshot.document(row), fields) for row in found.rows.tolist()]
        missing = list(dict.fromkeys(text for text in texts if _key(text) not in self._rows))
        new = dict(zip(missing, map(_int8, self._encoded(missing)), strict=True))
        parts = [new[text] if text in new else self._stored(_key(text)) for text in texts]
        offsets = np.concatenate(([0], np.cumsum([len(one) for one in parts])))
        return max_sim(query, np.concatenate(parts), offsets)

    def save(self, path: str | Path) -> None:
        """Write the stored vectors, without the network, to one file that `LateInteraction.load` reads."""
        _archive.write(path, _KIND, self._about(), self._members())

    @classmethod
    def load(cls, path: str | Path) -> "LateInteraction":
        """The stage that `save` wrote."""
        return cls._made(_archive.read(path, _KIND, again=_AGAIN), str(path))

    def to_bytes(self) -> bytes:
        """What `save` writes, for a file within another: that of a pipeline."""
        return _archive.pack(_KIND, self._about(), self._members())

    @classmethod
    def from_bytes(cls, whole: bytes) -> "LateInteraction":
        """The stage whose `to_bytes` these are."""
        return cls._made(_archive.unpack(whole, _KIND, again=_AGAIN), "its late interaction")

    @property
    def fingerprint(self) -> str:
        """A hash of the parameters and of the stored vectors."""
        if self._digest is None:
            made = hashlib.blake2b(np.ascontiguousarray(self.codes).tobytes(), digest_size=16)
            made.update(np.ascontiguousarray(self.offsets).tobytes())
            made.update("".join(self._rows).encode())
            self._digest = made.hexdigest()
        return hashlib.blake2b(f"{self._about()}{self._digest}".encode(), digest_size=16).hexdigest()

    def _about(self) -> dict[str, Any]:
        return {
            "checkpoint": str(self.checkpoint),
            "fields": None if self.fields is None else list(self.fields),
            "tokens": self.tokens,
            "k": self.k,
        }

    def _members(self) -> dict[str, _archive.Member]:
        return {"codes": self.codes, "offsets": self.offsets, "keys": np.array(list(self._rows), np.str_)}

    @classmethod
    def _made(cls, saved: _archive.Archive, where: str) -> "LateInteraction":
        made, members = cls(**saved.about), saved.members
        made.codes, made.offsets = np.asarray(members["codes"]), np.asarray(members["offsets"])
        keys = np.asarray(members["keys"]).tolist()
        sound = made.codes.ndim == 2 and len(made.offsets) == len(keys) + 1 and made.offsets[0] == 0
        if not sound or made.offsets[-1] != len(made.codes) or (np.diff(made.offsets) < 1).any():
            raise ValueError(f"{where} is damaged: its vectors do not fit its documents; {_AGAIN}")
        made._rows = {str(key): at for at, key in enumerate(keys)}
        return made

    def _stored(self, key: str) -> Array:
        at = self._rows[key]
        return self.codes[self.offsets[at] : self.offsets[at + 1]]

    def _fields(self, snapshot: Any) -> Sequence[str] | None:
        return self.fields if self.fields is not None else own_fields(snapshot)

    def _encoded(self, texts: Sequence[str]) -> Iterable[Singles]:
        if self._encoder is None:
            require("torch", "neural")
            model_folder(self.checkpoint)
            from rankloop.rankers.text.bi_encoder import BiEncoder

            self._encoder = BiEncoder.open(self.checkpoint, tokens=self.tokens, device=self.device)
        return list(self._encoder.token_vectors(texts))


def max_sim(query: Singles, codes: Array, offsets: Ints) -> Floats:
    """For each document, the sum over the query's tokens of the best cosine among the document's tokens.

    `codes` are the documents' vectors of length 1 as int8, one document after the other; none is empty.

    >>> query = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    >>> codes = np.array([[127, 0], [0, 127], [0, 127]], np.int8)
    >>> max_sim(query, codes, np.array([0, 2, 3]))
    array([2., 1.])
    """
    cosines = (codes.astype(np.float32) / np.float32(_SCALE)) @ query.T
    return np.asarray(np.maximum.reduceat(cosines, offsets[:-1], axis=0).sum(axis=1), np.float64)


def _key(text: str) -> str:
    """Vectors are found by the text they were made from, so that a changed document gets new ones."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _int8(vectors: Singles) -> Array:
    made: Array = np.clip(np.rint(vectors * _SCALE), -127, 127).astype(np.int8)
    return made
