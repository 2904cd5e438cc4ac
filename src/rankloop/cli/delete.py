"""`rankloop delete`: documents out of an index."""

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.options.arguments import Json

__all__ = ["delete"]


def delete(
    index: Annotated[str, typer.Argument(help="An index, or an engine, as in opensearch://host:9200/shop.")],
    ids: Annotated[list[str] | None, typer.Argument(help="The ids of the documents.", metavar="ID")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="A file with one id on each line, or - for standard input.")
    ] = None,
    json: Json = False,
) -> None:
    """Delete documents by id, all at once; those that are not there are counted.

    rankloop delete shop.index 17 18

    rankloop delete shop.index --file sold-out.txt
    """
    from json import dumps

    from rankloop.engines import open as open_engine

    wanted = [*(ids or []), *(_lines(file) if file is not None else [])]
    if not wanted:
        raise ValueError(
            f"nothing to delete: give ids, as in rankloop delete {index} 17 18, or --file ids.txt"
        )
    unique = list(dict.fromkeys(wanted))
    engine = open_engine(index)
    count = engine.delete(unique)
    absent = len(unique) - count
    if json:
        print(dumps({"index": index, "deleted": count, "absent": absent, "documents": len(engine)}))
        return
    missing = f", {absent:,} not found" if absent else ""
    print(f"deleted {count:,}{missing}; {len(engine):,} documents in {index}")


def _lines(path: Path) -> list[str]:
    """The ids in a file, without blank lines."""
    import sys

    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text; --file takes one id per line") from None
    found = [line.strip() for line in text.splitlines() if line.strip()]
    if not found:
        raise ValueError(f"{path} has no ids; put one on each line")
    return found
