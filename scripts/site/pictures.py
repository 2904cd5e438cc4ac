"""The pictures of the pages on concepts: each is drawn from a small simulation while the site is built.

A page has a line `<!-- picture NAME -->` where the picture goes. What a page says of a picture is asserted
here, so that the site does not build where it is not so.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

import rankloop as rl
from rankloop import interleaving, propensity, report, unbiased
from rankloop.unbiased.counterfactual_estimate import Evaluator

__all__ = ["PICTURES", "drawn"]

_PLACE = re.compile(r"^<!-- picture ([a-z_]+) -->$", re.MULTILINE)
TRUTH = 1 / np.arange(1, 11)  # how likely a simulated person looks at each rank
TURNS, SESSIONS = 4, 20_000


def drawn(markdown: str) -> str:
    """A page with its pictures in their places."""
    return _PLACE.sub(lambda found: PICTURES[found[1]]().html, markdown)


class World(NamedTuple):
    """Lists to learn from and to test on, a log with swaps, and the curve that the swaps give."""

    train: rl.RankingDataset
    test: rl.RankingDataset
    log: rl.ClickLog
    seen: propensity.Propensity


@cache
def world() -> World:
    train, test = (
        rl.synthetic(n_queries=250, docs_per_query=10, n_features=12, seed=seed) for seed in (0, 1)
    )
    log = shown(train, train.X[:, 0], seed=0)
    return World(train, test, log, propensity.swap_intervention(log))


def shown(data: rl.RankingDataset, policy: object, seed: int, sessions: int = 2 * SESSIONS) -> rl.ClickLog:
    """The clicks of people who look at rank k one time in k; on half of the pages rank 1 may be exchanged."""
    return rl.simulate(
        data,
        logging_policy=policy,
        user="pbm",
        sessions=sessions,
        k=10,
        randomize="swap",
        rate=0.5,
        seed=seed,
    )


def trees() -> rl.LambdaMART:
    return rl.LambdaMART(trees=40, leaves=8, loss=unbiased.DCG, threads=1, seed=0)


def clicks_by_rank() -> report.Figure:
    return report.ctr_by_position(world().log)


def examination() -> report.Figure:
    seen = world().seen
    assert np.mean((seen.low <= TRUTH) & (seen.high >= TRUTH)) >= 0.8
    return report.position_curve({"from the experiment": seen}, truth=TRUTH)


def corrected() -> report.Figure:
    train, test, log, seen = world()
    rankers = {"as they are": unbiased.naive(log, train), "corrected": unbiased.ips(log, seen, train)}
    fitted = {f"clicks {name}": trees().fit(labels) for name, labels in rankers.items()}
    difference = rl.compare(fitted, test, "ndcg@10").verdicts["ndcg@10"]["clicks corrected"]
    assert difference.low > 0
    found = {name: rl.evaluate(ranker, test, ["ndcg@10"]) for name, ranker in fitted.items()}
    return report.metric_intervals(
        {"in service": rl.evaluate(test.X[:, 0], test, ["ndcg@10"]), **found},
        title="What each ranking is worth",
    )


def turns() -> report.Figure:
    """The loop, turned several times: each ranker shows the pages that the next one learns from."""
    train, test, *_ = world()
    courses = {}
    for name in ("clicks as they are", "clicks corrected"):
        policy, values = train.X[:, 0], [rl.evaluate(test.X[:, 0], test, ["ndcg@10"])]
        for turn in range(TURNS):
            log = shown(train, policy, seed=10 + turn, sessions=SESSIONS)
            labels = (
                unbiased.ips(log, propensity.swap_intervention(log), train)
                if name == "clicks corrected"
                else unbiased.naive(log, train)
            )
            ranker = trees().fit(labels)
            policy = ranker.predict(train)
            values.append(rl.evaluate(ranker, test, ["ndcg@10"]))
        courses[name] = [one.mean["ndcg@10"] for one in values]
    assert all(course[-1] > course[0] for course in courses.values())
    assert courses["clicks corrected"][-1] > courses["clicks as they are"][-1]
    at = np.arange(TURNS + 1)
    curves = {name: (at, np.array(course)) for name, course in courses.items()}
    return report.learning_picture(curves, x="turns of the loop", title="What each turn brings")


@cache
def duel() -> interleaving.Duel:
    train, test, *_ = world()
    new = rl.LinearRanker(loss="ranknet").fit(train).predict(test)
    return interleaving.simulate_duel(test, {"new": new, "old": test.X[:, 0]}, pages=1_000, seed=0)


def preferred() -> report.Figure:
    return report.preference(duel().verdicts())


def any_look() -> report.Figure:
    found = duel().always_valid("new", "old")
    assert found.winner == "new"
    at = np.arange(100, 1_001, 20)
    course = (at, found.differences[at - 1], found.lows[at - 1], found.highs[at - 1])
    return report.learning_picture(
        {"new less old": course}, x="pages", y="credit", best=found.stop, mark="decided",
        title="Credit of the new ranking",
    )  # fmt: skip


def gate() -> report.Figure:
    """Three candidates before the gate, by the clicks on production's pages."""
    train, _, log, seen = world()
    judged = shown(train, train.X[:, 0], seed=99)  # a log that no candidate was trained on
    production, rng = train.X[:, 0], np.random.default_rng(0)
    candidates = {
        "learned from clicks": trees().fit(unbiased.ips(log, seen, train)).predict(train),
        "production, a little shaken": production + rng.normal(0, 0.1 * production.std(), len(production)),
        "production, upside down": -production,
    }
    evaluator = Evaluator(judged, train, "dcg@10", propensity=seen, method="ips")
    gains = {name: evaluator.difference(scores, production) for name, scores in candidates.items()}
    learned, shaken, reversed_ = gains.values()
    assert learned[1] > 0 > reversed_[2]
    assert shaken[1] < 0 < shaken[2]
    return report.metric_intervals(
        {name: {"gain in dcg@10": gain} for name, gain in gains.items()},
        signed=True,
        title="The gain that clicks promise",
        note="Against production, with 95 % intervals. The gate opens where all of the interval is above 0.",
    )


LIST = ([2.0, 1.6, 1.2, 0.9, 0.5], [0, 3, 1, 2, 0])  # scores and grades of one list


def one_list() -> report.Figure:
    return report.ndcg_picture(*LIST)


def pushes() -> report.Figure:
    found = rl.rankers.lambdas("lambdarank", *LIST)
    assert np.isclose(found.push.sum(), 0)
    assert found.push[1] == max(found.push)
    assert found.push[0] == min(found.push)
    return report.lambdas_picture(found)


def after_trees() -> report.Figure:
    train, test, *_ = world()
    ranker = rl.LambdaMART(trees=60, leaves=8, threads=1, seed=0).fit(train, test)
    return report.learning_picture({"other queries": ranker.curve_}, x="trees", title="Tree after tree")


PICTURES: dict[str, Callable[[], report.Figure]] = {
    one.__name__: one
    for one in (clicks_by_rank, examination, corrected, turns, preferred, any_look, gate, one_list, pushes)
} | {"after_trees": after_trees}
