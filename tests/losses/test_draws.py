"""Random numbers by counter: Philox as published, spread evenly, and the same for any number of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.losses import XENDCG, Gumbel, ListMLE, PLRank, RankDistil
from rankloop.losses.kernels.draws import draw_key, gumbel_draws, uniform_draws

WORD = 2**32 - 1


def philox(counter, key):
    """The plain twin: ten rounds over Python's integers."""
    (a, b, c, d), (k, m) = counter, key
    for _ in range(10):
        one, two = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (two >> 32) ^ b ^ k, two & WORD, (one >> 32) ^ d ^ m, one & WORD
        k, m = (k + 0x9E3779B9) & WORD, (m + 0xBB67AE85) & WORD
    return a, b, c, d


@pytest.mark.parametrize(
    ("counter", "key", "wanted"),
    [
        ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((WORD,) * 4, (WORD,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_the_twin_gives_the_published_numbers(counter, key, wanted):
    """Known answers of Random123 (Salmon et al., 2011)."""
    assert philox(counter, key) == wanted


@given(seed=st.integers(0, 2**70), sample=st.integers(0, WORD), count=st.integers(1, 40))
def test_draws_are_those_of_the_twin(seed, sample, count):
    key = draw_key(seed)
    words = [philox((row, 0, sample, 0), (key & WORD, key >> 32)) for row in range(count)]
    wanted = np.array([((a << 20 | b >> 12) + 0.5) * 2.0**-52 for a, b, _, _ in words])
    np.testing.assert_array_equal(uniform_draws(seed, count, sample), wanted)
    np.testing.assert_allclose(gumbel_draws(seed, count, sample), -np.log(-np.log(wanted)), rtol=1e-13)


def test_draws_are_even_and_apart():
    seeds = 400
    drawn = np.array([[uniform_draws(seed, 50, sample) for sample in range(2)] for seed in range(seeds)])
    flat = drawn.reshape(seeds, -1)
    assert 0 < drawn.min() < 1e-3
    assert 1 - 1e-3 < drawn.max() < 1
    counts = np.histogram(flat, 20, (0, 1))[0]
    expected = flat.size / 20
    assert ((counts - expected) ** 2 / expected).sum() < 43.8  # chi-square, 19 degrees, 0.999
    between = np.corrcoef(flat.T) - np.eye(flat.shape[1])
    assert np.abs(between).max() < 6 / np.sqrt(seeds)  # rows and samples
    assert abs(np.corrcoef(flat[:-1].ravel(), flat[1:].ravel())[0, 1]) < 4 / np.sqrt(flat.size)
    noise = np.concatenate([gumbel_draws(seed, 500) for seed in range(100)])
    assert abs(noise.mean() - np.euler_gamma) < 4 * np.sqrt(np.pi**2 / 6 / noise.size)


def test_seeds_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="non-negative"):
        uniform_draws(-1, 3)


@pytest.mark.parametrize(
    "kind", [XENDCG, Gumbel, PLRank, RankDistil, lambda seed: ListMLE("random", seed=seed)]
)
def test_a_seed_repeats_and_another_differs(kind):
    rng = np.random.default_rng(0)
    scores, labels, offsets = rng.normal(size=40), rng.integers(0, 3, 40), [0, 25, 40]
    first, again, other = (kind(seed=seed)(scores, labels, offsets).gradient for seed in (4, 4, 5))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3
