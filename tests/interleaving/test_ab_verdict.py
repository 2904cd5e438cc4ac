"""A/B verdicts: people are the units, and the interval holds at every look."""

import numpy as np
import pytest

from rankloop.interleaving import ab_verdict
from rankloop.interleaving.ab_verdict import always_valid_difference


def test_the_interval_holds_at_every_look():
    """No difference: of 300 experiments, looked at after every person, few ever show one."""
    random = np.random.default_rng(0)
    wrong = 0
    for _ in range(300):
        n = np.arange(1, 801)
        a, b = (np.cumsum(random.random(800) < 0.3) for _ in range(2))
        variance = (a / n * (1 - a / n) + b / n * (1 - b / n)) / n
        looks = range(50, 800, 10)
        bounds = [always_valid_difference((a[i] - b[i]) / n[i], variance[i]) for i in looks]
        wrong += any(one.low > 0 or one.high < 0 for one in bounds)
    assert wrong / 300 <= 0.05


def test_people_are_the_units_of_an_ab_verdict():
    """Forty pages of one person tell little more than one: the interval is much wider."""
    random = np.random.default_rng(1)
    habit = np.repeat(random.random(40) < 0.5, 40)
    arm = np.repeat(np.arange(40) % 2 == 0, 40)
    people = np.repeat(np.arange(40), 40).astype(str)
    by_person = ab_verdict(habit, arm, people.tolist())
    by_page = ab_verdict(habit, arm, range(1600))
    assert by_person.fixed_high - by_person.fixed_low > 4 * (by_page.fixed_high - by_page.fixed_low)
    assert by_person.high - by_person.low > 2 * (by_page.high - by_page.low)


def test_the_order_of_the_arms():
    values, arms = [1.0, 1.0, 0.0, 1.0] * 60, ["b", "b", "a", "a"] * 60
    plain = ab_verdict(values, arms, range(240))
    turned = ab_verdict(values, arms, range(240), names=("b", "a"))
    assert (plain.first, plain.difference, plain.winner) == ("a", -0.5, "b")
    assert (turned.first, turned.difference, turned.winner) == ("b", 0.5, "b")
    assert turned.pages == (120, 120)
    assert turned.means == (1.0, 0.5)
    assert turned.to_dict()["winner"] == "b"


def test_a_larger_planned_difference_expects_more():
    few = [always_valid_difference(0.0, 0.01, planned=planned) for planned in (0.01, 0.1)]
    assert few[0].high > few[1].high


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ab_verdict([1, 0], ["a", "a"], [1, 2]), "pages of two arms, got 1"),
        (lambda: ab_verdict([1, 0], ["a", "b"], [1]), "users needs one entry per page"),
        (lambda: ab_verdict([1], ["a", "b"], [1, 2]), "one entry per page, got shape"),
        (lambda: ab_verdict([1, np.nan], ["a", "b"], [1, 2]), "values must be finite"),
        (
            lambda: ab_verdict([1, 0], ["a", "b"], [1, 2], names=("a", "c")),
            "both arms 'a' and 'c' need pages",
        ),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
