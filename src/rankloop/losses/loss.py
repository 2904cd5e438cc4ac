"""From names to losses, and from a loss to the one that fits the data or the round."""

import re
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._names import unknown
from rankloop.losses.kernels.contract import Loss

__all__ = ["loss", "redraw", "settle"]


def loss(name: str | Loss) -> Loss:
    """The loss of a name, with options in brackets; a loss passes through.

    >>> loss("lambdarank(metric=map, truncation=10)")
    LambdaRank(metric='map', truncation=10, sigma=1.0, gain='exp2', max_label=None, relevant=1.0,
        norm_gap=False, norm_list=False)
    >>> loss("lambdrank")
    Traceback (most recent call last):
        ...
    ValueError: unknown loss 'lambdrank'; did you mean 'lambdarank'? known: ...
    """
    if isinstance(name, Loss):
        return name
    match = re.fullmatch(r"\s*([\w+-]+)\s*(?:\((.*)\))?\s*", str(name), re.DOTALL)
    known = _known()
    plain = match[1].lower().replace("_", "").replace("-", "") if match else str(name)
    if match is None or plain not in known:
        raise unknown("loss", name if match is None else match[1], known)
    kind = known[plain]
    options: dict[str, Any] = {}
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # every loss is a dataclass
    for part in _parts(match[2] or ""):
        key, equals, text = part.partition("=")
        if key.strip() not in names or not equals:
            raise unknown(f"option of {plain}", key.strip(), names)
        options[key.strip()] = _value(text.strip())
    return kind(**options)


def redraw(given: Loss, step: int) -> Loss:
    """The same loss with the random draws of another round; losses without draws pass through.

    >>> redraw(loss("xendcg"), 7) == redraw(loss("xendcg"), 8)
    False
    """
    if not hasattr(given, "seed"):
        return given
    seed = int(np.random.SeedSequence([given.seed, step]).generate_state(1)[0])
    return replace(given, seed=seed)  # type: ignore[type-var]  # every loss is a dataclass


def settle(given: Loss, labels: ArrayLike) -> Loss:
    """The same loss with the highest grade of all data, for one that would ask each batch anew.

    >>> settle(loss("sigmoidcrossentropy"), [0, 4, 1]).name
    'sigmoidcrossentropy(max_label=4.0)'
    """
    if getattr(given, "max_label", 0.0) is not None:
        return given
    highest = max(float(np.max(labels, initial=0.0)), 1.0)
    return replace(given, max_label=highest)  # type: ignore[type-var]  # every loss is a dataclass


def _known() -> dict[str, type[Loss]]:
    import rankloop.losses as family

    members = (getattr(family, name) for name in family.__all__)
    return {
        member.__name__.lower(): member
        for member in members
        if isinstance(member, type) and issubclass(member, Loss) and member is not Loss
    }


def _parts(text: str) -> list[str]:
    """Split at the commas outside brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part for part in [*parts, text[start:]] if part.strip()]


def _value(text: str) -> Any:
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if "/" in text:
        return tuple(float(part) for part in text.split("/"))
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip("'\"")
