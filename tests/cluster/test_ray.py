"""The same jobs on a real Ray cluster of two nodes on this machine, one of which is killed on the way.

Everything that needs Ray is in this file, behind one cluster: starting it takes longest.
"""

import os
import time
import warnings
from importlib.util import find_spec

import numpy as np
import pytest

from rankloop import clicks, cluster, metrics, propensity
from rankloop.clicks import simulate
from rankloop.cluster import _ray, _versions
from rankloop.data import synthetic
from rankloop.data.shard_writer import write_shards
from rankloop.rankers import LambdaMART, LinearRanker, RankSVM
from rankloop.rankers.saving import dumps

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray = pytest.importorskip("ray")

# Ray's own code warns of what its next versions will do; nothing of that is ours to change.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

DATA, VALID = synthetic(n_queries=120, docs_per_query=8, n_features=5, seed=0).split(0.8, seed=0)


@pytest.fixture(scope="module")
def nodes():
    """A head with one core, and a second node with another."""
    from ray.cluster_utils import Cluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        made.add_node(num_cpus=1)
        ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.shutdown()
        made.shutdown()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ray")


@pytest.fixture(scope="module")
def shards(folder):
    return write_shards(DATA, folder / "set", shards=4)


@pytest.fixture(scope="module")
def ranker(shards):
    return LinearRanker(loss="squared").fit(shards.whole())


@pytest.mark.usefixtures("nodes")
def test_jobs_give_what_local_processes_give(folder, shards, ranker):
    log = simulate(DATA, shown_by=DATA.X[:, 0], sessions=4000, k=3, randomize="swap", seed=0)
    logged = write_shards([log.to_frame()], folder / "log", shards=4)
    there = {"on": "ray", "workers": 2}
    assert cluster.aggregate(logged, **there).to_frame().equals(clicks.aggregate(log).to_frame())
    assert cluster.propensity(logged, **there).values.tolist() == propensity.estimate(log).values.tolist()
    found = cluster.evaluate(ranker, shards, ["ndcg@10", "err@5"], **there)
    here = metrics.evaluate(ranker, shards.whole(), ["ndcg@10", "err@5"])
    assert (found.mean, found.interval) == (here.mean, here.interval)
    scores = cluster.predict(ranker, shards, folder / "scores", **there)
    assert scores.fingerprint == cluster.predict(ranker, shards, folder / "local", workers=2).fingerprint
    if find_spec("optuna"):
        asked = {"folds": 2, "trials": 2, "at_once": 2}
        study = cluster.tune(RankSVM(), {"C": (0.1, 1.0)}, shards, **asked, **there)
        assert study.to_dict() == cluster.tune(RankSVM(), {"C": (0.1, 1.0)}, shards, **asked).to_dict()


@pytest.mark.usefixtures("nodes")
def test_mistakes_and_other_versions_are_said(shards, ranker, monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="the function must give a RankingDataset"):
        cluster.transform(shards, len, tmp_path / "lengths", on="ray")
    other = {**_versions.here(), "polars": "0.1"}
    monkeypatch.setattr(_versions, "here", lambda: other)
    with pytest.raises(ValueError, match=r"node .* has polars .* where this process has 0\.1"):
        cluster.evaluate(ranker, shards, on="ray")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("nodes")
def test_trees_are_those_of_local_workers_though_one_is_killed(shards, folder, monkeypatch):
    """Ray Train begins again after the kill of a worker; the model is the same to the last byte."""
    mark = str(folder / "killed")

    def deadly(config):
        import os
        import pathlib
        import signal

        from rankloop.cluster import _ray as there

        told = []

        def tell(member, by, note=""):
            told.append(by)
            if len(told) == 4 and not pathlib.Path(mark).exists():
                pathlib.Path(mark).write_text("in the fourth round")
                os.kill(os.getpid(), signal.SIGKILL)

        there._Member.tell = tell
        there._member_loop(config)

    monkeypatch.setattr(_ray, "_member_loop", deadly)
    trees = LambdaMART(trees=10, leaves=5, threads=1, seed=0)
    killed = cluster.fit(trees, shards, VALID, workers=2, on="ray")
    assert (folder / "killed").exists()
    assert dumps(killed) == dumps(cluster.fit(trees, shards, VALID, workers=2))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("nodes")
def test_a_network_is_that_of_local_processes(shards):
    from rankloop.rankers import NeuralRanker

    network = NeuralRanker(hidden=(8,), epochs=2, threads=1, seed=0)
    there = cluster.fit(network, shards, workers=2, on="ray")
    assert dumps(there) == dumps(cluster.fit(network, shards, workers=2))


def test_a_node_is_killed_under_a_job(nodes, shards, folder):
    """The second node dies while tasks run on both; the first finishes them all."""
    lost = next(iter(nodes.worker_nodes))
    marks = folder / "marks"
    marks.mkdir()

    def slow(part, marks=str(marks)):
        import pathlib
        import time

        import ray as inside

        node = inside.get_runtime_context().get_node_id()
        pathlib.Path(marks, f"{node}-{part.qid[0]}").write_text("begun")
        time.sleep(1.0)
        return part

    import threading

    def kill():
        while not any(path.name.startswith(lost.node_id) for path in marks.iterdir()):
            time.sleep(0.05)
        nodes.remove_node(lost, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    found = cluster.transform(shards, slow, folder / "copied", on="ray", workers=2)
    killer.join()
    assert np.array_equal(found.whole().X, shards.whole().X)
    assert found.fingerprint == shards.fingerprint
    assert sum(node["Alive"] for node in ray.nodes()) == 1


def test_a_cluster_is_started_for_the_job_where_there_is_none(monkeypatch):
    """What is asked of Ray, without starting another cluster."""
    calls = []

    class Exceptions:
        RayTaskError = RayError = RuntimeError

    class Quiet:
        exceptions = Exceptions

        def is_initialized(self):
            return False

        def init(self, **options):
            calls.append(options)
            if options.get("address") == "auto":
                raise ConnectionError("no cluster")

        def cluster_resources(self):
            return {"CPU": 3.0}

        def nodes(self):
            return []

        def shutdown(self):
            calls.append("over")

    monkeypatch.setattr(_ray, "require", lambda module, extra: Quiet())
    engine = _ray.Ray(None)
    with engine.connected():
        assert engine.workers == 3
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    assert calls == [
        {"address": "auto", **quiet},
        {"num_cpus": None, "include_dashboard": False, **quiet},
        "over",
    ]
