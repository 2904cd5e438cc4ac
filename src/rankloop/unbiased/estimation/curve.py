"""How clicks depend on the rank, from the log: a click model, an experiment, or a learned curve."""

import warnings

import numpy as np
from sklearn.base import clone

import rankloop.propensity as curves
from rankloop._arrays import Floats
from rankloop.clicks import DBN, ClickLog, aggregate
from rankloop.data import RankingDataset
from rankloop.propensity import Identifiability, IdentifiabilityWarning, Propensity, TrustWarning
from rankloop.rankers import LambdaMART
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.estimation.evidence import Evidence, Log, evidence
from rankloop.unbiased.estimation.readers import stop_reading
from rankloop.unbiased.likelihood import boosted

__all__ = ["curve_of_log", "if_precise"]

SURE = 0.2  # the largest standard error (of the logarithm) at which the curve of an experiment is used
CURVE_TREES = 5  # times the trees of the ranker, to learn a curve


def curve_of_log(
    log: Log, data: RankingDataset, ranker: LambdaMART, seed: int, notes: list[str]
) -> tuple[ClickBias, str, Identifiability | None]:
    """A DBN, the curve of an experiment, or a learned one; its name, and a report where it was learned."""
    if isinstance(log, ClickLog) and stop_reading(log, seed):
        notes.append("people read on until they are satisfied: no curve by rank describes them")
        return DBN().fit(log), "a DBN of the clicks", None
    found, by, why = _experiment(log)
    notes += why
    if found is not None:
        return found, by, None
    counts = aggregate(log) if isinstance(log, ClickLog) else log  # of all layouts
    report = curves.identifiability(counts, data)
    notes += [f"the curve was learned with the ranker: {one}" for one in report.warnings]
    learned = _joint_curve(evidence(log, None, data), ranker)
    notes += _rising(learned)
    return learned, "the likelihood of the clicks", report


def _joint_curve(seen: Evidence, ranker: LambdaMART) -> Floats:
    """A curve takes more trees to converge than a ranking: it has a forest of its own, which is not kept."""
    longer = clone(ranker).set_params(trees=CURVE_TREES * ranker.trees)
    fitted, _ = boosted(seen, seen.shown, longer, learn=True)
    curve = np.asarray(fitted.propensity_, np.float64)
    if not np.isfinite(curve).all():
        largest = np.nanmax(np.abs(seen.data.X))
        raise ValueError(
            f"features as large as {largest:g} leave scores that are not finite; clip them, or set them to "
            "nan, which counts as missing"
        )
    return curve


def _experiment(log: Log) -> tuple[Propensity | None, str, list[str]]:
    """The curve of an experiment or of several rankers, if the log has one that is precise enough."""
    if not isinstance(log, ClickLog):
        return None, "", []
    if log.page_layout is not None and len(np.unique(log.page_layout.code)) > 1:
        return None, "", ["the log mixes layouts: one curve was learned for all; see propensity.by_layout"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentifiabilityWarning)
            warnings.simplefilter("ignore", TrustWarning)  # it is among the notes
            found = curves.estimate(log)
    except ValueError:  # no experiment ties the ranks together
        return None, "", []
    return if_precise(found, log.n_positions)


def if_precise(found: Propensity, depth: int) -> tuple[Propensity | None, str, list[str]]:
    """The curve of an experiment and its method, where it reaches every rank and its interval is narrow."""
    error = np.log(found.high / np.maximum(found.low, 1e-300)) / 3.92
    if len(found) < depth:
        why = f"covers ranks 1 to {len(found)} only; the curve was learned instead"
    elif not np.all(error <= SURE):
        why = f"is uncertain by {error.max():.0%} at rank {int(error.argmax()) + 1}; the curve was learned "
        why += "instead (propensity.plan_swaps plans a larger experiment)"
    else:
        return found, found.method, _trusting(found)
    return None, "", [f"{found.method} {why}"]


def _trusting(found: Propensity) -> list[str]:
    """A warning for an experiment that shows trust, which its curve takes for examination."""
    if found.trust is None or not found.trust.found:
        return []
    return [
        f"people trust high ranks (they click about {found.trust.share:.0%} of the unattractive documents "
        "that they see at rank 1), which the curve of the experiment takes for examination; compare with "
        "propensity=clicks.TrustPBM().fit(log)"
    ]


def _rising(curve: Floats) -> list[str]:
    """A warning for a curve that rises: a sign that position and relevance were not separated."""
    rise = float(np.max(curve[1:] / curve[:-1], initial=0.0))
    if rise > 1.5:
        factor = f"{rise:.1f}" if rise < 1000 else "more than a thousand"
        return [f"the learned curve rises by a factor of {factor} from one rank to the next; do not trust it"]
    return []
