"""The schema of an index in OpenSearch and Elasticsearch: written from fields, and read back."""

from collections.abc import Mapping
from typing import Any

from rankloop.engines.unsupported import Unsupported
from rankloop.search import Analyser, Field
from rankloop.search.index.snapshot import Manifest
from rankloop.search.text.stop_words import STOP_WORDS

__all__ = ["LENGTH", "META", "mapping_of", "schema_of"]

Json = dict[str, Any]

META = "rankloop"  # where a mapping keeps the schema it was made from
LENGTH = "length"  # the inner field of a text field that counts its words
_NUMBERS = (
    "byte",
    "short",
    "integer",
    "long",
    "unsigned_long",
    "half_float",
    "float",
    "double",
    "scaled_float",
)
_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = rf"[{_CJK}]\p{{M}}*|[\p{{L}}\p{{N}}&&[^{_CJK}]][\p{{L}}\p{{N}}\p{{M}}&&[^{_CJK}]]*"
_SNOWBALL = (
    "armenian", "basque", "catalan", "danish", "dutch", "english", "estonian", "finnish", "french", "german",
    "hungarian", "irish", "italian", "lithuanian", "norwegian", "porter", "portuguese", "romanian", "russian",
    "spanish", "swedish", "turkish",
)  # fmt: skip


def mapping_of(schema: Manifest, *, shards: int = 1, replicas: int = 1) -> Json:
    """The body that creates an index with the fields and analysers of a schema, which it also keeps."""
    analysis: Json = {
        "analyzer": {},
        "filter": {},
        "tokenizer": {"rankloop_words": {"type": "pattern", "pattern": _WORD, "group": 0}},
    }
    properties: Json = {schema.id_field: {"type": "keyword"}}
    copies: dict[str, list[str]] = {}
    for name, field in schema.fields.items():
        if field.source is not None:
            copies.setdefault(field.source, []).append(name)
        properties[name] = _property(name, field, schema.analyser, analysis)
    for name, targets in copies.items():
        properties[name]["copy_to"] = targets
    saved = {
        "fields": {name: field.to_dict() for name, field in schema.fields.items()},
        "analyser": schema.analyser.to_dict(),
        "id": schema.id_field,
    }
    settings = {"number_of_shards": shards, "number_of_replicas": replicas, "analysis": analysis}
    return {
        "settings": {"index": settings},
        "mappings": {"_meta": {META: saved}, "dynamic": "false", "properties": properties},
    }


def schema_of(mapping: Mapping[str, Any]) -> Manifest:
    """The schema that `mapping_of` kept; of an index that rankloop did not make, what its mapping suggests.

    There text, keyword, number and date fields at the top are taken.
    """
    saved = mapping.get("_meta", {}).get(META)
    if saved is not None:
        fields = {name: Field.from_dict(field) for name, field in saved["fields"].items()}
        return Manifest(fields, Analyser.from_dict(saved["analyser"]), id_field=saved["id"])
    found = {}
    for name, declared in mapping.get("properties", {}).items():
        kind = _kind(declared.get("type", "object"))
        if kind is not None and name not in ("id", "_id"):
            found[name] = Field(kind)
    return Manifest(found, Analyser())


def _kind(type_: str) -> str | None:
    if type_ in ("text", "match_only_text"):
        return "text"
    if type_ in ("keyword", "boolean", "constant_keyword"):
        return "keyword"
    if type_ in ("date", "date_nanos"):
        return "date"
    return "number" if type_ in _NUMBERS else None


def _property(name: str, field: Field, default: Analyser, analysis: Json) -> Json:
    if field.kind == "text":
        analyser = _analyser(name, field.analyser or default, analysis)
        length = {"type": "token_count", "analyzer": analyser, "enable_position_increments": False}
        return {"type": "text", "analyzer": analyser, "fields": {LENGTH: length}}
    if field.kind == "vector":
        return {"type": "object", "enabled": False}  # kept, and compared by rankloop
    types = {"keyword": "keyword", "number": "double", "date": "date"}
    return {"type": types[field.kind]}


def _analyser(name: str, analyser: Analyser, analysis: Json) -> str:
    """The name of an analyser like ours; what OpenSearch cannot do is refused."""
    if analyser.grams is not None or analyser.prefixes is not None:
        what = "n-grams across words" if analyser.grams else "beginnings of words beside their stems"
        raise Unsupported(f"field {name!r}: OpenSearch has no {what}; declare it without them")
    language = analyser.language if analyser.stem else None
    if language is not None and language not in _SNOWBALL:
        raise Unsupported(f"field {name!r}: OpenSearch has no Snowball stemmer for {language!r}; use another")
    stops = analyser.stop_words if isinstance(analyser.stop_words, tuple) else ()
    if analyser.stop_words is True:
        stops = tuple(STOP_WORDS.get(analyser.language or "", "").split())
    filters = ["lowercase"]
    key = f"rankloop_{len(analysis['analyzer'])}"
    if stops:
        analysis["filter"][f"{key}_stop"] = {"type": "stop", "stopwords": list(stops)}
        filters.append(f"{key}_stop")
    if language is not None:
        analysis["filter"][f"{key}_stem"] = {"type": "snowball", "language": language.capitalize()}
        filters.append(f"{key}_stem")
    if analyser.fold:
        filters.append("asciifolding")
    made = {"type": "custom", "tokenizer": "rankloop_words", "filter": filters}
    same = next((one for one, known in analysis["analyzer"].items() if _equal(known, made, analysis)), None)
    if same is not None:
        for one in filters:
            analysis["filter"].pop(one, None)
        return str(same)
    analysis["analyzer"][key] = made
    return key


def _equal(one: Json, two: Json, analysis: Json) -> bool:
    whole = analysis["filter"]
    return [whole.get(name, name) for name in one["filter"]] == [
        whole.get(name, name) for name in two["filter"]
    ]
