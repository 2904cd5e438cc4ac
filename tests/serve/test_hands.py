"""Safe hands: promoting asks, rolling back is one click, roles hold, and every act is on record."""

from types import SimpleNamespace

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from rankloop.cli import app
from rankloop.serve.desk.acts import note_act, past_acts
from rankloop.serve.desk.query_sets import SetQuery, put_query_set
from rankloop.serve.desk.users import User, add_user, known_users, remove_user, renew_token, user_of_token
from rankloop.serve.experiments.experiments import Experiment, Progress
from rankloop.serve.pages.tried import Tried, tried
from serve.running import ADMIN, TOKEN, another, client_of
from serve.test_pages import read


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hands")
    with client_of(folder, swap_rate=0.0) as (client, service):
        worse = another(service, **{"value(price)": -1.0})
        put_query_set(service.store, "few", [SetQuery("red hat"), SetQuery("running")], author="a", made="b")
        for query in ("red hat", "running"):
            for rank, document in enumerate(service.rankings.top("v1", query)):
                service.store.put_judgment(query, document, float(max(3 - rank, 0)), "ann")
        yield client, service, worse, folder


def log_in(client, token=TOKEN):
    client.cookies.clear()
    assert client.post("/login", data={"token": token}).status_code == 303
    found = read(client.get("/dashboard")).all("input", name="form_token")
    return {"form_token": found[0]["value"] if found else ""}


def test_users_have_a_role_and_a_token_that_is_not_stored(store):
    token = add_user(store, "ann", "judge")
    assert user_of_token(store, token)[:2] == ("ann", "judge")
    assert user_of_token(store, "guess") is None
    assert user_of_token(store, "") is None
    with store.reading() as connection:
        assert token not in str(connection.execute(text("SELECT * FROM users")).all())
    newer = renew_token(store, "ann", "admin")
    assert user_of_token(store, token) is None
    assert user_of_token(store, newer).role == "admin"
    with pytest.raises(ValueError, match="there is a user 'ann' already"):
        add_user(store, "ann", "reader")
    remove_user(store, "ann")
    assert known_users(store) == []
    with pytest.raises(ValueError, match="unknown user 'ann'"):
        remove_user(store, "ann")


@pytest.mark.parametrize("name", ["", "a b", "admin", "Admin", "0" * 32, "x" * 41, "a\n"])
def test_names_that_could_be_mistaken_are_refused(store, name):
    with pytest.raises(ValueError, match="a name has 1 to 40 letters"):
        add_user(store, name, "judge")
    with pytest.raises(ValueError, match="unknown role"):
        add_user(store, "ann", "king")


def test_a_role_may_do_what_those_below_it_may():
    assert [User("a", "judge").may(role) for role in ("reader", "judge", "admin")] == [True, True, False]


def test_the_trail_is_in_order(store):
    for number in range(3):
        note_act(store, "ann", "promote", version=f"v{number}")
    assert [one.detail["version"] for one in past_acts(store, 2)] == ["v2", "v1"]


def test_promoting_asks_and_shows_the_evidence(desk):
    client, service, worse, _ = desk
    ours = log_in(client)
    dashboard = read(client.get("/dashboard"))
    assert dashboard.all("a", href=f"/dashboard/promote?version={worse}")
    page = read(client.get("/dashboard/promote", params={"version": worse}))
    assert f"Let {worse} serve everybody?" in page.text
    assert "below v1 by judgments on few@1" in page.text
    assert page.all("button", name="version", value=worse)
    assert service.versions.live.roles.production == "v1", "asking changes nothing"
    client.post("/dashboard/promote", data=ours | {"version": worse})
    assert service.versions.live.roles.production == worse
    assert "Roll back to v1" in read(client.get("/dashboard")).text
    client.post("/dashboard/roll_back", data=ours)
    assert service.versions.live.roles.production == "v1"
    last, before = past_acts(service.store, 2)
    assert (last.who, last.act, last.detail) == ("admin", "roll back", {"before": worse, "after": "v1"})
    assert before.detail == {"version": worse, "before": "v1", "after": worse}
    assert f"production {worse} → v1" in read(client.get("/dashboard")).text
    assert read(client.get("/dashboard/promote", params={"version": "v99"}), 400)


def test_experiments_and_metrics_are_evidence_too(desk):
    client, service, worse, _ = desk
    log_in(client)
    service.registry.note("v1", {"metrics": {"ndcg@10": [0.5, 0.4, 0.6]}})
    service.registry.note(worse, {"metrics": {"ndcg@10": [0.3, 0.2, 0.4], "map": 0.2}})
    verdict = {"difference": 0.12, "low": 0.03, "high": 0.21, "winner": "v1"}
    one = Experiment("e", "interleave", "v1", worse, 1.0, "", 0, started=0.0, ended=1.0)
    fake = SimpleNamespace(every=lambda: (one,), progress=lambda one: Progress(one, 1000, verdict))
    told = tried(SimpleNamespace(experiments=fake), worse, "v1")
    assert told == [Tried(True, False, 1000, -0.12, -0.21, -0.03, "v1")], "of the version, not of the first"
    assert tried(SimpleNamespace(experiments=fake), "v1", worse)[0].difference == 0.12
    assert tried(SimpleNamespace(experiments=fake), "v9", "v1") == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankloop.serve.pages.actions.tried", lambda *given: told)
        page = read(client.get("/dashboard/promote", params={"version": worse}))
    assert "experiment of 1\N{NARROW NO-BREAK SPACE}000 pages v1 is preferred" in page.text
    assert f"{worse} differs by \N{MINUS SIGN}0.120 from v1" in page.text
    assert f"ndcg@10 was 0.300 for {worse} and 0.500 for v1" in page.text
    assert "map was" not in page.text
    assert (
        "95\N{NO-BREAK SPACE}% interval \N{MINUS SIGN}0.210 to \N{MINUS SIGN}0.030, at any look" in page.text
    )
    few = {"difference": 1.0, "low": -1.0, "high": 1.0, "winner": None}
    fake = SimpleNamespace(every=lambda: (one,), progress=lambda one: Progress(one, 2, few))
    told = tried(SimpleNamespace(experiments=fake), worse, "v1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankloop.serve.pages.actions.tried", lambda *given: told)
        page = read(client.get("/dashboard/promote", params={"version": worse}))
    assert "from v1 (too few people for an interval)" in page.text


def test_one_judged_query_is_too_few_for_an_interval(desk):
    """Of one query nothing follows for others: an interval of all that a difference can be is not shown."""
    client, service, worse, _ = desk
    log_in(client)
    put_query_set(service.store, "alone", [SetQuery("red hat")], author="a", made="b")
    for address in ("/dashboard/promote?version=" + worse, f"/compare?set=alone&a=v1&b={worse}"):
        text = read(client.get(address)).text
        assert "too few queries for an interval: 1 query" in text
        assert "\N{MINUS SIGN}1.000 to" not in text
    assert "too few queries" in read(client.get("/judge?set=alone")).text


def test_acts_of_programs_are_on_record_too(desk):
    client, service, worse, _ = desk
    client.cookies.clear()
    token = add_user(service.store, "robot", "admin")
    mine = {"Authorization": f"Bearer {token}"}
    assert (
        client.post("/models/canary", json={"version": worse, "share": 0.1}, headers=mine).status_code == 200
    )
    assert (past_acts(service.store)[0].who, past_acts(service.store)[0].act) == ("robot", "canary")
    assert client.post("/models/canary", json={}, headers=ADMIN).status_code == 200
    assert past_acts(service.store)[0].who == "admin"
    remove_user(service.store, "robot")
    assert client.get("/models", headers=mine).status_code == 401


def test_judges_and_readers_do_not_administer(desk):
    client, service, worse, _ = desk
    for role in ("judge", "reader"):
        token = add_user(service.store, role, role)
        assert client.get("/models", headers={"Authorization": f"Bearer {token}"}).status_code == 401
        ours = log_in(client, token)
        page = read(client.get("/dashboard/promote", params={"version": worse}))
        assert not page.all("button", name="version")
        for path in ("promote", "roll_back", "shadow", "canary", "experiments"):
            answer = client.post(f"/dashboard/{path}", data=ours | {"version": worse, "share": "5"})
            assert answer.status_code == 403
            assert "needs the role 'admin'" in answer.headers["x-problem"]
    assert service.versions.live.roles.production == "v1"


def test_a_new_token_ends_the_logins_of_the_old_one(desk):
    client, service, _, _ = desk
    log_in(client, add_user(service.store, "eve", "reader"))
    assert client.get("/dashboard").status_code == 200
    renew_token(service.store, "eve")
    assert client.get("/dashboard").status_code == 401


def test_shadow_and_canary_from_the_page(desk):
    client, service, worse, _ = desk
    ours = log_in(client)
    client.post("/dashboard/canary", data=ours | {"version": worse, "share": "20"})
    client.post("/dashboard/shadow", data=ours | {"version": worse})
    roles = service.registry.roles()
    assert (roles.canary, roles.share, roles.shadow) == (worse, 0.2, worse)
    page = read(client.get("/dashboard"))
    assert f"End the canary {worse} (20 %)" in page.text
    client.post("/dashboard/canary", data=ours | {"share": "1"})
    client.post("/dashboard/shadow", data=ours)
    assert (service.registry.roles().canary, service.registry.roles().shadow) == (None, None)
    told = [
        (one.act, one.detail.get("version"), one.detail.get("share")) for one in past_acts(service.store)[:2]
    ]
    assert told == [("end shadow", worse, None), ("end canary", worse, None)]
    assert read(client.post("/dashboard/canary", data=ours | {"version": worse, "share": "0"}), 400)


def test_a_mistake_in_an_experiment_keeps_what_was_typed(desk):
    client, service, worse, _ = desk
    ours = log_in(client)
    wanted = {"a": worse, "b": "v1", "kind": "ab", "share": "300"}
    page = read(client.post("/dashboard/experiments", data=ours | wanted), 400)
    assert "A share of the people is a whole number from 1 to 100, got '300'" in page.text
    assert page.all("input", name="share", value="300")
    assert page.all("option", value="ab", selected=None)
    assert service.experiments.every() == []
    assert read(client.get("/dashboard")).all("input", name="share", value="10"), "experiments start small"


def test_users_on_the_command_line(tmp_path):
    from serve.running import make_index

    make_index(tmp_path)
    shop = str(tmp_path / "shop.index")

    def run(*words):
        return CliRunner().invoke(app, ["users", *words])

    token = run("add", shop, "ann", "--role", "judge").stdout.strip()
    assert len(token) >= 32
    assert run("add", shop, "bob").exit_code == 0
    assert [line.split()[:2] for line in run("list", shop).stdout.splitlines()[-2:]] == [
        ["ann", "judge"],
        ["bob", "judge"],
    ]
    assert '"role": "judge"' in run("list", shop, "--json").stdout
    assert run("renew", shop, "ann", "--role", "reader").stdout.strip() != token
    assert run("remove", shop, "ann", "--forget").stdout == "ann is removed, with 0 grades\n"
    assert "unknown user 'ann'" in str(run("remove", shop, "ann").exception)
    assert "unknown role 'king'" in str(run("add", shop, "carl", "--role", "king").exception)
