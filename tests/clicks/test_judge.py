"""Judgments from clicks, with intervals that hold what they say."""

import numpy as np
import pytest

from rankloop.clicks import DBN, PBM, ClickLog, RankCTR, judge, labels
from rankloop.data import read_judgments, write_judgments


def shown(pages, examination, attraction, rng):
    """Pages of four documents in random order, clicked as a PBM says."""
    order = np.argsort(rng.random((pages, 4)), axis=1)
    seen = rng.random((pages, 4)) < examination
    click = seen & (rng.random((pages, 4)) < attraction[order])
    position = np.tile(np.arange(1, 5), pages)
    return ClickLog(
        np.repeat(np.arange(pages), 4), ["q"] * (4 * pages), order.ravel(), position, click.ravel()
    )


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_intervals_cover(confidence):
    """600 intervals, of 150 logs, hold the true attraction at least as often as promised."""
    rng = np.random.default_rng(0)
    examination, attraction = np.array([1.0, 0.7, 0.5, 0.3]), np.array([0.05, 0.3, 0.6, 0.9])
    inside = []
    for _ in range(150):
        log = shown(40, examination, attraction, rng)
        model = PBM(examination=examination, prior=0.0).fit(log)
        rows = judge(log, model, confidence=confidence).rows
        inside += [row.low <= attraction[int(row.docid)] <= row.high for row in rows]
    error = 3 * np.sqrt(confidence * (1 - confidence) / len(inside))
    assert np.mean(inside) > confidence - error
    assert np.mean(inside) < 1.0


def test_what_a_judgment_says(tmp_path):
    rng = np.random.default_rng(1)
    log = shown(300, np.array([1.0, 0.7, 0.5, 0.3]), np.array([0.05, 0.3, 0.6, 0.9]), rng)
    judged = judge(log, "pbm")
    assert judged.raters == ["PBM"]
    ratings = {row.docid: row.rating for row in judged}
    assert sorted(ratings, key=ratings.get) == ["0", "1", "2", "3"]
    assert all(0 <= row.low <= row.rating <= row.high <= 1 for row in judged)
    assert all("at 95%; shown 300 times" in row.reason for row in judged)
    write_judgments(judged, tmp_path / "book.json", format="quepid-book")
    assert read_judgments(tmp_path / "book.json").rows[0].reason == judged.rows[0].reason
    write_judgments(judged.graded(3), tmp_path / "case.csv", format="quepid")
    assert {row.rating for row in read_judgments(tmp_path / "case.csv")} <= {0, 1, 2, 3}


def test_no_interval_where_none_is_known():
    log = shown(50, np.ones(4), np.array([0.1, 0.3, 0.6, 0.9]), np.random.default_rng(2))
    for model in (DBN().fit(log), labels.ctr(log)):
        judged = judge(log, model)
        assert all(np.isnan(row.low) and np.isnan(row.high) for row in judged)
        assert judged.rows[0].reason == "shown 50 times"
    np.testing.assert_allclose([row.rating for row in judge(log, labels.ctr(log))], labels.ctr(log).values)


def test_mistakes():
    log = shown(5, np.ones(4), np.full(4, 0.5), np.random.default_rng(3))
    with pytest.raises(ValueError, match="confidence lies between 0 and 1"):
        judge(log, confidence=95)
    with pytest.raises(ValueError, match="unknown click model 'pbn'"):
        judge(log, "pbn")
    with pytest.raises(ValueError, match="RankCTR has no parameters of documents"):
        judge(log, RankCTR().fit(log))
