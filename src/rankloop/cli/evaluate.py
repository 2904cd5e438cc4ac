"""`rankloop evaluate`: how good is this ranking?"""

from typing import Annotated, Any

import typer

from rankloop.cli.options.cluster import OnShards
from rankloop.cli.options.group import grouped
from rankloop.cli.options.measuring import Measuring
from rankloop.cli.options.reading import Reading

__all__ = ["evaluate"]


@grouped
def evaluate(
    ranking: Annotated[
        str,
        typer.Argument(
            help="A TREC run, a file of scores (text or .npy), a saved ranker or its run folder; - is "
            "standard input."
        ),
    ],
    judgments: Annotated[
        str | None,
        typer.Argument(help="TREC qrels, or a data set: LETOR/SVMLight, Parquet, CSV, JSONL, saved, shards."),
    ] = None,
    *,
    measuring: Measuring,
    by: Annotated[
        str | None, typer.Option(help="Rank by one feature of the data set: its number or name.")
    ] = None,
    condensed: Annotated[
        bool, typer.Option("--condensed", help="Remove documents without judgment from the run first.")
    ] = False,
    work: OnShards,
    reading: Reading,
) -> None:
    """Evaluate a ranking: means of metrics with 95 % intervals over the queries.

    rankloop evaluate bm25.run qrels.txt

    rankloop evaluate scores.txt test.txt -m ndcg@10 -m map

    rankloop evaluate scores.txt test.csv --qid query --label grade

    rankloop evaluate test.txt --by 25

    rankloop evaluate model.rank test.shards --backend ray
    """
    from rankloop.cli.options.inputs import one_standard_input, read_judgments
    from rankloop.cli.options.warm import compiling_metrics
    from rankloop.metrics.evaluate import evaluate as evaluation_of

    work.check(reading)
    measuring.check()
    one_standard_input(ranking, judgments)
    judged_by = ranking if by is not None and judgments is None else judgments
    if judged_by is None:
        raise ValueError(
            f"{ranking} needs judgments: rankloop evaluate {ranking} JUDGMENTS, where JUDGMENTS is a TREC "
            "qrels file or a data set; or rank a data set by a feature with --by"
        )
    if by is not None and judgments is not None:
        raise ValueError("--by ranks the one data set named; leave out the second file")
    if condensed and work.backend is not None:
        raise ValueError("--condensed is for a run and its qrels on this machine; leave --backend out")
    if work.backend is not None:
        from rankloop.cli.options.cluster import evaluate_on

        found = evaluate_on(work, ranking, judged_by, measuring.metric, **measuring.rules)
    else:
        with compiling_metrics(judged_by, *(() if by is not None else (ranking,))):
            labels = read_judgments(judged_by, reading)
            ranked = reading.ranking(ranking, judged_by) if by is None else _feature(labels, by, judged_by)
        found = evaluation_of(
            ranked, labels, measuring.metric or None, condensed=condensed, **measuring.rules
        )

    def page(found: Any) -> Any:
        from rankloop.report import Report, metric_intervals

        made = Report(f"Evaluation of {ranking}", f"Judged by {judged_by}")
        return made.add("Metrics", metric_intervals({ranking: found}), found)

    ranked_by = ranking if by is None else f"feature {by}"
    measuring.show(found, page, ranking=ranked_by, judgments=judged_by)


def _feature(data: Any, by: str, path: str) -> Any:
    from rankloop.cli.options.simulation import feature_column
    from rankloop.data import RankingDataset

    if not isinstance(data, RankingDataset):
        raise ValueError(f"--by needs a data set with features, but {path} holds judgments only")
    return feature_column(data, by)
