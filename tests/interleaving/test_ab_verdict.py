"""A/B verdicts: people are the units, and the interval holds at every look."""

from math import log, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln

from naive import mixture_reach
from rankloop.interleaving import ab_verdict, always_valid, sample_ratio
from rankloop.interleaving.sequential.clock import counted_information, part_of_plan
from rankloop.interleaving.sequential.people import People, first_pages, person_codes
from rankloop.interleaving.sequential.renewal import renewal

WIDER = 1.07
DEARER = 3.0


def variance(values):
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1) if len(values) > 1 else 0.0


def clock(values, users, arms, arm, planned):
    """What the clock counts after the last page: information, and part and excess of a plan.

    It has tests of its own; here it is given all pages of people at once.
    """
    both = {user for user, side in zip(users, arms, strict=True) if arm[user] != side}
    code, leaves, left = person_codes(users, len(users)), [], set()
    stays = []
    for user, side in zip(users, arms, strict=True):
        stays.append(user not in left)
        leaves.append(user not in left and arm[user] != side)
        left |= {user} if leaves[-1] else set()
    assert left == both
    kept = np.array(stays)
    people = People(np.array(values)[kept], code[kept], np.array(leaves)[kept])
    first = np.array([arm[user] == "a" for user in users])[kept].astype(float)
    a, b = people.means(first), people.means(1 - first)
    ready = 4 * a.count * b.count / np.maximum(a.count + b.count, 1) >= 100
    moved = renewal(people, ready, 0.0, 1.0)
    if planned is not None:
        found = part_of_plan(a.count + b.count, planned, people.firsts().count, moved, ready)
        return found[0][-1], found[1][-1]
    n, m, everybody = np.maximum(a.count, 1), np.maximum(b.count, 1), a + b
    v = np.maximum(everybody.variance() * (1 / n + 1 / m), a.variance() / n + b.variance() / m)
    v = np.maximum(v, a.variance(0, 1) / (n + 2) + b.variance(0, 1) / (m + 2))
    return counted_information(4 * people.firsts().variance(0, 1) / v, moved, ready)[-1]


def naive(values, arms, users, planned=None, confidence=0.95):
    """One look, as a loop over people: difference, half of the interval, effective people, or None."""
    pages, arm, both, seen_pages = {}, {}, set(), 0
    for value, side, user in zip(values, arms, users, strict=True):
        if planned is not None and len(pages) >= planned:
            break
        seen_pages += 1
        pages.setdefault(user, []).append(value)
        if arm.setdefault(user, side) != side:
            both.add(user)
    means = {user: sum(seen) / len(seen) for user, seen in pages.items() if user not in both}
    a = [mean for user, mean in means.items() if arm[user] == "a"]
    b = [mean for user, mean in means.items() if arm[user] == "b"]
    if not a or not b:
        return None
    extra_a, extra_b = variance([*a, 0, 1]), variance([*b, 0, 1])
    v = max(
        variance(a + b) * (1 / len(a) + 1 / len(b)),
        variance(a) / len(a) + variance(b) / len(b),
        extra_a / (len(a) + 2) + extra_b / (len(b) + 2),
    )
    counted = clock(*(one[:seen_pages] for one in (values, users, arms)), arm, planned)
    if planned is None:
        first = [seen[0] for seen in pages.values()]
        information = 4 * variance([*first, 0, 1]) / v
        half = max(mixture_reach(v, one, 1 - confidence) for one in (information, counted))
    else:
        part, excess = counted
        z = -NormalDist().inv_cdf((1 - confidence) / 4 / (1 + DEARER * excess) ** 2)
        half = WIDER * z * sqrt(v / part)
    return (sum(a) / len(a) - sum(b) / len(b), half, 4 * len(a) * len(b) / (len(a) + len(b)), len(both))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([None, 100, 130]), st.sampled_from([0.9, 0.95]))
def test_every_look_equals_a_plain_loop(seed, planned, confidence):
    random = np.random.default_rng(seed)
    pages = int(random.integers(2, 500))
    users = random.integers(0, random.integers(2, 400), pages)
    habit = random.random(400) < 0.5
    arms = np.where(habit[users] ^ (random.random(pages) < 0.01), "a", "b").tolist()
    values = np.round(random.random(pages) ** np.where(np.array(arms) == "a", 1, 6), 2)
    winner = None
    for look in sorted({2, pages // 2, *range(max(pages - 30, 2), pages + 1)}):
        seen = values[:look], arms[:look], users[:look].tolist()
        found = ab_verdict(
            *seen, planned=planned, confidence=confidence, names=("a", "b"), share=float(habit.mean())
        )
        wanted = naive(*seen, planned, confidence)
        if wanted is None:
            assert np.isnan(found.difference)
            assert found.winner is None
            continue
        difference, half, effective, both = wanted
        assert found.difference == pytest.approx(difference, abs=1e-9)
        assert found.low == pytest.approx(max(difference - half, -1), abs=1e-9)
        assert found.high == pytest.approx(min(difference + half, 1), abs=1e-9)
        assert found.effective_people == pytest.approx(effective)
        if planned is None:
            assert found.dropped == both
        if winner is not None and not found.ratio.mismatch:
            assert found.winner == winner
        if effective >= 100 and abs(difference) > half + 1e-9 and not found.ratio.mismatch:
            assert found.winner is not None
        winner = winner or found.winner


def test_the_first_winner_stays():
    """200 people for `a`, then as many who do not care: the winner named first is the winner."""
    values = [1, 0] * 100 + [0, 0] * 2000
    arms = ["a", "b"] * 2100
    early = ab_verdict(values[:200], arms[:200], range(200))
    late = ab_verdict(values, arms, range(4200))
    assert early.winner == late.winner == "a"
    assert early.stop == late.stop < 200
    assert late.p_value == pytest.approx(early.p_value, rel=1e-9)


def test_no_winner_below_a_hundred_effective_people():
    few = ab_verdict([1, 0] * 49, ["a", "b"] * 49, range(98))
    enough = ab_verdict([1, 0] * 51, ["a", "b"] * 51, range(102))
    assert few.winner is None
    assert few.reason == "100 effective people are needed, there are 98"
    assert enough.winner == "a"


def test_people_are_the_units_of_an_ab_verdict():
    """Forty pages of one person tell little more than one: the interval is much wider."""
    random = np.random.default_rng(1)
    habit = np.repeat(random.random(40) < 0.5, 40)
    arm = np.repeat(np.arange(40) % 2 == 0, 40)
    by_person = ab_verdict(habit, arm, np.repeat(np.arange(40), 40).astype(str).tolist())
    by_page = ab_verdict(habit, arm, range(1600))
    assert by_person.high - by_person.low > 3 * (by_page.high - by_page.low)


def test_people_and_pages_are_told_apart():
    """Clickers make more pages in one arm: nobody's rate differs, the mean over pages does."""
    users = [*range(100), *[user for user in range(100, 200) for _ in range(1 + 4 * (user % 2))]]
    arms = ["a"] * 100 + ["b"] * 300
    values = [user % 2 for user in users]
    found = ab_verdict(values, arms, users)
    assert found.means == (0.5, 0.5)
    assert found.page_difference == pytest.approx(0.5 - 250 / 300)
    assert (found.difference, found.winner, found.pages, found.people) == (0, None, (100, 300), (100, 100))


def test_people_in_both_arms_are_dropped_and_counted():
    values, arms = [1, 0] * 100 + [1.0], ["a", "b"] * 100 + ["b"]
    found = ab_verdict(values, arms, [*range(200), 0])
    assert found.dropped == 1
    assert found.people == (99, 100)
    assert found.means == (1.0, 0.0)
    assert "over 99 and 100 people (1 seen in both arms are left out)" in str(found)


def test_a_winner_that_later_pages_do_not_bear_out_is_said():
    """The first 200 people are for `a`, the next 220 for `b`: the winner stays, and the text says so."""
    values, arms = [1, 0] * 100 + [0, 1] * 110, ["a", "b"] * 210
    found = ab_verdict(values, arms, range(420))
    assert found.winner == "a"
    assert found.low < 0 < found.high
    assert found.reason.endswith("pages, but the interval of all pages so far includes 0")
    credits = np.column_stack((values, 1 - np.array(values)))[[i for i in range(420) if i % 2 == 0]]
    both = always_valid(np.repeat(credits, 2, axis=0))
    assert both.winner == "A"
    assert str(both).endswith("pages, but the interval of all pages so far includes 0")


def test_the_order_of_the_arms():
    values, arms = [1.0, 1.0, 0.0, 1.0] * 60, ["b", "b", "a", "a"] * 60
    plain = ab_verdict(values, arms, range(240))
    turned = ab_verdict(values, arms, range(240), names=("b", "a"))
    assert (plain.first, plain.difference, plain.winner) == ("a", -0.5, "b")
    assert (turned.first, turned.difference, turned.winner) == ("b", 0.5, "b")
    assert turned.pages == (120, 120)
    assert turned.means == (1.0, 0.5)
    assert turned.to_dict()["winner"] == "b"


def test_pages_after_the_last_planned_person_do_not_count():
    values, arms = [1, 0] * 100, ["a", "b"] * 100
    users = list(range(200))
    whole = ab_verdict(values, arms, users, planned=200)
    more = ab_verdict(values + [0] * 500, arms + ["a"] * 500, [*users, *range(500)], planned=200)
    assert (whole.difference, whole.low, whole.winner) == (more.difference, more.low, more.winner)
    assert more.people == (100, 100)


def test_clicks_before_the_experiment_narrow_the_interval():
    random = np.random.default_rng(2)
    rate = random.beta(0.7, 1.3, 4000)
    users, arms = np.repeat(np.arange(4000), 3), np.where(np.arange(12_000) % 6 < 3, "a", "b").tolist()
    values = random.random(12_000) < rate[users]
    before = random.binomial(10, rate)[users] / 10
    plain = ab_verdict(values, arms, users)
    less = ab_verdict(values, arms, users, before=before)
    assert less.high - less.low < 0.75 * (plain.high - plain.low)
    assert less.means == plain.means
    unknown = ab_verdict(values, arms, users, before=np.full(12_000, np.nan))
    assert (unknown.low, unknown.high) == pytest.approx((plain.low, plain.high))


def test_the_covariate_by_a_plain_regression():
    random = np.random.default_rng(3)
    x, side = random.random(300), np.arange(300) % 2 == 0
    values = np.clip(0.6 * x + 0.3 * random.random(300) + 0.05 * side, 0, 1)
    found = ab_verdict(values, np.where(side, "a", "b").tolist(), range(300), before=x)
    theta = np.cov(values, x)[0, 1] / x.var(ddof=1)
    rest = values - theta * (x - x.mean())
    assert found.difference == pytest.approx(rest[side].mean() - rest[~side].mean(), abs=1e-12)


def test_a_wrong_division_of_people_stops_the_verdict():
    values = [1, 1, 0] * 700
    found = ab_verdict(values, ["a", "a", "b"] * 700, range(2100))
    assert found.ratio.mismatch
    assert found.winner is None
    assert "66.7% of people in the first arm, 50.0% intended" in found.reason
    assert ab_verdict(values, ["a", "a", "b"] * 700, range(2100), share=2 / 3).winner == "a"


def test_the_evidence_of_a_wrong_division_by_hand():
    found = sample_ratio([True] * 30 + [False] * 10, share=0.4)
    wanted = max(
        betaln(400 + a, 600 + b) - betaln(400, 600) - a * log(0.4) - b * log(0.6)
        for a, b in [(n, 0) for n in range(31)] + [(30, n) for n in range(11)]
    )
    assert found.evidence == pytest.approx(np.exp(wanted), rel=1e-9)
    assert sample_ratio([]).evidence == 1.0


def test_a_right_division_is_rarely_refused():
    """A thousand experiments of 3,000 people, looked at after every person: at most 3 in 1,000 refused."""
    random = np.random.default_rng(4)
    assert sum(sample_ratio(random.random(3000) < 0.3, share=0.3).mismatch for _ in range(1000)) <= 3


def test_values_on_another_scale():
    random = np.random.default_rng(5)
    euros, arms = random.random(400) * 80, ["a", "b"] * 200
    in_euros = ab_verdict(euros, arms, range(400), bounds=(0, 80))
    in_shares = ab_verdict(euros / 80, arms, range(400))
    assert in_euros.low / 80 == pytest.approx(in_shares.low)
    assert in_euros.p_value == pytest.approx(in_shares.p_value)


def test_an_arm_without_pages_is_undecided():
    alone = ab_verdict([1, 0], ["a", "a"], [1, 2])
    assert (alone.winner, alone.second, alone.people) == (None, "the other arm", (2, 0))
    assert np.isnan(alone.difference)
    assert (alone.low, alone.high) == (-1, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ab_verdict([1, 0, 1], ["a", "b", "c"], [1, 2, 3]), "compares two arms, got 3"),
        (lambda: ab_verdict([], [], []), "no pages"),
        (lambda: ab_verdict([1, 0], ["a", "b"], [1]), "users needs one entry per page"),
        (lambda: ab_verdict([1], ["a", "b"], [1, 2]), "one entry per page, got shape"),
        (lambda: ab_verdict([1, np.nan], ["a", "b"], [1, 2]), r"values lie in \[0, 1\], got nan on page 2"),
        (lambda: ab_verdict([1, 7], ["a", "b"], [1, 2]), r"got 7 on page 2; give .* as bounds="),
        (lambda: ab_verdict([1, 0], ["a", "b"], [1, 2], names=("a", "c")), "the arms are 'a' and 'c', got"),
        (lambda: ab_verdict([1, 0], ["a", "b"], [1, 2], planned=20), "100 or more, got 20"),
        (lambda: ab_verdict([1, 0], ["a", "b"], [1, 2], planned=200.5), "100 or more, got 200.5"),
        (lambda: ab_verdict([1, 0], ["a", "b"], [1, 2], before=[1]), "before needs one value per page"),
        (lambda: ab_verdict([1, 0], ["a", "b"], [1, 2], share=1), "share lies in"),
        (lambda: ab_verdict([1, 0], ["a", "b"], [1, 2], confidence=95), "confidence lies between"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40), st.sampled_from(["int8", "int64", "uint64"]))
def test_whole_numbers_and_names_of_people_are_the_same_people(users, dtype):
    plain = np.array([user + 4 for user in users]).astype(dtype)
    far = plain.astype(np.uint64) * np.uint64(2**61)
    expected = [sorted(set(users)).index(user) for user in users]
    assert person_codes(plain, len(users)).tolist() == expected
    assert person_codes(far, len(users)).tolist() == expected
    named = person_codes([f"u{user}" for user in users], len(users))
    assert first_pages(named).tolist() == [users.index(user) for user in dict.fromkeys(users)]
    assert [users.index(user) for user in users] == first_pages(named)[named].tolist()


def test_people_of_two_kinds_of_names_are_told_apart():
    assert person_codes([1, "1", None, None, (1,)], 5).tolist() == [0, 1, 2, 3, 4]
    assert person_codes(np.array([True, False, True]), 3).tolist() == [1, 0, 1]


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=30))
def test_running_means_against_a_loop(pages):
    code, values = np.array([one for one, _ in pages]), np.array([value for _, value in pages])
    people = People(values, person_codes(code, len(code)))
    totals, firsts = people.means(), people.firsts()
    seen = {}
    for page, (user, value) in enumerate(pages):
        assert people.first[page] == (user not in seen)
        seen.setdefault(user, []).append(value)
        means = [np.mean(one) for one in seen.values()]
        assert people.first_page[page] == [one for one, _ in pages].index(user)
        assert totals.count[page] == len(means)
        assert totals.mean()[page] == pytest.approx(np.mean(means))
        assert totals.variance(0.0, 1.0)[page] == pytest.approx(np.var([*means, 0, 1], ddof=1))
        assert firsts.total[page] == sum(one[0] for one in seen.values())
    assert people.mean_of(np.ones(len(pages))) == pytest.approx(np.mean(means))


@pytest.mark.parametrize("kind", ["list", "array", "objects"])
def test_arms_may_be_a_list_or_an_array(kind):
    rng = np.random.default_rng(0)
    values, arms = rng.random(300), rng.choice(["new", "old"], 300)
    given_arms = {"list": arms.tolist(), "array": arms, "objects": arms.astype(object)}[kind]
    found = ab_verdict(values, given_arms, np.arange(300))
    assert (found.first, found.second) == ("new", "old")
    assert found.means[0] == pytest.approx(values[arms == "new"].mean())
