"""How the Python sources on this machine use the standard library, read as syntax trees and never run."""

import ast
import builtins
import os
import re
import sysconfig
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Comment", "Usage", "in_turns", "read_usage", "source_text", "sources"]

_LEFT_OUT = frozenset({"test", "tests", "idlelib", "lib2to3", "site-packages", "__pycache__", "turtledemo"})
_COMMENT = re.compile(r"^\s*#\s?(.*)$")
_BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))
_LARGEST = 200_000  # bytes; larger files are tables and generated code


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment directly above a statement, and the names that the statement and the next two call."""

    text: str
    package: str
    calls: dict[str, int]


@dataclass(slots=True)
class Usage:
    """Calls of each dotted name by package, and the comments above calls."""

    calls: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    comments: list[Comment] = field(default_factory=list)
    read: set[Path] = field(default_factory=set)

    @property
    def files(self) -> int:
        return len(self.read)

    def popularity(self, *, without: str | None = None) -> Counter[str]:
        """In how many packages each name is called; a query's own package must not vouch for its answer."""
        total: Counter[str] = Counter()
        for package, names in self.calls.items():
            if package != without:
                total.update(names.keys())
        return total


def sources() -> list[tuple[str, Path]]:
    """Python files with the package that they belong to: the standard library, then what is installed."""
    paths = sysconfig.get_paths()
    library, installed = Path(paths["stdlib"]), Path(paths["purelib"])
    own = [(f"stdlib/{_top(path, library)}", path) for path in _python_files(library)]
    return own + [(_top(path, installed), path) for path in _python_files(installed)]


def _python_files(root: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if name not in _LEFT_OUT)
        yield from (Path(folder) / name for name in sorted(names) if name.endswith(".py"))


def read_usage(
    files: Iterable[tuple[str, Path]],
    *,
    most: int | None = None,
    seconds: float = 15.0,
    into: Usage | None = None,
) -> Usage:
    """Read the first files, `most` of them, as long as time allows; `into` goes on with what is read."""
    usage = Usage() if into is None else into
    end, enough = time.monotonic() + seconds, None if most is None else usage.files + most
    for package, path in files:
        if time.monotonic() > end or usage.files == enough:
            break
        text = None if path in usage.read else source_text(path)
        if text is None:
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        usage.read.add(path)
        nodes = list(ast.walk(tree))
        names = _names_of(nodes)
        for node in nodes:
            if isinstance(node, ast.Call) and (called := _called(node, names)):
                usage.calls[package][called] += 1
        usage.comments += _comments(nodes, text.splitlines(), names, package)
    return usage


def source_text(path: Path) -> str | None:
    """What a file says, unless it cannot be read or is larger than what people write."""
    try:
        return path.read_text(encoding="utf-8") if path.stat().st_size <= _LARGEST else None
    except (OSError, UnicodeDecodeError):
        return None


def _top(path: Path, root: Path) -> str:
    return path.relative_to(root).parts[0].removesuffix(".py")


def in_turns(files: Iterable[tuple[str, Path]]) -> Iterator[tuple[str, Path]]:
    """One file of each package, then the next of each: all have their say when time is short."""
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


def _names_of(nodes: list[ast.AST]) -> dict[str, str]:
    """What the names of a file mean: imports by their origin, builtins unless something shadows them."""
    names = {name: name for name in _BUILTINS}
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.pop(node.name, None)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.pop(node.id, None)
        elif isinstance(node, ast.arg):
            names.pop(node.arg, None)
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                names[bound] = alias.name if alias.asname else bound
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _called(call: ast.Call, names: dict[str, str]) -> str | None:
    """The dotted name that a call calls, where the file itself says it."""
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


def _comments(
    nodes: list[ast.AST], lines: list[str], names: dict[str, str], package: str
) -> Iterator[Comment]:
    for node in nodes:
        for block in (getattr(node, attribute, None) for attribute in ("body", "orelse", "finalbody")):
            if not isinstance(block, list):
                continue
            for at, statement in enumerate(block):
                text = _above(lines, statement.lineno) if isinstance(statement, ast.stmt) else None
                if text:
                    calls = _calls_near(block[at : at + 3], names)
                    if calls:
                        yield Comment(text, package, calls)


def _above(lines: list[str], line: int) -> str | None:
    """The comment of one or two lines directly above a statement."""
    found: list[str] = []
    at = line - 2
    while at >= 0 and len(found) < 3 and (match := _COMMENT.match(lines[at])):
        found.insert(0, match[1].strip())
        at -= 1
    return " ".join(found) if 1 <= len(found) <= 2 else None


def _calls_near(block: list[ast.stmt], names: dict[str, str]) -> dict[str, int]:
    """Grade 2 for what the statement's own header calls, 1 for the next two adjacent statements."""
    grades: dict[str, int] = {}
    for distance, statement in enumerate(block):
        if distance and statement.lineno != (block[distance - 1].end_lineno or 0) + 1:
            break
        inner = [n for part in _header(statement) for n in ast.walk(part) if isinstance(n, ast.Call)]
        for call in inner:
            called = _called(call, names)
            if called:
                grades.setdefault(called, 2 if distance == 0 else 1)
    return grades


def _header(statement: ast.stmt) -> list[ast.AST]:
    """A statement without its block."""
    if isinstance(statement, ast.With | ast.AsyncWith):
        return list(statement.items)
    if isinstance(statement, ast.For | ast.AsyncFor):
        return [statement.iter]
    if isinstance(statement, ast.If | ast.While):
        return [statement.test]
    if hasattr(statement, "body"):
        return []
    return [statement]
