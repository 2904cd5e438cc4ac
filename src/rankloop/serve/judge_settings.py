"""The settings of a judge by language model."""

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

__all__ = ["KEY_VARIABLE", "JudgeSettings"]

KEY_VARIABLE = "RANKLOOP_JUDGE_KEY"


@dataclass(frozen=True)
class JudgeSettings:
    """A language model behind an OpenAI-style address, and how much it may be asked.

    `address` is the part before `/chat/completions`, as in `http://localhost:8000/v1`. `calls` and `tokens`
    are those of a day; 0 tokens is no limit. The key is in the environment variable RANKLOOP_JUDGE_KEY.

    >>> JudgeSettings("http://localhost:8000/v1", "small").is_set
    True
    """

    address: str = ""
    model: str = ""
    calls: int = 500
    tokens: int = 0
    seconds: float = 30.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        if self.address and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise ValueError(f"judge.address is like http://localhost:8000/v1, got {self.address!r}")
        if bool(self.address) != bool(self.model) or len(self.model) > 100:
            raise ValueError("a judge has an address and the name of its model, of at most 100 characters")
        if not 1 <= self.calls <= 1e6 or not 0 <= self.tokens <= 1e12 or not 0.01 <= self.seconds <= 600:
            raise ValueError(
                "judge.calls lies between 1 and 1e6, judge.tokens between 0 and 1e12, judge.seconds between "
                "0.01 and 600"
            )

    @property
    def is_set(self) -> bool:
        return bool(self.address)

    @property
    def key(self) -> str:
        """The key of the address, from the environment; never printed."""
        return os.environ.get(KEY_VARIABLE, "")
