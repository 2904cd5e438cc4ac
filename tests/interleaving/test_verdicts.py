"""Verdicts hold their error rates, see what is there, and plan what they need."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from naive import mixture_reach
from rankloop.data import synthetic
from rankloop.interleaving import (
    Duel,
    Optimized,
    Page,
    PairwisePreference,
    Probabilistic,
    TeamDraft,
    always_valid,
    click_contrasts,
    learn_weights,
    pages_needed,
    power,
    replay,
    simulate_duel,
    verdict,
)


def decided(outcomes):
    """Credits of pages won (1), lost (-1) or tied (0) by the first of two rankers."""
    return np.column_stack([outcomes, np.zeros(len(outcomes))])


def probable():
    return Probabilistic().combine([["a"], ["b"]], 1)


def unnoted():
    """A page from before its chance was noted."""
    whole = probable()
    return Page(whole.method, whole.documents, 2, {"shares": whole.notes["shares"], "tau": 3.0})


@pytest.mark.parametrize("people", [20, 200, 3000])
def test_one_look_is_the_t_test_over_people(people):
    random = np.random.default_rng(people)
    gap = random.normal(0.1, 0.3, 3 * people).clip(-1, 1)
    users = np.repeat(np.arange(people), 3)
    found = verdict(decided(gap), users=users.tolist())
    means = gap.reshape(people, 3).mean(axis=1)
    test = stats.ttest_1samp(means, 0)
    wide = np.sqrt(max(1, np.var([*means, -1, 1], ddof=1) / (people + 2) / (means.var(ddof=1) / people)))
    assert found.difference == pytest.approx(means.mean())
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(test.statistic) / wide, people - 1))
    interval = test.confidence_interval()
    assert found.high - found.low == pytest.approx(wide * (interval.high - interval.low))
    assert (found.low > 0) == (found.p_value < 0.05) == (found.winner == "A")


@pytest.mark.parametrize("how", [Optimized, Probabilistic, PairwisePreference, TeamDraft])
@pytest.mark.parametrize(
    ("rankings", "k", "pages"),
    [(("abcd", "bcda"), 4, 1500), (("abcdefghijklmnopqrst", "habcdefgijklmnopqrst"), 10, 300)],
)
def test_random_clicks_name_no_winner(how, rankings, k, pages):
    """The worst pairs of rankings: by sign, a winner was named in 40 of 40 experiments."""
    random = np.random.default_rng(1)
    method = how(seed=0)
    both = [list(one) for one in rankings]
    every = list(method.distribution(both, k)) if k == 4 or how is Optimized else []
    named, lopsided = 0, 0
    for _ in range(20):
        if every:
            drawn = random.choice(len(every), pages, p=[chance for _, chance in every])
            shown = [every[index][0] for index in drawn]
        else:
            shown = [method.combine(both, k) for _ in range(pages)]
        clicks = [[page.documents[random.integers(len(page))]] for page in shown]
        credits = np.array([method.credit(page, one) for page, one in zip(shown, clicks, strict=True)])
        found = verdict(credits)
        named += found.winner is not None
        named += always_valid(credits).winner is not None
        lopsided += stats.binomtest(found.wins, max(found.wins + found.losses, 1)).pvalue < 0.01
    assert named <= 5  # of 40 verdicts with 5 % each at most; six have a probability of 1.4 %
    if how is Optimized and k == 4:
        assert lopsided == 20, "here the number of wins says nothing about the rankers"


def test_the_table_of_the_lecture():
    """Propensity SVM-Rank beats production 87:48:83 and naive SVM-Rank 95:60:102, both significantly."""
    for wins, losses, ties in [(87, 48, 83), (95, 60, 102)]:
        found = verdict([[1, 0]] * wins + [[0, 1]] * losses + [[0, 0]] * ties, names=("propensity", "other"))
        assert (found.wins, found.losses, found.ties) == (wins, losses, ties)
        assert found.winner == "propensity"
        assert found.p_value < 0.01


def test_an_interval_that_is_wider_for_rare_credits_says_so():
    rare = verdict(np.column_stack([np.arange(200) % 50 == 0, np.full(200, 0.02)]))
    usual = verdict(np.eye(2)[np.arange(200) % 2])
    plain = np.var(np.where(np.arange(200) % 50 == 0, 0.98, -0.02), ddof=1) / 200
    half = (rare.high - rare.low) / 2
    assert rare.own_width == pytest.approx(stats.t.ppf(0.975, 199) * np.sqrt(plain) / half)
    assert "not seen yet; without them it would be 8" in str(rare)
    assert usual.own_width > 0.99
    assert "alone" not in str(usual)
    assert verdict([[0, 0]] * 5).own_width == 0


def test_users_widen_the_interval():
    """Ten alike pages of each user say no more than one."""
    random = np.random.default_rng(0)
    once = random.choice([1.0, 0.0], size=200, p=[0.55, 0.45])
    pages = np.repeat(np.column_stack([once, 1 - once]), 10, axis=0)
    users = np.repeat(np.arange(200), 10)
    alone, clustered = verdict(pages), verdict(pages, users=users.tolist())
    single = verdict(np.column_stack([once, 1 - once]))
    assert (clustered.low, clustered.high) == pytest.approx((single.low, single.high))
    assert alone.high - alone.low < 0.4 * (clustered.high - clustered.low)
    assert clustered.p_value == pytest.approx(single.p_value)


@pytest.mark.parametrize("credit", ["symmetric", "skewed"])
def test_the_interval_covers(credit):
    """95 % intervals of 1,000 experiments of 300 pages cover in 93 to 98 % (binomial error .7 %)."""
    random = np.random.default_rng(1)
    drawn = {
        "symmetric": lambda: random.choice([1.0, -1.0, 0.0], size=300, p=[0.4, 0.3, 0.3]),
        "skewed": lambda: np.where(random.random(300) < 0.1, 0.9, -0.1) + 0.1,
    }[credit]
    found = [verdict(decided(drawn())) for _ in range(1000)]
    assert 0.93 <= np.mean([one.low <= 0.1 <= one.high for one in found]) <= 0.98


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_every_look_equals_a_plain_loop(seed):
    random = np.random.default_rng(seed)
    pages = int(random.integers(1, 300))
    users = random.integers(0, random.integers(1, 300), pages).tolist()
    gap = np.where(random.random(pages) < 0.2, random.choice([0.9, 1.0, 3.0]), -0.1)
    found = always_valid(decided(gap), users=users)
    seen = {}
    for page in range(pages):
        seen.setdefault(users[page], []).append(gap[page])
        means = [np.mean(one) for one in seen.values()]
        largest = max(1.0, np.abs(gap[: page + 1]).max())
        n = len(means)
        extended = np.var([*means, -largest, largest], ddof=1) / (n + 2)
        v = max(np.var(means, ddof=1) / n if n > 1 else 0.0, extended)
        information = np.var([*(one[0] for one in seen.values()), -largest, largest], ddof=1) / v
        half = mixture_reach(v, information, 0.05)
        assert found.differences[page] == pytest.approx(np.mean(means), abs=1e-9)
        assert found.lows[page] == pytest.approx(max(np.mean(means) - half, -largest), abs=1e-9)
        assert found.highs[page] == pytest.approx(min(np.mean(means) + half, largest), abs=1e-9)
        if found.stop == page + 1:
            assert n >= 100
            assert abs(np.mean(means)) > half - 1e-9
        assert (found.p_values[page] < 0.05) == (found.stop is not None and found.stop <= page + 1)
    assert found.people == len(seen)


@pytest.mark.parametrize("rare", [None, 0.1, 0.02])
def test_the_sequential_test_holds_its_error_under_every_look(rare):
    """600 experiments without a difference, looked at after each of 2,000 pages."""
    random = np.random.default_rng(2)

    def drawn():
        if rare is None:
            return random.choice([1.0, -1.0, 0.0], size=2000, p=[0.35, 0.35, 0.3])
        return np.where(random.random(2000) < rare, 1 - rare, -rare)

    rejected = sum(always_valid(decided(drawn())).stop is not None for _ in range(600))
    assert rejected / 600 <= 0.05 + 2 * 0.0089


def test_daily_looks_at_a_fixed_test_would_not():
    """The reason for it: the usual test, looked at each 50 pages, rejects far too often."""
    random = np.random.default_rng(3)
    rejected = 0
    for _ in range(300):
        outcome = random.choice([1.0, -1.0], size=1000)
        rejected += any(verdict(decided(outcome[:n])).winner is not None for n in range(50, 1001, 50))
    assert rejected / 300 > 0.15


def test_the_sequential_interval_covers_at_all_times():
    random = np.random.default_rng(4)
    missed = 0
    for _ in range(300):
        result = always_valid(decided(np.where(random.random(800) < 0.6, 1.0, -1.0)))
        missed += bool(np.any((result.lows > 0.2) | (result.highs < 0.2)))
        assert np.all(result.lows <= result.highs + 1e-9)
    assert missed / 300 <= 0.05 + 3 * 0.0126  # three standard errors of 300 runs


def _people(random, people, pages):
    """Pages of people with tastes of their own, half of them for either ranker: nobody is better overall."""
    taste = np.repeat(random.choice([0.9, 0.1], people), pages)
    outcome = np.where(random.random(len(taste)) < taste, 1.0, -1.0)
    order = random.permutation(len(taste))
    return outcome[order], np.repeat(np.arange(people), pages)[order].tolist()


def test_many_pages_of_few_people_do_not_fool_the_sequential_test():
    """300 experiments of 120 people with 25 pages each, in mixed order: page by page most would reject."""
    random = np.random.default_rng(8)
    by_page, by_user = 0, 0
    for _ in range(300):
        outcome, users = _people(random, 120, 25)
        by_page += always_valid(decided(outcome)).stop is not None
        by_user += always_valid(decided(outcome), users=users).stop is not None
    assert by_page / 300 > 0.3
    assert by_user / 300 <= 0.05


def test_a_page_without_a_user_is_a_person():
    outcome = np.random.default_rng(9).choice([1.0, -1.0], 200)
    found = always_valid(decided(outcome), users=[None] * 200)
    assert found.lows.tolist() == always_valid(decided(outcome)).lows.tolist()


def test_the_sequential_test_sees_a_difference():
    random = np.random.default_rng(5)
    looks = [always_valid(decided(np.where(random.random(4000) < 0.55, 1.0, -1.0))) for _ in range(50)]
    assert all(look.winner == "A" and look.low > 0 for look in looks)
    assert np.median([look.stop for look in looks]) < 1500


def test_planned_pages_have_the_planned_power():
    """Simulated power of the planned number of pages within 4 points of 80 %."""
    n = pages_needed(0.1, ties=0.3)
    random = np.random.default_rng(6)
    outcome = random.choice([1, -1, 0], size=(1000, n), p=[0.4, 0.3, 0.3])
    z = outcome.mean(axis=1) / outcome.std(axis=1) * np.sqrt(n)
    assert np.mean(np.abs(z) > 1.96) == pytest.approx(0.8, abs=0.04)
    assert power(0.1, n, ties=0.3) == pytest.approx(0.8, abs=0.005)
    assert pages_needed(0.1, ties=0.3, pages_per_user=5, within_user=0.25) == pytest.approx(2 * n, abs=2)


def test_weights_of_click_kinds_need_fewer_pages():
    """Learned from one past comparison, judged on other rankers: mean over error of noisy users' clicks."""
    data = synthetic(n_queries=150, docs_per_query=20, n_features=5, seed=1)

    def compared(noise, seed):
        random = np.random.default_rng(seed)
        rankers = {name: data.y + by * random.normal(size=data.n_documents) for name, by in noise.items()}
        options = {"method": "probabilistic", "user": "informational", "pages": 3000, "seed": seed}
        return click_contrasts(simulate_duel(data, rankers, **options), "good", "poor")

    weights = learn_weights(compared({"good": 1.0, "poor": 3.0}, 0))
    plain, weighed = 0.0, 0.0
    for seed in (1, 2, 3):
        new = compared({"good": 1.5, "poor": 2.5}, seed)
        plain += new[:, 0].mean() / new[:, 0].std()
        weighed += (new @ weights).mean() / (new @ weights).std()
    assert weighed > 1.1 * plain


def test_click_kinds_by_hand():
    """Two clicks of one ranker on a page of team draft: any 2, first 1, last 1, top 1, only 0."""
    page = Page("team_draft", ("a", "b", "c"), 2, {"teams": [1, 0, 1]})
    pages = [page, page, page]
    duel = Duel(("x", "y"), pages, [["a", "c"], ["b"], []], np.zeros((3, 2)))
    wanted = [[-2, -1, -1, -1, 0], [1, 1, 1, 0, 1], [0, 0, 0, 0, 0]]
    assert click_contrasts(duel, "x", "y").tolist() == wanted
    assert click_contrasts(duel, "y", "x").tolist() == (-np.array(wanted)).tolist()


def test_learned_weights_need_fewer_pages():
    """Weights from a past experiment, judged on a new one with the same kinds of clicks."""
    random = np.random.default_rng(7)
    past, new = random.normal([0.1, 0.3, 0.0], [2.0, 1.0, 3.0], (2, 3000, 3))
    weights = learn_weights(past)
    weighed, plain = new @ weights, new[:, 0]
    assert weighed.mean() / weighed.std() > 2 * plain.mean() / plain.std()
    assert weights[1] > 0.7


def test_replay_matches_a_fresh_experiment():
    """Old pages of two rankers, re-weighed, give the mean credits that two new rankers get on fresh pages."""
    old = [list("abcd"), list("badc")]
    new = [list("acbd"), list("bacd")]
    attraction = {"a": 0.1, "b": 0.2, "c": 0.7, "d": 0.3}
    random = np.random.default_rng(9)

    def clicks(page):
        return [d for d in page.documents if random.random() < attraction[d]]

    method = Probabilistic(tau=1.0, seed=10)
    pages = [method.combine(old, 4) for _ in range(6000)]
    replayed = replay(pages, [clicks(p) for p in pages], [new] * 6000, tau=1.0)
    fresh = [method.combine(new, 4) for _ in range(6000)]
    wanted = np.mean([method.credit(p, clicks(p)) for p in fresh], axis=0)
    assert replayed.mean == pytest.approx(wanted, abs=0.03)
    assert 1000 < replayed.effective_pages < 6000
    assert replayed.weight.mean() == pytest.approx(1.0, abs=0.05)


def test_the_interval_of_a_replay_covers():
    """95 % intervals of 100 replays of 200 pages cover the exact difference (binomial error 2.2 %)."""
    old, new = [list("abc"), list("bac")], [list("acb"), list("bca")]
    attraction = {"a": 0.3, "b": 0.4, "c": 0.8}
    method = Probabilistic(tau=1.0, seed=11)
    random = np.random.default_rng(12)
    truth = sum(
        probability * attraction[document] * np.subtract(*method.credit(page, [document]))
        for page, probability in method.distribution(new, 3)
        for document in page.documents
    )
    covered = 0
    for _ in range(100):
        pages = [method.combine(old, 3) for _ in range(200)]
        clicks = [[d for d in page.documents if random.random() < attraction[d]] for page in pages]
        found = replay(pages, clicks, [new] * 200, tau=1.0).difference()
        covered += found.low <= truth <= found.high
    assert covered >= 88


def test_replayed_pages_of_one_user_vary_together():
    method = Probabilistic(seed=0)
    rankings = [list("abc"), list("cba")]
    page = method.combine(rankings, 3)
    clicked = [["a"], ["c"], ["a"], ["a"]] * 5
    found = replay([page] * 20, clicked, [rankings] * 20)
    alone, together = found.difference(), found.difference(users=[i // 4 for i in range(20)])
    assert together.mean == alone.mean
    assert together.high - together.low < 1e-9 < alone.high - alone.low  # every user clicked the same


def test_the_noted_chance_is_that_of_the_page():
    """By enumeration: the probability with which a page comes out is the one noted with it."""
    chances = {}
    for page, probability in Probabilistic(tau=2.0).distribution([list("abc"), list("cb")], 3):
        chances[page.documents] = chances.get(page.documents, 0.0) + probability
    for page, _ in Probabilistic(tau=2.0).distribution([list("abc"), list("cb")], 3):
        assert np.exp(page.notes["log_probability"]) == pytest.approx(chances[page.documents], rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: verdict([[1, 0, 0]]), "two columns, got shape"),
        (lambda: verdict((np.ones(5), np.ones(5))), "two columns become rows by numpy.column_stack"),
        (lambda: verdict([]), "no pages"),
        (lambda: verdict(np.zeros((0, 2))), "no pages"),
        (lambda: verdict([[1, np.nan]]), "finite"),
        (lambda: verdict([[1, 0]], confidence=95), "confidence lies between 0 and 1, got 95"),
        (lambda: verdict([[1, 0]], users=[1, 2]), "one entry per page"),
        (lambda: pages_needed(0.0), "between 0 and 1"),
        (lambda: pages_needed(0.6, ties=0.5), "between 0 and 1 - ties = 0.5"),
        (lambda: power(0.1, 0), "at least 1"),
        (lambda: always_valid([[1, 0]], confidence=2), "confidence lies between"),
        (lambda: always_valid([1]), "two columns, got shape"),
        (lambda: always_valid(np.zeros((0, 2))), "no pages"),
        (lambda: always_valid([[1, 0], [0, 1]], users=["a"]), "users needs one entry per page"),
        (lambda: learn_weights([[1.0]]), "at least two pages"),
        (lambda: replay([], [], []), "no pages"),
        (lambda: replay([probable()], [[]], []), "each page needs its clicks and new rankings, got 1, 1, 0"),
        (lambda: replay([probable()], [[]], [[["x"], ["y"]]]), "could have made none of these pages"),
        (lambda: replay([probable()] * 2, [[]] * 2, [[["a"]] * 2, [["a"]] * 3]), "got 2 here and 3 there"),
        (lambda: replay([unnoted()], [[]], [[["a"], ["b"]]]), "logged without its probability"),
        (
            lambda: replay([TeamDraft().combine([["a"], ["b"]], 1)], [[]], [[["a"], ["b"]]]),
            "only probabilistic",
        ),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
