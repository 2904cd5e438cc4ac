"""Pages and events as rows of the store and as records of the spool; arrays are raw little-endian bytes."""

import hashlib
import json
import struct
from typing import Any

import numpy as np
from sqlalchemy import RowMapping

from rankloop.serve.events.shown_page import Event, FollowingPage, ShownPage

__all__ = [
    "DAY",
    "Record",
    "decode",
    "encode",
    "event_row",
    "feature_key",
    "following_row",
    "page_of",
    "page_row",
]

Record = ShownPage | FollowingPage | Event

DAY = 86_400
_EVENT_FIELDS = ("event_id", "page_id", "kind", "document", "position", "value", "time")
_FOLLOWING_FIELDS = ("page_id", "first", "time", "query", "ranker", "user")
_PAGE_FIELDS = (
    "page_id",
    "time",
    "query",
    "ranker",
    "layout",
    "user",
    "policy",
    "experiment",
    "generation",
    "fingerprint",
    "found",
    "bot",
    "origin",
    "typed",
)


def encode(record: Record) -> bytes:
    """A record as bytes: the length of its JSON, the JSON, and the arrays of a page."""
    if isinstance(record, Event):
        text = json.dumps([getattr(record, name) for name in _EVENT_FIELDS]).encode()
        return b"e" + struct.pack("<I", len(text)) + text
    names = _PAGE_FIELDS if isinstance(record, ShownPage) else _FOLLOWING_FIELDS
    fields = {name: getattr(record, name) for name in (*names, "documents", "feature_names")}
    if isinstance(record, ShownPage):
        fields |= {
            "epoch": record.epoch,
            "randomness": dict(record.randomness),
            "seconds": dict(record.seconds),
        }
    text = json.dumps(fields).encode()
    arrays = record.scores.astype("<f8").tobytes() + record.features.astype("<f4").tobytes()
    kind = b"p" if isinstance(record, ShownPage) else b"f"
    return kind + struct.pack("<I", len(text)) + text + arrays


def decode(whole: bytes) -> Record:
    """The record in bytes that `encode` made."""
    (length,) = struct.unpack_from("<I", whole, 1)
    fields = json.loads(whole[5 : 5 + length])
    if whole[:1] == b"e":
        return Event(**dict(zip(_EVENT_FIELDS, fields, strict=True)))
    shown, names = len(fields["documents"]), fields["feature_names"]
    scores = np.frombuffer(whole, "<f8", shown, 5 + length)
    features = np.frombuffer(whole, "<f4", shown * len(names), 5 + length + 8 * shown)
    return (FollowingPage if whole[:1] == b"f" else ShownPage)(
        **{
            **fields,
            "documents": tuple(fields["documents"]),
            "feature_names": tuple(names),
            "scores": scores,
            "features": features.reshape(shown, len(names)),
        }
    )


def feature_key(names: tuple[str, ...]) -> str:
    """A short name for a list of feature names."""
    return hashlib.blake2b(json.dumps(names).encode(), digest_size=12).hexdigest()


def page_row(page: ShownPage, features: str) -> dict[str, Any]:
    """A page as a row of `pages`; `features` is the key of its feature names."""
    return {
        **{name: getattr(page, name) for name in _PAGE_FIELDS},
        "randomness": json.dumps(dict(page.randomness)) if page.randomness else None,
        "day": int(page.time // DAY),
        "features": features,
        "documents": json.dumps(page.documents, ensure_ascii=False),
        "scores": page.scores.astype("<f8").tobytes(),
        "shown": len(page.documents),
        "stages": json.dumps(dict(page.seconds)),
        "seconds": float(sum(page.seconds.values())),
    }


def following_row(page: FollowingPage) -> dict[str, Any]:
    """More results of a page as a row of `following_pages`."""
    return {
        **{name: getattr(page, name) for name in _FOLLOWING_FIELDS},
        "shown": len(page.documents),
        "features": feature_key(page.feature_names),
        "documents": json.dumps(page.documents, ensure_ascii=False),
        "scores": page.scores.astype("<f8").tobytes(),
        "matrix": page.features.astype("<f4").tobytes(),
    }


def event_row(one: Event) -> dict[str, Any]:
    return {name: getattr(one, name) for name in _EVENT_FIELDS}


def page_of(row: RowMapping, names: str, matrix: bytes) -> ShownPage:
    """The page in its rows."""
    documents, feature_names = tuple(json.loads(row["documents"])), tuple(json.loads(names))
    return ShownPage(
        **{name: row[name] for name in _PAGE_FIELDS},
        documents=documents,
        scores=np.frombuffer(row["scores"], "<f8"),
        features=np.frombuffer(matrix, "<f4").reshape(len(documents), len(feature_names)),
        feature_names=feature_names,
        randomness=json.loads(row["randomness"]) if row["randomness"] else {},
        seconds=json.loads(row["stages"]),
    )
