"""Signed impression ids: a click counts only with the signature of its page."""

import base64
import hmac
import secrets
import time
from math import inf

from rankloop.serve.events.address_range import address_range

__all__ = ["BadSignature", "Expired", "Signer", "new_page_id"]

_SIGNATURE = 32  # bytes of HMAC-SHA256


class BadSignature(ValueError):  # noqa: N818 - it reads aloud
    """The token was not signed with this secret, or was changed."""


class Expired(ValueError):  # noqa: N818
    """The token was signed with this secret, too long ago."""


def new_page_id() -> str:
    """128 random bits in hex, which cannot be guessed."""
    return secrets.token_hex(16)


class Signer:
    """Signs page ids, and hashes user ids, with one secret.

    A token is `page_id.expiry.signature` (HMAC-SHA256), valid for `lifetime` seconds. Tokens of one `purpose`
    are not valid for another.

    >>> signer = Signer(b"a secret of at least sixteen bytes", lifetime=60)
    >>> token = signer.sign("0123456789abcdef0123456789abcdef", now=1000.0)
    >>> signer.open(token, now=1059.0)
    '0123456789abcdef0123456789abcdef'
    >>> signer.open(token, now=1061.0)
    Traceback (most recent call last):
    rankloop.serve.events.signer.Expired: this page's token expired 1 s ago; search again
    """

    def __init__(self, secret: bytes, lifetime: float = 86_400, *, purpose: str = "page") -> None:
        if len(secret) < 16:
            raise ValueError(
                f"a secret has at least 16 bytes, got {len(secret)}; use secrets.token_bytes(32)"
            )
        if lifetime <= 0:
            raise ValueError(f"lifetime is a number of seconds above 0, got {lifetime}")
        self._keyed = hmac.new(secret, digestmod="sha256")
        self.lifetime, self.purpose = lifetime, purpose

    def __repr__(self) -> str:
        return f"Signer(lifetime={self.lifetime}, purpose={self.purpose!r})"

    def sign(self, page_id: str, now: float | None = None) -> str:
        """The token a client gets with its page."""
        if "." in page_id:
            raise ValueError(f"a page id holds no dots, got {page_id!r}")
        expiry = int((time.time() if now is None else now) + self.lifetime)
        return f"{page_id}.{expiry}.{self._signature(page_id, str(expiry))}"

    def open(self, token: str, now: float | None = None) -> str:
        """The page id of a token, or `BadSignature`, or `Expired`."""
        parts = token.split(".") if token.isascii() else []
        if len(parts) != 3:
            raise BadSignature("a page's token has three parts, this one does not; send it unchanged")
        page_id, expiry, signature = parts
        if not hmac.compare_digest(signature, self._signature(page_id, expiry)):
            raise BadSignature("this page's token was not signed here; send it unchanged")
        late = (time.time() if now is None else now) - int(expiry)
        if late > 0:
            raise Expired(f"this page's token expired {late:.0f} s ago; search again")
        return page_id

    def age(self, token: str) -> float:
        """The seconds since a token was signed; infinite for one that is not valid."""
        try:
            self.open(token)
        except ValueError:
            return inf
        return time.time() - (int(token.split(".")[1]) - self.lifetime)

    def user_key(self, user: str) -> str:
        """A keyed hash that stands for a user: the id itself is never stored.

        >>> Signer(b"a secret of at least sixteen bytes").user_key("ada")
        '64e339c5f1bda87af5af888be2951f09'
        """
        return self._digest("user", user).hex()[:32]

    def origin_key(self, address: str) -> str:
        """A keyed hash that stands for the range of an address, /24 or /48: no address is stored.

        >>> signer = Signer(b"a secret of at least sixteen bytes")
        >>> signer.origin_key("192.0.2.1") == signer.origin_key("192.0.2.9") != signer.origin_key("192.0.3.1")
        True
        """
        return self._digest("origin", address_range(address)).hex()[:32]

    def _signature(self, page_id: str, expiry: str) -> str:
        whole = self._digest(self.purpose, page_id, expiry)[:_SIGNATURE]
        return base64.urlsafe_b64encode(whole).rstrip(b"=").decode()

    def _digest(self, *parts: str) -> bytes:
        """The HMAC of parts, each with its length, so that different parts never give the same text."""
        text = b"".join(b"%d:%s" % (len(part.encode()), part.encode()) for part in parts)
        made = self._keyed.copy()  # which takes half the time of a new one
        made.update(text)
        return made.digest()
