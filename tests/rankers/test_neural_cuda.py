"""The same code on CUDA: close to the CPU, and the same bits every time."""

import subprocess
import sys

import numpy as np
import pytest

from rankloop.data import Pairs, synthetic
from rankloop.rankers import NeuralRanker, load
from rankloop.rankers.base.objective import Objective

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no CUDA on this machine", allow_module_level=True)

from torch import distributed  # noqa: E402

from rankloop.rankers.neural import batches as _batches  # noqa: E402
from rankloop.rankers.neural.batches import DeviceLists  # noqa: E402
from rankloop.rankers.neural.device_metrics import quality_on  # noqa: E402
from rankloop.rankers.neural.fused_mlp import FusedSteps  # noqa: E402
from rankloop.rankers.neural.processes import Processes  # noqa: E402

CUDA = torch.device("cuda")
SCORERS = ("attention", "gam", "groupwise", "mlp")


@pytest.fixture(scope="module")
def data():
    return synthetic(n_queries=60, docs_per_query=30, n_features=12, seed=0)


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize("scorer", SCORERS)
def test_same_bits_twice(scorer, precision, data):
    first, second = (
        NeuralRanker(scorer=scorer, epochs=3, device="cuda", precision=precision, dropout=0.1).fit(data)
        for _ in range(2)
    )
    assert first.history_ == second.history_
    np.testing.assert_array_equal(first.predict(data), second.predict(data))


@pytest.mark.parametrize("scorer", SCORERS)
def test_one_step_is_that_of_the_cpu(scorer, data):
    """All lists in one batch, so that the order in which they are drawn does not matter."""
    options = {"scorer": scorer, "epochs": 1, "batch_documents": 10**6}
    if scorer == "groupwise":
        options["group_size"] = 1  # larger groups are drawn at random
    there, here = (NeuralRanker(device=name, **options).fit(data) for name in ("cuda", "cpu"))
    assert there.history_["loss"] == pytest.approx(here.history_["loss"], rel=1e-5)
    np.testing.assert_allclose(there.predict(data), here.predict(data), rtol=1e-2, atol=1e-3)


def test_streamed_rows_are_resident_rows(data, monkeypatch):
    resident = NeuralRanker(epochs=2, device="cuda").fit(data, data)
    monkeypatch.setattr(_batches, "_fits", lambda rows, device: False)
    streamed = NeuralRanker(epochs=2, device="cuda").fit(data, data)
    again = NeuralRanker(epochs=2, device="cuda").fit(data, data)
    np.testing.assert_array_equal(streamed.predict(data), again.predict(data))
    # Resident rows go through CUDA graphs, whose batches are filled up: sums round differently.
    np.testing.assert_allclose(streamed.predict(data), resident.predict(data), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["ndcg@10", "ndcg", "ndcg(gain=linear)@3", "map", "arp"])
def test_quality_is_that_of_the_metrics(name, data):
    if name in ("ndcg@10", "ndcg"):
        data = data.replace(
            item_weight=np.linspace(0, 1, data.n_documents), query_weight=np.linspace(0, 1, data.n_queries)
        )
    scores = np.round(np.random.default_rng(0).normal(size=data.n_documents), 1)
    lists = DeviceLists(data, lambda X: X, CUDA)
    reached = quality_on(lists, name)(torch.from_numpy(scores).to(CUDA))
    assert reached == pytest.approx(Objective.of(name, data)(scores), rel=1e-12)


def test_a_list_of_two_thousand():
    data = synthetic(n_queries=3, docs_per_query=2000, n_features=5, seed=0)
    ranker = NeuralRanker(scorer="attention", epochs=2, device="cuda", precision="bf16").fit(data)
    assert np.isfinite(ranker.predict(data)).all()


def test_explicit_pairs_train_there(data):
    better = np.flatnonzero(np.diff(data.row_query) == 0)
    judged = data.replace(
        pairs=Pairs(better, better + 1, np.where(data.y[better] > data.y[better + 1], 1, 0))
    )
    there, here = (
        NeuralRanker(loss="ranknet", epochs=1, batch_documents=10**6, device=name).fit(judged)
        for name in ("cuda", "cpu")
    )
    assert there.history_["loss"] == pytest.approx(here.history_["loss"], rel=1e-5)


@pytest.mark.parametrize("columns", [12, 136, 300])
@pytest.mark.parametrize(
    ("hidden", "loss"),
    [((64,), "lambdarank"), ((280, 48), "lambdarank"), ((96, 64, 20), "listnet"), ((7, 5), "squared")],
)
def test_fused_steps_are_those_of_autograd(hidden, loss, columns, monkeypatch):
    """Of one layer or several, with a level or without; the copy engine takes sizes that 8 divides."""
    data = synthetic(n_queries=40, docs_per_query=30, n_features=columns, seed=0)
    options = {"hidden": hidden, "loss": loss, "precision": "bf16", "device": "cuda", "batch_documents": 300}
    steps = []
    monkeypatch.setattr(
        "rankloop.rankers.neural.fused_mlp.FusedSteps.learn",
        lambda *given, plain=FusedSteps.learn: (steps.append(1), plain(*given)),
    )
    fused = NeuralRanker(epochs=3, **options).fit(data)
    assert steps
    monkeypatch.setattr("rankloop.rankers.neural.training.can_fuse", lambda *_: False)
    plain = NeuralRanker(epochs=3, **options).fit(data)
    np.testing.assert_allclose(fused.history_["loss"], plain.history_["loss"], rtol=0.02)
    for ours, theirs in zip(fused.module_.parameters(), plain.module_.parameters(), strict=True):
        assert (ours - theirs).norm() <= 0.1 * theirs.norm() + 1e-3  # Adam enlarges what rounding does


def test_fused_steps_go_on_from_a_checkpoint(data, tmp_path):
    options = {"precision": "bf16", "loss": "lambdarank", "device": "cuda", "optimizer": "adam"}
    kept = tmp_path / "training.zip"
    NeuralRanker(epochs=2, checkpoint=kept, **options).fit(data)
    rest = NeuralRanker(epochs=4, checkpoint=kept, **options).fit(data)
    whole = NeuralRanker(epochs=4, **options).fit(data)
    np.testing.assert_array_equal(rest.predict(data), whole.predict(data))


def test_divergence_on_the_device(data, tmp_path):
    kept = tmp_path / "training.zip"
    NeuralRanker(epochs=2, device="cuda", checkpoint=kept).fit(data)
    good = kept.read_bytes()
    wild = {"feature_transform": None, "learning_rate": 1e30, "device": "cuda"}
    for loss in ("listnet", "lambdarank", "neuralndcg"):
        with pytest.raises(ValueError, match=r"diverged in epoch \d+: .*lower learning_rate \(1e\+30\)"):
            NeuralRanker(loss=loss, **wild).fit(data)
    assert kept.read_bytes() == good


def test_out_of_memory_goes_on_from_the_last_good_checkpoint(data, tmp_path):
    kept = tmp_path / "training.zip"
    whole = NeuralRanker(epochs=4, device="cuda").fit(data)
    NeuralRanker(epochs=2, device="cuda", checkpoint=kept).fit(data)
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(1e-6)
    try:
        with pytest.raises(
            RuntimeError, match=r"out of memory with batches of 256 .* last good checkpoint, "
        ):
            NeuralRanker(epochs=4, device="cuda", checkpoint=kept).fit(data)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    rest = NeuralRanker(epochs=4, device="cuda", checkpoint=kept).fit(data)
    np.testing.assert_array_equal(rest.predict(data), whole.predict(data))


LOST = """
import sys, torch
from rankloop.data import synthetic
from rankloop.rankers import NeuralRanker
from rankloop.rankers.neural import training
plain = training._epoch

def failing(*given):
    if given[5] == 2:  # its number
        torch.zeros(2, device="cuda")[torch.tensor([7], device="cuda")]
        torch.cuda.synchronize()
    return plain(*given)

training._epoch = failing
data = synthetic(n_queries=60, docs_per_query=30, n_features=12, seed=0)
try:
    NeuralRanker(epochs=4, device="cuda", checkpoint=sys.argv[1]).fit(data)
except RuntimeError as error:
    print(error, flush=True)
"""


def test_a_lost_device_goes_on_from_the_last_good_checkpoint(data, tmp_path):
    kept = tmp_path / "training.zip"
    done = subprocess.run([sys.executable, "-c", LOST, kept], capture_output=True, text=True, timeout=200)
    assert "the device was lost (CUDA error: device-side assert triggered); the same call" in done.stdout
    rest = NeuralRanker(epochs=4, device="cuda", checkpoint=kept).fit(data)
    whole = NeuralRanker(epochs=4, device="cuda").fit(data)
    np.testing.assert_array_equal(rest.predict(data), whole.predict(data))


def test_gradients_are_summed_by_nccl(tmp_path):
    distributed.init_process_group("nccl", init_method=f"file://{tmp_path}/met", rank=0, world_size=1)
    try:
        layer = torch.nn.Linear(3, 2).cuda()
        layer(torch.ones(4, 3, device="cuda")).sum().backward()
        before = layer.weight.grad.clone()
        several = Processes(rank=0, count=2)  # of which one came
        several.sum_gradients(layer.parameters())
        assert torch.equal(layer.weight.grad, before)
        assert several.agreed(0.5, CUDA) == 0.5
    finally:
        distributed.destroy_process_group()


SHARED = """
import sys
from torch import distributed
from rankloop.data import synthetic
from rankloop.rankers import NeuralRanker
rank = int(sys.argv[1])
distributed.init_process_group("gloo", init_method="file://" + sys.argv[2] + "/met", rank=rank, world_size=2)
data = synthetic(n_queries=60, docs_per_query=30, n_features=12, seed=0)
NeuralRanker(loss="lambdarank", epochs=3, device="cuda").fit(data, data).save(sys.argv[2] + f"/model{rank}")
"""


def test_two_processes_train_what_one_does_on_one_gpu(data, tmp_path):
    """NCCL wants a GPU for each process, so these exchange over the host."""
    started = [subprocess.Popen([sys.executable, "-c", SHARED, str(rank), tmp_path]) for rank in range(2)]
    assert [process.wait(timeout=200) for process in started] == [0, 0]
    first, second = (load(tmp_path / f"model{rank}") for rank in range(2))
    alone = NeuralRanker(loss="lambdarank", epochs=3, device="cuda").fit(data, data)
    np.testing.assert_array_equal(first.predict(data), second.predict(data))
    np.testing.assert_allclose(first.predict(data), alone.predict(data), rtol=1e-3, atol=1e-4)


def test_graphs_of_earlier_trainings_are_not_freed_while_another_is_captured(data):
    """Found by chance: networks trained one after the other, whose graphs are in cycles of references."""
    import gc

    usual = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for seed in range(3):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                torch.ones(1, device="cuda").add_(1)
            cycle = [graph]
            cycle.append(cycle)
            del graph, cycle
            NeuralRanker(loss="lambdarank", epochs=3, device="cuda", seed=seed).fit(data)
    finally:
        gc.set_threshold(*usual)
