"""Words fit where they are put, and markup in them is text."""

from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from rankloop.report.drawing.canvas import clean, tag
from rankloop.report.drawing.text import shorten, width_of, wrapped


@given(st.text(max_size=60), st.floats(30, 400))
def test_shortened_text_fits_and_keeps_both_ends(text, room):
    shown = shorten(text, room)
    assert width_of(shown) <= max(room + 0.02, width_of("漢…"))
    if shown != text:
        before, _, after = shown.rpartition("…")
        assert text.startswith(before)
        assert text.endswith(after)


@given(st.lists(st.text("abcdef", min_size=1, max_size=12), max_size=20), st.floats(120, 400))
def test_wrapped_lines_fit_and_lose_no_word(words, room):
    lines = wrapped(" ".join(words), room)
    assert all(width_of(line) <= room for line in lines)
    assert " ".join(lines).split() == words


def test_a_number_keeps_its_percent_sign():
    assert wrapped("an interval of 95 % here", width_of("an interval of 95 ")) == [
        "an interval of",
        "95\u00a0% here",
    ]


@given(st.text())
def test_cleaned_text_holds_no_markup(text):
    made = clean(text)
    assert not set("<>\"'") & set(made)
    assert unescape(made) == text or "\ufffd" in made or "\r" in text or "&" in text


def test_attributes_are_escaped():
    assert tag("rect", x='"><script>') == '<rect x="&quot;&gt;&lt;script&gt;"/>'
