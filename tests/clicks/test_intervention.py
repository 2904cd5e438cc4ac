"""What an experiment did to a page is a type; its text is written and read in one module."""

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloop
from rankloop.clicks import FairPairs, Shuffle, Swap, intervention, simulate
from rankloop.data import RankingDataset

SOURCE = Path(rankloop.__file__).parent
# Text that spells or parses an intervention: an f-string or format of one, a pattern, a prefix.
SPELLED = re.compile(r"^(swap|shuffle) ($|[\d\\({])|\bfairpairs (odd$|even$|\()|\(?\b(swap|shuffle) \(?\\d")

MAY_SPELL = {"clicks/intervention.py"}

ranks = st.integers(1, 1000)
interventions = st.one_of(
    st.builds(lambda low, more: Swap(low, low + more), ranks, ranks),
    st.builds(FairPairs, st.booleans()),
    st.builds(Shuffle, ranks),
)


@given(interventions)
def test_text_and_back(one):
    assert intervention(str(one)) == one
    assert type(intervention(str(one))) is type(one)


@pytest.mark.parametrize(
    ("text", "one"),
    [
        ("swap 1-4", Swap(1, 4)),
        ("swap 4-1", Swap(1, 4)),
        ("fairpairs odd", FairPairs(odd=True)),
        ("fairpairs even", FairPairs(odd=False)),
        ("shuffle 10", Shuffle(10)),
        ("none", None),
        ("swap 1", None),
        ("a swap 1-2", None),
        ("promotion", None),
        (7, None),
    ],
)
def test_by_hand(text, one):
    assert intervention(text) == one


@pytest.mark.parametrize(
    ("randomize", "kind"),
    [("swap", Swap), ("adjacent", Swap), ("fairpairs", FairPairs), ("shuffle", Shuffle)],
)
def test_every_experiment_of_the_simulator_is_known(randomize, kind):
    data = RankingDataset([[0.0]] * 5, [0, 1, 2, 3, 4], ["q"] * 5)
    log = simulate(data, logging_policy=data.y, sessions=100, randomize=randomize, rate=0.5)
    found = {intervention(text) for text in log.page_intervention.table}
    assert {type(one) for one in found} == {kind, type(None)}


def spelled(path):
    """The lines of a module that spell an intervention, apart from its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in documentation else None
        if isinstance(text, str) and SPELLED.search(text):
            yield f"{path.relative_to(SOURCE)}:{node.lineno}: {text!r}"


def test_the_check_finds_what_it_looks_for(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    texts = ['f"swap {a}-{b}"', 'r"swap (\\d+)-(\\d+)"', '"swap {}-{}"', 'x.startswith("swap ")']
    texts += ['r"shuffle \\d+"', '"fairpairs odd"', 'r"fairpairs (odd|even)"', 'f"shuffle {n}"']
    path = tmp_path / "one.py"
    for text in texts:
        path.write_text(f"x = {text}")
        assert list(spelled(path)), text
    path.write_text('x = "swap some pages"; randomize = "swap"; f"swap ranks {a} and {b}"')
    assert not list(spelled(path))


def test_no_other_module_spells_or_parses_an_intervention():
    found = [line for path in sorted(SOURCE.rglob("*.py")) for line in spelled(path)]
    assert [line for line in found if line.split(":")[0] not in MAY_SPELL] == []
