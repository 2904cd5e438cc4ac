"""Verdicts where people do not stay the same, where some leave their arm, and from columns of any kind."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import renewal as naive_renewal
from rankloop.interleaving import ab_verdict, always_valid
from rankloop.interleaving.sequential.boundary import mixture
from rankloop.interleaving.sequential.clock import counted_information, part_of_plan
from rankloop.interleaving.sequential.people import People, person_codes
from rankloop.interleaving.sequential.renewal import renewal


def pages_of(random, people, rate=None):
    """Two pages of each person, in order of time; `rate` is a function of the time."""
    came = np.repeat(np.arange(people) / people, 2)
    time = came + 0.01 * random.random(2 * people)
    order = np.argsort(time)
    user = np.repeat(np.arange(people), 2)[order]
    return user, time[order], random.random(2 * people) < (rate(time[order]) if rate else 0.35)


def loyal_and_new(random, loyal, pages, new):
    """People with many pages each, then people with one page; all click as often."""
    user = np.concatenate([random.permutation(np.repeat(np.arange(loyal), pages)), np.arange(new) + loyal])
    return user, random.random(len(user)) < 0.5


def test_new_people_after_loyal_ones_do_not_fool_any_look():
    """300 experiments of 200 people with 100 pages and 6,000 with one."""
    random = np.random.default_rng(0)
    named = 0
    for _ in range(300):
        user, clicked = loyal_and_new(random, 200, 100, 6000)
        arm = random.random(6200) < 0.5
        named += ab_verdict(clicked, arm[user], user).winner is not None
    assert named / 300 <= 0.05 + 2 * 0.0126


def returning(random, people, pages, last):
    """People who come in the first part of the time, but for one at its end, and return until then; every
    page has a click rate of its own."""
    came = np.append(np.sort(random.random(people - 1)) * last, 1.0)
    user = np.repeat(np.arange(people), 1 + random.poisson(pages, people))
    time = came[user] + random.random(len(user)) * (1 - came[user])
    user = user[np.argsort(time)]
    return user, random.random(len(user)) < random.beta(0.7, 1.3, len(user))


@pytest.mark.parametrize(
    ("people", "pages", "last", "planned"), [(1000, 40, 1.0, None), (500, 20, 1.0, 500), (500, 50, 0.05, 500)]
)
def test_people_who_are_others_at_every_visit_do_not_fool_a_verdict(people, pages, last, planned):
    """200 experiments."""
    random = np.random.default_rng(20)
    named = 0
    for _ in range(200):
        user, clicked = returning(random, people, pages, last)
        arm = random.random(people) < 0.5
        named += ab_verdict(clicked, arm[user], user, planned=planned).winner is not None
    assert named / 200 <= 0.05 + 2 * 0.0154


def test_clicks_that_become_frequent_do_not_fool_an_interleaving():
    """300 experiments of 6,000 pages with 55 times the clicks at the end."""
    random = np.random.default_rng(11)
    chance = np.exp(np.linspace(-4, 0, 6000))
    named = 0
    for _ in range(300):
        gap = np.where(random.random(6000) < chance, random.choice([1.0, -1.0], 6000), 0.0)
        named += always_valid(np.column_stack([gap, np.zeros(6000)])).winner is not None
    assert named / 300 <= 0.05 + 2 * 0.0126


def test_the_boundary_is_as_before_for_people_who_stay_the_same():
    """Information counts as it is in most experiments, chance makes little more in others; so with a plan."""
    changed = []
    for seed in range(8):
        user, _, clicked = pages_of(np.random.default_rng(seed), 4000)
        people = People(clicked.astype(float), user)
        totals, arrived = people.means(), people.firsts()
        ready = totals.count >= 100
        moved = renewal(people, ready, 0.0, 1.0)
        information = totals.count * arrived.variance(0, 1) / totals.variance(0, 1)
        counted = counted_information(information, moved, ready)
        assert (counted <= 3 * information).all()
        changed.append((counted > information).any())
        part, excess = part_of_plan(totals.count, 4000, arrived.count, moved, ready)
        assert part[-4000:] == pytest.approx(totals.count[-4000:] / 4000, rel=1e-9)
        assert excess[-1] < 0.05
    assert np.mean(changed) < 0.5


def test_information_is_counted_by_hand():
    """1,000 and then 4,000 people with a renewal of 3: 3 - 1.25 log 4 - .5 beyond what people explain."""
    ready = np.ones(3, np.bool_)
    moved = np.array([0.0, 3.0, 3.0])
    found = counted_information(np.array([1000.0, 4000, 1000]), moved, ready)
    assert found == pytest.approx([1000, 4000 * np.exp(2.5 - 1.25 * np.log(4)), found[1]])
    people = np.array([100.0, 150, 200])
    part, excess = part_of_plan(people, 200, people, np.array([0.0, 2.0, 4.0]), ready)
    assert part == pytest.approx([1 / 2, 3 / 4, 1])  # no rate is told by the second page
    first = np.exp(-(2.3**2) / 6) / np.sqrt(0.75) * (2 - 1.25 * np.log(1.5))
    assert excess == pytest.approx([0, first, first])  # the third was as fast as expected
    half, _ = part_of_plan(people, 400, people, np.array([0.0, 2.0, 4.0]), ready)
    assert half[2] == pytest.approx((1 / 2) ** (2 / np.log(4 / 3) / 1.25))
    _, later = part_of_plan(np.array([199.0, 199, 200]), 200, np.full(3, 199.0), moved, ready)
    weight = np.exp(-(2.3**2) / 2 * (200 / 199 - 1)) * np.sqrt(200 / 199)
    assert later == pytest.approx([0, 3 * weight, 3 * weight])


@pytest.mark.parametrize("ready", [np.zeros(2, np.bool_)])
def test_nothing_passes_before_there_are_enough_people(ready):
    people = np.array([1.0, 2])
    part, excess = part_of_plan(people, 100, people, np.zeros(2), ready)
    assert (part.tolist(), excess.tolist()) == ([0.01, 0.02], [0, 0])
    assert counted_information(people, np.zeros(2), ready).tolist() == people.tolist()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 60), st.booleans(), st.booleans())
def test_renewal_against_plain_loops(seed, everybody, pages, with_before, some_leave):
    random = np.random.default_rng(seed)
    _, code = np.unique(random.integers(0, everybody, pages), return_inverse=True)
    last = np.array([np.flatnonzero(code == person)[-1] for person in code])
    first = np.unique(code, return_index=True)[1]
    leaves = (
        np.isin(np.arange(pages), last)
        & ~np.isin(np.arange(pages), first)
        & (random.random(pages) < 0.3)
        & some_leave
    )
    people = People(random.random(pages), code, leaves)
    ready = np.arange(pages) >= random.integers(0, pages)
    before = random.random(everybody)[code] * with_before
    slope = random.normal(size=pages) * with_before
    found = renewal(people, ready, 0.0, 1.0, (before, slope))
    assert found == pytest.approx(naive_renewal(people, ready, 0.0, 1.0, before, slope), abs=1e-7)


def test_more_renewal_never_narrows_an_interval():
    variance = np.array([0.01, 0.001, 0.0001])
    information, ready, largest = 0.25 / variance, np.ones(3, np.bool_), np.ones(3)
    for times in (2.0, 50.0, 1e4):
        plain, wider = (
            mixture(np.full(3, 0.05), variance, information, information * one, ready, 0.05, largest)
            for one in (1.0, times)
        )
        assert (wider.lows <= plain.lows).all()
        assert (wider.p_values >= plain.p_values).all()


def test_clicks_that_become_frequent_do_not_fool_a_plan():
    """400 experiments with 50 times the clicks at the end."""
    random = np.random.default_rng(2)
    named = 0
    for _ in range(400):
        user, _, clicked = pages_of(random, 3000, lambda time: 0.35 * np.exp(-4 + 4 * np.minimum(time, 1)))
        arm = random.random(3000) < 0.5
        named += ab_verdict(clicked, arm[user], user, planned=3000).winner is not None
    assert named / 400 <= 0.05 + 2 * 0.0109


def test_people_who_leave_one_arm_more_often_stop_the_verdict():
    """One of ten people is in the first arm; active people, who click more, are seen in the other one too."""
    random = np.random.default_rng(3)
    people = 8000
    active = random.random(people) < 0.3
    user = np.concatenate([np.arange(people), np.flatnonzero(active), np.flatnonzero(active)])
    began = random.random(people) < 0.1
    anew = random.random(len(user)) < 0.2
    arm = np.where(anew & (np.arange(len(user)) >= people), random.random(len(user)) < 0.1, began[user])
    clicked = random.random(len(user)) < np.where(active, 0.8, 0.2)[user]
    found = ab_verdict(clicked, np.where(arm, "new", "old"), user, share=0.1, names=("new", "old"))
    assert not found.ratio.mismatch
    assert found.left.mismatch
    assert found.winner is None
    assert "one arm loses more of them, so there is no verdict" in str(found)
    assert found.to_dict()["left"]["mismatch"]


def test_people_who_leave_both_arms_alike_do_not_stop_it():
    random = np.random.default_rng(4)
    user = np.concatenate([np.arange(2000), np.arange(200)])
    began = np.arange(2000) % 2 == 0
    arm = np.concatenate([began, ~began[:200]])
    found = ab_verdict(np.where(arm, random.random(2200) < 0.6, random.random(2200) < 0.3), arm, user)
    assert found.dropped == 200
    assert (found.winner, found.left.mismatch) == ("True", False)
    assert ab_verdict([1, 0], ["a", "b"], [1, 2]).to_dict()["left"] is None


KINDS = {
    "polars": pl.Series,
    "polars, categories": lambda column: pl.Series([str(one) for one in column]).cast(pl.Categorical),
    "Arrow": lambda column: pa.array(list(column)),
    "Arrow, chunks": lambda column: pa.chunked_array([list(column[:10]), list(column[10:])]),
    "pandas": pd.Series,
    "pandas, another index": lambda column: pd.Series(column, index=range(len(column), 0, -1)),
    "pandas, categories": lambda column: pd.Series(column).astype("category"),
    "objects": lambda column: np.array(list(column), object),
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_every_kind(kind):
    random = np.random.default_rng(5)
    values, users = random.random(300), random.integers(0, 200, 300).tolist()
    arms = ["new" if user % 2 else "old" for user in users]
    plain, given = ab_verdict(values, arms, users), ab_verdict(values, KINDS[kind](arms), KINDS[kind](users))
    assert plain == given
    credits = np.column_stack([values, 1 - values])
    by_column = always_valid(credits, users=KINDS[kind](users))
    assert by_column.to_dict() == always_valid(credits, users=users).to_dict()


@pytest.mark.parametrize(
    "users",
    [
        ["ann", None, None, "ann"],
        [1.0, float("nan"), float("nan"), 1.0],
        [1, np.nan, np.nan, 1],
        np.array([1, np.nan, np.nan, 1], np.float32),
        pd.Series(["ann", None, None, "ann"], dtype="string"),
        pd.Series([7, None, None, 7], dtype="Int64"),
        pl.Series([7, None, None, 7]),
        pa.array(["ann", None, None, "ann"]),
    ],
)
def test_pages_without_a_user_are_people_of_their_own(users):
    assert person_codes(users, 4).tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize(
    ("arms", "bounds", "message"),
    [
        (["a", None], (0, 1), "arms need the arm of each page, got None on page 2"),
        (["a", float("nan")], (0, 1), "got nan on page 2"),
        (["a", "b"], (1, 0), "bounds are the least and the largest possible value, got 1 and 0"),
        (["a", "b"], (0, np.inf), "got 0 and inf"),
    ],
)
def test_arms_and_bounds_that_are_none(arms, bounds, message):
    with pytest.raises(ValueError, match=message):
        ab_verdict([1, 0], arms, [1, 2], bounds=bounds)


def test_arms_of_two_kinds_of_names():
    found = ab_verdict([1, 0] * 80, [1, "1"] * 80, range(160))
    assert (found.means, found.people) == ((1.0, 0.0), (80, 80))


def test_values_far_from_zero_keep_their_digits():
    """Moments of a clock: sums of squares of 10⁹ would lose the half second that people differ by."""
    random = np.random.default_rng(6)
    values, arms = random.random(2000), ["a", "b"] * 1000
    near = ab_verdict(values, arms, range(2000))
    far = ab_verdict(values + 1e9, arms, range(2000), bounds=(1e9, 1e9 + 1))
    assert (far.low, far.high, far.winner) == (
        pytest.approx(near.low, abs=1e-6),
        pytest.approx(near.high, abs=1e-6),
        None,
    )
    assert far.means[0] == pytest.approx(1e9 + near.means[0])


@pytest.mark.parametrize(("scale", "start"), [(1e-9, 0.0), (1e200, 0.0), (1.0, 1e9)])
def test_what_was_before_has_any_scale(scale, start):
    random = np.random.default_rng(7)
    before = random.random(2000)
    values, arms = (before + random.random(2000)) / 2, ["a", "b"] * 1000
    plain = ab_verdict(values, arms, range(2000), before=before)
    found = ab_verdict(values, arms, range(2000), before=start + scale * before)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=1e-6)
