"""Two services on one PostgreSQL: one key, one registry, one assignment; either may be killed."""

import os
import threading
from contextlib import ExitStack

import httpx
import pytest

from rankloop.serve import Service
from rankloop.serve.events.store import StoreAway
from rankloop.serve.http.schema import EventIn, SearchRequest
from rankloop.serve.learning.run import learn_once
from rankloop.serve.models.shared_files import SharedFiles
from rankloop.serve.secret import SECRET_VARIABLE
from serve.running import TOKEN, another, config, make_index, on_a_port, wait_until
from serve.two_services import check_one_service


@pytest.fixture
def both(tmp_path, postgres):
    """Settings of two services, each with a folder of its own."""
    make_index(tmp_path)
    database = postgres.database()

    def settings(name, **others):
        wanted = {"database": database, "folder": tmp_path / name, "swap_rate": 0.0}
        return config(tmp_path).but(**(wanted | others))

    return settings


def pair(stack, both, **others):
    return [stack.enter_context(Service.open(both(name, **others))) for name in ("one.serve", "two.serve")]


def test_two_processes_are_one_service(tmp_path, postgres):
    """Started together, promoted, compared, killed with -9 under load, and started again."""
    make_index(tmp_path)
    check_one_service(tmp_path, postgres.database(), "shop.index")


def test_one_key_for_all(both, tmp_path):
    with ExitStack() as stack:
        one, two = pair(stack, both)
        keys = {(tmp_path / name / "secret").read_bytes() for name in ("one.serve", "two.serve")}
        assert len(keys) == 1
        assert (tmp_path / "two.serve" / "secret").stat().st_mode & 0o777 == 0o600
        assert one.recorder.user("ann") == two.recorder.user("ann")
        page = one.search(SearchRequest(query="red"))
        event = EventIn(id="e", impression=page.impression, kind="click", document=page.results[0].id)
        assert two.record([event]).accepted == 1


def test_a_folder_with_another_key_is_refused_until_it_is_deleted(both, tmp_path):
    (tmp_path / "two.serve").mkdir()
    (tmp_path / "two.serve" / "secret").write_text("f" * 64)
    with Service.open(both("one.serve")):
        pass
    with pytest.raises(ValueError, match=r"sign with another key.*delete that file") as error:
        Service.open(both("two.serve"))
    assert "f" * 64 not in str(error.value)
    (tmp_path / "two.serve" / "secret").unlink()
    with Service.open(both("two.serve")):
        pass


def test_a_key_of_an_earlier_folder_stays(both, tmp_path):
    (tmp_path / "one.serve").mkdir()
    (tmp_path / "one.serve" / "secret").write_text("e" * 64)
    with ExitStack() as stack:
        pair(stack, both)
    assert (tmp_path / "two.serve" / "secret").read_text() == "e" * 64


def test_a_key_of_the_environment_stays_out_of_the_database(both, tmp_path, monkeypatch):
    monkeypatch.setenv(SECRET_VARIABLE, "short")
    with pytest.raises(ValueError, match="at least 32 characters, got 5"):
        Service.open(both("one.serve"))
    monkeypatch.setenv(SECRET_VARIABLE, "d" * 40)
    with ExitStack() as stack:
        one, two = pair(stack, both)
        assert one.recorder.user("ann") == two.recorder.user("ann")
        with one.store.reading() as connection:
            assert connection.exec_driver_sql("SELECT secret FROM signing_key").scalar() is None
    assert not (tmp_path / "one.serve" / "secret").exists()
    monkeypatch.setenv(SECRET_VARIABLE, "c" * 40)
    with pytest.raises(ValueError, match="give all of them the same"):
        Service.open(both("one.serve"))
    monkeypatch.delenv(SECRET_VARIABLE)
    with pytest.raises(ValueError, match=f"have their key in {SECRET_VARIABLE}"):
        Service.open(both("one.serve"))


def test_a_first_start_needs_the_database_and_later_ones_do_not(both, postgres):
    away = both("one.serve").database.replace(f":{postgres.port}/", ":1/")
    with pytest.raises(StoreAway, match="needs its database"):
        Service.open(both("one.serve", database=away))
    with Service.open(both("one.serve")) as service:
        known = service.recorder.user("ann")
    with Service.open(both("one.serve", database=away)) as service:
        assert service.recorder.user("ann") == known


def test_versions_and_damage_are_healed_by_the_database(both, tmp_path):
    with ExitStack() as stack:
        one, two = pair(stack, both)
        version = another(one)
        file = two.registry.folder / one.registry.path(version).name
        assert not file.exists()
        one.versions.promote(version)
        wait_until(lambda: two.versions.live.roles.production == version)
        assert file.read_bytes() == one.registry.path(version).read_bytes()
        file.write_bytes(b"damaged")
        assert two.registry.load(version, two.index) is not None
        assert file.read_bytes() == one.registry.path(version).read_bytes()


def test_files_of_an_earlier_rankloop_are_shared_at_the_start(both, tmp_path):
    with Service.open(both("one.serve")) as one:
        version = another(one)
        with one.store.writing() as connection:
            connection.exec_driver_sql("DELETE FROM shared_files")
    with pytest.raises(ValueError, match="is missing from"):
        Service.open(both("two.serve"))  # the folder of the first has it, and nobody shared it yet
    with Service.open(both("one.serve")), Service.open(both("two.serve")) as two:
        assert two.registry.load(version, two.index) is not None


def test_services_that_begin_together_register_one_version(both):
    with Service.open(both("one.serve")) as service:
        with service.store.writing() as connection:
            for table in ("roles", "models"):
                connection.exec_driver_sql(f"DELETE FROM {table}")
        registry, pipeline = service.registry, service.versions.live.production.pipeline
        found = []
        threads = [
            threading.Thread(target=lambda: found.append(registry.begin(pipeline, lineage={})))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == ["v1"] * 6
        assert [one.version for one in registry.versions()] == ["v1"]


def test_experiments_started_together_share_all_people_at_most(both):
    with ExitStack() as stack:
        services = pair(stack, both)
        version = another(services[0])
        told = []

        def start(service):
            try:
                service.experiments.start("v1", version, kind="ab", share=0.6)
                told.append("started")
            except ValueError:
                told.append("refused")

        threads = [threading.Thread(target=start, args=(one,)) for one in services * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(told) == ["refused"] * 5 + ["started"]


def test_one_service_learns_at_a_time(both):
    with ExitStack() as stack:
        one, two = pair(stack, both)
        with one.store.alone("learning"):
            with pytest.raises(ValueError, match=r"another service on .* is busy with learning"):
                learn_once(two)
            with two.store.alone("something else"):
                pass
        assert learn_once(two).state == "too little"


def test_work_that_has_ended_can_be_taken_at_once(both, monkeypatch):
    """The lock is given back by its holder: a server may see late that a connection has gone."""
    with ExitStack() as stack:
        one, two = pair(stack, both)
        closed_later = []
        monkeypatch.setattr(one.store.connections.writes.dialect, "do_close", closed_later.append)
        with one.store.alone("learning"):
            pass
        with two.store.alone("learning"):
            pass
        for connection in closed_later:
            connection.close()


def test_a_report_is_seen_by_the_other_service(both, tmp_path):
    with ExitStack() as stack:
        one, two = pair(stack, both)
        (tmp_path / "one.serve" / "reports").mkdir()
        (tmp_path / "one.serve" / "reports" / "learning-1.html").write_text("<p>learned")
        SharedFiles(one.store, tmp_path / "one.serve" / "reports").put("learning-1.html")
        with on_a_port(two) as client:
            client.post("/login", data={"token": TOKEN})
            assert client.get("/reports/learning-1.html").text == "<p>learned"
            assert client.get("/reports/learning-2.html").status_code == 404


def test_a_file_of_a_store_in_a_file_stays_in_its_folder(tmp_path):
    make_index(tmp_path)
    with Service.open(config(tmp_path)) as service:
        another(service)
        with service.store.reading() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM shared_files").scalar() == 0
            kept = connection.exec_driver_sql("SELECT secret FROM signing_key").scalars().all()
            assert kept == [None]  # the hash alone
    assert os.listdir(tmp_path / "shop.serve" / "models")


def test_the_service_that_is_left_answers(both):
    """A balancer sends people to whoever answers: the same page for the same person."""
    with ExitStack() as stack:
        one, two = pair(stack, both)
        with on_a_port(one) as first, on_a_port(two) as second:
            asked = {"query": "red shoes", "user": "ann"}
            pages = [client.post("/search", json=asked).json()["results"] for client in (first, second)]
            assert pages[0] == pages[1]
        with pytest.raises(httpx.HTTPError), httpx.Client(base_url=first.base_url) as gone:
            gone.get("/health")
