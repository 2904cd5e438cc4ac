"""`learn` on logs that are too small: what it says is a sentence, and about the log."""

import warnings

import numpy as np
import pytest

from rankloop.clicks import ClickLog, aggregate, simulate
from rankloop.data import synthetic
from rankloop.unbiased import candidates, learn

DATA = synthetic(n_queries=40, docs_per_query=8, n_features=5, seed=0)
LOG = simulate(DATA, logging_policy=DATA.X[:, 0], sessions=400, k=5, seed=0)
OPTIONS = {"rankers": candidates(trees=10, threads=1), "networks": False}


def clicked(log, click):
    return ClickLog(
        session=log.sessions[log.row_page],
        query=log.queries[log.page_query.code[log.row_page]],
        document=log.document,
        position=log.position,
        click=click,
    )


@pytest.mark.parametrize("budget", ["quick", "usual", "large"])
@pytest.mark.parametrize("row", [7, 10])
def test_one_click_is_enough_for_a_ranker_of_sorts(budget, row):
    """Row 7 is at rank 3 of its page, row 10 at rank 1; no other rank has a click to learn a curve from."""
    log = clicked(LOG, (np.arange(len(LOG.click)) == row).astype(int))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = learn(log, DATA, budget=budget, **OPTIONS)
    assert np.isfinite(found.ranker.predict(DATA)).all()
    assert found.curve.min() > 0
    assert any(
        "10 of them with a click on one of several documents: none was held out" in one
        for one in found.warnings
    )
    assert not any(len(one) > 200 for one in found.warnings)


def test_one_page_says_that_it_is_too_little():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = learn(LOG.select(np.arange(1)), DATA, **OPTIONS)
    assert np.ptp(found.ranker.predict(DATA)) == 0
    assert any("too few to tell documents apart" in one for one in found.warnings)


def test_clicks_on_ten_queries_are_held_out():
    """With fewer, the queries of a fold might have all of them."""
    for queries, apart in ((9, False), (10, True)):
        log = clicked(LOG, ((LOG.position == 2) & (LOG.page_query.code[LOG.row_page] < queries)).astype(int))
        assert (learn(log, DATA, **OPTIONS).selection is not None) == apart


@pytest.mark.filterwarnings("ignore:overflow")
def test_infinite_features_are_named():
    X = DATA.X.copy()
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match="features as large as inf"):
        learn(LOG, DATA.replace(X=X), **OPTIONS)


def test_swapped_arguments_are_named():
    with pytest.raises(TypeError, match="then a data set; got a RankingDataset first"):
        learn(DATA, LOG, **OPTIONS)


def one_a_page(document):
    """A log with one result a page: for each of the 40 queries in turn, the document of this number in it."""
    page = np.arange(len(document))
    query = page % DATA.n_queries
    row = DATA.offsets[query] + document % DATA.lengths[query]
    click = np.random.default_rng(1).random(len(page)) < 0.2 + 0.6 * (DATA.X[row, 0] > 0)
    return ClickLog(
        session=page, query=DATA.qid[query], document=row, position=np.ones(len(page), int), click=click
    )


@pytest.mark.parametrize("budget", ["quick", "usual", "large"])
def test_one_document_for_every_query_leaves_nothing_to_compare(budget):
    always_the_first = one_a_page(np.zeros(1000, int))
    for log in (always_the_first, aggregate(always_the_first)):
        with pytest.raises(
            ValueError, match=r"never shows two documents for one query.*log all results of a page"
        ):
            learn(log, DATA, budget=budget, **OPTIONS)


def test_documents_clicked_alike_leave_nothing_to_compare():
    twice = np.repeat(np.arange(40), 2)
    row = DATA.offsets[twice] + np.tile([0, 1], 40)
    click = np.repeat(np.arange(40) % 2, 2)
    log = ClickLog(
        session=twice, query=DATA.qid[twice], document=row, position=np.tile([1, 2], 40), click=click
    )
    with pytest.raises(ValueError, match=r"clicked equally often.*log for longer"):
        learn(log, DATA, **OPTIONS)


@pytest.mark.parametrize("budget", ["quick", "usual"])
@pytest.mark.parametrize("compared", [1, 9, 40])
def test_one_result_a_page_is_enough_if_it_changes(budget, compared):
    """In the log of a widget with one result; for some queries it is always the same one."""
    document = np.random.default_rng(0).integers(0, 8, 4000)
    found = learn(
        one_a_page(np.where(np.arange(4000) % 40 < compared, document, 0)), DATA, budget=budget, **OPTIONS
    )
    assert np.corrcoef(found.ranker.predict(DATA), DATA.X[:, 0])[0, 1] > 0.5
    assert found.curve.tolist() == [1.0]
    assert "one result" in found.summary
    assert (found.selection is not None) == (compared == 40)


@pytest.mark.parametrize("kind", ["log", "counts"])
def test_ranks_that_the_log_lacks_are_named(kind):
    """As of results that are ads and were not logged, or of second pages."""
    kept = LOG.position != 2
    log = ClickLog(
        session=LOG.sessions[LOG.row_page][kept],
        query=LOG.queries[LOG.page_query.code[LOG.row_page]][kept],
        document=LOG.document[kept],
        position=np.where(LOG.position == 5, 15, LOG.position)[kept],
        click=LOG.click[kept],
    )
    found = learn(log if kind == "log" else aggregate(log), DATA, budget="quick", **OPTIONS)
    gaps = [one for one in found.warnings if "shows nothing at" in one]
    assert gaps == ["the log shows nothing at ranks 2, 5 to 14: there the curve is not from clicks"]
    whole = learn(LOG, DATA, budget="quick", **OPTIONS)
    assert not any("shows nothing at" in one for one in whole.warnings)
