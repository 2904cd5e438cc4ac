"""One discount and one gain for every execution target: numpy, numba, torch and Triton agree."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest

from rankloop._jit import kernel
from rankloop.lists import Gain, discount, gains, list_discounts
from rankloop.lists.kernels.gain_of import gain_of

torch = pytest.importorskip("torch")

from rankloop.lists.tensors.discount import discount as torch_discount  # noqa: E402
from rankloop.lists.tensors.discount_of import discount_of  # noqa: E402
from rankloop.lists.tensors.gains import gains as torch_gains  # noqa: E402
from rankloop.lists.tensors.jit import jit, runs_on, tl  # noqa: E402

RANKS = np.array([1.0, 2.0, 3.0, 7.0, 10.0, 1000.0, 1e6, 1.5, 2.25])
LABELS = np.array([0, 1, 2, 3, 4, 2, 0], np.float32)
OPTIONS = ["exp2", "linear", (0.0, 1.0, 2.0, 5.0, 9.0)]
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@kernel
def many_gains(labels, kind, table, out):
    for i in range(len(labels)):
        out[i] = gain_of(labels[i], kind, table)


@jit
def many_discounts(ranks, out, n, WIDTH: tl.constexpr):
    i = tl.arange(0, WIDTH)
    tl.store(out + i, discount_of(tl.load(ranks + i, mask=i < n, other=1.0)), mask=i < n)


def test_worked_discounts():
    np.testing.assert_allclose(discount([1, 2, 3, 7]), [1, 1 / np.log2(3), 1 / 2, 1 / 3])
    np.testing.assert_allclose(list_discounts(np.array([0, 2, 2, 5])), discount([1, 2, 1, 2, 3]), rtol=0)
    assert len(list_discounts(np.array([0, 0]))) == 0


def test_torch_discounts_are_those_of_numpy():
    made = torch_discount(torch.tensor(RANKS)).numpy()
    np.testing.assert_allclose(made, discount(RANKS), rtol=1e-15)


@pytest.mark.skipif(not runs_on(DEVICE), reason="no CUDA, and no Triton with TRITON_INTERPRET=1")
def test_triton_discounts_are_those_of_numpy():
    ranks = torch.tensor(RANKS, dtype=torch.float32, device=DEVICE)
    made = torch.empty_like(ranks)
    many_discounts[(1,)](ranks, made, len(ranks), WIDTH=16)
    np.testing.assert_allclose(made.cpu().numpy(), discount(RANKS), rtol=1e-6)


def test_the_formula_of_the_triton_discount_is_that_of_numpy(monkeypatch):
    """Without Triton too: the same lines of code, run with numpy for its language."""
    body = getattr(discount_of, "fn", discount_of)
    monkeypatch.setitem(body.__globals__, "tl", np)
    np.testing.assert_allclose(body(RANKS.astype(np.float32)), discount(RANKS), rtol=1e-6)


@pytest.mark.parametrize("option", OPTIONS)
def test_gains_agree(option):
    expected = gains(LABELS, option)
    kind, table = Gain.of(option, LABELS)
    compiled = np.empty(len(LABELS))
    many_gains(LABELS, kind, table, compiled)
    np.testing.assert_array_equal(compiled, expected)
    np.testing.assert_allclose(
        torch_gains(torch.tensor(LABELS).double(), option).numpy(), expected, rtol=1e-15
    )


def test_worked_gains():
    assert gains(LABELS, "exp2").tolist() == [0, 1, 3, 7, 15, 3, 0]
    assert gains(LABELS, "linear").tolist() == LABELS.tolist()
    assert gains(LABELS, OPTIONS[2]).tolist() == [0, 1, 2, 5, 9, 2, 0]
    assert Gain.binary(2)(LABELS).tolist() == [0, 0, 1, 1, 1, 1, 0]
    half = np.array([0.5], np.float32)
    out = np.empty(1)
    many_gains(half, *Gain.of("exp2", half), out)
    assert out[0] == pytest.approx(np.sqrt(2) - 1)
    assert gains(half, "exp2")[0] == pytest.approx(np.sqrt(2) - 1)


@pytest.mark.parametrize(
    ("option", "labels", "message"),
    [
        ("exp3", [1], "unknown gain 'exp3'; did you mean 'exp2'"),
        ("exp2", [501], "2^label overflows for label 501"),
        ((0.0, 1.0), [2], "takes the labels 0 to 1, got label 2"),
        ((0.0, 1.0), [0.5], "got label 0.5"),
        ((0.0, -1.0), [0], "one finite number >= 0"),
        ((), [0], "one finite number >= 0"),
    ],
)
def test_gains_that_do_not_fit_are_refused(option, labels, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        gains(np.array(labels, np.float32), option)


def test_the_interpreter_is_asked_for_by_its_variable():
    assert runs_on(torch.device("cpu")) == (os.environ.get("TRITON_INTERPRET") == "1" and tl is not None)
