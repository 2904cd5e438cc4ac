"""The service without the web: its parts, and what is done with them together."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from rankloop.search import Deadline, Searchable
from rankloop.serve.config import Config
from rankloop.serve.desk.comparing import Comparing
from rankloop.serve.desk.hands import Hands
from rankloop.serve.desk.judge_run import JudgeRun
from rankloop.serve.desk.language_judge import LanguageJudge
from rankloop.serve.desk.language_model import LanguageModel
from rankloop.serve.desk.rankings import Rankings
from rankloop.serve.desk.users import known_users
from rankloop.serve.documents import Documents
from rankloop.serve.events.recorder import Recorder
from rankloop.serve.events.store import Store, StoreAway
from rankloop.serve.events.ubi_files import UbiFiles
from rankloop.serve.experiments.experiments import Experiments
from rankloop.serve.http.schema import (
    Accepted,
    EventIn,
    Explanation,
    RankRequest,
    SearchAnswer,
    SearchRequest,
)
from rankloop.serve.http.schema_admin import Readiness
from rankloop.serve.learning.schedule import LearnNow
from rankloop.serve.models.registry import Registry
from rankloop.serve.models.shadow import Shadow
from rankloop.serve.open_searchable import open_searchable
from rankloop.serve.reranker import Reranker
from rankloop.serve.searcher import Searcher
from rankloop.serve.secret import OneSecret
from rankloop.serve.versions import Versions
from rankloop.serve.watcher import Watcher

__all__ = ["Service"]


class Service:
    """An index or engine that is searched, logged and learned from; safe to use from many threads.

    Its parts: `store` holds what was shown and clicked, `registry` all versions, `experiments` the
    comparisons, `versions` those that serve, `shadow` ranks pages that are not shown, `recorder` writes pages
    and events, `ubi` what collectors of other pages send, `searcher` answers searches, `reranker` orders
    candidates of another engine, `documents` takes documents, `rankings` are what the desk compares,
    `learn_now` is a learning run that a user started, `judge_run` a judge by language model (that of the
    config, or set to one of any callable), `comparing` makes comparisons on a schedule, `hands` are pins and
    hides.
    """

    def __init__(self, config: Config, index: Searchable, store: Store) -> None:
        self.config, self.index, self.store = config, index, store
        self._secret = OneSecret(store, config.home)
        self._secret.agree()
        self.reranker = Reranker(config, index)
        self.documents = Documents(config, index)
        self.registry = Registry(store, config.home / "models")
        self.experiments = Experiments(store, config.influence)
        self.shadow = Shadow()
        self.versions = Versions(config, index, self.registry, self.experiments, self.shadow)
        self.recorder = Recorder(config, store)
        self.ubi = UbiFiles(config.home / "ubi", config.spool_megabytes)
        self.hands = Hands(store)
        self.searcher = Searcher(config, index, self.versions, self.recorder, self.shadow, self.hands)
        self.rankings = Rankings(index, self.versions.model, config.limits.seconds)
        self.learn_now = LearnNow(config)
        self.judge_run = self._judge()
        self.comparing = Comparing(store, self.registry, self.rankings)
        self._watcher = Watcher(self.look, self.tidy)
        with suppress(StoreAway):
            self.recorder.forgotten.catch_up()
            self.hands.reload()
        parts = (self.shadow, self.recorder, self._watcher, self.comparing)
        for part in parts:  # nothing above can fail after a start
            part.start()

    @classmethod
    def open(cls, config: Config | str | Path) -> Self:
        """The service of a config, a config file, an index, or an engine; the first model is BM25.

        While the database does not answer, the version that served last goes on, and what is recorded waits.
        """
        settings = config if isinstance(config, Config) else Config.read(config)
        index = open_searchable(settings)
        settings.home.mkdir(parents=True, exist_ok=True)
        store = Store.open(settings.database, later=True)
        try:
            return cls(settings, index, store)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Stop, and move what waits on disk to the store if it answers."""
        self._watcher.stop()
        self.comparing.stop()
        self.learn_now.stop()
        if self.judge_run is not None:
            self.judge_run.stop()
        self.shadow.close()
        with suppress(StoreAway):
            self.versions.note_agreement()
        self.recorder.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def search(
        self, request: SearchRequest, *, address: str | None = None, deadline: Deadline | None = None
    ) -> SearchAnswer:
        """A page of results; recorded unless the request is a preview, with a hash of the address range."""
        return self.searcher.search(request, address=address, deadline=deadline)

    def explain(self, query: str, document: str, against: str | None = None) -> Explanation:
        """Why a document is where it is, and why it is above or below another."""
        return self.searcher.explain(query, document, against)

    def rank(
        self,
        request: RankRequest,
        *,
        public: bool = False,
        address: str | None = None,
        deadline: Deadline | None = None,
    ) -> SearchAnswer:
        """The caller's own candidates in the order of production, or of the ranker in `rank_with`.

        The `public` gets the order of the version that ranks the pages of `user`, which tells nothing new.
        """
        unit = self.recorder.unit(request.user, address) if public else None
        model = self.versions.live.for_unit(unit)
        return self.reranker.rank(request, model, self.recorder, address=address, deadline=deadline)

    def record(self, events: Sequence[EventIn]) -> Accepted:
        """Put events on disk; those without the signature of a page are refused. `SpoolFull` if full."""
        if len(events) > self.config.limits.events:
            raise ValueError(f"at most {self.config.limits.events} events at once, got {len(events)}")
        return self.recorder.events(events)

    def forget(self, user: str) -> int:
        """Delete everything recorded of a person, and what they judged; gives the number of pages."""
        self.store.forget_rater(user)
        gone = self.recorder.forgotten.forget(str(self.recorder.user(user)))
        self.ubi.catch_up(self.store, self.recorder.forgotten.epoch)
        return gone

    def _judge(self) -> JudgeRun | None:
        given = self.config.judge
        if not given.is_set:
            return None
        model = LanguageModel(given.address, given.model, given.key, given.seconds)
        return JudgeRun(LanguageJudge(model, given.model, self.store, given.calls, given.tokens), self.index)

    def has_users(self) -> bool:
        """Whether anybody but the administrator has a token."""
        return bool(known_users(self.store))

    def look(self) -> None:
        """Done twice a second: serve what others promoted and committed, and forget whom they forgot."""
        self.versions.reload()
        self.versions.learn()
        self.hands.reload()
        self.recorder.forgotten.catch_up()
        self.ubi.catch_up(self.store, self.recorder.forgotten.epoch)
        self._secret.agree()

    def tidy(self) -> None:
        """Done every hour: delete what is older than `retain_days`, and note the shadow's agreement."""
        if self.config.retain_days > 0:
            self.store.retain(self.config.retain_days)
            self.ubi.retain(self.config.retain_days)
        self.versions.note_agreement()

    @property
    def troubles(self) -> tuple[str, ...]:
        """What is wrong with the versions or the store, in sentences."""
        others = (self._watcher.trouble, self.index.trouble, self._secret.trouble)
        return tuple(filter(None, (*self.versions.troubles, *others)))

    def readiness(self) -> Readiness:
        """Whether pages are served and recorded, and what is wrong."""
        spool = self.recorder.spool
        troubles = (*self.troubles, spool.trouble, self.recorder.trouble)
        return Readiness(
            ready=self.recorder.trouble is None,
            ranker=self.versions.live.production.version,
            documents=len(self.index),
            generation=self.index.generation,
            database="away" if spool.trouble else "ok",
            waiting=spool.waiting,
            troubles=list(dict.fromkeys(one for one in troubles if one)),
        )
