"""What serves is changed under load: no request fails, and nothing half-written is ever served."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

from rankloop.data import RankingDataset
from rankloop.rankers import LambdaMART
from rankloop.search import Index
from rankloop.serve import Service
from rankloop.serve.http.schema import SearchRequest
from serve.running import ADMIN, another, client_of, config, make_index, serving, wait_until


def test_swapping_under_load_fails_no_request(tmp_path):
    """Four clients search while versions are promoted and rolled back and the index commits."""
    with client_of(tmp_path, swap_rate=0.5) as (client, service):
        dear = another(service)
        ends = threading.Event()
        seen, failures = [], []

        def searching():
            with httpx.Client(base_url=client.base_url, timeout=30) as mine:
                while not ends.is_set():
                    answer = mine.post("/search", json={"query": "red shoes"}, headers=ADMIN)
                    seen.append(answer.json()["ranker"] if answer.status_code == 200 else None)
                    if answer.status_code != 200:
                        failures.append(answer.text)

        with ThreadPoolExecutor(4) as pool:
            for _ in range(4):
                pool.submit(searching)
            writer = Index.open(service.config.index)
            for number in range(8):
                path, body = ("promote", {"version": dear}) if number % 2 == 0 else ("roll_back", None)
                assert client.post(f"/models/{path}", json=body, headers=ADMIN).status_code == 200
                writer.add([{"id": 1000 + number, "title": "red shoes anew", "price": number}])
                writer.commit()
                service.versions.reload()
                reached = len(seen)
                wait_until(lambda at=reached: len(seen) > at + 8 or failures)
            ends.set()
        assert failures == []
        assert set(seen) == {"v1", dear}
        assert service.index.generation == 9


def test_every_page_is_of_one_version_and_one_generation(tmp_path):
    with serving(tmp_path, swap_rate=0.0) as service:
        dear = another(service)
        expected = {
            version: [
                result.id
                for result in service.searcher.search(SearchRequest(query="red"), version=version).results
            ]
            for version in ("v1", dear)
        }
        ends = threading.Event()

        def changing():
            while not ends.is_set():
                service.versions.promote(dear)
                service.versions.roll_back()

        with ThreadPoolExecutor(1) as pool:
            changing_now = pool.submit(changing)
            for _ in range(100):
                page = service.search(SearchRequest(query="red"))
                assert [result.id for result in page.results] == expected[page.ranker]
            ends.set()
            changing_now.result()


def test_other_workers_follow(tmp_path):
    with serving(tmp_path) as one, Service.open(config(tmp_path)) as two:
        dear = another(one)
        one.versions.promote(dear)
        wait_until(
            lambda: two.searcher.search(SearchRequest(query="red"), record=False).ranker == dear, seconds=10
        )
        writer = Index.open(one.config.index)
        writer.add([{"id": 999, "title": "purple umbrella"}])
        writer.commit()
        wait_until(lambda: two.search(SearchRequest(query="purple")).found == 1, seconds=10)


def damage(service, version):
    path = service.registry.path(version)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def test_a_damaged_version_is_refused_and_the_old_one_stays(tmp_path):
    with client_of(tmp_path) as (client, service):
        dear = another(service)
        damage(service, dear)
        answer = client.post("/models/promote", json={"version": dear}, headers=ADMIN)
        assert answer.status_code == 400
        assert "damaged" in answer.json()["detail"]
        assert service.registry.roles().production == "v1"
        for path, body in (
            ("/models/shadow", {"version": dear}),
            ("/models/canary", {"version": dear, "share": 1.0}),
            ("/experiments", {"a": "v1", "b": dear}),
        ):
            assert client.post(path, json=body, headers=ADMIN).status_code == 400
        assert client.post("/search", json={"query": "red"}, headers=ADMIN).json()["ranker"] == "v1"


def test_a_version_damaged_behind_our_back_is_not_served(tmp_path):
    """Another process promotes what cannot be loaded: this one keeps what it has, and says so."""
    with client_of(tmp_path) as (client, service):
        dear = another(service)
        damage(service, dear)
        service.registry.promote(dear)
        service.versions.reload()
        assert client.post("/search", json={"query": "red"}, headers=ADMIN).json()["ranker"] == "v1"
        ready = client.get("/ready", headers=ADMIN).json()
        assert ready["ready"]
        assert any(f"{dear} is refused" in trouble for trouble in ready["troubles"])
        service.registry.roll_back()
        service.versions.reload()
        assert client.get("/ready", headers=ADMIN).json()["troubles"] == []


def test_a_missing_production_model_is_one_sentence_at_the_start(tmp_path):
    with serving(tmp_path) as service:
        service.registry.path("v1").unlink()
    with pytest.raises(ValueError, match="the version in production cannot be served"):
        Service.open(config(tmp_path))


def test_a_service_that_cannot_start_leaves_no_threads(tmp_path):
    make_index(tmp_path)
    Service.open(config(tmp_path)).close()
    before = set(threading.enumerate())
    with pytest.raises(ValueError, match="nonsense"):
        Service.open(config(tmp_path, features=("nonsense(title)",)))
    assert set(threading.enumerate()) <= before


def test_the_first_model_is_registered_once(tmp_path):
    make_index(tmp_path)
    for _ in range(2):
        with Service.open(config(tmp_path)) as service:
            assert [one.version for one in service.registry.versions()] == ["v1"]
            assert service.versions.live.production.version == "v1"


def test_closing_is_quick(tmp_path):
    with serving(tmp_path) as service:
        service.search(SearchRequest(query="red"))
        start = time.monotonic()
    assert time.monotonic() - start < 8  # what waits without end takes longer, also on a busy machine


def test_threads_see_what_one_sees(tmp_path):
    """Kernels and forests are shared by all threads of the service."""
    with serving(tmp_path, swap_rate=0.0) as service:
        queries = ["red shoes", "running hat", "polish", "green", "fine number"]
        features = service.searcher.features
        X = np.concatenate(
            [(service.index.retriever() >> features)(query).columns["features"] for query in queries]
        )
        y = np.arange(len(X)) % 3
        data = RankingDataset(X, y, np.zeros(len(X)), feature_names=features.names)
        ranker = LambdaMART(trees=20, leaves=4, min_sum_hessian=0.0, threads=1).fit(data)
        search = service.index.retriever() >> features >> ranker
        service.versions.promote(service.registry.register(search, lineage={}))

        def scores(query):
            return [
                (one.id, one.score)
                for one in service.searcher.search(SearchRequest(query=query), record=False).results
            ]

        alone = {query: scores(query) for query in queries}
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(scores, queries * 20))
        assert together == [alone[query] for query in queries] * 20
