"""Rare documents borrow from the rest: centres, strengths, and what it does for held-out pages."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankloop.clicks as clicks
from rankloop.clicks import ClickLog
from rankloop.clicks.fitting.evidence import Evidence
from rankloop.clicks.fitting.folds import FOLDS, folds
from rankloop.clicks.fitting.shrink import STRENGTHS, Ranks, centred
from rankloop.data import RankingDataset

MODELS = ("documentctr", "rankdocumentctr", "pbm", "ubm", "trustpbm", "cascade", "dcm", "dbn", "sdbn", "ccm")


def sparse(user="eye_tracking", pages=1500, seed=0, queries=300, people=None):
    """A log of Zipf queries: most documents are shown once or twice."""
    rng = np.random.default_rng(seed)
    grades = rng.integers(0, 5, queries * 12)
    data = RankingDataset.from_groups(
        np.zeros((len(grades), 1)), grades, [12] * queries, query_weight=1 / np.arange(1, queries + 1)
    )
    scores = grades + rng.normal(size=len(grades))
    log = clicks.simulate(
        data, logging_policy=scores, user=user, sessions=pages + 2000, k=6, temperature=0.5, seed=seed
    )
    return log.select(np.arange(pages)), log.select(np.arange(pages, pages + 2000))


@pytest.mark.parametrize("name", MODELS)
def test_held_out_pages_are_predicted_better_than_with_a_weak_prior(name):
    user = "navigational" if name in ("cascade", "dcm", "dbn", "sdbn", "ccm") else "eye_tracking"
    train, test = sparse(user)
    model = clicks.model(name)().fit(train)
    shrunk = model.perplexity(test).overall
    for prior in (0.01, 1.0):
        assert shrunk < clicks.model(name)(prior=prior).fit(train).perplexity(test).overall
    assert set(model.strength_) == {*model.documents, "query", "document"}
    assert all(model.strength_[name] in STRENGTHS for name in model.documents)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "cascade"])  # has one click a page
def test_shrunk_fits_are_at_least_as_good_as_click_rates_by_rank(name):
    """Where documents tell nothing, only the rank counts: a model with strong priors is no worse."""
    rng = np.random.default_rng(1)
    pages, k = 2000, 5
    position = np.tile(np.arange(1, k + 1), pages)
    log = ClickLog(
        np.repeat(np.arange(pages), k),
        np.repeat(rng.integers(0, 400, pages), k),
        rng.integers(0, 10_000_000, pages * k),
        position,
        rng.random(pages * k) < 0.4 / position,
    )
    train, test = log.split(0.5, seed=0)
    plain = clicks.RankCTR().fit(train).perplexity(test).overall
    model = clicks.model(name)()
    if name == "trustpbm":
        with pytest.warns(RuntimeWarning, match="cannot identify trust: no documents link rank 2, 3"):
            model.fit(train)
    else:
        model.fit(train)
    found = model.perplexity(test).overall
    assert found < plain * (1.003 if name in ("pbm", "ubm", "trustpbm") else 1.005)


def test_documents_that_differ_are_shrunk_less():
    rng = np.random.default_rng(2)
    pages = 6000
    document = rng.integers(0, 200, pages)
    rates = {"alike": np.full(200, 0.3), "apart": np.where(np.arange(200) < 100, 0.02, 0.9)}
    found = {}
    for kind, rate in rates.items():
        click = rng.random(pages) < rate[document]
        log = ClickLog(np.arange(pages), document % 20, document, np.ones(pages, int), click)
        found[kind] = clicks.DocumentCTR().fit(log).strength_["attraction"]
    assert found["alike"] >= 64 > 4 >= found["apart"]


def test_the_strength_is_the_best_one_of_fits_that_have_converged():
    """EM that stops early shrinks too, so that a prior that is too weak looks good there."""
    rng = np.random.default_rng(4)
    pages, k, queries = 400, 10, 300
    query = np.repeat(rng.integers(0, queries, pages), k)
    rate = rng.beta(1.0, 4.0, size=(queries, k))
    position = np.tile(np.arange(1, k + 1), pages)
    click = rng.random(pages * k) < rate[query, position - 1] / position**0.7
    log = ClickLog(np.repeat(np.arange(pages), k), query, query * k + position, position, click)
    model = clicks.PBM()
    chosen = model.fit(log).strength_["attraction"]
    seen = Evidence.of(log, None)
    groups = {"query": seen.names.query, "document": seen.names.document}
    ranks = Ranks(["attraction"], model._rank_of_entry(seen), model.reads_ranks, groups)
    whole = model._problem(seen)
    model._centre(whole, seen, fixed=False)
    parts = model._folds(seen, whole)

    def held_out(strength):
        wanted = model.strength_ | {"attraction": strength}
        found = [centred(train, wanted, ranks, rounds=100).values for train, _ in parts]
        return sum(held.expect(values)[0] for (_, held), values in zip(parts, found, strict=True))

    assert held_out(chosen) >= max(held_out(chosen / 2), held_out(2 * chosen)) - 1.0  # of some 1,076


def test_the_centre_is_that_of_buhlmann_and_straub():
    """By hand: two documents of the first rank with 1 of 2 and 0 of 4 clicks, strength 2.

    Weights 1/4 and 1/6: (1/4) / (2/4 + 4/6) = 3/14; one more document's weight at the mean of all, which is
    the same: 3/14.
    """
    ranks = Ranks(["attraction"], np.array([0, 0]), False)
    centre = ranks.centres(np.array([1.0, 0.0]), np.array([2.0, 4.0]), 2.0)
    np.testing.assert_allclose(centre, 3 / 14)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=30),
    st.floats(0.1, 100),
    st.booleans(),
)
def test_centres_as_their_naive_twin(entries, strength, first_for_all):
    rank = np.array([one for one, _, _ in entries])
    yes = np.array([float(a) for _, a, _ in entries])
    trials = np.array([float(a + b) for _, a, b in entries])
    found = Ranks(["attraction"], rank, first_for_all).centres(yes, trials, strength)

    def total(values, chosen):
        return sum(v / (n + strength) for v, n, r in zip(values, trials, rank, strict=True) if r in chosen)

    everything = set(rank.tolist())
    mean = total(yes, everything) / max(total(trials, everything), 1e-12)
    for i, own in enumerate(rank.tolist()):
        at = {min(everything)} if first_for_all else {own}
        wanted = (total(yes, at) + mean) / (total(trials, at) + 1)
        assert found[i] == pytest.approx(min(max(wanted, 1e-4), 1 - 1e-4))


def test_unseen_documents_get_what_their_rank_says():
    train, _ = sparse("navigational", pages=800)
    model = clicks.DCM().fit(train)
    new = ClickLog([1, 1, 1], ["new"] * 3, ["a", "b", "c"], [1, 2, 3], [0, 0, 0])
    rate = [train.click[train.position == k].mean() for k in (1, 2, 3)]
    np.testing.assert_allclose(model.click_probability(new), rate, atol=0.06)
    assert np.ptp(model.relevance(new)) == 0  # relevance does not depend on where a document is listed


@pytest.mark.parametrize("counts", [False, True])
def test_folds_divide_the_log(counts):
    train, _ = sparse(pages=400)
    seen = Evidence.of(clicks.aggregate(train) if counts else train, None)
    held_clicks = held_impressions = 0
    parts = list(folds(seen))
    assert len(parts) == FOLDS
    for learn, held in parts:
        assert learn.n_pairs == held.n_pairs == seen.n_pairs
        assert learn.depth == held.depth == seen.depth
        assert learn.impressions + held.impressions == seen.impressions
        held_impressions += held.impressions
        held_clicks += held.cells().clicks.sum()
    assert held_impressions == len(train)
    assert held_clicks == train.click.sum()


def test_people_are_held_out_whole():
    rng = np.random.default_rng(3)
    pages = 300
    person = np.repeat(rng.integers(0, 40, pages), 2)
    log = ClickLog(
        np.repeat(np.arange(pages), 2),
        np.repeat(rng.integers(0, 9, pages), 2),
        np.tile([0, 1], pages),
        np.tile([1, 2], pages),
        rng.integers(0, 2, 2 * pages),
        user=person,
    )
    seen = Evidence.of(log, None)
    held = [len(part.pages.offsets) - 1 for _, part in folds(seen)]
    assert sum(held) == pages
    sizes = np.bincount(log.page_user.code)
    possible = {0}
    for size in sizes:
        possible |= {one + size for one in possible}
    assert all(one in possible for one in held)
    assert len(set(held)) > 1  # forty people do not divide into four equal parts of 75 pages


def test_large_logs_choose_on_some_queries(monkeypatch):
    monkeypatch.setattr("rankloop.clicks.fitting.folds.IMPRESSIONS", 600)
    train, _ = sparse(pages=2000)
    for seen in (Evidence.of(train, None), Evidence.of(clicks.aggregate(train), None)):
        learn, held = next(iter(folds(seen)))
        assert 600 <= learn.impressions + held.impressions < 0.9 * len(train)


def test_priors_that_are_not_known():
    train, _ = sparse(pages=50)
    with pytest.raises(ValueError, match="prior"):
        clicks.PBM(prior="strong").fit(train)
    with pytest.raises(ValueError, match="pseudo-counts >= 0"):
        clicks.PBM(prior=-1.0).fit(train)


def test_one_page_can_be_fitted():
    log = ClickLog([1, 1], ["q", "q"], ["a", "b"], [1, 2], [1, 0])
    for name in [name for name in MODELS if name != "trustpbm"]:  # which warns of this log
        model = clicks.model(name)().fit(log)
        assert np.all(np.isfinite(model.click_probability(log)))


def test_strengths_are_saved(tmp_path):
    train, _ = sparse(pages=300)
    model = clicks.DBN(iterations=5).fit(train)
    model.save(tmp_path / "dbn.model")
    again = clicks.load_model(tmp_path / "dbn.model")
    assert again.strength_ == model.strength_
    new = ClickLog([1, 1], ["new"] * 2, ["a", "b"], [1, 2], [0, 0])
    np.testing.assert_array_equal(again.click_probability(new), model.click_probability(new))


@pytest.mark.parametrize("name", ["pbm", "ubm"])
def test_a_rank_seen_more_often_than_the_first_is_said(name):
    rng = np.random.default_rng(4)
    data = RankingDataset.from_groups(np.zeros((240, 1)), rng.integers(0, 4, 240), [6] * 40)
    for first, warns in ((0.5, True), (1.0, False)):
        user = clicks.PBM(examination=[first, 1.0, 0.5], attraction=[0.1, 0.3, 0.5, 0.8])
        log = clicks.simulate(
            data, logging_policy=np.zeros(240), user=user, sessions=8000, k=3, temperature=1.0, seed=0
        )
        if warns:
            with pytest.warns(RuntimeWarning, match="rank 2 is examined more often than rank 1"):
                clicks.model(name)().fit(log)
        else:
            clicks.model(name)().fit(log)  # warnings are errors
