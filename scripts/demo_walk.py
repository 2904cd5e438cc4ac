"""Walk through the demo as one visitor in a real browser, and print what the pages say.

python scripts/demo_walk.py              runs the demo first, in a folder that is deleted
python scripts/demo_walk.py FOLDER       of `rankloop demo --no-serve --out FOLDER`, which is copied first
python scripts/demo_walk.py FOLDER --pictures P   also photographs every page: desktop, phone, light, dark

The visitor makes 20 searches and opens a good answer of each; then the desk learns, and `/loop` has to say
what became of these clicks. The exit code is 1 where it does not.
"""

import argparse
import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, BrowserContext, Error, Page, sync_playwright

from rankloop.demo.library import read_library

PAGES = 20
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
SEARCH = "delete a directory and its contents"
LEARNING = 900.0  # seconds
CHROME = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
)


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    given.add_argument("folder", nargs="?", type=Path, help="of a demo that was run")
    given.add_argument("--pictures", type=Path, help="a folder for photographs of every page")
    options = given.parse_args()
    token = secrets.token_urlsafe(12)
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        folder = Path(temporary) / "demo"
        if options.folder is None:
            command = [sys.executable, "-m", "rankloop", "demo", "--no-serve", "--out", str(folder)]
            subprocess.run(command, check=True)
        else:
            shutil.copytree(options.folder, folder)
        address = stack.enter_context(served(folder / "stdlib.toml", token))
        play = stack.enter_context(sync_playwright())
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        context = browser.new_context(base_url=address, viewport=DESKTOP, user_agent=CHROME)
        seen = walk(context, token)
        if options.pictures is not None:
            photograph(browser, context, address, options.pictures)
        browser.close()
    return 0 if seen else 1


@contextlib.contextmanager
def served(settings: Path, token: str) -> Iterator[str]:
    """The address of the service, while it runs."""
    command = [sys.executable, "-m", "rankloop", "serve", str(settings), "--port", "0"]
    surroundings = {**os.environ, "RANKLOOP_ADMIN_TOKEN": token}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=surroundings)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            name, _, address = line.strip().partition(" ")
            if name == "page":
                yield address.strip()
                break
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def walk(context: BrowserContext, token: str) -> bool:
    """Search, click, learn, and read what changed; whether the page says what became of the clicks."""
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto("/loop")
    said("before", needs(page))
    began, made = time.perf_counter(), clicks(page)
    print(f"{len(made)} pages with a click in {time.perf_counter() - began:.0f} s", flush=True)
    page.goto("/loop")
    said("after the clicks", needs(page))
    page.goto("/login")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/dashboard*")
    page.goto("/loop")
    learn = page.get_by_role("button", name="Learn now")
    if learn.count():
        learn.click()
    else:  # the service waits for so many pages
        print("learning began by itself", flush=True)
    began = time.perf_counter()
    while time.perf_counter() - began < LEARNING:
        page.wait_for_timeout(2000)
        with contextlib.suppress(Error):  # while a run is shown, the page loads itself again
            page.goto("/loop")
            if page.get_by_role("heading", name="What was learned from your clicks").count():
                break
    print(f"learned after {time.perf_counter() - began:.0f} s")
    said("steps", [" ".join(one.inner_text().split()) for one in page.locator(".steps li").all()])
    said("needs", needs(page))
    own = page.get_by_role("region", name="What was learned from your clicks")
    rows = [one.inner_text().replace("\t", " | ") for one in own.locator("tbody tr").all()]
    said("what became of the clicks", rows)
    changed = [one.inner_text() for one in page.locator(".changed h3").all()]
    said("what changed", changed)
    named = sum(any(query in row for query in made) for row in rows)
    print(f"{named} of {len(rows)} rows name a search of this visitor")
    page.close()
    return bool(rows) and named == len(rows) and bool(changed)


def clicks(page: Page) -> list[str]:
    """Search, and open the best graded answer on the first page, until enough pages have a click."""
    made: list[str] = []
    for query, grades in read_library().searches.items():
        if len(made) == PAGES:
            break
        page.goto(f"/?q={quote(query)}")
        shown = [str(one.get_attribute("data-document")) for one in page.locator(".result").all()]
        best = max(shown, key=lambda id: grades.get(id, 0), default=None)
        if best is None or not grades.get(best):
            continue
        page.locator(".result").nth(shown.index(best)).locator("a.open").click()
        page.wait_for_load_state()
        made.append(query)
    return made


def needs(page: Page) -> list[str]:
    return [one.inner_text() for one in page.locator(".needs li").all()]


def said(what: str, lines: list[str]) -> None:
    print(f"{what}:", *(f"  {line}" for line in lines or ["nothing"]), sep="\n", flush=True)


def photograph(browser: Browser, context: BrowserContext, address: str, folder: Path) -> None:
    """Every page as somebody of the desk sees it."""
    folder.mkdir(parents=True, exist_ok=True)
    query = quote(SEARCH)
    places = {
        "start": "/",
        "search": f"/?q={query}",
        "typo": "/?q=delete+a+directry",
        "nothing": "/?q=zzzqqqq",
        "browse": "/?q=",
        "why": f"/why?q={query}&document=shutil.rmtree",
        "document": "/document/shutil.rmtree",
        "compare": f"/compare?q={query}",
        "scheduled": "/compare/scheduled",
        "queries": "/queries",
        "judge": "/judge",
        "loop": "/loop",
        "pins": f"/pins?q={query}",
        "dashboard": "/dashboard",
        "behind": "/dashboard/pages?days=30",
        "promote": "/dashboard/promote?version=v2",
        "nowhere": "/nowhere",
    }
    state = context.storage_state()
    for form, size in (("desktop", DESKTOP), ("phone", PHONE)):
        for scheme in ("light", "dark"):
            tab = browser.new_context(
                base_url=address, viewport=size, user_agent=CHROME, color_scheme=scheme, storage_state=state
            ).new_page()
            for name, place in places.items():
                tab.goto(place)
                tab.screenshot(path=folder / f"{name}-{form}-{scheme}.png", full_page=True)
            tab.close()
    print(f"{4 * len(places)} pictures in {folder}")


if __name__ == "__main__":
    raise SystemExit(main())
