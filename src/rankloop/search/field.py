"""The fields of a document: their kinds, and the conversion of values."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from rankloop._arrays import Singles
from rankloop._names import one_of
from rankloop.search.text.analyser import Analyser

__all__ = ["FIRST", "KINDS", "LAST", "NAME", "Field", "moment", "read_fields", "seconds", "shown"]

KINDS = ("text", "keyword", "number", "date", "vector")
FIRST = datetime(1, 1, 1, tzinfo=UTC).timestamp()
LAST = math.nextafter(datetime(9999, 12, 31, tzinfo=UTC).timestamp() + 86_400, 0)
_MOST_FIELDS = 1_000
_LARGEST = float(np.finfo(np.float32).max)  # features are in single precision
_LONGEST_VECTOR = 1e18  # so that the product of two is a number in single precision
_LONGEST_KEYWORD = 10_000  # characters
NAME = re.compile(r"[^\W\d][\w-]*")


@dataclass(frozen=True)
class Field:
    """One field: its kind, and the parameters of that kind.

    `source` indexes another field's text once more, with its own `analyser`. Vectors have a `dimension`
    and are compared by `similarity` ("cosine" or "dot").

    >>> read_fields({"title": "text", "price": "number", "embedding": "vector:3"})["embedding"].dimension
    3
    """

    kind: str
    analyser: Analyser | None = None
    source: str | None = None
    dimension: int = 0
    similarity: str = "cosine"

    def __post_init__(self) -> None:
        one_of("kind of field", self.kind, KINDS)
        one_of("similarity", self.similarity, ("cosine", "dot"))
        if self.kind != "text" and (self.analyser or self.source):
            raise ValueError(f"only text fields have an analyser or a source, got a {self.kind} field")
        if (self.kind == "vector") != (self.dimension > 0):
            raise ValueError("a vector field needs its dimension, as in 'vector:384', and no other has one")

    def to_dict(self) -> dict[str, Any]:
        """The declaration, for a manifest."""
        return {
            "kind": self.kind,
            "analyser": self.analyser.to_dict() if self.analyser else None,
            "source": self.source,
            "dimension": self.dimension,
            "similarity": self.similarity,
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "Field":
        """The field whose `to_dict` this is."""
        analyser = Analyser.from_dict(saved["analyser"]) if saved["analyser"] else None
        return cls(**{**saved, "analyser": analyser})

    def convert(self, value: Any) -> Any:
        """A value as it is indexed: texts, keywords, a float, seconds since 1970, or a vector."""
        return _CONVERT[self.kind](value, self)


def read_fields(fields: Mapping[str, "str | Field"]) -> dict[str, Field]:
    """Declarations like `{"title": "text", "embedding": "vector:384"}` as fields, checked."""
    if not fields:
        raise ValueError("an index needs at least one field, as in fields={'title': 'text'}")
    if len(fields) > _MOST_FIELDS:
        raise ValueError(f"an index has at most {_MOST_FIELDS} fields, got {len(fields)}")
    known = {}
    for name, declared in fields.items():
        if name == "id" or not NAME.fullmatch(name):
            raise ValueError(f"a field is named by letters, digits, _ and - (and not 'id'), got {name!r}")
        if isinstance(declared, Field):
            known[name] = declared
        elif isinstance(declared, str):
            kind, _, size = declared.partition(":")
            if size and not size.isdigit():
                raise ValueError(f"field {name!r}: a dimension is a whole number, got {declared!r}")
            known[name] = Field(kind, dimension=int(size or 0))
        else:
            raise ValueError(f"field {name!r} is declared by a kind or a Field, got {declared!r}")
    for name, field in known.items():
        if field.source is not None and (
            field.source == name or field.source not in known or known[field.source].kind != "text"
        ):
            raise ValueError(f"field {name!r}: its source must be another text field, got {field.source!r}")
    return known


def moment(time: float | None) -> datetime | None:
    """Seconds since 1970 as a datetime in UTC, rounded down to a microsecond; None stays None.

    >>> moment(86_400.0)
    datetime.datetime(1970, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)
    """
    if time is None:
        return None
    if not FIRST <= time <= LAST:
        raise ValueError("a date to filter by lies between the year 1 and the end of the year 9999")
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=math.floor(time * 1e6))


def seconds(value: Any) -> float:
    """A date as seconds since 1970 in UTC: a datetime, a date, or ISO text like 2024-05-01.

    >>> seconds("1970-01-02"), seconds("1970-01-01T01:00:00+01:00")
    (86400.0, 0.0)
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise ValueError(f"a date like 2024-05-01 or 2024-05-01T12:30:00Z, got {shown(value)}") from None
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime):
        time = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
        if not FIRST <= time <= math.nextafter(LAST, math.inf):  # to which the last microsecond is rounded
            raise ValueError(f"a date from the year 1 to the year 9999 in UTC, got {value.isoformat()}")
        return min(time, LAST)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    raise ValueError(f"a date, a datetime or ISO text, got {type(value).__name__} {shown(value)}")


def _texts(value: Any, field: Field) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if isinstance(texts, list | tuple) and all(isinstance(text, str) for text in texts):
        return list(texts)
    raise ValueError(f"text or a list of texts, got {type(value).__name__} {shown(value)}")


def _keywords(value: Any, field: Field) -> list[str]:
    values = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    for one in values:
        if isinstance(one, float) or not isinstance(one, str | int | np.integer):
            raise ValueError(
                f"a keyword (text, whole number, true or false), got {type(one).__name__} {shown(one)}"
            )
    words = [str(one).lower() if isinstance(one, bool) else str(one) for one in values]
    longest = max(map(len, words), default=0)
    if longest > _LONGEST_KEYWORD:
        raise ValueError(f"a keyword of at most {_LONGEST_KEYWORD} characters, got {longest}")
    return list(dict.fromkeys(words))


def _number(value: Any, field: Field) -> float:
    real = isinstance(value, Real | Decimal | np.integer | np.floating) and not isinstance(value, bool)
    try:
        number = float(value) if real else math.nan
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise ValueError(f"a finite number, got {type(value).__name__} {shown(value)}")
    if abs(number) > _LARGEST:
        raise ValueError(f"a finite number up to {_LARGEST:.2g}, got {type(value).__name__} {shown(value)}")
    return number


def _date(value: Any, field: Field) -> float:
    return seconds(value)


def _vector(value: Any, field: Field) -> Singles:
    try:
        with np.errstate(over="ignore"):
            vector = np.asarray(value, np.float32)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"a vector of {field.dimension} numbers, got {type(value).__name__}") from None
    if vector.shape != (field.dimension,):
        raise ValueError(f"a vector of {field.dimension} numbers, got shape {vector.shape}")
    if not np.isfinite(vector).all():
        raise ValueError("a vector of finite numbers, got nan or infinity")
    norm = float(np.linalg.norm(vector.astype(np.float64)))
    if field.similarity == "dot":
        if norm > _LONGEST_VECTOR:
            raise ValueError(f"a vector of at most the length {_LONGEST_VECTOR:g}, got {norm:g}")
        return vector
    return vector if norm == 0 else (vector / norm).astype(np.float32)


def shown(value: Any) -> str:
    """A value in an error, cut to one line."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more than 4,300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 80 else f"{text[:60]}..."


_CONVERT = {"text": _texts, "keyword": _keywords, "number": _number, "date": _date, "vector": _vector}
