"""Arms, swaps and verdicts: who sees what, and what the clicks say of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.interleaving import ab_verdict
from rankloop.serve.events.shown_page import Event, ShownPage
from rankloop.serve.events.store import Store
from rankloop.serve.experiments.experiments import Experiment, Experiments
from rankloop.serve.experiments.policy import arm_of, share_of, swapped
from rankloop.serve.http.schema import EventIn, SearchRequest
from rankloop.serve.http.schema_admin import ExperimentRequest
from rankloop.serve.pages.experiments import experiments
from rankloop.serve.pages.rendering import signed
from serve.running import ADMIN, another, client_of, serving, wait_until


def experiment(**given):
    defaults = {"id": "e", "kind": "ab", "a": "v1", "b": "v2", "share": 1.0, "method": "", "seed": 0}
    return Experiment(**(defaults | {"started": 0.0} | given))


def test_shares_are_even_and_stay():
    draws = np.array([share_of("salt", str(number)) for number in range(10_000)])
    assert abs(draws.mean() - 0.5) < 0.02
    assert abs((draws < 0.1).mean() - 0.1) < 0.01
    assert share_of("salt", "7") == draws[7]


def test_a_unit_is_in_one_experiment_at_most():
    two = [experiment(id="x", share=0.3), experiment(id="y", share=0.2, kind="interleave")]
    arms = [arm_of(str(n), "v0", experiments=two, canary="v9", share=0.1) for n in range(10_000)]
    count = {id: sum(bool(arm.experiment and arm.experiment.id == id) for arm in arms) for id in "xy"}
    assert count["x"] == pytest.approx(3000, abs=200)
    assert count["y"] == pytest.approx(2000, abs=200)
    in_a = sum(arm.versions == ("v1",) for arm in arms)
    assert in_a == pytest.approx(1500, abs=150)
    assert sum(arm.versions == ("v9",) for arm in arms) == pytest.approx(500, abs=100)


@given(st.text(max_size=20), st.integers(0, 30), st.integers(2, 12))
def test_a_swap_is_of_neighbours_on_the_page(page_id, shown, top):
    exchange = swapped(page_id, shown, 1.0, top)
    if shown < 2:
        assert exchange is None
        return
    low, high = exchange["swap"]
    assert 1 <= low == high - 1 < min(shown, top)
    assert exchange == swapped(page_id, shown, 1.0, top)


def test_swaps_come_at_their_rate_and_half_of_them_exchange():
    draws = [swapped(str(number), 10, 0.2, 10) for number in range(20_000)]
    some = [one for one in draws if one]
    assert len(some) / len(draws) == pytest.approx(0.2, abs=0.01)
    assert np.mean([one["swapped"] for one in some]) == pytest.approx(0.5, abs=0.03)
    lows = np.bincount([one["swap"][0] for one in some])[1:]
    assert lows.min() > 0.8 * lows.mean()


def test_a_canary_serves_the_same_people(tmp_path):
    with serving(tmp_path, swap_rate=0.0) as service:
        service.versions.canary(another(service), 0.3)
        seen = {
            user: {service.search(SearchRequest(query="red", user=user)).ranker for _ in range(2)}
            for user in map(str, range(100))
        }
        assert all(len(rankers) == 1 for rankers in seen.values())
        assert 10 <= sum(rankers == {"v2"} for rankers in seen.values()) <= 55


def test_a_shadow_is_never_seen_but_measured(tmp_path):
    with serving(tmp_path, swap_rate=0.0) as service:
        service.versions.shadow(another(service))
        pages = [service.search(SearchRequest(query=query)) for query in ("red", "shoes", "hat")]
        assert {page.ranker for page in pages} == {"v1"}
        service.shadow.finish()
        agreement = service.shadow.agreement("v2")
        assert (agreement["pages"], agreement["failed"]) == (3, 0)
        assert 0 < agreement["overlap"] <= 1
        service.versions.shadow(None)
        assert service.registry.version("v2").lineage["shadow"]["pages"] == 3


def test_an_interleaving_finds_the_preferred_version(tmp_path):
    with serving(tmp_path, swap_rate=1.0) as service:
        dear = another(service)
        started = service.versions.start_experiment(ExperimentRequest(a="v1", b=dear))
        assert service.experiments.progress(started).verdict is None
        for number in range(120):
            page = service.search(SearchRequest(query="red shoes", user=f"user {number}"))
            assert page.ranker == f"v1 + {dear}"
            best = max(page.results, key=lambda result: result.document["price"])
            click = {"impression": page.impression, "kind": "click", "document": best.id}
            service.record([EventIn(id=f"click-{number}", **click)])
        wait_until(lambda: service.recorder.spool.waiting == 0)
        standing = service.experiments.progress(started)
        assert standing.pages == standing.verdict["people"] == 120
        assert standing.verdict["winner"] == dear
        assert standing.verdict["losses"] == 120
        assert standing.verdict["high"] < 0
        assert 100 <= standing.verdict["stop"] <= 120
        panel = experiments(service, service.registry.versions(), changing=False)
        [row] = panel.rows
        ends = [signed(standing.verdict[name]) for name in ("difference", "low", "high")]
        assert row[4].text == f"{ends[0]} [{ends[1]}, {ends[2]}]"
        assert str(panel.figure).count("[") == 0, "no interval for one look beside it"
        page = service.store.page(page.impression.split(".")[0])
        assert (page.policy, page.experiment) == ("interleave", started.id)
        assert page.ranker == f"v1 + {dear}", "neither version has this page on its account"
        assert service.versions.end_experiment(started.id).ended
        assert service.search(SearchRequest(query="red")).ranker == "v1"


def test_an_ab_experiment_compares_people(tmp_path):
    with client_of(tmp_path, swap_rate=0.0) as (client, service):
        dear = another(service)
        body = {"kind": "ab", "a": dear, "b": "v1", "note": "<b>note</b>"}
        id = client.post("/experiments", json=body, headers=ADMIN).json()["id"]
        arms = {}
        for number in range(240):
            page = service.search(SearchRequest(query="red shoes", user=f"user {number % 120}"))
            arms.setdefault(number % 120, set()).add(page.ranker)
            if page.ranker == dear:
                click = {"impression": page.impression, "kind": "click", "document": page.results[0].id}
                service.record([EventIn(id=f"click-{number}", **click)])
        assert all(len(rankers) == 1 for rankers in arms.values())
        wait_until(lambda: service.recorder.spool.waiting == 0)
        found = client.get(f"/experiments/{id}", headers=ADMIN).json()
        assert found["verdict"]["winner"] == dear
        assert found["verdict"]["means"] == [1.0, 0.0]
        assert found["verdict"]["clicked_first"]["means"] == [1.0, 0.0]
        assert "winner" not in found["verdict"]["clicked_first"]
        assert not found["verdict"]["ratio"]["mismatch"]
        assert sum(found["verdict"]["people"]) == 120
        assert client.post(f"/experiments/{id}/end", headers=ADMIN).json()["ended"]
        assert len(client.get("/experiments", headers=ADMIN).json()["experiments"]) == 1


def test_shares_of_experiments_sum_to_one_at_most(store):
    every = Experiments(store)
    first = every.start("v1", "v2", kind="ab", share=0.7)
    with pytest.raises(ValueError, match=r"leave a share of 0\.30, got 0\.5"):
        every.start("v1", "v3", kind="interleave", share=0.5)
    every.end(first.id)
    assert every.start("v1", "v3", kind="interleave", share=0.5).kind == "interleave"
    assert [one.id for one in every.running()] == [every.every()[0].id]
    assert every.get(first.id).ended
    with pytest.raises(LookupError, match="no experiment 'none'"):
        every.end("none")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"a": "v1", "b": "v1", "kind": "ab"}, "two versions, got v1 twice"),
        ({"a": "v1", "b": "v2", "kind": "duel"}, "one of interleave, ab"),
        ({"a": "v1", "b": "v2", "kind": "ab", "share": 2.0}, "share is above 0"),
        ({"a": "v1", "b": "v2", "kind": "interleave", "how": "teamdraft"}, "did you mean 'team_draft'"),
        ({"a": "v1", "b": "v2", "kind": "interleave", "how": "balanced"}, "even under random clicks"),
        ({"a": "v1", "b": "v2", "kind": "interleave", "planned": 500}, "planned is for A/B experiments"),
        ({"a": "v1", "b": "v2", "kind": "ab", "planned": 50}, "100 or more, got 50"),
    ],
)
def test_wrong_experiments_are_refused(tmp_path, arguments, message):
    with Store.open(f"sqlite:///{tmp_path}/events.db") as store, pytest.raises(ValueError, match=message):
        Experiments(store).start(**arguments)


def test_a_click_on_a_page_without_documents_breaks_no_verdict(store):
    every = Experiments(store)
    one = every.start("v1", "v2", kind="ab")
    store.put_pages(
        [
            ShownPage(
                "a" * 32, 1.0, "q", (), [], np.empty((0, 1)), ("x",), "v1", experiment=one.id, policy="ab"
            ),
            ShownPage(
                "b" * 32, 1.0, "q", (), [], np.empty((0, 1)), ("x",), "v2", experiment=one.id, policy="ab"
            ),
        ]
    )
    assert every.progress(one).verdict["difference"] == 0.0


def _shown(number, time, user, ranker, experiment=None):
    return ShownPage(
        f"{number:032x}",
        time,
        "q",
        ("a", "b"),
        [1.0, 0.0],
        np.zeros((2, 1)),
        ("x",),
        ranker,
        user=user,
        experiment=experiment,
        policy="ab" if experiment else "plain",
    )


def test_clicks_before_an_experiment_are_its_covariate(store):
    """People click as before; the interval is narrower than that of the same pages without a past."""
    random = np.random.default_rng(0)
    every = Experiments(store)
    planned = every.start("v1", "v2", kind="ab", planned=400)
    assert every.get(planned.id).planned == 400
    start, pages, clicks, number = planned.started, [], [], 0
    habit = random.random(300)
    for user in range(300):
        for past in range(8):
            number += 1
            inside = past >= 6
            time = start + past if inside else start - 100 + past
            version = "v1" if user % 2 else "v2"
            page = _shown(number, time, f"u{user}", version, planned.id if inside else None)
            pages.append(page)
            if random.random() < habit[user]:
                clicks.append(Event(f"e{number}", page.page_id, "click", "a", position=1, time=time + 1))
    store.put_pages(pages)
    store.put_events(clicks)
    before = store.clicks_before(planned.id, start)
    assert len(before) == 300
    assert np.corrcoef([before[f"u{user}"] for user in range(300)], habit)[0, 1] > 0.7
    found = every.progress(planned).verdict
    shown = store.credits(planned.id)
    plain = ab_verdict(
        [bool(page.clicked) for page in shown],
        [page.ranker for page in shown],
        [page.user for page in shown],
        planned=400,
    )
    assert found["high"] - found["low"] < 0.9 * (plain.high - plain.low)
    assert tuple(found["means"]) == plain.means
    assert found["winner"] is None
    assert found["reason"] == "undecided, 100 of 400 people are to come"
