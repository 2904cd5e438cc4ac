"""The versions in memory, and those that serve now, swapped as one reference."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rankloop.search import BM25, Features, Pipeline, Query, Searchable, first
from rankloop.serve.events.shown_page import FollowingPage, ShownPage
from rankloop.serve.experiments.policy import Arm, arm_of
from rankloop.serve.online.settings import OnlineSettings

if TYPE_CHECKING:
    from rankloop.serve.config import Config
    from rankloop.serve.experiments.experiments import Experiment
    from rankloop.serve.models.registry import Registry, Roles

__all__ = ["Learning", "Live", "Model", "Models", "ensure_production", "first_model", "logged_features"]

CACHED = 8  # versions in memory beside those that serve, and fingerprints of each
BUILT_IN = {"name": "bm25", "made": "built in"}


@dataclass(frozen=True, eq=False)
class Learning:
    """What a version that learns while it serves has learned, and in which run of serving.

    `first` is the ranker in the file of the version, `ranker` the one with the weights of now.
    """

    settings: OnlineSettings
    first: Any
    ranker: Any = None
    run: int = 0
    number: int = 0
    state: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[int, int]:
        return self.run, self.number


@dataclass(frozen=True, eq=False)
class Model:
    """A version in memory; with `learning`, one that learns while it serves."""

    version: str
    pipeline: Pipeline
    learning: Learning | None = None
    _prints: dict[int, str] = field(default_factory=dict)

    def fingerprint(self, generation: int) -> str:
        """What scores depend on; computed once for a generation of the index."""
        found = self._prints.get(generation)
        if found is None:
            found = self.pipeline.fingerprint
            if len(self._prints) >= CACHED:
                self._prints.clear()
            self._prints[generation] = found
        return found

    def page(self, page_id: str, query: Query, generation: int, **shown: Any) -> ShownPage:
        """A page that this model ranked for a query."""
        return ShownPage(
            page_id=page_id,
            time=float(query.at or 0.0),
            query=_logged(query),
            typed=" ".join(query.typed.text.split()) if query.typed and query.understood else None,
            generation=generation,
            fingerprint=self.fingerprint(generation),
            **shown,
        )

    def following(self, page_id: str, query: Query, first: int, **shown: Any) -> FollowingPage:
        """More results of such a page, from rank `first` on."""
        return FollowingPage(
            page_id=page_id, first=first, time=float(query.at or 0.0), query=_logged(query), **shown
        )


def _logged(query: Query) -> str:
    """The text of a query in the log: as it was understood, with single blanks."""
    return " ".join(query.text.split())


@dataclass(frozen=True, eq=False)
class Live:
    """All that a request reads about the versions that serve, replaced as a whole."""

    roles: "Roles"
    experiments: "tuple[Experiment, ...]"
    models: dict[str, Model]
    troubles: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        """What changes when something else serves."""
        return self.roles, self.experiments, self.learned

    @property
    def learned(self) -> tuple[tuple[str, tuple[int, int]], ...]:
        """How far each version that learns while it serves has come."""
        return tuple((name, one.learning.key) for name, one in self.models.items() if one.learning)

    @property
    def production(self) -> Model:
        """The version that serves everybody else."""
        return self.models[str(self.roles.production)]

    def arm(self, unit: str) -> Arm:
        """The versions that rank the pages of a person, or a page where the person is unknown."""
        roles, production = self.roles, self.production.version
        return arm_of(unit, production, experiments=self.experiments, canary=roles.canary, share=roles.share)

    def for_unit(self, unit: str | None) -> Model:
        """One of them, where two are interleaved always the same; production for nobody."""
        return self.production if unit is None else self.models[self.arm(unit).one(unit)]


class Models:
    """Versions of the registry in memory: those that serve, and the last few others."""

    def __init__(self, registry: "Registry", index: Searchable) -> None:
        self.registry = registry
        self.index = index
        self._known: OrderedDict[str, Model] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, version: str) -> Model:
        """A version, loaded and checked if it is not here yet; a damaged one is a ValueError."""
        with self._lock:
            if version in self._known:
                self._known.move_to_end(version)
                return self._known[version]
        pipeline = self.registry.load(version, self.index)
        online = OnlineSettings.of(self.registry.version(version).lineage)
        learning = None if online is None else Learning(online, pipeline.ranker, pipeline.ranker)
        model = Model(version, pipeline, learning)
        model.fingerprint(self.index.generation)
        with self._lock:
            self._known[version] = model
            while len(self._known) > CACHED:
                self._known.popitem(last=False)
        return model

    def live(self, roles: "Roles", experiments: "Iterable[Experiment]", before: Live | None = None) -> Live:
        """All that serves, loaded; a version that cannot be loaded is left out, and production stays."""
        models: dict[str, Model] = {}
        troubles: list[str] = []

        def has(version: str | None) -> bool:
            if version is None:
                return False
            try:
                models[version] = (
                    before.models[version] if before and version in before.models else self.get(version)
                )
            except (ValueError, OSError) as error:
                troubles.append(f"{version} is refused: {error}")
                return False
            return True

        if not has(roles.production):
            if before is None:
                raise ValueError(f"the version in production cannot be served; {'; '.join(troubles)}")
            roles = replace(roles, production=before.roles.production)
            has(roles.production)
        if not has(roles.shadow):
            roles = replace(roles, shadow=None)
        if not has(roles.canary):
            roles = replace(roles, canary=None)
        running = tuple(one for one in experiments if has(one.a) and has(one.b))
        return Live(roles, running, models, tuple(troubles))


def ensure_production(registry: "Registry", index: Searchable, config: "Config") -> str:
    """The version in production; where there is none, BM25 is registered and promoted."""
    version = registry.roles().production
    return version or registry.begin(first_model(index, config), lineage=BUILT_IN)


def first_model(index: Searchable, config: "Config") -> Pipeline:
    """BM25 with all features logged beside it, so that learning needs no second pass over the index."""
    from rankloop.rankers import FeatureSum

    features = logged_features(index, config)
    snapshot = index.snapshot
    model = BM25(fields=dict(config.weights) or None)
    weights = {
        f"bm25({snapshot.text_fields[number]})": weight for number, weight in model.weights(snapshot).items()
    }
    if any(name not in features.names for name in weights):  # BM25 of every field is not among them
        missing = [name for name in weights if name not in features.names]
        features = Features.over(index, [*features.declared, *missing])
    ranker = FeatureSum(weights, features=features.names)
    retriever = index.retriever(k=config.candidates, model=model, typos=config.typos)
    return retriever >> features >> ranker >> first(config.k)


def logged_features(index: Searchable, config: "Config") -> Features:
    """The features logged of every shown document, whichever version ranked it."""
    return Features.over(index, config.features) if config.features else Features.standard(index)
