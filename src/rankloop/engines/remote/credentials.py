"""Who we are to an engine: from the environment or a file, never in an address, a log or a page."""

import base64
import os
import ssl
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rankloop._names import one_of
from rankloop.engines.remote.address import Address

__all__ = ["FILE_VARIABLE", "Credentials"]

FILE_VARIABLE = "RANKLOOP_ENGINES"  # the file with credentials by host
_SETTINGS = ("user", "password", "api_key", "ca", "verify")
_VARIABLE = "RANKLOOP_ENGINE_{}"


@dataclass(frozen=True)
class Credentials:
    """A user with a password, or an API key; `ca` is the file of the authority that signed the certificate.

    `verify = false` accepts any certificate. Nothing of it is printed.
    """

    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    ca: str = ""
    verify: bool = True

    @classmethod
    def find(cls, address: Address, environment: Mapping[str, str] | None = None) -> "Credentials":
        """From the environment, else from the file that RANKLOOP_ENGINES names.

        The variables are RANKLOOP_ENGINE_USER, _PASSWORD, _API_KEY and _CA. The file is TOML with a table per
        host, as in `["localhost:9200"]`, of the settings user, password, api_key, ca and verify.
        """
        known = os.environ if environment is None else environment
        found: dict[str, Any] = {}
        if known.get(FILE_VARIABLE):
            found = _from_file(Path(known[FILE_VARIABLE]), address)
        for name in ("user", "password", "api_key", "ca"):
            value = known.get(_VARIABLE.format(name.upper()))
            if value:
                found[name] = value
        if found.get("password") and not found.get("user"):
            raise ValueError("there is a password for the engine but no user; set RANKLOOP_ENGINE_USER")
        return cls(**found)

    @property
    def headers(self) -> dict[str, str]:
        """The header that says who we are; empty without credentials."""
        if self.api_key:
            return {"Authorization": f"ApiKey {self.api_key}"}
        if self.user:
            pair = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
        return {}

    def context(self) -> ssl.SSLContext:
        """How connections are encrypted."""
        context = ssl.create_default_context(cafile=self.ca or None)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def _from_file(path: Path, address: Address) -> dict[str, Any]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(f"{FILE_VARIABLE} names {path}, which is not there") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is not TOML") from None  # the error would repeat what is in the file
    for host, port in address.hosts:
        table = tables.get(f"{host}:{port}", tables.get(host))
        if table is None:
            continue
        if not isinstance(table, dict):
            raise ValueError(f'{path} has a table per host, as in ["{host}:{port}"], got a bare value')
        for name, value in table.items():
            one_of(f"setting of {host} in {path}", name, _SETTINGS)
            wanted = bool if name == "verify" else str
            if not isinstance(value, wanted):
                raise ValueError(f"{name} of {host} in {path} is a {wanted.__name__}")
        return dict(table)
    return {}
