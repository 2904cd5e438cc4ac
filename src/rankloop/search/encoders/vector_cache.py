"""Vectors of texts on disk: what an encoder made once is not computed again."""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from rankloop._arrays import Singles
from rankloop._warn import warn

__all__ = ["VectorCache", "vector_folder"]

_LARGEST = 2 << 30  # bytes of vectors per encoder: 1.4 million of 384 numbers
_AT_ONCE = 500  # keys in one question
_PATIENCE = 30  # seconds to wait for another process that writes
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (number INTEGER PRIMARY KEY, key BLOB UNIQUE, vector BLOB)"


class VectorCache:
    """Vectors by the hash of their text, in a file per encoder; several processes may use it at once.

    The file is named after the encoder's fingerprint, so that other weights or settings never meet these
    vectors. Past `largest` bytes the oldest vectors go. A file that cannot be used is reported once;
    the vectors are then computed again.

    >>> import tempfile
    >>> cache = VectorCache(tempfile.mkdtemp(), "minilm-8f3a", dimension=2)
    >>> cache.put({b"a text": np.array([0.6, 0.8], np.float32)})
    >>> cache.get([b"a text", b"another"])
    {b'a text': array([0.6, 0.8], dtype=float32)}
    """

    def __init__(
        self, folder: str | Path, fingerprint: str, *, dimension: int, largest: int = _LARGEST
    ) -> None:
        self.path = Path(folder) / f"{fingerprint}.sqlite"
        self.dimension, self.largest = dimension, largest
        self._usable = True

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Singles]:
        """The vectors that are there, by key."""
        if not self._usable or not keys or not self.path.is_file():
            return {}
        try:
            return dict(self._found(keys))
        except sqlite3.Error as error:
            self._give_up(error)
            return {}

    def put(self, vectors: Mapping[bytes, Singles]) -> None:
        """Keep vectors, all of them or, if the process dies, none."""
        if not self._usable or not vectors:
            return
        rows = [(key, np.asarray(one, "<f4").tobytes()) for key, one in vectors.items()]
        most = max(self.largest // (4 * self.dimension), 1)
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=_PATIENCE)) as connection, connection:
                connection.execute(_TABLE)
                connection.executemany("INSERT OR IGNORE INTO vectors (key, vector) VALUES (?, ?)", rows)
                oldest = "SELECT max(number) - ? FROM vectors"
                connection.execute(f"DELETE FROM vectors WHERE number <= ({oldest})", (most,))
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)

    def _found(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, Singles]]:
        with closing(sqlite3.connect(self.path, timeout=_PATIENCE)) as connection:
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ", ".join("?" * len(some))
                asked = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"
                for key, raw in connection.execute(asked, some):
                    if isinstance(raw, bytes) and len(raw) == 4 * self.dimension:
                        vector: Singles = np.frombuffer(raw, "<f4").astype(np.float32)
                        if np.isfinite(vector).all():
                            yield key, vector

    def _give_up(self, error: Exception) -> None:
        self._usable = False
        warn(
            f"vectors are not kept in {self.path} ({error}), so all of them are computed; remove the file if "
            "it is damaged, or name a folder of your own in RANKLOOP_VECTORS"
        )


def vector_folder() -> Path | None:
    """Where vectors are kept: RANKLOOP_VECTORS, or the user's cache; None where that says "off"."""
    given = os.environ.get("RANKLOOP_VECTORS")
    if given == "off":
        return None
    if given:
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rankloop" / "vectors"
