"""The settings of a card: what of a product is shown beside its title."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any
from urllib.parse import urlsplit

__all__ = ["CardSettings"]

LONGEST = 2000  # characters of an address
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]*[a-z](?::[0-9]{1,5})?")


@dataclass(frozen=True)
class CardSettings:
    """The stored fields of a product that its result shows; an empty name shows nothing.

    Images are loaded from `image_hosts` alone, over https: those are named in the Content-Security-Policy,
    and an image from elsewhere is not shown. `currency` stands after the price; `best_rating` is the highest.

    >>> card = CardSettings(price="price", currency="EUR", image="image", image_hosts=("img.shop.example",))
    >>> card.price_of({"price": 1999.5}), card.image_of({"image": "https://elsewhere.example/1.jpg"})
    ('1\N{NARROW NO-BREAK SPACE}999.50 EUR', None)
    """

    price: str = ""
    currency: str = ""
    image: str = ""
    image_hosts: tuple[str, ...] = ()
    rating: str = ""
    best_rating: float = 5.0

    def __post_init__(self) -> None:
        for host in self.image_hosts:
            if not isinstance(host, str) or not _HOST.fullmatch(host):
                raise ValueError(
                    f"card.image_hosts are names of hosts such as img.shop.example, got {host!r}"
                )
        if self.image and not self.image_hosts:
            raise ValueError("card.image needs card.image_hosts, from which images may be loaded")
        if not (isfinite(self.best_rating) and self.best_rating > 0):
            raise ValueError(f"card.best_rating is above 0, got {self.best_rating}")

    @property
    def image_sources(self) -> tuple[str, ...]:
        """Where images may come from, as a Content-Security-Policy writes it."""
        return tuple(f"https://{host}" for host in self.image_hosts)

    def price_of(self, document: Mapping[str, Any]) -> str | None:
        """The price as text: whole, or with two places."""
        value = _number(document.get(self.price)) if self.price else None
        if value is None:
            return None
        text = f"{value:,.0f}" if value == round(value) else f"{value:,.2f}"
        return f"{text} {self.currency}".strip().replace(",", "\N{NARROW NO-BREAK SPACE}")

    def image_of(self, document: Mapping[str, Any]) -> str | None:
        """The address of the image, if it is on an allowed host."""
        value = document.get(self.image) if self.image else None
        value = value[0] if isinstance(value, list) and value else value
        if not isinstance(value, str) or len(value) > LONGEST:
            return None
        try:
            parts = urlsplit(value)
        except ValueError:
            return None
        return value if parts.scheme == "https" and parts.netloc.lower() in self.image_hosts else None

    def rating_of(self, document: Mapping[str, Any]) -> float | None:
        """The rating, if it lies between 0 and the best one."""
        value = _number(document.get(self.rating)) if self.rating else None
        return value if value is not None and 0 <= value <= self.best_rating else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return float(value)
