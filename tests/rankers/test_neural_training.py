"""Training that stops early, is interrupted, goes wrong, or is shared by two processes."""

import os
import signal
import socket
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from rankloop.data import RankingDataset
from rankloop.metrics import metric
from rankloop.rankers import NeuralRanker, load
from rankloop.rankers.neural import fit as _neural_fit

torch = pytest.importorskip("torch")

OPTIONS = {"hidden": (16, 8), "dropout": 0.2, "noise": 0.1, "batch_lists": 4, "device": "cpu", "threads": 1}


def judged(queries=20, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 9, queries)
    X = rng.normal(size=(lengths.sum(), 4))
    y = np.digitize(X @ [2, 1, 0.5, 0] + rng.normal(size=len(X)), [0, 1.5, 3])
    return RankingDataset.from_groups(X, y, lengths)


def test_stops_early_with_the_best_weights():
    train, valid = judged(), judged(seed=1)
    ranker = NeuralRanker(learning_rate=0.05, patience=4, metric="map", device="cpu").fit(train, valid)
    history = ranker.history_["map"]
    assert len(history) == ranker.n_iter_ + 4 < 100
    assert max(history) == history[ranker.n_iter_ - 1]
    reached = metric("map")(ranker.predict(valid), valid.y, valid.offsets)
    assert np.nanmean(reached) == pytest.approx(max(history), abs=1e-6)
    assert ranker.metrics_["valid"]["map"] == pytest.approx(max(history), abs=1e-6)


def test_lower_may_be_better():
    ranker = NeuralRanker(epochs=8, metric="arp", device="cpu").fit(judged(), judged(seed=1))
    assert min(ranker.history_["arp"]) == ranker.history_["arp"][ranker.n_iter_ - 1] > 0


def test_a_validation_set_without_value_is_refused():
    valid = judged(seed=1)
    with pytest.raises(ValueError, match=r"no query of the validation set has a value of ndcg@10"):
        NeuralRanker(epochs=1).fit(judged(), valid.replace(y=np.zeros(valid.n_documents)))


def test_the_users_random_numbers_are_left_alone():
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    NeuralRanker(epochs=1, **OPTIONS).fit(judged())
    np.testing.assert_array_equal(torch.rand(3), wanted)


@pytest.mark.parametrize("scorer", ["mlp", "groupwise"])
def test_going_on_gives_the_same_bits(scorer, tmp_path):
    train, valid = judged(), judged(seed=1)
    options = OPTIONS | {"scorer": scorer, "loss": "xendcg"}
    whole = NeuralRanker(epochs=6, **options).fit(train, valid)
    kept = tmp_path / "training.zip"
    NeuralRanker(epochs=2, checkpoint=kept, **options).fit(train, valid)
    rest = NeuralRanker(epochs=6, checkpoint=kept, **options).fit(train, valid)
    assert rest.history_ == whole.history_
    np.testing.assert_array_equal(rest.predict(valid), whole.predict(valid))
    again = NeuralRanker(epochs=6, checkpoint=str(kept), **options).fit(train, valid)  # nothing left to do
    np.testing.assert_array_equal(again.predict(valid), whole.predict(valid))
    with zipfile.ZipFile(kept) as archive:
        assert not [name for name in archive.namelist() if not name.endswith((".npy", ".json"))]


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
from test_neural_training import OPTIONS, judged
from rankloop.rankers import NeuralRanker
from rankloop import _archive
replacing, times = _archive.replacing, []

def deadly(path):
    times.append(path)
    if len(times) == 4:  # in the middle of the fourth write
        beside = replacing(path)
        beside.__enter__().write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGKILL)
    return replacing(path)

_archive.replacing = deadly
NeuralRanker(epochs=6, checkpoint=sys.argv[1], **OPTIONS).fit(judged(), judged(seed=1))
"""


def test_a_killed_training_goes_on_to_the_same_bits(tmp_path):
    kept = tmp_path / "training.zip"
    done = subprocess.run([sys.executable, "-c", KILLED, kept, os.path.dirname(__file__)], check=False)
    assert done.returncode == -signal.SIGKILL
    train, valid = judged(), judged(seed=1)
    rest = NeuralRanker(epochs=6, checkpoint=kept, **OPTIONS).fit(train, valid)
    whole = NeuralRanker(epochs=6, **OPTIONS).fit(train, valid)
    assert rest.history_ == whole.history_
    np.testing.assert_array_equal(rest.predict(valid), whole.predict(valid))


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    kept = tmp_path / "training.zip"
    NeuralRanker(epochs=1, device="cpu", checkpoint=kept).fit(judged())
    with pytest.raises(
        ValueError, match=r"another training \(seed was 0, is 1\); delete it or choose another"
    ):
        NeuralRanker(epochs=1, device="cpu", checkpoint=kept, seed=1).fit(judged())
    with pytest.raises(ValueError, match=r"another training \(train was "):
        NeuralRanker(epochs=1, device="cpu", checkpoint=kept).fit(judged(seed=1))
    kept.write_bytes(kept.read_bytes()[:1000])
    with pytest.raises(ValueError, match=r"not a saved checkpoint .* delete it to start again"):
        NeuralRanker(epochs=1, device="cpu", checkpoint=kept).fit(judged())


def test_a_checkpoint_of_the_old_layout_or_of_another_kind_is_refused(tmp_path):
    kept = tmp_path / "training.zip"
    with zipfile.ZipFile(kept, "w") as archive:
        archive.writestr("state.json", '{"training": {}, "epoch": 1}')
    with pytest.raises(
        ValueError, match=r"not a saved checkpoint .*manifest.json.*; delete it to start again"
    ):
        NeuralRanker(epochs=1, device="cpu", checkpoint=kept).fit(judged())
    NeuralRanker(epochs=1, device="cpu").fit(judged()).save(kept)
    with pytest.raises(ValueError, match="holds a ranker, not a checkpoint; delete it to start again"):
        NeuralRanker(epochs=1, device="cpu", checkpoint=kept).fit(judged())


def test_a_schedule_belongs_to_its_number_of_epochs(tmp_path):
    kept = tmp_path / "training.zip"
    options = {"schedule": "cosine", "device": "cpu", "checkpoint": kept}
    NeuralRanker(epochs=2, **options).fit(judged())
    with pytest.raises(ValueError, match=r"another training \(epochs was 2, is 3\)"):
        NeuralRanker(epochs=3, **options).fit(judged())


def test_divergence_ends_with_a_sentence_and_the_last_good_checkpoint(tmp_path):
    data = judged()
    kept = tmp_path / "training.zip"
    wild = NeuralRanker(
        learning_rate=1e30, optimizer="sgd", feature_transform=None, checkpoint=kept, batch_documents=1000
    )
    with pytest.raises(ValueError, match=r"training diverged in epoch \d+: .*lower learning_rate \(1e\+30\)"):
        wild.fit(data)
    assert not hasattr(wild, "module_")
    with zipfile.ZipFile(kept) as archive:
        assert b"NaN" not in archive.read("manifest.json")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            torch.OutOfMemoryError("CUDA out of memory."),
            r"out of memory with batches of 256 documents; make them",
        ),
        (RuntimeError("CUDA error: device lost"), r"the device was lost \(CUDA error: device lost\); with"),
    ],
)
def test_a_failing_device_ends_with_a_sentence(error, message, monkeypatch):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(_neural_fit, "train_from", fail)
    with pytest.raises(RuntimeError, match=message):
        NeuralRanker(device="cpu").fit(judged())


SHARED = """
import sys
sys.path.insert(0, sys.argv[2])
from test_neural_training import SHARED_OPTIONS, judged
from rankloop.rankers import NeuralRanker
ranker = NeuralRanker(**SHARED_OPTIONS).fit(judged(), judged(seed=1))
ranker.save(sys.argv[1])
"""
# The last batch of 20 lists by 19 is one list: it leaves a process without work.
SHARED_OPTIONS = {"hidden": (16, 8), "epochs": 4, "device": "cpu", "loss": "lambdarank", "batch_lists": 19}


@pytest.mark.slow
def test_two_processes_train_what_one_does(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    common = os.environ | {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    command = [sys.executable, "-c", SHARED]
    started = [
        subprocess.Popen(
            [*command, tmp_path / f"model{rank}", os.path.dirname(__file__)],
            env=common | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(2)
    ]
    assert [process.wait(timeout=120) for process in started] == [0, 0]
    first, second = (load(tmp_path / f"model{rank}") for rank in range(2))
    alone = NeuralRanker(**SHARED_OPTIONS).fit(judged(), judged(seed=1))
    valid = judged(seed=1)
    np.testing.assert_array_equal(first.predict(valid), second.predict(valid))
    np.testing.assert_allclose(first.predict(valid), alone.predict(valid), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(first.history_["loss"], alone.history_["loss"], rtol=1e-5)
