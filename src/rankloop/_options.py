"""Keyword parameters that functions pass on: declared once, and shown in full by `help`."""

from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar, cast, get_args

__all__ = ["passes_to"]

F = TypeVar("F", bound=Callable[..., Any])


def passes_to(*targets: Callable[..., Any]) -> Callable[[F], F]:
    """For a function with `**options: Unpack[Options]` that hands them to a target.

    Type checkers read the names and types from the TypedDict `Options`. `help` and `inspect.signature` show
    them as parameters, with the defaults of the targets. Another keyword is refused as Python does it.

    >>> from typing import TypedDict, Unpack
    >>> class Size(TypedDict, total=False):
    ...     width: int
    >>> def draw(*, width: int = 3, height: int = 2): ...
    >>> @passes_to(draw)
    ... def square(name: str, **size: Unpack[Size]): ...
    >>> from inspect import signature
    >>> print(signature(square))
    (name: str, *, width: int = 3)
    >>> square("a", widht=1)
    Traceback (most recent call last):
    TypeError: square() got an unexpected keyword argument 'widht'; did you mean 'width'?
    """

    def shown(function: F) -> F:
        own = signature(function)
        taken = {name: one for target in targets for name, one in signature(target).parameters.items()}
        made: list[Parameter] = []
        for one in own.parameters.values():
            if one.kind is Parameter.VAR_KEYWORD:
                (options,) = get_args(one.annotation)
                made += [taken[name].replace(kind=Parameter.KEYWORD_ONLY) for name in options.__annotations__]
            else:
                made.append(one)
        names = {one.name for one in made}
        if names == set(own.parameters):
            return function

        @wraps(function)
        def called(*arguments: Any, **given: Any) -> Any:
            for name in given:
                if name not in names:
                    near = get_close_matches(name, names, n=1)
                    hint = f"; did you mean {near[0]!r}?" if near else ""
                    raise TypeError(
                        f"{function.__qualname__}() got an unexpected keyword argument {name!r}{hint}"
                    )
            return function(*arguments, **given)

        called.__signature__ = own.replace(parameters=made)  # type: ignore[attr-defined] # not in typeshed
        return cast(F, called)

    return shown
