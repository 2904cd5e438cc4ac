"""`rankloop search`: query an index or an engine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rankloop.search import Candidates, Pipeline, Retriever, Searchable

__all__ = ["search"]


def search(
    index: Annotated[
        str, typer.Argument(help="The folder of the index, or an engine: opensearch://host:9200/shop.")
    ],
    query: Annotated[str, typer.Argument(help='Words, "phrases", field:value, -not, prefix*.')],
    k: Annotated[int, typer.Option("-k", help="How many results.")] = 10,
    fields: Annotated[
        str | None, typer.Option("--fields", help="Weights of the fields, like title:3,body:1.")
    ] = None,
    pipeline: Annotated[
        Path | None, typer.Option("--pipeline", help="A trained pipeline: its file or run folder.")
    ] = None,
    typos: Annotated[
        bool, typer.Option("--typos/--no-typos", help="Correct words that the index does not have.")
    ] = True,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each word adds to the word score.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Search an index and show the best documents."""
    from rankloop.engines import open as open_engine
    from rankloop.search import BM25, first

    weights = None
    if fields is not None:
        try:
            weights = {name: float(weight) for name, weight in (f.split(":") for f in fields.split(","))}
        except ValueError:
            raise ValueError(
                f"--fields takes name:weight pairs like title:3,body:1, got {fields!r}"
            ) from None
    opened = open_engine(index)
    if pipeline is None:
        retriever = opened.retriever(k, model=BM25(fields=weights), typos="missing" if typos else "never")
        found = retriever(query)
    else:
        if weights is not None:
            raise ValueError("a trained pipeline has its own weights; leave --fields or --pipeline out")
        learned, retriever = _loaded(pipeline, opened)
        found = (learned >> first(k))(query)
    if json:
        _print_json(found, retriever, explain)
    else:
        _print_page(found, retriever, explain)


def _loaded(path: Path, opened: "Searchable") -> "tuple[Pipeline, Retriever]":
    """The pipeline of a run, and the retriever it begins with."""
    from rankloop.cli.options.train_search import SEARCH
    from rankloop.search import Retriever, load_pipeline

    learned = load_pipeline(path / SEARCH if path.is_dir() else path, opened)
    source = learned.stages[0]
    assert isinstance(source, Retriever)  # a saved pipeline starts with one
    return learned, source


def _print_json(found: "Candidates", retriever: "Retriever", explain: bool) -> None:
    from json import dumps

    hits = []
    for hit in found:
        parts = [part._asdict() for part in retriever.explain(found.query, hit.id)] if explain else None
        hits.append(
            {
                "id": hit.id,
                "rank": hit.rank,
                "score": hit.score,
                "snippet": hit.snippet,
                "document": hit.document,
            }
            | ({"explain": parts} if explain else {})
        )
    said = {"query": (found.query.typed or found.query).text, "understood": found.query.understood}
    print(dumps({**said, "matches": found.matches, "hits": hits}))


def _print_page(found: "Candidates", retriever: "Retriever", explain: bool) -> None:
    import re
    from html import unescape

    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    meant = f", understood as {found.query.understood}" if found.query.understood else ""
    console.print(Text(f"{found.matches:,} documents match{meant}", style="dim"))
    for hit in found:
        title = str(hit.document.get("title") or hit.id)
        console.print(Text(f"{hit.rank:>3}  ", style="dim") + Text(title, style="bold"), end="")
        console.print(Text(f"   {hit.id}  {hit.score:.3f}", style="dim"))
        line = Text("     ")
        for at, part in enumerate(re.split(r"</?mark>", hit.snippet)):
            line.append(" ".join(unescape(part).split(" ")), style="bold yellow" if at % 2 else "")
        console.print(line)
        for part in retriever.explain(found.query, hit.id) if explain else ():
            console.print(
                Text(
                    f"     {part.score:7.3f}  {part.field}:{part.term}  tf {part.tf}, "
                    f"in {part.df:,} documents, length {part.length} (mean {part.average_length:.1f})",
                    style="cyan",
                )
            )
