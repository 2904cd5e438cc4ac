"""Centres that move with the query and with the document."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankloop.clicks as clicks
from rankloop.clicks import ClickLog
from rankloop.clicks.fitting.kin import WIDEST, Centres, updated

MODELS = ("documentctr", "rankdocumentctr", "pbm", "ubm", "dcm", "dbn", "sdbn", "ccm")


def shared(seed=0, pages=1200, *, by="document", spread=1.5):
    """A log in which documents recur under other queries and keep what attracts, or queries do."""
    rng = np.random.default_rng(seed)
    queries, documents, k = 600, 80, 5
    query = rng.integers(0, queries, pages)
    shown = np.argsort(rng.random((pages, documents)), axis=1)[:, :k]
    of = shown if by == "document" else np.repeat(query[:, None], k, axis=1)
    logit = spread * rng.normal(size=max(queries, documents))[of] - 1.0
    position = np.arange(1, k + 1)
    click = rng.random((pages, k)) < 1 / (1 + np.exp(-logit)) / position**0.5
    return ClickLog(
        np.repeat(np.arange(pages), k), np.repeat(query, k), shown.reshape(-1), np.tile(position, pages),
        click.reshape(-1).astype(int),
    )  # fmt: skip


def test_a_factor_by_hand():
    """Four trials at .2 with two successes, weight 1: 2 + 1 = 4c + f where c = f / (4 + f): f = 1.6055."""
    groups = {"query": np.zeros(2, int)}
    at = Centres(np.full(2, 0.2), {"query": np.ones(1)})
    for _ in range(200):
        at = updated(at, groups, {"query": 1.0}, (np.array([2.0, 0.0]), np.array([3.0, 1.0])))
    f = float(at.odds["query"][0])
    assert f == pytest.approx((-5 + np.sqrt(25 + 48)) / 2)  # of f² + 5 f - 12 = 0
    np.testing.assert_allclose(at.of(groups), f / (4 + f))


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.integers(0, 3), st.floats(0.01, 0.9), st.floats(0, 20), st.floats(0, 1)
        ),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from([0.5, 4.0, np.inf]),
    st.sampled_from([1.0, np.inf]),
)
def test_a_step_is_what_plain_loops_find(entries, by_query, by_document):
    codes = {"query": [e[0] for e in entries], "document": [e[1] for e in entries]}
    rank, trials = [e[2] for e in entries], [e[3] for e in entries]
    yes = [e[3] * e[4] for e in entries]
    weights = {"query": by_query, "document": by_document}
    odds = {name: [1.0] * (max(code) + 1) for name, code in codes.items()}
    groups = {name: np.array(code) for name, code in codes.items()}
    at = Centres(np.array(rank), {name: np.array(one) for name, one in odds.items()})

    def centre(i):
        factor = odds["query"][codes["query"][i]] * odds["document"][codes["document"][i]]
        return min(max(rank[i] * factor / (1 - rank[i] + rank[i] * factor), 1e-4), 1 - 1e-4)

    for _ in range(3):
        at = updated(at, groups, weights, (np.array(yes), np.array(trials)))
        for name in ("query", "document"):
            if weights[name] == np.inf:
                continue
            seen, wanted = (
                [weights[name] * one for one in part] for part in ([1.0] * len(odds[name]), odds[name])
            )
            for i, code in enumerate(codes[name]):
                seen[code] += yes[i]
                wanted[code] += trials[i] * centre(i)
            moved = [one * a / b for one, a, b in zip(odds[name], seen, wanted, strict=True)]
            odds[name] = [min(max(one, 1 / WIDEST), WIDEST) for one in moved]
    np.testing.assert_allclose(at.of(groups), [centre(i) for i in range(len(entries))])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("by", ["query", "document"])
def test_pairs_never_seen_get_what_their_query_or_document_says(name, by):
    log = shared(by=by, spread=2.0)
    train, test = log.split(0.3, seed=0)
    model = clicks.model(name)().fit(train)
    assert model.strength_[by] <= 16
    plain = clicks.RankCTR().fit(train).perplexity(test).overall
    assert model.perplexity(test).overall < plain


def test_a_known_document_of_a_new_query():
    rng = np.random.default_rng(5)
    pages, k = 600, 4
    shown = np.argsort(rng.random((pages, 20)), axis=1)[:, :k]
    click = rng.random((pages, k)) < np.where(shown < 5, 0.8, 0.05)
    log = ClickLog(
        np.repeat(np.arange(pages), k), np.repeat(np.arange(pages), k), shown.reshape(-1),
        np.tile(np.arange(1, k + 1), pages), click.reshape(-1).astype(int),
    )  # fmt: skip
    model = clicks.PBM().fit(log)
    new = ClickLog([1, 1, 1], [9999] * 3, [0, 19, 777], [1, 2, 3], [0, 0, 0])
    good, bad, unknown = model.relevance(new)
    assert good > 0.6 > 0.4 > unknown > 0.12 > bad
    for document, value in zip((0, 19, 777), model.relevance(new), strict=True):
        assert model.relevance_[9999, document] == pytest.approx(value)


def test_relevance_of_unseen_pairs_is_the_same_by_table_and_by_log():
    log = shared(spread=2.0)
    model = clicks.DBN().fit(log)
    new = ClickLog([1] * 3, [10_000] * 3, [0, 1, 2], [1, 2, 3], [0, 0, 0])
    table = [model.relevance_[10_000, document] for document in range(3)]
    np.testing.assert_allclose(model.relevance(new), table)
    assert np.ptp(table) > 0


def test_what_queries_and_documents_share_is_saved(tmp_path):
    log = shared(spread=2.0)
    model = clicks.UBM().fit(log)
    model.save(tmp_path / "ubm.model")
    again = clicks.load_model(tmp_path / "ubm.model")
    assert again.strength_ == model.strength_
    new = ClickLog([1] * 3, [10_000] * 3, [0, 1, 2], [1, 2, 3], [0, 0, 0])
    np.testing.assert_array_equal(again.click_probability(new), model.click_probability(new))


def test_an_aggregate_learns_the_same_as_its_log():
    log = shared(spread=2.0)
    one, other = clicks.PBM(), clicks.PBM()
    one.fit(log)
    other.fit(clicks.aggregate(log))
    for model in (one, other):
        assert model.strength_["document"] <= 16
    gap = one.click_probability(log) - other.click_probability(log)
    assert np.abs(gap).mean() < 0.02
