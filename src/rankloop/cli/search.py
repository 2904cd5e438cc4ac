"""`rankloop search`: ask an index."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rankloop.search import Candidates, Index, Pipeline, Retriever

__all__ = ["search"]


def search(
    index: Annotated[str, typer.Argument(help="The folder of the index.")],
    query: Annotated[str, typer.Argument(help='Words, "phrases", field:value, -not, prefix*.')],
    n: Annotated[int, typer.Option("-n", help="How many results.")] = 10,
    fields: Annotated[str | None, typer.Option(help="Weights, like title:3,body:1.")] = None,
    ranked_by: Annotated[
        Path | None, typer.Option("--ranked-by", help="A search that was trained: its file or run folder.")
    ] = None,
    typos: Annotated[bool, typer.Option(help="Forgive words that the index does not know.")] = True,
    explain: Annotated[bool, typer.Option(help="Say what each word adds to the word score.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Search an index and show the best documents."""
    from rankloop.search import BM25, Index, first

    weights = None
    if fields is not None:
        try:
            weights = {name: float(weight) for name, weight in (f.split(":") for f in fields.split(","))}
        except ValueError:
            raise ValueError(
                f"--fields takes name:weight pairs like title:3,body:1, got {fields!r}"
            ) from None
    opened = Index.open(index)
    if ranked_by is None:
        retriever = opened.retriever(n, model=BM25(fields=weights), typos="missing" if typos else "never")
        found = retriever(query)
    else:
        if weights is not None:
            raise ValueError("a trained search has its own weights; leave --fields or --ranked-by out")
        learned, retriever = _learned(ranked_by, opened)
        found = (learned >> first(n))(query)
    if json:
        _print_json(found, retriever, explain)
    else:
        _print_page(found, retriever, explain)


def _learned(path: Path, opened: "Index") -> "tuple[Pipeline, Retriever]":
    """The pipeline of a run, and the retriever it begins with."""
    from rankloop.cli.options.train_search import SEARCH
    from rankloop.search import Retriever, load_pipeline

    learned = load_pipeline(path / SEARCH if path.is_dir() else path, opened)
    source = learned.stages[0]
    assert isinstance(source, Retriever)  # nothing else can be saved
    return learned, source


def _print_json(found: "Candidates", retriever: "Retriever", explain: bool) -> None:
    from json import dumps

    hits = []
    for hit in found:
        told = [part._asdict() for part in retriever.explain(found.query, hit.id)] if explain else None
        hits.append(
            {
                "id": hit.id,
                "rank": hit.rank,
                "score": hit.score,
                "snippet": hit.snippet,
                "document": hit.document,
            }
            | ({"explain": told} if explain else {})
        )
    print(dumps({"query": found.query.text, "matches": found.matches, "hits": hits}))


def _print_page(found: "Candidates", retriever: "Retriever", explain: bool) -> None:
    import re
    from html import unescape

    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(f"{found.matches:,} documents match", style="dim"))
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
