"""`rankloop predict`: score documents with a saved ranker."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.options.arguments import DataSet, Model
from rankloop.cli.options.cluster import Backend, Workers, check_on

if TYPE_CHECKING:
    from rankloop._arrays import Floats
    from rankloop.data import RankingDataset

__all__ = ["predict"]


def predict(
    model: Model,
    data: DataSet,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A .txt, .npy or .parquet file; else the scores are printed."),
    ] = None,
    backend: Backend = None,
    workers: Workers = None,
) -> None:
    """Score the documents of a data set: one number per document, in the order of the rows.

    rankloop predict runs/linear test.txt --out scores.txt

    rankloop predict runs/linear test.shards --backend ray --out scores.shards
    """
    import numpy as np

    from rankloop._atomic import replacing
    from rankloop.cli.options.runs import model_file, read_data
    from rankloop.rankers import load

    check_on(backend, workers=workers)
    if backend is not None:
        from rankloop.cli.options.cluster import predict_on

        made = predict_on(backend, workers, model, data, out)
        typer.echo(f"{made.n_rows:,} scores written to {len(made)} shards in {out}")
        return
    forms = (".npy", ".parquet", ".txt")
    if out is not None and out.suffix not in forms:
        raise ValueError(f"cannot write {out}: the name must end in {', '.join(forms)}")
    ranker = load(model_file(model))
    documents = read_data(data, ranker.n_features_in_)
    scores = ranker.predict(documents)
    if out is None:
        typer.echo("\n".join(map(repr, scores.tolist())))
        return
    with replacing(out) as beside:
        if out.suffix == ".npy":
            with beside.open("wb") as file:
                np.save(file, scores, allow_pickle=False)
        elif out.suffix == ".txt":
            beside.write_text("".join(f"{score!r}\n" for score in scores.tolist()), encoding="ascii")
        else:
            _write_parquet(documents, scores, beside)
    typer.echo(f"{len(scores):,} scores written to {out}")


def _write_parquet(documents: "RankingDataset", scores: "Floats", path: Path) -> None:
    import polars

    named = {} if documents.docid is None else {"docid": documents.docid}
    polars.DataFrame({"qid": documents.row_qid, **named, "score": scores}).write_parquet(path)
