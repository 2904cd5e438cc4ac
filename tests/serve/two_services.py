"""Two real services on one PostgreSQL, over any index: started, compared, and killed one after the other."""

import signal
import threading
import time
from contextlib import ExitStack

from rankloop.engines import open as open_engine
from rankloop.rankers import FeatureSum
from rankloop.search import Features, first
from rankloop.serve import Service, Store
from rankloop.serve.models.registry import Registry
from serve.running import ADMIN, TOKEN, wait_until
from serve.test_process import Visitors, process


def check_one_service(folder, database, index):
    """Same versions, arms and logins; what one takes or promotes the other knows; either may be killed."""
    for name in ("one", "two"):
        (folder / f"{name}.toml").write_text(
            f"index = '{index}'\nfolder = '{name}.serve'\ndatabase = '{database}'\nswap_rate = 0.0\n"
            "[limits]\nrate = 0\n"
        )
    visitors = []

    def visit(client):
        visitors.append(Visitors(client.base_url))
        visitors[-1].start()
        return visitors[-1]

    def events(visitor, count=20):
        wanted = len(visitor.events) + count
        wait_until(lambda: len(visitor.events) > wanted, seconds=60)

    with ExitStack() as stack:
        services = {}

        def start(name):
            services[name] = stack.enter_context(process(folder, name))

        starting = [threading.Thread(target=start, args=(name,)) for name in ("one", "two")]
        for thread in starting:
            thread.start()
        for thread in starting:
            thread.join()
        (first_running, one), (second_running, two) = services["one"], services["two"]
        for client in (one, two):
            assert [
                model["version"] for model in client.get("/models", headers=ADMIN).json()["versions"]
            ] == ["v1"]
        page = one.post("/search", json={"query": "red shoes", "user": "ann"}).json()
        other = two.post("/search", json={"query": "red shoes", "user": "ann"}).json()
        assert [result["id"] for result in page["results"]] == [result["id"] for result in other["results"]]
        click = {"id": "e", "impression": page["impression"], "kind": "click"}
        click["document"] = page["results"][0]["id"]
        assert two.post("/events", json={"events": [click]}).json()["accepted"] == 1

        with Store.open(database) as store:  # its file is in the folder of the first service alone
            version = add_version(Registry(store, folder / "one.serve" / "models"), folder, index)
        took = [seconds_until_seen(one, two, name) for name in (version, "v1", version)]
        assert sorted(took)[1] < 1.0

        wanted = {"a": "v1", "b": version, "kind": "ab"}
        assert two.post("/experiments", json=wanted, headers=ADMIN).status_code == 200
        time.sleep(1.0)
        arms = [[arm_of(client, f"user {number}") for number in range(24)] for client in (one, two)]
        assert arms[0] == arms[1]
        assert set(arms[0]) == {"v1", version}

        one.post("/login", data={"token": TOKEN}, follow_redirects=False)
        two.cookies.update(one.cookies)
        assert two.get("/dashboard").status_code == 200

        loads = visit(one), visit(two)
        for load in loads:
            events(load)
        kill(first_running)
        loads[0].join()
        events(loads[1])  # the other one goes on
        start("one")
        again, back = services["one"]
        assert arm_of(back, "user 3") == arms[0][3]
        load = visit(back)
        events(load)
        kill(second_running)
        loads[1].join()
        events(load)
        kill(again)
        load.join()
    for name in ("one", "two"):  # what waited in its folder is stored when it is started again
        with Service.open(folder / f"{name}.toml") as service:
            wait_until(lambda service=service: service.recorder.spool.waiting == 0, seconds=60)
            assert service.troubles == ()
    with Store.open(database) as store:
        frame = store.click_frame(include_bots=True)
        assert {page for visitor in visitors for page in visitor.pages} <= set(frame["session"])
        clicked = frame.filter(click=1)
        found = set(zip(clicked["session"], clicked["document"], strict=True))
        assert {event for visitor in visitors for event in visitor.events} <= found
        assert (page["impression"].split(".")[0], click["document"]) in found


def kill(running):
    running.send_signal(signal.SIGKILL)
    running.wait()


def add_version(registry, folder, index):
    """A version whose file lies in one folder and in the database."""
    engine = open_engine(index if "://" in index else folder / index)
    features = Features.standard(engine)
    ranker = FeatureSum({"value(price)": 1.0}, features=features.names)
    return registry.register(
        engine.retriever(k=100) >> features >> ranker >> first(10), lineage={"name": "priced"}
    )


def seconds_until_seen(one, two, version):
    """From the answer to a promotion until the other service serves it."""
    assert one.post("/models/promote", json={"version": version}, headers=ADMIN).status_code == 200
    promoted = time.monotonic()
    wait_until(lambda: two.get("/ready", headers=ADMIN).json()["ranker"] == version)
    return time.monotonic() - promoted


def arm_of(client, user):
    asked = {"query": "red shoes", "user": user}
    return client.post("/search", json=asked, headers=ADMIN).json()["ranker"]
