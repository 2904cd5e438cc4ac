"""Simulated pages: the right queries, rankings, experiments and clicks, whatever the threads."""

import sys
from collections import Counter
from itertools import permutations

import numpy as np
import pytest

import rankloop.clicks as clicks
from rankloop._jit import over_lists
from rankloop.clicks import ClickLog, simulate
from rankloop.clicks.user import PRESETS
from rankloop.data import RankingDataset

RNG = np.random.default_rng(0)
DATA = RankingDataset.from_groups(
    RNG.normal(size=(20, 3)), RNG.integers(0, 5, 20), [7, 3, 10], qid=["a", "b", "c"]
)
SCORES = RNG.normal(size=20)
N = 60_000


def test_deterministic_pages_show_the_best_first():
    log = simulate(DATA, logging_policy=SCORES, user="perfect", sessions=300, k=5)
    for page in range(log.n_pages):
        a, b = log.offsets[page : page + 2]
        query = np.flatnonzero(DATA.qid == log.query[a])[0]
        rows = np.arange(*DATA.offsets[query : query + 2])
        wanted = rows[np.argsort(-SCORES[rows])][:5]
        np.testing.assert_array_equal(log.document[a:b], wanted)
        np.testing.assert_array_equal(log.position[a:b], np.arange(1, len(wanted) + 1))
    np.testing.assert_array_equal(log.rows(DATA), log.document)


def test_clicks_follow_the_model():
    user = clicks.DBN(attraction=[0.1, 0.3, 0.5, 0.7, 0.9], satisfaction=0.4, continuation=0.8)
    log = simulate(DATA, logging_policy=SCORES, user=user, sessions=N, k=6, seed=4)
    expected = user.click_probability(log, DATA)
    for rank in range(1, 7):
        at = log.position == rank
        error = np.sqrt(np.sum(expected[at] * (1 - expected[at])))
        assert abs(log.click[at].sum() - expected[at].sum()) < 4 * error


def test_queries_by_weight():
    log = simulate(DATA.replace(query_weight=[1, 0, 3]), logging_policy=SCORES, sessions=N)
    share = np.bincount(log.page_query.code, minlength=3) / N
    np.testing.assert_allclose(share, [0.25, 0, 0.75], atol=4 * np.sqrt(0.19 / N))
    even = np.bincount(simulate(DATA, logging_policy=SCORES, sessions=N).page_query.code) / N
    np.testing.assert_allclose(even, 1 / 3, atol=4 * np.sqrt(0.22 / N))


def test_plackett_luce_draws_every_ranking_with_its_probability():
    data = DATA.select([1])
    scores, temperature, k = np.array([0.3, -0.5, 1.0]), 0.7, 2
    log = simulate(data, logging_policy=scores, user="pbm", sessions=N, k=k, temperature=temperature)
    seen = Counter(map(tuple, log.document.reshape(-1, k).tolist()))
    weight = np.exp(scores / temperature)
    for one, two in permutations(range(3), 2):
        p = weight[one] / weight.sum() * weight[two] / (weight.sum() - weight[one])
        assert abs(seen[one, two] / N - p) < 4 * np.sqrt(p * (1 - p) / N)


def test_extreme_scores_and_temperatures_are_safe():
    log = simulate(DATA, logging_policy=SCORES * 1e6, sessions=100, temperature=1e-6, k=10)
    still = simulate(DATA, logging_policy=SCORES, sessions=100, k=10)
    np.testing.assert_array_equal(log.document, still.document)


@pytest.mark.parametrize("randomize", ["swap", "adjacent", "fairpairs", "shuffle"])
def test_experiments_say_what_they_did(randomize):
    plain = simulate(DATA, logging_policy=SCORES, sessions=N, k=5)
    log = simulate(DATA, logging_policy=SCORES, sessions=N, k=5, randomize=randomize, rate=0.5, top=4)
    np.testing.assert_array_equal(log.page_query.code, plain.page_query.code)
    np.testing.assert_array_equal(log.offsets, plain.offsets)
    # Putting every document back where it was gives the ranking of the logger.
    first = np.repeat(log.offsets[:-1], log.lengths)
    back = np.empty(len(log), np.int64)
    back[first + log.original_position - 1] = log.document
    np.testing.assert_array_equal(back, plain.document)
    assert np.all(log.original_position[log.position > 4] == log.position[log.position > 4])
    outside = log.intervention == "none"
    assert np.all(log.original_position[outside] == log.position[outside])
    assert 0.45 < np.mean(log.page_intervention.code > 0) < 0.52


def test_swaps_exchange_the_named_ranks_half_the_time():
    log = simulate(DATA.select([2]), logging_policy=SCORES[10:], sessions=N, k=6, randomize="swap")
    pages = log.original_position.reshape(-1, 6)
    names = log.page_intervention.values
    for rank in range(2, 7):
        chosen = pages[names == f"swap 1-{rank}"]
        assert abs(len(chosen) / N - 0.2) < 4 * np.sqrt(0.16 / N)
        swapped = chosen[:, 0] == rank
        assert abs(swapped.mean() - 0.5) < 4 * np.sqrt(0.25 / len(chosen))
        others = np.delete(np.arange(6), [0, rank - 1])
        assert np.all(chosen[:, others] == others + 1)
    adjacent = simulate(
        DATA.select([2]), logging_policy=SCORES[10:], sessions=2000, k=6, randomize="adjacent"
    )
    assert sorted(set(adjacent.page_intervention.values)) == [f"swap {k}-{k + 1}" for k in range(1, 6)]


def test_shuffles_are_uniform_and_fairpairs_are_coins():
    data, scores = DATA.select([2]), SCORES[10:]
    log = simulate(data, logging_policy=scores, sessions=N, k=4, randomize="shuffle", top=3)
    seen = Counter(map(tuple, log.original_position.reshape(-1, 4).tolist()))
    assert len(seen) == 6
    assert all(abs(n / N - 1 / 6) < 4 * np.sqrt(0.14 / N) for n in seen.values())
    pairs = simulate(data, logging_policy=scores, sessions=N, k=4, randomize="fairpairs")
    odd = pairs.original_position.reshape(-1, 4)[pairs.page_intervention.values == "fairpairs odd"]
    both = Counter(map(tuple, odd.tolist()))
    assert set(both) == {(1, 2, 3, 4), (2, 1, 3, 4), (1, 2, 4, 3), (2, 1, 4, 3)}
    assert all(abs(n / len(odd) - 0.25) < 4 * np.sqrt(0.19 / len(odd)) for n in both.values())


@pytest.mark.parametrize("options", [{}, {"temperature": 1.0}, {"randomize": "shuffle"}])
def test_threads_and_numbers_of_sessions_do_not_matter(options, monkeypatch):
    def columns(sessions):
        log = simulate(DATA, logging_policy=SCORES, user="dbn", sessions=sessions, k=4, seed=9, **options)
        return np.stack([log.document, log.position, log.click.astype(int)])

    one = columns(5000)
    few = columns(2000)
    np.testing.assert_array_equal(one[:, : few.shape[1]], few)
    split = lambda work, offsets: over_lists(work, offsets, threads=3)  # noqa: E731
    monkeypatch.setattr(sys.modules["rankloop.clicks.simulation.stage"], "over_lists", split)
    np.testing.assert_array_equal(columns(5000), one)


@pytest.mark.parametrize("user", ["trust", "navigational", "dbn"])
def test_the_short_way_gives_the_same_pages(user, monkeypatch):
    options = {"logging_policy": SCORES, "user": user, "sessions": 3000, "k": 5, "seed": 3}
    short = simulate(DATA, **options)
    monkeypatch.setattr(sys.modules["rankloop.clicks.simulation.stage"].Stage, "cuts", None)
    long = simulate(DATA, **options)
    for name in ("document", "position", "click"):
        np.testing.assert_array_equal(getattr(short, name), getattr(long, name))


def test_aggregates_are_those_of_the_log():
    for data in (DATA, DATA.replace(docid=[f"d{i % 11}" for i in range(20)])):
        options = {"logging_policy": SCORES, "user": "informational", "temperature": 0.5, "k": 4, "seed": 2}
        log = simulate(data, sessions=5000, **options)
        counted = clicks.simulate_aggregate(data, sessions=5000, chunk=700, **options)
        assert counted.to_frame().rows() == clicks.aggregate(log).to_frame().rows()


def test_documents_keep_their_ids():
    data = DATA.replace(docid=[f"d{i % 11}" for i in range(20)])
    log = simulate(data, logging_policy=SCORES, sessions=200)
    np.testing.assert_array_equal(data.docid[log.rows(data)], log.document)
    np.testing.assert_array_equal(data.row_qid[log.rows(data)], log.query)


def test_a_ranker_can_show_and_is_named():
    class Best:
        def predict(self, X):
            return X.y

    log = simulate(DATA, logging_policy=Best(), sessions=10, ranker="best", layout="phone")
    assert set(log.ranker) == {"best"}
    assert set(log.layout) == {"phone"}


def test_fitted_models_are_users_too():
    log = simulate(DATA, logging_policy=SCORES, sessions=3000, temperature=1.0)
    fitted = clicks.PBM().fit(log)
    again = simulate(DATA, logging_policy=SCORES, user=fitted, sessions=3000, temperature=1.0)
    assert abs(again.click.mean() - log.click.mean()) < 0.02
    layouts = clicks.ContextualPBM(examination={"phone": 0.5}, attraction=0.5)
    assert simulate(DATA, logging_policy=SCORES, user=layouts, sessions=5, layout="phone").n_pages == 5


def test_ties_do_not_follow_the_rows():
    data = RankingDataset.from_groups(np.zeros((4000, 1)), np.zeros(4000), [4] * 1000)
    log = simulate(data, logging_policy=np.zeros(4000), sessions=5000, k=1)
    share = np.bincount(log.document % 4) / 5000
    assert np.all(np.abs(share - 0.25) < 0.06)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sessions": 0}, "sessions is at least 1"),
        ({"sessions": 2.5}, "sessions is at least 1, and whole, got 2.5"),
        ({"user": None}, "user is a name such as 'pbm', or a click model, got NoneType"),
        ({"k": 0}, "k is at least 1"),
        ({"temperature": 0.0}, "temperature is above 0"),
        ({"rate": 2.0}, "rate is a share"),
        ({"randomize": "swaps"}, "did you mean 'swap'"),
        ({"randomize": "swap", "k": 1}, "at least two ranks"),
        ({"user": "navigation"}, "did you mean 'navigational'"),
        ({"logging_policy": [1.0]}, r"one score per row \(20\), got shape \(1,\)"),
        ({"logging_policy": np.full(20, np.nan)}, "must be finite, got nan"),
        ({"user": clicks.RankDocumentCTR(attraction=0.1)}, "simulate with another model"),
        ({"user": clicks.ContextualPBM(examination={"phone": 1.0}, attraction=0.1)}, "pass layout="),
        ({"user": clicks.PBM(examination=[1.0], attraction=0.1)}, "values for 1 ranks but rank 10 is shown"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        simulate(DATA, **{"logging_policy": SCORES, "sessions": 10, **options})


def test_aggregate_options_are_checked():
    with pytest.raises(
        TypeError, match=r"simulate_aggregate\(\) .* 'temprature'; did you mean 'temperature'"
    ):
        clicks.simulate_aggregate(DATA, sessions=10, logging_policy=SCORES, temprature=1.0)
    with pytest.raises(ValueError, match="chunk are at least 1"):
        clicks.simulate_aggregate(DATA, sessions=10, chunk=0, logging_policy=SCORES)


def naive_sessions(data, scores, click, stop, sessions, k, rng):
    """The same experiment in plain loops: a cascade user with grades, a deterministic logger."""
    clicked = np.zeros(k)
    for _ in range(sessions):
        query = rng.integers(data.n_queries)
        rows = np.arange(*data.offsets[query : query + 2])
        for rank, row in enumerate(rows[np.argsort(-scores[rows])][:k]):
            grade = int(data.y[row])
            if rng.random() < click[grade]:
                clicked[rank] += 1
                if rng.random() < stop[grade]:
                    break
    return clicked / sessions


def test_the_presets_do_what_the_literature_says():
    click, stop = (0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)
    wanted = naive_sessions(DATA, SCORES, click, stop, 4000, 3, np.random.default_rng(1))
    log = simulate(DATA, logging_policy=SCORES, user="navigational", sessions=N, k=3)
    found = np.bincount(log.position - 1, log.click) / N
    assert np.all(np.abs(found - wanted) < 4 * np.sqrt(0.25 / 4000))


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("max_label", [1, 4])
def test_every_preset_resolves(name, max_label):
    user = clicks.user(name, max_label=max_label)
    p = user.click_probability(np.full(15, max_label))
    assert np.all((p >= 0) & (p <= 1))
    assert p[0] > user.click_probability([0])[0]
    assert clicks.user(user) is user


def test_trust_defaults_by_hand():
    user = clicks.user("trust")
    seen = 0.35 / 2 + 0.65 / 1.05
    assert user.alpha(2)[1] == pytest.approx(seen * (1 / 1.005 - 0.325))
    assert user.beta(2)[1] == pytest.approx(seen * 0.325)


def test_a_log_of_the_simulator_is_a_log():
    log = simulate(DATA, logging_policy=SCORES, sessions=50, randomize="swap", ranker="x")
    again = ClickLog(**dict(log.columns()))
    for (name, one), (_, other) in zip(log.columns(), again.columns(), strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)
