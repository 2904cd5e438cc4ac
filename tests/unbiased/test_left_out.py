"""A model of the clicks by which the logger chose worse than chance gets more of what it left out."""

import numpy as np
import pytest

from rankloop.clicks import PBM, ClickLog, World, simulate
from rankloop.data import RankingDataset
from rankloop.metrics import ndcg
from rankloop.unbiased import candidates, learn
from rankloop.unbiased.estimation import stacked
from rankloop.unbiased.estimation.evidence import evidence
from rankloop.unbiased.estimation.left_out import say_of_the_logger

FEW = candidates(trees=20, threads=1)


def first_of(lengths, shown):
    """Evidence of one page a query with its first documents, and which documents those are."""
    data = RankingDataset.from_groups(np.zeros((sum(lengths), 1)), np.zeros(sum(lengths)), lengths)
    rows = np.concatenate([at + np.arange(n) for at, n in zip(data.offsets[:-1], shown, strict=True)])
    place = np.concatenate([np.arange(1, n + 1) for n in shown])
    page = np.repeat(np.arange(len(shown)), shown)
    log = ClickLog(page, data.row_qid[rows], rows, place, np.arange(len(rows)) % 2)
    return evidence(log, None, data), np.isin(np.arange(sum(lengths)), rows)


def test_the_share_with_which_the_shown_are_no_worse():
    rng = np.random.default_rng(0)
    seen, shown = first_of([30] * 40, [10] * 40)
    noise = rng.normal(size=len(shown))
    scores, left = noise - 1.0 * shown, rng.normal(size=len(shown)) + 3.0 * shown
    say = say_of_the_logger(seen, scores, left)
    assert say == pytest.approx(0.25, abs=0.03)
    mixed = ((1 - say) * scores + say * left).reshape(40, 30)
    assert (mixed[:, :10].mean(axis=1) - mixed[:, 10:].mean(axis=1)).mean() == pytest.approx(0.0, abs=1e-12)
    assert say_of_the_logger(seen, noise + shown, left) == 0.0  # a good logger
    assert say_of_the_logger(seen, noise, left) == 0.0  # one that knows nothing
    assert say_of_the_logger(seen, scores, -left) == 0.0  # nothing that could help
    assert say_of_the_logger(seen, scores + 50.0 * np.repeat(rng.normal(size=40), 30), left) == pytest.approx(
        say
    )  # the level of a query is no difference within it


def test_queries_with_all_or_nothing_shown_do_not_count():
    seen, shown = first_of([30] * 20 + [10] * 20, [10] * 40)
    scores = np.where(shown, -1.0, 0.0) + np.random.default_rng(1).normal(size=len(shown))
    part, _ = first_of([30] * 20, [10] * 20)
    left = np.where(shown, 1.0, 0.0)
    assert say_of_the_logger(seen, scores, left) == say_of_the_logger(part, scores[:600], left[:600]) > 0.4
    seen, _ = first_of([10] * 5, [10] * 5)
    assert say_of_the_logger(seen, np.arange(50.0), np.arange(50.0)) == 0.0
    seen, _ = first_of([30, 10], [10, 10])  # one query shows no spread
    assert say_of_the_logger(seen, np.arange(40.0), -np.arange(40.0)) == 0.0


def selected(lists, each):
    """Ten of many documents are shown: by what people want, of which features tell a little, and X[:, 2]."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2 * lists * each, 4))
    worth = 0.35 * X[:, 0] - 0.35 * X[:, 1] + 0.35 * X[:, 2] + rng.normal(size=len(X))
    y = np.searchsorted(np.quantile(worth, [0.6, 0.8, 0.92, 0.98]), worth)
    half = lists * each
    train, test = (
        RankingDataset.from_groups(X[part], y[part], np.full(lists, each))
        for part in (slice(half), slice(half, None))
    )
    user = PBM(examination=lambda rank: 1.0 / np.asarray(rank), attraction=[0.05, 0.1, 0.2, 0.4, 0.7])
    policy = worth[:half] + 2.0 * X[:half, 2]
    return train, test, simulate(train, logging_policy=policy, user=user, sessions=3000, seed=0)


def test_selection_bias_is_seen_and_mended(monkeypatch):
    train, test, log = selected(60, 150)
    hidden = train.replace(y=np.zeros(train.n_documents))

    def value(found):
        return float(np.nanmean(ndcg(found.ranker.predict(test), test.y, test.offsets, k=10)))

    found = learn(log, hidden, rankers=FEW, networks=False)
    assert found.weights["pairs, half, all documents"] > 0.2
    assert any("selection bias" in one for one in found.warnings)
    monkeypatch.setattr(stacked, "say_of_the_logger", lambda *_: 0.0)
    without = learn(log, hidden, rankers=FEW, networks=False)
    assert not any("selection bias" in one for one in without.warnings)
    assert value(found) > value(without) + 0.05


@pytest.mark.parametrize("seed", [5, 8])
def test_a_logger_that_knows_little_is_hardly_followed(seed):
    drawn = World(queries=120, sessions=3000, documents=100, loggers=(0.1,), seed=seed).draw()
    data = drawn.train.replace(y=np.zeros(drawn.train.n_documents))
    found = learn(drawn.log, data, rankers=FEW, networks=False)
    assert found.weights.get("pairs, half, all documents", 0.0) < 0.15


def test_a_small_difference_is_chance():
    rng = np.random.default_rng(0)
    seen, shown = first_of([30] * 400, [10] * 400)
    noise, left = rng.normal(size=len(shown)), 3.0 * shown
    shares = [say_of_the_logger(seen, noise - below * shown, left) for below in (0.2, 0.5, 1.5)]
    assert shares[0] == 0.0 < shares[1] < 0.5 / 3.5 < shares[2] == pytest.approx(1.5 / 4.5, abs=0.02)
