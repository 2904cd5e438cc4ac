"""Text in pictures: its width, shortening and wrapping."""

import unicodedata

__all__ = ["BOLD", "shorten", "width_of", "wrapped"]

BOLD = 1.12  # width of bold letters relative to regular ones
_NARROW = frozenset(" .,:;'|!ijlItfr()[]{}-/\\`\"")
_WIDE = frozenset("mwMW@%—…→<>=+~#&^")


def width_of(text: str, size: float = 12) -> float:
    """An upper estimate of the width of text, as fonts differ.

    >>> width_of("ndcg@10") < width_of("NDCG@100")
    True
    """
    return size * sum(map(_em, text))


def shorten(text: str, room: float, size: float = 12) -> str:
    """The text, or as much of its beginning and end as fits.

    >>> shorten("a very long name of a feature", 100)
    'a very …feature'
    """
    if width_of(text, size) <= room + 0.01:
        return text
    most = int(room / (size * 0.38))  # letters that fit if all are narrow
    for kept in range(min(len(text) - 1, most), 1, -1):
        tail = kept // 2
        cut = f"{text[: kept - tail]}…{text[len(text) - tail :]}"
        if width_of(cut, size) <= room:
            return cut
    return text[:1] + "…"


def wrapped(text: str, room: float, size: float = 12) -> list[str]:
    """The text in lines; a word longer than a line is shortened.

    >>> wrapped("how gain and discount make the number", 150)
    ['how gain and discount', 'make the number']
    """
    lines: list[str] = []
    for word in filter(None, text.replace(" %", "\u00a0%").split(" ")):
        if lines and width_of(f"{lines[-1]} {word}", size) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(shorten(word, room, size))
    return lines


def _em(letter: str) -> float:
    if letter in _NARROW:
        return 0.38
    if letter in _WIDE:
        return 0.95
    if letter.isascii():
        return 0.68 if letter.isupper() else 0.62
    if unicodedata.combining(letter):
        return 0.0
    return 1.05 if unicodedata.east_asian_width(letter) in "WF" else 0.7
