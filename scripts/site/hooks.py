"""What MkDocs calls while it builds the site: pages that are made from the code, pictures, and formulas.

Where `RANKLOOP_RUN_TUTORIALS` is set (`make docs` sets it), tutorials are run and shown with what they give,
and the pictures of concepts are drawn.
"""

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "src")]

from mkdocs.config.defaults import MkDocsConfig  # noqa: E402
from mkdocs.structure.files import File, Files  # noqa: E402
from mkdocs.structure.pages import Page  # noqa: E402

import api_reference  # noqa: E402
import command_reference  # noqa: E402
import http_reference  # noqa: E402
import notebooks  # noqa: E402
import pictures  # noqa: E402
from formulas import Formulas  # noqa: E402
from rankloop import report  # noqa: E402

__all__ = ["on_config", "on_files", "on_page_markdown"]

PAPERS = {"contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md", "security": "SECURITY.md"}
STYLE = "figures.css"  # of the figures of `rankloop.report`


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.markdown_extensions.append(Formulas())
    config.extra_css.append(STYLE)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that no one writes by hand."""
    for path, text in _made():
        files.append(File.generated(config, path, content=text))
    files.append(File.generated(config, STYLE, content=report.STYLE))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the pictures of a page in their places, and mark prompts, which nobody wants to copy."""
    markdown = re.sub(r"^```python\n(?=>>> )", "```pycon\n", markdown, flags=re.MULTILINE)
    return pictures.drawn(markdown) if _runs() else markdown


def _made() -> list[tuple[str, str]]:
    made = [(f"reference/{family}.md", text) for family, text in api_reference.pages().items()]
    made.append(("reference/python.md", api_reference.overview()))
    made.append(("reference/commands.md", command_reference.page()))
    made.append(("reference/http.md", http_reference.page(http_reference.document())))
    made += [(f"project/{name}.md", _paper(path)) for name, path in PAPERS.items()]
    for path in sorted((ROOT / "docs" / "tutorials").glob("*.ipynb")):
        cells = notebooks.read(path)
        if _runs() and not notebooks.missing_data(path):
            notebooks.run(cells, path.name)
        made.append((f"tutorials/{path.stem}.md", notebooks.page(cells)))
    return made


def _runs() -> bool:
    return bool(os.environ.get("RANKLOOP_RUN_TUTORIALS"))


def _paper(path: str) -> str:
    """A page that lies in the root of the project; its links are from there."""
    text = (ROOT / path).read_text(encoding="utf-8")
    for name, other in PAPERS.items():
        text = text.replace(f"]({other})", f"]({name}.md)")
    return re.sub(r"\]\(docs/", "](../", text)
