"""Keyword parameters that functions pass on: declared once, and shown in full by `help`."""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, TypeVar, get_args

__all__ = ["passes_to"]

F = TypeVar("F", bound=Callable[..., Any])


def passes_to(target: Callable[..., Any]) -> Callable[[F], F]:
    """For a function with `**options: Unpack[Options]` that hands them to `target`.

    Type checkers read the names and types from the TypedDict `Options`. `help` and `inspect.signature` show
    them as parameters, with the defaults of `target`.

    >>> from typing import TypedDict, Unpack
    >>> class Size(TypedDict, total=False):
    ...     width: int
    >>> def draw(*, width: int = 3, height: int = 2): ...
    >>> @passes_to(draw)
    ... def square(name: str, **size: Unpack[Size]): ...
    >>> from inspect import signature
    >>> print(signature(square))
    (name: str, *, width: int = 3)
    """

    def shown(function: F) -> F:
        own, taken = signature(function), signature(target).parameters
        made: list[Parameter] = []
        for one in own.parameters.values():
            if one.kind is Parameter.VAR_KEYWORD:
                (options,) = get_args(one.annotation)
                made += [taken[name].replace(kind=Parameter.KEYWORD_ONLY) for name in options.__annotations__]
            else:
                made.append(one)
        function.__signature__ = own.replace(parameters=made)  # type: ignore[attr-defined]
        return function

    return shown
