"""Documents and their features in one answer of OpenSearch, Elasticsearch, Solr or Vespa."""

from collections.abc import Iterator, Mapping
from math import nan
from typing import Any

__all__ = ["Row", "UnloggedError", "logged"]

Row = tuple[str, dict[str, float], float]  # document, features by name, the value of those left out


class UnloggedError(ValueError):
    """An answer without features: where, and what was wanted."""


def logged(answer: Mapping[str, Any], log: str | None) -> list[Row]:
    """The rows of an answer, recognised by its shape; `log` chooses among several logs of OpenSearch."""
    try:
        return _rows(answer, log)
    except (AttributeError, KeyError, TypeError, RecursionError) as error:
        raise UnloggedError(f"its documents are not as engines write them ({error})") from None


def _rows(answer: Mapping[str, Any], log: str | None) -> list[Row]:
    if isinstance(answer.get("hits"), Mapping):
        return [_hit(hit, log) for hit in answer["hits"].get("hits") or []]
    if isinstance(answer.get("response"), Mapping) and "docs" in answer["response"]:
        return [_solr(one) for one in answer["response"]["docs"]]
    if isinstance(answer.get("root"), Mapping):
        return [_vespa(one) for one in _leaves(answer["root"])]
    raise UnloggedError(
        "wanted an answer of OpenSearch or Elasticsearch (hits), Solr (response.docs) or Vespa (root), got "
        f"an object with {', '.join(map(str, answer)) or 'nothing'}"
    )


def _hit(hit: Mapping[str, Any], log: str | None) -> Row:
    document = str(hit.get("_id"))
    logs = (hit.get("fields") or {}).get("_ltrlog")
    if logs:
        found = {name: entries for one in logs for name, entries in one.items()}
        if not found:
            raise UnloggedError(f"document {document!r} has an empty log; ask with ext.ltr_log")
        if log is None and len(found) > 1:
            raise UnloggedError(
                f"document {document!r} has the logs {', '.join(found)}; choose one with log="
            )
        name = next(iter(found)) if log is None else log
        if name not in found:
            raise UnloggedError(f"document {document!r} has no log {log!r}, only {', '.join(found)}")
        values = {one["name"]: _number(one.get("value", nan), one["name"], document) for one in found[name]}
        return document, values, nan
    named = hit.get("matched_queries")
    if isinstance(named, Mapping):
        return document, {name: _number(value, name, document) for name, value in named.items()}, nan
    raise UnloggedError(
        f"document {document!r} has no features; ask with ext.ltr_log, or with named queries and "
        "include_named_queries_score=true"
    )


def _solr(one: Mapping[str, Any]) -> Row:
    """Values as "a=1.5,b=2"; the sparse format leaves zeros out."""
    document = one.get("id")
    if document is None:
        raise UnloggedError("a document of Solr has no id; ask with fl=id,[features]")
    text = one.get("[features]")
    if not isinstance(text, str):
        raise UnloggedError(f"document {document!r} has no features; ask with fl=id,score,[features]")
    values = {}
    for pair in filter(None, text.split(",")):
        name, equals, value = pair.rpartition("=")
        if not equals:
            raise UnloggedError(f"document {document!r}: wanted name=value in [features], got {pair!r}")
        values[name] = _number(value, name, document)
    return str(document), values, 0.0


def _leaves(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The hits of Vespa, also inside groups."""
    for child in node.get("children") or []:
        if isinstance(child.get("fields"), Mapping):
            yield child
        yield from _leaves(child)


def _vespa(child: Mapping[str, Any]) -> Row:
    fields = child["fields"]
    address = str(fields.get("documentid") or child.get("id"))
    document = address.partition("::")[2] if address.startswith("id:") and "::" in address else address
    values = fields.get("matchfeatures", fields.get("summaryfeatures"))
    if not isinstance(values, Mapping):
        raise UnloggedError(f"document {document!r} has no features; add match-features to the rank profile")
    kept = {name: value for name, value in values.items() if not name.startswith("vespa.")}
    return document, {name: _number(value, name, document) for name, value in kept.items()}, nan


def _number(value: Any, name: str, document: object) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise UnloggedError(
            f"document {document!r}: feature {name!r} must be a number, got {value!r}"
        ) from None
