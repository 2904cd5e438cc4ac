"""Group sizes and weights in files beside a text file, as for LightGBM and XGBoost."""

from pathlib import Path

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop.data.files.text import TextSource

__all__ = ["side_sizes", "side_weights"]


def side_sizes(path: Path) -> tuple[Path, Ints] | None:
    """The rows of each query from `path`.query or `path`.group, where there is one."""
    found = _beside(path, (".query", ".group"))
    if found is None:
        return None
    values = _numbers(found)
    wrong = ~((values >= 1) & (values == np.round(values)))
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(f"{found}, line {at + 1}: a query has 1 or more rows, got {values[at]:g}")
    return found, values.astype(np.int64)


def side_weights(path: Path) -> tuple[Path, Singles] | None:
    """The weights from `path`.weight, where there is one: one per row, or one per query."""
    found = _beside(path, (".weight",))
    if found is None:
        return None
    values = _numbers(found)
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(f"{found}, line {at + 1}: weights are finite and >= 0, got {values[at]:g}")
    return found, values.astype(np.float32)


def _beside(path: Path, suffixes: tuple[str, ...]) -> Path | None:
    stems = [path.name]
    if path.suffix in (".gz", ".zst"):
        stems.append(path.stem)
    there = [path.with_name(stem + suffix) for stem in stems for suffix in suffixes]
    return next((beside for beside in there if beside.is_file()), None)


def _numbers(path: Path) -> Floats:
    """One number per line; blank lines and comments are left out."""
    values: list[float] = []
    line = 0
    with TextSource(path) as source:
        buffer = bytearray(1 << 16)
        while True:
            buffer, stop = source.fill(buffer, beyond=1)
            if stop == 0:
                return np.array(values, np.float64)
            for text in bytes(buffer[: stop - 1]).split(b"\n"):
                line += 1
                token = text.split(b"#", 1)[0].strip()
                if token:
                    try:
                        values.append(float(token))
                    except ValueError:
                        shown = token[:40].decode("utf-8", "backslashreplace")
                        raise ValueError(f"{path}, line {line}: expected one number, got {shown!r}") from None
