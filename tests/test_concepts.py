"""The pages on concepts: every picture is drawn, from a simulation that shows what the page says of it."""

import re
import sys

import pytest

from house import ROOT

CONCEPTS = sorted((ROOT / "docs" / "concepts").glob("*.md"))
WANTED = re.compile(r"^<!-- picture (.*) -->$", re.MULTILINE)


@pytest.fixture(scope="module")
def pictures():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts" / "site"))
        import pictures

        yield pictures
    sys.modules.pop("pictures", None)


def wanted(path):
    return WANTED.findall(path.read_text(encoding="utf-8"))


def test_each_page_has_pictures_and_each_picture_a_page(pictures):
    assert all(wanted(path) for path in CONCEPTS)
    assert sorted(name for path in CONCEPTS for name in wanted(path)) == sorted(pictures.PICTURES)


@pytest.mark.parametrize("path", CONCEPTS, ids=lambda path: path.stem)
def test_a_page_is_short(path):
    assert len(path.read_text(encoding="utf-8").split()) < 600


@pytest.mark.slow
@pytest.mark.parametrize("path", CONCEPTS, ids=lambda path: path.stem)
def test_a_page_is_drawn(path, pictures):
    """What a page says of its pictures is asserted where they are drawn."""
    made = pictures.drawn(path.read_text(encoding="utf-8"))
    assert "<!-- picture" not in made
    assert made.count("<figure") == len(wanted(path))
    assert made.count('class="rl-wide"') == made.count('class="rl-narrow"') == len(wanted(path))
    assert "nan" not in re.findall(r'="([^"]*)"', made)


def test_an_unknown_picture_is_an_error(pictures):
    with pytest.raises(KeyError, match="nothing"):
        pictures.drawn("<!-- picture nothing -->")


def test_other_comments_stay(pictures):
    text = "Text with <!-- picture gate --> in a line.\n\n<!-- a remark -->\n"
    assert pictures.drawn(text) == text
