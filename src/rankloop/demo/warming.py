"""On a new machine a second process compiles what the story needs, while the first one reads sources."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["compiling_beside"]


@contextmanager
def compiling_beside() -> Iterator[None]:
    """Read in this block; kernels that were never compiled here are ready after it.

    Nothing happens where they are compiled already, or where there is one core. Should the second process
    fail, this one compiles for itself.
    """
    from rankloop.clicks._sessions import run_fixed

    known = any(Path(run_fixed.stats.cache_path).glob("_sessions.run_*.nbi"))  # type: ignore[attr-defined] # numba's
    if known or (os.cpu_count() or 1) < 2:
        yield
        return
    muted = subprocess.DEVNULL
    command = [sys.executable, "-m", "rankloop.demo.warming"]
    with subprocess.Popen(command, stdin=muted, stdout=muted, stderr=muted) as beside:
        try:
            yield
        except BaseException:
            beside.kill()
            raise


def _compile() -> None:
    """The whole story on a library of a few words."""
    from rankloop.demo.library import Library
    from rankloop.demo.stdlib import collect
    from rankloop.demo.story import tell_of
    from rankloop.demo.telling import Story
    from rankloop.demo.usage import Usage

    documents = {f"m{at % 40}.f{at}": _document(at) for at in range(400)}
    searches = {f"word{at} thing": {f"m{at}.f{at}": 3, f"m{at}.f{at + 40}": 1} for at in range(40)}
    library = Library(documents, {name: name for name in documents}, searches, 0)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        collection, _ = collect(library, Usage(), Path(folder) / "stdlib.index")
        tell_of(Story(), collection, Path(folder), sessions=20_000)


def _document(at: int) -> dict[str, object]:
    text = f"word{at % 40} {'thing ' * (at % 7)}"
    name = f"m{at % 40}.f{at}"
    parts = {"name": name, "last": f"f{at}", "module": f"m{at % 40}", "kind": "function", "signature": "()"}
    return {**parts, "summary": text, "body": f"{text}\n\nwords of {at}", "aliases": []}


if __name__ == "__main__":
    _compile()
