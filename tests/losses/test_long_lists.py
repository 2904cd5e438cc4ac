"""Lists of 20,000 documents in memory linear in their length, under every loss."""

from pathlib import Path

import numpy as np
import pytest

import rankloop.losses
from rankloop.losses import Loss, loss

N, PEAK = 20_000, Path("/proc/self/clear_refs")
MEMBERS = (getattr(rankloop.losses, name) for name in rankloop.losses.__all__)
KINDS = [one for one in MEMBERS if isinstance(one, type) and issubclass(one, Loss) and one is not Loss]
# Fewer rounds where each goes over all pairs.
QUICK = {"gumbel": "gumbel(samples=1)", "neuralndcg": "neuralndcg(iterations=1)", "pirank": "pirank(k=100)"}


@pytest.mark.skipif(not PEAK.exists(), reason="only Linux tells the peak of the memory of a moment")
@pytest.mark.parametrize("name", [kind.__name__.lower() for kind in KINDS])
def test_twenty_thousand_documents(name):
    one, rng = loss(QUICK.get(name, name)), np.random.default_rng(0)
    labels = rng.integers(0, 5, N).astype(np.float32)
    scores = labels * 0.3 + rng.normal(size=N)
    one(scores[:100], labels[:100], [0, 100])  # compile first
    PEAK.write_text("5")  # the peak starts anew: what kernels take is seen too, unlike by tracemalloc
    before = peak_megabytes()
    result = one(scores, labels, [0, N])
    grown = peak_megabytes() - before
    assert all(np.isfinite(part).all() for part in result)
    assert grown < 40  # two thousand bytes a document; one byte a pair would be 400 MB


def peak_megabytes():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
