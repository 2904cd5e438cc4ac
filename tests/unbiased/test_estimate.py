"""Counterfactual values against the truth, and intervals against how often they hold it."""

import numpy as np
import pytest

from rankloop.clicks import ClickLog, TrustPBM, aggregate, simulate
from rankloop.clicks.user import attraction_by_grade
from rankloop.data import RankingDataset, synthetic
from rankloop.metrics import ndcg
from rankloop.propensity import Propensity
from rankloop.unbiased import counterfactual_estimate, relevance, select
from rankloop.unbiased.estimation import agreement
from rankloop.unbiased.estimation.evidence import evidence
from rankloop.unbiased.estimation.rank_metric import rank_metric

THETA = 1.0 / np.arange(1, 11)
GAMMA = attraction_by_grade()


@pytest.fixture(scope="module")
def world():
    data = synthetic(n_queries=100, docs_per_query=6, n_features=4, seed=3)
    data = data.select(np.flatnonzero(data.lengths <= 10))
    log = simulate(data, logging_policy=data.X[:, 0], sessions=100_000, temperature=1.0, seed=4)
    return data, log


def truth(data, log, scores, worth):
    pages = np.bincount(np.searchsorted(data.qid, log.queries)[log.page_query.code], minlength=data.n_queries)
    each = GAMMA[data.y.astype(int)] * worth.weights(scores, data.offsets, THETA)
    return float((each * pages[data.row_query]).sum() / pages.sum())


@pytest.mark.parametrize("metric", ["dcg@5", "dcg", "precision@3", "arp", "ctr", "ctr@2"])
@pytest.mark.parametrize("method", ["ips", "policy_aware", "doubly_robust"])
def test_another_ranking_is_valued_right(world, metric, method):
    data, log = world
    scores = data.X[:, 1].astype(float)
    options = {"relevance": np.full(data.n_documents, 0.2), "tau": 0.0} if method == "doubly_robust" else {}
    found = counterfactual_estimate(log, data, scores, metric, propensity=THETA, method=method, **options)
    true = truth(data, log, scores, rank_metric(metric))
    assert abs(found.value - true) < 0.05 * true
    assert found.low < found.value < found.high
    assert found.effective_sample_size > 1000


def test_naive_is_fooled_by_the_logger(world):
    data, log = world
    logger, other = data.X[:, 0].astype(float), data.X[:, 1].astype(float)
    gap = {
        method: counterfactual_estimate(log, data, other, "dcg@3", propensity=THETA, method=method).value
        / counterfactual_estimate(log, data, logger, "dcg@3", propensity=THETA, method=method).value
        for method in ("naive", "ips")
    }
    true = truth(data, log, other, rank_metric("dcg@3")) / truth(data, log, logger, rank_metric("dcg@3"))
    assert gap["ips"] == pytest.approx(true, rel=0.05)
    assert gap["naive"] < gap["ips"] - 0.05


@pytest.mark.parametrize("metric", ["dcg@3", "arp", "ctr"])
def test_methods_have_one_unit_and_agree_in_expectation(metric):
    """60 logs of one world that show 4 of 6 documents: the means of all methods are the truth."""
    rng = np.random.default_rng(0)
    data = RankingDataset.from_groups(rng.normal(size=(240, 2)), rng.integers(0, 5, 240), np.full(40, 6))
    scores, worth = data.X[:, 1].astype(float), rank_metric(metric)
    values = {method: [] for method in ("ips", "clipped", "snips", "policy_aware", "affine", "doubly_robust")}
    true = []
    for seed in range(60):
        log = simulate(
            data, logging_policy=data.X[:, 0], user="pbm", sessions=4000, k=4, temperature=1.0, seed=seed
        )
        pages = np.bincount(np.searchsorted(data.qid, log.queries)[log.page_query.code], minlength=40)
        each = GAMMA[data.y.astype(int)] * worth.weights(scores, data.offsets, THETA)
        true.append(float((each * pages[data.row_query]).sum() / pages.sum()))
        for method, found in values.items():
            options = {"clipped": {"tau": 0.0}, "doubly_robust": {"tau": 0.0, "relevance": np.full(240, 0.3)}}
            got = counterfactual_estimate(
                log, data, scores, metric, propensity=THETA, method=method, **options.get(method, {})
            )
            found.append(got.value)
    for method, found in values.items():
        apart = np.array(found) - true
        assert abs(apart.mean()) < 3.5 * apart.std(ddof=1) / np.sqrt(60), method
    assert np.std(values["snips"]) < np.std(values["ips"])  # what normalisation is for


def test_documents_missing_from_a_page_are_not_zeros():
    """By hand: shown on one page of two and clicked there at a rank that half of the people examine."""
    data = RankingDataset.from_groups(np.zeros((3, 1)), np.zeros(3), [3])
    log = ClickLog([1, 1, 2, 2], [1] * 4, [0, 1, 0, 2], [1, 2, 1, 2], [1, 1, 0, 0])
    assert relevance(log, [1.0, 0.5], data, method="ips") == pytest.approx([0.5, 2.0, 0.0])
    user = TrustPBM(relevant=[1.0, 0.6], other=[0.0, 0.1], attraction=0.5)
    assert relevance(log, user, data, method="affine") == pytest.approx([0.5, 1.8, -0.2])


def test_few_frequent_queries_are_said():
    data = synthetic(n_queries=40, docs_per_query=4, n_features=2, seed=0)
    weight = np.where(np.arange(40) == 0, 200.0, 1.0)
    log = simulate(
        data.replace(query_weight=weight.astype(np.float32)),
        logging_policy=data.X[:, 0],
        sessions=5000,
        seed=0,
    )
    found = counterfactual_estimate(log, data, data.y, "dcg", propensity=THETA, method="ips")
    assert any("have most of the pages" in one for one in found.warnings)


def test_ctr_counts_the_clicks_that_trust_brings():
    user = TrustPBM(relevant=[0.9, 0.6, 0.4], other=[0.4, 0.2, 0.1], attraction=[0.0, 1.0])
    rng = np.random.default_rng(0)
    data = RankingDataset.from_groups(np.zeros((120, 1)), rng.integers(0, 2, 120), np.full(40, 3))
    log = simulate(
        data, logging_policy=rng.normal(size=120), user=user, sessions=50_000, temperature=2.0, k=3, seed=0
    )
    found = counterfactual_estimate(log, data, data.y, "ctr", propensity=user, method="intervention_aware")
    alpha, beta = user.alpha(3), user.beta(3)
    pages = np.bincount(log.page_query.code, minlength=40)
    each = (
        (data.y * rank_metric("ctr").weights(data.y.astype(float), data.offsets, alpha)).reshape(40, 3).sum(1)
    )
    assert found.value == pytest.approx((each + beta.sum()) @ pages / pages.sum(), rel=0.02)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """200 draws of 60 queries from a world whose mean value is known."""
    world = synthetic(n_queries=3000, docs_per_query=5, n_features=3, seed=1)
    world = world.select(np.flatnonzero(world.lengths <= 10))
    worth = rank_metric("dcg@3")
    each = GAMMA[world.y.astype(int)] * worth.weights(world.X[:, 1].astype(float), world.offsets, THETA)
    true = np.add.reduceat(each, world.offsets[:-1]).mean()
    held = 0
    for seed in range(200):
        part = world.select(np.random.default_rng(seed).choice(world.n_queries, 60, replace=False))
        log = simulate(part, logging_policy=part.X[:, 0], sessions=3000, seed=seed)
        found = counterfactual_estimate(log, part, part.X[:, 1], "dcg@3", propensity=THETA, method="ips")
        held += found.low <= true <= found.high
    assert 180 <= held <= 199


def test_an_uncertain_curve_widens_the_interval(world):
    data, log = world
    sure = Propensity.given(THETA)
    unsure = Propensity(THETA, THETA, THETA, "given", log_covariance=np.diag(np.r_[0, np.full(9, 0.3)]))
    widths = []
    for curve in (sure, unsure):
        found = counterfactual_estimate(log, data, data.X[:, 1], "dcg@5", propensity=curve, method="ips")
        widths.append(found.high - found.low)
    assert widths[1] > 1.1 * widths[0]


def test_it_is_said_where_the_curve_makes_much_of_the_interval(world):
    data, log = world
    for spread, expected in ((0.3, True), (1e-6, False)):
        covariance = np.diag(np.r_[0, np.full(9, spread)])
        curve = Propensity(THETA, THETA, THETA, "given", log_covariance=covariance)
        found = counterfactual_estimate(log, data, data.y, "dcg@5", propensity=curve, method="ips")
        assert any("covers more than 95 %" in one for one in found.warnings) == expected


@pytest.mark.parametrize(("curve", "how"), [(THETA**0.5, "faster"), (THETA, ""), (THETA**1.5, "more slowly")])
def test_it_is_said_where_clicks_do_not_follow_the_curve(world, curve, how):
    data, log = world
    found = counterfactual_estimate(log, data, data.y, "dcg@5", propensity=curve, method="ips")
    assert any(f"fall {how} with the rank than the curve says" in one for one in found.warnings) == bool(how)


def test_clicks_beyond_the_curve_by_hand():
    """One document, ten pages each at ranks 1 and 2 under the curve 1, 0.5: six clicks and no click.

    Its relevance is 6 / 15, so that 4 and 2 clicks are expected: +2 log 1 and -2 log 2.
    """
    data = RankingDataset.from_groups(np.zeros((1, 1)), [0], [1], qid=["q"], docid=["d"])
    click = [1] * 6 + [0] * 14
    log = ClickLog(range(20), ["q"] * 20, ["d"] * 20, [1] * 10 + [2] * 10, click)
    seen = evidence(log, [1.0, 0.5], data)
    np.testing.assert_allclose(agreement._trend(seen), [-2 * np.log(2)])


def test_an_uncertain_curve_may_be_off_by_its_uncertainty(world):
    data, log = world
    off = THETA * np.linspace(1, 0.7, 10)
    for spread, expected in ((1e-6, True), (0.1, False)):
        covariance = np.diag(np.r_[0, np.full(9, spread)])
        curve = Propensity(off, off, off, "given", log_covariance=covariance)
        found = counterfactual_estimate(log, data, data.y, "dcg@5", propensity=curve, method="ips")
        assert any("than the curve says" in one for one in found.warnings) == expected


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_it_is_said_where_the_model_of_relevance_is_wrong(world, noise):
    data, log = world
    true = GAMMA[data.y.astype(int)]
    guess = (1 - noise) * true + noise * np.random.default_rng(0).random(len(true))
    options = {"propensity": THETA, "method": "direct_method", "relevance": guess}
    found = counterfactual_estimate(log, data, data.y, "dcg@5", **options)
    assert any("as wrong as its model" in one for one in found.warnings) == bool(noise)


def test_few_queries_fall_back_on_clicks_and_say_so():
    data = RankingDataset.from_groups(np.zeros((4, 1)), [0, 1, 2, 3], [4])
    log = simulate(data, logging_policy=[4.0, 3, 2, 1], sessions=2000, seed=0)
    found = counterfactual_estimate(log, data, data.y, "dcg", propensity=THETA, method="ips")
    assert "fewer than 20 queries" in repr(found)
    true = (GAMMA[[0, 1, 2, 3]] / np.log2([5, 4, 3, 2])).sum()
    assert found.low < true < found.high


def test_what_was_never_shown_is_said():
    data = synthetic(n_queries=40, docs_per_query=12, n_features=4, seed=0)
    log = simulate(data, logging_policy=data.X[:, 0], sessions=4000, k=3, seed=0)
    found = counterfactual_estimate(log, data, -data.X[:, 0], "dcg@3", propensity=THETA, method="ips")
    assert any("never shown" in one for one in found.warnings)
    few = counterfactual_estimate(
        log.select(np.arange(30)), data, data.X[:, 0], "dcg@3", propensity=THETA, method="ips"
    )
    assert any("log for longer" in one for one in few.warnings)


def test_counts_give_the_same_estimate(world):
    data, log = world
    one, other = (
        counterfactual_estimate(form, data, data.y, "dcg@5", propensity=THETA, method="ips")
        for form in (log, aggregate(log))
    )
    assert one.value == pytest.approx(other.value)


def test_select_names_the_best_and_by_how_much(world):
    data, log = world
    rankers = {"first": data.X[:, 0], "truth": data.y, "again": data.y}
    found = select(log, data, rankers, "dcg@5", propensity=THETA, method="ips")
    assert found.best == "truth"
    assert found.behind["first"][2] < 0
    assert found.behind["again"] == (0.0, 0.0, 0.0)
    assert "best" in repr(found)
    assert found.to_dict()["best"] == "truth"
    lower = select(log, data, rankers, "arp", propensity=THETA, method="ips")
    assert lower.best == "truth"


def test_worth_equals_the_house_metric_and_shares_ties():
    scores, offsets = np.array([1.0, 1.0, 0.0, 5.0]), np.array([0, 3, 4])
    worth = rank_metric("dcg@2").weights(scores, offsets, THETA)
    shared = (1 + 1 / np.log2(3)) / 2
    assert worth == pytest.approx([shared, shared, 0, 1])
    labels = np.array([1, 0, 1, 1], np.float32)
    whole = rank_metric("dcg").weights(scores, offsets, THETA)
    ideal = 1 + 1 / np.log2(3)
    assert (whole * labels)[:3].sum() / ideal == pytest.approx(ndcg(scores, labels, offsets)[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "ndcg@10"}, "unknown metric"),
        ({"metric": "precision"}, "needs a cut-off"),
        ({"propensity": None}, "needs propensity"),
        ({"ranker": [1.0]}, "one score per row"),
        ({"method": "dm"}, "unknown method"),
    ],
)
def test_mistakes_are_explained(world, change, message):
    data, log = world
    call = {"ranker": data.y, "metric": "dcg", "propensity": THETA, "method": "ips", **change}
    with pytest.raises(ValueError, match=message):
        counterfactual_estimate(log, data, call.pop("ranker"), call.pop("metric"), **call)


def test_a_log_of_one_ranking_speaks_neither_for_nor_against_a_curve():
    """Each document is at one rank: what its clicks differ from its own mean by is rounding, not evidence."""
    rng = np.random.default_rng(21)
    data = RankingDataset.from_groups(np.zeros((400, 1)), np.zeros(400), [8] * 50)
    page_query, rank = rng.integers(0, 50, 2000), np.arange(8)
    row = (page_query[:, None] * 8 + rank).ravel()
    for power in rng.uniform(0.5, 1.5, 40):
        curve = 1.0 / np.arange(1, 9) ** power
        log = ClickLog(
            session=np.repeat(np.arange(2000), 8),
            query=data.qid[page_query].repeat(8),
            document=row,
            position=np.tile(rank + 1, 2000),
            click=rng.random(len(row)) < 0.5 * np.tile(curve, 2000),
        )
        assert not list(agreement.against_curve(evidence(log, curve**0.97, data))), power
