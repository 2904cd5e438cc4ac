import io
import sys

import pytest

from rankloop._table import Table

TABLE = Table(
    ("name", "value"), [("a|b", "1"), ("[red]x", "20")], "A title", ["a note"], strong=frozenset({(1, 1)})
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_plain_aligns_words_left_and_numbers_right():
    assert TABLE.plain() == "A title\nname    value\na|b         1\n[red]x     20\na note"


def test_rich_on_a_terminal_shows_markup_as_text(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Terminal())
    shown = TABLE.text()
    assert "\x1b[" in shown
    assert "[red]x" in shown


def test_plain_on_a_terminal_without_rich(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert TABLE.text() == TABLE.plain()


def test_markdown_keeps_bars_inside_cells():
    assert r"| a\|b | 1 |" in TABLE.markdown()
    assert "| [red]x | **20** |" in TABLE.markdown()


def test_html_needs_nothing_from_outside():
    page = TABLE.html()
    assert "<b>20</b>" in page
    assert "http" not in page
    assert "src=" not in page


@pytest.mark.parametrize(
    ("cell", "written"), [("50 %", r"50 \%"), ("a_b", r"a\_b"), ("\\x", r"\textbackslash{}x")]
)
def test_latex_escapes(cell, written):
    assert written in Table(("x",), [(cell,)]).latex()
