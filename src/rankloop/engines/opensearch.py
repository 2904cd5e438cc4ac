"""OpenSearch, and Elasticsearch where the calls agree."""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import numpy as np

from rankloop.engines.answer import Answer
from rankloop.engines.engine_away import EngineAway
from rankloop.engines.engine_features import EngineFeatures
from rankloop.engines.health import Health
from rankloop.engines.remote import opensearch_documents as by_id
from rankloop.engines.remote.adding import Sent
from rankloop.engines.remote.address import Address
from rankloop.engines.remote.counted import Asked
from rankloop.engines.remote.credentials import Credentials
from rankloop.engines.remote.opensearch_client import OpenSearchClient
from rankloop.engines.remote.opensearch_health import health_of
from rankloop.engines.remote.opensearch_models import OpenSearchModels
from rankloop.engines.remote.remote_engine import RemoteEngine
from rankloop.engines.remote.statistics import Wanted
from rankloop.engines.requests.engine_search import EngineSearch
from rankloop.engines.requests.opensearch_answer import partial, read_answer, search_body, sent
from rankloop.engines.requests.opensearch_counts import aggregations, read_aggregations
from rankloop.engines.requests.opensearch_features import computes, feature_request, read_features
from rankloop.engines.requests.opensearch_mapping import LENGTH, META, mapping_of, schema_of
from rankloop.engines.requests.opensearch_query import OpenSearchWriter, has_word
from rankloop.engines.requests.opensearch_sltr import rescoring
from rankloop.engines.requests.title_field import title_field
from rankloop.engines.score_part import ScorePart
from rankloop.search import Analyser, Field, Query
from rankloop.search.field import read_fields
from rankloop.search.index.match import Filters
from rankloop.search.index.snapshot import Manifest
from rankloop.search.text.query import as_query

__all__ = ["OpenSearch"]

CREATING = 60.0  # seconds


class OpenSearch(RemoteEngine):
    """An index or alias of OpenSearch: `OpenSearch("opensearch://localhost:9200/shop")`.

    Elasticsearch has the same calls, but is untried. `models` holds the models of the learning-to-rank
    plugin, `lengths` says whether rankloop made the index, which then counts the words of its fields.
    """

    client: OpenSearchClient
    _keyed: bool

    def __init__(self, address: str | Address, *, credentials: Credentials | None = None) -> None:
        found = Address.of(address)
        super().__init__(found, OpenSearchClient(found, credentials))
        self.models = OpenSearchModels(self.client)

    @classmethod
    def create(
        cls,
        address: str | Address,
        fields: Mapping[str, str | Field],
        *,
        analyser: Analyser | None = None,
        id: str = "id",
        credentials: Credentials | None = None,
    ) -> "OpenSearch":
        """A new, empty index; its shards and replicas are options of the address."""
        found = Address.of(address)
        schema = Manifest(read_fields(fields), analyser or Analyser(), id_field=id)
        body = mapping_of(schema, shards=found.number("shards", 1, 1), replicas=found.number("replicas", 1))
        client = OpenSearchClient(found, credentials)
        client.call("PUT", client.index(), body, timeout=max(found.timeout, CREATING))
        return cls(found, credentials=credentials)

    def found(self, query: Query, k: int, **how: Any) -> Answer:
        """The candidates of a retriever, which does not ask for the clauses that match."""
        return super().found(query, k, named=False, **how)

    def computes(self, names: Iterable[str]) -> tuple[str, ...]:
        """Features that come from named clauses and doc values; the others are rankloop's alone."""
        return computes(names, self.schema, lengths=self.lengths)

    def declare(self, names: Iterable[str]) -> tuple[str, ...]:
        """Put features into a feature set of the plugin; gives those that it computes."""
        return self.models.declare(list(names), self.schema, lengths=self.lengths)

    def features(
        self,
        query: str | Query,
        ids: Sequence[Any],
        names: Sequence[str] | None = None,
        *,
        declared: bool = False,
    ) -> EngineFeatures:
        """BM25 of fields, words found, phrases, lengths and numbers, with the idf of all shards.

        They are scores of named clauses and doc values; those `declared` are logged by the plugin instead.
        """
        parsed, wanted = as_query(query, self.fields), tuple(map(str, ids))
        if declared:
            return self.models.features(parsed.plain, wanted, names)
        columns = feature_request(parsed, wanted, names, self.schema, lengths=self.lengths)
        answer = self._post(
            "/_search", columns.body, search_type="dfs_query_then_fetch", include_named_queries_score="true"
        )
        return EngineFeatures(wanted, columns.names, read_features(answer, wanted, columns, self.schema))

    def rescored(self, query: str | Query, model: str, k: int = 10, *, window: int = 1000) -> Answer:
        """The k best documents in the order of a deployed model, which scores the first `window`."""
        parsed = as_query(query, self.fields)
        return self._search(EngineSearch(parsed, k, rescore=rescoring(model, parsed.plain, window)))

    def documents(self, ids: Iterable[Any]) -> list[dict[str, Any] | None]:
        """Documents as they were given, None for those that are not there."""
        return by_id.fetch(self.client, [str(id) for id in ids])

    def any_document(self) -> dict[str, Any] | None:
        """One of the documents; None if there is none."""
        found = self._post("/_search", {"size": 1})
        return next((hit["_source"] for hit in found["hits"]["hits"]), None)

    def explain(self, query: str | Query, id: Any) -> ScorePart:
        """What OpenSearch's own score of a document is made of."""
        parsed = as_query(query, self.fields)
        body = self._writer(OpenSearchWriter, EngineSearch(parsed, 0)).write(parsed) or {"match_none": {}}
        path = self.client.index(f"/_explain/{quote(str(id), safe='')}")
        found = self.client.call("POST", path, {"query": body}, absent={})
        if not found or found.get("_id") is None or "explanation" not in found:
            if self.documents([id])[0] is None:
                raise LookupError(f"no document {str(id)!r} in {self.address}")
            return ScorePart(0.0, "the document does not match the query")
        return ScorePart.from_dict(found["explanation"])

    def suggest(self, text: str, k: int = 5) -> list[str]:
        """Titles of the best documents for what was typed so far."""
        title = title_field(self.fields)
        if not text.strip() or title not in self.fields:
            return []
        body = {"size": 3 * k, "_source": [title], "query": {"match_bool_prefix": {title: {"query": text}}}}
        found = self._post("/_search", body)
        titles = (hit["_source"].get(title) for hit in found["hits"]["hits"])
        plain = (" ".join(one) if isinstance(one, list) else str(one) for one in titles if one)
        return list(dict.fromkeys(plain))[:k]

    def health(self) -> Health:
        """The engine's own colour, its nodes and documents, and how far the local index is behind."""
        try:
            documents = self._size()[0]
            return health_of(self.client, documents, (self.trouble, *self.behind(documents)))
        except (EngineAway, LookupError, ValueError) as error:
            return Health("away", "", len(self), 0, (str(error),))

    def known(self, ids: Sequence[str]) -> list[bool]:
        """Whether the engine has each of some documents."""
        return by_id.known(self.client, ids)

    def send(self, documents: Sequence[tuple[str, Mapping[str, Any]]]) -> Sent:
        """Write documents by id; a busy engine is asked again, what it refuses is reported."""
        return by_id.send(self.client, documents)

    def _publish(self) -> None:
        self.client.call("POST", self.client.index("/_refresh"))

    def _drop(self, ids: Sequence[str]) -> int:
        return by_id.drop(self.client, ids)

    def _search(self, wanted: EngineSearch) -> Answer:
        start = time.perf_counter()
        query, named, documents = wanted.query, wanted.named, wanted.documents
        writer = replace(self._writer(OpenSearchWriter, wanted), named=named)
        body = writer.write(query, wanted.filters)
        if body is None and wanted.sort is not None and not query.clauses:
            body = {"match_all": {}}
        if body is None:
            return Answer((), np.empty(0), 0, "no word that is searched")
        key = self.schema.id_field if self._keyed and not named and not documents else None
        found = self._post("/_search", search_body(body, wanted, key), **sent(wanted, key))
        answer = read_answer(found, writer.understood(query), time.perf_counter() - start, key)
        if answer is None:  # others wrote documents whose id is their `_id` alone
            self._keyed = False
            return self._search(wanted)
        return answer

    def _post(self, path: str, body: Mapping[str, Any], **params: Any) -> Any:
        """A search; what was missing from its answer is a trouble until the next one."""
        found = self.client.call("POST", self.client.index(path), body, **params)
        missing = partial(found)
        self._partial = None if missing is None else f"{self.address}: {missing}"
        return found

    def _read_schema(self) -> tuple[Manifest, int]:
        found = self.client.call("GET", self.client.index(), absent={})
        if not found:
            raise FileNotFoundError(
                f"no index or alias {self.address.name!r} at {self.address}; make it with rankloop index"
            )
        newest = max(found.values(), key=lambda one: int(one["settings"]["index"]["creation_date"]))
        self.lengths = META in newest["mappings"].get("_meta", {})
        schema = schema_of(newest["mappings"])
        self._keyed = self.lengths and schema.id_field.isidentifier()  # the id is a column of its own
        if not schema.fields:
            raise ValueError(
                f"{self.address} has no text, keyword, number or date field that can be searched"
            )
        return schema, int(newest["settings"]["index"]["creation_date"]) // 1000

    def _size(self) -> tuple[int, tuple[float, ...]]:
        texts = [name for name, field in self.fields.items() if field.kind == "text"]
        sums = {name: {"sum": {"field": f"{name}.{LENGTH}"}} for name in texts} if self.lengths else {}
        body = (
            {"size": 0, "track_total_hits": True, "aggs": sums}
            if sums
            else {"size": 0, "track_total_hits": True}
        )
        found = self._post("/_search", body)
        documents = int(found["hits"]["total"]["value"])
        if not sums:
            return documents, tuple(math.nan for _ in texts)
        return documents, tuple(found["aggregations"][name]["value"] / max(documents, 1) for name in texts)

    def _aggregated(self, query: Query, asked: Sequence[Asked], filters: Filters, match: str) -> list[Any]:
        writer = self._writer(OpenSearchWriter, EngineSearch(query, 0, match=match))
        body = writer.write(query, filters) or {"bool": {"filter": writer.filters(filters)}}
        found = self._post("/_search", {"size": 0, "query": body, "aggs": aggregations(asked)})
        return read_aggregations(asked, found["aggregations"])

    def _counts(self, wanted: Sequence[Wanted]) -> list[int]:
        lines: list[Mapping[str, Any]] = []
        for fields, word in wanted:
            lines += [{}, {"size": 0, "track_total_hits": True, "query": has_word(fields, word)}]
        found = self.client.search_all(lines)
        return [int(one["hits"]["total"]["value"]) if "hits" in one else 0 for one in found]
