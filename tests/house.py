"""How the source tree is read by the tests that hold its structure."""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import rankloop

SOURCE = Path(rankloop.__file__).parent
ROOT = SOURCE.parent.parent
VERBS = ("read_", "write_", "open_", "load_", "save_", "to_", "from_", "is_")


def families():
    return sorted(path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists())


def modules(under=SOURCE):
    return sorted(path for path in under.rglob("*.py") if "__pycache__" not in path.parts)


@cache
def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def short(path):
    return path.relative_to(SOURCE).as_posix()


def imports(path):
    """(module, name or None, line) of each import; `rankloop.x` by attribute or by text counts as well."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{short(path)}: relative import in line {node.lineno}"
            yield from ((node.module or "", alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "rankloop" and not node.attr.startswith("__"):
                yield "rankloop", node.attr, node.lineno
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            target = ast.unparse(node.args[0]).strip("f'\"")
            if target.startswith("rankloop.") and not target.startswith("rankloop.{"):
                yield target, None, node.lineno


def exported(family):
    return getattr(import_module(f"rankloop.{family}"), "__all__", [])


def homes(init):
    """The module each name of an `__init__.py` is imported from; the names it defines itself map to it."""
    found = {}
    for node in ast.walk(tree(init)):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: node.module for alias in node.names}
    package = ".".join(init.parent.relative_to(SOURCE.parent).parts)
    return found | dict.fromkeys(defined(init), package)


def defined(path):
    """Name and node of each function, class and constant of a module."""
    found = {}
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: node for target in targets if isinstance(target, ast.Name)}
    return found


def path_of(module):
    base = SOURCE.parent.joinpath(*module.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def plain(name):
    """A name without its verb, its underscores and its case: `read_trec_sessions` is `trecsessions`."""
    name = name.lower()
    verb = next((verb for verb in VERBS if name.startswith(verb)), "")
    return name[len(verb) :].replace("_", "") or name.replace("_", "")
