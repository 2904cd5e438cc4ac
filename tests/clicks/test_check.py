"""The verdict on a log."""

import json

import numpy as np
import pytest

import rankloop.clicks as clicks
import rankloop.propensity as propensity
import rankloop.unbiased as unbiased
from rankloop.clicks import ClickLog, check, labels, simulate
from rankloop.data import RankingDataset

RNG = np.random.default_rng(0)
DATA = RankingDataset.from_groups(RNG.normal(size=(200, 3)), RNG.integers(0, 5, 200), [10] * 20)
SCORES = DATA.y + RNG.normal(size=200)


def log_of(**options):
    return simulate(DATA, logging_policy=SCORES, sessions=20_000, k=5, **options)


def test_one_ranking_per_query():
    report = check(log_of())
    assert report.facts.queries_with_one_ranking == 20
    assert report.facts.groups_of_ranks == 5
    for name in ("pbm", "harvest"):
        assert report[name].support == "no"
        assert "one ranking only" in report[name].why
        assert "swap" in report[name].fix
    assert report["regression_em"].support == "weak"
    assert report["policy_aware"].support == "no"
    assert report["swap_intervention"].support == report["randomized"].support == "no"
    assert report["ips"].support == "yes"
    assert report["dbn"].support == "weak" or report["dbn"].support == "yes"


def test_experiments_open_doors():
    swapped = check(log_of(randomize="swap"))
    assert swapped["swap_intervention"].support == "yes"
    assert swapped["harvest"].support == swapped["pbm"].support == "yes"
    assert swapped.facts.groups_of_ranks == 1
    assert swapped["randomized"].support == "no"
    assert check(log_of(randomize="shuffle"))["randomized"].support == "yes"
    assert check(log_of(randomize="fairpairs"))["fair_pairs"].support == "yes"


def test_clicks_only():
    log = log_of(randomize="swap")
    keep = log.click == 1
    only = ClickLog(
        log.session[keep], log.query[keep], log.document[keep], log.position[keep], log.click[keep]
    )
    report = check(only)
    assert report["naive"].support == report["ips"].support == "yes"
    for name in ("ctr", "snips", "affine", "doubly_robust", "pbm"):
        assert report[name].support == "no"
        assert "clicks only" in report[name].why
    assert report.facts.pages_with_missing_positions > 0


def test_pages_without_clicks_thrown_away():
    log = log_of(randomize="swap")
    clicked = np.add.reduceat(log.click, log.offsets[:-1]) > 0
    assert check(log.select(clicked))["snips"].why == "no page is without a click"


def test_few_clicks_and_missing_columns():
    report = check(log_of(randomize="swap").select(np.arange(200)))
    assert report["swap_intervention"].support == "weak"
    assert "fewer than 100 clicks at rank" in report["swap_intervention"].why
    assert report["dwell_satisfied"].why == "there is no column dwell"
    assert report["slate"].support == report["intervention_aware"].support == "no"
    assert "layout" in report["contextual"].fix


def test_no_clicks_at_all():
    report = check(ClickLog([1, 1], ["q", "q"], ["a", "b"], [1, 2], [0, 0]))
    assert report["naive"].why == "nothing was clicked"


def test_it_prints_and_travels():
    report = check(log_of(randomize="swap", ranker="bm25", layout="phone"))
    text = str(report)
    assert text.startswith("20,000 pages, 100,000 impressions")
    assert all(one.estimator in text for one in report.estimators)
    again = json.loads(json.dumps(report.to_dict()))
    assert again["facts"]["experiments"] == ["swap 1-2", "swap 1-3", "swap 1-4", "swap 1-5"]
    with pytest.raises(KeyError):
        report["pmb"]
    with pytest.raises(ValueError, match="empty"):
        check(ClickLog([], [], [], [], []))


def test_labels_by_hand():
    log = ClickLog(
        session=[1, 1, 2, 2, 3],
        query=["q", "q", "q", "q", "p"],
        document=["a", "b", "b", "a", "a"],
        position=[1, 2, 1, 2, 1],
        click=[1, 0, 1, 1, 0],
        dwell=[40, np.nan, 10, 31, np.nan],
        conversion=[0, 0, 0, 5, 0],
    )
    named = lambda made: dict(zip(zip(made.query, made.document, strict=True), made.values, strict=True))  # noqa: E731
    assert named(clicks.labels.ctr(log)) == {("p", "a"): 0.0, ("q", "a"): 1.0, ("q", "b"): 0.5}
    smooth = named(clicks.labels.smoothed_ctr(log, strength=3.0))
    assert smooth["q", "b"] == pytest.approx((1 + 3 * 0.6) / 5)
    # Rank 1 gets 2/3 clicks a show, rank 2 gets 1/2.
    assert named(clicks.labels.coec(log, strength=0.0))["q", "a"] == pytest.approx(2 / (2 / 3 + 1 / 2))
    assert named(clicks.labels.dwell_satisfied(log)) == {("p", "a"): 0.0, ("q", "a"): 1.0, ("q", "b"): 0.0}
    assert named(clicks.labels.conversion_rate(log))["q", "a"] == 2.5
    data = RankingDataset(np.zeros((4, 1)), np.zeros(4), ["q", "q", "q", "p"], docid=["b", "c", "a", "a"])
    np.testing.assert_allclose(clicks.labels.ctr(log).on(data, unseen=0.25).y, [0.5, 0.25, 1.0, 0.0])


def test_coec_takes_the_rank_out():
    """Documents alike, shown at different ranks: CTR differs, CTR over expected clicks does not."""
    data = RankingDataset.from_groups(np.zeros((5, 1)), np.full(5, 3), [5])
    log = simulate(
        data, logging_policy=np.arange(5), user="pbm", sessions=50_000, randomize="shuffle", rate=0.1
    )
    spread = {name: np.ptp(getattr(clicks.labels, name)(log).values) for name in ("ctr", "coec")}
    assert spread["ctr"] > 0.3
    assert spread["coec"] < 0.15


def test_labels_need_their_columns():
    log = ClickLog([1], ["q"], ["a"], [1], [1])
    with pytest.raises(ValueError, match="no dwell column"):
        clicks.labels.dwell_satisfied(log)
    with pytest.raises(ValueError, match="no conversion column"):
        clicks.labels.conversion_rate(log)
    with pytest.raises(ValueError, match="strength"):
        clicks.labels.smoothed_ctr(log, strength=-1)


def test_every_estimator_is_named_as_it_is_called():
    names = {
        "labels": set(labels.__all__),
        "click model": set(clicks.models()),
        "propensity": set(propensity.__all__),
        "learning": set(unbiased.__all__),
        "evaluation": set(unbiased.__all__),
    }
    for one in check(log_of()).estimators:
        assert one.estimator in names[one.family], one.estimator
