"""Answers to searches: pages of results, why they are so, and the same query by several versions."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rankloop._arrays import Singles
from rankloop.search import Candidates, Deadline, Query, Retriever, Searchable
from rankloop.search.index.counts import Counts
from rankloop.serve.answer import Place, Seconds, as_filters, query_of, run_stages
from rankloop.serve.config import Config
from rankloop.serve.desk.hands import Hands, Rule
from rankloop.serve.desk.place_by_hand import ByHand, place_by_hand
from rankloop.serve.events.filters import is_bot
from rankloop.serve.events.recorder import Recorder
from rankloop.serve.events.shown_page import ShownPage
from rankloop.serve.events.signer import new_page_id
from rankloop.serve.experiments.composition import ComposedPage, compose, compose_following
from rankloop.serve.experiments.policy import Arm
from rankloop.serve.explanation import explain
from rankloop.serve.http.range_count import RangeCount
from rankloop.serve.http.schema import Comparison, Explanation, SearchAnswer, SearchRequest, Side
from rankloop.serve.models.live import Live, Model, logged_features
from rankloop.serve.models.shadow import Shadow
from rankloop.serve.online.arms import learning_arm, shown_earlier
from rankloop.serve.presenter import Presenter
from rankloop.serve.query_length import beginning
from rankloop.serve.versions import Versions

__all__ = ["Searcher"]

WARMING = 8  # words of the first search


class Searcher:
    """Searches with the versions that serve; every page that is shown is recorded with what estimators need.

    `features` are logged of every shown document; `presenter` makes results of documents.
    """

    def __init__(
        self,
        config: Config,
        index: Searchable,
        versions: Versions,
        recorder: Recorder,
        shadow: Shadow,
        hands: Hands,
    ) -> None:
        self.config, self.index, self.hands = config, index, hands
        self.presenter = Presenter.of(index, config.title, config.url)
        self.features = logged_features(index, config)
        self._versions, self._recorder, self._shadow = versions, recorder, shadow

    def search(
        self,
        request: SearchRequest,
        *,
        record: bool = True,
        version: str | None = None,
        bot: bool = False,
        address: str | None = None,
        deadline: Deadline | None = None,
        again: str | None = None,
        browse: bool = False,
    ) -> SearchAnswer:
        """A page of results; recorded unless it is a preview or of one given version.

        Of `address`, the person's, a keyed hash of its range is recorded. A page that is shown
        `again` comes with its token: what was drawn at random is the same, and it stays one record. To
        `browse` is to see all documents where nothing is asked for.

        Past the deadline, by default `limits.seconds` from now, a `DeadlineExceeded` is raised.
        """
        start = time.perf_counter()
        place = Place.of(request, self.config, self.index.fields)
        self.config.limits.check(request.query, place.k)
        # Whose page it is, and which version ranks it, or which two.
        shown_before = self._recorder.page_of(request.impression or again)
        record = record and request.record and version is None and (not place.offset or bool(shown_before))
        page_id, live = shown_before or new_page_id(), self._versions.live
        user = self._recorder.user(request.user)
        arm = live.arm(user or page_id) if version is None else Arm((version,))
        if place.sort:  # no ranker takes part, so no experiment does
            arm = Arm((live.production.version if version is None else version,))
        elif record:
            arm = learning_arm(arm, live, user or page_id, page_id)
        # The pipeline of each version. The first says how the query was understood, for all of them.
        query = self._query(request.query, request.user_features, request.unfinished, deadline)
        filters = as_filters(request.filters, self.index.fields)
        passing = filters if filters or browse else None
        models = [self._versions.model(one) for one in arm.versions]
        answers = [run_stages(models[0].pipeline, query, filters=passing, sort=place.sort)]
        query = answers[0].found.query  # as it was understood, for all that follows
        answers += [run_stages(model.pipeline, query, filters=passing) for model in models[1:]]
        # The page: what people placed by hand, swaps and interleaving, then titles, snippets and counts.
        rules = self.hands.matching(request.query) if version is None and not place.sort else []
        rankings, by_hand = self._by_hand([one.found for one in answers], rules, query, place, not filters)
        fixed = by_hand.placed if by_hand else ()
        page = self._composed(arm, rankings, page_id, place, swaps=record, fixed=fixed)
        seconds: Seconds = {}
        for one in answers:
            for name, took in one.seconds.items():
                seconds[name] = seconds.get(name, 0.0) + took
        clock = time.perf_counter()
        results = self.presenter.results(page.shown, request.fields, first=place.offset + 1)
        counts = self._counts(models[0], query, request, filters)
        seconds["show"] = time.perf_counter() - clock
        ranker = f"sort {place.sort}" if place.sort else arm.ranker
        # The record, with the features as they were served; a following page joins the first one.
        impression = None
        if record:
            clock = time.perf_counter()
            about: dict[str, Any] = {
                "ranker": ranker,
                "documents": tuple(result.id for result in results),
                "scores": np.array([result.score for result in results]),
                "features": self._features_of(page.shown, models),
                "feature_names": self.features.names,
                "user": user,
            }
            if place.offset and not results:
                impression = request.impression
            elif place.offset:
                following = models[0].following(page_id, query, place.offset + 1, **about)
                impression = self._recorder.following(following, str(request.impression))
            else:
                shown = models[0].page(
                    page_id,
                    query,
                    page.shown.snapshot.manifest.generation,
                    **about,
                    seconds=dict(seconds),
                    layout=f"{request.layout}.sorted" if place.sort else request.layout,
                    origin=self._recorder.origin(address),
                    policy=page.policy,
                    experiment=arm.group,
                    randomness=page.randomness | (by_hand.noted() if by_hand else {}),
                    found=answers[0].found.matches,
                    bot=bot or (request.user_agent is not None and is_bot(request.user_agent)),
                )
                impression = self._recorder.page(shown)
                if not place.sort and not again:
                    self._offer_to_shadow(live, query, passing, shown)
            seconds["record"] = time.perf_counter() - clock
        seconds["total"] = time.perf_counter() - start
        return SearchAnswer(
            impression=impression,
            query=request.query,
            found=answers[0].found.matches,
            results=results,
            facets=counts.values,
            ranges={
                name: [RangeCount(min=one.low, max=one.high, count=one.documents) for one in bins]
                for name, bins in counts.ranges.items()
            },
            ranker=ranker,
            generation=self.index.generation,
            seconds=seconds,
            cut=list(query.cut),
            understood=query.understood,
            offset=place.offset,
            last=self.config.candidates,
            mixed=len(models) > 1,
        )

    def explain(
        self,
        query: str,
        document: str,
        against: str | None = None,
        version: str | None = None,
        *,
        unit: str | None = None,
        deadline: Deadline | None = None,
    ) -> Explanation:
        """Why a document is where it is, and why it is above or below another.

        By a given version, by that which ranks the pages of a `unit`, a person, or by production.
        """
        self.config.limits.check(query)
        model = self._versions.live.for_unit(unit) if version is None else self._versions.model(version)
        asked = self._query(query, {}, deadline=deadline)
        return explain(model.pipeline, model.version, asked, document, against)

    def compare(
        self, query: str, versions: Sequence[str], k: int = 10, *, deadline: Deadline | None = None
    ) -> Comparison:
        """The same query answered by several versions; nothing is recorded."""
        request = SearchRequest(query=query, k=k)
        until = deadline or Deadline(self.config.limits.seconds)
        answers = [self.search(request, record=False, version=one, deadline=until) for one in versions]
        found = max((one.found for one in answers), default=0)
        sides = [Side(ranker=one.ranker, results=one.results, seconds=one.seconds) for one in answers]
        return Comparison(query=query, found=found, sides=sides)

    def suggest(self, prefix: str, n: int = 5, *, deadline: Deadline | None = None) -> list[str]:
        """Titles of the best documents for what was typed so far."""
        if not prefix.strip():
            return []
        request = SearchRequest(query=beginning(prefix, self.config.limits.query), k=3 * n, unfinished=True)
        found = self.search(request, record=False, deadline=deadline).results
        return list(dict.fromkeys(result.title for result in found))[:n]

    def warm(self) -> None:
        """Search once, however long it takes, so that nobody waits for kernels to be compiled.

        Several words of one text are searched for: a single one needs fewer kernels.
        """
        some = self.index.any_document() or {"": "nothing"}
        texts = (one.split() for one in some.values() if isinstance(one, str))
        words = " ".join(max(texts, key=len, default=["nothing"])[:WARMING])
        request = SearchRequest(query=beginning(words, self.config.limits.query))
        self.search(request, record=False, deadline=Deadline())

    def _query(
        self, text: str, user: Mapping[str, float], unfinished: bool = False, deadline: Deadline | None = None
    ) -> Query:
        query = query_of(text, self.index, user, unfinished=unfinished)
        return replace(query, deadline=deadline or Deadline(self.config.limits.seconds))

    def _composed(
        self,
        arm: Arm,
        rankings: Sequence[Candidates],
        page_id: str,
        place: Place,
        *,
        swaps: bool,
        fixed: Sequence[str],
    ) -> ComposedPage:
        """The page, or the one that follows it; what is sorted by a field stays as it is."""
        if place.offset:
            earlier = shown_earlier(self._recorder.store, page_id) if arm.online is not None else ()
            return compose_following(arm, rankings, page_id, place.offset, place.k, earlier)
        return compose(
            arm,
            rankings,
            page_id,
            place.k,
            swap_rate=self.config.swap_rate if swaps and not place.sort else 0.0,
            swap_top=self.config.swap_top,
            look_up=lambda ids: self.index.retriever().looked_up(rankings[0].query, ids),
            fixed=fixed,
        )

    def _counts(
        self, model: Model, query: Query, request: SearchRequest, filters: Mapping[str, Any]
    ) -> Counts:
        """Counts of the documents that the query finds, as it was understood.

        The filter of the field itself does not count, so that the other values to choose from stay.
        """
        if not request.facets and not request.ranges:
            return Counts({}, {})
        source = model.pipeline.stages[0]
        match, typos = (source.match, source.typos) if isinstance(source, Retriever) else ("any", "never")
        asked = {"k": request.facet_values, "filters": filters, "match": match, "typos": typos}
        return self.index.counts(query, request.facets, request.ranges, **asked)

    def _by_hand(
        self, rankings: list[Candidates], rules: list[Rule], query: Query, place: Place, fetch: bool
    ) -> tuple[list[Candidates], ByHand | None]:
        """The rankings after what people set by hand; both of an experiment alike."""
        if not rules:
            return rankings, None
        retriever = self.index.retriever()
        look_up = partial(retriever.looked_up, query) if fetch else None
        placed = [place_by_hand(one, rules, place.offset + place.k, look_up) for one in rankings]
        return [one.found for one in placed], placed[0]

    def _features_of(self, shown: Candidates, models: Sequence[Model]) -> Singles:
        """The features that are logged: the same set for every model, so that all can learn from all."""
        same = len(models) == 1 and models[0].pipeline.features.names == self.features.names
        if same and "features" in shown.columns:
            return np.asarray(shown.columns["features"], np.float32)
        return self.features.matrix(shown)

    def _offer_to_shadow(
        self, live: Live, query: Query, filters: Mapping[str, Any] | None, page: ShownPage
    ) -> None:
        version = live.roles.shadow
        if version is None or page.policy not in ("plain", "swap"):
            return
        pipeline, k = live.models[version].pipeline, len(page.documents)

        def rank() -> list[str]:
            again = replace(query, deadline=Deadline(self.config.limits.seconds))
            found = run_stages(pipeline, again, filters=filters).found
            return [str(id) for id in found.take(range(min(k, len(found)))).ids.tolist()]

        self._shadow.offer(version, page.documents, rank)
