"""`rankloop train --index`: fit a search pipeline to judged queries."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rankloop.rankers import Ranker

__all__ = ["SEARCH", "train_search"]

SEARCH = "search.rank"
HELD_OUT, CANDIDATES, SEED = 0.2, 200, 0


def train_search(
    index: Path,
    judgments: Path | None,
    queries: Path | None,
    model: "Ranker",
    target: Path,
    metrics: list[str],
    json: bool,
) -> None:
    """Learn on three fifths of the queries, stop by a fifth, measure on the last, and write the pipeline."""
    import json as writer

    import numpy as np

    from rankloop._atomic import replacing_folder
    from rankloop.data import read_qrels
    from rankloop.search import Features, Index, first

    if judgments is None or queries is None:
        raise ValueError(
            "training a search needs --judgments (TREC qrels) and --queries (a file of id, tab, text)"
        )
    opened = Index.open(index)
    asked = _read_queries(queries)
    judged = read_qrels(judgments)
    known = [qid for qid in asked if qid in set(map(str, judged.qid.tolist()))]
    if len(known) < 5:
        raise ValueError(
            f"{len(known)} queries of {queries} are judged in {judgments}; at least 5 are needed"
        )
    order = np.random.default_rng(SEED).permutation(len(known)).tolist()
    part = max(1, int(HELD_OUT * len(known)))
    parts = (order[:part], order[part : 2 * part], order[2 * part :])
    test, valid, train = ({known[i]: asked[known[i]] for i in one} for one in parts)
    retrieve = opened.retriever(k=CANDIDATES, typos="missing")
    search = retrieve >> Features.standard(opened) >> model
    search.fit(train, judged, valid=valid, among="retrieved")
    found = {"words alone": retrieve >> first(CANDIDATES), "learned": search}
    figures: dict[str, Any] = {}
    for name, one in found.items():
        measured = one.evaluate(test, judged, metrics)
        figures[name] = measured.to_dict()
        if not json:
            typer.echo(f"{name}, {len(test)} held-out queries\n{measured!r}")
    with replacing_folder(target) as folder:
        search.save(folder / SEARCH)
        (folder / "metrics.json").write_text(writer.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if json:
        typer.echo(writer.dumps({"run": str(target), "metrics": figures}, indent=2))
    else:
        typer.echo(f"written to {target / SEARCH}")


def _read_queries(path: Path) -> dict[str, Any]:
    from rankloop.search import Query

    asked = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        qid, tab, text = line.partition("\t")
        if line.strip() and not tab:
            raise ValueError(f"{path}, line {number}: wanted an id, a tab and the query, got {line!r}")
        if line.strip():
            asked[qid] = Query.of_words(text)
    return asked
