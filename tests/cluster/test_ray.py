"""The same jobs on a real Ray cluster of two nodes on this machine, one of which is killed on the way.

Everything that needs Ray is in this file, behind one cluster: starting it takes longest.
"""

import os
import shutil
import threading
import time
import warnings
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace

import pytest

from rankloop import cluster, metrics
from rankloop.cluster.backends import ray as _ray
from rankloop.cluster.backends import versions as _versions
from rankloop.data import synthetic, write_svmlight
from rankloop.data.shards.shards import open_shards
from rankloop.data.shards.write_shards import write_shards
from rankloop.rankers import LambdaMART
from rankloop.rankers.saving.load import dumps, loads

counting, training = import_module("rankloop.cluster.aggregate"), import_module("rankloop.cluster.fit")

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

    soon = {"health_check_period_ms": 1000, "health_check_failure_threshold": 10}  # that a node is gone
    equal = {"worker_niceness": 0}  # else every other test goes first
    head = {"num_cpus": 1, "include_dashboard": False, "_system_config": {**soon, **equal}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Cluster(initialize_head=True, head_node_args=head)
        ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
        made.add_node(num_cpus=1)  # after this process has joined the head, which nobody kills
    yield made
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.shutdown()
        made.shutdown()


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    return write_shards(DATA, tmp_path_factory.mktemp("ray") / "set", shards=4)


@pytest.fixture
def node_is_killed(nodes, tmp_path):
    """When there is a file `begun`, kills a node whose id is the name of a file, but not the head."""

    def kill():
        while not (tmp_path / "begun").exists():
            if over.wait(0.05):
                return
        used = [node for node in nodes.worker_nodes if (tmp_path / node.node_id).exists()]
        nodes.remove_node(used[0], allow_graceful=False)
        (tmp_path / "killed").write_text("")

    over = threading.Event()
    killer = threading.Thread(target=kill)
    killer.start()
    yield tmp_path
    over.set()
    killer.join()
    assert (tmp_path / "killed").exists()


@pytest.fixture
def in_the_fourth_round(nodes, node_is_killed, monkeypatch):
    """A training waits in its fourth round for the kill of a node; a third node is there to go on."""
    nodes.add_node(num_cpus=1)
    marks = str(node_is_killed)

    def waiting_loop(config):
        import pathlib

        import ray as inside

        from rankloop.cluster.backends import ray as there

        pathlib.Path(marks, inside.get_runtime_context().get_node_id()).write_text("")
        reports = []
        report = there._Member.report

        def waiting(member, by, note=""):
            reports.append(by)
            if len(reports) == 4 and not pathlib.Path(marks, "killed").exists():
                pathlib.Path(marks, "begun").write_text("")
                time.sleep(200)  # until Ray has seen that a member is gone, and ends this one too
            report(member, by, note)

        there._Member.report = waiting
        there._member_loop(config)

    monkeypatch.setattr(_ray, "_member_loop", waiting_loop)


@pytest.mark.usefixtures("nodes")
def test_jobs_give_what_local_processes_give(jobs):
    for name in cluster.__all__:
        if name not in ("LostWorkerError", "fit"):
            assert jobs.run(name, backend="ray") == jobs.expected(name), name


@pytest.mark.usefixtures("nodes")
def test_mistakes_and_other_versions_are_errors(jobs, monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="the function must give a RankingDataset"):
        cluster.transform(jobs.shards, len, tmp_path / "lengths", backend="ray")
    other = {**_versions.here(), "polars": "0.1"}
    monkeypatch.setattr(_versions, "here", lambda: other)
    with pytest.raises(ValueError, match=r"node .* has polars .* where this process has 0\.1"):
        cluster.evaluate(jobs.ranker, jobs.shards, backend="ray")


@pytest.mark.usefixtures("nodes")
def test_commands(jobs, output_of, tmp_path):
    """`train` is below: on Ray it takes longest."""
    jobs.ranker.save(tmp_path / "model.rank")
    write_svmlight(jobs.data, tmp_path / "set.txt")
    commands = {
        "evaluate": (tmp_path / "model.rank", jobs.shards.path, "--json"),
        "predict": (tmp_path / "model.rank", jobs.shards.path, "--out", tmp_path / "scores"),
        "tune": (jobs.shards.path, "--ranker", "ranksvm", "--space", "C=0.1:1", "--trials", "2", "--json"),
        "learn": (tmp_path / "set.txt", jobs.log.path, "--trees", "3", "--json"),
    }
    for command, arguments in commands.items():
        found = []
        for backend in ("ray", "local"):
            found.append(output_of(command, *arguments, "--backend", backend))
            if command == "predict":
                found[-1] += open_shards(tmp_path / "scores").fingerprint
                shutil.rmtree(tmp_path / "scores")
        assert found[0] == found[1], command


@pytest.mark.slow
@pytest.mark.usefixtures("nodes")
def test_a_training_that_finds_no_cores_ends(shards, monkeypatch):
    """It waits a while for nodes that may come; here a second, and not a minute, each of four times."""
    monkeypatch.setenv("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", "1")
    with pytest.raises(RuntimeError, match="Ray could not start 3 workers of one core: the cluster has 2"):
        cluster.fit(LambdaMART(trees=3), shards, workers=3, backend="ray")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("in_the_fourth_round")
def test_trees_are_those_of_local_workers_though_a_node_is_killed(shards, output_of, tmp_path):
    """Ray Train begins again after the kill; the model is the same to the last byte, with a loss of ours."""
    VALID.save(tmp_path / "valid")
    chosen = [f"--set={one}" for one in ("trees=10", "leaves=5", "threads=1", "loss=ranknet")]
    arguments = (shards.path, *chosen, "--valid", tmp_path / "valid", "--workers", "2")
    output_of("train", *arguments, "--backend", "ray", "--out", tmp_path / "ray")
    output_of("train", *arguments, "--backend", "local", "--out", tmp_path / "local")
    models = [(tmp_path / name / "model.rank").read_bytes() for name in ("ray", "local")]
    assert models[0] == models[1]
    alone = LambdaMART(trees=10, leaves=5, threads=1, loss="ranknet").fit(DATA, VALID)
    reached, wanted = (
        metrics.evaluate(one, VALID, "ndcg@10").mean["ndcg@10"] for one in (loads(models[0]), alone)
    )
    assert abs(reached - wanted) < 0.02


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("in_the_fourth_round")
def test_a_network_is_that_of_local_processes_though_a_node_is_killed(shards, tmp_path, monkeypatch):
    """Ray Train begins again, from the epochs that were kept, and one bar shows it all."""
    from rankloop.rankers import NeuralRanker

    reports = []

    @contextmanager
    def seen(title, total):
        yield lambda by=1, note="": reports.append((by, note))

    monkeypatch.setattr(training, "progress", seen)
    network = NeuralRanker(hidden=(8,), epochs=5, threads=1, seed=0)
    there = cluster.fit(network, shards, workers=2, backend="ray", checkpoint=tmp_path / "kept")
    assert sum(by for by, _ in reports) == 5
    assert "a worker was lost: started again" in [note for _, note in reports]
    assert dumps(there) == dumps(cluster.fit(network, shards, workers=2))


def test_a_node_is_killed_under_a_job(jobs, node_is_killed, monkeypatch):
    """In the first of three steps of `learn`, which the head ends alone; the same ranker comes of it."""
    marks, head = str(node_is_killed), ray.get_runtime_context().get_node_id()

    def slow(shard):
        import pathlib

        import ray as inside

        there = import_module("rankloop.cluster.aggregate")

        node = inside.get_runtime_context().get_node_id()
        if node != head:
            pathlib.Path(marks, node).write_text("")
            pathlib.Path(marks, "begun").write_text("")
            time.sleep(60)
        return there._count(shard)

    expected = jobs.expected("learn")
    monkeypatch.setattr(counting, "_count", slow)
    assert jobs.run("learn", backend="ray") == expected
    assert sum(node["Alive"] for node in ray.nodes()) == 1


def test_a_cluster_is_started_for_the_job_where_there_is_none(monkeypatch):
    """The calls to Ray, without starting another cluster."""
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
    backend = _ray.Ray(None)
    with backend.connected():
        assert backend.workers == 3
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    assert calls == [
        {"address": "auto", **quiet},
        {"num_cpus": None, "include_dashboard": False, **quiet},
        "over",
    ]


@pytest.mark.parametrize("lost", [True, False])
def test_a_node_that_cannot_tell_its_versions(lost):
    """One that has just died is passed over, as others do its work; one that cannot run rankloop is named."""
    gone = ray.exceptions.NodeDiedError("it is gone")
    broken = ray.exceptions.RayTaskError("f", "", ModuleNotFoundError("No module named 'rankloop'"))

    class Fake:
        exceptions = ray.exceptions

        def nodes(self):
            return [{"Alive": True, "NodeID": "a" * 56, "NodeManagerAddress": "10.0.0.7"}]

        def remote(self, **options):
            return lambda function: SimpleNamespace(remote=lambda: "an answer")

        def get(self, answer):
            raise gone if lost else broken

    if lost:
        _ray._refuse_other_versions(Fake())
    else:
        with pytest.raises(
            ValueError, match=r"rankloop does not run on node 10\.0\.0\.7 \(a+\): No module named"
        ):
            _ray._refuse_other_versions(Fake())
