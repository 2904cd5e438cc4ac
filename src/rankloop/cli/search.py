"""`rankloop search`: query an index or an engine, with one query or with a file of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.options.arguments import Json

if TYPE_CHECKING:
    from rankloop.search import Candidates, Pipeline, Retriever, Searchable

__all__ = ["search"]

RESULTS, RETRIEVED = 10, 1000  # for one query, for each of many
LAST = 10_000  # the lowest position that is shown


def search(
    index: Annotated[
        str, typer.Argument(help="The folder of the index, or an engine: opensearch://host:9200/shop.")
    ],
    query: Annotated[
        str | None, typer.Argument(help='Words, "phrases", field:value, -not, prefix*; none to browse.')
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", help="How many results: by default 10, with --queries 1000 each.")
    ] = None,
    offset: Annotated[int, typer.Option("--offset", help="How many results to skip.")] = 0,
    page: Annotated[int | None, typer.Option("--page", help="Which page of -k results, from 1.")] = None,
    sort: Annotated[
        str | None, typer.Option("--sort", help="A number or date field; -field: the largest first.")
    ] = None,
    filters: Annotated[
        list[str] | None,
        typer.Option("--filter", help="Like brand=Hare or price=10..50; repeat it for several values."),
    ] = None,
    facets: Annotated[
        list[str] | None, typer.Option("--facet", help="Count the values of this keyword field; repeatable.")
    ] = None,
    fields: Annotated[
        str | None, typer.Option("--fields", help="Weights of the fields, like title:3,body:1.")
    ] = None,
    pipeline: Annotated[
        Path | None, typer.Option("--pipeline", help="A trained pipeline: its file or run folder.")
    ] = None,
    typos: Annotated[
        bool, typer.Option("--typos/--no-typos", help="Correct words that are not in the index.")
    ] = True,
    vectors: Annotated[
        bool, typer.Option("--vectors/--no-vectors", help="Search by the index's encoder too, if it has one.")
    ] = True,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each word adds to the word score.")
    ] = False,
    queries: Annotated[
        str | None,
        typer.Option("--queries", help="A file of queries: id, tab, text per line; - is standard input."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="With --queries: the TREC run to write.")
    ] = None,
    json: Json = False,
) -> None:
    """Search an index and show the best documents, or write the results of many queries as a TREC run.

    rankloop search shop.index "red shoes" --filter brand=Hare --sort -price --page 2

    rankloop search shop.index --queries queries.tsv --out bm25.run
    """
    from dataclasses import replace

    from rankloop.cli.options.filters import read_filters
    from rankloop.engines import open as open_engine
    from rankloop.search import BM25, first
    from rankloop.search.pipeline import Pipeline

    _check(query, queries, out, offset, page)
    if query is None and queries is None and not filters and sort is None:
        raise ValueError("search takes a query, or --filter or --sort to browse, or --queries with many")
    many = RETRIEVED if queries else RESULTS
    results = many if k is None else k
    opened = open_engine(index)
    wanted = read_filters(filters or [], opened.fields)
    skipped = offset if page is None else (page - 1) * results
    if skipped + results > max(LAST, results):
        raise ValueError(f"results are shown down to position {LAST:,}, got {skipped + results:,}")
    stages: Pipeline
    if pipeline is None:
        model = BM25(fields=_weights(fields))
        retriever = opened.retriever(
            max(skipped + results, 1) if results > 0 else results,
            model=model,
            typos="missing" if typos else "never",
            filters=wanted or None,
            sort=sort,
            **({} if vectors else {"vectors": {}}),
        )
        stages = retriever >> first(skipped + results)
    else:
        if fields is not None:
            raise ValueError("a trained pipeline has its own weights; leave --fields or --pipeline out")
        if not vectors:
            raise ValueError("a trained pipeline has its own sources; leave --no-vectors or --pipeline out")
        if sort is not None:
            raise ValueError("a trained pipeline has its own order; leave --sort or --pipeline out")
        learned, retriever = _loaded(pipeline, opened)
        if wanted:
            retriever = replace(retriever, filters={**(retriever.filters or {}), **wanted})
            learned = Pipeline((retriever, *learned.stages[1:]))
        stages = learned >> first(skipped + results)
    if queries is not None and out is not None:
        _write_run(stages, queries, out, own=pipeline is None and sort is None, as_json=json)
        return
    found = stages(query or "")
    shown = found.take(range(min(skipped, len(found)), len(found)))
    counts = {
        name: opened.facets(
            found.query,
            name,
            filters={other: one for other, one in wanted.items() if other != name},
            match=retriever.match,
            typos=retriever.typos,
        )
        for name in facets or ()
    }
    (_print_json if json else _print_page)(shown, retriever, explain, skipped, counts)


def _check(query: str | None, queries: str | None, out: Path | None, offset: int, page: int | None) -> None:
    if query is not None and queries is not None:
        raise ValueError("search takes a query, or --queries with many; leave one of them out")
    if (queries is None) != (out is None):
        raise ValueError("--queries and --out belong together: queries.tsv in, a TREC run out")
    if offset < 0 or (page is not None and page < 1):
        raise ValueError(f"--offset is 0 or more and --page 1 or more, got {offset} and {page}")
    if offset and page is not None:
        raise ValueError("--offset and --page mean the same; give one of them")
    if queries is not None and (offset or page is not None):
        raise ValueError("a run has the results from the first one on; leave --offset and --page out")


def _weights(fields: str | None) -> dict[str, float] | None:
    try:
        pairs = [] if fields is None else [one.split(":") for one in fields.split(",")]
        return {name: float(weight) for name, weight in pairs} or None
    except ValueError:
        raise ValueError(f"--fields takes name:weight pairs like title:3,body:1, got {fields!r}") from None


def _loaded(path: Path, opened: "Searchable") -> "tuple[Pipeline, Retriever]":
    """The pipeline of a run, and the retriever it begins with."""
    from rankloop.cli.options.train_search import SEARCH
    from rankloop.search import Retriever, load_pipeline

    learned = load_pipeline(path / SEARCH if path.is_dir() else path, opened)
    source = learned.stages[0]
    assert isinstance(source, Retriever)  # a saved pipeline starts with one
    return learned, source


def _write_run(search: "Pipeline", queries: str, out: Path, *, own: bool, as_json: bool) -> None:
    """Words alone keep their scores, so that runs can be fused by them."""
    from json import dumps

    from rankloop.cli.options.queries import read_queries
    from rankloop.data import write_run

    asked = read_queries(queries)
    blank = next((qid for qid in asked if qid.split() != [qid]), None)
    if blank is not None:
        raise ValueError(f"{queries}: query id {blank!r} has blanks, which a TREC run cannot hold")
    found = search.run(asked, scores="own" if own else "positions")
    write_run(found, out)
    empty = len(asked) - len(found.qid)
    if as_json:
        print(dumps({"out": str(out), "queries": len(asked), "empty": empty, "documents": len(found.docid)}))
        return
    nothing = f", nothing was found for {empty:,} of them" if empty else ""
    print(f"wrote {out}: {len(asked):,} queries, {len(found.docid):,} documents{nothing}")


Counts = dict[str, dict[str, int]]


def _print_json(
    found: "Candidates", retriever: "Retriever", explain: bool, offset: int, counts: Counts
) -> None:
    from json import dumps

    hits: list[dict[str, Any]] = []
    for hit in found:
        parts = [part._asdict() for part in retriever.explain(found.query, hit.id)] if explain else None
        hits.append(
            {
                "id": hit.id,
                "rank": offset + hit.rank,
                "score": hit.score,
                "snippet": hit.snippet,
                "document": hit.document,
            }
            | ({"explain": parts} if explain else {})
        )
    about = {"query": (found.query.typed or found.query).text, "understood": found.query.understood}
    print(dumps({**about, "matches": found.matches, "facets": counts, "hits": hits}))


def _print_page(
    found: "Candidates", retriever: "Retriever", explain: bool, offset: int, counts: Counts
) -> None:
    import re
    from html import unescape

    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    meant = f", understood as {found.query.understood}" if found.query.understood else ""
    console.print(
        Text(
            f"{found.matches:,} {'document matches' if found.matches == 1 else 'documents match'}{meant}",
            style="dim",
        )
    )
    for name, values in counts.items():
        shown = ", ".join(f"{value} {count:,}" for value, count in values.items())
        console.print(Text(f"{name}: {shown}", style="dim"))
    for hit in found:
        title = str(hit.document.get("title") or hit.id)
        console.print(Text(f"{offset + hit.rank:>3}  ", style="dim") + Text(title, style="bold"), end="")
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
