"""The settings of a service: a TOML file, or an index and defaults."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from rankloop._names import one_of
from rankloop.engines.remote.address import Address, is_address
from rankloop.serve.card_settings import CardSettings
from rankloop.serve.judge_settings import JudgeSettings
from rankloop.serve.query_length import check_length
from rankloop.serve.web_settings import WebSettings

__all__ = ["Config", "GateSettings", "InfluenceSettings", "Limits"]

TOKEN_VARIABLE, DATABASE_VARIABLE = "RANKLOOP_ADMIN_TOKEN", "RANKLOOP_DATABASE"
SHORTEST_TOKEN = 16  # characters
_RANGES: dict[str, tuple[float, float]] = {
    "swap_rate": (0, 1),
    "candidates": (1, 100_000),
    "k": (1, 100),
    "swap_top": (2, 100),
    "learn_every": (0, 1e9),
    "learn_after": (0, 1e9),
    "window_days": (0, 1e6),
    "retain_days": (0, 1e6),
    "threads": (0, 1024),
    "signature_hours": (0.01, 24),  # later clicks are not counted, see events.filters.LATE
    "spool_megabytes": (0.001, 1e6),
    "limits.body": (1024, 1e9),
    "limits.query": (1, 1000),
    "limits.k": (1, 100),
    "limits.seconds": (0.01, 3600),
    "limits.store_seconds": (0.01, 3600),
    "limits.events": (1, 500),
    "limits.documents": (1, 1e6),
    "limits.documents_body": (1024, 1e9),
    "limits.rate": (0, 1e9),
    "limits.burst": (1, 1e9),
    "limits.clients": (1, 1e9),
    "limits.waiting": (0, 1e6),
    "limits.connections": (1, 1e6),
    "limits.header_seconds": (0.01, 3600),
    "gate.pages": (0, 1e12),
    "gate.confidence": (0.5, 0.9999),
    "influence.person": (0, 1e9),
    "influence.origin": (0, 1),
    "influence.query": (0, 1),
    "influence.voices": (0, 1e9),
}


@dataclass(frozen=True)
class Limits:
    """What clients may send, and how much of the service they may take."""

    body: int = 262_144  # bytes of a request
    query: int = 500  # characters
    k: int = 100
    seconds: float = 5.0  # a search that takes longer is cancelled
    store_seconds: float = 30.0  # the same for a request that waits for the database
    events: int = 200  # in one batch
    documents: int = 1000  # in one batch
    documents_body: int = 16_777_216  # bytes of a request with documents
    rate: float = 50.0  # requests a second of one client, in the long run
    burst: int = 200  # requests at once
    clients: int = 20_000  # whose rate is remembered
    waiting: int = 100  # searches in line for a thread; more are answered with 503
    connections: int = 1000  # open at once
    header_seconds: float = 10.0  # in which the head of a request must have come

    def check(self, query: str, k: int = 1) -> None:
        """Refuse a query that is too long, and too many results."""
        check_length(query, self.query)
        if k > self.k:
            raise ValueError(f"at most k={self.k} results, got {k}")


@dataclass(frozen=True)
class GateSettings:
    """What a learned ranker must show before it is promoted."""

    pages: int = 1000
    confidence: float = 0.95
    gain: float = 0.0  # the lower bound of the counterfactual gain must be above it
    metric: str = "dcg@10"


@dataclass(frozen=True)
class InfluenceSettings:
    """How much one person or one address range may teach; 0 turns a rule off."""

    person: int = 30  # pages of a person on a day
    origin: float = 0.1  # pages of an address range on a day, as a share of what all others bring
    query: float = 0.25  # the same for the pages of a query
    voices: int = (
        3  # address ranges, or people, that must click a document until it rises for their query alone
    )


@dataclass(frozen=True)
class Config:
    """All settings of a service; everything it writes lies in `folder`.

    `index` is the folder of an index, or the address of an engine. `features` names what is logged of each
    shown document, and what is learned from; without it that is `Features.standard`. `weights` are those of
    text fields for BM25, the first model. A share `swap_rate` of the pages outside experiments swap two
    adjacent results among the first `swap_top` with probability 1/2: propensities come from them. Every
    `learn_every` seconds a new ranker is learned, or once people clicked on `learn_after` pages since then; 0
    means never. `learn_budget` is "usual" (a stack of
    corrections) or "quick" (one forest), as in `unbiased.learn`. With `remember` clicks are also
    learned by heart, query by query. `title` and `url` name stored fields, `site`
    the page, `examples` are queries to try on it and `examples_are` says which; `card` is what results show
    of a product. Scripts on the sites `origins` may call the API; of `proxies` the X-Forwarded headers are
    trusted.

    >>> Config(index="shop.index").database
    'sqlite:///shop.serve/events.db'
    """

    index: Path | str
    folder: Path | str = ""
    database: str = field(default="", repr=False)  # it may hold a password
    candidates: int = 1000
    k: int = 10
    typos: str = "missing"
    weights: Mapping[str, float] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    title: str = ""
    url: str = ""
    site: str = ""
    examples: tuple[str, ...] = ()
    examples_are: str = ""
    swap_rate: float = 0.05
    swap_top: int = 10
    learn_every: float = 0.0
    learn_after: int = 0
    learn_budget: str = "usual"
    remember: bool = True
    window_days: float = 0.0
    retain_days: float = 0.0
    admin_token: str = field(default="", repr=False)
    open_dashboard: bool = False
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    threads: int = 0
    signature_hours: float = 24.0
    spool_megabytes: float = 256.0
    rank_with: Path | str = ""
    gate: GateSettings = GateSettings()
    influence: InfluenceSettings = InfluenceSettings()
    card: CardSettings = field(default_factory=CardSettings)
    limits: Limits = Limits()
    web: WebSettings = field(default_factory=WebSettings)
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    seed: int | None = None

    def __post_init__(self) -> None:
        if is_address(self.index):
            index: Path | str = str(self.index)
            beside = Path(f"{Address.parse(str(index)).name}.serve")
        else:
            index = Path(self.index)
            beside = index.parent / f"{index.stem}.serve"
        folder = Path(self.folder or beside)
        object.__setattr__(self, "index", index)
        object.__setattr__(self, "folder", folder)
        if not self.database:
            object.__setattr__(self, "database", f"sqlite:///{folder / 'events.db'}")
        for name, (low, high) in _RANGES.items():
            value: Any = self
            for part in name.split("."):
                value = getattr(value, part)
            if not low <= value <= high:
                raise ValueError(f"{name} lies between {low:g} and {high:g}, got {value}")
        if 0 < len(self.admin_token) < SHORTEST_TOKEN:
            raise ValueError(
                f"admin_token has at least {SHORTEST_TOKEN} characters, got {len(self.admin_token)}; "
                "make one with: openssl rand -hex 16"
            )
        one_of("typos", self.typos, ("never", "missing", "always"))
        one_of("learn_budget", self.learn_budget, ("quick", "usual"))
        _check_metric(self.gate.metric)

    @classmethod
    def read(cls, path: str | Path) -> "Config":
        """The settings in a TOML file, or the defaults for an index or the address of an engine.

        Paths in the file are relative to it. The environment variables RANKLOOP_ADMIN_TOKEN, RANKLOOP_KEYS,
        RANKLOOP_DATABASE and RANKLOOP_PREFIX override what the file says.
        """
        if is_address(path):
            return cls(index=str(path)).with_environment()
        source = Path(path)
        if source.is_dir():
            return cls(index=source).with_environment()
        try:
            settings = tomllib.loads(source.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise FileNotFoundError(
                f"there is no file or folder {source}; name the TOML file of a service, an index, or an "
                "engine, as in opensearch://host:9200/shop"
            ) from None
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{source} is not TOML: {error}") from None
        return cls.from_dict(settings, beside=source.parent).with_environment()

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any], beside: Path = Path()) -> "Config":
        """Settings by name; paths are relative to `beside`."""
        parts: dict[str, type] = {"gate": GateSettings, "influence": InfluenceSettings, "limits": Limits}
        parts |= {"web": WebSettings, "card": CardSettings, "judge": JudgeSettings}
        known = {one.name: one for one in fields(cls)}
        made: dict[str, Any] = {}
        for name, value in settings.items():
            one_of("setting", name, known)
            if name in parts:
                made[name] = _part(parts[name], name, value)
            elif name == "index" and is_address(value):
                made[name] = value
            elif name in ("index", "folder", "rank_with"):
                made[name] = beside / _typed(name, value, str)
            elif name in ("origins", "hosts", "proxies", "examples", "features"):
                made[name] = tuple(_typed(name, value, list))
            elif name == "weights":
                weights = _typed(name, value, dict).items()
                made[name] = {key: _typed(f"weights.{key}", weight, float) for key, weight in weights}
            elif name == "seed":
                made[name] = _typed(name, value, int)
            else:
                made[name] = _typed(name, value, type(known[name].default))
        if "index" not in made:
            raise ValueError("a config file names its index, as in index = 'shop.index'")
        return cls(**made)

    def with_environment(self) -> "Config":
        """The same with the token, database, keys and prefix in the environment, where they are set."""
        token = os.environ.get(TOKEN_VARIABLE) or self.admin_token
        database = os.environ.get(DATABASE_VARIABLE) or self.database
        return self.but(admin_token=token, database=database, web=self.web.of_environment())

    def but(self, **changes: Any) -> "Config":
        """The same with other values."""
        return Config(**({one.name: getattr(self, one.name) for one in fields(self)} | changes))

    @property
    def name(self) -> str:
        """What the index or the collection is called."""
        return Address.parse(str(self.index)).name if is_address(self.index) else Path(self.index).stem

    @property
    def home(self) -> Path:
        """The folder of everything the service writes."""
        return Path(self.folder)

    def secret(self) -> bytes:
        """The key of all signatures, see `serve.secret`; never printed."""
        from rankloop.serve.secret import secret

        return secret(self.home)


def _check_metric(name: str) -> None:
    """The gate needs a metric that clicks can estimate and of which more is better."""
    if name == GateSettings.metric:
        return
    from rankloop.unbiased.estimation.rank_metric import rank_metric

    if rank_metric(name).name == "arp":
        raise ValueError("gate.metric must be one where higher is better, such as dcg@10; arp is not")


def _part(kind: type, name: str, value: Any) -> Any:
    known = {one.name: one for one in fields(kind)}
    settings = _typed(name, value, dict)
    return kind(
        **{
            one_of(f"setting of [{name}]", key, known): _typed(
                f"{name}.{key}", given, type(known[key].default)
            )
            for key, given in settings.items()
        }
    )


def _typed(name: str, value: Any, kind: type) -> Any:
    if kind is float and type(value) is int and abs(value) < 1 << 1000:
        return float(value)
    if kind is tuple:
        return tuple(_typed(name, value, list))
    if type(value) is not kind:
        raise ValueError(f"{name} is a {kind.__name__}, got {value!r}")
    return value
