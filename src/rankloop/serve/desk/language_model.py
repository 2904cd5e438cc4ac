"""A language model behind an OpenAI-style address."""

import json
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from rankloop._json import parse_json

__all__ = ["Answer", "LanguageModel", "ModelAway"]

LARGEST = 1 << 20  # bytes of an answer
LONGEST_WAIT = 60.0  # seconds
TRIES = 4


class Answer(NamedTuple):
    """What a model wrote, and how many tokens that took (0 where it does not say)."""

    text: str
    tokens: int = 0


class ModelAway(OSError):  # noqa: N818 - what happened, not a mistake of anybody
    """The model does not answer, or not in a form that can be read."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """An address that sends elsewhere would get the key there."""

    def redirect_request(self, *args: Any) -> None:
        return None


@dataclass(eq=False)
class LanguageModel:
    """Called with a prompt, it gives an `Answer`: one user message to `{address}/chat/completions`.

    Where the model is busy (429) or away (5xx, no connection, no answer in time) it is asked again after the
    seconds of its Retry-After, or after 1, 2 and 4 seconds. `stop` ends the waiting.
    """

    address: str
    model: str
    key: str = field(default="", repr=False)
    seconds: float = 30.0
    stop: threading.Event = field(default_factory=threading.Event, repr=False)

    def __call__(self, prompt: str) -> Answer:
        body = {"model": self.model, "temperature": 0, "messages": [{"role": "user", "content": prompt}]}
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        url = f"{self.address.rstrip('/')}/chat/completions"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        opener = urllib.request.build_opener(_NoRedirect)
        trouble = ""
        for attempt in range(TRIES):
            wait = float(2**attempt)
            try:
                with opener.open(request, timeout=self.seconds) as answer:
                    content = answer.read(LARGEST + 1)
                return _read(content)
            except ModelAway:
                raise
            except urllib.error.HTTPError as error:
                trouble = f"it answered {error.code} {error.reason}"
                if error.code != 429 and error.code < 500:
                    break
                wait = _retry_after(error.headers.get("Retry-After"), wait)
            except (OSError, TimeoutError) as error:
                trouble = f"it does not answer ({getattr(error, 'reason', error) or type(error).__name__})"
            if attempt == TRIES - 1 or self.stop.wait(wait):
                break
        raise ModelAway(f"the model {self.model!r} at {self.address}: {trouble}")


def _read(content: bytes) -> Answer:
    if len(content) > LARGEST:
        raise ModelAway(f"the model answered with more than {LARGEST:,} bytes")
    try:
        answer = parse_json(content)
        text = answer["choices"][0]["message"]["content"]
        tokens = (answer.get("usage") or {}).get("total_tokens") or 0
        return Answer(str(text or ""), max(0, int(tokens)))
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        raise ModelAway("the answer is not a chat completion; is the address right?") from None


def _retry_after(given: str | None, usual: float) -> float:
    """The seconds to wait: a number, or until a date; never longer than a minute.

    >>> _retry_after("7", 1.0), _retry_after("999", 1.0), _retry_after("soon", 2.0)
    (7.0, 60.0, 2.0)
    """
    if given is None:
        return usual
    try:
        seconds = float(given) if given.strip().isdecimal() else _until(given)
    except (ValueError, TypeError):
        return usual
    return min(max(seconds, 0.0), LONGEST_WAIT)


def _until(date: str) -> float:
    return parsedate_to_datetime(date).timestamp() - time.time()
