"""A family's folder shows its members, each in a file of its own name; machinery lies one level down."""

import ast
import re
from collections import defaultdict

import pytest

from house import SOURCE, defined, exported, families, homes, modules, path_of, plain, short, tree

LONGEST = 300  # lines of a source file
LONG_KERNEL = 60  # lines from which a kernel has section comments
COMPILED = {"kernel", "fast", "inner", "inline", "inlined", "part", "jit"}

# What is still to be moved, split or renamed; an entry that is no longer needed fails the test.
MISPLACED: dict[str, set[str]] = {}
TWO_MEANINGS: set[str] = set()
PRIVATE_SHELVES: set[str] = set()
TOO_LONG: set[str] = set()

MESSAGES = {"cluster/backends/worker.py"}  # pickled between processes of one run, never kept


@pytest.mark.parametrize("family", families())
def test_members_live_in_files_of_their_name(family):
    init = SOURCE / family / "__init__.py"
    home = homes(init)
    misplaced = {name for name in exported(family) if not in_place(name, home[name])}
    assert misplaced == MISPLACED.get(family, set())


def in_place(name, module):
    """A member is in the file of its name, in the family's `__init__`, or what the file's member returns."""
    path = path_of(module)
    stem = path.parent.name if path.name == "__init__.py" else path.stem
    if (
        path.name == "__init__.py" and len(module.split(".")) == 2
    ):  # rankloop.<family> defines it, or holds it
        return name in defined(path) or path_of(f"{module}.{name}").exists()
    inside = defined(path)
    if name not in inside:
        return False
    if plain(name) == plain(stem):
        return True
    makers = [node for other, node in inside.items() if plain(other) == plain(stem)]
    return isinstance(inside[name], ast.ClassDef) and any(name in returned(node) for node in makers)


def returned(node):
    """The words in the return annotation of a function."""
    annotation = getattr(node, "returns", None)
    return set() if annotation is None else set(re.findall(r"\w+", ast.unparse(annotation)))


def test_a_name_that_two_families_export_is_one_thing():
    found = defaultdict(set)
    for family in set(families()) - {"cluster"}:  # it does the jobs of the others, under their names
        init = SOURCE / family / "__init__.py"
        home = homes(init)
        for name in exported(family):
            found[name].add(home[name])
    assert {name for name, places in found.items() if len(places) > 1} == TWO_MEANINGS


def test_one_module_in_ten_is_private():
    crowded = set()
    for family in families():
        stems = [path.stem for path in (SOURCE / family).glob("*.py") if path.stem != "__init__"]
        if 10 * sum(stem.startswith("_") for stem in stems) > len(stems):
            crowded.add(family)
    assert crowded == PRIVATE_SHELVES


def test_no_file_is_too_long():
    lengths = {short(path): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    assert {name for name, lines in lengths.items() if lines > LONGEST} == TOO_LONG


def test_long_kernels_say_what_each_part_computes():
    """A kernel of more than sixty lines has a comment of its own line for each part, at least three."""
    bare = set()
    for path in modules():
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef) and COMPILED & {_word(one) for one in node.decorator_list}:
                inside = lines[node.lineno - 1 : node.end_lineno]
                comments = sum(line.lstrip().startswith("# ") for line in inside)
                if len(inside) > LONG_KERNEL and comments < 3:
                    bare.add(f"{short(path)}: {node.name}")
    assert not bare


def _word(decorator):
    return ast.unparse(decorator).partition("(")[0].rpartition(".")[2]


def test_no_file_is_named_after_nothing():
    vague = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert not [short(path) for path in modules() if {path.stem.strip("_"), path.parent.name} & vague]


def test_nothing_is_unpickled_from_a_file():
    """Models, indexes and events are archives, arrays and tables: reading one never runs code."""
    pickles = {"pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
    users = set()
    for path in modules():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
                if pickles & {name.partition(".")[0] for name in names}:
                    users.add(short(path))
            elif isinstance(node, ast.Call):
                options = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                trusting = ast.unparse(node.func) == "torch.load" and options.get("weights_only") != "True"
                if trusting or options.get("allow_pickle", "False") != "False":
                    users.add(short(path))
    assert users == MESSAGES


def test_a_silenced_type_has_its_reason_beside_it():
    """All but those of Triton's kernels, which have one reason (`rankloop.lists.tensors.jit`)."""
    bare = re.compile(r"# type: ignore\[(?!no-untyped-def)[^]]*\]\s*$|# type: ignore(?!\[)")
    assert not [
        f"{short(path)}:{number}"
        for path in modules(SOURCE)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if bare.search(line)
    ]
