"""`rankloop deploy`: a saved ranker as a model inside OpenSearch or Solr."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankloop.cli.options.arguments import Complete, EngineFeatures, Json

if TYPE_CHECKING:
    from rankloop.engines import Engine
    from rankloop.rankers import Ranker

__all__ = ["deploy"]


def deploy(
    model: Annotated[
        Path | None, typer.Argument(help="A saved ranker or pipeline, or the run folder that holds one.")
    ] = None,
    to: Annotated[
        str, typer.Option("--to", help="opensearch://host:9200/index or solr://host:8983/collection.")
    ] = "",
    name: Annotated[str, typer.Option("--name", help="The name of the model there.")] = "",
    store: Annotated[str | None, typer.Option("--store", help="The engine's feature store.")] = None,
    features: EngineFeatures = None,
    queries: Annotated[
        Path | None,
        typer.Option("--queries", help="The queries of the check: a file, one per line, or id, tab, query."),
    ] = None,
    complete: Complete = False,
    resource: Annotated[
        str | None,
        typer.Option("--resource", help="For a Solr model above 1 MB: its file, which must be on each node."),
    ] = None,
    rollback: Annotated[bool, typer.Option("--rollback", help="Remove the model of that name.")] = False,
    json: Json = False,
) -> None:
    """Put a ranker into a search engine, and check on its documents that the scores are the same as here.

    rankloop deploy runs/trees --to solr://localhost:8983/shop --name m1

    rankloop deploy --to solr://localhost:8983/shop --name m1 --rollback

    The engine computes the features and ranks with its own rescoring. A model whose scores differ is removed
    again. A name that is in use is refused: earlier models stay, each under its own name.
    """
    from functools import partial

    from rankloop import engines, rankers
    from rankloop.cli.options.outputs import show
    from rankloop.engines.remote.address import Address

    if "://" not in to or not name:
        raise ValueError(
            "name the engine and the model: rankloop deploy MODEL --to solr://localhost:8983/shop --name m1"
        )
    engine = engines.open(Address.of(to))
    if rollback:
        _remove(engine, name, store)
        return
    if model is None:
        raise ValueError(f"give the ranker: rankloop deploy MODEL --to {to} --name {name}")
    export = rankers.to_solr if isinstance(engine, engines.Solr) else rankers.to_opensearch
    done = engines.deploy(
        _ranker(model, engine),
        engine,
        partial(export, complete=complete),
        name=name,
        store=store,
        features=None if features is None else _lines(features),
        queries=() if queries is None else [line.rpartition("\t")[2] for line in _lines(queries)],
        resource=resource,
    )
    show(done, as_json=json)


def _remove(engine: "Engine", name: str, store: str | None) -> None:
    from rankloop import engines

    if not isinstance(engine, engines.OpenSearch | engines.Solr):
        raise ValueError("--rollback removes a model from OpenSearch or Solr")
    engine.models.check()
    place = engine.models.store if store is None else store
    try:
        engine.models.remove(name, place)
    except LookupError as error:
        raise ValueError(str(error)) from None
    left = [one for one in engine.models.names(place) if one != name]  # a list may be a second old
    typer.echo(f"{name} is out of {engine.address}; models that are there: {', '.join(left) or 'none'}")


def _ranker(path: Path, engine: "Engine") -> "Ranker":
    """The ranker of a file or run folder; that of a pipeline is checked to fit the engine's fields."""
    from rankloop import rankers
    from rankloop.cli.options.runs import model_file
    from rankloop.cli.options.train_search import SEARCH
    from rankloop.search import load_pipeline

    file = path / SEARCH if (path / SEARCH).is_file() else model_file(path)
    try:
        return rankers.load(file)
    except ValueError as error:
        if "pipeline" not in str(error):
            raise
    search = load_pipeline(file, engine)
    if search.remembered is not None:
        typer.echo(
            "rankloop: what the pipeline remembers of clicks stays here; an engine ranks by features",
            err=True,
        )
    found: Ranker = search.ranker
    return found


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8-sig").split("\n") if line.strip()]
