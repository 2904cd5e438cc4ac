"""`rankloop train` on an index or an engine: fit a search pipeline to judged queries."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rankloop.data import Qrels, Run
    from rankloop.metrics import Comparison
    from rankloop.rankers import Ranker

__all__ = ["SEARCH", "train_search"]

SEARCH = "search.rank"
HELD_OUT, CANDIDATES, SEED = 0.2, 200, 0


def train_search(
    source: str,
    qrels: Path | None,
    queries: Path | None,
    names: Path | None,
    model: "Ranker",
    target: Path,
    metrics: list[str],
    as_json: bool,
) -> None:
    """Train on three fifths of the queries, validate on a fifth, compare with words alone on a fifth.

    The run folder gets the pipeline, the figures, and the rankings of the held-out queries as TREC runs.
    """
    import json

    import numpy as np

    from rankloop._atomic import replacing_folder
    from rankloop.cli.options.reading import read_names
    from rankloop.data import write_run
    from rankloop.engines import open as open_engine
    from rankloop.metrics.compare import compare
    from rankloop.search import Features, first

    if qrels is None:
        raise ValueError(f"training on {source} needs --qrels, and --queries for their texts")
    opened = open_engine(source)
    texts, judgments = _judged_queries(source, qrels, queries)
    judged = set(map(str, judgments.qid.tolist()))
    known = [qid for qid in texts if qid in judged]
    if len(known) < 5:
        raise ValueError(
            f"{len(known)} queries of {queries or qrels} are judged in {qrels}; at least 5 are needed"
        )
    order = np.random.default_rng(SEED).permutation(len(known)).tolist()
    part = max(1, int(HELD_OUT * len(known)))
    parts = (order[:part], order[part : 2 * part], order[2 * part :])
    test, valid, train = ({known[i]: texts[known[i]] for i in one} for one in parts)
    retrieve = opened.retriever(k=CANDIDATES, typos="missing")
    features = Features.standard(opened) if names is None else Features(read_names(names))
    search = retrieve >> features >> model
    search.fit(train, judgments, valid=valid, among="retrieved")
    words = retrieve >> first(CANDIDATES)
    ranked = {"words alone": words.run(test), "learned": search.run(test)}
    held_out = {qid: judgments[qid] for qid in test}
    found = compare(ranked, held_out, metrics)
    figures = {name: one.to_dict() for name, one in found.systems.items()}
    verdicts = {metric: family["learned"] for metric, family in found.verdicts.items()}
    worse = [metric for metric, one in verdicts.items() if _is_worse(found, metric, one.difference)]
    with replacing_folder(target) as folder:
        search.save(folder / SEARCH)
        for name, one in (("test", ranked["learned"]), ("words", ranked["words alone"])):
            write_run(_without_blanks(one), folder / f"{name}.run")
        written = {"metrics.json": figures, "comparison.json": found.to_dict()["verdicts"]}
        for name, content in written.items():
            (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    if as_json:
        facts = {"run": str(target), "metrics": figures, "comparison": found.to_dict()["verdicts"]}
        typer.echo(json.dumps({**facts, "worse": worse}, indent=2))
        return
    typer.echo(f"{len(test)} held-out queries\n{found!r}")
    if worse:
        typer.echo(
            f"the learned ranking is worse than words alone (BM25) by {', '.join(worse)} on the held-out "
            "queries: keep words alone, or train on more judgments"
        )
    typer.echo(f"written to {target / SEARCH}, and the rankings of the held-out queries to test.run")


def _is_worse(found: "Comparison", metric: str, difference: float) -> bool:
    lower = metric in found.systems[found.baseline].lower_is_better
    return difference > 0 if lower else difference < 0


def _judged_queries(source: str, qrels: Path, queries: Path | None) -> "tuple[dict[str, Any], Qrels]":
    """The queries by id, and the judgments; judgments of a tool have the texts of the queries in them."""
    from rankloop.cli.options.queries import read_queries
    from rankloop.data import kind_of, read_judgments, read_qrels
    from rankloop.search import Query

    if kind_of(qrels) != "judgments":
        if queries is None:
            raise ValueError(
                f"training on {source} needs --qrels (TREC judgments) and --queries (a file "
                "of id, tab, text), or --qrels with judgments of a tool that keeps texts"
            )
        return read_queries(queries), read_qrels(qrels)
    judged = read_judgments(qrels)
    if queries is not None:
        return read_queries(queries), judged.to_qrels()
    return {name: Query.of_words(text) for name, text in judged.queries.items()}, judged.to_qrels()


def _without_blanks(run: "Run") -> "Run":
    """The run with ids that fit into a TREC file, where judgments name a query by its text."""
    from rankloop.data import Run

    return Run.from_dict(
        {"_".join(str(query).split()): run[query] for query in run.qid.tolist()}, tag=run.tag
    )
