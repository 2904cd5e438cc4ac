"""Words of queries that relevant documents rarely have."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rankloop.search.text.analyser import Analyser
from rankloop.search.text.query import Query

__all__ = ["generic_words"]


def generic_words(
    queries: Mapping[Any, str | Query],
    judgments: Mapping[Any, Mapping[Any, float]],
    texts: Mapping[Any, str],
    *,
    most: float = 0.1,
    times: int = 5,
) -> tuple[str, ...]:
    """Words in at least `times` judged queries that at most a share `most` of their relevant texts have.

    "movie", "full" and "netflix" do not tell which film is meant. A field whose analyser leaves them out
    (`Analyser(stop_words=generic_words(...))`) is matched by the others. Use training queries only.

    >>> queries = {i: f"{name} full movie" for i, name in enumerate(["alien", "heat", "solaris"])}
    >>> titles = {7: "Alien", 8: "Heat", 9: "Solaris"}
    >>> generic_words(queries, {0: {7: 1}, 1: {8: 1}, 2: {9: 1}}, titles, times=3)
    ('full', 'movie')
    """
    plain = Analyser(None, stop_words=False)
    words = {str(id): frozenset(plain.terms(text)) for id, text in texts.items()}
    in_queries: Counter[str] = Counter()
    texts_seen: Counter[str] = Counter()
    texts_with: Counter[str] = Counter()
    for qid, query in queries.items():
        terms = set(plain.terms(query if isinstance(query, str) else query.plain))
        relevant = [str(id) for id, grade in judgments.get(qid, {}).items() if grade > 0]
        relevant = [id for id in relevant if id in words]
        if not relevant:
            continue
        for term in terms:
            in_queries[term] += 1
            texts_seen[term] += len(relevant)
            texts_with[term] += sum(term in words[id] for id in relevant)
    frequent = [term for term, count in in_queries.items() if count >= times]
    return tuple(sorted(term for term in frequent if texts_with[term] <= most * texts_seen[term]))
