"""What is said of models that could not be fitted."""

from collections.abc import Sequence

__all__ = ["told"]


def told(failures: Sequence[tuple[str, str]], most: int = 5) -> list[str]:
    """A sentence for each cause, whatever the number of models that it kept from being fitted."""
    causes: dict[str, list[str]] = {}
    for model, cause in failures:
        if model not in causes.setdefault(cause, []):
            causes[cause].append(model)
    lines = [f"{_such_as(models)} could not be fitted: {cause}" for cause, models in causes.items()]
    return lines if len(lines) <= most else [*lines[:most], f"{len(lines) - most} more causes are left out"]


def _such_as(models: Sequence[str]) -> str:
    return models[0] if len(models) == 1 else f"{len(models)} models, such as {models[0]},"
