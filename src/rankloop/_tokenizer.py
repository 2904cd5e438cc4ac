"""A tokenizer.json of others: whatever is wrong with it is one kind of error."""

from typing import Any

from rankloop._extras import require

__all__ = ["read_tokenizer"]


def read_tokenizer(written: str) -> Any:
    """The tokenizer that a text describes, without padding and truncation; else a `ValueError`.

    >>> read_tokenizer("{}")
    Traceback (most recent call last):
    ValueError: tokenizer.json cannot be read (Model missing...); copy it again
    """
    made = require("tokenizers", "text").Tokenizer
    try:
        tokenizer = made.from_str(written)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode("a")  # its template may name tokens that are not there
        tokenizer.encode("a", "a")
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # its errors have no class of their own, and its panics are no Exception
        raise ValueError(f"tokenizer.json cannot be read ({error}); copy it again") from None
    return tokenizer
