"""How the Python sources on this machine use the standard library, read as syntax trees and never run."""

import ast
import builtins
import os
import sysconfig
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Usage", "in_turns", "read_usage", "sources"]

_LEFT_OUT = frozenset({"test", "tests", "idlelib", "lib2to3", "site-packages", "__pycache__", "turtledemo"})
_BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))
_LARGEST = 200_000  # bytes; larger files are tables and generated code


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
            if path.stat().st_size > _LARGEST:
                continue
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        usage.files += 1
        usage.calls[package].update(_calls(tree))
    return usage


def _top(path: Path, root: Path) -> str:
    return path.relative_to(root).parts[0].removesuffix(".py")


def _python_files(root: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if name not in _LEFT_OUT)
        yield from (Path(folder) / name for name in sorted(names) if name.endswith(".py"))


def _calls(tree: ast.Module) -> Iterator[str]:
    """The dotted names that a file calls, where its imports and literals say what they are."""
    names = {name: name for name in _BUILTINS}
    imports: dict[str, str] = {}
    calls: list[ast.Call] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            calls.append(node)
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):  # it shadows a builtin
                names.pop(node.id, None)
        elif isinstance(node, ast.arg):
            names.pop(node.arg, None)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.pop(node.name, None)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                imports[bound] = alias.name if alias.asname else bound
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            for alias in node.names:
                imports[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    names.update(imports)
    found = (_called(call, names) for call in calls)
    return (name for name in found if name is not None)


def _called(call: ast.Call, names: dict[str, str]) -> str | None:
    """The dotted name that a call calls; None where the file does not say it."""
    parts: list[str] = []
    target: ast.expr = call.func
    while isinstance(target, ast.Attribute):
        parts.append(target.attr)
        target = target.value
    if isinstance(target, ast.Name) and target.id in names:
        return ".".join([names[target.id], *reversed(parts)])
    if isinstance(target, ast.Constant) and isinstance(target.value, str | bytes) and len(parts) == 1:
        return f"{type(target.value).__name__}.{parts[0]}"
    return None
