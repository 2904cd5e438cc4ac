"""Photograph the demo in a real browser, for README and docs: the page as the demo serves it, and the loop.

For the loop BM25 is put back, and the service learns from the recorded pages: the loop after its first round.

python scripts/pictures.py              runs the demo first, in a folder that is deleted
python scripts/pictures.py FOLDER       of `rankloop demo --no-serve --out FOLDER`
"""

import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, sync_playwright

from rankloop.serve.config import Config
from rankloop.serve.events.store import Store
from rankloop.serve.models.registry import Registry

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
LARGEST = 200_000  # bytes of a picture
SEARCH = "delete a directory and its contents"
WIDTH, HEIGHTS = 1200, {"page": 760, "loop": 1120}


def main(arguments: list[str]) -> int:
    PICTURES.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        folder = Path(arguments[0]) if arguments else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if not arguments:
            command = [sys.executable, "-m", "rankloop", "demo", "--no-serve", "--out", str(folder / "demo")]
            subprocess.run(command, check=True)
            folder /= "demo"
        settings = folder / "stdlib.toml"
        play = stack.enter_context(sync_playwright())
        browser = play.chromium.launch(executable_path=shutil.which("chromium"))
        with served(settings) as places:
            photograph(browser, f"{places['page']}?q={quote(SEARCH)}", "page")
        put_back_bm25(settings)
        subprocess.run([sys.executable, "-m", "rankloop", "learn", str(settings)], check=True)
        with served(settings) as places:
            photograph(browser, f"{places['page']}loop", "loop")
        browser.close()
    large = [path.name for path in PICTURES.glob("*.png") if path.stat().st_size > LARGEST]
    print(f"larger than {LARGEST:,} bytes: {', '.join(large) or 'none'}")
    return len(large)


def put_back_bm25(settings: Path) -> None:
    config = Config.read(settings)
    with Store.open(config.database) as store:
        Registry(store, config.home / "models").promote("v1")


@contextlib.contextmanager
def served(settings: Path) -> Iterator[dict[str, str]]:
    """The addresses of the service, by name, while it runs."""
    command = [sys.executable, "-m", "rankloop", "serve", str(settings), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        places = {}
        for line in process.stdout:
            name, _, address = line.strip().partition(" ")
            places[name] = address.strip()
            if line.startswith("end with"):
                break
        yield places
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def photograph(browser: Browser, address: str, name: str) -> None:
    """A picture of what a visitor sees without scrolling."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHTS[name]}, color_scheme="light")
    answer = page.goto(address, wait_until="networkidle")
    if answer is None or not answer.ok:
        raise SystemExit(f"{address} answers with {answer and answer.status}; is the machine too busy?")
    page.screenshot(path=PICTURES / f"{name}.png")
    page.close()
    print(f"{name}.png: {(PICTURES / f'{name}.png').stat().st_size:,} bytes")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
