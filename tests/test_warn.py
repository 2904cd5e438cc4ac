"""Warnings point at the line of the user, not at ours."""

import warnings

import numpy as np

import rankloop as rl
from rankloop.clicks import ClickLog
from rankloop.data import read_judgments


def test_a_function_that_passes_options_on_warns_at_the_callers_line():
    data = rl.synthetic(n_queries=5, docs_per_query=4, n_features=2, seed=0)
    log = rl.simulate(data, logging_policy=data.y, sessions=200, k=3, seed=0)
    few = ClickLog(
        session=log.session,
        query=log.query,
        document=log.document,
        position=log.position,
        click=log.click,
        user=np.zeros(len(log.session), np.int64),
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        rl.propensity.regression_em(few, data)
    assert seen
    assert {one.filename for one in seen} == {__file__}


def test_a_reader_that_warns_when_its_context_ends_points_there_too(tmp_path):
    wrong = tmp_path / "wrong.qrels"
    wrong.write_text("q1 0 d1 1\nq1 0 d2 x\n")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        read_judgments(wrong, on_error="skip")
    assert [one.filename for one in seen] == [__file__]
