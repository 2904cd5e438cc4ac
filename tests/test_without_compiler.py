"""Small inputs before numba is loaded: the results and errors of machine code, nothing heavy loaded."""

import subprocess
import sys
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

from rankloop import _jit
from rankloop._student import student_quantile
from rankloop.data import read_qrels, read_run, read_svmlight
from rankloop.data.svmlight.block import Layout
from rankloop.data.svmlight.dense_rows import dense_rows
from rankloop.lists import top_lists
from rankloop.metrics import evaluate, values
from rankloop.metrics.kernels.relevant import count_relevant
from strategies import ragged_lists

ASKING = ("_jit", "data.trec.fields", "data.trec.by_query", "data.svmlight.blocks")
HEAVY = {"numba", "scipy", "polars", "lightgbm", "sklearn", "pandas", "torch", "rich", "pydantic"}


@contextmanager
def without_compiler():
    with ExitStack() as stack:
        for module in ASKING:
            stack.enter_context(patch(f"rankloop.{module}.has_compiler", return_value=False))
        stack.enter_context(patch.object(_jit, "_patience", 40_000))
        yield


def outcome(read, *arguments):
    """What a reader gives, or what it says."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a column may be all nan
            return read(*arguments)
    except ValueError as error:
        return str(error)


def columns(made):
    if isinstance(made, str):
        return made
    names = ("qid", "offsets", "docid", "scores", "labels", "tag", "X", "y")
    found = {name: getattr(made, name) for name in names if getattr(made, name, None) is not None}
    return {name: repr(np.asarray(column)) for name, column in found.items()}


LINES = st.lists(
    st.builds(
        "{} {} {}{} {}{}{}".format,
        st.sampled_from(["q1", "q2", "\u00e4"]),
        st.sampled_from(["Q0", "0"]),
        st.sampled_from(["d", "\u65e5"]),
        st.integers(0, 5),
        st.sampled_from(["1", "2", "x"]),
        st.sampled_from(
            [" 1.5 run", " -2e300 my run", " nan r", "\t0.1", " 1_0 r", " .5 \u00e4 ", "", " inf r"]
        ),
        st.sampled_from(["\n", "\r\n", "\n\n", " \v\n"]),
    ),
    max_size=12,
).map("".join)


@settings(max_examples=300)
@given(LINES)
def test_trec_files(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "few.txt"
    path.write_bytes(text.encode())
    for read in (read_run, read_qrels):
        want = columns(outcome(read, path))
        with without_compiler():
            assert columns(outcome(read, path)) == want


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(["1", "-2e3", ".5", "1_0", "nan", "x"]), min_size=1, max_size=5),
    st.sampled_from([" ", "  ", "\t"]),
    st.sampled_from(
        ["q1 Q0 {} 1 {} r\n", "q1 Q0 {} 1 {}\n", "q1 0 {} {}\n", " q1 0 {} {} \n", "\nq {} {}\n"]
    ),
    st.sampled_from(["", "q1 0 d 3", "q1 0 d 3\n", "q1 Q0 d0 1 2 r\n", "\n"]),
)
def test_trec_files_of_even_lines(tmp_path_factory, numbers, blank, line, end):
    """One blank between fields, and as many in each line: such a text is split at once."""
    text = "".join(line.format(f"d{i}", number) for i, number in enumerate(numbers)) + end
    path = tmp_path_factory.getbasetemp() / "even.txt"
    path.write_text(text.replace(" ", blank))
    for read in (read_run, read_qrels):
        want = columns(outcome(read, path))
        with without_compiler():
            assert columns(outcome(read, path)) == want


NUMBER = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(
        ["1", "-0.25", "+.5", "3.", "1e-3", "0.1234567890123456789", "1e39", "nan", "x", "1_0", ""]
    ),
)


@settings(max_examples=300)
@given(
    st.lists(
        st.tuples(st.sampled_from("aab"), st.lists(NUMBER, min_size=2, max_size=2)), min_size=1, max_size=6
    ),
    st.sampled_from([" ", "  ", "\t", " \r"]),
    st.sampled_from(
        ["", "\n", "\n\n", " # note", "\v", "\n-1 qid:c 1:1 2:1", "\n1 qid:c 2:1 1:1", "\n1 qid: 1:1 2:2"]
    ),
    st.sampled_from([{}, {"n_features": 1}, {"n_features": 3}, {"zero_based": True}]),
)
def test_dense_letor_files(tmp_path_factory, rows, blank, end, options):
    lines = [blank.join([str(i), f"qid:{q}", f"1:{a}", f"2:{b}"]) for i, (q, (a, b)) in enumerate(rows)]
    path = tmp_path_factory.getbasetemp() / "dense.txt"
    path.write_bytes(("\n".join(lines) + end).encode())
    want = columns(outcome(lambda: read_svmlight(path, **options)))
    with without_compiler():
        assert columns(outcome(lambda: read_svmlight(path, **options))) == want


def test_a_dense_text_is_read_by_python_and_any_other_is_left_to_the_parser():
    text = b"2 qid:a 1:0.5 2:1\n\n0 qid:a 1:3 2:-1e-3\n1 qid:b 1:0 2:0"
    block = dense_rows(text, Layout())
    assert block is not None
    assert block.runs == [(0, b"a", 1), (2, b"b", 4)]
    assert block.y.tolist() == [2, 0, 1]
    others = [
        b"",
        b"1 qid:a",
        b"1 qid:a 1:1 2:1\n1 qid:a 1:1",
        b"1 qid:a 1:1:1",
        b"1 qid:a 1:1\n 2:1 qid:a 1:2",
    ]
    assert [dense_rows(other, Layout()) for other in others] == [None] * len(others)


METRICS = [
    "ndcg",
    "ndcg@3",
    "dcg@5",
    "map",
    "map@4",
    "mrr",
    "mrr@2",
    "hit@3",
    "p@3",
    "recall@3",
    "rprec",
    "err@10",
]
METRICS += ["ndcg(gain=linear)@3", "ndcg(ties=stable)", "mrr(ties=worst)"]


@given(ragged_lists(max_length=30), st.booleans())
def test_metrics_have_the_same_bits(lists, pooled):
    scores, labels, offsets = lists
    pool = {"pool_labels": np.repeat(labels, 2), "pool_offsets": 2 * offsets} if pooled else {}
    want = values(METRICS, scores, labels, offsets, **pool)
    with without_compiler():
        found = values(METRICS, scores, labels, offsets, **pool)
    for name in METRICS:
        np.testing.assert_array_equal(found[name], want[name], err_msg=name)


@given(ragged_lists(max_length=30), st.data())
def test_weighted_lists_are_ranked_and_counted_the_same(lists, data):
    _, labels, offsets = lists
    drawn = data.draw(
        st.lists(st.sampled_from([0.0, 0.1, 0.7, 3.0]), min_size=len(labels), max_size=len(labels))
    )
    weight = np.array(drawn, np.float32)
    ranked, counted = top_lists(*lists[:2], weight, offsets, 3), count_relevant(labels, weight, offsets, 1.0)
    with without_compiler(), _jit.interpreted(len(labels)):
        again, twice = top_lists(*lists[:2], weight, offsets, 3), count_relevant(labels, weight, offsets, 1.0)
    np.testing.assert_array_equal(twice, counted)
    for q in range(len(offsets) - 1):
        own = slice(ranked.start[q], ranked.start[q] + ranked.kept[q])
        same = slice(again.start[q], again.start[q] + again.kept[q])
        for one, other in zip(again[:3], ranked[:3], strict=True):
            np.testing.assert_array_equal(one[same], other[own])


@given(ragged_lists(max_length=30))
def test_where_logarithms_are_taken_the_last_bit_may_differ(lists):
    want = values(["map(divide_by=found)@3"], *lists)
    with without_compiler():
        found = values(["map(divide_by=found)@3"], *lists)
    for name in want:
        np.testing.assert_allclose(found[name], want[name], rtol=1e-14)


def test_patience_ends():
    rng = np.random.default_rng(0)
    scores, labels, offsets = rng.normal(size=20), rng.integers(0, 2, 20), np.array([0, 20])
    with without_compiler(), patch.object(_jit, "_patience", 50):
        for left in (30, 10, 10):
            values(["map"], scores, labels, offsets)
            assert _jit._patience == left


def test_joined_rows_are_the_same(tmp_path):
    run = {"q1": {"a": 3.0, "b": 2.0, "x": 1.0}, "q2": {"c": 1.0}}
    qrels = {"q2": {"d": 1}, "q1": {"b": 1, "a": 0}, "q3": {"e": 1}}
    want = evaluate(run, qrels).mean
    with without_compiler():
        assert evaluate(run, qrels).mean == want


@pytest.mark.parametrize("kind", ["trec", "letor"])
def test_a_small_evaluation_loads_nothing_heavy(tmp_path, kind):
    run, qrels, letor, scores = (tmp_path / name for name in ("run", "qrels", "letor.txt", "scores.txt"))
    run.write_text("".join(f"q Q0 d{i} 1 {9 - i} r\n" for i in range(9)))
    qrels.write_text("".join(f"q 0 d{i} {i % 3}\n" for i in range(9)))
    letor.write_text("".join(f"{i % 3} qid:1 1:{i} 2:{i / 7}\n" for i in range(9)))
    scores.write_text("".join(f"{9 - i}\n" for i in range(9)))
    files = (run, qrels) if kind == "trec" else (scores, letor)
    code = (
        "import sys; from rankloop.cli import app; sys.argv = ['rankloop', 'evaluate', *sys.argv[1:]]\n"
        "try: app()\nexcept SystemExit: pass\nprint(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, files)], capture_output=True, text=True, check=True
    )
    table, _, loaded = done.stdout.strip().rpartition("\n")
    assert "ndcg@10" in table
    assert HEAVY & {name.partition(".")[0] for name in loaded.split()} <= _loaded_by_typer()
    assert not list(Path(tmp_path).rglob("*.nbi"))


def _loaded_by_typer():
    code = "import sys, typer\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


@given(st.floats(1, 1e6), st.floats(0.001, 0.9999))
def test_quantiles_of_student_are_those_of_scipy(freedom, share):
    assert student_quantile(freedom, share) == pytest.approx(stdtrit(freedom, share), rel=1e-9, abs=1e-12)


def test_quantiles_of_student_at_the_edges():
    assert student_quantile(1, 0.975) == pytest.approx(12.706204736)  # the tangent of 0.475 pi
    assert student_quantile(5, 0.5) == 0
    assert student_quantile(3, 0.0) == -np.inf
    assert np.isnan(student_quantile(3, 1.5))
