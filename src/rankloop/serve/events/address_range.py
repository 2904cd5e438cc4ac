"""The range of an address: what one household, office or data centre has, rather than one machine."""

import ipaddress
from functools import lru_cache

__all__ = ["address_range"]

_IPV4, _IPV6 = 24, 48  # bits of a range
UNKNOWN = "unknown"
_LONGEST = 45  # characters of an IPv6 address that ends in an IPv4 address
_KEPT = 4096  # ranges of addresses that are not computed again


def address_range(address: str | None, *, ipv4: int = _IPV4, ipv6: int = _IPV6) -> str:
    """The /24 of an IPv4 address, the /48 of an IPv6 address; "unknown" for anything else.

    >>> address_range("192.0.2.77"), address_range("2001:db8:1:2::3"), address_range("::ffff:192.0.2.1")
    ('192.0.2.0/24', '2001:db8:1::/48', '192.0.2.0/24')
    >>> address_range("192.0.2.77", ipv4=32), address_range("a socket")
    ('192.0.2.77/32', 'unknown')
    """
    text = (address or "").partition("%")[0]
    return _range(text, ipv4, ipv6) if len(text) <= _LONGEST else UNKNOWN


@lru_cache(_KEPT)
def _range(text: str, ipv4: int, ipv6: int) -> str:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return UNKNOWN
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    found = mapped or found
    bits = ipv4 if found.version == 4 else ipv6
    return str(ipaddress.ip_network((found, bits), strict=False))
