"""Features: what a ranker knows of a query and a document, as numbers with names."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints, Singles
from rankloop._names import one_of
from rankloop.search.candidates import Candidates
from rankloop.search.features.click_history import ClickHistory
from rankloop.search.features.families import CLICKS, MEANING, NEEDS, QUERY, broadcast, clicked, versions
from rankloop.search.features.kernels import PROXIMITY, STATISTICS
from rankloop.search.features.query_terms import WHOLE, QueryTerms, query_terms, whole_fields
from rankloop.search.features.text import TEXT, InField, proximities, text_statistics
from rankloop.search.index.segment import Segment
from rankloop.search.index.snapshot import Snapshot
from rankloop.search.index.vectors import similarities
from rankloop.search.stage import Stage

if TYPE_CHECKING:
    from rankloop.search.features.explained import Explained
    from rankloop.search.searchable import Searchable

__all__ = ["COLUMN", "Features"]

COLUMN = "features"
Custom = Callable[[Candidates], ArrayLike]
Encoder = Callable[[str], ArrayLike]
Computed = Callable[..., Floats]
Places = Ints | slice  # of columns
AT_ONCE = 1 << 25  # steps of the kernels between two looks at the clock
_NAME = re.compile(r"(\w+)(?:\(([^()]+)\))?")


class Computing(Protocol):
    """An engine that says which features it computes itself."""

    def computes(self, names: Iterable[str]) -> tuple[str, ...]: ...


class Features(Stage):
    """A declared list of features, computed for all candidates at once: a stage between retriever and ranker.

    A feature is named by its family and what it looks at: `bm25(title)`, `tf_mean(*)` (`*` is the whole
    document), `value(price)`, `similarity(embedding)`, `query_length`, `user(age)`, `clicks`; `FAMILIES`
    lists them. A function from `Candidates` to one number each is a feature too, identified by its name and
    by its attribute `version` if it has one. `encoders` maps vector fields to functions from a query text to
    its vector; `history` counts clicks.

    Training data and served pages use the same code, in single precision: a request scored again gives the
    same numbers to the last bit while the index generation and `version` are the same.

    >>> import tempfile
    >>> from rankloop.search import Index
    >>> index = Index.create(tempfile.mkdtemp() + "/shop.index", fields={"title": "text", "price": "number"})
    >>> shoes, hat = {"id": 1, "title": "Red shoes", "price": 80}, {"id": 2, "title": "Red hat"}
    >>> added = index.add([shoes, hat])
    >>> index.commit()
    >>> def cheap(found):
    ...     return found.numbers("price") < 100
    >>> features = Features(["covered(title)", "value(price)", cheap])
    >>> features.names
    ('covered(title)', 'value(price)', 'cheap')
    >>> features.matrix(index.retriever()("red shoes"))
    array([[ 2., 80.,  1.],
           [ 1., nan,  0.]], dtype=float32)
    """

    def __init__(
        self,
        declared: Sequence[str | Custom],
        *,
        encoders: Mapping[str, Encoder] | None = None,
        history: ClickHistory | None = None,
    ) -> None:
        self.declared = tuple(declared)
        self.encoders = dict(encoders or {})
        self.history = history
        self.names = tuple(one if isinstance(one, str) else one.__name__ for one in self.declared)
        twice = [name for at, name in enumerate(self.names) if name in self.names[:at]]
        if twice or not self.names:
            raise ValueError(
                f"feature {twice[0]!r} is declared twice" if twice else "declare at least one feature"
            )
        self.parsed = tuple(_parsed(one) if isinstance(one, str) else None for one in self.declared)
        for name, parsed in zip(self.names, self.parsed, strict=True):
            if parsed is not None and parsed[0] in CLICKS and history is None:
                raise ValueError(f"feature {name!r} needs a click history: Features(history=...)")

    @classmethod
    def standard(
        cls,
        index: "Searchable",
        *,
        encoders: Mapping[str, Encoder] | None = None,
        history: ClickHistory | None = None,
        more: Sequence[str | Custom] = (),
    ) -> "Features":
        """A good default set: all text families for each text field and for the whole document, and more.

        These are the values of number and date fields, similarities where a vector field has an encoder (one
        given here, or that of the index), clicks where there is a history, and the features in `more`.
        """
        snapshot = index.snapshot
        encoders = {**getattr(index, "encoders", {}), **(encoders or {})}
        names: list[str | Custom] = ["query_length"]
        fields = [*snapshot.text_fields, *([WHOLE] if len(whole_fields(snapshot)) > 1 else [])]
        for field in fields:
            names += [f"{family}({field})" for family in STATISTICS]
            names += [f"{family}({field})" for family in PROXIMITY if field != WHOLE]
            names += [f"{family}({field})" for family in ("query_idf_sum", "query_idf_max", "clarity")]
        for name, declared in snapshot.fields.items():
            if declared.kind in ("number", "date"):
                names.append(f"value({name})")
            elif declared.kind == "vector" and name in encoders:
                names.append(f"similarity({name})")
        return cls([*names, *(CLICKS if history else ()), *more], encoders=encoders, history=history)

    @classmethod
    def over(
        cls,
        index: "Searchable",
        declared: Sequence[str | Custom],
        *,
        encoders: Mapping[str, Encoder] | None = None,
        history: ClickHistory | None = None,
    ) -> "Features":
        """Declared features; a similarity without an encoder given here has that of the index."""
        own = {
            name: one
            for name, one in getattr(index, "encoders", {}).items()
            if f"similarity({name})" in declared
        }
        return cls(declared, encoders={**own, **(encoders or {})}, history=history)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Features({len(self)} features, version {self.version})"

    @cached_property
    def version(self) -> str:
        """A hash of the declarations and of the arithmetic behind them."""
        parts = [
            [name, versions(None if parsed is None else parsed[0], declared)]
            for name, parsed, declared in zip(self.names, self.parsed, self.declared, strict=True)
        ]
        encoders = {name: str(getattr(one, "fingerprint", "")) for name, one in sorted(self.encoders.items())}
        return hashlib.blake2b(json.dumps([parts, encoders]).encode(), digest_size=8).hexdigest()

    def without(self, *names: str) -> "Features":
        """The same set without some features."""
        for name in names:
            one_of("feature", name, self.names)
        kept = [one for one, name in zip(self.declared, self.names, strict=True) if name not in names]
        return Features(kept, encoders=self.encoders, history=self.history)

    def alone(self, index: "Computing") -> tuple[str, ...]:
        """Those that only rankloop computes, and the engine does not: functions, and names of other families.

        A model of the others can be put into the engine, see `rankloop.engines.deploy`.
        """
        named = [name for name, parsed in zip(self.names, self.parsed, strict=True) if parsed is not None]
        known = set(index.computes(named))
        return tuple(name for name in self.names if name not in known)

    def __call__(self, given: Candidates) -> Candidates:
        """The candidates with a column `features`: one row of numbers each."""
        return given.with_column(COLUMN, self.matrix(given))

    def matrix(self, found: Candidates) -> Singles:
        """One row per candidate, one column per feature."""
        self._check(found.snapshot)
        out, every = np.empty((len(found), len(self)), np.float32), np.arange(len(self))
        words = {field: query_terms(found.query.plain, found.snapshot, field) for field in self._fields}
        terms = max((len(one.terms) for one in words.values()), default=0)
        for segment, inside in _pieces(found, terms):
            documents, order = found.rows[inside] - segment.base, np.argsort(found.rows[inside])
            for field, families in self._text_plan.items():
                here = InField(found.snapshot, segment, documents, field, words[field])
                tf = here.frequencies(order)
                for compute, (to, names, which) in families.items():
                    where = np.s_[:, to] if len(inside) == len(found) else np.ix_(inside, every[to])
                    out[where] = compute(here, tf, names)[:, which]
        for at, parsed in enumerate(self.parsed):
            if parsed is None or parsed[0] not in TEXT:
                found.query.check_time()
                out[:, at] = self._column(found, at, words)
        return out

    def explain(self, found: Candidates, id: Any) -> "list[Explained]":
        """Every feature of one candidate, with its meaning and the terms behind text features."""
        from rankloop.search.features.explained import explained

        return explained(self, found, id)

    @cached_property
    def _text_plan(self) -> dict[str, dict[Computed, tuple[Places, frozenset[str], Places]]]:
        """By field and by what computes them: the columns, the names, and their places in what it gives."""
        plan: dict[str, dict[Computed, tuple[Places, frozenset[str], Places]]] = {}
        of = [one if one is not None and one[0] in TEXT else ("", "") for one in self.parsed]
        for field in dict.fromkeys(str(field) for name, field in of if name):
            for compute, given in ((text_statistics, STATISTICS), (proximities, PROXIMITY)):
                to = [at for at, (name, here) in enumerate(of) if here == field and name in given]
                names = [of[at][0] for at in to]
                if to:
                    which = [given.index(name) for name in names]
                    plan.setdefault(field, {})[compute] = (_places(to), frozenset(names), _places(which))
        return plan

    @cached_property
    def _fields(self) -> tuple[str, ...]:
        """Every field in which the terms of the query are looked up."""
        wanted = (one for one in self.parsed if one is not None and one[0] in (*TEXT, *QUERY))
        return tuple(dict.fromkeys(str(field) for _, field in wanted if field is not None))

    def _column(self, found: Candidates, at: int, words: Mapping[str, QueryTerms]) -> ArrayLike:
        parsed, declared = self.parsed[at], self.declared[at]
        if parsed is None:
            values = np.asarray(declared(found))  # type: ignore[operator] # not a name, so a function
            if values.shape not in ((), (len(found),)):
                raise ValueError(
                    f"feature {self.names[at]!r} gives one number per candidate ({len(found)}), "
                    f"got shape {values.shape}"
                )
            return values
        family, field = parsed
        if family in CLICKS:
            return clicked(family, found, self.history)
        if family == "value":
            return found.numbers(str(field))
        if family == "similarity":
            return self._similarity(found, str(field))
        return broadcast(family, field, found, words)

    def _similarity(self, found: Candidates, field: str) -> Floats:
        declared = found.snapshot.fields[field]
        if field in found.query.vectors:
            vector = declared.convert(found.query.vectors[field])
        elif field in self.encoders:
            vector = declared.convert(self.encoders[field](found.query.plain))
        else:
            raise ValueError(
                f"no vector for field {field!r}: Features(encoders={{{field!r}: ...}}), or Query(vectors=...)"
            )
        return similarities(found.snapshot, field, vector, found.rows)

    def _check(self, snapshot: Snapshot) -> None:
        """Refuse fields that are missing or not of the kind that their features need."""
        if ("checked", self.names) in snapshot.cache:
            return
        for name, parsed in zip(self.names, self.parsed, strict=True):
            if parsed is None or parsed[1] is None or not NEEDS[parsed[0]]:
                continue
            family, field = parsed
            if field == WHOLE and family in (*TEXT, *QUERY):
                continue
            kinds = NEEDS[family]
            known = [one for one, declared in snapshot.fields.items() if declared.kind in (kinds or ())]
            one_of(f"{' or '.join(kinds or ())} field for {name!r}", str(field), known)
        snapshot.cache[("checked", self.names)] = True


def _pieces(found: Candidates, terms: int) -> Iterator[tuple[Segment, Ints]]:
    """The candidates of each segment, in pieces between which the clock is looked at.

    The work for a document is at most its length times the terms of the query.
    """
    for segment, inside in found.snapshot.by_segment(found.rows):
        work = len(inside) * segment.longest  # at most
        if work * (terms + 1) >= AT_ONCE:
            work = int(segment.lengths[:, found.rows[inside] - segment.base].sum(dtype=np.int64))
        pieces = min(work * (terms + 1) // AT_ONCE + 1, len(inside))
        for piece in [inside] if pieces == 1 else np.array_split(inside, pieces):
            found.query.check_time()
            yield segment, piece


def _places(of: list[int]) -> Places:
    """As a slice where they follow each other, which is copied several times faster."""
    return slice(of[0], of[-1] + 1) if of == list(range(of[0], of[-1] + 1)) else np.array(of, np.int64)


def _parsed(name: str) -> tuple[str, str | None]:
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"a feature is named like bm25(title) or query_length, got {name!r}")
    family = one_of("family of features", match[1], MEANING)
    if (NEEDS[family] is not None) != (match[2] is not None):
        wants = "no argument" if NEEDS[family] is None else "an argument, as in " + f"{family}(title)"
        raise ValueError(f"{family} takes {wants}, got {name!r}")
    return family, match[2]
