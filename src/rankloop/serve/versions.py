"""What serves: versions in memory, experiments that run, and changing them under load."""

import threading
import time

from rankloop.search import Index
from rankloop.serve.config import Config
from rankloop.serve.events.store import Store, StoreAway
from rankloop.serve.experiments.experiments import Experiment, Experiments
from rankloop.serve.http.schema_admin import ExperimentRequest
from rankloop.serve.models.live import Live, Model, Models, first_model
from rankloop.serve.models.registry import Registry

__all__ = ["Serving"]

BUILT_IN = {"name": "bm25", "made": "built in"}
WATCH = 1.0  # seconds between looks at what others promoted or committed
TIDY = 3600.0  # seconds


class Serving:
    """The versions of a registry over an index, one of them in production, swapped without a pause.

    Every second it looks whether another process promoted a version, began an experiment, or committed to
    the index.
    """

    def __init__(self, config: Config, index: Index, store: Store) -> None:
        self.config, self.index, self.store = config, index, store
        self.models = Registry(store, config.home / "models")
        self.experiments = Experiments(store)
        self.troubles: tuple[str, ...] = ()
        self._loaded = Models(self.models, index)
        if self.models.roles().production is None:
            version = self.models.register(first_model(index, config), lineage=BUILT_IN)
            self.models.promote(version)
        self._live = self._loaded.live(self.models.roles(), self.experiments.running())
        self._swapping, self._closed = threading.Lock(), threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="rankloop-watch", daemon=True)

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()
        if self._watcher.ident is not None:
            self._watcher.join(timeout=10)

    @property
    def live(self) -> Live:
        """What serves at this moment."""
        return self._live

    def model(self, version: str) -> Model:
        """A version in memory, loaded if it is not there yet."""
        return self._live.models.get(version) or self._loaded.get(version)

    def reload(self) -> bool:
        """Serve what the registry and the index say now; requests under way end with what they began with.

        A version that cannot be loaded is refused, and the one that served goes on.
        """
        with self._swapping:
            newer = self.index.refresh()
            roles, running = self.models.roles(), tuple(self.experiments.running())
            live = self._loaded.live(roles, running, before=self._live)
            self.troubles = live.troubles
            changed = (live.roles, live.experiments) != (self._live.roles, self._live.experiments)
            if changed:
                self._live = live
            return changed or newer

    def promote(self, version: str) -> None:
        """Let a version serve everybody, if it can be loaded; if not, nothing changes."""
        self.model(version)
        self.models.promote(version)
        self.reload()

    def roll_back(self) -> str:
        """Let the version before serve again."""
        version = self.models.roll_back()
        self.reload()
        return version

    def shadow(self, version: str | None) -> None:
        """Let a version rank along unseen; None ends it."""
        if version is not None:
            self.model(version)
        self.models.shadow(version)
        self.reload()

    def canary(self, version: str | None, share: float = 0.05) -> None:
        """Let a version serve a share of the people; None ends it."""
        if version is not None:
            self.model(version)
        self.models.canary(version, share)
        self.reload()

    def start_experiment(self, asked: ExperimentRequest) -> Experiment:
        """Begin a comparison of two versions that can be loaded."""
        for version in (asked.a, asked.b):
            self.model(version)
        made = self.experiments.start(
            asked.a, asked.b, kind=asked.kind, share=asked.share, how=asked.method, note=asked.note
        )
        self.reload()
        return made

    def end_experiment(self, id: str) -> Experiment:
        """End a comparison."""
        ended = self.experiments.end(id)
        self.reload()
        return ended

    def tidy(self) -> None:
        """Delete what is older than it may be; done every hour."""
        if self.config.retain_days > 0:
            self.store.retain(self.config.retain_days)

    def _watch(self) -> None:
        tidied = -TIDY
        while not self._closed.wait(WATCH):
            try:
                self.reload()
                if time.monotonic() - tidied > TIDY:
                    tidied = time.monotonic()
                    self.tidy()
            except (StoreAway, OSError, ValueError) as error:
                self.troubles = (str(error),)
