"""What holds for every plot: walks `rankloop.report.__all__`, so a new one is tested when it is exported."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from report.making import MAKE, PLOTS

SVG = "{http://www.w3.org/2000/svg}"
NASTY = """<script>alert("1")</script>'&]]>\x00\x1b\ud800 漢字 ‮"""
NAN = float("nan")


def parsed(svg):
    """The elements of a figure; its numbers are numbers."""
    root = ET.fromstring(svg)
    for element in root.iter():
        for key in ("x", "y", "x1", "x2", "y1", "y2", "width", "height", "cx", "cy", "r", "font-size"):
            if key in element.attrib:
                assert np.isfinite(float(element.attrib[key])), ET.tostring(element)
        if "d" in element.attrib:
            assert re.fullmatch(r"M[-\d. L]+Z?", element.attrib["d"]), element.attrib["d"]
    return root


def test_every_plot_is_made_here():
    assert sorted(MAKE) == sorted(PLOTS)


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("width", [300, 720, 1200])
@pytest.mark.parametrize(
    ("names", "values"),
    [
        ([], []),
        (["one"], [0.5]),
        (["one"], [NAN]),
        (["a", "b", "c"], [NAN, 0.0, NAN]),
        (["a", "b", "c"], [2.0, 2.0, 2.0]),
        (
            [f"a long name with the number {i} that goes on and on and on" for i in range(24)],
            np.linspace(-1, 1, 24),
        ),
    ],
    ids=["none", "one", "nan", "gaps", "same", "many long names"],
)
def test_any_number_of_anything(plot, width, names, values):
    root = parsed(MAKE[plot](names, np.array(values, float)).at(width))
    assert root.attrib["role"] == "img"
    assert root.find(f"{SVG}title").text
    assert root.find(f"{SVG}desc").text
    assert root.attrib["viewBox"].startswith(f"0 0 {width} ")
    assert float(root.attrib["height"]) > 30


@pytest.mark.parametrize("plot", PLOTS)
def test_names_are_text(plot):
    figure = MAKE[plot]([NASTY, "b"], np.array([0.5, 0.2]))
    for drawn in (figure.svg, figure.html):
        assert "<script" not in drawn.lower()
        assert "alert(" not in drawn or "&lt;script&gt;" in drawn
    root = parsed(figure.svg)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg", "title", "desc", "style", "g", "rect", "line", "path", "circle", "text",
    }  # fmt: skip
    assert not [
        key for element in root.iter() for key in element.attrib if key.startswith("on") or "href" in key
    ]


@pytest.mark.parametrize("plot", PLOTS)
@settings(max_examples=15)
@given(
    names=st.lists(st.text(max_size=30), min_size=1, max_size=5, unique=True),
    values=st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=5, max_size=5),
)
def test_any_text_and_any_number(plot, names, values):
    assert parsed(MAKE[plot](names, np.array(values[: len(names)])).at(360)).tag == SVG + "svg"


@pytest.mark.parametrize("plot", PLOTS)
def test_a_figure_needs_nothing_from_outside(plot, tmp_path):
    figure = MAKE[plot](["a", "b"], np.array([0.5, 0.2]))
    assert figure.svg.replace("http://www.w3.org/2000/svg", "").count("http") == 0
    assert "@import" not in figure.svg
    assert "url(" not in figure.svg
    assert figure._repr_svg_() == figure.svg
    assert "<style" not in figure.html
    assert figure.html.count("<svg") == 2
    figure.save(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text(encoding="utf-8") == figure.svg
    with pytest.raises(ValueError, match=r"saved as \.svg, got .*\.png"):
        figure.save(tmp_path / "figure.png")
