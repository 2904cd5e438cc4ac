"""Losses and training on one GPU, beside the way the peers do it, in the same run.

    python benchmarks/gpu.py [--only losses|each-loss|cores|epochs] [--no-compiled] [--epochs N]

Losses: LambdaRank's gradient, Hessian and value, the sort included: eager PyTorch as in allRank (padded n ×
n tensors, written anew below after its definition), `torch.compile` of it, Rax under `jax.jit` where both
are installed, and us; then the milliseconds of every loss with a CUDA kernel. Times are medians of CUDA
events over a loop of calls as a user makes them, checks of the input included (Rax: wall clock until the
result is there); "graph" is the same work replayed from a CUDA graph, where nothing is checked; ListMLE and
PListMLE with `ties="random"`, which have a kernel. Epochs: a
set of the shape of MSLR-WEB30K (3.77 million documents × 136 features) with an MLP 1024-512-256 in bf16 and
LambdaRank, batches of 128 lists, by the training loop of `NeuralRanker`, its rows on the device or streamed
from the host; beside it the same network over padded lists cut to 240 with the eager loss, its data already
on the device, which is generous to it.
"""

import argparse
import os
import statistics
import time
from importlib.util import find_spec

import numpy as np
import torch

from rankloop.data import Pairs, RankingDataset
from rankloop.losses import ListMLE, PListMLE, loss
from rankloop.losses.cuda.registry import KERNELS, device_loss
from rankloop.rankers.neural import batches as _batches
from rankloop.rankers.neural.batches import DeviceLists, rows_of
from rankloop.rankers.neural.device_metrics import quality_on
from rankloop.rankers.neural.input import FeatureTransform
from rankloop.rankers.neural.layers import Shape
from rankloop.rankers.neural.network import MLP
from rankloop.rankers.neural.processes import Processes
from rankloop.rankers.neural.training import Recipe, scores_of, train
from results import benchmark, record

SHAPES = ((30_000, 120), (1_024, 1_000), (256, 4_000))
BARS = {(30_000, 120): "1.0", (1_024, 1_000): "1.2", (256, 4_000): "runs"}
GOAL = 0.15  # ms, of list-wise losses as called
GRADES = (0.52, 0.32, 0.13, 0.02, 0.01)  # about as in MSLR-WEB30K
LISTS, VALID_LISTS, LENGTH, FEATURES = 31_531, 6_306, 119.6, 136
HIDDEN, BATCH_LISTS, CUT = (1024, 512, 256), 128, 240
DEVICE = torch.device("cuda")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=("losses", "each-loss", "cores", "epochs"))
    parser.add_argument("--no-compiled", action="store_true")
    parser.add_argument("--epochs", type=int, default=100)
    chosen = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}\n", flush=True)
    if chosen.only in (None, "losses"):
        lambdarank_table(not chosen.no_compiled)
    if chosen.only in (None, "losses", "each-loss"):
        every_loss()
    if chosen.only in (None, "cores"):
        by_core()
    if chosen.only in (None, "epochs"):
        epoch_table(chosen.epochs)


def lambdarank_table(compiled):
    print("| LambdaRank, lists × documents | who | ms | in a graph | GiB | bar |")
    print("|---|---|---:|---:|---:|---:|")
    one = loss("lambdarank")
    for lists, length in SHAPES:
        scores, labels, offsets = made(lists, length)
        rows = []
        for name, valued in (("us, gradient and Hessian", False), ("us, value too", True)):

            def call(checked=True, valued=valued, given=(scores, labels, offsets)):
                return device_loss(one, *given, valued=valued, checked=checked)

            rows.append((name, *timed(call), timed(captured(call))[0]))
        padded = (scores.view(lists, length), labels.view(lists, length))
        for name, work in peers(compiled):
            try:
                rows.append((name, *timed(lambda work=work, padded=padded: work(*padded), 5, 1), None))
            except torch.OutOfMemoryError:
                rows.append((f"{name}: out of memory", float("nan"), float("nan"), None))
                torch.cuda.empty_cache()
        if find_spec("rax") is not None and find_spec("jax") is not None:
            torch.cuda.empty_cache()  # what the others took
            rows.append(("Rax, jitted", *rax_times(*padded), None))
        for name, milliseconds, memory, graph in rows:
            shown = "" if graph is None else f"{graph:.3f}"
            bar = BARS[lists, length] if name.startswith("us, g") else ""
            line = (
                f"| {lists:,} × {length:,} | {name} | {milliseconds:.3f} | {shown} | {memory:.2f} | {bar} |"
            )
            record(
                "lambdarank",
                lists=lists,
                documents=length,
                who=name,
                ms=milliseconds,
                graph=graph,
                gib=memory,
            )
            print(line, flush=True)
        first, again = (device_loss(one, scores, labels, offsets).gradient for _ in range(2))
        assert torch.equal(first, again)
    print(flush=True)


def peers(compiled):
    yield "eager n × n", eager_lambdas
    if compiled:
        yield "compiled n × n", torch.compile(eager_lambdas, dynamic=False)


def eager_lambdas(scores, labels):
    """LambdaRank's gradient of padded lists by autograd over all pairs, as allRank's lambdaLoss does it."""
    leaf = scores.detach().requires_grad_()
    ranked, order = leaf.sort(descending=True, dim=-1)
    grade = labels.gather(1, order)
    gain = torch.exp2(grade) - 1
    discount = 1 / torch.log2(2.0 + torch.arange(scores.shape[1], device=scores.device))
    ideal = ((torch.exp2(labels.sort(descending=True, dim=-1).values) - 1) * discount).sum(-1)
    gain = gain / ideal.clamp(min=1e-10)[:, None]
    swap = (gain[:, :, None] - gain[:, None, :]).abs() * (discount[:, None] - discount[None, :]).abs()
    higher = grade[:, :, None] > grade[:, None, :]
    cost = -torch.nn.functional.logsigmoid(ranked[:, :, None] - ranked[:, None, :])
    (gradient,) = torch.autograd.grad((cost * swap).masked_fill(~higher, 0.0).sum(), leaf)
    return gradient


def rax_times(scores, labels):
    """Milliseconds and GiB of Rax's gradient of the same loss; it pads and scales by the length of a list."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import rax

    def cost(scores, labels):
        def swaps(*given, **options):
            return rax.dcg_lambdaweight(*given, **options, normalize=True)

        return rax.pairwise_logistic_loss(scores, labels, lambdaweight_fn=swaps, reduce_fn=jax.numpy.sum)

    work = jax.jit(jax.grad(cost))
    given = [jax.numpy.asarray(part.cpu().numpy()) for part in (scores, labels)]
    made = torch.from_numpy(np.array(work(*given))).to(DEVICE).ravel() / scores.shape[1]
    offsets = torch.arange(0, scores.numel() + 1, scores.shape[1], device=DEVICE)
    ours = device_loss(loss("lambdarank"), scores.ravel(), labels.ravel(), offsets).gradient
    apart = float((made - ours).norm() / ours.norm())
    assert apart < 1e-3, f"Rax's gradient is another: {apart}"
    taken = []
    for _ in range(7):
        start = time.perf_counter()
        work(*given).block_until_ready()
        taken.append(1e3 * (time.perf_counter() - start))
    return statistics.median(taken), jax.devices()[0].memory_stats()["peak_bytes_in_use"] / 2**30


def every_loss():
    lists, length = 4_096, 120
    scores, labels, offsets = made(lists, length)
    print(f"| loss, {lists:,} × {length} | ms | in a graph |\n|---|---:|---:|")
    for kind in sorted(KERNELS, key=lambda k: k.__name__):
        one = kind(ties="random") if kind in (ListMLE, PListMLE) else kind()

        def call(checked=True, one=one):
            return device_loss(one, scores, labels, offsets, checked=checked)

        assert call() is not None, f"{kind.__name__} ran on the CPU"
        milliseconds, replayed = timed(call)[0], timed(captured(call))[0]
        record("losses", loss=kind.__name__, lists=lists, documents=length, ms=milliseconds, graph=replayed)
        print(f"| {kind.__name__} | {milliseconds:.3f} | {replayed:.3f} |", flush=True)
    pairs = Pairs(np.arange(0, lists * length, 2), np.arange(1, lists * length, 2))
    one = loss("ranknet")
    milliseconds, _ = timed(lambda: device_loss(one, scores, labels, offsets, pairs=pairs), 3, 2)
    record(
        "losses", loss="RankNet, explicit pairs", lists=lists, documents=length, ms=milliseconds, graph=None
    )
    print(f"| RankNet, {len(pairs):,} explicit pairs | {milliseconds:.2f} | |", flush=True)
    print(flush=True)


def by_core():
    """The list-wise losses that had a goal, as called, with the host bound to one core after the other."""
    scores, labels, offsets = made(4_096, 120)
    cores = os.sched_getaffinity(0)
    for one in (ListMLE(ties="random"), loss("listnet"), loss("softmax"), loss("xendcg")):
        taken = []
        for core in cores:
            os.sched_setaffinity(0, {core})
            taken.append(timed(lambda one=one: device_loss(one, scores, labels, offsets), 15, 20)[0])
        os.sched_setaffinity(0, cores)
        over = sum(ms > GOAL for ms in taken)
        found = {"fastest": min(taken), "median": statistics.median(taken), "slowest": max(taken)}
        record("cores", loss=type(one).__name__, **found, over=over, cores=len(taken))
        print(f"{type(one).__name__} by core: {min(taken):.3f} to {max(taken):.3f} ms, over {GOAL}: {over}")


def epoch_table(epochs):
    data, valid = of_mslr_shape(LISTS, 0), of_mslr_shape(VALID_LISTS, 1)
    print(f"{data.n_documents:,} documents, {valid.n_documents:,} to validate on", flush=True)
    print("| training | s an epoch | bar | GiB |\n|---|---:|---:|---:|")
    torch.cuda.reset_peak_memory_stats()
    plain, _ = our_epochs(data, None, 8)
    memory = torch.cuda.max_memory_allocated() / 2**30
    record("epochs", what="bf16", seconds=statistics.median(plain[3:]), gib=memory)
    print(f"| us, bf16 | {statistics.median(plain[3:]):.3f} | 0.15 | {memory:.1f} |", flush=True)
    fits, _batches._fits = _batches._fits, lambda rows, device: False
    torch.cuda.reset_peak_memory_stats()
    streamed, _ = our_epochs(data, None, 5)
    memory = torch.cuda.max_memory_allocated() / 2**30
    record("epochs", what="bf16, streamed", seconds=statistics.median(streamed[2:]), gib=memory)
    print(f"| us, bf16, streamed from the host | {statistics.median(streamed[2:]):.3f} | | {memory:.1f} |")
    _batches._fits = fits
    start = time.perf_counter()
    taken, state = our_epochs(data, valid, epochs)
    whole = time.perf_counter() - start
    qualities = {"ndcg_first": state.qualities[0], "ndcg_best": max(state.qualities)}
    record("epochs", what=f"{epochs} epochs, validated", seconds=sum(taken), with_data=whole, **qualities)
    print(f"| us, {epochs} epochs, validated after each: {sum(taken):.1f} s (with the data brought and the "
          f"features learned {whole:.1f} s) | {statistics.median(taken[3:]):.3f} | 0.30 | |")  # fmt: skip
    print(f"| (NDCG@10 of the validation set {state.qualities[0]:.4f} to {max(state.qualities):.4f}) | | | |",
          flush=True)  # fmt: skip
    torch.cuda.reset_peak_memory_stats()
    padded = padded_epochs(data, 2)
    memory = torch.cuda.max_memory_allocated() / 2**30
    record("epochs", what=f"padded to {CUT}, eager, float32", seconds=padded[-1], gib=memory)
    print(f"| padded to {CUT}, eager n × n, float32 | {padded[-1]:.3f} | | {memory:.1f} |", flush=True)


def our_epochs(data, valid, epochs):
    """The seconds of each epoch of `NeuralRanker`'s loop, and how the training went."""
    transform = FeatureTransform.learned("log1p", rows_of(data.X), flags=False, device=DEVICE)
    torch.manual_seed(0)
    scorer = MLP(Shape(FEATURES, HIDDEN, "relu", 0.0, False)).to(DEVICE)
    quality = None
    if valid is not None:
        judged = DeviceLists(valid, transform, DEVICE, torch.bfloat16)
        measured = quality_on(judged, "ndcg@10")

        def quality():
            return measured(scores_of(scorer, judged, "bf16"))

    recipe = Recipe(
        loss=loss("lambdarank"), optimizer="adamw", learning_rate=1e-3, weight_decay=1e-4,
        schedule="constant", noise=0.0, epochs=epochs, batch_documents=0, batch_lists=BATCH_LISTS,
        precision="bf16", patience=epochs, seed=0,
    )  # fmt: skip
    lists = DeviceLists(data, transform, DEVICE, torch.bfloat16)
    torch.cuda.synchronize()
    stamps = [time.perf_counter()]
    state = train(scorer, lists, quality, recipe, Processes(), resumed=None,
                  keep=lambda _: stamps.append(time.perf_counter()))  # fmt: skip
    return np.diff(stamps).tolist(), state


def padded_epochs(data, epochs):
    """The same network over lists padded to one length, cut where longer, by the eager loss."""
    offsets, X, labels = (rows_of(part).to(DEVICE) for part in (data.offsets, data.X, data.y))
    place = torch.arange(CUT, device=DEVICE)
    scorer = MLP(Shape(FEATURES, HIDDEN, "relu", 0.0, False)).to(DEVICE)
    optimizer = torch.optim.AdamW(scorer.parameters(), lr=1e-3)
    taken = []
    for _ in range(epochs):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for lists in torch.randperm(data.n_queries, device=DEVICE).split(BATCH_LISTS):
            there = place < offsets.diff()[lists][:, None]
            rows = torch.where(there, offsets[lists][:, None] + place, 0)
            scores = scorer(X[rows], None).masked_fill(~there, -1e4)
            gradient = eager_lambdas(scores, labels[rows].masked_fill(~there, 0.0)) / len(lists)
            optimizer.zero_grad()
            scores.backward(gradient)
            optimizer.step()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - start)
    return taken


def made(lists, length):
    rng = np.random.default_rng(0)
    labels = rng.choice(5, size=lists * length, p=GRADES).astype(np.float32)
    scores = (labels * 0.5 + rng.normal(size=lists * length)).astype(np.float32)
    offsets = torch.arange(0, lists * length + 1, length, device=DEVICE)
    return torch.from_numpy(scores).to(DEVICE), torch.from_numpy(labels).to(DEVICE), offsets


def of_mslr_shape(lists, seed):
    """Lists of about the lengths of MSLR-WEB30K, with labels that follow from products of features."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.gamma(3.0, LENGTH / 3.0, lists), 2, 1200).astype(np.int64)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    X = rng.random((offsets[-1], FEATURES), dtype=np.float32)
    wanted = (
        X[:, 0] * X[:, 1] + 0.5 * X[:, 2] - X[:, 3] * X[:, 4] + 0.3 * rng.random(len(X), dtype=np.float32)
    )
    edges = np.quantile(wanted[:100_000], np.cumsum(GRADES)[:-1])
    return RankingDataset.from_groups(X, np.searchsorted(edges, wanted).astype(np.float32), lengths)


def timed(work, repeats=11, inner=5):
    """Milliseconds of one call, and the most memory it took beyond what was there, in GiB."""
    work()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    taken = []
    for _ in range(repeats):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(inner):
            work()
        stop.record()
        stop.synchronize()
        taken.append(start.elapsed_time(stop) / inner)
    return statistics.median(taken), (torch.cuda.max_memory_allocated() - before) / 2**30


def captured(work):
    graph = torch.cuda.CUDAGraph()
    work(checked=False)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        work(checked=False)
    return graph.replay


if __name__ == "__main__":
    benchmark(main)
