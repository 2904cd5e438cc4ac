"""Lists of 50,000 documents in seconds and in memory linear in their length, under every loss."""

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from members import LOSSES as KINDS
from rankloop import losses
from rankloop.losses import loss
from rankloop.losses.kernels.smooth_sums import smooth_sums

N, PEAK = 50_000, Path("/proc/self/clear_refs")
LEAST = {  # what a list of this length needs
    "neuralndcg": "neuralndcg(truncation=1000)",
    "pirank": "pirank(k=10000)",
}
SECONDS = 5.0  # of CPU time


@pytest.mark.skipif(not PEAK.exists(), reason="only Linux tells the peak of the memory of a moment")
@pytest.mark.parametrize("spread", [1.0, 0.0])  # 0: as at the start of training
@pytest.mark.parametrize("name", [kind.__name__.lower() for kind in KINDS])
def test_fifty_thousand_documents(name, spread):
    one, rng = loss(LEAST.get(name, name)), np.random.default_rng(0)
    labels = rng.integers(0, 5, N).astype(np.float32)
    scores = spread * (labels * 0.3 + rng.normal(size=N))
    one(scores[:100], labels[:100], [0, 100])  # compile first
    PEAK.write_text("5")  # the peak starts anew: what kernels take is seen too, unlike by tracemalloc
    before = peak_megabytes()
    start = time.process_time()
    result = one(scores, labels, [0, N])
    assert time.process_time() - start < 2 * SECONDS  # twice: this machine may be slower
    grown = peak_megabytes() - before
    assert all(np.isfinite(part).all() for part in result)
    assert grown < 100  # two thousand bytes a document; one byte a pair would be 2.5 GB


UNLIKE = np.random.default_rng(3).permutation(N) * (4.0 / N)  # labels that are all different
SHAPES = {
    "equal scores": (np.zeros(N), UNLIKE),
    "the worst order": (-UNLIKE, UNLIKE),
    "alternating extremes": (np.where(np.arange(N) % 2, 1e4, -1e4), UNLIKE),
    "extremes of two labels": (np.where(np.arange(N) % 2, 1e4, -1e4), (np.arange(N) % 2 == 0) * 4.0),
    "one of them at the end": (np.arange(N, 0, -1.0), np.arange(N) == N - 1.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [kind.__name__.lower() for kind in KINDS])
def test_fifty_thousand_documents_at_their_worst(name, shape):
    one, (scores, labels) = loss(LEAST.get(name, name)), SHAPES[shape]
    one(scores[-100:], labels[-100:], [0, 100])  # compile first
    start = time.process_time()
    result = one(scores, labels, [0, N])
    assert time.process_time() - start < 2 * SECONDS
    assert all(np.isfinite(part).all() for part in result)


def test_every_loss_is_here():
    found = {name for name in losses.__all__ if isinstance(getattr(losses, name), type)}
    assert {kind.__name__ for kind in KINDS} == found - {"Loss", "LossResult"}


def test_a_list_that_is_too_long_names_the_parameter_that_truncates():
    with pytest.raises(ValueError, match=r"a list has 5,000; pass truncation=1000"):
        loss("neuralndcg")(np.arange(5000.0), np.arange(5000) % 3, [0, 5000])
    with pytest.raises(ValueError, match=r"a list has 50,000 documents; pass k=100 \(at most 10,000\)"):
        loss("pirank")(np.zeros(N), np.arange(N) % 3, [0, N])


def test_truncation_keeps_the_highest_gains_and_scores():
    """Ten documents of which four stay: the two of the highest gain, and the two that score highest."""
    scores, labels = np.arange(10.0)[::-1], np.array([0, 0, 0, 0, 0, 0, 3, 1, 2, 0])
    cut = loss("neuralndcg(truncation=4)")(scores, labels, [0, 10])
    kept = [0, 1, 6, 8]
    assert np.flatnonzero(cut.gradient).tolist() == kept
    alone = loss("neuralndcg")(scores[kept], labels[kept], [0, 4])
    ideal = 7 + 3 / np.log2(3) + 1 / 2  # of the whole list
    gained = (1 - alone.value[0]) * (7 + 3 / np.log2(3))
    np.testing.assert_allclose(cut.value[0], 1 - gained / ideal, atol=1e-6)
    whole = loss("neuralndcg(truncation=10)")(scores, labels, [0, 10])
    np.testing.assert_array_equal(whole.gradient, loss("neuralndcg")(scores, labels, [0, 10]).gradient)


@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e3, 1e300])
@pytest.mark.parametrize("steep", [False, True])
def test_sums_over_a_long_list_are_the_direct_ones(spread, steep):
    rng = np.random.default_rng(1)
    n = 800
    scores = spread * np.concatenate([rng.normal(size=n // 2), np.round(rng.normal(size=n // 2), 1)])
    columns = np.stack([np.ones(n), rng.normal(size=n)], axis=1)
    with np.errstate(over="ignore"):
        gap = np.clip((scores[None, :] - scores[:, None]) * 10.0, -700, 700)
    small = np.exp(-np.abs(gap))
    direct = small / (1 + small) ** 2 if steep else np.where(gap > 0, 1, small) / (1 + small)
    np.testing.assert_allclose(
        smooth_sums(scores, 10.0, columns, steep=steep), direct @ columns, rtol=0, atol=1e-11 * n
    )


@given(
    scores=st.lists(st.floats(-50, 50), min_size=1, max_size=120),
    copies=st.integers(1, 40),
    slope=st.sampled_from([0.1, 1.0, 10.0]),
)
@settings(max_examples=50, deadline=None)
def test_sums_hold_for_any_scores(scores, copies, slope):
    place = np.repeat(np.array(scores), copies)
    columns = np.cos(np.arange(len(place)))[:, None]
    gap = np.clip((place[None, :] - place[:, None]) * slope, -700, 700)
    direct = (1 / (1 + np.exp(-gap))) @ columns
    np.testing.assert_allclose(smooth_sums(place, slope, columns, steep=False), direct, atol=1e-9)


@pytest.mark.parametrize("name", ["approxndcg", "approxap", "approxmrr"])
def test_a_long_list_has_the_loss_of_the_direct_sums(name, monkeypatch):
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 3, 3200)
    scores, offsets = labels * 0.3 + rng.normal(size=3200), [0, 100, 3200]
    found = loss(name)(scores, labels, offsets)
    direct = loss(name)(scores[100:], labels[100:], [0, 3100])
    np.testing.assert_allclose(found.gradient[100:], direct.gradient, atol=1e-15)
    step, at = 1e-4, 100 + int(np.argmax(np.abs(found.gradient[100:])))
    up, down = scores.copy(), scores.copy()
    up[at] += step
    down[at] -= step
    slope = (loss(name)(up, labels, offsets).value[1] - loss(name)(down, labels, offsets).value[1]) / step / 2
    np.testing.assert_allclose(found.gradient[at], slope, rtol=1e-4)
    assert (found.hessian >= np.abs(found.gradient) * (1 - 1e-6) - 1e-18).all()


def peak_megabytes():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
