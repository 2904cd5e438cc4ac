"""Training by several local workers: the same model every time, also when one is killed on the way."""

import subprocess
import sys
from contextlib import contextmanager
from importlib import import_module

import numpy as np
import pytest

from rankloop import cluster
from rankloop.cluster.backends import local as _local
from rankloop.cluster.training.trees import TreesJob, grow, settled
from rankloop.data import RankingDataset, synthetic
from rankloop.data.shards.write_shards import write_shards
from rankloop.losses import LambdaRank
from rankloop.metrics import evaluate
from rankloop.rankers import LambdaMART, LinearRanker, NeuralRanker
from rankloop.rankers.saving.load import dumps, loads

training = import_module("rankloop.cluster.fit")

DATA, VALID = synthetic(n_queries=160, docs_per_query=10, n_features=5, seed=0).split(0.75, seed=0)
TREES = LambdaMART(trees=12, leaves=5, threads=1, seed=0)


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    return write_shards(DATA, tmp_path_factory.mktemp("training") / "set", shards=4)


@pytest.fixture(scope="module")
def two(shards):
    """The forest of two workers that nobody disturbed."""
    return cluster.fit(TREES, shards, VALID, workers=2)


@pytest.fixture
def killed(monkeypatch):
    """Kills a member of the first team of the test after so many rounds."""
    plan = {"after": 3}
    take, run = _local._Team._take, _local._Team.run
    started = []

    def remembered(team, task, argument):
        team.rounds = team.first = 0
        started.append(team)
        return run(team, task, argument)

    def killing(team, rank, kind, *content):
        if kind == "progress":
            team.first = team.first if team.rounds else content[0]
            team.rounds += content[0]
            if team.rounds == plan["after"] and len(started) == 1:
                team.members[1].process.kill()
        return take(team, rank, kind, *content)

    monkeypatch.setattr(_local._Team, "run", remembered)
    monkeypatch.setattr(_local._Team, "_take", killing)
    plan["started"] = started
    return plan


def test_one_worker_is_one_process(shards):
    """To the last digit: the trees, and what a saved file says about them."""
    found = cluster.fit(TREES, shards, VALID, workers=1)
    here = LambdaMART(**TREES.get_params()).fit(shards.whole(), VALID)
    assert np.array_equal(found.predict(DATA), here.predict(DATA))
    assert found.metrics_ == here.metrics_
    assert found.n_trees_ == here.n_trees_
    assert found.get_params() == here.get_params()
    assert found.fingerprint_ == shards.fingerprint


def test_two_workers_grow_one_good_forest(shards, two):
    """Within what the seed of a single process changes, and without a trace of ports or machines."""
    spread = [
        evaluate(
            LambdaMART(trees=12, leaves=5, threads=1, feature_fraction=0.8, seed=seed).fit(DATA),
            VALID,
            "ndcg@10",
        ).mean["ndcg@10"]
        for seed in range(5)
    ]
    reached = evaluate(two, VALID, "ndcg@10").mean["ndcg@10"]
    assert abs(reached - np.mean(spread)) < 3 * np.std(spread) + 0.01
    assert "machines" not in two.forest_.text
    assert two.params is None


def test_a_killed_member_changes_nothing(shards, two, killed, monkeypatch):
    """Neither the forest nor where the bar ends: what was lost is taken back from it."""
    reports = []

    @contextmanager
    def seen(title, total):
        yield lambda by=1, note="": reports.append((by, note))

    monkeypatch.setattr(training, "progress", seen)
    assert dumps(cluster.fit(TREES, shards, VALID, workers=2)) == dumps(two)
    assert len(killed["started"]) == 2
    assert sum(by for by, _ in reports) == TREES.trees
    lost = [-by for by, note in reports if note == "a worker was lost: started again"]
    assert len(lost) == 1
    assert lost[0] >= 3  # the others may have ended a round more before they noticed


class Alone:
    """A team of one, in this process, that may break down after so many rounds."""

    rank, count, machine = 0, 1, 0

    def __init__(self, breaks=None):
        self.reports, self.breaks = [], breaks

    def report(self, by, note=""):
        self.reports.append(by)
        if sum(self.reports) == self.breaks:
            raise ConnectionError("the machine is gone")


def test_a_checkpoint_is_gone_on_from(shards, tmp_path):
    """Broken off in the second of three pieces: the next call ends where an undisturbed one ends."""
    work = TreesJob(TREES, shards, VALID, str(tmp_path), 5)
    with pytest.raises(ConnectionError):
        grow(work, Alone(breaks=7))
    here = LambdaMART(**TREES.get_params()).fit(shards.whole(), VALID)
    best = 1 + int(np.argmax(here.curve_[:5]))
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"forest-{best:06d}.rank", "state.json"]
    rest = Alone()
    resumed = loads(grow(work, rest))
    assert rest.reports[0] == best  # it went on from the best of the five
    trees, same = (made.forest_.text.partition("\nparameters:")[0] for made in (resumed, here))
    assert trees == same
    assert np.array_equal(resumed.curve_, here.curve_)
    with pytest.raises(ValueError, match="is of another training"):
        grow(TreesJob(LambdaMART(trees=3), shards, VALID, str(tmp_path), 5), Alone())


def test_pieces_stop_early_as_a_whole_does(shards, tmp_path):
    """The best round, and so the forest, is that of one piece; patience ends it."""
    ranker = LambdaMART(trees=60, leaves=15, learning_rate=0.5, patience=6, threads=1)
    made = loads(grow(TreesJob(ranker, shards, VALID, str(tmp_path), 10), Alone()))
    here = LambdaMART(**ranker.get_params()).fit(shards.whole(), VALID)
    assert here.n_trees_ < 60
    assert made.n_trees_ == here.n_trees_
    assert made.metrics_ == here.metrics_


def test_other_losses_and_pooled_grades(tmp_path):
    """A shard without the best grade still counts by it: the loss is settled on all shards."""
    shards = write_shards(DATA, tmp_path / "set", shards=2)
    made = settled(LambdaMART(loss="sigmoidcrossentropy"), shards)
    assert made.loss.max_label == DATA.y.max()
    assert settled(TREES, shards).loss == "lambdagap"


@pytest.mark.slow
def test_networks_of_two_processes(shards, killed, tmp_path, monkeypatch):
    """One process, two with a kill on the way, and two of `torchrun`: the same network.

    The second team goes on from the epochs that the first kept, and no rows stay in the temporary folder.
    """
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    network = NeuralRanker(hidden=(8,), epochs=3, threads=1, seed=0)
    killed["after"] = 2
    found = cluster.fit(network, shards, workers=2, checkpoint=tmp_path / "kept")
    assert len(killed["started"]) == 2
    assert killed["started"][1].first in (2, 3)  # a third may end before the loss is felt
    assert not [path.name for path in scratch.iterdir() if "rankloop" in path.name]
    assert found.fingerprint_ == shards.fingerprint
    here = NeuralRanker(hidden=(8,), epochs=3, threads=1, seed=0).fit(shards.whole())
    np.testing.assert_allclose(found.predict(DATA), here.predict(DATA), atol=1e-5)
    script = tmp_path / "train.py"
    script.write_text(
        "import sys\n"
        "from rankloop import cluster\n"
        "from rankloop.rankers import NeuralRanker\n"
        "network = NeuralRanker(hidden=(8,), epochs=3, threads=1, seed=0)\n"
        "found = cluster.fit(network, sys.argv[1], workers=2)\n"
        "found.save(f'{sys.argv[2]}/network.rank')\n"
    )
    run = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", str(script)]
    done = subprocess.run([*run, shards.path, str(tmp_path)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "network.rank").read_bytes() == dumps(found)


def test_an_error_is_raised_at_once(shards):
    with pytest.raises(ValueError, match="unknown feature 'price'") as raised:
        cluster.fit(LambdaMART(trees=3, monotone={"price": 1}), shards, workers=1)
    assert "in a worker process" in raised.value.__notes__[0]


def test_wrong_arguments_are_errors(shards):
    with pytest.raises(ValueError, match="LinearRanker learns in one process"):
        cluster.fit(LinearRanker(), shards)
    with pytest.raises(ValueError, match="several workers train trees with LightGBM only"):
        cluster.fit(LambdaMART(backend="xgboost"), shards)
    with pytest.raises(ValueError, match="callbacks would run in the workers"):
        cluster.fit(LambdaMART(callbacks=[print]), shards)
    with pytest.raises(ValueError, match="leave 'machines' out of params"):
        cluster.fit(LambdaMART(params={"machines": "a:1"}), shards)
    with pytest.raises(ValueError, match="is a folder that every machine mounts, and memory://kept is not"):
        cluster.fit(NeuralRanker(), shards, checkpoint="memory://kept")
    with pytest.raises(ValueError, match="every is 1 or more trees"):
        cluster.fit(LambdaMART(loss=LambdaRank()), shards, every=0)
    few = write_shards(RankingDataset([[1.0], [2.0]], [0, 1], ["a", "a"]), shards.path + "-few", shards=3)
    with pytest.raises(ValueError, match="fewer shards with rows than there are workers"):
        cluster.fit(TREES, few, workers=2)
