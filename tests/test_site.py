"""The site builds strictly, holds every page, and asks no other server for anything."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from house import ROOT, exported, families

pytest.importorskip("mkdocs", reason="the site wants the extra docs")
pytest.importorskip("material", reason="the site wants the extra docs")

FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src",
           "audio": "src", "object": "data", "embed": "src", "image": "href", "use": "href"}  # fmt: skip
ELSEWHERE = re.compile(r"(?:https?:)?//", re.IGNORECASE)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built") / "site"
    environment = {name: value for name, value in os.environ.items() if name != "RANKLOOP_RUN_TUTORIALS"}
    environment["NO_MKDOCS_2_WARNING"] = "1"
    done = subprocess.run(
        # without --quiet, which hides warnings from --strict
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return folder


class Sources(HTMLParser):
    """The addresses that a browser fetches for a page, unasked."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "link" and given.get("rel") in {"canonical", "next", "prev"}:
            return
        for name in (FETCHED.get(tag), "srcset" if tag in {"img", "source"} else None):
            if name and given.get(name):
                self.found.append(given[name])
        if "url(" in (given.get("style") or ""):
            self.found += of_style(given["style"])


def of_style(text):
    return re.findall(r"""url\(\s*["']?([^"')]+)""", text) + re.findall(r"""@import\s+["']([^"']+)""", text)


def sources(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        return of_style(text)
    parser = Sources()
    parser.feed(text)
    styles = re.findall(r"<style[^>]*>(.*?)</style>", text, re.DOTALL)
    return parser.found + [address for style in styles for address in of_style(style)]


def outside(address):
    return bool(ELSEWHERE.match(address.strip()))


def test_nothing_is_fetched_from_elsewhere(site):
    pages = [path for path in site.rglob("*") if path.suffix in {".html", ".css"}]
    assert len(pages) > 30
    read = [(path.name, address) for path in pages for address in sources(path)]
    assert len(read) > 100
    assert [found for found in read if outside(found[1])] == []


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://unpkg.com/mermaid"></script>',
        '<link rel="stylesheet" href="//fonts.googleapis.com/css">',
        "<style>@import 'http://a.example/x.css';</style>",
        '<div style="background: url(https://a.example/x.png)"></div>',
    ],
)
def test_what_is_fetched_from_elsewhere_is_seen(text, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    assert [outside(address) for address in sources(path)] == [True]


def test_every_page_is_in_the_navigation(site):
    listed = re.findall(
        r":\s+([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE
    )
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    built = {path.relative_to(site).with_suffix(".md").as_posix() for path in site.rglob("*.html")} - {
        "404.md"
    }
    assert written - set(listed) == set(), "add the page to nav in mkdocs.yml"
    assert built - set(listed) == set(), "add the page to nav in mkdocs.yml"
    assert sorted(listed) == sorted(set(listed))


@pytest.mark.parametrize("family", [name for name in families() if name not in {"cli", "demo"}])
def test_every_public_name_has_its_entry(site, family):
    text = (site / "reference" / f"{family}.html").read_text(encoding="utf-8")
    headed = set(re.findall(r'<h2[^>]*class="doc doc-heading"[^>]*>(.*?)</h2>', text, re.DOTALL))
    shown = {re.sub(r"<[^>]+>|¶|&para;", "", one).split()[0] for one in headed}
    assert set(exported(family)) - shown == set()


def test_every_command_has_its_entry(site):
    from typer.main import get_command

    from rankloop.cli import app

    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    commands = get_command(app).commands
    assert len(commands) > 20
    assert [name for name in commands if f"rankloop {name}</code>" not in text] == []


def test_every_route_has_its_entry(site):
    text = (site / "reference" / "http.html").read_text(encoding="utf-8")
    for route in ("POST /search", "POST /events", "PUT /documents/{id}", "GET /metrics"):
        assert f"<code>{route}</code>" in text


def test_formulas_are_mathml(site):
    text = (site / "reference" / "metrics.html").read_text(encoding="utf-8")
    assert text.count("<math") > 10
    assert ":math:" not in text
    assert ".. math::" not in text


def test_prompts_are_left_out_when_code_is_copied(site):
    text = (site / "start.html").read_text(encoding="utf-8")
    assert '<span class="gp">&gt;&gt;&gt; </span>' in text
    hidden = re.search(r"([^}]*)\{ display: none; \}\s*$", (site / "site.css").read_text(encoding="utf-8"))
    assert {"[data-md-copying] .gp", "[data-md-copying] .go"} <= {
        one.strip() for one in re.sub(r"/\*.*?\*/", "", hidden[1], flags=re.DOTALL).split(",")
    }


def test_no_example_became_a_quotation(site):
    """`>>>` outside a fence is three quotations in Markdown."""
    for path in (site / "reference").glob("*.html"):
        assert "<blockquote>" not in path.read_text(encoding="utf-8"), path.name


@pytest.fixture(scope="module")
def scripts():
    """The modules that make the site's pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts" / "site"))
        import docstrings
        import formulas
        import http_reference

        yield docstrings, formulas, http_reference
    for name in ("docstrings", "formulas", "http_reference"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("Half: :math:`x /\n2`.", "Half: $x / 2$."),
        ("A.\n\n.. math:: a\n    + b\n\nC.", "A.\n\n\n$$a + b$$\n\n\nC."),
        (
            ".. math::\n\n    a &= b \\\\\n    c &= d",
            "\n\n$$\\begin{aligned}a &= b \\\\ c &= d\\end{aligned}$$\n\n",
        ),
        ("A.\n\n>>> f(':math:`x`')\n3\n\nB.", "A.\n\n\n```pycon\n>>> f(':math:`x`')\n3\n```\n\n\nB."),
        ("Plain `code` stays.", "Plain `code` stays."),
    ],
)
def test_docstrings_become_markdown(scripts, text, markdown):
    assert re.sub(r"\n+", "\n", scripts[0].to_markdown(text)) == re.sub(r"\n+", "\n", markdown)


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("Let $x_i$ and $y$ be.", 2),
        ("$$\nx^2\n$$", 1),
        ("It costs $5 and $6.", 0),
        ("`$x$` is code", 0),
        ("    $$x$$ ends\n", 0),
        ("```\n$$x$$\n```", 0),
    ],
)
def test_formulas_are_told_from_dollars(scripts, text, formulas):
    markdown = pytest.importorskip("markdown")
    made = markdown.markdown(text, extensions=["pymdownx.superfences", scripts[1].Formulas()])
    assert made.count("<math") == formulas
    assert ('display="block"' in made) == ("$$" in text and formulas > 0)


def test_an_operation_is_described(scripts):
    kind = {"anyOf": [{"$ref": "#/components/schemas/Item"}, {"type": "null"}]}
    answer = {"200": {"description": "Fine | good", "content": {"application/json": {"schema": kind}}}}
    operation = {"operationId": "get", "tags": ["items"], "description": "Get it.", "responses": answer}
    item = {
        "type": "object",
        "required": ["id"],
        "properties": {"id": {"type": "integer"}, "n": {"default": 3}},
    }
    api = {"info": {"description": "An API."}, "paths": {"/x": {"get": operation}}}
    text = scripts[2].page({**api, "components": {"schemas": {"Item": item}}})
    assert "### `GET /x` {#get}\n\nGet it." in text
    assert "| 200 | [Item](#schema-Item) or null | Fine \\| good |" in text
    assert "| `id` | integer | yes |  |  |\n| `n` | any | no | `3` |  |" in text


def test_the_commands_of_the_first_page_run(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    import rankloop as rl
    from rankloop.cli import app

    monkeypatch.chdir(tmp_path)
    train, test = rl.synthetic(n_queries=60, docs_per_query=10, n_features=6, seed=0).split(0.7, seed=0)
    rl.data.write_svmlight(train, "train.txt")
    rl.data.write_svmlight(test, "test.txt")
    page = (ROOT / "docs" / "start.md").read_text(encoding="utf-8").partition("from the command line")[2]
    commands = re.findall(r"^rankloop (.*)$", page, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        done = CliRunner().invoke(app, command.split())
        assert done.exit_code == 0, done.output
    assert "ndcg@10" in done.output


def test_the_site_is_not_in_git():
    assert "/site/" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert Path(ROOT / "mkdocs.yml").exists()
