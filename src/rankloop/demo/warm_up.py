"""Compiles every kernel of the demo in a second process while the first one reads sources."""

import contextlib
import io
import tempfile
from pathlib import Path

from rankloop._beside import compiling_beside

__all__ = ["compiling_demo"]


def compiling_demo() -> contextlib.AbstractContextManager[bool]:
    """Compile beside what runs in this block; whether anything is to be compiled."""
    from rankloop.clicks.simulation.sessions import run_sessions

    return compiling_beside(__name__, run_sessions)


def _compile() -> None:
    """Run the whole demo on a library of a few words."""
    from rankloop.demo.library import Library
    from rankloop.demo.run_loop import run_loop
    from rankloop.demo.stdlib import collect
    from rankloop.demo.usage import Usage

    documents = {f"m{at % 40}.f{at}": _document(at) for at in range(400)}
    searches = {f"word{at} thing": {f"m{at}.f{at}": 3, f"m{at}.f{at + 40}": 1} for at in range(40)}
    library = Library(documents, {name: name for name in documents}, searches, 0)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        collection = collect(library, Usage(), Path(folder) / "stdlib.index")
        run_loop(collection, Path(folder), sessions=20_000)


def _document(at: int) -> dict[str, object]:
    text = f"word{at % 40} {'thing ' * (at % 7)}"
    name = f"m{at % 40}.f{at}"
    parts = {"name": name, "last": f"f{at}", "module": f"m{at % 40}", "kind": "function", "signature": "()"}
    return {**parts, "summary": text, "body": f"{text}\n\nwords of {at}", "aliases": []}


if __name__ == "__main__":
    _compile()
