"""Several segments as one, without deleted documents."""

from collections.abc import Mapping, Sequence

import numpy as np

from rankloop._arrays import Bools, Ints
from rankloop.search.field import Field
from rankloop.search.index.arrays import pack, unpack
from rankloop.search.index.postings import Arrays, invert, joined
from rankloop.search.index.segment import Segment, id_columns, keyword_columns, name_of_field

__all__ = ["merge"]


def merge(segments: Sequence[Segment], fields: Mapping[str, Field]) -> Arrays:
    """The arrays of one segment with the live documents of all, in their order.

    Every block is compared with its checksum first: a merge must not sign damage.
    """
    for segment in segments:
        segment.arrays.check()
    live = [np.flatnonzero(segment.live) for segment in segments]
    documents = sum(map(len, live))
    words, numbers = _vocabulary(segments)
    text = [name for name, field in fields.items() if field.kind == "text"]
    parts = [_forward_field(segments, numbers, at) for at in range(len(text))]
    forward = joined(parts, documents)
    made: Arrays = {"live": np.ones(documents, np.uint8)}
    made["vocabulary.bytes"], made["vocabulary.offsets"] = pack(words)
    made.update({f"forward.{name}": values for name, values in forward.items()})
    made.update({f"postings.{name}": values for name, values in invert(forward, len(words)).items()})
    made["stored.bytes"], made["stored.offsets"] = pack(_picked(segments, live, "stored"))
    made.update(id_columns([id.decode("utf-8", "surrogatepass") for id in _picked(segments, live, "ids")]))
    for name, field in fields.items():
        if field.kind == "keyword":
            made.update(keyword_columns(name, _keywords(segments, live, name)))
        elif field.kind != "text":
            key = name_of_field(field.kind, name)
            made[key] = np.concatenate([s.arrays[key][rows] for s, rows in zip(segments, live, strict=True)])
    return made


def _vocabulary(segments: Sequence[Segment]) -> tuple[list[bytes], list[Ints]]:
    """The terms of live documents in order, and the new number of each segment's terms."""
    own = [unpack(s.arrays["vocabulary.bytes"], s.arrays["vocabulary.offsets"]) for s in segments]
    used: set[bytes] = set()
    for segment, terms in zip(segments, own, strict=True):
        numbers = np.unique(segment.arrays["forward.terms"][_live_entries(segment)])
        used.update(terms[number] for number in numbers.tolist())
    words = sorted(used)
    number = {word: at for at, word in enumerate(words)}
    return words, [np.array([number.get(term, -1) for term in terms], np.int64) for terms in own]


def _live_entries(segment: Segment) -> Bools:
    counts = np.diff(segment.arrays["forward.offsets"])
    return np.repeat(np.tile(segment.live.astype(bool), len(segment.lengths)), counts)


def _forward_field(segments: Sequence[Segment], numbers: list[Ints], field: int) -> Arrays:
    found: dict[str, list[Ints]] = {}
    for segment, number in zip(segments, numbers, strict=True):
        rows = slice(field * segment.documents, (field + 1) * segment.documents + 1)
        live = segment.live.astype(bool)
        offsets, starts = segment.arrays["forward.offsets"][rows], segment.arrays["forward.starts"][rows]
        entries = np.repeat(live, np.diff(offsets))
        spots = np.repeat(live, np.diff(starts))
        of_entries, of_spots = slice(offsets[0], offsets[-1]), slice(starts[0], starts[-1])
        for name, values in {
            "terms": number[segment.arrays["forward.terms"][of_entries][entries]].astype(np.int32),
            "tf": segment.arrays["forward.tf"][of_entries][entries],
            "positions": segment.arrays["forward.positions"][of_spots][spots],
            "lengths": segment.lengths[field][live],
            "offsets": np.diff(offsets)[live],
            "starts": np.diff(starts)[live],
        }.items():
            found.setdefault(name, []).append(values)
    made = {name: np.concatenate(parts) for name, parts in found.items()}
    for name in ("offsets", "starts"):
        made[name] = np.concatenate(([0], np.cumsum(made[name]))).astype(np.int64)
    return made


def _picked(segments: Sequence[Segment], live: list[Ints], name: str) -> list[bytes]:
    picked = []
    for segment, rows in zip(segments, live, strict=True):
        parts = unpack(segment.arrays[f"{name}.bytes"], segment.arrays[f"{name}.offsets"])
        picked += [parts[row] for row in rows.tolist()]
    return picked


def _keywords(segments: Sequence[Segment], live: list[Ints], field: str) -> list[list[str]]:
    words: list[list[str]] = []
    name = name_of_field("keyword", field)
    for segment, rows in zip(segments, live, strict=True):
        by_document: list[list[str]] = [[] for _ in range(segment.documents)]
        starts = segment.arrays[f"{name}.starts"].tolist()
        docs = segment.arrays[f"{name}.docs"].tolist()
        for at, value in enumerate(segment.keyword_values(field)):
            for document in docs[starts[at] : starts[at + 1]]:
                by_document[document].append(value)
        words += [by_document[row] for row in rows.tolist()]
    return words
