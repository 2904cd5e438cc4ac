"""What the tools choose by themselves."""

import numpy as np
import pytest

from rankloop.clicks import PBM, ClickLog, aggregate, simulate
from rankloop.metrics import ndcg
from rankloop.rankers import LambdaMART, LinearRanker
from rankloop.unbiased import DCG, candidates, learn, naive
from rankloop.unbiased.estimation.evidence import evidence
from rankloop.unbiased.estimation.held_out import first_unless_beaten
from rankloop.unbiased.estimation.informative import informative
from unbiased.worlds import two_features

RANKERS = candidates(trees=40, threads=1)
ONE = {"one": RANKERS["linear leaves"]}
THETA = 1.0 / np.arange(1, 11)


@pytest.fixture(scope="module")
def data():
    return two_features(queries=300)


def quality(data, ranker):
    return float(np.nanmean(ndcg(ranker.predict(data), data.y, data.offsets, k=5)))


@pytest.mark.parametrize("strength", [0.0, 3.0])
def test_never_below_clicks_at_their_word(data, strength):
    log = simulate(data, logging_policy=data.X[:, 2] + strength * data.X[:, 0], sessions=12_000, seed=1)
    found = learn(log, data.replace(y=np.zeros(3000)), rankers=RANKERS, budget="quick")
    assert quality(data, found.ranker) > quality(data, LinearRanker(loss=DCG).fit(naive(log, data)))
    assert found.curve_by == "the likelihood of the clicks"
    assert set(found.held_out) == set(RANKERS)
    assert found.identifiability is not None
    assert any("learned with the ranker" in one for one in found.warnings)
    assert found.selection.best == "new"
    assert found.selection.behind["shown"][2] < 0
    assert "examination by rank" in repr(found)
    assert found.to_dict()["chosen"] in RANKERS


@pytest.mark.parametrize("strength", [0.0, 3.0])
@pytest.mark.parametrize("who", ["informational", "navigational", "pbm", "trust"])
def test_people_who_stop_reading_are_told_from_those_who_look_by_rank(data, who, strength):
    """A click of the former says that what is below was hardly looked at; no curve by rank says that."""
    logging_policy = data.X[:, 2] + strength * data.X[:, 0]
    log = simulate(data, logging_policy=logging_policy, user=who, sessions=10_000, seed=1)
    found = learn(log, data.replace(y=np.zeros(3000)), rankers=ONE, budget="quick")
    stops = who in ("informational", "navigational")
    assert (found.curve_by == "a DBN of the clicks") == stops
    assert any("read on until" in one for one in found.warnings) == stops
    at_their_word = LambdaMART(trees=40, leaves=8, loss=DCG, threads=1).fit(naive(log, data))
    assert quality(data, found.ranker) > quality(data, at_their_word)


@pytest.mark.parametrize(("strength", "power"), [(0.3, 1.0), (20.0, 0.5)])
def test_a_good_order_is_corrected_by_half(data, strength, power):
    """Little is left to correct, what is not shown was left out for a reason, a small log bears little."""
    logging_policy = data.X[:, 2] + strength * (data.X[:, 0] + 0.7 * data.X[:, 1])
    log = simulate(data, logging_policy=logging_policy, sessions=6000, k=5, seed=1)
    found = learn(log, data.replace(y=np.zeros(3000)), rankers=ONE, budget="quick")
    assert found.power == found.to_dict()["power"] == power
    assert any("good already" in one for one in found.warnings) == (power < 1)
    assert found.ranker.propensity_ == pytest.approx(found.curve)
    at_their_word = LambdaMART(trees=40, leaves=8, loss=DCG, threads=1).fit(naive(log, data))
    assert quality(data, found.ranker) > quality(data, at_their_word)


def test_the_first_ranker_is_kept_unless_another_is_clearly_better():
    rng = np.random.default_rng(0)
    base, noise = rng.random(100), rng.normal(size=100)
    near, far, farther = base - 0.1 + noise, base - 1.0 + noise, base - 2.0 + noise
    assert first_unless_beaten({"one": base}) == "one"
    assert first_unless_beaten({"one": base, "two": near}) == "one"
    assert first_unless_beaten({"one": base, "two": far, "three": farther, "four": near}) == "three"


def test_an_experiment_gives_the_curve_if_it_is_large_enough(data):
    small, large = (
        simulate(data, logging_policy=data.X[:, 2], sessions=n, randomize="swap", seed=1)
        for n in (3000, 150_000)
    )
    found = learn(large, data, rankers=ONE, budget="quick")
    assert found.curve_by == "swap_intervention"
    assert found.curve[:4] == pytest.approx(THETA[:4], rel=0.15)
    found = learn(small, data, rankers=ONE, budget="quick")
    assert found.curve_by == "the likelihood of the clicks"
    assert any("uncertain" in one for one in found.warnings)


def test_trust_that_an_experiment_shows_is_said(data):
    """It is among the warnings of the result, which the command prints and a report shows."""
    kinds = {"trust": True, "pbm": False}
    for user, trusting in kinds.items():
        log = simulate(
            data, logging_policy=data.X[:, 2], user=user, sessions=60_000, k=5, randomize="swap", seed=1
        )
        found = learn(log, data, rankers=ONE, budget="quick")
        assert found.curve_by == "swap_intervention"
        assert any("people trust high ranks" in one for one in found.warnings) == trusting, found.warnings


def test_counts_and_a_given_curve_will_do(data):
    log = simulate(data, logging_policy=data.X[:, 2], sessions=6000, seed=1)
    found = learn(aggregate(log), data, propensity=THETA, rankers=RANKERS, budget="quick")
    assert found.curve_by == "the caller"
    assert found.curve == pytest.approx(THETA)
    assert found.ranker.propensity_ == pytest.approx(THETA)
    assert found.identifiability is None


def test_ids_may_be_text_in_the_log(data):
    part = data.select(np.arange(40))
    log = simulate(part, logging_policy=part.X[:, 2], sessions=2000, seed=1)
    ids = {"query": log.query.astype(str), "document": log.document.astype(str)}
    texts = ClickLog(**{**dict(log.columns()), **ids})
    few = candidates(trees=3, threads=1)
    wanted = learn(log, part, propensity=THETA, rankers=few, budget="quick")
    for source in (texts, aggregate(texts)):
        found = learn(source, part, propensity=THETA, rankers=few, budget="quick")
        assert found.held_out == pytest.approx(wanted.held_out)
        assert found.selection.estimates["new"].value == pytest.approx(
            wanted.selection.estimates["new"].value
        )


def test_doubt_is_said_where_the_shown_order_cannot_be_beaten(data):
    log = simulate(data, logging_policy=data.y, sessions=4000, seed=1)
    found = learn(log, data, propensity=THETA, rankers=ONE, budget="quick")
    assert any("not clearly better" in one for one in found.warnings)


def test_logs_that_lack_what_clicks_are_compared_with(data):
    part = data.select(np.arange(40))
    log = simulate(part, logging_policy=part.X[:, 2], sessions=2000, seed=1)
    columns = dict(log.columns())
    clicked = ClickLog(**{name: values[log.click == 1] for name, values in columns.items()})
    quiet = ClickLog(**{**columns, "click": np.zeros(len(log))})
    for one, message in ((clicked, "clicks only; log every document that was shown"), (quiet, "nothing was")):
        for source in (one, aggregate(one)):
            with pytest.raises(ValueError, match=message):
                learn(source, part, rankers=RANKERS)
    kept = log.select(np.add.reduceat(log.click, log.offsets[:-1]) > 0)
    few = {"one": candidates(trees=3, threads=1)["plain leaves"]}
    found = learn(kept, part, propensity=THETA, rankers=few, budget="quick")
    assert any("every page has a click" in one for one in found.warnings)
    found = learn(log, part, propensity=THETA, rankers=few, budget="quick")
    assert not any("every page has a click" in one for one in found.warnings)


def test_features_are_kept_where_nothing_tells(data):
    part = data.select(np.arange(10))
    log = simulate(
        part, logging_policy=part.X[:, 2], user=PBM(examination=THETA, attraction=0.3), sessions=500, seed=1
    )
    seen = evidence(log, THETA, part)
    assert informative(seen, RANKERS["plain leaves"], seed=0).all()


def test_few_queries_are_said(data):
    part = data.select(np.arange(10))
    log = simulate(part, logging_policy=part.X[:, 2], sessions=2000, seed=1)
    found = learn(log, part, propensity=THETA, rankers=RANKERS, budget="quick")
    assert found.selection is None
    assert any("none was held out" in one for one in found.warnings)
    with pytest.raises(ValueError, match="at least one ranker"):
        learn(log, part, propensity=THETA, rankers={})


@pytest.mark.parametrize("budget", ["quick", "usual"])
def test_a_log_of_several_layouts_has_one_curve_and_says_so(budget):
    part = two_features(queries=60)
    logs = [simulate(part, logging_policy=part.X[:, 2], sessions=1500, k=5, seed=seed) for seed in (1, 2)]
    columns = [dict(log.columns()) for log in logs]
    both = {name: np.concatenate([one[name] for one in columns]) for name in columns[0]}
    both["session"] = np.repeat(np.arange(3000), 5)
    log = ClickLog(**both, layout=np.repeat(["desktop", "phone"], 7500))
    few = candidates(trees=5, threads=1)
    found = learn(log, part, rankers=few, networks=False, budget=budget)
    assert any("mixes layouts: one curve was learned for all" in one for one in found.warnings)
    assert found.identifiability is not None
    by_layout = {"desktop": THETA[:5], "phone": THETA[:5]}
    assert learn(log, part, propensity=by_layout, rankers=few, networks=False, budget=budget).curve_by
