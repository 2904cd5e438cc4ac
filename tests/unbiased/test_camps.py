"""People who want the opposite of the others: found by their clicks, and nobody where all want the same."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp

import rankloop.unbiased.estimation.camps as module
from rankloop.clicks import ClickLog, World, aggregate
from rankloop.metrics import ndcg
from rankloop.unbiased import candidates, learn
from rankloop.unbiased.estimation.camps import camps

SMALL = {"queries": 150, "documents": 12, "features": 6}
FEW = {"one": candidates(trees=10, threads=1)["linear leaves"]}


def worth(drawn, noise, seed=0):
    """The labels with some noise, as a learned score has."""
    return drawn.train.y + noise * np.random.default_rng(seed).normal(size=drawn.train.n_documents)


def opposed(seed, sessions=3000, **others):
    return World(people="adversarial", sessions=sessions, seed=seed, **SMALL, **others).draw()


@pytest.mark.parametrize("logger", [0.0, 0.6, 0.9])
def test_the_share_of_opponents_and_their_pages_are_found(logger):
    """One page in seven is an opponent's; `World` puts their pages after those of the others."""
    drawn = opposed(3, sessions=6000, loggers=(logger,))
    found = camps(drawn.log, drawn.train, worth(drawn, 1.0))
    assert found is not None
    assert found.share == pytest.approx(0.14, abs=0.03)
    theirs = np.arange(drawn.log.n_pages) >= round(0.86 * 6000)
    larger, smaller = found.pages
    np.testing.assert_array_equal(larger, ~smaller)
    assert smaller[theirs].mean() > 0.6
    assert smaller[~theirs].mean() < 0.06


@pytest.mark.parametrize("people", ["1/k", "trust", "cascade", "dbn", "saturation", "mixture", "carousel"])
def test_people_who_want_the_same_are_one_camp(people):
    for seed in range(6):
        logger = (0.1, 0.5, 0.9)[seed % 3]
        drawn = World(people=people, loggers=(logger,), sessions=3000, seed=seed, **SMALL).draw()
        for noise in (0.0, 1.5):
            assert camps(drawn.log, drawn.train, worth(drawn, noise)) is None, (seed, noise)


def test_a_direction_that_says_nothing_finds_nobody():
    drawn = opposed(5)
    flat = np.zeros(drawn.train.n_documents)
    noise = np.random.default_rng(0).normal(size=drawn.train.n_documents)
    assert camps(drawn.log, drawn.train, flat) is None
    assert camps(drawn.log, drawn.train, noise) is None


def test_the_pages_of_a_large_log_are_told_by_a_part_of_it(monkeypatch):
    drawn = opposed(3, sessions=6000)
    whole = camps(drawn.log, drawn.train, worth(drawn, 1.0))
    monkeypatch.setattr(module, "PAGES", 4000)
    part = camps(drawn.log, drawn.train, worth(drawn, 1.0))
    assert whole is not None
    assert part is not None
    assert np.mean(whole.pages[0] == part.pages[0]) > 0.95


def test_beside_plain_loops():
    """The click rate on the other pages, the likelihood of a page, and a step of Newton by differences."""
    drawn = opposed(7, sessions=60)
    log, z = drawn.log, worth(drawn, 1.0)
    seen = module._Seen.of(log, drawn.train, z, log.n_positions)
    row, rank, click = log.rows(drawn.train), log.position - 1, log.click.astype(float)
    rates = [(click[rank == k].sum() + 0.5) / ((rank == k).sum() + 1.0) for k in range(log.n_positions)]
    for at in range(0, len(log), 37):
        same = (row == row[at]) & (rank == rank[at])
        same[at] = False
        chance = (click[same].sum() + module.PRIOR * rates[rank[at]]) / (same.sum() + module.PRIOR)
        assert seen.offset[at] == pytest.approx(np.log(chance / (1 - chance)))
    scaled = (z - z.mean()) / z.std()
    one, two = np.random.default_rng(0).normal(size=(2, log.n_positions + 1))
    pages = np.zeros((2, log.n_pages))
    for t, effect in enumerate((one, two)):
        for at in range(len(log)):
            score = seen.offset[at] + effect[rank[at]] + effect[-1] * scaled[row[at]]
            pages[t, log.row_page[at]] += np.log(expit(score) if click[at] else expit(-score))
    np.testing.assert_allclose(seen.by_page(one), pages[0])
    belongs, total = seen.members([one, two], 0.3)
    mixed = pages + np.log([[0.3], [0.7]])
    assert total == pytest.approx(logsumexp(mixed, axis=0).sum())
    np.testing.assert_allclose(belongs, expit(mixed[0] - mixed[1]))
    best = np.zeros(log.n_positions + 1)
    for _ in range(60):
        best, error = seen.newton(best, np.ones(len(click)))

    def cost(effect):
        return seen.by_page(effect).sum() - 0.5 * module.RIDGE * effect @ effect

    assert error > 0
    for step in 1e-4 * np.eye(len(best)):
        assert (cost(best + step) - cost(best - step)) / 2e-4 == pytest.approx(0.0, abs=1e-5)


def test_learn_leaves_opponents_out():
    drawn = opposed(3, sessions=6000, loggers=(0.6,), utility="linear")
    data = drawn.train.replace(y=np.zeros(drawn.train.n_documents))
    found = learn(drawn.log, data, rankers=FEW)
    assert found.opposed == found.to_dict()["opposed"] == pytest.approx(0.14, abs=0.03)
    assert any("these pages are left out" in one for one in found.warnings)
    assert "of the pages go against those on the others" in found.summary
    counts = learn(aggregate(drawn.log), data, rankers=FEW)  # has no pages: who made a click is not known
    assert counts.opposed == 0

    def quality(ranker):
        return np.nanmean(ndcg(ranker.predict(drawn.test), drawn.test.y, drawn.test.offsets, k=10))

    assert quality(found.ranker) > quality(counts.ranker)


def test_two_camps_of_one_size_cannot_be_trusted():
    """Half of the people look at every rank and want the opposite: which half is right is not to be told."""
    drawn = opposed(3, sessions=6000, loggers=(0.6,), utility="linear")
    data = drawn.train.replace(y=np.zeros(drawn.train.n_documents))
    theirs = np.arange(drawn.log.n_pages) >= round(0.86 * 6000)
    both = drawn.log.select(theirs | (np.cumsum(~theirs) <= 1.1 * theirs.sum()))
    both = ClickLog(**dict(both.columns()))
    found = learn(both, data, rankers=FEW)
    assert found.opposed > 0.4
    assert any("they cannot be trusted" in one for one in found.warnings)
