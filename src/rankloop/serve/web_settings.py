"""The settings of the service as others on the web see it: its prefix, trusted keys, the request log."""

import os
import re
from dataclasses import dataclass, field, replace
from functools import cached_property

__all__ = ["KEYS_VARIABLE", "PREFIX_VARIABLE", "WebSettings"]

KEYS_VARIABLE, PREFIX_VARIABLE = "RANKLOOP_KEYS", "RANKLOOP_PREFIX"
SHORTEST_KEY = 16  # characters
_PREFIX = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)*")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,50}")


@dataclass(frozen=True)
class WebSettings:
    """What lies between the service and those who call it.

    `prefix` is the path under which a proxy shows the service, as in `/shop`. `keys` are the names and keys
    of trusted programs, as in `backend=0123456789abcdef0123456789abcdef`, separated by commas: what comes
    with one in X-Api-Key is limited by the key and not by the address. `request_log` is a file in the folder
    of the service, or `-` for standard output; queries are in it if `log_queries` is true.

    >>> WebSettings(keys="backend=0123456789abcdef, app=fedcba9876543210").by_name["app"]
    'fedcba9876543210'
    """

    prefix: str = ""
    keys: str = field(default="", repr=False)
    key_rate: float = 1000.0  # requests a second with one key, in the long run; 0 is no limit
    key_burst: int = 2000  # requests at once
    request_log: str = ""
    log_queries: bool = False

    def __post_init__(self) -> None:
        if not _PREFIX.fullmatch(self.prefix):
            raise ValueError(
                f"web.prefix is a path without a slash at its end, such as /shop, got {self.prefix!r}"
            )
        if not 0 <= self.key_rate <= 1e9 or not 1 <= self.key_burst <= 1e9:
            raise ValueError("web.key_rate lies between 0 and 1e9, web.key_burst between 1 and 1e9")
        for name, key in self.by_name.items():
            if not _NAME.fullmatch(name) or len(key) < SHORTEST_KEY or not key.isascii():
                raise ValueError(
                    f"web.keys are names with keys of at least {SHORTEST_KEY} characters, as in "
                    "backend=..., separated by commas; make a key with: openssl rand -hex 16"
                )

    @cached_property
    def by_name(self) -> dict[str, str]:
        """The keys by name."""
        pairs = (part.strip().partition("=") for part in self.keys.split(",") if part.strip())
        return {name.strip(): key.strip() for name, _, key in pairs}

    def of_environment(self) -> "WebSettings":
        """The same with the keys and the prefix in the environment, where they are set."""
        keys, prefix = os.environ.get(KEYS_VARIABLE), os.environ.get(PREFIX_VARIABLE)
        found = self if not keys else replace(self, keys=keys)
        return found if prefix is None else replace(found, prefix=prefix)
