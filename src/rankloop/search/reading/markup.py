"""The words of HTML, without its markup."""

import re
from html.parser import HTMLParser
from typing import Any

__all__ = ["Page", "without_markup"]

_MARKUP = re.compile(r"<[a-zA-Z/!]|&(?:#\w+|[a-zA-Z]\w+);")


def without_markup(value: Any) -> Any:
    """A text without tags, scripts and entities; other values, and texts without markup, as they are.

    >>> without_markup("<p>Caf&eacute; &amp; <b>bar</b></p><script>x()</script>"), without_markup("a < b & c")
    ('Café & bar', 'a < b & c')
    """
    if isinstance(value, list):
        return [without_markup(one) for one in value]
    if not isinstance(value, str) or _MARKUP.search(value) is None:
        return value
    page = Page()
    page.feed(value)
    page.close()
    return page.text


class Page(HTMLParser):
    """The title and the visible text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._titles: list[str] = []
        self._inside: list[str] = []

    @property
    def title(self) -> str:
        return " ".join("".join(self._titles).split())

    @property
    def text(self) -> str:
        return " ".join("".join(self._parts).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style", "title", "template"):
            self._inside.append(tag)
        elif tag not in ("b", "i", "em", "strong", "a", "span", "code", "mark"):
            self._parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()
        elif tag not in ("b", "i", "em", "strong", "a", "span", "code", "mark"):
            self._parts.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self._parts.append(data)
        elif self._inside[-1] == "title":
            self._titles.append(data)
