"""`rankloop evaluate`: how good is this ranking?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from rankloop.cli.options.arguments import Convention, Empty, Json, Metrics, PerQuery, Ties
from rankloop.cli.options.cluster import Backend, Workers, check_on

__all__ = ["evaluate"]


def evaluate(
    ranking: Annotated[
        Path, typer.Argument(help="A TREC run, a file of scores (text or .npy), or a saved ranker.")
    ],
    judgments: Annotated[
        Path | None, typer.Argument(help="TREC qrels, or a data set: LETOR/SVMLight, Parquet or saved.")
    ] = None,
    metric: Metrics = None,
    by: Annotated[
        str | None, typer.Option(help="Rank by one feature of the data set: its number or name.")
    ] = None,
    convention: Convention = None,
    ties: Ties = None,
    empty: Empty = None,
    condensed: Annotated[
        bool, typer.Option("--condensed", help="Take documents without judgment out of the run first.")
    ] = False,
    per_query: PerQuery = None,
    backend: Backend = None,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Evaluate a ranking: means of metrics with 95 % intervals over the queries.

    rankloop evaluate bm25.run qrels.txt

    rankloop evaluate scores.txt test.txt -m ndcg@10 -m map

    rankloop evaluate test.txt --by 25

    rankloop evaluate model.rank test.shards --backend ray
    """
    from rankloop.cli.options.inputs import read_judgments, read_ranking
    from rankloop.cli.options.outputs import show, write_frame
    from rankloop.cli.options.warm import compiling_metrics
    from rankloop.metrics.evaluate import evaluate as evaluation_of

    check_on(backend, workers=workers)
    judged_by = ranking if by is not None and judgments is None else judgments
    if judged_by is None:
        raise ValueError(
            f"{ranking} needs judgments: rankloop evaluate {ranking} JUDGMENTS, where JUDGMENTS is a TREC "
            "qrels file or a data set; or rank a data set by a feature with --by"
        )
    if by is not None and judgments is not None:
        raise ValueError("--by ranks the one data set named; leave out the second file")
    options: dict[str, Any] = {"convention": convention, "ties": ties, "empty": empty}
    if condensed and backend is not None:
        raise ValueError("--condensed is for a run and its qrels on this machine; leave --backend out")
    if backend is not None:
        from rankloop.cli.options.cluster import evaluate_on

        found = evaluate_on(backend, workers, ranking, judged_by, metric, **options)
    else:
        with compiling_metrics():
            labels = read_judgments(judged_by)
            ranked = read_ranking(ranking) if by is None else _feature(labels, by, judged_by)
        found = evaluation_of(ranked, labels, metric or None, condensed=condensed, **options)
    if per_query is not None:
        write_frame(found.per_query, per_query)
    show(
        found, as_json=json, ranking=str(ranking) if by is None else f"feature {by}", judgments=str(judged_by)
    )


def _feature(data: Any, by: str, path: Path) -> Any:
    from rankloop.cli.options.simulation import feature_column
    from rankloop.data import RankingDataset

    if not isinstance(data, RankingDataset):
        raise ValueError(f"--by needs a data set with features, but {path} holds judgments only")
    return feature_column(data, by)
