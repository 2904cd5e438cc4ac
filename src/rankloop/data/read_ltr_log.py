"""Features that a search engine logged, as a data set."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._json import parse_json
from rankloop._names import one_of
from rankloop._warn import warn
from rankloop.data.answers.logged import Row, UnloggedError, logged
from rankloop.data.files.records import Faults
from rankloop.data.files.whole import as_text, read_whole
from rankloop.data.qrels import Qrels
from rankloop.data.ranking_dataset import RankingDataset

__all__ = ["read_ltr_log"]

Answers = str | Path | Mapping[Any, Mapping[str, Any]] | Iterable[Mapping[str, Any]]


def read_ltr_log(
    answers: Answers,
    qrels: Qrels | Mapping[str, Mapping[str, float]] | None = None,
    *,
    queries: Mapping[str, str] | Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    log: str | None = None,
    unjudged: str = "zero",
    on_error: str = "raise",
    skipped: "Counter[str] | None" = None,
) -> RankingDataset:
    """The documents of an engine's answers with the features it logged, and the labels of `qrels`.

    An answer is of OpenSearch or Elasticsearch with the learning-to-rank plugin (`ext.ltr_log`; `log` names
    one of several), of Elasticsearch with scores of named queries, of Solr with `[features]`, or of Vespa
    with match-features. `answers` maps query ids to answers, or holds answers in the order of `queries` (ids
    with their texts, or ids alone): a list, the answer to `_msearch`, or a file of JSON or JSON lines. In a
    file, `{"qid": ..., "query": ..., "answer": {...}}` names its query itself.

    A feature without a value is nan (0 in Solr, whose sparse format leaves zeros out). `features` gives the
    order of the columns; by default it is that of the log. A document without a judgment has label 0, or is
    left out with `unjudged="drop"`; a warning says when no document has one, since then the ids differ.

    >>> log = [{"name": "bm25", "value": 9.5}, {"name": "age"}]
    >>> hit = {"_id": "7", "fields": {"_ltrlog": [{"log1": log}]}}
    >>> data = read_ltr_log({"q1": {"hits": {"hits": [hit]}}}, {"q1": {"7": 2}}, queries={"q1": "rambo"})
    >>> data.X, data.y, data.docid, data.query_text, data.feature_names
    (array([[9.5, nan]], dtype=float32), array([2.], dtype=float32), array(['7'], dtype='<U1'), \
array(['rambo'], dtype='<U5'), ('bm25', 'age'))
    """
    one_of("unjudged", unjudged, ("drop", "zero"))
    labels = (
        qrels.to_dict() if isinstance(qrels, Qrels) else {str(q): dict(d) for q, d in (qrels or {}).items()}
    )
    rows: list[Row] = []
    qid: list[str] = []
    y: list[float] = []
    matched, strange = False, ""
    texts = {str(one): text for one, text in queries.items()} if isinstance(queries, Mapping) else {}
    with Faults(answers, on_error, skipped).summed_up() as faults:
        for number, query, text, answer in _named(answers, queries, faults):
            if query is None:
                faults(
                    number, "qid", "the query of this answer is not known", "pass queries=, in their order"
                )
                continue
            try:
                found = logged(answer, log)
            except UnloggedError as error:
                faults(number, "answer", str(error), "ask the engine again")
                continue
            if text:
                texts.setdefault(query, text)
            judged = labels.get(query, {})
            for row in found:
                matched = matched or row[0] in judged
                if row[0] not in judged and qrels is not None:
                    strange = strange or row[0]
                    faults.absent("documents without judgment")
                    if unjudged == "drop":
                        continue
                rows.append(row)
                qid.append(query)
                y.append(max(0.0, float(judged.get(row[0], 0.0))))
    if labels and strange and not matched:
        known = next((document for of_query in labels.values() for document in of_query), "none")
        warn(
            f"{faults.source}: no document is judged, so all labels are 0; the answers name documents like "
            f"{strange!r}, the judgments like {known!r}; use the same ids of queries and documents in both"
        )
    names = _names(rows, features)
    if not rows or not names:
        raise ValueError(f"{faults.source} hold no document with features; wanted answers with hits")
    return RankingDataset(
        _matrix(rows, names),
        np.array(y, np.float32),
        np.array(qid),
        docid=np.array([document for document, _, _ in rows]),
        query_text=texts or None,
        feature_names=names,
    )


def _named(
    answers: Answers, queries: Mapping[str, str] | Sequence[str] | None, faults: Faults
) -> Iterator[tuple[int, str | None, str, Mapping[str, Any]]]:
    """The number of each answer from 1, query id, text and answer; what is no answer is a fault."""
    wanted = "wanted an answer of an engine, a JSON object"
    number = 0
    if isinstance(answers, Mapping) and not _is_answer(answers) and "responses" not in answers:
        for number, (query, answer) in enumerate(answers.items(), 1):
            if isinstance(answer, Mapping):
                yield number, str(query), "", answer
            else:
                faults(number, str(query), f"{wanted}, got {str(answer)[:40]!r}", "ask the engine again")
        return
    ids = [str(query) for query in queries or ()]
    at = 0  # of the next id: an answer that cannot be used has its query too
    for one in _single(answers, faults):
        number += 1
        inside = one.get("answer") if isinstance(one, Mapping) and "answer" in one else None
        if isinstance(inside, Mapping):
            name = one.get("qid", one.get("query"))
            yield number, None if name is None else str(name), str(one.get("query") or ""), inside
            continue
        if inside is None:
            at += 1
        if inside is None and isinstance(one, Mapping) and "answer" not in one:
            yield number, ids[at - 1] if at <= len(ids) else None, "", one
        else:
            faults(number, "answer", f"{wanted}, got {str(one)[:40]!r}", "ask the engine again")
    if ids and at < len(ids):
        raise ValueError(f"queries has {len(ids)} ids, and there are {at} answers; give one id per answer")


def _single(answers: Answers, faults: Faults) -> Iterator[Any]:
    """One answer after the other, also of lists and of `_msearch`."""
    for found in _values(answers, faults):
        inside = found.get("responses") if isinstance(found, Mapping) else found
        yield from inside if isinstance(inside, list) else [found]


def _values(answers: Answers, faults: Faults) -> Iterator[Any]:
    if isinstance(answers, Mapping):
        yield answers
    elif isinstance(answers, str | Path):
        text = as_text(read_whole(answers), answers)
        try:
            yield parse_json(text)
        except json.JSONDecodeError:
            for number, line in enumerate(text.splitlines(), 1):
                if line.strip():
                    try:
                        yield parse_json(line)
                    except json.JSONDecodeError as error:
                        faults.line(number, f"is not JSON: {error}")
                        yield None  # the answer to the query of its turn, which is not known
    else:
        yield from answers


def _is_answer(one: Mapping[str, Any]) -> bool:
    return any(isinstance(one.get(name), Mapping) for name in ("hits", "response", "root")) or "answer" in one


def _names(rows: list[Row], features: Sequence[str] | None) -> list[str]:
    seen = dict.fromkeys(name for _, values, _ in rows for name in values)
    if features is None:
        return list(seen)
    lacking = [name for name in features if name not in seen]
    if lacking and rows:
        raise ValueError(f"no answer has the feature {lacking[0]!r}; it has {', '.join(seen)}")
    return list(features)


def _matrix(rows: list[Row], names: list[str]) -> Any:
    X = np.empty((len(rows), len(names)), np.float32)
    for i, (_, values, absent) in enumerate(rows):
        X[i] = [values.get(name, absent) for name in names]
    return X
