"""JSON text from others: whatever is wrong with it is one kind of error."""

import json
from pathlib import Path
from typing import Any

__all__ = ["parse_json", "read_object"]


def parse_json(text: str | bytes) -> Any:
    """The value of a text; deep nesting and numbers of thousands of digits are a `JSONDecodeError` too.

    >>> parse_json('{"a": [1]}')
    {'a': [1]}
    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    json.decoder.JSONDecodeError: nested too deeply: line 1 column 1 (char 0)
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except UnicodeDecodeError as error:
        raise json.JSONDecodeError(f"not text ({error.reason})", "", 0) from None
    except RecursionError:
        raise json.JSONDecodeError("nested too deeply", "", 0) from None
    except ValueError as error:
        raise json.JSONDecodeError(str(error).partition(";")[0], "", 0) from None


def read_object(path: Path, advice: str) -> dict[str, Any]:
    """The object in a file; an error names the file and gives the advice."""
    try:
        found = parse_json(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is damaged or not JSON ({error}); {advice}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path} is damaged: it holds no JSON object; {advice}")
    return found
