"""The paragraph on what `learn` found: its words are those of people who run a search engine."""

import numpy as np
import pytest

from rankloop.unbiased import Learned
from rankloop.unbiased.estimation.library import ALL


def found(**changed):
    given = {"chosen": "a stack", "curve": np.array([1.0, 0.5, 0.4, 0.3, 0.2]), "curve_by": "the caller"}
    missing = {"ranker": None, "held_out": {}, "selection": None, "identifiability": None, "warnings": ()}
    return Learned(**(missing | given | changed))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("the caller", "as was given"),
        ("the likelihood of the clicks", "estimated from the clicks, together with relevance"),
        ("swap_intervention", "measured on results that the log swaps"),
        ("harvest allpairs", "measured on documents that the log shows at several ranks"),
        ("randomized", "measured on pages that the log shuffles"),
    ],
)
def test_where_the_curve_is_from(name, words):
    text = found(curve_by=name).summary
    assert text.startswith(f"The result at rank 5 is looked at 20% as often as the first ({words}).")


def test_what_is_added_up():
    weights = {
        "pairs, half": 0.2,
        f"pairs, half, {ALL}": 0.05,
        "likelihood, full": 0.15,
        "plain leaves, flat": 0.1,
        "plain leaves, two towers": 0.1,
        "linear, again": 0.1,
        "network": 0.2,
        f"network, half, {ALL}": 0.05,
        "slow forests": 0.05,
    }
    text = found(weights=weights).summary
    assert "a sum of trees (65%), networks (25%) and one weight per feature (10%);" in text
    ways = "as the sum estimates it (35%), by half (30%), in full (15%), "
    assert f"position {ways}not at all (10%) and as they estimate it themselves (10%)." in text
    assert "a sum of trees (100%); they remove the effect of the position in full (100%). Of" in (
        found(weights={"likelihood, full": 1.0}).summary
    )


@pytest.mark.parametrize(("power", "how"), [(1.0, "in full"), (0.5, "to the power 0.5")])
def test_one_forest(power, how):
    text = found(chosen="plain leaves", power=power).summary
    assert f"The effect of the position is removed {how}, by the candidate 'plain leaves'." in text
