"""The null laboratory: what the library and the service claim, tried where the truth is known.

One file per subject; each has `cells(quick) -> Iterator[Cell]`. `benchmarks/nulls.py` prints them as a table.
"""
