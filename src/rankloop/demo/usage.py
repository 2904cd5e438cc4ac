"""How the Python sources on this machine call the standard library, read as text and never run.

Regular expressions take a third of the time of syntax trees. They also see calls in strings and comments,
which matters little: only the number of packages that call a name is used.
"""

import builtins
import os
import re
import sysconfig
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Usage", "in_turns", "read_usage", "sources"]

_LEFT_OUT = frozenset({"test", "tests", "idlelib", "lib2to3", "site-packages", "__pycache__", "turtledemo"})
_BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))
_SMALLEST, _LARGEST = 1_500, 30_000  # bytes: smaller files hold few calls, larger ones take the time of many
_BOUND = re.compile(
    r"^[ \t]*(?:async[ ]+)?(?:def|class|for)[ ]+(\w+)(?:\(([^()]*)\))?|^[ \t]*(\w+)[ ]*=(?!=)", re.MULTILINE
)
_NAME = re.compile(r"(?:^|,)\s*\**(\w+)")
_IMPORT = re.compile(
    r"^[ \t]*(?:import[ ]+([\w., ]+)|from[ ]+(\w[\w.]*)[ ]+import[ ]*(\([^)]*\)|[\w., ]+))", re.MULTILINE
)
_CALL = re.compile(r"(?<![\w.)\]])([A-Za-z_]\w*(?:\.\w+)*)\(|[\"']\.([a-z]\w*)\(")


@dataclass(slots=True)
class Usage:
    """How often each package calls each dotted name, and how many files were read."""

    calls: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    files: int = 0


def sources() -> list[tuple[str, Path]]:
    """Python files with the package that they belong to: the standard library, then installed packages."""
    paths = sysconfig.get_paths()
    library, installed = Path(paths["stdlib"]), Path(paths["purelib"])
    own = [(f"stdlib/{_top(path, library)}", path) for path in _python_files(library)]
    return own + [(_top(path, installed), path) for path in _python_files(installed)]


def in_turns(files: Iterable[tuple[str, Path]]) -> Iterator[tuple[str, Path]]:
    """The first file of each package, then the second of each: a short reading covers every package."""
    waiting: dict[str, list[tuple[str, Path]]] = defaultdict(list)
    for package, path in files:
        waiting[package].append((package, path))
    queues = [iter(queue) for queue in waiting.values()]
    while queues:
        left = []
        for queue in queues:
            one = next(queue, None)
            if one is not None:
                yield one
                left.append(queue)
        queues = left


def read_usage(files: Iterable[tuple[str, Path]], *, most: int | None = None, seconds: float = 3.0) -> Usage:
    """Count the calls in the first `most` files that can be read, for `seconds` of CPU time at most."""
    usage = Usage()
    end = time.process_time() + seconds
    for package, path in files:
        if time.process_time() > end or usage.files == most:
            break
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        usage.files += 1
        usage.calls[package].update(_calls(text))
    return usage


def _top(path: Path, root: Path) -> str:
    return path.relative_to(root).parts[0].removesuffix(".py")


def _python_files(root: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if name not in _LEFT_OUT)
        for name in sorted(names):
            path = f"{folder}/{name}"
            if name.endswith(".py") and _SMALLEST < os.stat(path).st_size <= _LARGEST:
                yield Path(path)


def _calls(text: str) -> Iterator[str]:
    """The dotted names that a file calls, as far as its imports and literals tell."""
    names = {name: name for name in _BUILTINS}
    for defined, parameters, assigned in _BOUND.findall(text):  # these shadow builtins
        names.pop(defined or assigned, None)
        for parameter in _NAME.findall(parameters):
            names.pop(parameter, None)
    for plain, module, members in _IMPORT.findall(text):
        for part in (members or plain).strip("()").split(","):
            name, _, alias = (word.strip() for word in part.partition(" as "))
            if module:
                names[alias or name] = f"{module}.{name}"
            else:
                top = name.partition(".")[0]
                names[alias or top] = name if alias else top
    for dotted, method in _CALL.findall(text):
        first, dot, rest = dotted.partition(".")
        if method:
            yield f"str.{method}"
        elif first in names:
            yield f"{names[first]}{dot}{rest}"
