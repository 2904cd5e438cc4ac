"""Runs fused into one: against plain loops, and against ranx."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloop as rl
from rankloop.rankers.fuse import METHODS

NAMES = ("q1", "q2", "q3")
RUNS = st.lists(
    st.dictionaries(
        st.sampled_from(NAMES),
        st.dictionaries(st.sampled_from("abcdef"), st.integers(-3, 3).map(float), min_size=1),
        min_size=1,
    ),
    min_size=1,
    max_size=3,
)


def on_one_scale(scores, norm):
    values = list(scores.values())
    low, high, mean = min(values), max(values), sum(values) / len(values)
    spread = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    if norm == "none":
        return scores
    if high == low:
        return dict.fromkeys(scores, 0.0)
    shift, scale = (low, high - low) if norm == "minmax" else (mean, spread)
    return {document: (score - shift) / scale for document, score in scores.items()}


def fused(rankings, method, norm):
    """The slow, obvious twin: query by query, document by document."""
    made = {}
    for query in {query for ranking in rankings for query in ranking}:
        lists = [ranking[query] for ranking in rankings if query in ranking]
        made[query] = {}
        for document in {document for scores in lists for document in scores}:
            parts = []
            for scores in lists:
                if document not in scores:
                    continue
                above = sum(other > scores[document] for other in scores.values())
                equal = sum(other == scores[document] for other in scores.values())
                rank = above + (1 + equal) / 2
                parts.append(1 / (60 + rank) if method == "rrf" else on_one_scale(scores, norm)[document])
            made[query][document] = sum(parts) * (len(parts) if method == "comb_mnz" else 1)
    return made


@given(RUNS, st.sampled_from(METHODS), st.sampled_from(["minmax", "zscore", "none"]))
def test_equals_loops(rankings, method, norm):
    made = rl.fuse([rl.Run.from_dict(ranking) for ranking in rankings], method, norm=norm)
    expected = fused(rankings, method, norm=norm)
    assert set(made.qid.tolist()) == set(expected)
    for query, scores in expected.items():
        assert made[query].keys() == scores.keys()
        for document, score in scores.items():
            assert made[query][document] == pytest.approx(score, abs=1e-9)


def random_runs(count=3, queries=20):
    rng = np.random.default_rng(0)
    return [
        {
            f"q{q}": {f"d{d}": float(rng.normal()) for d in rng.choice(30, 12, replace=False)}
            for q in range(queries)
        }
        for _ in range(count)
    ]


@pytest.mark.slow  # ranx compiles its kernels for half a minute
@pytest.mark.filterwarnings("ignore")  # and warns while it does
@pytest.mark.parametrize("method", METHODS)
def test_equals_ranx(method):
    ranx = pytest.importorskip("ranx")
    rankings = random_runs()
    name = {"comb_mnz": "mnz", "comb_sum": "sum", "rrf": "rrf"}[method]
    options = {} if method == "rrf" else {"norm": "min-max"}
    theirs = ranx.fuse([ranx.Run(ranking) for ranking in rankings], method=name, **options).to_dict()
    ours = rl.fuse([rl.Run.from_dict(ranking) for ranking in rankings], method)
    for query, scores in theirs.items():
        assert ours[query] == pytest.approx(scores)


def test_order_ties_and_cut():
    """Queries in the order they are first seen, equal scores in the order of the runs, the best k kept."""
    first = rl.Run.from_dict({"z": {"b": 2.0, "a": 1.0}, "a": {"x": 1.0}})
    second = rl.Run.from_dict({"z": {"a": 2.0, "b": 1.0}, "m": {"y": 1.0}})
    made = rl.fuse([first, second])
    assert made.qid.tolist() == ["z", "a", "m"]
    assert list(made["z"]) == ["b", "a"]
    assert list(made["z"].values()) == pytest.approx([1 / 61 + 1 / 62] * 2)
    assert rl.fuse([first, second], k=1).docid.tolist() == ["b", "x", "y"]
    assert rl.fuse([first, second], weights=[1, 2])["z"] == pytest.approx(
        {"a": 1 / 62 + 2 / 61, "b": 1 / 61 + 2 / 62}
    )
    assert rl.fuse([first])["z"] == pytest.approx({"b": 1 / 61, "a": 1 / 62})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rl.fuse([]), "takes a sequence of runs .* got nothing"),
        (lambda: rl.fuse([{"q": {"a": 1.0}}]), "got dict"),
        (lambda: rl.fuse([RUN], "borda"), "unknown method 'borda'"),
        (lambda: rl.fuse([RUN], "comb_sum", norm="max"), "unknown norm 'max'"),
        (lambda: rl.fuse([RUN], weights=[1, 2]), "one number per ranker"),
        (lambda: rl.fuse([RUN], k=0), "k must be at least 1"),
    ],
)
def test_wrong_use(call, message):
    with pytest.raises(ValueError, match=message):
        call()


RUN = rl.Run.from_dict({"q": {"a": 1.0}})
