"""`rankloop predict`: score documents with a saved ranker."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.options.arguments import DataSet, Model
from rankloop.cli.options.cluster import OnShards
from rankloop.cli.options.group import grouped
from rankloop.cli.options.reading import Reading, expanded

if TYPE_CHECKING:
    from rankloop._arrays import Floats
    from rankloop.data import RankingDataset

__all__ = ["predict"]


@grouped
def predict(
    model: Model,
    data: DataSet,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            help="A .txt, .npy, .csv, .parquet or .run file, or with --backend a folder; by default, print.",
        ),
    ] = None,
    *,
    work: OnShards,
    reading: Reading,
) -> None:
    """Score documents, with or without labels: one number per document, in the order of the rows.

    rankloop predict runs/linear test.txt --out scores.txt

    rankloop predict runs/linear new.csv --qid query --docid sku --out scores.csv

    rankloop predict runs/linear test.shards --backend ray --out scores.shards
    """
    from rankloop.cli.options.row_order import in_row_order
    from rankloop.cli.options.runs import model_file
    from rankloop.rankers import load

    work.check(reading)
    if work.backend is not None:
        from rankloop.cli.options.cluster import predict_on

        made = predict_on(work, model, data, out)
        typer.echo(f"{made.n_rows:,} scores written to {len(made)} shards in {out}")
        return
    forms = (".csv", ".npy", ".parquet", ".run", ".txt")
    if out is not None and Path(out).suffix not in forms:
        raise ValueError(f"cannot write {out}: the name must end in {', '.join(forms)}")
    ranker = load(model_file(model))
    documents = reading.dataset(data, like=ranker, labels=False)
    scores = ranker.predict(documents)
    placed = in_row_order(scores, expanded(data), reading.qid or "qid")
    if out is None:
        typer.echo("\n".join(map(repr, placed.tolist())))
        return
    _write(documents, scores, placed, Path(out))
    typer.echo(f"{len(scores):,} scores written to {out}")


def _write(documents: "RankingDataset", scores: "Floats", placed: "Floats", out: Path) -> None:
    """Scores with their ids by query (.csv, .parquet, .run), or alone in the order of the rows."""
    import numpy as np

    from rankloop._atomic import replacing

    if out.suffix == ".run":
        from rankloop.data import Run, write_run

        write_run(Run.from_dataset(documents, scores), out)
        return
    with replacing(out) as beside:
        if out.suffix == ".npy":
            with beside.open("wb") as file:
                np.save(file, placed, allow_pickle=False)
        elif out.suffix == ".txt":
            beside.write_text("".join(f"{score!r}\n" for score in placed.tolist()), encoding="ascii")
        else:
            import polars

            named = {} if documents.docid is None else {"docid": documents.docid}
            table = polars.DataFrame({"qid": documents.row_qid, **named, "score": scores})
            (table.write_csv if out.suffix == ".csv" else table.write_parquet)(beside)
