"""Figures in a real browser: no word covers another, on a screen or a phone, and nothing is loaded or run."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from rankloop.report import Report
from report.making import MAKE, PLOTS

pytest.importorskip("playwright", reason="the browser is driven by playwright: pip install playwright")
from playwright.sync_api import sync_playwright

CHROMIUM = shutil.which("chromium")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")]
COLLIDING = (Path(__file__).parent / "colliding.js").read_text(encoding="utf-8")
LONG = "a rather long name that somebody gave to the thing with the number"
CASES = {
    "one": (["one"], [0.4]),
    "few": (["a", "b", "c"], [0.5, 0.1, -0.3]),
    "many": ([f"{LONG} {i}" for i in range(12)], np.linspace(1, -1, 12).tolist()),
    "evil": (
        ["<script>document.title = 'run'</script>", "<img src=x onerror=\"document.title = 'run'\">"],
        [0.5, 0.2],
    ),
}


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def page_of(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")

    def made(case):
        names, values = CASES[case]
        report = Report(f"Every plot, {case}", names[0])
        for plot in PLOTS:
            report.add(plot, MAKE[plot](names, np.array(values)), {names[0]: 1})
        report.save(folder / f"{case}.html")
        return (folder / f"{case}.html").as_uri()

    return made


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1000, "light")], ids=["phone", "screen"])
def test_every_word_has_its_place(case, width, scheme, browser, page_of):
    messages, requests = [], []
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.on("console", lambda message: messages.append(message.text))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(page_of(case))
    assert page.evaluate(COLLIDING) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelectorAll('svg').length") == 2 * len(PLOTS)
    assert page.title() == f"Every plot, {case}"
    assert messages == []
    assert len(requests) == 1
    page.close()
