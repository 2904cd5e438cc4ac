"""A report is one page that needs nothing else, whatever is written on it."""

import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from rankloop._table import Table
from rankloop.report import Report, position_curve

NASTY = """</style></title><script>alert("1")</script><img src=x onerror=alert(1)>\x00\ud800"""


class Seen(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [key for key, _ in attrs]

    handle_startendtag = handle_starttag


def full(text):
    figure = position_curve({text: [1.0, 0.5]}, title=text, note=text)
    table = Table((text, "b"), [(text, "1")], title=text, notes=[text])
    return (
        Report(text, text)
        .add(text, text, figure, table, {text: text, "count": 1234, "share": 0.25})
        .add("again", figure)
        .add("folded", text, None, folded=True)
    )


def test_everything_is_text():
    seen = Seen(full(NASTY).html)
    assert "script" not in seen.tags
    assert "img" not in seen.tags
    assert not [key for key in seen.attributes if key.startswith("on") or key == "src"]


def test_the_page_needs_nothing_from_outside(tmp_path):
    report = full("plain")
    report.save(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.replace("http://www.w3.org/2000/svg", "").count("http") == 1  # the policy, http-equiv
    assert "default-src 'none'" in page
    assert 'name="viewport"' in page
    assert "<nav" in page
    assert "<details" in page
    assert "1,234" in page
    assert "0.2500" in page
    assert repr(report) == "Report('plain', 3 sections)"
    assert len(page) < 40_000


def test_a_nasty_page_is_written_whole(tmp_path):
    full(NASTY).save(tmp_path / "nasty.html")
    assert (tmp_path / "nasty.html").stat().st_size > 1000
    assert "sandbox" in full("plain")._repr_html_()


def test_plots_alone(tmp_path):
    paths = full("A plot: 50 %").save_plots(tmp_path / "figures")
    assert [path.name for path in paths] == ["01-a-plot-50.svg", "02-a-plot-50.svg"]
    for path in paths:
        assert ET.fromstring(path.read_text(encoding="utf-8")).attrib["role"] == "img"
    assert full("漢").save_plots(tmp_path)[0].name == "01-figure.svg"


def test_wrong_use(tmp_path):
    with pytest.raises(ValueError, match=r"a report is saved as \.html, got .*txt"):
        Report("a").save(tmp_path / "report.txt")
    with pytest.raises(
        ValueError, match="a part of a report is text, a Figure, a table or a mapping, got int"
    ):
        Report("a").add("b", 3)
