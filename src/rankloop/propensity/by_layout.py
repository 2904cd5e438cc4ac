"""One propensity curve for each page layout."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rankloop.clicks import ClickLog
from rankloop.propensity.propensity import Propensity

__all__ = ["by_layout", "one_layout"]


def one_layout(log: ClickLog, layout: str | None) -> tuple[ClickLog, str | None]:
    """The pages of one layout, and its name; an error if the log has several and none is named."""
    if len(log) == 0:
        raise ValueError("the log is empty; there is nothing to estimate")
    if log.page_layout is None:
        if layout is not None:
            raise ValueError(
                f"the log has no column layout, so there are no pages of layout {layout!r}; leave layout= out"
            )
        return log, None
    names = log.page_layout.table.astype(np.str_)
    present = np.unique(log.page_layout.code)
    shown = ", ".join(names[present])
    if layout is None:
        if len(present) > 1:
            raise ValueError(
                f"the log mixes layouts ({shown}) and a curve belongs to one; "
                f'pass layout="{names[present[0]]}", or use by_layout(log, estimator)'
            )
        return log, str(names[present[0]])
    wanted = np.flatnonzero(names == str(layout))
    if len(wanted) == 0 or wanted[0] not in present:
        raise ValueError(f"no page of the log has layout {layout!r}; it has {shown}")
    if len(present) == 1:
        return log, str(layout)
    return log.select(log.page_layout.code == wanted[0]), str(layout)


def by_layout(
    log: ClickLog, estimator: Callable[..., Propensity], *arguments: Any, **options: Any
) -> dict[str, Propensity]:
    """One curve for each layout of a log: `by_layout(log, harvest)`; `arguments` go to the estimator."""
    if log.page_layout is None:
        raise ValueError("the log has no column layout; call the estimator itself")
    names = log.page_layout.table[np.unique(log.page_layout.code)].astype(np.str_)
    return {str(name): estimator(log, *arguments, layout=str(name), **options) for name in names}
