"""The passage of a text that answers a query, with its words marked."""

from collections.abc import Collection
from html import escape

from rankloop.search.text.analyser import Analyser, Span

__all__ = ["snippet"]


def snippet(
    text: str,
    terms: Collection[str],
    analyser: Analyser,
    *,
    words: int = 30,
    mark: tuple[str, str] = ("<mark>", "</mark>"),
) -> str:
    """The window of `words` words with the most different terms, escaped for HTML, its matches marked.

    >>> snippet("Shoes & boots. Made for <runners> who run.", {"run", "runner"}, Analyser(), words=5)
    '… Made for &lt;<mark>runners</mark>&gt; who <mark>run</mark>.'
    """
    if words < 1:
        raise ValueError(f"a snippet has at least 1 word, got {words}")
    spans = analyser.spans(text)
    wanted = set(terms)
    hits = [wanted.intersection(span.terms) for span in spans]
    first = _best_window(hits, words)
    last = min(first + words, len(spans))
    if not spans:
        return escape(text[:200])
    start = spans[first].start if first else 0
    end = _end(text, spans, last)
    parts, at = [], start
    for span, hit in zip(spans[first:last], hits[first:last], strict=True):
        if hit:
            parts += [escape(text[at : span.start]), mark[0], escape(text[span.start : span.end]), mark[1]]
            at = span.end
    parts.append(escape(text[at:end]))
    return ("… " if first else "") + "".join(parts) + (" …" if last < len(spans) else "")


def _end(text: str, spans: list[Span], last: int) -> int:
    """Up to the next word, without the blank before it."""
    end = spans[last].start if last < len(spans) else len(text)
    return len(text[:end].rstrip())


def _best_window(hits: list[set[str]], words: int) -> int:
    """Where the window begins: most different terms, then most matches, then first."""
    best, first = (-1, -1), 0
    starts = [at for at, hit in enumerate(hits) if hit] or [0]
    for hit_at in starts:
        at = max(0, min(hit_at - words // 4, len(hits) - words))
        inside = hits[at : at + words]
        value = (len(set().union(*inside)), sum(map(bool, inside)))
        if value > best:
            best, first = value, at
    return first
