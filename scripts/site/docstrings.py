r"""Docstrings as Markdown: formulas between dollars, examples in fences.

>>> print(to_markdown("Half of it: :math:`x / 2`."))
Half of it: $x / 2$.
>>> print(to_markdown(".. math:: x\n    + y").strip())
$$x + y$$
"""

import re
from typing import Any

import griffe

__all__ = ["Docstrings", "to_markdown"]

ROLE = re.compile(r":math:`([^`]+)`")
DIRECTIVE = ".. math::"


class Docstrings(griffe.Extension):
    """What mkdocstrings reads, in Markdown."""

    def __init__(self) -> None:
        self._done: set[str] = set()

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite a docstring once, however often its module is visited."""
        if obj.docstring and obj.path not in self._done:
            self._done.add(obj.path)
            obj.docstring.value = to_markdown(obj.docstring.value)


def to_markdown(text: str) -> str:
    """A docstring of ours as Markdown; what lies in examples stays as it is."""
    lines, out, prose = text.split("\n"), [], []
    at = 0
    while at < len(lines):
        line = lines[at]
        indent = line[: len(line) - len(line.lstrip())]
        if line.lstrip().startswith(">>>"):
            end = next((n for n in range(at, len(lines)) if not lines[n].strip()), len(lines))
            block = [f"{indent}```pycon", *lines[at:end], f"{indent}```"]
        elif line.lstrip().startswith(DIRECTIVE):
            end = _end_of_block(lines, at, len(indent))
            formula = " ".join([line.strip().removeprefix(DIRECTIVE), *lines[at + 1 : end]])
            block = [f"{indent}$${_aligned(formula)}$$"]
        else:
            prose.append(line)
            at += 1
            continue
        out += [*_roles(prose), "", *block, ""]
        prose, at = [], end
    return "\n".join(out + _roles(prose))


def _end_of_block(lines: list[str], at: int, indent: int) -> int:
    """The line after the last one that is indented deeper than the directive."""
    end = at + 1
    for n in range(at + 1, len(lines)):
        if lines[n].strip():
            if len(lines[n]) - len(lines[n].lstrip()) <= indent:
                break
            end = n + 1
    return end


def _roles(prose: list[str]) -> list[str]:
    return ROLE.sub(lambda found: f"${' '.join(found[1].split())}$", "\n".join(prose)).split("\n")


def _aligned(formula: str) -> str:
    """One line of LaTeX; several rows want an environment."""
    formula = " ".join(formula.split())
    if ("&" in formula or r"\\" in formula) and r"\begin" not in formula:
        formula = rf"\begin{{aligned}}{formula}\end{{aligned}}"
    return formula
