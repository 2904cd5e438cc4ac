"""Metrics by name: what they parse to, what they print, and what a wrong name is answered."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop import metrics
from rankloop.metrics import Metric, metric, values
from rankloop.metrics.kernels.measure import MEASURES

NAMES = ["ndcg@10", "err@20", "map", "mrr", "p(rel=2)@5", "rbp(p=0.8)", "ndcg(gain=linear)@5", "recall@100"]
DATA = [0.3, 0.9, 0.5, 0.1], [0, 1, 2, 2], [0, 2, 4]


@pytest.mark.parametrize("name", [*NAMES, "hit@1", "arp", "tau", "ndcg(gain=0/1/5, ties=worst)@3", "nDCG@10"])
def test_names_print_back_the_same(name):
    made = metric(name)
    assert isinstance(made, Metric)
    assert str(made) == made.name == name
    assert repr(made) == f"Metric({name!r})"
    assert metric(made) is made
    assert metric(name) == made
    assert hash(metric(name)) == hash(made)
    assert made(*DATA).shape == (2,)


@given(
    st.sampled_from(sorted(MEASURES)),
    st.none() | st.integers(1, 50),
    st.sampled_from(["", "average", "stable", "worst"]),
)
def test_every_name_with_every_option_parses(name, k, ties):
    options = MEASURES[name].options
    inside = f"(ties={ties})" if ties and "ties" in options else ""
    cut = f"@{k}" if k and "k" in options else ""
    for alias in MEASURES[name].names:
        made = metric(f"{alias}{inside}{cut}")
        assert made.measure.function.__name__ == name
        assert made.k == (k if cut else None)
        assert not inside or made.options["ties"] == ties


def test_names_are_not_shared():
    names = [name for one in MEASURES.values() for name in one.names]
    assert len(names) == len(set(names))
    assert set(MEASURES) <= set(metrics.__all__)


def test_options_reach_the_function():
    scores, labels, offsets = [3.0, 2.0, 1.0], [0, 1, 2], [0, 3]
    assert metric("ndcg(gain=linear)@2")(scores, labels, offsets) == metrics.ndcg(
        scores, labels, offsets, gain="linear", k=2
    )
    assert metric("p(rel=2)@3")(scores, labels, offsets) == [1 / 3]
    assert metric("dcg(gain=0/10/20)")(scores, labels, offsets) == metrics.dcg(
        scores, labels, offsets, gain=[0, 10, 20]
    )
    assert metric("err(max_label=4)")(scores, labels, offsets) == metrics.err(
        scores, labels, offsets, max_label=4
    )
    assert not metric("arp").higher_is_better
    assert metric("ndcg").higher_is_better


def test_values_are_those_of_the_functions_in_the_order_asked():
    made = values(NAMES, *DATA)
    assert list(made) == NAMES
    for name in NAMES:
        np.testing.assert_array_equal(made[name], metric(name)(*DATA))


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("ndgc@10", "unknown metric 'ndgc'; did you mean 'ndcg'"),
        ("precison@5", "did you mean 'precision'"),
        ("ndcg(gian=linear)", "unknown option of ndcg 'gian'; did you mean 'gain'"),
        ("map(gain=linear)", "unknown option of map 'gain'"),
        ("ndcg(k=5)", "unknown option of ndcg 'k'"),
        ("ndcg(gain)", "an option is written like rel=2, got 'gain'"),
        ("p(rel=1,rel=2)", "given twice"),
        ("ndcg@0", "a cut-off is a whole number of at least 1, got '@0'"),
        ("ndcg@-3", "a cut-off is a whole number of at least 1, got '@-3'"),
        ("ndcg@ten", "a cut-off is a whole number of at least 1, got '@ten'"),
        ("ndcg@", "a cut-off is a whole number of at least 1, got '@'"),
        ("arp@3", "arp has no cut-off"),
        ("", "a metric is written like"),
        ("ndcg@5@10", "a metric is written like"),
        ("ndcg(gain=linear", "a metric is written like"),
        ("dcg(gain=0/x)", "a table of gains is numbers joined by slashes, got '0/x'"),
    ],
)
def test_wrong_names(name, answer):
    with pytest.raises(ValueError, match=answer.replace("(", r"\(").replace(")", r"\)")):
        metric(name)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("ndcg(gain=log)", "unknown gain 'log'"),
        ("ndcg(ties=avarage)", "unknown ties 'avarage'; did you mean 'average'"),
        ("ndcg(empty=none)", "unknown empty 'none'"),
        ("map(divide_by=all)", "unknown divide_by 'all'"),
        ("rbp(p=1)", "between 0 and 1"),
        ("p(rel=0)", "relevance_threshold must be above 0"),
        ("err(max_label=1)", "max_label is 1 but there is a label 2"),
        ("ndcg(gain=0/1)", "takes the labels 0 to 1, got label 2"),
    ],
)
def test_wrong_values_of_options(name, answer):
    with pytest.raises(ValueError, match=answer):
        metric(name)(*DATA)


def test_a_best_grade_that_is_no_number_is_refused():
    for wrong in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="give the best grade"):
            metrics.err(*DATA, max_label=wrong)


def test_a_metric_without_gains_takes_no_item_weights():
    with pytest.raises(ValueError, match="kendall_tau has no gains"):
        values(["kendall_tau"], *DATA, weight=[1, 1, 1, 1])
