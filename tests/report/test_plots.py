"""What single plots show, and what they refuse."""

import xml.etree.ElementTree as ET
from datetime import UTC, datetime

import numpy as np
import pytest

import rankloop.report as family
from rankloop.clicks import PBM, ClickLog, RankCTR, simulate
from rankloop.clicks.columns.wilson import wilson
from rankloop.data import synthetic
from rankloop.interleaving import verdict
from rankloop.metrics import compare, evaluate
from rankloop.online.learning_curve import LearningCurve
from rankloop.propensity import Propensity
from rankloop.rankers import lambdas

SVG = "{http://www.w3.org/2000/svg}"


def words(figure):
    return [
        "".join(element.itertext()) if len(element) == 0 else (element[0].tail or "")
        for element in ET.fromstring(figure.svg).iter(f"{SVG}text")
    ]


def rects(figure, role):
    return [
        element.attrib
        for element in ET.fromstring(figure.inline()).iter(f"{SVG}rect")
        if element.attrib["class"] == role
    ]


@pytest.fixture(scope="module")
def log():
    data = synthetic(n_queries=20, docs_per_query=6, n_features=3, seed=0)
    return simulate(data, logging_policy=data.X[:, 0], sessions=2000, k=5, randomize="swap", seed=0)


def test_a_propensity_is_a_curve():
    curve = Propensity.given([1.0, 0.5, 0.25])
    figure = family.position_curve({"given": curve}, truth=[1, 1 / 2, 1 / 3])
    assert {"given", "the truth"} <= set(words(figure))
    assert "given: 3 values, from 1 to 0.2500" in figure.description
    with pytest.raises(ValueError, match="different lengths"):
        family.position_curve({"a": ([1.0], [1.0], [1.0, 2.0])})


def test_rates_of_a_log_by_hand():
    log = ClickLog([1, 1, 2, 2], ["q", "q", "r", "r"], ["a", "b", "a", "b"], [1, 2, 1, 2], [1, 0, 0, 0])
    figure = family.ctr_by_position(log)
    assert ": 2 values, from 0.5000 to 0" in f": {figure.description.split('interval. ')[1]}"
    table = family.heat_map(log)
    assert table.title == "Click rate by query and position"
    cells = [one for one in rects(table, "s1") if "fill-opacity" in one][10:]  # after the key
    assert [float(one["fill-opacity"]) for one in cells] == [1.0, 0.1, 0.1, 0.1]
    assert family.heat_map(log, by="document").title == "Click rate by document and position"
    with pytest.raises(ValueError, match="unknown by 'rank'"):
        family.heat_map(log, by="rank")


def test_wilson_knows_the_edges():
    share, low, high = wilson(np.array([0.0, 5.0, 0.0]), np.array([5.0, 5.0, 0.0]))
    assert share[:2].tolist() == [0.0, 1.0]
    assert low[0] == 0.0
    assert high[1] == 1.0
    assert 0.4 < high[0] < 0.5
    assert np.isnan([share[2], low[2], high[2]]).all()


def test_models_are_judged_on_the_log(log):
    half, other = log.split(0.5, seed=0)
    fitted = {"PBM": PBM().fit(half), "rank": RankCTR().fit(half)}
    figure = family.click_fit(other, fitted)
    surprise = fitted["PBM"].perplexity(other).overall
    assert f"Perplexity of PBM: {surprise:.4f}" in figure.description
    assert {"observed", "PBM", "rank"} <= set(words(figure))


def test_results_of_other_families_are_taken_as_they_are():
    data = synthetic(n_queries=30, docs_per_query=8, n_features=4, seed=0)
    found = compare({"a": data.X[:, 0], "b": data.X[:, 1]}, data, ["ndcg@5", "arp"])
    gains = family.gains_and_losses(found, metric="arp")
    assert gains.title == "arp by query: b against a"
    with pytest.raises(ValueError, match="unknown system 'c'"):
        family.gains_and_losses(found, system="c")
    with pytest.raises(ValueError, match="unknown metric 'map'"):
        family.gains_and_losses(found, metric="map")
    verdict_of = found.verdicts["arp"]["b"]
    assert f"gain: {verdict_of.wins}, that lose: {verdict_of.losses}" in gains.description
    alone = evaluate(data.X[:, 0], data, ["ndcg@5"])
    assert f"ndcg@5: {alone.mean['ndcg@5']:.4f}" in family.metric_intervals(alone).description
    pushed = lambdas("lambdarank", data.X[:, 0], data.y, data.offsets)
    assert "rank 1" in family.lambdas_picture(pushed, index=3).description or pushed.push[0] == 0


def test_arrows_point_where_the_push_goes():
    figure = family.lambdas_picture(
        [-0.4, 0.4], labels=[0, 1], scores=[2.0, 1.0], documents=["up there", "down here"]
    )
    shafts = [
        element.attrib
        for element in ET.fromstring(figure.svg).iter(f"{SVG}line")
        if element.attrib.get("stroke-width") == "2.6"
    ]
    assert [one["class"] for one in shafts] == ["l-s2", "l-s1"]
    assert float(shafts[0]["y2"]) > float(shafts[0]["y1"])
    assert float(shafts[1]["y2"]) < float(shafts[1]["y1"])
    many = family.lambdas_picture(np.zeros(50), k=20)
    assert "30 more documents are ranked below." in many.svg


def test_a_verdict_in_words():
    judged = verdict([[1, 0]] * 87 + [[0, 1]] * 48 + [[0, 0]] * 83, names=("new", "old"))
    figure = family.preference(judged)
    text = " ".join(words(figure)).replace("\u00a0", " ")
    assert "p < 0.001: new is preferred." in text
    assert {"87", "83", "48"} <= set(words(figure))
    widths = [float(rects(figure, role)[0]["width"]) for role in ("s1", "none", "s2")]
    assert widths[0] > widths[1] > widths[2]
    with pytest.raises(ValueError, match="there is no ties"):
        family.preference({"first": "a", "second": "b", "wins": 1, "losses": 2})


def test_an_online_curve_shows_what_users_saw():
    curve = LearningCurve(np.array([0, 100]), np.array([0.3, 0.5]), 123.4, 0.02)
    figure = family.learning_picture({"pdgd": curve})
    assert "users saw a discounted ndcg@10 of 123.40 in total, 2.0% of the pages below the floor" in " ".join(
        words(figure)
    )
    assert "pages" in words(figure)


def test_without_a_floor_there_is_no_share():
    seen = LearningCurve(np.array([0, 10]), np.array([0.4, 0.5]), 3.5, np.nan)
    assert "floor" not in " ".join(words(family.learning_picture({"pdgd": seen})))
    assert "no floor" in family.report_of_online({"pdgd": seen}).html


@pytest.mark.parametrize(
    "times",
    [
        ["2026-01-01T00:00", "2026-01-01T06:00"],
        [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 6)],
        np.array(["2026-01-01T00:00", "2026-01-01T06:00"], "datetime64[s]"),
        [1767225600, 1767247200.0],
    ],
    ids=["text", "datetime", "datetime64", "seconds"],
)
def test_every_way_to_tell_a_time(times):
    figure = family.over_time(
        {"v1": (times, [1.0, 2.0])}, marks={"v2": "2026-01-01T03:00", "late": "2027-01-01"}
    )
    shown = words(figure)
    assert {"00:00", "03:00", "06:00", "v2"} <= set(shown)
    assert "late" not in shown


@pytest.mark.parametrize(
    ("days", "label"),
    [(1 / 240, "00:05"), (2, "02 Jan 00:00"), (20, "08 Jan"), (400, "Jan 2027"), (3000, "Jan 2032")],
)
def test_clocks_and_calendars(days, label):
    start = 1767225600.0
    figure = family.over_time((np.array([start, start + days * 86400]), [1.0, 2.0]))
    assert label in words(figure)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: family.over_time({"a": [1, 2]}), r"must be \(times, values\)"),
        (lambda: family.over_time({"a": (["today"], [1.0])}), "a time is written like"),
        (lambda: family.over_time({"a": ([None], [1.0])}), "a time is seconds"),
        (lambda: family.over_time({"a": ([float("nan")], [1.0])}), "a time is seconds"),
        (lambda: family.over_time({"a": ([1, 2], [1.0])}), "2 times for 1 values"),
        (lambda: family.learning_picture({"a": ([1, 2], [1.0])}), "an x and a y of different lengths"),
        (lambda: family.learning_picture({"a": "text"}), "must be numbers"),
        (lambda: family.ctr_by_position([1, 2]), "wanted a click log"),
        (lambda: family.ctr_by_position(([2], [1])), "no rank more clicks"),
        (lambda: family.metric_intervals({"a": {"m": (1, 2)}}), "mean, low and high"),
        (lambda: family.gains_and_losses([0.1], queries=["a", "b"]), "1 differences for 2 queries"),
        (lambda: family.importance_picture((["a"], [1, 2])), "1 names for 2 values"),
        (lambda: family.importance_picture([1, 2]), "wanted an Importance"),
        (lambda: family.lambdas_picture([1.0], labels=[1, 2]), "1 lambdas need as many"),
        (lambda: family.heat_map([1, 2]), "rows and columns"),
        (lambda: family.heat_map([[1, 2]], rows=["a", "b"]), "2 rows and 2 columns are named"),
    ],
)
def test_wrong_use(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_many_points_make_a_small_figure():
    rng = np.random.default_rng(0)
    values = rng.normal(size=50_000)
    values[25_000] = 50.0
    bounds = (np.arange(50_000.0), values, values - 1, values + 1)
    figure = family.learning_picture({"long": bounds})
    assert len(figure.svg) < 60_000
    tallest = min(
        float(pair.split()[1])
        for element in ET.fromstring(figure.svg).iter(f"{SVG}path")
        if element.attrib["class"] == "l-s1"
        for pair in element.attrib["d"].strip("M").split("L")
    )
    assert tallest < 100  # the one high value is seen
    assert len(family.gains_and_losses(values).svg) < 40_000


def test_click_rates_are_over_people_where_the_log_knows_them():
    """Ten people of a hundred pages each who click always or never are ten, not a thousand."""
    from rankloop.clicks import ClickLog
    from rankloop.report.ctr_by_position import click_rates

    n = 1000
    person = np.arange(n) // 100
    columns = (
        np.arange(n),
        np.zeros(n, int),
        np.zeros(n, int),
        np.ones(n, int),
        (person % 2).astype(np.int8),
    )
    share, low, high = click_rates(ClickLog(*columns, user=person))
    _, least, most = click_rates(ClickLog(*columns))
    assert share[0] == 0.5
    assert most[0] - least[0] < 0.07
    assert 0.5 < high[0] - low[0] < 0.75


def test_the_tip_of_a_point_has_the_name_of_its_curve_if_there_is_one():
    assert "<title>1: 1</title>" in family.position_curve([1.0, 0.5]).svg
    assert "<title>given, 1: 1</title>" in family.position_curve({"given": [1.0, 0.5], "b": [1.0, 0.4]}).svg
