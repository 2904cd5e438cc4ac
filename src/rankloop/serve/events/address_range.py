"""The range of an address: what one household, office or data centre has, rather than one machine."""

import ipaddress

__all__ = ["address_range"]

_IPV4, _IPV6 = 24, 48  # bits of a range
UNKNOWN = "unknown"


def address_range(address: str | None, *, ipv4: int = _IPV4, ipv6: int = _IPV6) -> str:
    """The /24 of an IPv4 address, the /48 of an IPv6 address; "unknown" for anything else.

    >>> address_range("192.0.2.77"), address_range("2001:db8:1:2::3"), address_range("::ffff:192.0.2.1")
    ('192.0.2.0/24', '2001:db8:1::/48', '192.0.2.0/24')
    >>> address_range("192.0.2.77", ipv4=32), address_range("a socket")
    ('192.0.2.77/32', 'unknown')
    """
    try:
        found = ipaddress.ip_address((address or "").partition("%")[0])
    except ValueError:
        return UNKNOWN
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    found = mapped or found
    bits = ipv4 if found.version == 4 else ipv6
    return str(ipaddress.ip_network((found, bits), strict=False))
