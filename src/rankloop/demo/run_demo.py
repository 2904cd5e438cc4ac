"""The demo from its name: build a collection, then run the loop on it."""

import tempfile
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from rankloop._extras import MODULES
from rankloop._names import one_of
from rankloop.demo.collection import Collection
from rankloop.demo.run_loop import SESSIONS, Demo, run_loop
from rankloop.demo.steps import Steps
from rankloop.demo.warm_up import compiling_demo

__all__ = ["own_encoder", "run_demo"]

_ABOUT = {
    "stdlib": "Search Python by what you want to do: the standard library of this machine, no download.\n"
    "Users are simulated; every number is measured now. This takes half a minute the first time, when code\n"
    "is compiled for this machine, and less from then on.\n",
    "movies": "Search movies with human labels (MSRD).\n"
    "Users are simulated from the labels; every number is measured now. This takes a minute or two.\n",
}
ENCODER = "minilm"  # `rankloop encoders get minilm`
FILES = 1_800  # Python sources that are read, from every package in turn: about 2 s of CPU time


def run_demo(
    name: str = "stdlib",
    *,
    out: Path | None = None,
    seed: int = 0,
    sessions: int = SESSIONS,
    download: bool = False,
) -> Demo:
    """Build a collection and run the loop on it; everything that is written lies in `out`.

    `download` fetches the movies if they are not on this machine.
    """
    one_of("demo", name, _ABOUT)
    folder = Path(tempfile.mkdtemp(prefix="rankloop-demo-")) if out is None else out
    if (folder / f"{name}.index").exists():
        raise ValueError(
            f"{folder} holds this demo already; choose another --out, or: rankloop serve {folder / name}.toml"
        )
    folder.mkdir(parents=True, exist_ok=True)
    print(_ABOUT[name], flush=True)
    steps = Steps()
    collection = _movies(steps, folder, download) if name == "movies" else _stdlib(steps, folder)
    return run_loop(collection, folder, steps=steps, seed=seed, sessions=sessions)


def _stdlib(steps: Steps, folder: Path) -> Collection:
    from rankloop.demo.library import read_library
    from rankloop.demo.stdlib import collect
    from rankloop.demo.usage import in_turns, read_usage, sources

    with ExitStack() as beside:
        compiles = beside.enter_context(compiling_demo())
        with steps.step("documents", "the standard library of this machine") as found:
            library = read_library()
            found["documents"] = len(library.documents)
            found["searches with graded answers"] = len(library.searches)
            if library.dropped:
                found["answers this Python lacks"] = library.dropped
        with steps.step("usage", "how Python sources on this machine call it") as found:
            usage = read_usage(in_turns(sources()), most=FILES)
            found["files read"], found["packages"] = usage.files, len(usage.calls)
        if compiles:
            with steps.step("compiled", "code for this machine, compiled once and kept"):
                beside.close()  # waits for the other process
    encoder = own_encoder()
    with steps.step("index", "the index" if encoder is None else "the index, with vectors") as found:
        collection = collect(library, usage, folder / "stdlib.index", encoder=encoder)
        found["documents"] = len(collection.index)
        if encoder is not None:
            found["searched by words and"] = encoder
    return collection


def own_encoder() -> str | None:
    """The encoder that is on this machine with all that it needs; nothing is downloaded."""
    from rankloop.search.encoders import find_encoder

    there = find_encoder(ENCODER) is not None and all(find_spec(one) for one in MODULES["text"])
    return ENCODER if there else None


def _movies(steps: Steps, folder: Path, download: bool) -> Collection:
    from rankloop.demo.movies import collect

    with steps.step("index", "movies with searches that people judged") as found:
        collection = collect(folder / "movies.index", download=download)
        found["documents"] = len(collection.index)
        found["judged searches"] = len(collection.searches)
    return collection
