"""README: short, opens with two pictures, and what it links is there."""

import re
import struct
import tomllib

import pytest

from house import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURES = re.findall(r"^!\[(.+?)\]\((.+?)\)$", README, re.MULTILINE)


def test_it_is_short_and_opens_with_the_page_and_the_loop():
    assert len(README.splitlines()) <= 120
    opening = README.split("\n## ")[0]
    assert [path for _, path in PICTURES] == ["docs/pictures/page.png", "docs/pictures/loop.png"]
    assert all(path in opening for _, path in PICTURES)
    said = opening.split("\n\n")[1]
    assert len(re.findall(r"[.!](?:\s|$)", said)) == 2, "what it is, in two sentences"
    commands = re.search(r"```\n(.*?)```", opening, re.DOTALL)[1]
    assert len(commands.splitlines()) == 2


@pytest.mark.parametrize("path", [path for _, path in PICTURES])
def test_a_picture_is_small_and_large_enough_to_read(path):
    data = (ROOT / path).read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(data) < 200_000
    width, height = struct.unpack(">II", data[16:24])
    assert width >= 1000
    assert height >= 600


def test_the_ten_lines_are_ten():
    block = re.search(r"## Ten lines\n+```python\n(.*?)```", README, re.DOTALL)[1]
    assert 8 <= sum(line.startswith(">>> ") for line in block.splitlines()) <= 11


def test_the_start_page_says_what_each_extra_is_for():
    rows = re.findall(
        r"^\| `(\w+)` \|", (ROOT / "docs" / "start.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(rows) == {*extras["optional-dependencies"]} - {"bench", "dev", "docs"}


def test_every_link_leads_to_a_file():
    missing = [one for one in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README) if not (ROOT / one).exists()]
    assert missing == []
