"""Options that go together: a dataclass, spread over the command line and put together again."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any

__all__ = ["grouped"]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its groups; it gets each group as one object.

    A group is a dataclass whose fields are annotated options. A parameter with that type stands for its
    fields, except those that the command has as options of its own.
    """
    own = inspect.signature(command)
    spread: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for one in own.parameters.values():
        kind = one.annotation
        if not is_dataclass(kind):
            spread.append(one.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        options = [field for field in fields(kind) if field.name not in own.parameters]
        groups[one.name] = kind, [field.name for field in options]
        spread += [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type
            )
            for field in options
        ]

    @wraps(command)
    def called(*arguments: Any, **given: Any) -> None:
        given |= zip((one.name for one in spread), arguments, strict=False)
        made = {
            name: kind(**{part: given.pop(part) for part in parts if part in given})
            for name, (kind, parts) in groups.items()
        }
        command(**given, **made)

    called.__signature__ = own.replace(parameters=spread)  # type: ignore[attr-defined] # not in typeshed
    called.__annotations__ = {one.name: one.annotation for one in spread}
    return called
