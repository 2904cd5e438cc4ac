"""Where an engine is: its kind, its hosts, and the index, alias or collection."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from rankloop._names import one_of

__all__ = ["Address", "is_address"]

PORTS = {"opensearch": 9200, "elasticsearch": 9200, "solr": 8983}
OPTIONS = ("local", "tls", "timeout", "shards", "replicas", "documents")


def is_address(text: object) -> bool:
    """Whether a text is the address of an engine; everything else is a path.

    >>> is_address("opensearch://localhost:9200/shop"), is_address("shop.index")
    (True, False)
    """
    return str(text).partition("://")[0] in PORTS and "://" in str(text)


@dataclass(frozen=True)
class Address:
    """The address `kind://host:port,host:port/name?option=value`, without users and passwords.

    The options: `local` is the folder of an index on this machine that is kept in step, `tls=true` encrypts,
    `timeout` is in seconds; `shards` and `replicas` are for a new index; `documents` names the index
    that UBI events are about.

    >>> there = Address.parse("opensearch://a,b:9201/shop?replicas=1&local=shop.index")
    >>> there.hosts, there.name, there.number("replicas", 0), there.local
    ((('a', 9200), ('b', 9201)), 'shop', 1, PosixPath('shop.index'))
    >>> str(there)
    'opensearch://a:9200,b:9201/shop'
    """

    kind: str
    hosts: tuple[tuple[str, int], ...]
    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, given: "str | Path | Address") -> "Address":
        """The address in a text; an address passes through."""
        return given if isinstance(given, Address) else cls.parse(str(given))

    @classmethod
    def parse(cls, text: str) -> "Address":
        """The address in a text; an error repeats no password that the text may hold."""
        parts = urlsplit(text)
        kind = one_of("kind of engine", parts.scheme, PORTS)
        if "@" in parts.netloc:
            raise ValueError(
                "an address of an engine has no user and no password, since addresses end up in logs; set "
                "RANKLOOP_ENGINE_USER and RANKLOOP_ENGINE_PASSWORD, or name a file with RANKLOOP_ENGINES"
            )
        name = unquote(parts.path.strip("/"))
        if not parts.netloc or not name or "/" in name:
            raise ValueError(f"an engine is named like {kind}://localhost:{PORTS[kind]}/shop, got {text!r}")
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        for option in options:
            one_of("option of an engine's address", option, OPTIONS)
        hosts = tuple(_host(one, PORTS[kind]) for one in parts.netloc.split(","))
        found = cls(kind, hosts, name, options)
        for whole, least in (("shards", 1), ("replicas", 0)):
            found.number(whole, least, least)
        if not found.timeout > 0:
            raise ValueError(f"timeout is in seconds, above 0, got {options['timeout']!r}")
        return found

    @property
    def tls(self) -> bool:
        return self.options.get("tls", "false").lower() in ("true", "1", "yes")

    @property
    def local(self) -> Path | None:
        """The folder of the index on this machine that is kept in step; None for none."""
        return Path(self.options["local"]) if self.options.get("local") else None

    @property
    def timeout(self) -> float:
        try:
            return float(self.options.get("timeout", "10"))
        except ValueError:
            raise ValueError(f"timeout is in seconds, got {self.options['timeout']!r}") from None

    def number(self, option: str, default: int, least: int = 0) -> int:
        """An option that is a whole number."""
        text = self.options.get(option, str(default))
        if not text.isdigit() or int(text) < least:
            raise ValueError(f"{option} is a whole number from {least}, got {text!r}")
        return int(text)

    def __str__(self) -> str:
        hosts = ",".join(f"{_bracketed(host)}:{port}" for host, port in self.hosts)
        return f"{self.kind}://{hosts}/{self.name}"


def _host(text: str, port: int) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        if not parts.hostname:
            raise ValueError
        return parts.hostname, parts.port or port
    except ValueError:
        raise ValueError(f"a host is named like localhost:{port}, got {text!r}") from None


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
