"""Rankers as models of Solr's learning to rank."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._arrays import Floats, Singles
from rankloop._warn import warn
from rankloop.rankers.base.linear_scores import LinearScores
from rankloop.rankers.base.ranker import Ranker
from rankloop.rankers.export.exportable import (
    check_complete_sum,
    in_single,
    missing_is_zero,
    names_of,
    no_form,
    plain_trees,
)
from rankloop.rankers.export.model_text import written
from rankloop.rankers.trees.decisions import below
from rankloop.rankers.trees.fold import Split, fold
from rankloop.rankers.trees.trees import Trees

__all__ = ["MOST_BYTES", "to_solr", "without_slack"]

_PACKAGE = "org.apache.solr.ltr"
_SLACK = np.float32(1e-6)  # Solr adds it to every threshold
MOST_BYTES = 1_000_000  # ZooKeeper takes files up to about this size


def to_solr(
    ranker: Ranker | str,
    path: str | Path | None = None,
    *,
    name: str = "rankloop",
    store: str = "_DEFAULT_",
    features: Sequence[str] | None = None,
    complete: bool = False,
) -> str:
    """The body of `PUT /solr/COLLECTION/schema/model-store`; `features` are the names in the feature store.

    Trees become a `MultipleAdditiveTreesModel`, weighted sums a `LinearModel` (without their constant) and
    networks a `NeuralNetworkModel`, all of which compute in float32. Solr adds 1e-6 to each threshold; that
    is taken off beforehand. Where no float32 gives the threshold afterwards (close to 0, and near some powers
    of 2), a warning says how far off it is.

    Solr takes a missing feature for 0. Trees that send missing values elsewhere say so in their nodes, for
    releases of Solr that know `isNullSameAsZero`; not with `complete`, which says that no feature is ever
    missing. Weighted sums and networks that take a missing value for its mean are refused unless `complete`.

    A file over 1 MB does not fit into ZooKeeper: then `path` goes into a folder of the core, and a second
    file beside it, `NAME.wrapper.json`, is the `DefaultWrapperModel` to be uploaded in its place.

    >>> from rankloop.rankers import FeatureSum
    >>> made = json.loads(to_solr(FeatureSum({"bm25": 2.0}, features=["bm25"]), name="m1"))
    >>> made["class"], made["features"], made["params"]
    ('org.apache.solr.ltr.model.LinearModel', [{'name': 'bm25'}], {'weights': {'bm25': 2.0}})
    """
    trees = plain_trees(ranker, "Solr")
    if trees is not None:
        kind, norms = "MultipleAdditiveTreesModel", None
        names = names_of(ranker, features, trees.n_features, "Solr")
        params = _forest(trees, names, complete)
    elif isinstance(ranker, LinearScores):
        ranker._check_fitted()
        check_complete_sum(ranker, "Solr", complete)
        kind, norms = "LinearModel", _norms(ranker.mean_, ranker.scale_)
        names = names_of(ranker, features, ranker.n_features_in_, "Solr")
        weights = in_single(ranker.coef_, "a weight")
        params = json.dumps({"weights": dict(zip(names, weights, strict=True))})
    elif not isinstance(ranker, str) and hasattr(ranker, "module_"):
        from rankloop.rankers.neural.solr import network_to_solr

        kind = "NeuralNetworkModel"
        names = names_of(ranker, features, ranker.n_features_in_, "Solr")
        mean, scale, layers = network_to_solr(ranker, complete)
        norms, params = _norms(mean, scale), json.dumps({"layers": layers})
    else:
        raise no_form(ranker, "Solr", "a LambdaMART, a linear ranker or an MLP, or distil this one into one")
    listed = [{"name": one} | (norms[i] if norms else {}) for i, one in enumerate(names)]
    head = {"class": f"{_PACKAGE}.model.{kind}", "name": name, "store": store, "features": listed}
    text = f'{json.dumps(head)[:-1]}, "params": {params}}}'
    if path is not None and len(text.encode()) > MOST_BYTES:
        _write_wrapper(Path(path), name, store)
    return written(text, path)


def _write_wrapper(path: Path, name: str, store: str) -> None:
    wrapper = {
        "class": f"{_PACKAGE}.model.DefaultWrapperModel",
        "name": name,
        "store": store,
        "params": {"resource": path.name},
    }
    written(json.dumps(wrapper), path.with_name(f"{path.stem}.wrapper.json"))


def _norms(mean: Floats, scale: Floats) -> list[dict[str, Any]]:
    pairs = zip(in_single(mean, "a mean"), in_single(scale, "a scale"), strict=True)
    return [
        {}
        if (centre, spread) == (0.0, 1.0)
        else {
            "norm": {
                "class": f"{_PACKAGE}.norm.StandardNormalizer",
                "params": {"avg": repr(centre), "std": repr(spread)},
            }
        }
        for centre, spread in pairs
    ]


def _forest(trees: Trees, names: list[str], complete: bool) -> str:
    directions = not complete and not missing_is_zero(trees)
    tiny = (trees.threshold >= 0) & (trees.threshold <= trees.zero)  # LightGBM's 0
    wanted = below(np.where(tiny, 0.0, trees.threshold))
    cut, got = without_slack(wanted)
    if (got != wanted).any():
        gap = (wanted.astype(np.float64) - got).max()
        warn(
            f"{int((got != wanted).sum())} thresholds cannot be written exactly, since Solr adds 1e-6 to "
            f"each: values less than {gap:.0e} below one of them may go the other way"
        )
    thresholds = in_single(cut, "a threshold")

    def leaf(number: int, value: float) -> str:
        (single,) = in_single(np.array([value]), "the value of a leaf")
        return json.dumps({"value": repr(single)})

    def split(at: Split, left: str, right: str) -> str:
        head = {"feature": names[at.feature], "threshold": repr(thresholds[at.node])}
        if directions:
            head["missing"] = "left" if at.missing_left else "right"
        return f'{json.dumps(head)[:-1]}, "left": {left}, "right": {right}}}'

    made = ", ".join(f'{{"weight": "1", "root": {tree}}}' for tree in fold(trees, leaf, split))
    missing = '"isNullSameAsZero": false, ' if directions else ""
    return f'{{{missing}"trees": [{made}]}}'


def without_slack(wanted: Singles) -> tuple[Singles, Singles]:
    """For each number the one that Solr's addition of 1e-6 turns into it, or into the next one below it.

    Below, so that 0, a common value, stays on its side of a threshold just under it. The second array is what
    Solr makes of the first.

    >>> without_slack(np.array([0.5, 100.0], np.float32))[0]
    array([  0.49999902, 100.        ], dtype=float32)
    """
    candidate = wanted - _SLACK
    with np.errstate(over="ignore"):  # the neighbours of the largest numbers are infinite
        for _ in range(4):
            candidate = np.nextafter(candidate, np.float32(-np.inf))
        best = candidate
        for _ in range(8):
            candidate = np.nextafter(candidate, np.float32(np.inf))
            best = np.where(candidate + _SLACK <= wanted, candidate, best)
    return best, best + _SLACK
