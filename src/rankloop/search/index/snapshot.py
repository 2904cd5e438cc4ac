"""One generation of an index, as it was committed; every search reads one."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Array, Floats, Ints
from rankloop._atomic import replacing
from rankloop._checksums import checked_json, damaged_at, signed_json
from rankloop._json import parse_json
from rankloop.search.field import Field
from rankloop.search.index.arrays import AGAIN, read_arrays
from rankloop.search.index.embedding import Embedding
from rankloop.search.index.segment import REMEMBERED, Segment, id_hashes
from rankloop.search.text.analyser import Analyser

__all__ = ["MANIFEST", "Manifest", "Part", "Snapshot", "check_file"]

MANIFEST = "manifest.json"
FORMAT = 3
_FILE = re.compile(r"segment-\d+(\.[\w-]+)*\.(bin|usearch)")


@dataclass(frozen=True)
class Part:
    """A segment of a generation: its file, the file of its deleted documents, graphs by vector field.

    `digest` is the hash of the segment's header and checksums, `deleted_digest` that of its deleted
    documents; `graph_sums` has the checksums of each graph.
    """

    name: str
    digest: str
    deleted: str | None = None
    deleted_digest: str | None = None
    graphs: tuple[tuple[str, str], ...] = ()
    graph_sums: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if len(self.graphs) != len(self.graph_sums) or (self.deleted is None) != (
            self.deleted_digest is None
        ):
            raise ValueError("it has a file without a checksum")
        for file in self.files:
            if not _FILE.fullmatch(file):
                raise ValueError(f"it names a file that no index has: {file!r}")

    @property
    def files(self) -> list[str]:
        return [self.name, *([self.deleted] if self.deleted else []), *(file for _, file in self.graphs)]


@dataclass(frozen=True)
class Manifest:
    """What belongs to a generation; replacing this file commits it. Files it does not name are ignored."""

    fields: dict[str, Field]
    analyser: Analyser
    id_field: str = "id"
    id_kind: str | None = None
    generation: int = 0
    next_number: int = 1
    parts: tuple[Part, ...] = ()
    embedding: Embedding | None = None

    def write(self, folder: Path) -> None:
        saved = {
            "format": FORMAT,
            "generation": self.generation,
            "id": self.id_field,
            "ids": self.id_kind,
            "next": self.next_number,
            "analyser": self.analyser.to_dict(),
            "fields": {name: field.to_dict() for name, field in self.fields.items()},
            "segments": [{**asdict(part), "graphs": dict(part.graphs)} for part in self.parts],
        }
        if self.embedding is not None:
            saved["encoder"] = self.embedding.to_dict()
        with replacing(folder / MANIFEST) as beside:
            beside.write_text(signed_json(saved), encoding="utf-8", newline="")

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        try:
            text = (folder / MANIFEST).read_bytes().decode()
            number = parse_json(text)["format"]
            if number == FORMAT:
                return cls._from_dict(checked_json(text, signed=True))
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(
                f"no index at {folder}; make one with Index.create or rankloop index"
            ) from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"the manifest of {folder} is damaged ({error}); {AGAIN}") from error
        raise ValueError(f"{folder} has format {number}, this rankloop reads format {FORMAT}; {AGAIN}")

    @classmethod
    def _from_dict(cls, saved: dict[str, Any]) -> "Manifest":
        return cls(
            fields={name: Field.from_dict(field) for name, field in saved["fields"].items()},
            analyser=Analyser.from_dict(saved["analyser"]),
            id_field=saved["id"],
            id_kind=saved["ids"],
            generation=saved["generation"],
            next_number=saved["next"],
            parts=tuple(
                Part(
                    **{
                        **part,
                        "graphs": tuple(part["graphs"].items()),
                        "graph_sums": tuple(tuple(sums) for sums in part["graph_sums"]),
                    }
                )
                for part in saved["segments"]
            ),
            embedding=Embedding(**saved["encoder"]) if "encoder" in saved else None,
        )


def check_file(path: Path, sums: Sequence[int]) -> None:
    """Refuse a graph that was changed: the library that reads it may crash."""
    at = damaged_at(path, sums)
    if at is not None:
        raise ValueError(f"{path} is damaged or cut short from byte {at} on; {AGAIN}")


class Snapshot:
    """The segments of one manifest. Rows number the documents of all of them, deleted ones included."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.fields = manifest.fields
        self.text_fields = tuple(name for name, field in manifest.fields.items() if field.kind == "text")
        self.segments: list[Segment] = []
        self.cache: dict[Any, Any] = {}
        self._counted: dict[tuple[int, str], tuple[int, int]] = {}
        base = 0
        for part in manifest.parts:
            deleted = np.empty(0, np.int32)
            if part.deleted:
                deleted = read_arrays(folder / part.deleted, str(part.deleted_digest))["deleted"]
            self.segments.append(Segment(folder / part.name, part.digest, deleted, base))
            base += self.segments[-1].documents
        self.rows = base

    @classmethod
    def newest(cls, folder: Path) -> "Snapshot":
        """The last commit; a missing segment was merged by a writer meanwhile, so a newer one is opened."""
        while True:
            manifest = Manifest.read(folder)
            try:
                return cls(folder, manifest)
            except FileNotFoundError:
                if Manifest.read(folder).generation == manifest.generation:
                    raise

    @cached_property
    def n_documents(self) -> int:
        return sum(segment.n_live for segment in self.segments)

    @cached_property
    def average_lengths(self) -> Floats:
        """Per text field the mean number of tokens of a document."""
        totals = [segment.total_lengths for segment in self.segments]
        return np.asarray(sum(totals, np.zeros(len(self.text_fields))) / max(self.n_documents, 1))

    def analyser(self, field: str) -> Analyser:
        return self.fields[field].analyser or self.manifest.analyser

    def df(self, field: int, term: str) -> int:
        """The number of documents that have a term in the text field with this number."""
        return self._df_and_total(field, term)[0]

    def any_df(self, fields: tuple[int, ...], term: str) -> int:
        """The number of documents that have a term in any of the fields."""
        key = ("df", term, fields)
        if key not in self.cache:
            count = 0
            for segment in self.segments:
                at = segment.term(term)
                if at >= 0:
                    has = np.zeros(segment.documents, bool)
                    for field in fields:
                        has[segment.postings(field, at)] = True
                    count += int((has & (segment.live == 1)).sum())
            if len(self.cache) >= REMEMBERED:
                self.cache.clear()
            self.cache[key] = count
        return int(self.cache[key])

    def total(self, field: int, term: str) -> int:
        """How often a term occurs in the text field with this number, over all documents."""
        return self._df_and_total(field, term)[1]

    def _df_and_total(self, field: int, term: str) -> tuple[int, int]:
        """Both, counted once: a search asks for them several times, and words come back."""
        key = (field, term)
        found = self._counted.get(key)
        if found is None:
            having = [(one, at) for one in self.segments if (at := one.term(term)) >= 0]
            found = (
                sum(one.df(field, at) for one, at in having),
                sum(one.total(field, at) for one, at in having),
            )
            if len(self._counted) >= REMEMBERED:
                self._counted.clear()
            self._counted[key] = found
        return found

    def locate(self, row: int) -> tuple[Segment, int]:
        """The segment of a row, and the document's number there."""
        for segment in reversed(self.segments):
            if row >= segment.base:
                return segment, row - segment.base
        raise IndexError(row)

    def by_segment(self, rows: Ints) -> Iterator[tuple[Segment, Ints]]:
        """Each segment that holds some of the rows, and which of them (indices into `rows`)."""
        for segment in self.segments:
            inside = np.flatnonzero((rows >= segment.base) & (rows < segment.base + segment.documents))
            if len(inside):
                yield segment, inside

    def ids(self, rows: ArrayLike) -> Array:
        """The ids of rows: whole numbers if the index was given whole numbers, else text."""
        wanted = np.asarray(rows, np.int64)
        texts = np.empty(len(wanted), object)
        for segment, inside in self.by_segment(wanted):
            texts[inside] = segment.ids(wanted[inside] - segment.base)
        if self.manifest.id_kind == "int":
            return texts.astype(np.int64)
        return np.array(texts.tolist(), dtype=np.str_) if len(texts) else np.empty(0, "U1")

    def row(self, id: str) -> int:
        """The row of a live document, or -1."""
        for segment in self.segments:
            document = segment.find(id)
            if document >= 0:
                return segment.base + document
        return -1

    def rows_of(self, ids: Sequence[str]) -> Ints:
        """The rows of live documents, -1 for ids that are not in the index: faster than one at a time."""
        hashes = id_hashes(ids)
        rows = np.full(len(ids), -1, np.int64)
        for segment in self.segments:
            found = segment.find_all(ids, hashes)
            rows[found >= 0] = found[found >= 0] + segment.base
        return rows

    def document(self, row: int, *, vectors: bool = False) -> dict[str, Any]:
        """A document as it was given."""
        segment, at = self.locate(row)
        found = segment.stored(at)
        if vectors:
            for name, field in self.fields.items():
                if (
                    field.kind == "vector"
                    and not np.isnan(vector := segment.arrays[f"vector.{name}"][at]).any()
                ):
                    found[name] = vector
        return found

    def check(self) -> int:
        """Compare every file with its checksums; gives their number."""
        for part, segment in zip(self.manifest.parts, self.segments, strict=True):
            segment.arrays.check()
            for (_, file), sums in zip(part.graphs, part.graph_sums, strict=True):
                check_file(self.folder / file, sums)
        return 1 + sum(len(part.files) for part in self.manifest.parts)

    def with_parts(self, parts: tuple[Part, ...], next_number: int, id_kind: str | None) -> Manifest:
        """The manifest of the next generation."""
        return replace(
            self.manifest,
            parts=parts,
            next_number=next_number,
            id_kind=id_kind,
            generation=self.manifest.generation + 1,
        )
