"""Settings that were good elsewhere, from which a search for better ones starts."""

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["known_settings"]

# By the class of the ranker; chosen on sets of several makers, none of which is in a published table.
_KNOWN: dict[str, list[dict[str, Any]]] = {
    "LambdaMART": [
        {"leaves": 4, "learning_rate": 0.3, "feature_fraction": 0.75, "l2": 0.3, "bagging_fraction": 0.8},
        {"leaves": 8, "learning_rate": 0.15, "feature_fraction": 1.0, "l2": 10.0, "bagging_fraction": 0.8},
    ],
    "LinearRanker": [{"loss": "softmax", "l2": 1e-3}, {"loss": "ranknet", "l2": 1e-2}],
    "RankSVM": [{"C": 0.1}, {"C": 0.01}],
    "NeuralRanker": [{"learning_rate": 1e-3, "dropout": 0.1}, {"learning_rate": 3e-3, "dropout": 0.3}],
}


def known_settings(
    kinds: tuple[type, ...], own: Mapping[str, Any], space: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Values for every name in `space` that lie in it: those of the ranker, then settings known to be good.

    `kinds` are the class of the ranker and its bases, `own` its parameters; `space` holds lists of choices
    and tables with `low`, `high` and perhaps `step`. A name whose value is not in its list is left out.
    """
    known = next((_KNOWN[kind.__name__] for kind in kinds if kind.__name__ in _KNOWN), [])
    given: list[dict[str, Any]] = []
    for setting in ({}, *known):
        found = {}
        for name, range_ in space.items():
            value = _within(setting.get(name, own.get(name)), range_)
            if value is not None:
                found[name] = value
        if found and found not in given:
            given.append(found)
            yield found


def _within(value: Any, range_: Any) -> Any:
    """The value, moved into the range; of choices its number; None where the range has no such value."""
    if isinstance(range_, list):
        same = [at for at, choice in enumerate(range_) if type(choice) is type(value) and choice == value]
        return same[0] if same else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    low, high, step = range_["low"], range_["high"], range_.get("step")
    value = min(max(value, low), high)
    if isinstance(low, int) and isinstance(high, int):
        value = round(value)
    if step is not None:
        value = min(low + round((value - low) / step) * step, low + int((high - low) / step + 1e-9) * step)
    return value
