"""The ensemble of a large budget: slow forests with random splits, and networks."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from sklearn.base import clone

from rankloop._arrays import Bools, Floats
from rankloop.rankers import Ensemble, LambdaMART, NeuralRanker
from rankloop.rankers.base.ranker import Ranker
from rankloop.unbiased.estimation.cells import CellLikelihood
from rankloop.unbiased.estimation.evidence import Evidence
from rankloop.unbiased.estimation.held_out import first_unless_beaten, unseen_costs
from rankloop.unbiased.estimation.informative import informative
from rankloop.unbiased.estimation.labels import rows_of
from rankloop.unbiased.estimation.network_likelihood import MOST, NumberedLikelihood
from rankloop.unbiased.likelihood import LEARNED, boosted

__all__ = ["Vote", "thorough"]

FORESTS = "forests"
TRANSFORMS = ("standard", "log1p", "quantile")  # of features, for networks
EACH = 5  # members of a kind
SLOWER = 4  # times the trees of one forest, at two thirds of the learning rate
EPOCHS, STEPS = 40, 2400  # of a network, at least

Rows = Bools
Kinds = tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Vote:
    """The ensemble, its features, its kinds of members, and the held-out costs they were chosen by."""

    ranker: Ensemble
    features: tuple[int, ...]
    voters: Kinds
    held_out: dict[str, float]


def thorough(seen: Evidence, held: Rows | None, ranker: LambdaMART, seed: int) -> Vote:
    """Members of each kind with seeds of their own; their scores are averaged.

    Forests and networks are combined, unless one kind alone predicts the held-out clicks clearly better.
    """
    if ranker.backend != "lightgbm":
        raise ValueError(f"a large budget is for the backend lightgbm, got {ranker.backend}")
    features = informative(seen, ranker, seed)
    kinds: Kinds = (FORESTS,)
    costs: dict[str, float] = {}
    if held is not None and _networks_can(seen):
        kinds, costs = _elected(seen, held, ranker, features, seed)
    seeds = range(seed, seed + EACH)
    made = [_voter(kind, seen, seen.shown, ranker, features, one) for kind in kinds for one in seeds]
    members = [voter for voter in made if voter is not None]
    named = tuple(np.flatnonzero(features).tolist())
    return Vote(_joined(seen, seen.shown, members), named, tuple(map(_name, kinds)), costs)


def _elected(
    seen: Evidence, held: Rows, ranker: LambdaMART, features: Rows, seed: int
) -> tuple[Kinds, dict[str, float]]:
    """The kinds that take part, and the held-out cost of one member of each."""
    kept = seen.shown & ~held
    level = CellLikelihood.of(seen, kept, None).level
    made = {kind: _voter(kind, seen, kept, ranker, features, seed) for kind in (FORESTS, *TRANSFORMS)}
    one = {kind: voter for kind, voter in made.items() if voter is not None}
    costs: dict[Kinds, Floats] = {
        (kind,): unseen_costs(seen, held, voter, level) for kind, voter in one.items()
    }
    networks = [kind for kind in TRANSFORMS if kind in one]
    if networks:
        best = min(networks, key=lambda kind: float(costs[kind,].sum()))
        both = _joined(seen, kept, [one[FORESTS], one[best]])
        costs = {(FORESTS, best): unseen_costs(seen, held, both, level), **costs}
    names = {" and ".join(map(_name, kinds)): kinds for kinds in costs}
    chosen = first_unless_beaten({name: costs[kinds] for name, kinds in names.items()})
    return names[chosen], {name: float(costs[kinds].sum()) for name, kinds in names.items()}


def _networks_can(seen: Evidence) -> bool:
    few = seen.data.n_documents <= MOST
    return few and find_spec("torch") is not None and not np.isinf(seen.data.X).any()


def _voter(
    kind: str, seen: Evidence, kept: Rows, ranker: LambdaMART, features: Rows, seed: int
) -> Ranker | None:
    """One member of a kind; None where a network diverged, as extreme feature values can make it."""
    if kind == FORESTS:
        return _forest(seen, kept, ranker, features, seed)
    from rankloop.rankers.neural.training import DivergenceError

    try:
        return _network(seen, kept, kind, ranker.threads, features, seed)
    except DivergenceError:
        return None


def _forest(seen: Evidence, kept: Rows, ranker: LambdaMART, features: Rows, seed: int) -> LambdaMART:
    more = {"extra_trees": True, "feature_contri": features.astype(float).tolist()}
    slow = clone(ranker).set_params(
        trees=SLOWER * ranker.trees,
        learning_rate=ranker.learning_rate * 2 / 3,
        params={**(ranker.params or {}), **more},
        seed=seed,
    )
    return boosted(seen, kept, slow, learn=False)[0]


def _network(
    seen: Evidence, kept: Rows, transform: str, threads: int | None, features: Rows, seed: int
) -> NeuralRanker:
    """A network on the same likelihood; features that were left out are set to 0."""
    cells = CellLikelihood.of(seen, kept, None)
    batch = min(4096, max(64, EPOCHS * cells.rows // STEPS))
    network = NeuralRanker(
        loss=NumberedLikelihood.of(cells),
        hidden=(64, 64),
        activation="silu",
        learning_rate=0.01,
        weight_decay=0.1,
        schedule="cosine",
        epochs=max(EPOCHS, -(-STEPS * batch // cells.rows)),
        batch_documents=batch,
        feature_transform=transform,
        threads=threads,
        seed=seed,
    )
    numbers = np.cumsum(kept, dtype=np.float64) - 1.0
    rows = rows_of(seen.data, kept, numbers)
    network.fit(rows.replace(X=np.where(features, rows.X, np.float32(0.0))))
    network.set_params(loss=LEARNED)
    network.propensity_ = seen.curve()
    return network


def _joined(seen: Evidence, kept: Rows, members: Sequence[Ranker]) -> Ensemble:
    joined = Ensemble(members, weights=[1 / len(members)] * len(members), norm="none", prefit=True)
    return joined.fit(rows_of(seen.data, kept, seen.by_row(seen.clicks)))


def _name(kind: str) -> str:
    return kind if kind == FORESTS else f"networks ({kind})"
