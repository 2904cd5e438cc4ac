"""`rankloop export`: a saved ranker in the format of a search engine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.options.arguments import Complete, EngineFeatures, Model

if TYPE_CHECKING:
    from rankloop.rankers import Ranker

__all__ = ["export"]

_TARGETS = {  # the options that each takes
    "elasticsearch": ("features",),
    "onnx": (),
    "opensearch": ("name", "features", "form", "complete"),
    "ranklib": ("complete",),
    "solr": ("name", "features", "store", "complete"),
    "vespa": ("features",),
}


def export(
    model: Model,
    to: Annotated[str, typer.Option("--to", help="opensearch, elasticsearch, solr, vespa, ranklib or onnx.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")],
    name: Annotated[
        str | None, typer.Option("--name", help="The name of the model in OpenSearch or Solr.")
    ] = None,
    features: EngineFeatures = None,
    store: Annotated[str | None, typer.Option("--store", help="Solr's feature store.")] = None,
    form: Annotated[
        str | None, typer.Option("--form", help="For OpenSearch: the form of the model, xgboost or ranklib.")
    ] = None,
    complete: Complete = False,
) -> None:
    """Write a ranker as a search engine reads it; what the engine cannot compute exactly is refused.

    rankloop export runs/trees --to opensearch --name m1 --out m1.json

    rankloop export runs/trees --to vespa --features names.txt --out models/m1.json
    """
    from rankloop import rankers
    from rankloop._names import one_of

    taken = _TARGETS[one_of("target", to, _TARGETS)]
    given: dict[str, Any] = {"name": name, "features": features, "store": store, "form": form}
    given = {option: value for option, value in given.items() if value is not None}
    given |= {"complete": True} if complete else {}
    wrong = [f"--{option}" for option in given if option not in taken]
    if wrong:
        takes = ", ".join(f"--{option}" for option in taken) or "none"
        raise ValueError(f"{to} does not take {', '.join(wrong)}; its options are {takes}")
    if features is not None:
        given["features"] = features.read_text(encoding="utf-8-sig").split("\n")
        while given["features"] and not given["features"][-1].strip():
            given["features"].pop()
    getattr(rankers, f"to_{to}")(_ranker(model), out, **given)
    typer.echo(f"written to {out}")
    if to == "solr":
        from rankloop.rankers.export.to_solr import MOST_BYTES

        if out.stat().st_size > MOST_BYTES:
            wrapper = out.with_name(f"{out.stem}.wrapper.json")
            typer.echo(f"over 1 MB: put it into a folder of the core, and upload {wrapper} in its place")


def _ranker(model: str) -> "Ranker":
    """The ranker of a file or run folder, also that of a pipeline, which is written without its search."""
    from rankloop import rankers
    from rankloop.cli.options.runs import model_file
    from rankloop.cli.options.train_search import SEARCH
    from rankloop.search.load_pipeline import saved_ranker

    pipeline = Path(model) / SEARCH
    file = pipeline if pipeline.is_file() else model_file(model)
    try:
        return rankers.load(file)
    except ValueError as error:
        if "pipeline" not in str(error):
            raise
    return saved_ranker(file)
