"""Loss kernels on the CPU, beside the way the peers compute the same thing.

    python benchmarks/losses.py [--rax-python PATH] [--only lambdaloss lambdarank]

LambdaLoss (NDCG-Loss2), value and gradient for a batch of 64 lists: allRank's manner (padded n × n tensors in
eager PyTorch, written anew below after its definition), Rax (where installed; PATH is an interpreter that
has it), and us. LambdaRank's gradient for 1.2 million rows at truncation 30: LightGBM's own, as what
`Booster.update` takes with its lambdarank objective less the time it takes with fixed gradients (trees of two
leaves on one feature, so that the tree is almost free), and us, in turns in one process: medians, as the best
of several favours what is short on a loaded machine. Ours is measured whole, and as boosting calls it: both
libraries then took what labels decide before the first round, and give single precision. Rows of LambdaLoss
are processes of their own with one thread and the best of several; memory is the growth of the process over
its start. Times are CPU times.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

from results import benchmark, record

BATCH, LENGTHS, SEED = 64, (240, 1000), 0
QUERIES, DOCUMENTS, TRUNCATION, ROUNDS = 10_000, 120, 30, 7
GRADES = (0.52, 0.32, 0.13, 0.02, 0.01)  # about as in MSLR-WEB30K
OURS = ("rankloop", "prepared")
BARS = {("allrank", 240): 30, ("allrank", 1000): 100, ("rax", 240): 5, ("rax", 1000): 5}


def made(lists, length):
    rng = np.random.default_rng(SEED)
    labels = rng.choice(5, size=lists * length, p=GRADES).astype(np.float32)
    return labels * 0.5 + rng.normal(size=lists * length), labels, np.arange(0, lists * length + 1, length)


def best(work, repeats):
    work()
    start_memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken), start_memory


def ours(length):
    from rankloop.losses import LambdaLoss

    scores, labels, offsets = made(BATCH, length)
    LambdaLoss()(scores[:10], labels[:10], [0, 10])
    return lambda: LambdaLoss()(scores, labels, offsets)


def allrank(length):
    import torch

    torch.set_num_threads(1)
    scores, labels, _ = made(BATCH, length)
    y = torch.tensor(labels).reshape(BATCH, length)
    s = torch.tensor(scores, dtype=torch.float32).reshape(BATCH, length).requires_grad_()

    def work():
        ranked, order = s.sort(descending=True, dim=-1)
        truth = torch.gather(y, 1, order)
        best_first = y.sort(descending=True, dim=-1)[0]
        true_gaps = truth[:, :, None] - truth[:, None, :]
        wanted = torch.isfinite(true_gaps) & (true_gaps > 0)
        position = torch.arange(1, length + 1)
        discount = torch.log2(1.0 + position.float())[None, :]
        ideal = ((2**best_first - 1) / discount).sum(-1).clamp(min=1e-10)
        gain = (2**truth - 1) / ideal[:, None]
        apart = (position[:, None] - position[None, :]).abs()
        drop = (1 / torch.log2(1.0 + apart.clamp(min=1)) - 1 / torch.log2(2.0 + apart)).abs()
        drop.fill_diagonal_(0)
        weight = drop[None] * (gain[:, :, None] - gain[:, None, :]).abs()
        gaps = (ranked[:, :, None] - ranked[:, None, :]).clamp(min=-1e8, max=1e8)
        gaps = torch.where(torch.isnan(gaps), torch.zeros_like(gaps), gaps)
        chance = (torch.sigmoid(gaps).clamp(min=1e-10) ** weight).clamp(min=1e-10)
        value = -torch.sum(torch.log2(chance)[wanted])
        s.grad = None
        value.backward()

    return work


RAX = """
import json, resource, sys, time
import numpy as np, jax, jax.numpy as jnp, rax
batch, length = int(sys.argv[1]), int(sys.argv[2])
data = np.load(sys.argv[3])
s, y = (jnp.asarray(data[k].reshape(batch, length), jnp.float32) for k in ("scores", "labels"))
def value(s):
    return jnp.sum(jax.vmap(lambda a, b: rax.pairwise_logistic_loss(
        a, b, lambdaweight_fn=rax.dcg2_lambdaweight, reduce_fn=jnp.sum))(s, y))
work = jax.jit(jax.value_and_grad(value))
def once():
    start = time.process_time()
    jax.block_until_ready(work(s))
    return time.process_time() - start
once()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
taken = min(once() for _ in range(10))
print(json.dumps({"seconds": taken, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def gradients():
    """Median CPU seconds of LambdaRank's gradient: LightGBM's and ours."""
    import lightgbm as lgb

    from rankloop.losses import LambdaRank

    scores, labels, offsets = made(QUERIES, DOCUMENTS)
    X = np.random.default_rng(1).normal(size=(len(scores), 1)).astype(np.float32)
    fixed = (
        np.where(np.arange(len(scores)) % 2, 1.0, -1.0).astype(np.float32),
        np.ones(len(scores), np.float32),
    )
    one = LambdaRank(truncation=TRUNCATION)
    prepared = one.prepare(labels, offsets)
    work = {
        "rankloop": lambda: one.derivatives(scores, labels, offsets),
        "prepared": lambda: prepared(scores),
    }
    for objective in ("lambdarank", "none"):
        parameters = {
            "objective": objective, "num_leaves": 2, "max_bin": 3, "num_threads": 1, "verbose": -1,
            "learning_rate": 1e-9, "metric": "none", "lambdarank_truncation_level": TRUNCATION,
        }  # fmt: skip
        data = lgb.Dataset(X, labels, group=np.diff(offsets), init_score=scores, params=parameters)
        booster = lgb.Booster(parameters, data)
        objective_call = None if objective == "lambdarank" else (lambda scores, data: fixed)
        work[objective] = lambda b=booster, f=objective_call: b.update(fobj=f)
    rounds = [{name: best(once, 1)[0] for name, once in work.items()} for _ in range(ROUNDS)]
    median = {name: statistics.median(one[name] for one in rounds) for name in work}
    return {"lightgbm": median["lambdarank"] - median["none"], **{who: median[who] for who in OURS}}


def measure(who, length):
    if who == "gradients":
        return gradients()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work = {"allrank": allrank, "rankloop": ours}[who](length)
    loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    slow = who == "allrank" and length > 240  # seconds a call
    seconds, _ = best(work, 3 if slow else 30)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": seconds, "peak_mb": (peak - max(loaded, before)) / 1024}


def child(who, length, rax_python):
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    command = [sys.executable, __file__, "--one", who, str(length)]
    if who == "rax":
        path = f"/tmp/rankloop-losses-{os.getpid()}.npz"
        scores, labels, _ = made(BATCH, length)
        np.savez(path, scores=scores, labels=labels)
        command = [rax_python, "-c", RAX, str(BATCH), str(length), path]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if who == "rax":
        os.unlink(path)
    if done.returncode:
        if who == "rax" and "No module named" in done.stderr:
            return None
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rax-python", default=sys.executable)
    options.add_argument("--only", nargs="+", default=["lambdaloss", "lambdarank"])
    options.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.one:
        print(json.dumps(measure(given.one[0], int(given.one[1]))))
        return
    if "lambdaloss" in given.only:
        lambdaloss(given.rax_python)
    if "lambdarank" in given.only:
        lambdarank(given.rax_python)


def lambdaloss(rax_python):
    print(f"LambdaLoss, value and gradient, {BATCH} lists; CPU milliseconds, memory in MB")
    print(f"{'':<12}{'length':>8}{'time':>10}{'memory':>9}{'ours is':>12}{'bar':>8}")
    for length in LENGTHS:
        found = {who: child(who, length, rax_python) for who in ("allrank", "rax", "rankloop")}
        for who, row in found.items():
            if row is None:
                print(f"{who:<12}{length:>8}   not installed")
                continue
            ratio = row["seconds"] / found["rankloop"]["seconds"]
            bar = f">= {BARS[who, length]}" if (who, length) in BARS else ""
            memory = "" if who == "rax" else f"{row['peak_mb']:.0f}"
            record(
                "lambdaloss",
                who=who,
                length=length,
                ms=row["seconds"] * 1e3,
                mb=row["peak_mb"] if memory else None,
                times=ratio,
            )
            print(f"{who:<12}{length:>8}{row['seconds'] * 1e3:>10.2f}{memory:>9}{ratio:>11.1f}×{bar:>8}")


def lambdarank(rax_python):
    found = child("gradients", 0, rax_python)
    peer, *us = (found[who] * 1e3 for who in ("lightgbm", *OURS))
    print(f"\nLambdaRank's gradient, {QUERIES * DOCUMENTS:,} rows, truncation {TRUNCATION}; CPU milliseconds")
    for who, ms in zip(OURS, us, strict=True):
        record("lambdarank", who=who, lightgbm=peer, rankloop=ms, times=peer / ms)
        print(f"LightGBM {peer:.1f}, {who} {ms:.1f}: {peer / ms:.1f}× (bar >= 12)")


if __name__ == "__main__":
    benchmark(main)
