"""`rankloop fuse`: several TREC runs as one."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["fuse"]


def fuse(
    runs: Annotated[list[Path], typer.Argument(help="TREC runs of the same queries, two or more.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The fused run to write.")],
    method: Annotated[str, typer.Option(help="rrf (by ranks), comb_sum or comb_mnz (by scores).")] = "rrf",
    constant: Annotated[float, typer.Option(help="The constant of rrf.")] = 60.0,
    norm: Annotated[
        str, typer.Option(help="How comb_sum and comb_mnz scale scores: minmax, sum, zscore or none.")
    ] = "minmax",
    weights: Annotated[str | None, typer.Option(help="One weight per run, like 1,0.5.")] = None,
    k: Annotated[int | None, typer.Option("-k", help="Keep this many documents of each query.")] = None,
) -> None:
    """Fuse rankings of the same queries into one run.

    rankloop fuse bm25.run dense.run --out fused.run
    """
    from rankloop.data import read_run, write_run
    from rankloop.rankers.fuse import fuse as fuse_runs

    if len(runs) < 2:
        raise ValueError(f"fuse needs two runs or more, got {len(runs)}")
    try:
        shares = None if weights is None else [float(one) for one in weights.split(",")]
    except ValueError:
        raise ValueError(f"--weights are numbers, like 1,0.5, got {weights!r}") from None
    read = [read_run(path) for path in runs]
    fused = fuse_runs(read, method, constant=constant, norm=norm, weights=shares, k=k)
    write_run(fused, out)
    typer.echo(f"wrote {out}: {len(fused.qid):,} queries, {len(fused.docid):,} documents")
