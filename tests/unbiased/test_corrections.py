"""Every correction against the truth it estimates: exactly in expectation, and by replication."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloop as rl
from rankloop.clicks import PBM, ClickLog, TrustPBM, aggregate, simulate
from rankloop.data import RankingDataset, synthetic
from rankloop.propensity import Propensity
from rankloop.unbiased import (
    affine,
    clipped,
    direct_method,
    display_probability,
    doubly_robust,
    intervention_aware,
    ips,
    naive,
    policy_aware,
    relevance,
    snips,
)
from rankloop.unbiased.estimation.evidence import Evidence, evidence
from rankloop.unbiased.relevance import METHODS, estimator

DEPTH = 5
THETA = 1.0 / np.arange(1, DEPTH + 1)
ALPHA, BETA = np.array([0.35, 0.5, 0.45, 0.4, 0.3]), np.array([0.65, 0.3, 0.2, 0.1, 0.05])


def drawn(seed, queries=200, pages=20, alpha=THETA, beta=None, docs=DEPTH):
    """Evidence whose clicks are expectations: five documents a query, each page in a random order."""
    rng = np.random.default_rng(seed)
    data = RankingDataset.from_groups(
        rng.normal(size=(queries * docs, 2)), np.zeros(queries * docs), np.full(queries, docs)
    )
    gamma = rng.uniform(0.05, 1, data.n_documents)
    counts = np.zeros((data.n_documents, DEPTH))
    for query in range(queries):
        for _ in range(pages):
            order = rng.permutation(docs)[:DEPTH] + query * docs
            counts[order, np.arange(DEPTH)] += 1
    row, rank = np.nonzero(counts)
    shown = counts[row, rank]
    a, b = alpha[rank], np.zeros(len(rank)) if beta is None else beta[rank]
    seen = Evidence(
        data,
        row,
        (rank + 1).astype(np.int32),
        shown,
        shown * (a * gamma[row] + b),
        a,
        b,
        np.full(queries, pages),
    )
    return seen, gamma


def replicated(seen, methods, loss, repeats=2000, seed=0):
    """Mean and standard error of the estimate of a loss over repeated clicks."""
    rng = np.random.default_rng(seed)
    chance = seen.clicks / seen.impressions
    found = {name: np.empty(repeats) for name in methods}
    for i in range(repeats):
        again = replace(seen, clicks=rng.binomial(seen.impressions.astype(int), chance).astype(float))
        for name, method in methods.items():
            found[name][i] = (method(again) * loss).sum() / seen.data.n_queries
    return {name: (v.mean(), v.std(ddof=1) / np.sqrt(repeats)) for name, v in found.items()}


def test_ips_is_unbiased_and_naive_is_not():
    seen, gamma = drawn(0)
    loss = np.random.default_rng(1).uniform(size=len(gamma))
    truth = (gamma * loss).sum() / seen.data.n_queries
    found = replicated(seen, {name: METHODS[name] for name in ("naive", "ips")}, loss)
    assert abs(found["ips"][0] - truth) < 3 * found["ips"][1]
    assert abs(found["naive"][0] - truth) > 20 * found["naive"][1]


@pytest.mark.parametrize("method", ["ips", "policy_aware", "affine", "intervention_aware"])
def test_expected_clicks_give_relevance_back(method):
    seen, gamma = drawn(2)
    assert METHODS[method](seen) == pytest.approx(gamma)


@pytest.mark.parametrize("method", ["affine", "intervention_aware"])
def test_trust_is_taken_away(method):
    seen, gamma = drawn(3, alpha=ALPHA, beta=BETA)
    assert METHODS[method](seen) == pytest.approx(gamma)
    with pytest.raises(ValueError, match="use affine"):
        METHODS["ips"](seen)


def test_ips_is_biased_under_trust_for_the_examination_curve():
    seen, gamma = drawn(3, alpha=ALPHA, beta=BETA)
    assert (
        np.abs(
            METHODS["ips"](replace(seen, alpha=ALPHA[seen.position - 1], beta=0 * seen.beta)) - gamma
        ).max()
        > 0.3
    )


def test_the_intercept_is_beta_and_not_alpha():
    """A published script interpolated alpha where beta belongs."""
    seen, gamma = drawn(4, alpha=ALPHA, beta=BETA)
    rate = seen.rate()
    by_hand = (rate - np.bincount(seen.row, seen.impressions * BETA[seen.position - 1]) / 20) / (
        np.bincount(seen.row, seen.impressions * ALPHA[seen.position - 1]) / 20
    )
    assert METHODS["intervention_aware"](seen) == pytest.approx(by_hand)
    assert by_hand == pytest.approx(gamma)


def test_a_cut_off_biases_plain_clicks_and_no_correction():
    """Top 5 of 20 under a Plackett-Luce logger: what is shown rarely counts for what it is."""
    rng = np.random.default_rng(5)
    data = RankingDataset.from_groups(np.zeros((200, 1)), np.zeros(200), np.full(10, 20))
    gamma, scores = rng.uniform(0.05, 1, 200), rng.normal(size=200)
    chance = {k: display_probability(scores, data.offsets, k=k, samples=4000) for k in (5, 8)}
    theta = 1.0 / np.arange(1, 9)
    for rho in chance.values():
        row, rank = np.nonzero(rho)
        pages = 1000.0
        shown = rho[row, rank] * pages
        seen = Evidence(
            data, row, (rank + 1).astype(np.int32), shown, shown * theta[rank] * gamma[row], theta[rank],
            np.zeros(len(row)), np.full(10, pages),
        )  # fmt: skip
        assert METHODS["policy_aware"](seen) == pytest.approx(gamma)
        assert METHODS["policy_aware"](seen, rho) == pytest.approx(gamma)
        assert METHODS["ips"](seen) == pytest.approx(gamma)
        assert METHODS["snips"](seen) == pytest.approx(gamma)
        assert METHODS["affine"](seen) == pytest.approx(gamma)
        assert np.mean(METHODS["naive"](seen) / gamma) < 0.5


def test_display_probability_equals_enumeration():
    from itertools import permutations

    logits = np.array([0.3, -1.0, 1.2, 0.0])
    exact = np.zeros((4, 3))
    for order in permutations(range(4), 3):
        left, chance = np.exp(logits).copy(), 1.0
        for document in order:
            chance *= left[document] / left.sum()
            left[document] = 0
        exact[order, np.arange(3)] += chance
    found = display_probability(2 * logits, [0, 4], k=3, temperature=2.0, samples=40_000)
    assert found[:, 0] == pytest.approx(exact[:, 0])
    assert found == pytest.approx(exact, abs=0.005)
    short = display_probability(logits, [0, 1, 4], k=3, samples=10)
    assert short[0].tolist() == [1, 0, 0]


def test_doubly_robust_in_all_five_cells():
    r"""Unbiased if the guess or the display is right; else off by (gamma - guess)(true / used slope - 1)."""
    seen, gamma = drawn(6, alpha=ALPHA, beta=BETA)
    rng = np.random.default_rng(7)
    wrong_guess = np.clip(gamma + rng.normal(scale=0.3, size=len(gamma)), 0, 1)
    right = np.zeros((len(gamma), DEPTH))
    right[seen.row, seen.position - 1] = seen.impressions / 20
    wrong = np.clip(right * 0.5, 0, 1)
    dr = METHODS["doubly_robust"]
    assert dr(seen, gamma, right, 0.0) == pytest.approx(gamma)
    assert dr(seen, wrong_guess, right, 0.0) == pytest.approx(gamma)
    assert dr(seen, gamma, wrong, 0.0) == pytest.approx(gamma)
    true, used = seen.slope(), wrong @ ALPHA
    assert dr(seen, wrong_guess, wrong, 0.0) == pytest.approx(
        gamma + (gamma - wrong_guess) * (true / used - 1)
    )
    tau = float(np.median(true))
    off = (gamma - wrong_guess) * (true / np.maximum(tau, true) - 1)
    assert dr(seen, wrong_guess, right, tau) == pytest.approx(gamma + off)
    scaled = replace(seen, alpha=seen.alpha * 0.8)
    residual = 0.2 * true * gamma / (0.8 * true)
    assert dr(scaled, gamma, None, 0.0) == pytest.approx(gamma + residual)


def test_doubly_robust_varies_less_than_ips():
    _, gamma = drawn(8, queries=50)
    rng = np.random.default_rng(9)
    guess = np.clip(gamma + rng.normal(scale=0.1, size=len(gamma)), 0, 1)
    assert np.corrcoef(guess, gamma)[0, 1] > 0.5
    once, _ = drawn(8, queries=50, pages=1)  # one page: every document at one rank, as under a fixed logger
    loss = rng.uniform(size=len(gamma))
    methods = {"ips": METHODS["ips"], "dr": lambda one: METHODS["doubly_robust"](one, guess, None, 0.0)}
    found = replicated(once, methods, loss, repeats=1000)
    assert found["dr"][1] < found["ips"][1]


def test_clipping_has_the_bias_of_its_formula_and_less_variance():
    seen, gamma = drawn(10)
    errors = []
    for tau in (0.0, 0.3, 0.6):
        expected = np.bincount(
            seen.row, seen.impressions * gamma[seen.row] * seen.alpha / np.maximum(tau, seen.alpha)
        )
        assert METHODS["clipped"](seen, tau) == pytest.approx(expected / 20)
        method = {"x": lambda one, tau=tau: METHODS["clipped"](one, tau)}
        errors.append(replicated(seen, method, np.ones(len(gamma)), repeats=200)["x"][1])
    assert errors[0] > errors[1] > errors[2]


def test_snips_shifts_with_the_loss_and_ips_does_not():
    data = RankingDataset.from_groups(np.zeros((80, 1)), np.arange(80) % 5, np.full(20, 4))
    shuffled = simulate(data, logging_policy=data.y, sessions=500, k=4, randomize="shuffle", seed=0)
    seen = evidence(shuffled, 1.0 / np.arange(1, 5), data)
    loss = np.random.default_rng(0).uniform(size=seen.data.n_documents)
    value = lambda method, loss: (METHODS[method](seen) * loss) @ seen.sessions[data.row_query] / 500  # noqa: E731
    page = value("snips", np.ones(len(loss)))  # the relevance of a page: clicks over examinations
    examined = np.bincount(seen.row, seen.impressions * seen.alpha)
    each = np.bincount(seen.row, seen.clicks) / examined
    assert page == pytest.approx(each @ seen.sessions[data.row_query] / 500)
    assert value("snips", loss + 3) - value("snips", loss) == pytest.approx(3 * page)
    assert abs(value("ips", loss + 3) - value("ips", loss) - 3 * page) > 0.05


@given(st.integers(0, 10_000))
def test_corrections_equal_plain_loops(seed):
    rng = np.random.default_rng(seed)
    data = RankingDataset.from_groups(np.zeros((6, 1)), np.zeros(6), [2, 4])
    pages = rng.integers(1, 6)
    rows = {"session": [], "query": [], "document": [], "position": [], "click": []}
    for page in range(pages):
        query = int(rng.integers(2))
        order = rng.permutation([0, 1] if query == 0 else [2, 3, 4, 5])[:3]
        for rank, document in enumerate(order, 1):
            for name, value in zip(rows, (page, query + 1, document, rank, rng.integers(2)), strict=True):
                rows[name].append(int(value))
    log = ClickLog(**rows)
    user = TrustPBM(relevant=[1.0, 0.6, 0.4], other=[0.5, 0.2, 0.1], attraction=0.5)
    curve = [1.0, 0.5, 0.25]
    sessions = {
        q: len({s for s, x in zip(rows["session"], rows["query"], strict=True) if x == q}) for q in (1, 2)
    }
    wanted = {name: np.zeros(6) for name in ("naive", "ips", "clipped", "affine")}
    for _, query, document, rank, click in zip(*rows.values(), strict=True):
        n, shown = sessions[query], rows["document"].count(document)
        alpha, beta = user.alpha(3)[rank - 1], user.beta(3)[rank - 1]
        wanted["naive"][document] += click / n
        wanted["ips"][document] += click / curve[rank - 1] / shown
        wanted["clipped"][document] += click / max(0.4, curve[rank - 1]) / shown
        wanted["affine"][document] += (click - beta) / alpha / shown
    for name, expected in wanted.items():
        bias = user if name == "affine" else curve
        options = {"tau": 0.4} if name == "clipped" else {}
        assert relevance(log, bias, data, method=name, **options) == pytest.approx(expected)
    counted = relevance(aggregate(log), curve, data, method="ips")
    assert counted == pytest.approx(wanted["ips"])  # every page has a rank 1, so counts know the pages


def test_labels_are_ready_for_any_ranker():
    data = synthetic(n_queries=40, docs_per_query=8, n_features=6, seed=0)
    log = simulate(data, logging_policy=data.X[:, 0], sessions=3000, k=5, seed=1)
    curve = 1.0 / np.arange(1, 6)
    for made in (
        naive(log, data),
        ips(log, curve, data),
        clipped(log, curve, data),
        snips(log, curve, data),
        policy_aware(log, curve, data),
        affine(log, curve, data),
        intervention_aware(log, curve, data),
    ):
        assert made.n_documents == len(np.unique(log.document))
        assert made.query_weight.mean() == pytest.approx(1.0)
        rl.LinearRanker(loss=rl.losses.LambdaRank(metric="dcg", gain="linear"), iterations=5).fit(made)
    kept = ips(log, curve, data, unseen="keep")
    assert kept.n_documents == data.n_documents
    assert log.rows(made).min() >= 0  # documents keep their names: the log still finds them


def test_negative_estimates_are_raised_by_list_and_stay_reachable():
    data = RankingDataset([[0.0], [1.0], [2.0]], [0, 0, 0], ["q"] * 3, docid=["x", "y", "z"])
    user = TrustPBM(relevant=[1.0, 0.5], other=[0.5, 0.0], attraction=0.5)
    log = ClickLog([1, 1], ["q"] * 2, ["x", "y"], [1, 2], [0, 1])
    raw = relevance(log, user, data, method="affine")
    assert raw.tolist() == [-1.0, 2.0, 0.0]
    assert affine(log, user, data).y.tolist() == [0.0, 3.0]
    assert affine(log, user, data, unseen="keep").y.tolist() == [0.0, 3.0, 1.0]


def test_each_layout_has_its_own_curve():
    data = RankingDataset([[0.0], [1.0]], [0, 0], ["q", "q"], docid=["x", "y"])
    log = ClickLog(
        [1, 1, 2, 2], ["q"] * 4, ["x", "y"] * 2, [1, 2, 1, 2], [0, 1, 0, 1],
        layout=["phone", "phone", "desk", "desk"],
    )  # fmt: skip
    curves = {"phone": Propensity.given([1.0, 0.25]), "desk": Propensity.given([1.0, 0.5])}
    assert relevance(log, curves, data, method="ips").tolist() == [0.0, 3.0]
    with pytest.raises(ValueError, match="no curve"):
        ips(log, {"phone": curves["phone"]}, data)


def test_the_log_may_cover_part_of_the_queries():
    data = synthetic(n_queries=10, docs_per_query=5, n_features=3, seed=0)
    first = data.select(np.arange(4))
    log = simulate(first, logging_policy=first.y, sessions=300, seed=0)
    made = ips(log, 1.0 / np.arange(1, 11), data)
    assert set(made.qid) == set(first.qid)
    seen = evidence(log, None, data)
    assert seen.sessions.sum() == 300
    assert seen.sessions[4:].sum() == 0


def test_ids_may_be_text_in_the_log_and_numbers_in_the_data_set():
    data = synthetic(n_queries=12, docs_per_query=5, n_features=3, seed=0)  # as text, "10" is before "2"
    log = simulate(data, logging_policy=data.y, sessions=600, k=3, seed=0)
    columns = dict(log.columns())
    texts = ClickLog(**{**columns, "query": log.query.astype(str), "document": log.document.astype(str)})
    theta = 1.0 / np.arange(1, 4)
    for source in (texts, aggregate(texts)):
        np.testing.assert_array_equal(
            evidence(source, None, data).sessions, evidence(log, None, data).sessions
        )
        made, wanted = ips(source, theta, data), ips(log, theta, data)
        np.testing.assert_array_equal(made.y, wanted.y)
        np.testing.assert_array_equal(made.query_weight, wanted.query_weight)


def test_more_sessions_do_not_make_a_larger_set():
    data = synthetic(n_queries=5, docs_per_query=5, n_features=3, seed=0)
    sizes = {
        ips(
            simulate(data, logging_policy=data.y, sessions=n, seed=0), 1.0 / np.arange(1, 11), data
        ).n_documents
        for n in (1000, 50_000)
    }
    assert len(sizes) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda log, data: ips(log, [1.0], data), "the log shows rank"),
        (lambda log, data: ips(log, [1.0, 0.0, 0.1, 0.1, 0.1], data), "above 0 per rank"),
        (lambda log, data: clipped(log, THETA, data, tau=2.0), "tau lies in"),
        (lambda log, data: ips(log, THETA, data, unseen="zero"), "unknown unseen"),
        (lambda log, data: relevance(log, THETA, data, method="isp"), "did you mean 'ips'"),
        (lambda log, data: direct_method(log, THETA, data, relevance=[0.5]), "one probability per row"),
        (lambda log, data: doubly_robust(log, THETA, data, folds=1), "folds lies between"),
        (lambda log, data: policy_aware(log, THETA, data, display=[[1.0]]), "one column per rank"),
        (lambda log, data: ips(log, {"a": None}, data), "column layout"),
        (lambda log, data: ips(log.select([]), THETA, data), "empty"),
        (lambda log, data: display_probability([1.0], [0, 1], k=0), "at least 1"),
    ],
)
def test_mistakes_are_explained(call, message):
    data = synthetic(n_queries=4, docs_per_query=6, n_features=3, seed=0)
    log = simulate(
        data, logging_policy=data.y, user=PBM(examination=THETA, attraction=0.5), sessions=50, k=5, seed=0
    )
    with pytest.raises(ValueError, match=message):
        call(log, data)


def test_a_model_is_made_once_for_several_questions():
    data = synthetic(n_queries=30, docs_per_query=8, n_features=4, seed=0)
    log = simulate(data, logging_policy=data.X[:, 0], sessions=3000, k=5, seed=1)
    ranker = rl.LambdaMART(trees=5, leaves=4, threads=1, min_sum_hessian=1.0)
    ask = estimator("doubly_robust", data, ranker=ranker, tau=0.0)
    seen = evidence(log, THETA, data)
    assert np.array_equal(ask(seen), ask(seen))
    assert direct_method(log, THETA, data, ranker=ranker).y.max() < 1
