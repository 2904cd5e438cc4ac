"""Versions that learn while they serve: the floor, steps from clicks, the alarm, and two processes."""

import json
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select

from rankloop.lists import discount
from rankloop.online import PDGD, exposure_share
from rankloop.serve import Config, Service
from rankloop.serve.desk.acts import past_acts
from rankloop.serve.desk.hands import add_rule, end_rule
from rankloop.serve.events.desk_tables import learned_pages, learners
from rankloop.serve.events.spool import Spool
from rankloop.serve.events.tables import pages
from rankloop.serve.http.schema import EventIn, SearchRequest
from rankloop.serve.online.explore import explored, pages_of
from rankloop.serve.online.register import register_learner
from rankloop.serve.online.settings import OnlineSettings
from rankloop.serve.online.steps import TaughtPage, learned
from serve.conftest import make_click, make_page
from serve.running import TOKEN, another, make_index, serving, wait_until

QUERIES = ("running shoes", "red hat", "shoes", "running", "green hat", "polish")


@pytest.fixture
def shop(tmp_path, database):
    """A service whose version v2 learns above v1, in production; pages teach at once."""
    with serving(tmp_path, database=database, swap_rate=0.0, examples=QUERIES) as service:
        service._watcher.stop()  # steps are made by the test
        yield service


def settings_of(folder, database, home):
    """The settings of one of several services on a database."""
    about = {"folder": home, "database": database, "examples": QUERIES}
    return Config(folder / "shop.index", swap_rate=0.0, admin_token=TOKEN, **about)


def learner(service, name="pdgd", *, serve=True, **settings):
    """A learner in production, in its first run."""
    made = OnlineSettings(name, "v1", settle=0.0, **settings)
    version = register_learner(service.registry, service.index, service.config, made)
    if serve:
        service.versions.promote(version)
        service.versions.learn()
    return version


def visit(service, query, clicked, user=None):
    """A page, and clicks on the documents for which `clicked` holds."""
    answer = service.search(SearchRequest(query=query, user=user or secrets.token_hex(4)))
    events = [
        EventIn(id=secrets.token_hex(4), impression=answer.impression, kind="click", document=one.id)
        for one in answer.results
        if clicked(one)
    ]
    if events:
        service.record(events)
    return answer


def settle(service):
    """All pages are in the store, and learned from."""
    service.recorder.spool.drain(service.store)
    while service.versions.learn():
        pass


def row(service, version):
    with service.store.reading() as connection:
        return connection.execute(select(learners).where(learners.c.version == version)).mappings().one()


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"learner": "sgd", "floor": "v1"}, "sgd"),
        ({"learner": "pdgd", "floor": "v1", "keep": 1.5}, "keep is a share"),
        ({"learner": "pdgd", "floor": "v1", "control": 0.0}, "control is a share"),
        ({"learner": "pdgd", "floor": "v1", "settle": -1}, "settle"),
        ({"learner": "pdgd", "floor": "v1", "learning_rate": 0}, "learning_rate"),
        ({"learner": "pdgd", "floor": "v1", "arms": ("v1", "v2")}, "only a bandit has arms"),
        ({"learner": "thompson", "floor": "v1", "arms": ("v1",)}, "two or more versions"),
        ({"learner": "thompson", "floor": "v1", "arms": ("v2", "v3")}, "of which the floor v1 is one"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, wrong):
    with pytest.raises(ValueError, match=wrong):
        OnlineSettings(**settings)


def test_steps_from_the_log_are_those_of_the_learner_itself():
    from rankloop.rankers.linear_ranker import LinearRanker
    from rankloop.serve.models.live import Learning

    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4)).astype(np.float32)
    direct = PDGD(LinearRanker(), learning_rate=0.05, seed=1)
    direct.model.rows(X)
    direct.model.parameters = rng.normal(size=4)
    ranker = direct.ranker
    learning = Learning(
        OnlineSettings("pdgd", "v1"), ranker, ranker, state={"pages": 0, "weights": ranker.coef_.tolist()}
    )
    shown, notes = explored(_drawn(learning), [_Found(X), _Found(X)], "0" * 32, 5, ())
    notes = json.loads(json.dumps(notes))
    clicks = np.array([0, 1, 0, 1, 0], bool)
    made = learned(learning, [TaughtPage("p", "", 0.0, notes, X[shown.at], clicks)])
    scores = X.astype(np.float64) @ ranker.coef_
    page = direct.rank(X, 5)
    allowed = [[bool(bits >> at & 1) for at in range(5)] for bits in notes["allowed"]]
    among = {**page.notes, "scores": scores, "allowed": np.array(allowed)}
    kept = np.argsort(-scores)[:10]  # what was sampled from: twice a page
    inside = {int(one): at for at, one in enumerate(kept)}
    among["scores"] = scores[kept]
    ranking = type(page)(X[kept], np.array([inside[one] for one in shown.at]), among)
    direct.learn(ranking, clicks)
    assert made["weights"] == pytest.approx(direct.model.parameters.tolist(), abs=1e-9)
    assert made["pages"] == 1


class _Found:
    """Candidates in the order of a made-up ranking, as `explored` reads them."""

    def __init__(self, X, at=None):
        self.at = np.argsort(-(X.astype(float) @ _Found.weights(X)))[:20] if at is None else np.asarray(at)
        self.X, self.ids = X, self.at
        self.columns = {"features": X[self.at]}

    @staticmethod
    def weights(X):
        direct = np.random.default_rng(0)
        direct.normal(size=X.shape)
        return direct.normal(size=X.shape[1])

    def __len__(self):
        return len(self.at)

    def take(self, which):
        return _Found(self.X, self.at[list(which)])


def _drawn(learning):
    from rankloop.serve.online.explore import Draw

    return Draw("v2", learning)


def test_every_page_keeps_its_share_of_the_floors_exposure(shop):
    version = learner(shop, keep=0.8, control=0.3)
    orders = set()
    for number in range(60):
        visit(shop, "running shoes", lambda one: False, user=f"user {number}")
    shop.recorder.spool.drain(shop.store)
    floor = [str(one) for one in shop.rankings.top("v1", "running shoes")]
    place = {one: at for at, one in enumerate(floor)}
    curve = discount(np.arange(1, len(floor) + 1))
    control = 0
    for one in shop.store.credits(pages_of(version, 1)):
        drawn = one.randomness["online"]
        control += drawn["control"]
        assert one.ranker == ("v1" if drawn["control"] else version)
        numbers = [place.get(document, 100 + at) for at, document in enumerate(one.documents)]
        assert exposure_share(numbers, range(len(floor)), curve) >= 0.8 - 1e-9
        if drawn["control"]:
            assert list(one.documents) == floor
        orders.add(one.documents)
    assert 5 <= control <= 35
    assert len(orders) > 3, "it explores"


def test_weights_learn_what_people_click_and_survive_a_restart(tmp_path, database):
    settings = {"database": database, "swap_rate": 0.0, "examples": QUERIES}
    with serving(tmp_path, **settings) as service:
        service._watcher.stop()
        version = learner(service, keep=0.3, control=0.05, learning_rate=0.3)
        before = list(service.rankings.top(version, "running shoes"))
        rng = np.random.default_rng(1)
        for number in range(150):
            query = QUERIES[number % len(QUERIES)]
            # what costs much is clicked, wherever it stands
            visit(service, query, lambda one: int(one.id) >= 15 and rng.random() < 0.7)
            if number % 30 == 29:
                settle(service)
        settle(service)
        found = row(service, version)
        weights = json.loads(found["state"])["weights"]
        live = service.versions.live.models[version].learning
        assert live.key == (1, found["number"])
        assert live.ranker.coef_.tolist() == weights
        after = list(service.rankings.top(version, "running shoes"))
        dear = lambda ids: float(np.mean([int(one) for one in ids[:5]]))  # noqa: E731
        assert dear(after) > dear(before) + 2
        assert json.loads(found["state"])["pages"] > 60
    with serving(tmp_path, **settings) as again:
        assert again.versions.live.models[version].learning.ranker.coef_.tolist() == weights
        assert list(again.rankings.top(version, "running shoes")) == after


def test_a_person_teaches_only_so_much_and_crawlers_nothing(shop):
    version = learner(shop, control=0.01)
    people = ("ann", "bob", "eve")  # one in a hundred, by a secret, teaches nothing: the control group
    for _ in range(40):
        for one in people:
            visit(shop, "shoes", lambda found: found.position == 2, user=one)
    shop.searcher.search(SearchRequest(query="shoes", user="bot"), bot=True)
    settle(shop)
    learnt = json.loads(row(shop, version)["state"])["pages"]
    assert 0 < learnt <= len(people) * shop.config.influence.person < 40 * len(people)


def test_following_pages_do_not_repeat_what_was_shown(shop):
    learner(shop, keep=0.0)
    answer = shop.search(SearchRequest(query="running", k=5, user="ann"))
    shop.recorder.spool.drain(shop.store)
    first = [one.id for one in answer.results]
    more = shop.search(
        SearchRequest(query="running", k=5, user="ann", offset=5, impression=answer.impression)
    )
    assert len(more.results) == 5
    assert not set(first) & {one.id for one in more.results}


def test_with_a_pin_the_page_is_the_floors_and_teaches_nothing(shop):
    version = learner(shop, keep=0.0, control=0.01)
    rule = add_rule(shop.store, "pin", "shoes", "4", value=2, who="ann")
    shop.hands.reload()
    floor = [one for one in shop.rankings.top("v1", "shoes") if one != "4"]
    pages = [visit(shop, "shoes", lambda one: True) for _ in range(5)]
    settle(shop)
    for answer in pages:
        assert [one.id for one in answer.results] == [floor[0], "4", *floor[1:9]]
    assert json.loads(row(shop, version)["state"])["pages"] == 0
    end_rule(shop.store, rule.id)


def test_a_bandit_finds_the_better_version_and_shows_it(shop):
    other = another(shop)
    version = learner(shop, "thompson", arms=("v1", other), control=0.1)
    top = {one: shop.rankings.top(one, "shoes")[:3] for one in ("v1", other)}
    assert top["v1"] != top[other]
    for number in range(120):
        visit(shop, "shoes", lambda one: one.position == 1 and one.id == top[other][0])
        if number % 30 == 29:
            settle(shop)
    state = json.loads(row(shop, version)["state"])
    served = dict(zip(("v1", other), state["served"], strict=True))
    assert served[other] > 3 * served["v1"]
    assert shop.rankings.top(version, "shoes")[:3] == top[other]


def put_visits(service, version, clicks, floor_clicks, people=400):
    """Pages of many people in the store, a third of them the floor's, clicked as often as these shares."""
    rng = np.random.default_rng(4)
    now, run = time.time() - 100, row(service, version)["run"]
    shown, happened = [], []
    for number in range(people):
        control = bool(rng.random() < 0.3)
        drawn = {"online": {"version": version, "run": run, "control": control, "arm": "v1"}}
        about = {"experiment": pages_of(version, run), "policy": "online", "randomness": drawn}
        one = make_page(ranker="v1" if control else version, user=f"{number:032x}", shown=now, **about)
        shown.append(one)
        if rng.random() < (floor_clicks if control else clicks):
            happened.append(make_click(one, "a"))
    service.store.put_pages(shown)
    service.store.put_events(happened)
    service.versions.learners._verdicts.clear()


def test_what_people_like_less_is_rolled_back_by_the_alarm(shop):
    version = learner(shop, "epsilon_greedy", arms=("v1", another(shop)), epsilon=1.0, control=0.3)
    assert shop.versions.live.roles.production == version
    put_visits(shop, version, 0.3, 0.6)
    settle(shop)
    roles = shop.versions.live.roles
    assert roles.production == "v1"
    assert roles.previous != version
    found = row(shop, version)
    assert found["stopped"] is not None
    assert "more pages of v1 had a click" in found["reason"]
    assert json.loads(found["state"])["pages"] == 0, "it begins anew"
    act = past_acts(shop.store, 1)[0]
    assert (act.who, act.act, act.detail["after"]) == ("alarm", "roll back", "v1")
    shop.versions.promote(version)
    shop.versions.learn()
    assert (row(shop, version)["run"], row(shop, version)["stopped"]) == (2, None)


def test_a_canary_that_people_like_less_ends(shop):
    version = learner(shop, "thompson", arms=("v1", another(shop)), control=0.3, serve=False)
    shop.versions.canary(version, 0.2)
    shop.versions.learn()
    put_visits(shop, version, 0.3, 0.6)
    settle(shop)
    roles = shop.versions.live.roles
    assert (roles.production, roles.canary) == ("v1", None)


@pytest.mark.parametrize("clicks", [0.5, 0.6])
def test_as_good_or_better_versions_raise_no_alarm(shop, clicks):
    version = learner(shop, "thompson", arms=("v1", another(shop)), control=0.3)
    put_visits(shop, version, clicks, 0.5)
    settle(shop)
    assert shop.versions.learners.verdict(shop.versions.live.models[version]).people[1] > 50
    assert shop.versions.live.roles.production == version


def test_a_learner_needs_versions_that_stay_and_something_to_imitate(tmp_path, shop):
    version = learner(shop, serve=False)
    with pytest.raises(ValueError, match="learns while it serves"):
        register_learner(shop.registry, shop.index, shop.config, OnlineSettings("pdgd", version))
    with pytest.raises(ValueError, match="search a few times first"):
        register_learner(
            shop.registry, shop.index, shop.config.but(examples=()), OnlineSettings("pdgd", "v1")
        )


WORKER = """
import secrets, sys, time
from pathlib import Path
from rankloop.serve import Service
from rankloop.serve.http.schema import EventIn, SearchRequest
from serve.test_online import settings_of

folder, database, name, pages = sys.argv[1:]
service = Service.open(settings_of(Path(folder), database, Path(folder) / name))
for number in range(int(pages)):
    answer = service.search(SearchRequest(query=("shoes", "red hat")[number % 2], user=secrets.token_hex(4)))
    clicked = answer.results[number % 3].id
    service.record([EventIn(id="c", impression=answer.impression, kind="click", document=clicked)])
    print(number, flush=True)
    time.sleep(0.01)
service.recorder.spool.drain(service.store)
sys.stdin.readline()
model = service.versions.live.production
print("weights", model.learning.key, model.learning.ranker.coef_.tolist(), flush=True)
service.close()
"""


def test_two_processes_learn_each_page_once_although_one_is_killed(tmp_path, database):
    make_index(tmp_path)
    home = tmp_path / "first"
    with Service.open(settings_of(tmp_path, database, home)) as service:
        version = learner(service, control=0.1, keep=0.5)

        def start(name, n):
            arguments = [str(tmp_path), database, name, str(n)]
            return subprocess.Popen(
                [sys.executable, "-c", WORKER, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={
                    **os.environ,
                    "PYTHONPATH": f"{Path(__file__).parents[1]}:{os.environ.get('PYTHONPATH', '')}",
                },
            )

        if database.startswith("sqlite"):  # services on one machine share the folder of the models
            for name in ("second", "third"):
                (tmp_path / name).mkdir()
                (tmp_path / name / "models").symlink_to(home / "models")
        killed, whole = start("second", 5000), start("third", 30)
        while killed.stdout.readline() != "40\n":
            assert killed.poll() is None
        killed.kill()
        killed.communicate()
        while whole.stdout.readline() != "29\n":
            assert whole.poll() is None
        # what the killed process had put on disk comes with the next process in its folder
        Spool(tmp_path / "second" / "spool", 1 << 20).drain(service.store)

        def counts():
            with service.store.reading() as connection:
                group = pages.c.experiment == pages_of(version, 1)
                shown = connection.execute(select(func.count()).where(group)).scalar()
                done = connection.execute(select(func.count()).select_from(learned_pages)).scalar()
            return shown, done

        wait_until(lambda: counts()[0] >= 71 and counts()[0] == counts()[1], 60)
        time.sleep(1.2)  # every process looks twice a second
        assert counts()[0] == counts()[1]
        told = whole.communicate("end\n")[0].strip().splitlines()[-1]
        assert whole.returncode == 0
        found = row(service, version)
        state = json.loads(found["state"])
        assert told == f"weights {(1, found['number'])} {state['weights']}"
        wait_until(lambda: service.versions.live.production.learning.key == (1, found["number"]))
        assert service.versions.live.production.learning.ranker.coef_.tolist() == state["weights"]
        taught = [
            one
            for one in service.store.credits(pages_of(version, 1))
            if not one.randomness["online"]["control"] and "scores" in one.randomness["online"]
        ]
        assert state["pages"] == len(taught) > 0
        assert state["weights"] != service.versions.live.production.learning.first.coef_.tolist()
