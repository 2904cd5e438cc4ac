"""The service without the web: search, record, rank, explain, and swap what serves."""

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from rankloop.search import Index
from rankloop.serve.answer import asked
from rankloop.serve.config import Config
from rankloop.serve.events.signer import new_page_id
from rankloop.serve.events.store import Store, StoreAway
from rankloop.serve.http.schema import (
    Accepted,
    EventIn,
    RankRequest,
    Result,
    SearchAnswer,
)
from rankloop.serve.http.schema_admin import Readiness
from rankloop.serve.models.reranking import by_own_features, by_the_index, own_ranker
from rankloop.serve.searcher import Searching

__all__ = ["Service"]


class Service(Searching):
    """An index that is searched, logged and learned from; safe to use from many threads.

    `store` holds what was shown and done, `models` the versions, `experiments` the comparisons, `recorder`
    writes pages and events. Versions are promoted, rolled back and tried out while it serves.
    """

    def __init__(self, config: Config, index: Index, store: Store) -> None:
        self._own = own_ranker(config.rank_with)
        super().__init__(config, index, store)
        self.signer, self.spool = self.recorder.signer, self.recorder.spool
        self._watcher.start()

    @classmethod
    def open(cls, config: Config | str | Path) -> Self:
        """The service of a config, a config file, or an index; the first model is BM25."""
        told = config if isinstance(config, Config) else Config.read(config)
        index = Index.open(told.index)
        told.home.mkdir(parents=True, exist_ok=True)
        store = Store.open(told.database)
        try:
            return cls(told, index, store)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Stop, and bring what waits on disk to the store if it answers."""
        super().close()
        self.shadowing.close()
        with suppress(StoreAway):
            self._note_shadow()
        self.recorder.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def record(self, events: Sequence[EventIn]) -> Accepted:
        """Put events on disk; those without the signature of a page are refused. `SpoolFull` if full."""
        if len(events) > self.config.limits.events:
            raise ValueError(f"at most {self.config.limits.events} events at once, got {len(events)}")
        return self.recorder.events(events)

    def rank(self, request: RankRequest) -> SearchAnswer:
        """The caller's own candidates in the order of production, or of the ranker in `rank_with`."""
        start = time.perf_counter()
        self._check(request.query, 1)
        ids = [one.id for one in request.candidates]
        if len(set(ids)) != len(ids):
            raise ValueError("a candidate was given twice; drop the repetition")
        query = asked(request.query, self.index, {})
        model = self._live.production
        ranker = model.version
        if all(one.features is None for one in request.candidates):
            order = by_the_index(model.pipeline, query, request.candidates)
        elif self._own is not None:
            order, ranker = by_own_features(self._own, request.candidates), Path(self.config.rank_with).name
        else:
            order = by_own_features(model.ranked.ranker, request.candidates)
        seconds = {"rank": time.perf_counter() - start}
        k = min(request.k, len(order.ids))
        impression = None
        if request.record:
            shown = self._shown(
                new_page_id(),
                query,
                model,
                self.index.generation,
                ranker=ranker,
                seconds=seconds,
                documents=order.ids[:k],
                scores=order.scores[:k],
                features=order.features[:k],
                feature_names=order.names,
                layout=request.layout,
                user=self.recorder.user(request.user),
                found=len(order.ids),
            )
            impression = self.recorder.page(shown)
        results = [
            Result(position=at + 1, id=order.ids[at], score=float(order.scores[at]), title=order.ids[at])
            for at in range(k)
        ]
        return SearchAnswer(
            impression=impression,
            query=request.query,
            found=len(order.ids),
            results=results,
            ranker=ranker,
            generation=self.index.generation,
            seconds=seconds | {"total": time.perf_counter() - start},
        )

    def forget(self, user: str) -> int:
        """Delete everything recorded of a person; gives how many pages that were."""
        return self.store.forget(str(self.recorder.user(user)))

    def shadow(self, version: str | None) -> None:
        """Let a version rank along unseen; None ends it, and what was measured goes to its lineage."""
        self._note_shadow()
        super().shadow(version)

    def tidy(self) -> None:
        """What is done every hour: old pages go, and the agreement of the shadow is noted."""
        super().tidy()
        self._note_shadow()

    def _note_shadow(self) -> None:
        version = self._live.roles.shadow
        agreed = self.shadowing.agreement(version) if version else None
        if version and agreed:
            self.models.note(version, {"shadow": agreed})

    def readiness(self) -> Readiness:
        """Whether pages are served and recorded, and what is wrong."""
        spool = self.spool
        said = (*self.troubles, spool.trouble, self.recorder.trouble)
        return Readiness(
            ready=self.recorder.trouble is None,
            ranker=self._live.production.version,
            documents=len(self.index),
            generation=self.index.generation,
            database="away" if spool.trouble else "ok",
            waiting=spool.waiting,
            troubles=list(dict.fromkeys(one for one in said if one)),
        )
