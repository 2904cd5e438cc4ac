"""The versions that serve, and changing them under load."""

import threading

from rankloop.search import Searchable
from rankloop.serve.config import Config
from rankloop.serve.events.store import StoreAway
from rankloop.serve.experiments.experiments import Experiment, Experiments
from rankloop.serve.http.schema_admin import ExperimentRequest
from rankloop.serve.models.live import Live, Model, Models, ensure_production
from rankloop.serve.models.memo import Memo
from rankloop.serve.models.registry import Registry
from rankloop.serve.models.shadow import Shadow
from rankloop.serve.online.learners import Learners

__all__ = ["Versions"]


class Versions:
    """The versions that serve now, swapped without a pause when the registry or the experiments change.

    `troubles` says which versions could not be loaded.
    """

    def __init__(
        self, config: Config, index: Searchable, registry: Registry, experiments: Experiments, shadow: Shadow
    ) -> None:
        self.index, self.registry, self.experiments = index, registry, experiments
        self._shadow = shadow
        self._loaded = Models(registry, index)
        self.learners = Learners(registry.store, config.influence)
        self._config = config
        self._memo = Memo(config.home / "serving.json")
        self._ensured = False
        self._swapping = threading.Lock()
        self.troubles: tuple[str, ...] = ()
        try:
            self._live = self._now(before=None)
        except StoreAway:
            self._live = self._memo.live(registry, index, config)

    @property
    def live(self) -> Live:
        """The versions that serve at this moment."""
        return self._live

    def model(self, version: str) -> Model:
        """A version in memory, loaded if it is not there yet."""
        found = self._live.models.get(version) or self._loaded.get(version)
        serves = version in self._live.models
        return found if serves or found.learning is None else self.learners.now(found, self.model)

    def before_learning(self) -> str | None:
        """The first version, where a later one serves: what was shown before anything was learned."""
        first = "v1"  # numbers are given in order
        production = self._live.roles.production
        return first if production != first else None

    def reload(self) -> bool:
        """Serve what the registry and the index say now; requests under way end with what they began with.

        A version that cannot be loaded is refused, and the one that served goes on.
        """
        with self._swapping:
            newer = self.index.refresh()
            live = self._now(before=self._live)
            self.troubles = live.troubles
            changed = live.key != self._live.key
            if changed:
                self._live = live
            return changed or newer

    def _now(self, before: Live | None) -> Live:
        """What the registry and the experiments say, loaded; production is also written to a file."""
        if not self._ensured:
            ensure_production(self.registry, self.index, self._config)
            self.registry.share()
            self._ensured = True
        live = self._loaded.live(self.registry.roles(), self.experiments.running(), before=before)
        live = self.learners.applied(live, before, self._loaded.get)
        if before is None or live.roles.production != before.roles.production:
            self._memo.note(self.registry.version(live.production.version))
        return live

    def learn(self) -> bool:
        """Let versions that learn while they serve take a step; True where something changed."""
        return self.learners.look(self._live) and self.reload()

    def promote(self, version: str) -> None:
        """Let a version serve everybody, if it can be loaded; if not, nothing changes."""
        self.model(version)
        self.registry.promote(version)
        self.reload()

    def roll_back(self) -> str:
        """Let the version before serve again."""
        version = self.registry.roll_back()
        self.reload()
        return version

    def shadow(self, version: str | None) -> None:
        """Let a version rank pages that are not shown; None ends it and notes how far it agreed."""
        self.note_agreement()
        if version is not None:
            self.model(version)
        self.registry.shadow(version)
        self.reload()

    def canary(self, version: str | None, share: float = 0.05) -> None:
        """Let a version serve a share of the people; None ends it."""
        if version is not None:
            self.model(version)
        self.registry.canary(version, share)
        self.reload()

    def start_experiment(self, wanted: ExperimentRequest) -> Experiment:
        """Begin a comparison of two versions that can be loaded."""
        for version in (wanted.a, wanted.b):
            self.model(version)
        started = self.experiments.start(
            wanted.a,
            wanted.b,
            kind=wanted.kind,
            share=wanted.share,
            how=wanted.method,
            planned=wanted.planned,
            note=wanted.note,
        )
        self.reload()
        return started

    def end_experiment(self, id: str) -> Experiment:
        """End a comparison."""
        ended = self.experiments.end(id)
        self.reload()
        return ended

    def note_agreement(self) -> None:
        """Write how far the shadow agrees with what was shown into its lineage."""
        version = self._live.roles.shadow
        agreement = self._shadow.agreement(version) if version else None
        if version and agreement:
            self.registry.note(version, {"shadow": agreement})
