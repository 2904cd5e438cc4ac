"""Letters and lines contrast with the paper, in light and in dark (WCAG 2: 4.5 and 3 to 1)."""

import pytest

from rankloop.report.drawing.style import ROLES, STYLE


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_by_hand():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("which", [0, 1], ids=["light", "dark"])
def test_everything_can_be_seen(which):
    colours = {role: pair[which] for role, pair in ROLES.items()}
    paper = colours["paper"]
    for role in ("ink", "soft"):
        assert contrast(colours[role], paper) >= 4.5, role
    for role in ("s1", "s2", "s3", "s4", "s5", "s6"):
        assert contrast(colours[role], paper) >= 4.5, role  # also as the ground of letters in paper colour
    assert contrast(colours["axis"], paper) >= 3
    assert contrast(colours["ink"], colours["none"]) >= 4.5  # letters on ties


def test_the_reader_decides_and_a_page_may():
    assert "prefers-color-scheme:dark" in STYLE
    assert "[data-theme=dark]" in STYLE
    assert "@container" in STYLE
