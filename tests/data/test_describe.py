"""What describe() counts."""

import builtins
import json

import numpy as np
import pytest
from hypothesis import given

from rankloop.data import RankingDataset, describe
from strategies import ragged_lists


def naive(data):
    """The same counts in plain loops."""
    lists = [range(a, b) for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True)]
    rows = [tuple("nan" if v != v else v + 0.0 for v in row) for row in data.X.tolist()]
    columns = list(zip(*rows, strict=True))
    return {
        "queries_without_relevant": sum(all(data.y[i] == 0 for i in one) for one in lists),
        "queries_with_one_grade": sum(len({data.y[i] for i in one}) == 1 for one in lists),
        "duplicate_rows": sum(len(one) - len({rows[i] for i in one}) for one in lists),
        "constant_features": [str(j) for j, c in enumerate(columns, 1) if len(set(c)) == 1 and c[0] != "nan"],
        "missing_features": [str(j) for j, c in enumerate(columns, 1) if set(c) == {"nan"}],
        "missing_share": sum(v == "nan" for row in rows for v in row) / data.X.size,
        "labels": {f"{g:g}": data.y.tolist().count(g) for g in sorted(set(data.y.tolist()))},
    }


@given(lists=ragged_lists())
def test_counts_are_those_of_plain_loops(lists):
    scores, labels, offsets = lists
    X = np.stack([scores, np.full_like(scores, 3), np.full_like(scores, np.nan), scores % 2 * 0], axis=1)
    X[::3, 0] = np.nan
    X[::2, 3] = -0.0
    data = RankingDataset.from_groups(X, labels, np.diff(offsets))
    found = describe(data).to_dict()
    assert found.pop("missing_share") == pytest.approx(naive(data).pop("missing_share"))
    assert {name: found[name] for name in naive(data) if name in found} == {
        name: value for name, value in naive(data).items() if name in found
    }
    assert (found["length_min"], found["length_max"]) == (data.lengths.min(), data.lengths.max())
    assert found["length_median"] == np.median(data.lengths)
    json.dumps(found)


def test_in_pieces_it_is_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    data = RankingDataset.from_groups(rng.integers(0, 2, (60, 3)), rng.integers(0, 3, 60), [20, 40])
    whole = describe(data)
    monkeypatch.setitem(describe.__globals__, "_CELLS", 12)
    assert describe(data) == whole


def test_it_prints_a_table_with_names():
    names = ["price", "empty"]
    data = RankingDataset([[1.0, np.nan]] * 2, [0, 0], ["q", "q"], feature_names=names)
    text = str(describe(data))
    assert "price" in text
    assert "empty" in text
    assert "│" in text


def test_it_prints_without_rich(monkeypatch):
    def refuse(name, *rest, load=builtins.__import__):
        if name.startswith("rich"):
            raise ModuleNotFoundError(name)
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    text = str(describe(RankingDataset([[1.0]], [0], ["q"])))
    assert "duplicate rows             0" in text


def test_many_grades_become_ranges():
    found = describe(RankingDataset(np.zeros((100, 1)), np.linspace(0, 1, 100), [1] * 100))
    assert len(found.labels) == 10
    assert sum(found.labels.values()) == 100


def test_a_set_without_rows():
    found = describe(RankingDataset(np.zeros((0, 2)), [], []))
    assert (found.queries, found.documents, found.labels) == (0, 0, {})
