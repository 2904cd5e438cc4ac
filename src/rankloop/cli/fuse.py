"""`rankloop fuse`: several TREC runs as one."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rankloop.cli.options.arguments import Json, Seed

__all__ = ["fuse"]


def fuse(
    runs: Annotated[
        list[str], typer.Argument(help="TREC runs of the same queries, two or more; - is standard input.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The fused run to write.")],
    method: Annotated[
        str | None,
        typer.Option(help="rrf (by ranks; the default), comb_sum or comb_mnz (by scores); with --qrels all."),
    ] = None,
    constant: Annotated[float, typer.Option(help="The constant of rrf.")] = 60.0,
    norm: Annotated[
        str, typer.Option(help="How comb_sum and comb_mnz scale scores: minmax, sum, zscore or none.")
    ] = "minmax",
    weights: Annotated[str | None, typer.Option(help="One weight per run, like 1,0.5.")] = None,
    qrels: Annotated[
        str | None, typer.Option(help="TREC judgments: choose method, options and weights by them.")
    ] = None,
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="With --qrels: the metric to tune by.")
    ] = "ndcg@10",
    k: Annotated[int | None, typer.Option("-k", help="Keep this many documents of each query.")] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Fuse rankings of the same queries into one run.

    rankloop fuse bm25.run dense.run --out fused.run

    rankloop fuse bm25.run dense.run --qrels train.qrels --metric ndcg@10 --out fused.run
    """
    import json as writer

    from rankloop.cli.options.inputs import one_standard_input, read_ranking
    from rankloop.data import Run, write_run
    from rankloop.rankers.fuse import fuse as fuse_runs

    if len(runs) < 2:
        raise ValueError(f"fuse needs two runs or more, got {len(runs)}")
    one_standard_input(*runs, qrels)
    try:
        shares = None if weights is None else [float(one) for one in weights.split(",")]
    except ValueError:
        raise ValueError(f"--weights are numbers, like 1,0.5, got {weights!r}") from None
    if qrels is not None and weights is not None:
        raise ValueError("--qrels finds the weights; leave --weights or --qrels out")
    read = [read_ranking(path) for path in runs]
    for path, one in zip(runs, read, strict=True):
        if not isinstance(one, Run):
            raise ValueError(f"{path} is not a TREC run (query Q0 document rank score tag); fuse joins runs")
    about: dict[str, Any] = {}
    if qrels is None:
        fused = fuse_runs(read, method or "rrf", constant=constant, norm=norm, weights=shares, k=k)
    else:
        from rankloop.cli.options.inputs import read_judgments
        from rankloop.data import Qrels
        from rankloop.rankers.tune_fusion import tune_fusion

        judged = read_judgments(qrels)
        known = judged if isinstance(judged, Qrels) else Qrels.from_dataset(judged)
        tuned = tune_fusion(read, known, metric, method=method, k=k, seed=seed)
        fused, about = tuned.run, tuned.to_dict()
        if not json:
            typer.echo(repr(tuned))
    write_run(fused, out)
    counts = {"out": str(out), "queries": len(fused.qid), "documents": len(fused.docid)}
    if json:
        typer.echo(writer.dumps({**counts, **about}, indent=2))
    else:
        typer.echo(f"wrote {out}: {len(fused.qid):,} queries, {len(fused.docid):,} documents")
