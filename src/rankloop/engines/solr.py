"""Solr, with its learning to rank."""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rankloop.engines.answer import Answer
from rankloop.engines.engine_away import EngineAway
from rankloop.engines.engine_features import EngineFeatures, declared_names
from rankloop.engines.health import Health
from rankloop.engines.remote.adding import Sent
from rankloop.engines.remote.address import Address
from rankloop.engines.remote.counted import Asked
from rankloop.engines.remote.credentials import Credentials
from rankloop.engines.remote.remote_engine import RemoteEngine
from rankloop.engines.remote.solr_client import SolrClient
from rankloop.engines.remote.solr_models import SolrModels
from rankloop.engines.remote.statistics import Wanted
from rankloop.engines.requests.engine_search import EngineSearch
from rankloop.engines.requests.solr_counts import facet_request, read_facets
from rankloop.engines.requests.solr_features import STORE, TEXT, computes, feature_store, read_features
from rankloop.engines.requests.solr_query import EVERYTHING, SolrWriter, ids_query, quoted
from rankloop.engines.requests.solr_schema import solr_schema
from rankloop.engines.requests.title_field import title_field
from rankloop.engines.score_part import ScorePart
from rankloop.search import Query
from rankloop.search.index.match import Filters
from rankloop.search.index.snapshot import Manifest
from rankloop.search.text.query import as_query

__all__ = ["Solr"]


class Solr(RemoteEngine):
    """A collection of SolrCloud: `Solr("solr://localhost:8983/shop")`.

    `models` holds its features and models of learning to rank. Keyword values are compared letter by letter.
    """

    client: SolrClient

    def __init__(self, address: str | Address, *, credentials: Credentials | None = None) -> None:
        found = Address.of(address)
        super().__init__(found, SolrClient(found, credentials))
        self.models = SolrModels(self.client)

    def computes(self, names: Iterable[str]) -> tuple[str, ...]:
        """Features that Solr's learning to rank computes; the others are rankloop's alone."""
        return computes(names, self.schema)

    def declare(self, names: Iterable[str]) -> tuple[str, ...]:
        """Put features into the collection's feature store; gives those that Solr computes."""
        wanted = feature_store(names, self.schema)
        self.models.declare(wanted)
        return tuple(str(one["name"]) for one in wanted)

    def features(
        self, query: str | Query, ids: Sequence[Any], names: Sequence[str] | None = None
    ) -> EngineFeatures:
        """Features that `declare` put into the store, as Solr logs them with `[features]`."""
        declared = list(self.models.features(STORE))
        columns = declared_names(names, declared, f"feature store {STORE!r}", "Solr")
        wanted, parsed = [str(id) for id in ids], as_query(query, self.fields)
        key = self.schema.id_field
        transformer = f"[features store={STORE} efi.{TEXT}={quoted(parsed.plain)}]"
        found = self._query(ids_query(key, wanted), [], limit=len(wanted), fields=[key, transformer])
        return EngineFeatures(tuple(wanted), columns, read_features(found["docs"], key, wanted, columns))

    def rescored(self, query: str | Query, model: str, k: int = 10, *, window: int = 1000) -> Answer:
        """The k best documents in the order of a deployed model, which scores the first `window`."""
        parsed = as_query(query, self.fields)
        rescoring = f"{{!ltr model={quoted(model)} reRankDocs={window} efi.{TEXT}={quoted(parsed.plain)}}}"
        return self._search(EngineSearch(parsed, k, rescore=rescoring))

    def documents(self, ids: Iterable[Any]) -> list[dict[str, Any] | None]:
        """Documents as they are stored, None for those that are not there."""
        wanted = [str(id) for id in ids]
        if not wanted:
            return []
        found = self._query(ids_query(self.schema.id_field, wanted), [], limit=len(wanted), fields=["*"])
        by_id = {str(one[self.schema.id_field]): _stored(one) for one in found["docs"]}
        return [by_id.get(id) for id in wanted]

    def any_document(self) -> dict[str, Any] | None:
        """One of the documents; None if there is none."""
        found = self._query(EVERYTHING, [], limit=1, fields=["*"])
        return next((_stored(one) for one in found["docs"]), None)

    def explain(self, query: str | Query, id: Any) -> ScorePart:
        """What Solr's own score of a document is made of."""
        parsed = as_query(query, self.fields)
        written = self._writer(SolrWriter, EngineSearch(parsed, 0)).write(parsed) or (EVERYTHING, [])
        params = {"debug": "results", "debug.explain.structured": "true"}
        only = ids_query(self.schema.id_field, [str(id)])
        found = self.client.call(
            "POST",
            self.client.collection("/select"),
            {"query": written[0], "filter": [*written[1], only], "limit": 1, "params": params},
        )
        reasons = found["debug"]["explain"].get(str(id))
        if reasons is None:
            if self.documents([id])[0] is None:
                raise LookupError(f"no document {str(id)!r} in {self.address}")
            return ScorePart(0.0, "the document does not match the query")
        return ScorePart.from_dict(reasons)

    def suggest(self, text: str, k: int = 5) -> list[str]:
        """Titles of the best documents for what was typed so far."""
        title = title_field(self.fields)
        if not text.strip() or title not in self.fields:
            return []
        last = text.split()[-1]
        found = self._search(EngineSearch(Query.parse(f"{text} {last}*", self.fields), 3 * k, documents=True))
        titles = (one.get(title) for one in found.documents)
        plain = (" ".join(one) if isinstance(one, list) else str(one) for one in titles if one)
        return list(dict.fromkeys(plain))[:k]

    def health(self) -> Health:
        """The state of the shards, the nodes and documents, and how far the local index is behind."""
        try:
            cluster = self.client.call("GET", "/solr/admin/collections", action="CLUSTERSTATUS")["cluster"]
            about = self.client.call("GET", "/solr/admin/info/system")
            documents = self._size()[0]
        except (EngineAway, LookupError, ValueError) as error:
            return Health("away", "", len(self), 0, (str(error),))
        name = cluster.get("aliases", {}).get(self.address.name, self.address.name)
        shards = cluster["collections"].get(name, {}).get("shards", {})
        down = [
            f"{shard}/{copy}: {one['state']}"
            for shard, part in shards.items()
            for copy, one in part["replicas"].items()
            if one["state"] != "active" or one["node_name"] not in cluster["live_nodes"]
        ]
        version = str(about["lucene"]["solr-spec-version"])
        status = "yellow" if down else "green"
        troubles = (*([self.trouble] if self.trouble else []), *down, *self.behind(documents))
        return Health(status, f"solr {version}", documents, len(cluster["live_nodes"]), troubles)

    def known(self, ids: Sequence[str]) -> list[bool]:
        """Whether the engine has each of some documents."""
        key = self.schema.id_field
        found = self._query(ids_query(key, list(ids)), [], limit=len(ids), fields=[key])
        there = {str(one[key]) for one in found["docs"]}
        return [id in there for id in ids]

    def send(self, documents: Sequence[tuple[str, Mapping[str, Any]]]) -> Sent:
        """Write documents by id; one that is refused is looked for among the others."""
        path = self.client.collection("/update")
        given = [{**one, self.schema.id_field: id} for id, one in documents]
        try:
            self.client.call("POST", path, given)
        except ValueError as error:
            if len(documents) == 1:
                return {documents[0][0]: _advised(str(error))}
            half = len(documents) // 2
            return {**self.send(documents[:half]), **self.send(documents[half:])}
        return {}

    def _publish(self) -> None:
        self.client.call("POST", self.client.collection("/update"), {"commit": {}})

    def _drop(self, ids: Sequence[str]) -> int:
        count = sum(self.known(ids)) if ids else 0
        if ids:
            self.client.call("POST", self.client.collection("/update"), {"delete": list(ids)})
        return count

    def _search(self, wanted: EngineSearch) -> Answer:
        start = time.perf_counter()
        query, sort, documents = wanted.query, wanted.sort, wanted.documents
        writer = self._writer(SolrWriter, wanted)
        written = writer.write(query)
        if written is None and not query.clauses and (wanted.filters or sort is not None):
            written = EVERYTHING, []
        if written is None:
            return Answer((), np.empty(0), 0, "no word that is searched")
        key = self.schema.id_field
        more: dict[str, Any] = {"offset": wanted.offset, "limit": wanted.k}
        more["params"] = {"rq": wanted.rescore} if wanted.rescore else {}
        if sort is not None:
            more["sort"] = f"{sort[0]} {'desc' if sort[1] else 'asc'}, score desc"
        fields = ["*", "score"] if documents else [key, "score"]
        by = [*written[1], *writer.filters(wanted.filters or {})]
        found = self._query(written[0], by, fields=fields, **more)
        return Answer(
            ids=tuple(str(one[key]) for one in found["docs"]),
            scores=np.array([one["score"] for one in found["docs"]], np.float64),
            matches=int(found["numFound"]),
            understood=writer.understood(query),
            partial=self._partial,
            seconds=time.perf_counter() - start,
            documents=tuple(_stored(one) for one in found["docs"]) if documents else (),
        )

    def _query(self, query: Any, filters: list[Any], **more: Any) -> Any:
        """A search; what was missing from its answer is a trouble until the next one."""
        body = {"query": query, "filter": filters, **more}
        answer = self.client.call("POST", self.client.collection("/select"), body)
        lost = answer["responseHeader"].get("partialResults")
        self._partial = f"{self.address}: not all shards answered in time" if lost else None
        return answer["response"]

    def _read_schema(self) -> tuple[Manifest, int]:
        try:
            found = self.client.call("GET", self.client.collection("/schema"))
        except LookupError:
            raise FileNotFoundError(f"no collection {self.address.name!r} at {self.address}") from None
        return solr_schema(found["schema"]), 0

    def _size(self) -> tuple[int, tuple[float, ...]]:
        found = self._query(EVERYTHING, [], limit=0)
        return int(found["numFound"]), tuple(math.nan for one in self.fields.values() if one.kind == "text")

    def _aggregated(self, query: Query, asked: Sequence[Asked], filters: Filters, match: str) -> list[Any]:
        writer = self._writer(SolrWriter, EngineSearch(query, 0, match=match))
        scored, needed = writer.write(query) or (EVERYTHING, [])
        body = {"query": scored, "filter": [*needed, *writer.filters(filters)], "limit": 0}
        found = self.client.call(
            "POST", self.client.collection("/select"), {**body, "facet": facet_request(asked)}
        )
        return read_facets(asked, found["facets"])

    def _counts(self, wanted: Sequence[Wanted]) -> list[int]:
        asked = {
            str(at): {"type": "query", "q": _has(fields, word)} for at, (fields, word) in enumerate(wanted)
        }
        body = {"query": EVERYTHING, "limit": 0, "facet": asked}
        found = self.client.call("POST", self.client.collection("/select"), body)["facets"]
        return [int(found.get(str(at), {}).get("count", 0)) for at in range(len(wanted))]


def _advised(reason: str) -> str:
    """Why Solr refused a document, and what to do where its schema is the reason."""
    lacks = "unknown field" in reason
    return f"{reason}; add it to the collection's schema, or leave it out" if lacks else reason


def _has(fields: Sequence[str], word: str) -> str:
    return f"{{!simple qf='{' '.join(fields)}' q.operators=WHITESPACE}}{word}"


def _stored(one: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in one.items() if name not in ("_version_", "score", "[features]")}
