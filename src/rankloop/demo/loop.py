"""The loop on data that is on every machine, from an index to a page that got better, and the proof.

Each step prints its time and its number, whatever that is; nothing here is a fixed figure.
"""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._names import one_of
from rankloop.clicks import ClickLog, simulate, user
from rankloop.data import RankingDataset
from rankloop.demo.collection import CANDIDATES, PAGE, Collection
from rankloop.demo.learners import METRIC, baselines, from_clicks, from_comments
from rankloop.demo.story import Story
from rankloop.demo.verdicts import Counterfactual, counterfactual, interleaved, offline
from rankloop.demo.warm_up import compiling_story
from rankloop.interleaving import Verdict
from rankloop.metrics import Comparison
from rankloop.propensity import Propensity, swap_intervention
from rankloop.rankers import Ranker

__all__ = ["Told", "tell", "tell_of"]

_ABOUT = {
    "stdlib": "Search Python by what you want to do: the standard library of this machine, no download.\n"
    "People are simulated, all numbers are measured now; this takes about a minute.\n",
    "movies": "Search movies with human labels (MSRD).\n"
    "People are simulated by them, all numbers are measured now; this takes a minute or two.\n",
}
NAMES = tuple(_ABOUT)
SESSIONS = 100_000
PAGES = 2_000  # interleaved
FILES = 500  # of Python sources, one of each package in turn
LIKELY = 1000  # more, with comments that read like searches
_SWAPS = 0.5  # of the pages: half of these exchange two neighbours


@dataclass(frozen=True, eq=False)
class Told:
    """Everything the story found: what a report shows and a service serves."""

    story: Story
    collection: Collection
    folder: Path
    train: RankingDataset
    test: RankingDataset
    rankers: dict[str, Ranker]
    log: ClickLog
    seen: Propensity
    offline: Comparison
    counterfactual: dict[str, Counterfactual]
    interleaved: list[Verdict]
    seed: int


def tell(
    name: str = "stdlib",
    *,
    out: Path | None = None,
    seed: int = 0,
    sessions: int = SESSIONS,
    reading: float = 40.0,
    download: bool = False,
) -> Told:
    """Build a collection and tell the whole story; everything that is written lies in `out`.

    `reading` is for how many seconds sources on the machine are read at most (they take a dozen on an idle
    machine; where time runs out, popularity depends on it); `download` fetches the movies if they are not on
    the machine.
    """
    one_of("demo", name, NAMES)
    folder = Path(tempfile.mkdtemp(prefix="rankloop-demo-")) if out is None else out
    if (folder / f"{name}.index").exists():
        raise ValueError(
            f"{folder} holds this demo already; choose another --out, or: rankloop serve {folder / name}.toml"
        )
    folder.mkdir(parents=True, exist_ok=True)
    story = Story()
    story.say(_ABOUT[name])
    collection = _movies(story, folder, download) if name == "movies" else _stdlib(story, folder, reading)
    return tell_of(story, collection, folder, seed=seed, sessions=sessions)


def tell_of(
    story: Story, collection: Collection, folder: Path, *, seed: int = 0, sessions: int = SESSIONS
) -> Told:
    """The story of a collection."""
    person = user("pbm", max_grade=collection.max_grade)
    with story.step("candidates", f"the best {CANDIDATES} of each search by BM25, with features") as found:
        everything = collection.candidates(collection.searches)
        train, test = everything.split(0.5, seed=seed)
        found["features"] = everything.n_features
        found["searches to learn from"] = train.n_queries
        found["searches to prove it on"] = test.n_queries
    with story.step("baselines", "two baselines, the prior tuned on grades") as found:
        rankers: dict[str, Any] = baselines(collection, train)
        found["weight of popularity"] = float(rankers["bm25 + popularity"].weights[collection.prior])
    if collection.mined is not None:
        with story.step("comments", "a ranker from comments above calls, before anyone has clicked") as found:
            rankers |= from_comments(collection)
            found["comments with a found answer"] = collection.mined.n_queries
            found["learned"] = "yes" if "comments" in rankers else "no, they are too few"
    with story.step("people", "people search BM25's page, see the top more, click what they like") as found:
        log = _clicks(train, rankers["bm25"], person, sessions, seed)
        found["pages"], found["clicks"] = log.n_pages, int(log.click.sum())
    with story.step("propensity", "how likely each rank is seen, from exchanged neighbours") as found:
        seen = swap_intervention(log, monotone=True, seed=seed)
        found["estimated"] = seen.values.tolist()
        found["in truth"] = (1.0 / np.arange(1, len(seen) + 1)).tolist()
    with story.step("learning", "two rankers learn from the same clicks, one believing them") as found:
        rankers |= from_clicks(log, seen, train)
    with story.step("offline", f"{METRIC} on held-out searches, against all graded answers") as found:
        judged = offline(collection, rankers, test, seed)
        found |= {name: one.mean[METRIC] for name, one in judged.systems.items()}
    story.say(replace(judged.table(), notes=()).plain())
    with story.step("counterfactual", "gain over BM25 from clicks on BM25's pages alone (dcg@10)") as found:
        others = _clicks(test, rankers["bm25"], person, sessions, seed + 1)
        guessed = counterfactual(rankers, test, others, seen, collection.max_grade, seed)
        found |= {name: str(one) for name, one in guessed.items()}
    with story.step("interleaved", f"the unbiased ranker on {PAGES:,} shared pages, wins to losses") as found:
        verdicts = interleaved(rankers, test, person, pages=PAGES, seed=seed)
        for said in verdicts:
            found[f"against {said.second}"] = (
                f"{said.wins}:{said.losses} ({said.winner or 'no difference shown'})"
            )
    return Told(story, collection, folder, train, test, rankers, log, seen, judged, guessed, verdicts, seed)


def _clicks(data: RankingDataset, ranker: Any, person: Any, sessions: int, seed: int) -> ClickLog:
    return simulate(
        data,
        logging_policy=ranker,
        user=person,
        sessions=sessions,
        k=PAGE,
        randomize="adjacent",
        rate=_SWAPS,
        seed=seed,
    )


def _stdlib(story: Story, folder: Path, reading: float) -> Collection:
    from rankloop.demo.library import read_library
    from rankloop.demo.mining import promising
    from rankloop.demo.stdlib import collect
    from rankloop.demo.usage import in_turns, read_usage, sources

    with compiling_story():
        with story.step("documents", "the standard library of this machine") as found:
            library = read_library()
            found["documents"] = len(library.documents)
            found["searches with graded answers"] = len(library.searches)
            if library.dropped:
                found["answers this Python lacks"] = library.dropped
        with story.step("usage", "how the Python sources on this machine use it") as found:
            files = list(in_turns(sources()))
            usage = read_usage(files, most=FILES, seconds=0.4 * reading)
            likely = promising(files, seconds=0.2 * reading)
            read_usage(likely, most=LIKELY, seconds=0.4 * reading, into=usage)
            found["files read"], found["packages"] = usage.files, len(usage.calls)
    with story.step("index", "the index") as found:
        collection, comments = collect(library, usage, folder / "stdlib.index")
        found["documents"] = len(collection.index)
        found["comments that read like searches"] = comments
    return collection


def _movies(story: Story, folder: Path, download: bool) -> Collection:
    from rankloop.demo.movies import collect

    with story.step("index", "movies with searches that people judged") as found:
        collection = collect(folder / "movies.index", download=download)
        found["documents"] = len(collection.index)
        found["judged searches"] = len(collection.searches)
    return collection
