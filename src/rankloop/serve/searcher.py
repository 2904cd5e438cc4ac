"""Searching: pages of results, why they are so, and the same query by several versions."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop.search import Candidates, Index, Query
from rankloop.serve.answer import Seconds, Showing, answered, as_filters, asked
from rankloop.serve.config import Config
from rankloop.serve.events.filters import is_bot
from rankloop.serve.events.recorder import Recorder
from rankloop.serve.events.shown_page import ShownPage
from rankloop.serve.events.signer import new_page_id
from rankloop.serve.events.store import Store
from rankloop.serve.experiments.composition import composed
from rankloop.serve.experiments.policy import Arm, arm_of
from rankloop.serve.explanation import explained
from rankloop.serve.http.schema import Comparison, Explanation, SearchAnswer, SearchRequest, Side
from rankloop.serve.models.live import Live, Model, logged_features
from rankloop.serve.models.shadow import Shadowing
from rankloop.serve.versions import Serving

__all__ = ["Searching"]


class Searching(Serving):
    """What serves, asked: every page that is shown is recorded with what estimators need."""

    def __init__(self, config: Config, index: Index, store: Store) -> None:
        self.showing = Showing.of(index, config.title, config.url)
        self.features = logged_features(index, config)
        super().__init__(config, index, store)
        self.recorder = Recorder(config, store)
        self.shadowing = Shadowing()

    def search(
        self, request: SearchRequest, *, record: bool = True, version: str | None = None, bot: bool = False
    ) -> SearchAnswer:
        """A page of results; recorded unless it is a preview or asks for one version."""
        start = time.perf_counter()
        k = request.k or min(self.config.k, self.config.limits.k)
        self._check(request.query, k)
        record = record and request.record and version is None
        page_id, live = new_page_id(), self._live
        user = self.recorder.user(request.user)
        arm = self._arm(live, user or page_id) if version is None else Arm((version,))
        query = asked(request.query, self.index, request.user_features, unfinished=request.unfinished)
        filters = as_filters(request.filters, self.index.fields)
        models = [self.model(one) for one in arm.versions]
        answers = [answered(model.pipeline, query, filters=filters) for model in models]
        page = composed(
            arm,
            [one.found for one in answers],
            page_id,
            k,
            swap_rate=self.config.swap_rate if record else 0.0,
            swap_top=self.config.swap_top,
        )
        seconds: Seconds = {}
        for one in answers:
            for name, took in one.seconds.items():
                seconds[name] = seconds.get(name, 0.0) + took
        clock = time.perf_counter()
        results = self.showing.results(page.shown, request.fields)
        facets = {name: self.index.facets(query, name, filters=filters) for name in request.facets}
        seconds["show"] = time.perf_counter() - clock
        impression = None
        if record:
            clock = time.perf_counter()
            shown = self._shown(
                page_id,
                query,
                models[0],
                page.shown.snapshot.manifest.generation,
                ranker=" + ".join(arm.versions),
                seconds=dict(seconds),
                documents=tuple(result.id for result in results),
                scores=np.array([result.score for result in results]),
                features=self._described(page.shown, models),
                feature_names=self.features.names,
                layout=request.layout,
                user=user,
                policy=page.policy,
                experiment=arm.experiment.id if arm.experiment else None,
                randomness=page.randomness,
                found=answers[0].found.matches,
                bot=bot or (request.user_agent is not None and is_bot(request.user_agent)),
            )
            impression = self.recorder.page(shown)
            self._shadow(live, query, filters, shown)
            seconds["record"] = time.perf_counter() - clock
        seconds["total"] = time.perf_counter() - start
        return SearchAnswer(
            impression=impression,
            query=request.query,
            found=answers[0].found.matches,
            results=results,
            facets=facets,
            ranker=" + ".join(arm.versions),
            generation=self.index.generation,
            seconds=seconds,
        )

    def explain(
        self, query: str, document: str, against: str | None = None, version: str | None = None
    ) -> Explanation:
        """Why a document is where it is, and why it is above or below another."""
        self._check(query, 1)
        model = self._live.production if version is None else self.model(version)
        return explained(model.pipeline, model.version, asked(query, self.index, {}), document, against)

    def compare(self, query: str, versions: Sequence[str], k: int = 10) -> Comparison:
        """The same query answered by several versions; nothing is recorded."""
        request = SearchRequest(query=query, k=k)
        answers = [self.search(request, record=False, version=version) for version in versions]
        found = max((one.found for one in answers), default=0)
        sides = [Side(ranker=one.ranker, results=one.results, seconds=one.seconds) for one in answers]
        return Comparison(query=query, found=found, sides=sides)

    def suggest(self, prefix: str, n: int = 5) -> list[str]:
        """Titles of the best documents for what was typed so far."""
        if not prefix.strip():
            return []
        request = SearchRequest(query=prefix[: self.config.limits.query], k=3 * n, unfinished=True)
        found = self.search(request, record=False).results
        return list(dict.fromkeys(result.title for result in found))[:n]

    def warm(self) -> None:
        """Search once, so that the first person does not wait for kernels to load."""
        some = self.index.ids[:1].tolist()
        words = self.showing.title_of("", self.index[some[0]]) if some else "nothing"
        self.search(SearchRequest(query=words[: self.config.limits.query]), record=False)

    def _check(self, query: str, k: int) -> None:
        limits = self.config.limits
        if len(query) > limits.query:
            raise ValueError(f"a query has at most {limits.query} letters, got {len(query)}")
        if k > limits.k:
            raise ValueError(f"at most k={limits.k} results, got {k}")

    def _arm(self, live: Live, unit: str) -> Arm:
        roles = live.roles
        return arm_of(
            unit,
            live.production.version,
            experiments=live.experiments,
            canary=roles.canary,
            share=roles.share,
        )

    def _shown(self, page_id: str, query: Query, model: Model, generation: int, **page: Any) -> ShownPage:
        """A page of a model at a moment."""
        return ShownPage(
            page_id=page_id,
            time=float(query.at or 0.0),
            query=" ".join(query.text.split()),
            generation=generation,
            fingerprint=model.fingerprint(generation),
            **page,
        )

    def _described(self, shown: Candidates, models: Sequence[Model]) -> NDArray[np.float32]:
        """The features that are logged: the same set for every model, so that all can learn from all."""
        same = len(models) == 1 and models[0].pipeline.features.names == self.features.names
        if same and "features" in shown.columns:
            return np.asarray(shown.columns["features"], np.float32)
        return self.features.matrix(shown)

    def _shadow(self, live: Live, query: Query, filters: Mapping[str, Any], page: ShownPage) -> None:
        version = live.roles.shadow
        if version is None or page.policy not in ("plain", "swap"):
            return
        pipeline, k = live.models[version].pipeline, len(page.documents)

        def rank() -> list[str]:
            found = answered(pipeline, query, filters=filters).found
            return [str(id) for id in found.take(range(min(k, len(found)))).ids.tolist()]

        self.shadowing.offer(version, page.documents, rank)
