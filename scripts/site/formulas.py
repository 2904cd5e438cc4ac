r"""Formulas become MathML while the site is built: no script draws them, none is fetched.

`$x$` stands in a line, `$$x$$` in a paragraph of its own. Code keeps its dollars.
"""

import re
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert
from markdown import Extension, Markdown
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor

__all__ = ["Formulas"]

IN_LINE = r"(?<![\\$])\$(?=[^\s$])([^$]*?[^\s\\$])\$(?![\d$])"
DISPLAYED = re.compile(r"^[ ]*\$\$(.+?)\$\$[ ]*$", re.MULTILINE | re.DOTALL)
BEFORE_ESCAPES = 185  # after code (190), before backslashes (180)
AFTER_FENCES = 24  # fenced code is taken out at 25


class Formulas(Extension):
    """The Markdown extension."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.inlinePatterns.register(_InLine(IN_LINE, md), "formula", BEFORE_ESCAPES)
        md.preprocessors.register(_Displayed(md), "displayed_formula", AFTER_FENCES)


class _InLine(InlineProcessor):
    def handleMatch(  # type: ignore[override]  # noqa: N802
        self, m: re.Match[str], data: str
    ) -> tuple[str | Element, int, int]:
        return self.md.htmlStash.store(convert(m[1], display="inline")), m.start(0), m.end(0)


class _Displayed(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        def drawn(found: re.Match[str]) -> str:
            return f"\n{self.md.htmlStash.store(convert(found[1].strip(), display='block'))}\n"

        return DISPLAYED.sub(drawn, "\n".join(lines)).split("\n")
