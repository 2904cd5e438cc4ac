"""SVMLight ranking text as a stream of parsed blocks, for the reader and the converter."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from rankloop._jit import has_compiler, thread_count
from rankloop.data.files.records import Faults
from rankloop.data.files.text import TextSource
from rankloop.data.svmlight.block import Block, Layout, Place
from rankloop.data.svmlight.dense_rows import dense_rows

__all__ = ["parsed_blocks"]

_SMALL = 8 << 20  # bytes that Python parses in less time than the compiler takes to load
_MOST_THREADS = 8  # one thread reads the file and collects what they parse


def parsed_blocks(
    path: Path,
    layout: Layout,
    *,
    threads: int | None = None,
    faults: Faults | None = None,
    named: bool | None = None,
) -> Iterator[Block]:
    """The rows of a file, block by block, in order; parsing runs ahead in `threads`.

    `faults` decides whether a line that cannot be read is an error, or skipped and counted; `named` says
    whether lines must have a qid (by default as the first line does).
    """
    if not has_compiler() and path.stat().st_size <= _SMALL and named is not False:
        block = dense_rows(path.read_bytes(), layout)
        if block is not None:
            yield block
            return
    from rankloop.data.svmlight.parser import Parser  # loads numba

    faults = faults or Faults(path, "raise")
    workers = min(_MOST_THREADS, thread_count(threads))
    with TextSource(path) as source, ThreadPoolExecutor(workers) as pool:
        idle = deque(Parser(source.path, layout, faults) for _ in range(workers + 1 if workers > 1 else 1))
        busy: deque[tuple[Parser, Future[None] | None]] = deque()
        before = Place(named=named)
        reading = True
        while reading or busy:
            if reading and idle:
                parser = idle.popleft()
                reading = parser.fill(source)
                if reading:
                    busy.append((parser, pool.submit(parser.step) if workers > 1 else None))
                continue
            parser, future = busy.popleft()
            if future is None:
                parser.step()
            else:
                future.result()
            yield from parser.blocks(before)
            idle.append(parser)
