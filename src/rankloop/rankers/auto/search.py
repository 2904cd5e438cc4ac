"""Trying candidates one after another, within the time there is."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop._progress import progress
from rankloop.data import RankingDataset
from rankloop.metrics import metric
from rankloop.rankers.auto.candidates import Candidate, first_candidates, neighbours
from rankloop.rankers.auto.clock import Clock
from rankloop.rankers.auto.costs import all_folds, larger, one_fold
from rankloop.rankers.auto.division import Division
from rankloop.rankers.auto.failures import told
from rankloop.rankers.auto.view import ALL, View, missing_features, varying_features
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.paired import behind
from rankloop.rankers.base.per_list import normalised
from rankloop.rankers.base.ranker import Ranker

__all__ = ["Setting", "Tried", "affordable", "fit_one", "least", "search", "try_one"]

EXPLORE = 0.45  # of the time; the rest is for bags of the best
ENOUGH = 0.85  # of the time at most, where bags of the best need little
MOSTLY = 0.7  # of the time, where the rest would not suffice for bags, but for fits on all queries
FIRST = 0.25  # of the time, for the first candidate
ONE = 0.1  # of the time, for one of the others
IDLE = 30  # neighbours in a row that are no better than the best: enough was tried
MOST_CELLS = 2e7  # rows times features of a linear model or a network; larger data is sampled
WIDEST = 200  # features of which places within the list are added
ADDED = 2e8  # numbers that these places take at most, to bound memory
PER_CELL = {"linear": 1e-6, "neural": 6e-6, "trees": 1e-6}  # seconds of a fit: a guess
LOADING = 4.0  # seconds that torch takes to load
MOST_SKIPPED = 20  # candidates that the time is too short for
FITS = 10  # that must fit into the time for trying; larger data is sampled
FEWEST = 100  # queries of a sample
CLEARLY = 3.0  # standard errors behind the best, from which on a group of models is left alone
HIGH = 31  # labels above it are counts or times rather than grades; the libraries' own objectives end there
WIDE, COARSE = 100, 63  # from so many features on, trees get so many bins: as good, in half the time
WITH_GAIN = ("lambdagap", "lambdarank", "lambdaloss")
SOME = 20  # queries on which a kind of model is tried out


@dataclass(frozen=True)
class Setting:
    """What all fits share."""

    metric: Any
    threads: int | None
    seed: int
    backends: tuple[str, ...]
    fits: int | None
    folds: int = 4
    members: int = 6
    divisions: int = 3
    failures: list[tuple[str, str]] = field(default_factory=list)  # models, and why they could not be fitted
    ready: set[tuple[str, ...]] = field(default_factory=set)  # what was compiled and loaded


@dataclass(frozen=True, eq=False)
class Tried:
    """A candidate, its model, its metric on the held-out queries (higher is better) and how long it took."""

    candidate: Candidate
    ranker: Ranker
    value: float
    seconds: float
    scores: Floats  # of the held-out queries, normalised within lists
    each: Floats  # the metric of each of these queries, higher is better

    def behind(self, best: "Tried") -> bool:
        """Whether the best is better by more than chance would have it, on the same queries."""
        return behind(self.each, best.each, CLEARLY)


def affordable(over: Division, clock: Clock, setting: Setting, view: View) -> Division:
    """Whole queries to fit and compare on, as many as allow some fits of trees in the time for trying."""
    cells = EXPLORE * clock.seconds / FITS / PER_CELL["trees"] * (setting.threads or os.cpu_count() or 1)
    before = over.fitted.n_documents
    share = cells / max(before * view.kept(over.fitted.n_features), 1)
    if share >= 1:
        return over
    fitted = _part(over.fitted, share, setting.seed)
    compared = _part(over.compared, max(share, 0.1), setting.seed)
    return replace(over, fitted=fitted, compared=compared, sampled=fitted.n_documents / before)


def _part(data: RankingDataset, share: float, seed: int) -> RankingDataset:
    queries = max(int(share * data.n_queries), FEWEST)
    return data if queries >= data.n_queries else data.sample(queries, seed=seed)


def search(
    over: Division, clock: Clock, setting: Setting, view: View = ALL, before: Sequence[Tried] = ()
) -> list[Tried]:
    """The candidates that were tried, best first; ends early on an interrupt, with at least one."""
    train, held = over.fitted, over.compared
    found = sorted(before, key=lambda one: -one.value)
    best = [one.candidate for one in found]
    objective = Objective.of(setting.metric, held)
    if not np.isfinite(objective.values(held.y.astype(np.float64))).any():
        raise ValueError(
            f"{objective.metric} has no value on any query to compare models on: none has a relevant "
            "document; give another validation set, or another metric"
        )
    with progress("trying models", total=EXPLORE * clock.seconds) as advance:
        try:
            shown, skipped = 0.0, 0
            for candidate in _candidates(over, setting, view, best, found):
                if _hopeless(candidate, found):
                    continue
                left = clock.until(_share(clock, found, over, setting))
                if found and left < least(candidate, train, found):
                    skipped += 1
                    if skipped > MOST_SKIPPED or left < 0.5 * min(one.seconds for one in found):
                        break
                    continue
                seconds = min(left, (ONE if found else FIRST) * clock.seconds)
                tried = try_one(candidate, train, held, objective, clock, seconds, setting)
                if tried is not None:
                    found.append(tried)
                    found.sort(key=lambda one: -one.value)
                    best[:] = [one.candidate for one in found[:3]]
                advance(clock.spent - shown, f"{objective.metric} {abs(found[0].value):.4f}" if found else "")
                shown = clock.spent
                if clock.until(_share(clock, found, over, setting)) <= 0 or len(found) == setting.fits:
                    break
        except KeyboardInterrupt:
            if not found:
                raise
            clock.interrupt()
    if not found:
        raise ValueError(
            f"no model could be fitted; {'; '.join(told(setting.failures)) or 'none has a value'}"
        )
    return found


def _candidates(
    over: Division, setting: Setting, view: View, best: list[Candidate], found: list[Tried]
) -> Iterator[Candidate]:
    train = over.fitted
    widest = min(WIDEST, int(ADDED / 2 / max(over.everything.n_documents, 1)))
    by_query = replace(view, by_query=varying_features(train, widest, view.columns))
    missing = replace(view, missing=missing_features(train, view.columns))
    own = train.item_weight is None
    firsts = first_candidates(setting.backends, by_query, missing, view, own_objectives=own)
    high = train.y.max() > HIGH
    fresh = [one for one in firsts if one not in best and not (high and one.params["loss"] == "xendcg")]
    views = [view, by_query] if by_query.by_query else [view]
    return chain(fresh, _until_idle(neighbours(best, views, setting.seed), found))


def _until_idle(more: Iterator[Candidate], found: list[Tried]) -> Iterator[Candidate]:
    """Neighbours, until many in a row were no better than the best."""
    idle, best = 0, -np.inf
    for candidate in more:
        idle = 0 if found and found[0].value > best else idle + 1
        best = found[0].value if found else best
        if idle > IDLE:
            return
        yield candidate


def _hopeless(candidate: Candidate, found: Sequence[Tried]) -> bool:
    """Whether all that was tried of its group, if anything was, is clearly behind the best."""
    alike = [one for one in found if one.candidate.group == candidate.group]
    return bool(alike) and all(one.behind(found[0]) for one in alike)


def least(candidate: Candidate, train: RankingDataset, found: Sequence[Tried]) -> float:
    """How long a fit takes at least: trees can be stopped, but are of no use long before their time."""
    same = [one.seconds for one in found if one.candidate.kind == candidate.kind]
    if candidate.kind == "trees":
        return 0.7 * float(np.median(same)) if same else 0.0
    cells = min(train.n_documents * candidate.view.kept(train.n_features), MOST_CELLS)
    guess = PER_CELL[candidate.kind] * cells + 0.2
    if candidate.kind == "neural" and "torch" not in sys.modules:
        guess += LOADING
    return max(guess, *same) if same else guess


def _share(clock: Clock, found: Sequence[Tried], over: Division, setting: Setting) -> float:
    """Of the time, for trying: more where the bags of the best need little of it.

    More also where the rest would not suffice for their folds, but for models of a sample, which are fitted
    again in any case.
    """
    best = [one.seconds for one in found if not one.behind(found[0])]
    if not found:
        return EXPLORE
    longer = larger(over.everything, over.held, over.fitted.n_documents if over.sampled < 1 else None)
    needed = all_folds(best, longer, setting.members, setting.folds, setting.divisions)
    if needed < (1 - EXPLORE) * clock.seconds:
        return min(1 - needed / clock.seconds, ENOUGH)
    if over.sampled < 1:
        return EXPLORE
    one = one_fold(best, longer)
    rest = min(clock.left, (1 - EXPLORE) * clock.seconds)
    return EXPLORE if (setting.folds - 1) * one < rest else MOSTLY


def try_one(
    candidate: Candidate,
    train: RankingDataset,
    held: RankingDataset,
    objective: Objective,
    clock: Clock,
    seconds: float,
    setting: Setting,
) -> Tried | None:
    _prepare(candidate, train, held, setting)
    start = clock.spent
    ranker = fit_one(candidate, train, held, clock.stop_after(seconds), setting)
    if ranker is None:
        return None
    scores = ranker._scores(candidate.view.of(held.X, held.offsets), held.offsets)
    value = objective(scores)
    if not np.isfinite(value):
        return None
    flat = normalised(scores, held.offsets, "zscore")
    each = objective.values(scores) * (1.0 if objective.metric.higher_is_better else -1.0)
    return Tried(candidate, ranker, value, clock.spent - start, flat, each)


def _prepare(candidate: Candidate, train: RankingDataset, held: RankingDataset, setting: Setting) -> None:
    """One step on a few lists: on a new machine, compiling and loading would be taken for a slow model."""
    what = candidate.family[:-1]
    if what not in setting.ready:
        setting.ready.add(what)
        step = {"trees": "trees", "linear": "iterations", "neural": "epochs"}[candidate.kind]
        short = replace(candidate, params={**candidate.params, step: 1})
        few, others = (data.select(np.arange(min(data.n_queries, SOME))) for data in (train, held))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit_one(short, few, others, lambda _: False, replace(setting, failures=[]))


def fit_one(
    candidate: Candidate,
    train: RankingDataset,
    held: RankingDataset | None,
    stop: Callable[[object], bool],
    setting: Setting,
    *,
    seed: int | None = None,
) -> Ranker | None:
    """A fitted model, or None where a library cannot fit these data."""
    more: dict[str, Any] = {}
    if candidate.kind == "trees":
        more = {"callbacks": (stop,), "loss": _loss(candidate, train, setting)}
        if candidate.view.kept(train.n_features) + candidate.view.added >= WIDE:
            more["max_bins"] = COARSE
    seed = setting.seed if seed is None else seed
    ranker = candidate.ranker(threads=setting.threads, seed=seed, metric=setting.metric, **more)
    if candidate.kind != "trees":
        train = _sampled(train, seed)
    try:
        fitted: Ranker = ranker.fit(
            candidate.view.data(train), None if held is None else candidate.view.data(held)
        )
    except Exception as error:  # a library may fail in any way, also while it is imported
        setting.failures.append((candidate.name, str(error)))
        return None
    if candidate.kind == "trees":
        fitted.set_params(callbacks=())
    return fitted


def _loss(candidate: Candidate, train: RankingDataset, setting: Setting) -> str:
    """The loss of trees, with linear gains where the metric has them and labels are too high for 2^label."""
    loss = str(candidate.params["loss"])
    linear = metric(setting.metric).options.get("gain") == "linear" and train.y.max() > HIGH
    return f"{loss}(gain=linear)" if linear and loss in WITH_GAIN else loss


def _sampled(train: RankingDataset, seed: int) -> RankingDataset:
    """Whole queries, as many as a linear model or a network is given."""
    cells = train.n_documents * train.n_features
    if cells <= MOST_CELLS:
        return train
    return train.sample(max(int(train.n_queries * MOST_CELLS / cells), 1), seed=seed)
