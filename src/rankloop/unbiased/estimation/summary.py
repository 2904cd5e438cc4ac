"""What `learn` found, in the words of a search engineer."""

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rankloop.unbiased.learned import Learned

__all__ = ["summary"]

CLOSE, FAR = 0.5, 0.1  # agreement with the order shown
SOURCES = {  # how a curve was found, by the start of its name
    "the caller": "as was given",
    "the likelihood of the clicks": "estimated from the clicks, together with relevance",
    "swap_intervention": "measured on results that the log swaps",
    "fair_pairs": "measured on pairs that the log swaps",
    "randomized": "measured on pages that the log shuffles",
    "harvest": "measured on documents that the log shows at several ranks",
}
KINDS = {
    "network": "networks",
    "linear": "one weight per feature",
}  # by the start of a name; others are trees
CORRECTED = {  # how much of the effect of the position is removed, by what is in the name of a correction
    "flat": "not at all",
    "half": "by half",
    "full": "in full",
    "two towers": "as they estimate it themselves",
}
AGAIN = "as the sum estimates it"


def summary(found: "Learned") -> str:
    """One paragraph: who reads how, which correction, why, and how sure."""
    return " ".join([_reading(found), *_opposed(found), _correction(found), *_order(found), _sure(found)])


def _reading(found: "Learned") -> str:
    if "DBN" in found.curve_by:
        return "People read from the top and stop once they are satisfied."
    if len(found.curve) == 1:
        return "Every page shows one result, so there is no effect of the position to correct."
    at = min(5, len(found.curve))
    ratio = found.curve[at - 1] / found.curve[0]
    by = next((words for name, words in SOURCES.items() if found.curve_by.startswith(name)), found.curve_by)
    text = f"The result at rank {at} is looked at {ratio:.0%} as often as the first ({by})."
    if found.trust is not None and found.trust[0] > 0:
        text += f" People trust the engine: at rank 1 they click {found.trust[0]:.0%} of the rest too."
    return text


def _opposed(found: "Learned") -> list[str]:
    if found.opposed == 0:
        return []
    return [f"The clicks on {found.opposed:.0%} of the pages go against those on the others."]


def _correction(found: "Learned") -> str:
    if not found.weights:
        how = "in full" if found.power == 1 else f"to the power {found.power:g}"
        return f"The effect of the position is removed {how}, by the candidate {found.chosen!r}."
    kinds: dict[str, float] = defaultdict(float)
    ways: dict[str, float] = defaultdict(float)
    for name, share in found.weights.items():
        kinds[next((words for start, words in KINDS.items() if name.startswith(start)), "trees")] += share
        ways[next((words for part, words in CORRECTED.items() if part in name), AGAIN)] += share
    return (
        f"The ranker is a sum of {_shares(kinds)}; they remove the effect of the position {_shares(ways)}. "
        "Of all sums, this one best predicts the clicks on queries that its parts were not trained on."
    )


def _shares(by_name: dict[str, float]) -> str:
    """The names with their shares, the largest first."""
    named = [f"{name} ({share:.0%})" for name, share in sorted(by_name.items(), key=lambda one: -one[1])]
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)


def _order(found: "Learned") -> list[str]:
    if found.agreement is None:
        return []
    if found.agreement > CLOSE:
        return [f"It mostly keeps the order shown (correlation {found.agreement:.2f})."]
    much = "has little to do with" if abs(found.agreement) < FAR else "differs much from"
    return [f"Its order {much} the one shown (correlation {found.agreement:.2f})."]


def _sure(found: "Learned") -> str:
    if found.selection is None:
        return "No queries were held out, so there is no estimate of its value."
    new, shown = (found.selection.estimates[name].value for name in ("new", "shown"))
    other = "shown" if found.selection.best == "new" else "new"
    low, high = sorted(np.abs(found.selection.behind[other][1:]))
    clear = found.selection.behind[other][2] < 0
    interval = f", by {low:.3f} to {high:.3f}" if clear else ", which may be chance"
    better = "above" if new >= shown else "below"
    return (
        f"On held-out queries its dcg@10 is estimated at {new:.3f}, {better} the {shown:.3f} of the order "
        f"shown{interval}."
    )
