"""A query as it is understood: words that the index does not have corrected, unfinished ones completed."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property

import numpy as np

from rankloop._arrays import Bools, Ints
from rankloop.search.index.expand import SHORTEST, Expander
from rankloop.search.index.segment import Segment
from rankloop.search.index.snapshot import Snapshot
from rankloop.search.text.query import Clause, Query
from rankloop.search.text.snippet import spans_of

__all__ = ["understand"]

OPTIONS = 10  # words among which the best is chosen: the nearest, or the most frequent completions
OTHERS = 8  # other words of the query that are looked at
LOOKED_AT = 10  # documents in which the spelling of a term is looked up
LONGEST = 20_000  # letters of each of them
MOST = 8  # words of one query that are corrected or completed


def understand(expander: Expander, fields: Iterable[int], typos: str) -> Query:
    """The query with one word in place of each misspelt or unfinished one; itself if there is none.

    A word that a searched field has stays as it was typed. Another one becomes the nearest word of the
    index, if `typos` says so, and a prefix the word that it begins; of several, the one that is in the most
    documents together with the other words of the query. A prefix beside the same word is that word,
    unfinished. Candidates, features, vectors and the log follow the answer, so that a misspelt query has the
    list of the corrected one; a prefix that the user wrote finds all words that it begins. `typed` keeps the
    query as it was.
    """
    query = expander.query
    if typos == "never" and not any(clause.kind == "prefix" for clause in query.clauses):
        return query
    reader = _Reader(expander, tuple(fields), typos)
    clauses: list[Clause] = []
    finds: list[Clause] = []
    for at, clause in enumerate(query.clauses):
        if clause.excluded or clause.kind not in ("word", "prefix"):
            clauses.append(clause)
            finds.append(clause)
            continue
        before = query.clauses[at - 1] if at else None
        if clause.kind == "prefix" and before is not None and _same_word(before, clause):
            word = reader.read(clauses.pop(), unfinished=True)
            clauses.append(word)
            finds[-1:] = [before, clause] if word == before else [word]
        elif clause.kind == "prefix":
            clauses.append(reader.read(replace(clause, kind="word"), unfinished=True))
            finds.append(clause)
        else:
            unfinished = at + 1 < len(query.clauses) and _same_word(clause, query.clauses[at + 1])
            clauses.append(clause if unfinished else reader.read(clause))
            finds.append(clauses[-1])
    if clauses == list(query.clauses):
        return query
    text = " ".join(clause.written for clause in clauses)
    return replace(query, text=text, clauses=tuple(clauses), typed=query, finds=tuple(finds))


def _same_word(word: Clause, prefix: Clause) -> bool:
    """Whether a prefix says that the word before it may be unfinished."""
    return (word.kind, word.text, word.field, word.excluded) == (
        "word",
        prefix.text,
        prefix.field,
        False,
    ) and (prefix.kind == "prefix")


@dataclass
class _Reader:
    """Reads the words of one query, each once; `changed` is how many of them are not as they were typed."""

    expander: Expander
    searched: tuple[int, ...]
    typos: str
    changed: int = 0
    done: dict[tuple[Clause, bool], Clause] = field(default_factory=dict)

    @property
    def snapshot(self) -> Snapshot:
        return self.expander.snapshot

    def read(self, clause: Clause, *, unfinished: bool = False) -> Clause:
        """The clause with its words as the index has them; the last one may be unfinished."""
        key = (clause, unfinished)
        if key not in self.done:
            self.done[key] = self._read(clause, unfinished)
        return self.done[key]

    def _read(self, clause: Clause, unfinished: bool) -> Clause:
        fields = self._fields(clause)
        if not fields or self.changed == MOST:
            return clause
        words = self.snapshot.analyser(self.snapshot.text_fields[fields[0]]).words(clause.text)
        read = [self._word(one, fields, unfinished and at + 1 == len(words)) for at, one in enumerate(words)]
        if read == words:
            return clause
        self.changed += 1
        return replace(clause, text=" ".join(read))

    def _fields(self, clause: Clause) -> tuple[int, ...]:
        """The fields of words, not of n-grams, in which a clause is searched."""
        names = self.snapshot.text_fields
        wanted = self.searched if clause.field is None else (names.index(clause.field),)
        return tuple(at for at in wanted if self.snapshot.analyser(names[at]).grams is None)

    def _word(self, word: str, fields: tuple[int, ...], unfinished: bool) -> str:
        terms = {}
        for at in fields:
            terms[at] = one = self.snapshot.analyser(self.snapshot.text_fields[at]).terms_of(word)
            if all(self.snapshot.df(at, term) for term in one):
                return word  # a field has it, or leaves it out as a stop word
        if unfinished and (completed := self._completed(word, fields)):
            return completed
        if self.typos == "never":
            return word
        near: dict[str, tuple[int, int]] = {}
        for at, (term, *_) in terms.items():
            for other, (edits, _) in self.expander.near(at, term).items():
                near.setdefault(other, (edits, at))
            for other in self._one_slip_away(word, at):
                near.setdefault(other, (1, at))
        least = min((edits for edits, _ in near.values()), default=0)
        best = self._best([term for term, (edits, _) in near.items() if edits == least], fields)
        if best is None:
            return word

        def likeness(form: str, count: int) -> tuple[float, int]:
            return SequenceMatcher(None, word, form).ratio(), count

        return _spelling(self.snapshot, fields, best, likeness)

    def _one_slip_away(self, word: str, at: int) -> list[str]:
        """Terms of the word with two neighbours swapped or a letter left out.

        Stems are cut differently when a letter moves: "wras" is its own stem, two edits from that of "wars".
        """
        if len(word) < SHORTEST or not word.isalpha():
            return []
        swapped = {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)}
        shorter = {word[:i] + word[i + 1 :] for i in range(len(word))}
        terms_of = self.snapshot.analyser(self.snapshot.text_fields[at]).terms_of
        found = {term for one in swapped | shorter for term in terms_of(one)[:1]}
        return sorted(term for term in found if self.snapshot.df(at, term))

    def _completed(self, word: str, fields: tuple[int, ...]) -> str | None:
        found: Counter[str] = Counter()
        for at in fields:
            prefix = self.snapshot.analyser(self.snapshot.text_fields[at]).prefix(word)
            found.update(self.expander.prefix(at, prefix))
        best = self._best([term for term, _ in found.most_common(OPTIONS)], fields)
        if best is None:
            return None

        def likeness(form: str, count: int) -> tuple[float, int]:
            return float(form.startswith(word)), count

        return _spelling(self.snapshot, fields, best, likeness)

    def _best(self, options: Sequence[str], fields: tuple[int, ...]) -> str | None:
        """The option in the most documents together with the other words, then in the most documents."""
        if len(options) < 2:
            return options[0] if options else None
        together, alone = Counter[str](), Counter[str]()
        for segment, words in zip(self.snapshot.segments, self._words, strict=True):
            for option in options[:OPTIONS]:
                self.expander.query.check_time()
                has = np.flatnonzero(_has(segment, [(at, option) for at in fields]))
                together[option] += int(words[has].sum())
                alone[option] += int(segment.live[has].sum())
        return max(options[:OPTIONS], key=lambda one: (together[one], alone[one]))

    @cached_property
    def _words(self) -> list[Ints]:
        """Per segment how many words of the query, as they were typed, each live document has."""
        names, found = self.snapshot.text_fields, []
        typed = [
            one for one in self.expander.query.clauses if one.kind in ("word", "phrase") and not one.excluded
        ]
        for segment in self.snapshot.segments:
            words = np.zeros(segment.documents, np.int64)
            for clause in typed[:OTHERS]:
                self.expander.query.check_time()
                terms = [
                    (at, term)
                    for at in self._fields(clause)
                    for term in self.snapshot.analyser(names[at]).terms(clause.text)
                ]
                words += _has(segment, terms)
            found.append(words * segment.live)
        return found


def _has(segment: Segment, terms: Iterable[tuple[int, str]]) -> Bools:
    """Which documents of a segment have any of some terms, each in its field."""
    has = np.zeros(segment.documents, bool)
    for at, term in terms:
        number = segment.term(term)
        if number >= 0:
            has[segment.postings(at, number)] = True
    return has


def _spelling(
    snapshot: Snapshot, fields: Iterable[int], term: str, likeness: Callable[[str, int], tuple[float, int]]
) -> str:
    """A word behind a term as documents spell it; the term itself where none of them shows it.

    It is looked up in the field with the shortest texts that has it.
    """
    for at in sorted(fields, key=lambda at: snapshot.average_lengths[at]):
        forms = _forms(snapshot, at, term)
        if forms:
            return max(forms, key=lambda form: (likeness(form, forms[form]), form))
    return term


def _forms(snapshot: Snapshot, field: int, term: str) -> Counter[str]:
    """The words that stand for a term in the first documents that have it, with their numbers."""
    forms: Counter[str] = Counter()
    name = snapshot.text_fields[field]
    analyser, stored = snapshot.analyser(name), snapshot.fields[name].source or name
    for segment in snapshot.segments:
        number = segment.term(term)
        if number < 0:
            continue
        some = segment.postings(field, number)[: 10 * LOOKED_AT]
        for document in some[segment.live[some] == 1][:LOOKED_AT].tolist():
            value = segment.stored(document).get(stored, "")
            text = (" ".join(value) if isinstance(value, list) else str(value))[:LONGEST]
            for span in spans_of(text, analyser):
                if term in span.terms:
                    forms.update(analyser.words(text[span.start : span.end]))
    return forms
