"""Ticks and ranges read well, whatever the numbers are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.report.drawing.scale import Scale, number_text, span, tick_texts, ticks

NUMBERS = st.floats(-1e9, 1e9, allow_nan=False, allow_subnormal=False)


@given(NUMBERS, st.floats(1e-6, 1e9), st.integers(2, 10))
def test_ticks_are_few_even_and_inside(low, wide, about):
    high = low + wide
    if high - low < 1e-9 * max(abs(low), abs(high)):
        return
    found = ticks(low, high, about)
    assert len(found) <= about + 1
    assert all(low - 1e-6 * wide <= one <= high + 1e-6 * wide for one in found)
    if len(found) > 2 and wide > 1e-6 * abs(low):
        np.testing.assert_allclose(np.diff(found), found[1] - found[0], rtol=1e-4)


@given(
    st.lists(st.floats(-1e6, 1e6, allow_subnormal=False) | st.just(float("nan")), max_size=8), st.booleans()
)
def test_a_span_holds_every_number(values, from_zero):
    low, high = span([values], within=(0.0,) if from_zero else ())
    assert low < high
    kept = [one for one in values if one == one]
    assert all(low <= one <= high for one in kept)
    if from_zero and kept and min(kept) >= 0:
        assert low == 0.0


def test_logarithmic_ticks_by_hand():
    scale = Scale(0.1, 10.0, 0.0, 100.0, log=True)
    assert scale.ticks() == [0.1, 1.0, 10.0]
    assert scale(1.0) == pytest.approx(50.0)
    assert Scale(0.2, 0.9, 0, 1, log=True).ticks() == [0.2, 0.5]
    assert span([[0.0, 0.1, 1.0]], log=True) == pytest.approx((0.1 / 1.15, 1.15))


def test_texts_by_hand():
    assert tick_texts([0.1, 0.2, 0.3]) == ["0.1", "0.2", "0.3"]
    assert tick_texts([0, 1000, 2000]) == ["0", "1,000", "2,000"]
    assert tick_texts([1e-7, 2e-7]) == ["1e-07", "2e-07"]
    assert tick_texts([1.5e9, 2e9]) == ["1.5G", "2G"]
    assert tick_texts([]) == []
    assert [number_text(one) for one in (0.0, 12.3456, 1e-5, float("inf"), -4567.8)] == [
        "0", "12.35", "1e-05", "∞", "-4,568",
    ]  # fmt: skip
