"""Instant search: the time from a key to the paint of its results, in a real browser.

python benchmarks/instant.py [--documents 100000]

Queries are typed at 60 ms a key into the page of a service over 100,000 documents, in Debian's Chromium. A
key counts until results that answer its text, or a later one, are painted. Everything runs on this machine:
the service, the browser and what drives it.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from rankloop.data import RankingDataset
from rankloop.rankers import LambdaMART, Ranker
from rankloop.search import BM25, Features, Index, first
from rankloop.serve.config import Config
from rankloop.serve.events.store import Store
from rankloop.serve.models.registry import Registry
from results import benchmark, record
from serving_load import served

VOCABULARY, TITLE, BODY, SEED = 50_000, 6, 60, 0
QUERIES, KEY, GOAL = 20, 60.0, 100.0  # queries; milliseconds a key; of the 95th percentile
TREES, CANDIDATES = 300, 1000
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
CHROME = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
)
SYLLABLES = (
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "la",
    "me",
    "ni",
    "po",
    "ru",
    "sa",
    "te",
    "vi",
    "zo",
    "kra",
    "ster",
)
WATCH = """() => {
  window.typed = []; window.blank = 0; window.paints = 0;
  let pressed = 0;
  addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
  addEventListener("input", (event) => {
    typed.push({ text: event.target.value.trim().replace(/\\s+/g, " "), at: pressed, took: null });
  }, true);
  new MutationObserver(() => {
    const shown = document.querySelector("#found .results")?.dataset.query;
    if (shown === undefined) { blank += 1; return; }
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {  // after the frame was painted
        const now = performance.now(), last = typed.findLastIndex((one) => one.text === shown);
        paints += 1;
        for (const one of typed.slice(0, last + 1)) one.took ??= now - one.at;
      };
      port2.postMessage(0);
    });
  }).observe(document.getElementById("found"), { childList: true });
}"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=QUERIES)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        index, queries = corpus(Path(folder), given.documents, given.queries)
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        print(
            f"{given.documents:,} documents, {len(queries)} queries typed at {KEY:.0f} ms a key; "
            f"goal: 95 % of the keys painted within {GOAL:.0f} ms\n\n"
            f"{'ranker':<28}{'keys':>6}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}{'answer p50':>12}"
            f"{'answer p95':>12}{'paints':>8}{'blank':>7}  goal"
        )
        for name, settings in versions(index, Path(folder)).items():
            with served(settings) as (address, _):
                report(name, *measure(browser, address, queries))
        browser.close()


def word(number: int) -> str:
    """A word that can be pronounced, of two to four syllables."""
    parts = []
    number += len(SYLLABLES)
    while number:
        number, part = divmod(number, len(SYLLABLES))
        parts.append(SYLLABLES[part])
    return "".join(parts)


def corpus(folder: Path, documents: int, queries: int) -> tuple[Index, list[str]]:
    """Documents with words by Zipf's law, a brand, a kind, a price and a date; queries from their titles.

    A third of the queries has a misspelt word.
    """
    rng = np.random.default_rng(SEED)
    share = 1 / np.arange(1, VOCABULARY + 1) ** 1.07
    tokens = rng.choice(VOCABULARY, (documents, TITLE + BODY), p=share / share.sum())
    words = np.array([word(number) for number in rng.permutation(VOCABULARY)])
    fields = {"title": "text", "body": "text", "brand": "keyword", "kind": "keyword"}
    index = Index.create(folder / "shop.index", {**fields, "price": "number", "added": "date"})
    price, brand = np.round(rng.lognormal(3.5, 1.0, documents), 2), rng.zipf(1.5, documents) % 500
    index.add(
        {
            "id": number,
            "title": " ".join(words[row[:TITLE]]),
            "body": " ".join(words[row[TITLE:]]),
            "brand": f"Brand {brand[number]}",
            "kind": f"Kind {number % 12}",
            "price": float(price[number]),
            "added": f"{2010 + number % 15}-01-01",
        }
        for number, row in enumerate(tokens)
    )
    index.compact()
    typed = []
    while len(typed) < queries:
        rare = [one for one in words[tokens[rng.integers(documents), :TITLE]] if len(one) > 4]
        if len(rare) >= 2:
            some = rare[: rng.integers(2, 4)]
            if len(typed) % 3 == 2:
                some[-1] = some[-1][:2] + some[-1][3:]
            typed.append(" ".join(some))
    return index, typed


def versions(index: Index, folder: Path) -> dict[str, Path]:
    """The settings of two services: as one starts, and with learned trees over the standard features."""
    trees = learned(index)
    found = {}
    for name, ranker in (("bm25, as a service starts", None), (f"{TREES} trees, standard features", trees)):
        settings = folder / f"{len(found)}.toml"
        home = folder / f"{len(found)}.serve"
        limits = "[limits]\nrate = 0.0\n"
        settings.write_text(f'index = "shop.index"\nfolder = "{home.name}"\n{limits}', encoding="utf-8")
        if ranker is not None:
            register(index, Config.read(settings), ranker)
        found[name] = settings
    return found


def learned(index: Index) -> Ranker:
    """Trees of a usual size; what they learned does not matter here."""
    features = Features.standard(index)
    rng = np.random.default_rng(SEED)
    retrieve = index.retriever(k=200, model=BM25())
    rows = [str(index[id]["title"]) for id in index.ids[rng.integers(len(index), size=30)].tolist()]
    X = np.concatenate([features.matrix(retrieve(row)) for row in rows])
    labels = rng.integers(0, 5, len(X))
    data = RankingDataset(X, labels, np.arange(len(X)) // 100, feature_names=features.names)
    return LambdaMART(trees=TREES, leaves=31, threads=1, seed=SEED).fit(data)


def register(index: Index, config: Config, ranker: Ranker) -> None:
    config.home.mkdir(parents=True, exist_ok=True)
    with Store.open(config.database) as store:
        registry = Registry(store, config.home / "models")
        search = (
            index.retriever(k=CANDIDATES, typos="missing") >> Features.standard(index) >> ranker >> first(10)
        )
        registry.promote(registry.register(search, lineage={"name": "trees"}))


def measure(browser: Browser, address: str, queries: list[str]) -> tuple[list[float], list[float], int, int]:
    """Milliseconds of each key, of each answer, and how often results were painted, and were gone."""
    keys: list[float] = []
    answers: list[float] = []
    paints = blank = 0
    context = browser.new_context(
        base_url=address, user_agent=CHROME, viewport={"width": 1280, "height": 800}
    )
    page = context.new_page()
    for number, query in enumerate(["warm words", *queries]):
        page.goto("/")
        page.evaluate(WATCH)
        type_at(page, query)
        end = time.monotonic() + 20
        while time.monotonic() < end and page.evaluate("typed.some((one) => one.took === null)"):
            page.wait_for_timeout(20)
        found: dict[str, Any] = page.evaluate(
            "({ typed, blank, paints, answers: performance.getEntriesByType('resource')"
            ".filter((one) => one.name.includes('/fragment')).map((one) => one.duration) })"
        )
        if number:  # the first one is for connections and caches
            keys += [float("inf") if one["took"] is None else one["took"] for one in found["typed"]]
            answers += found["answers"]
            paints += found["paints"]
            blank += found["blank"]
    context.close()
    return keys, answers, paints, blank


def type_at(page: Page, query: str) -> None:
    """Press the keys of a query, each `KEY` milliseconds after the one before."""
    start = time.perf_counter()
    for number, letter in enumerate(query):
        time.sleep(max(0.0, start + number * KEY / 1000 - time.perf_counter()))
        page.keyboard.press("Space" if letter == " " else letter)


def report(name: str, keys: list[float], answers: list[float], paints: int, blank: int) -> None:
    p50, p95, p99 = np.percentile(keys, [50, 95, 99])
    server = np.percentile(answers, [50, 95])
    record(
        "keys",
        ranker=name,
        keys=len(keys),
        p50=p50,
        p95=p95,
        p99=p99,
        answer_p50=server[0],
        answer_p95=server[1],
        paints=paints,
        blank=blank,
    )
    print(
        f"{name:<28}{len(keys):>6}{p50:>9.1f}{p95:>9.1f}{p99:>9.1f}{server[0]:>12.1f}{server[1]:>12.1f}"
        f"{paints:>8}{blank:>7}  {'met' if p95 < GOAL else 'missed'}",
        flush=True,
    )


if __name__ == "__main__":
    benchmark(main)
