"""Every plot from names and values: what the shared tests draw."""

import inspect

import numpy as np

import rankloop.report as family

__all__ = ["MAKE", "PLOTS"]


def curve(names, values):
    return dict.fromkeys(names, values)


def verdict(first, second, wins=3, losses=1, ties=2):
    return {"first": first, "second": second, "wins": wins, "losses": losses, "ties": ties}


# For each plot: from names and values (as many) to a figure; values may be nan, and there may be none.
MAKE = {
    "click_fit": lambda n, v: family.click_fit(
        v, curve(n, v), perplexity=dict(zip(n, np.abs(v) + 1, strict=True))
    ),
    "ctr_by_position": lambda n, v: family.ctr_by_position(
        curve(n, (np.abs(np.nan_to_num(v)), np.abs(np.nan_to_num(v)) * 3))
    ),
    "lambdas_picture": lambda n, v: family.lambdas_picture(v, documents=n, labels=np.abs(v)),
    "gains_and_losses": lambda n, v: family.gains_and_losses(v, queries=n, metric=n[0] if n else None),
    "heat_map": lambda n, v: family.heat_map(
        np.outer(v, v) if len(v) else np.zeros((0, 0)), rows=n, columns=n
    ),
    "importance_picture": lambda n, v: family.importance_picture(
        {"gain": (n, v, v - 1, v + 1), "split": (n, v)}
    ),
    "learning_picture": lambda n, v: family.learning_picture(curve(n, v), y=n[0] if n else "y", best=1),
    "metric_intervals": lambda n, v: family.metric_intervals(
        {one: {m: (x, x - 0.1, x + 0.1) for m, x in zip(n, v, strict=True)} for one in n}
    ),
    "ndcg_picture": lambda n, v: family.ndcg_picture(
        np.nan_to_num(v), np.abs(np.nan_to_num(v)) % 5, documents=n, title=n[0] if n else None
    ),
    "over_time": lambda n, v: family.over_time(
        curve(n, (np.arange(len(v)) * 86400.0, v)), marks={one: i * 86400.0 for i, one in enumerate(n)}
    ),
    "position_curve": lambda n, v: family.position_curve(curve(n, v), truth=v),
    "tuning_picture": lambda n, v: family.tuning_picture(
        [({"number": abs(x) + 1e-3, **dict.fromkeys(n, name)}, x) for name, x in zip(n, v, strict=True)]
    ),
    "preference": lambda n, v: family.preference([verdict(a, b) for a, b in zip(n, n[::-1], strict=True)]),
}
PLOTS = [
    name
    for name in family.__all__
    if name != "STYLE" and not inspect.isclass(getattr(family, name)) and not name.startswith("report_of")
]
