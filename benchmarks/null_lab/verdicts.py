"""The verdicts on A/B tests and interleavings: false alarms where nothing differs, and power where it does.

The first winner that `ab_verdict` and `always_valid` name stays, so one call on all pages says whether a look
after any page would have named one.
"""

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from null_lab.cell import Cell, confirmed, coverage, false_alarms, power, runs
from null_lab.credits import CREDITS, RISING
from null_lab.experiments import Floats, Ints, Site
from rankloop.interleaving import ab_verdict, always_valid, method, sample_ratio, verdict
from rankloop.online import Gate

__all__ = ["cells"]

CROWDS = ("light", "zipf", "heavy")
WORST = {  # the pairs of rankings on which the number of wins misleads most
    "abcd, bcda": (("abcd", "bcda"), 4),
    "8th of 20 moved to the top": (("abcdefghijklmnopqrst", "habcdefgijklmnopqrst"), 10),
}
METHODS = ("team_draft", "optimized", "probabilistic", "pairwise_preference")


def cells(quick: bool) -> Iterator[Cell]:
    yield from _ab_nulls(quick)
    yield from _ab_power(quick)
    yield from _divisions(quick)
    yield from _interleaved_nulls(quick)
    yield from _interleaved_power(quick)


def _ab_nulls(quick: bool) -> Iterator[Cell]:
    sizes = (200, 2000) if quick else (50, 200, 400, 2000, 10_000)
    sites = [Site(people, crowd) for crowd in CROWDS for people in sizes]
    traits = ("bots", "daily", "falling", "graded", "rare", "same")
    sites += [Site(2000 if quick else 4000, trait=trait) for trait in traits]
    sites += [Site(2000, share=0.9), Site(4000, trait="rare", share=0.9), Site(2000, "heavy", "same")]
    changing = [Site(4000, trait="rising"), Site(4000, trait="loyal")]
    changing += [Site(1000, crowd, trait) for crowd in CROWDS for trait in ("new rates", "early")]
    changing += [Site(1000, trait="early, loyal")]
    both = [Site(10_000, trait="both"), Site(10_000, trait="both", share=0.9)]
    sites += [] if quick else [Site(100_000), *changing, *both]
    for site in sites:
        yield from _ab_cells(site, runs(quick))
    for confidence in (0.9, 0.99):
        yield from _ab_cells(Site(2000), runs(quick), confidence)


def _ab_cells(site: Site, experiments: int, confidence: float = 0.95) -> Iterator[Cell]:
    """Any look, with clicks before the experiment, and the number of people planned: one cell each."""
    rng = np.random.default_rng([site.people, len(site.crowd), len(site.trait)])
    modes: dict[str, dict[str, Any]] = {"any look": {}, "any look, clicks before": {}}
    if site.people >= 100:
        modes["planned"] = {"planned": site.people}
    alarms, covered = dict.fromkeys(modes, 0), dict.fromkeys(modes, 0)
    for _ in range(experiments):
        seen = site.visits(rng)
        for mode, options in modes.items():
            before = seen.before if "before" in mode else None
            found = ab_verdict(
                seen.value,
                seen.arm,
                seen.user,
                before=before,
                share=site.share,
                confidence=confidence,
                names=(True, False),
                **options,
            )
            alarms[mode] += found.winner is not None
            covered[mode] += found.low <= 0 <= found.high
    for mode in modes:
        condition = f"{_name(site)}, {mode}"
        if confidence == 0.95:
            yield false_alarms("ab_verdict", condition, alarms[mode], experiments)
        else:  # scaled to the bar of 5 %
            error = 1 - confidence
            least = 1 - error - 2 * np.sqrt(error * (1 - error) / experiments)
            value = 1 - alarms[mode] / experiments
            ok = bool(value >= least)
            yield Cell(
                "ab_verdict",
                f"{condition}, {confidence:.0%}",
                "no alarm",
                value,
                experiments,
                f"≥ {least:.1%}",
                ok,
            )


def _name(site: Site) -> str:
    divided = f", {site.share:.0%} in one arm" if site.share != 0.5 else ""
    trait = f", {site.trait}" if site.trait else ""
    lift = f", {site.lift:+.0%}" if site.lift else ""
    return f"{site.people:,} {site.crowd}{trait}{divided}{lift}"


def _ab_power(quick: bool) -> Iterator[Cell]:
    sites = _power_sites()
    for site, every, of_t in sites[:2] if quick else sites:
        experiments = 200 if every is None else 400  # whether all are decided is a matter of many
        yield from _ab_power_of(site, every, of_t, 20 if quick else experiments)


def _power_sites() -> list[tuple[Site, float | None, float | None]]:
    """Sites with the share that any look must find, and the planned mode's share of the t-test's power."""
    return [
        (Site(100_000, lift=0.05), 1.0, None),
        (Site(10_000, lift=0.1), None, 0.9),
        (Site(10_000, "heavy", lift=0.1), None, 0.9),
        (Site(10_000, "heavy", lift=0.05), None, None),
        (Site(2000, "heavy", lift=0.1), None, None),
        (Site(100_000, lift=0.02), None, None),
    ]


def _ab_power_of(site: Site, every: float | None, of_t: float | None, experiments: int) -> Iterator[Cell]:
    """Beside the t-test over people at a fixed horizon, on the same experiments."""
    rng = np.random.default_rng([site.people, 3])
    found: dict[str, list[float]] = {"any look": [], "clicks before": [], "planned": [], "t-test": []}
    wrong, mismatches = dict.fromkeys(found, 0), dict.fromkeys(found, 0)
    for _ in range(experiments):
        seen = site.visits(rng)
        arguments = seen.value, seen.arm, seen.user
        options: dict[str, dict[str, Any]] = {
            "any look": {},
            "clicks before": {"before": seen.before},
            "planned": {"planned": site.people},
        }
        for mode, more in options.items():
            one = ab_verdict(*arguments, names=(True, False), **more)
            right = one.winner == "True"
            wrong[mode] += one.winner == "False"
            mismatches[mode] += one.ratio.mismatch
            found[mode].append(_people_until(seen.user, one.stop) if right and one.stop else np.inf)
        found["t-test"].append(site.people if _t_test(*arguments) else np.inf)
    reached = {mode: np.array(when) for mode, when in found.items()}
    ceiling = float(np.isfinite(reached["t-test"]).mean())
    for mode, when in reached.items():
        least = {"any look": every or 0.0, "planned": (of_t or 0.0) * ceiling}.get(mode, 0.0)
        middle = float(np.median(when))
        half = f"half by {middle:,.0f} people" if np.isfinite(middle) else ""
        named = int(np.isfinite(when).sum())
        rest = experiments - named - wrong[mode] - mismatches[mode]
        note = (
            f"{mismatches[mode]} said that people were not divided as intended, {wrong[mode]} named "
            f"the other arm, {rest} showed no difference yet"
        )
        how = f"{_name(site)}, {mode} {half}".strip()
        yield power("ab_verdict", how, named, experiments, least, note="" if mode == "t-test" else note)
    if every:
        early = int((reached["any look"] <= site.people / 4).sum())
        yield power("ab_verdict", f"{_name(site)}, by a quarter of them", early, experiments, 0.5)


def _people_until(user: Ints, pages: int) -> float:
    return float(len(np.unique(user[:pages])))


def _t_test(value: Floats, arm: Any, user: Ints) -> bool:
    """Welch's t-test over the means of people, at the end."""
    from scipy.stats import ttest_ind

    means = np.bincount(user, value) / np.bincount(user)
    side = np.zeros(len(means), np.bool_)
    side[user] = arm
    test = ttest_ind(means[side], means[~side], equal_var=False)
    return bool(test.pvalue < 0.05 and test.statistic > 0)


def _divisions(quick: bool) -> Iterator[Cell]:
    for share, true, people in (
        (0.5, 0.5, 20_000),
        (0.9, 0.9, 20_000),
        (0.5, 0.45, 5000),
        *([] if quick else [(0.5, 0.49, 100_000)]),
        (0.9, 0.88, 10_000),
    ):
        rng = np.random.default_rng([people, int(100 * true)])
        experiments = runs(quick)
        alarms = sum(
            sample_ratio(rng.random(people) < true, share=share).mismatch for _ in range(experiments)
        )
        how = f"{share:.0%} intended, {true:.0%} true, {people:,} people"
        if share == true:
            yield false_alarms("sample_ratio", how, alarms, experiments)
        else:
            yield power("sample_ratio", how, alarms, experiments, 0.9)


def _interleaved_nulls(quick: bool) -> Iterator[Cell]:
    for number in range(INTERLEAVED):
        yield from _interleaved_some(number, quick)


def _interleaved_some(number: int, quick: bool = False) -> Iterator[Cell]:
    """The conditions of one number: the methods' worst pairs first, then people of each kind."""
    experiments = runs(quick)
    if number < len(METHODS):
        name = METHODS[number]
        for pair in WORST:
            rng = np.random.default_rng(len(name))
            found = [_random_clicks(rng, name, pair, 1500) for _ in range(experiments)]
            yield from _interleaved_cells(f"{name}, {pair}, 1,500 pages", found, None)
        return
    crowd = CROWDS[(number - len(METHODS)) // len(CREDITS)]
    what = [*CREDITS][(number - len(METHODS)) % len(CREDITS)]
    for people in (200, 1000) if quick else (200, 1000, 4000):
        yield from confirmed(partial(_of_people, Site(people, crowd), what), experiments)
    if what == RISING and crowd == "light" and not quick:
        yield from confirmed(partial(_of_people, Site(20_000), what), experiments)
    if what == "credit of ±1" and not quick:
        yield from confirmed(partial(_of_people, Site(1000, crowd, "new rates"), what), experiments)


def _of_people(site: Site, what: str, experiments: int) -> Iterator[Cell]:
    rng = np.random.default_rng([site.people, len(what)])
    users = [site.visits(rng).user for _ in range(experiments)]
    found = [CREDITS[what](rng, one) for one in users]
    yield from _interleaved_cells(f"{_name(site)}, {what}", found, users)


INTERLEAVED = len(METHODS) + len(CROWDS) * len(CREDITS)


def _interleaved_cells(condition: str, found: list[Floats], users: list[Ints] | None) -> Iterator[Cell]:
    """The same credits by the test for any look, by the gate, and by the verdict for one look."""
    any_look = gate = one_look = covered = said = 0
    for index, gap in enumerate(found):
        who = None if users is None else users[index]
        credits = np.column_stack([gap, np.zeros(len(gap))])
        any_look += always_valid(credits, users=who).winner is not None
        gate += Gate().decide(gap, users=who).deploy
        once = verdict(credits, users=who)
        one_look += once.winner is not None
        covered += once.low <= 0 <= once.high
        said += "not seen yet" in str(once)
    yield false_alarms("always_valid", f"{condition}, any look", any_look, len(found))
    yield false_alarms("online.Gate", f"{condition}, at the end", gate, len(found))
    yield false_alarms("verdict", f"{condition}, one look", one_look, len(found))
    if len(found) > 500:
        share = said / len(found)
        wide = f"the verdict says in {share:.0%} that it is wider for rare credits" if share > 0.5 else ""
        yield coverage("verdict", f"{condition}, one look", covered, len(found), note=wide, said=share)


@cache
def _credits_by_place(name: str, pair: str) -> tuple[Floats, Floats]:
    """The difference of credit for a click at each place of each page, and the probability of the page."""
    rankings, k = WORST[pair]
    how = method(name)
    lists = [list(one) for one in rankings]
    if k == 4 or name in ("optimized", "team_draft"):
        every = list(how.distribution(lists, k))
    else:
        every = [(how.combine(lists, k), 1 / 40_000) for _ in range(40_000)]
    gaps = [[np.subtract(*how.credit(page, [one])) for one in page.documents] for page, _ in every]
    chance = np.array([probability for _, probability in every])
    return np.array(gaps), chance / chance.sum()


def _random_clicks(rng: np.random.Generator, name: str, pair: str, pages: int) -> Floats:
    """The difference of credit on pages with one click at a random place."""
    gaps, chance = _credits_by_place(name, pair)
    shown = rng.choice(len(gaps), pages, p=chance)
    drawn: Floats = gaps[shown, rng.integers(gaps.shape[1], size=pages)]
    return drawn


def _interleaved_power(quick: bool) -> Iterator[Cell]:
    experiments = 50 if quick else 400
    for difference, least in ((0.05, 0.9), (0.1, 0.95), (0.02, 0.0)):
        site, rng, when = Site(4000, "heavy"), np.random.default_rng(11), []
        for _ in range(experiments):
            user = site.visits(rng).user
            gap = rng.choice([1.0, 0.0, -1.0], len(user), p=[0.3 + difference / 2, 0.4, 0.3 - difference / 2])
            found = always_valid(np.column_stack([gap, np.zeros(len(gap))]), users=user)
            right = found.winner == "A" and found.stop
            when.append(_people_until(user, found.stop) if right and found.stop else np.inf)
        middle = float(np.median(when))
        half = f", half by {middle:,.0f} people" if np.isfinite(middle) else ""
        named = int(np.isfinite(when).sum())
        yield power(
            "always_valid", f"4,000 heavy, difference {difference:g}{half}", named, experiments, least
        )
