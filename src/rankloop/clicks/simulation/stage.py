"""A simulation, prepared: what is the same for all pages, and how pages are drawn."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Required, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._arrays import Floats, Ints, Ints32
from rankloop._jit import over_lists
from rankloop._names import one_of
from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.columns import columns as checked
from rankloop.clicks.columns.columns import Coded
from rankloop.clicks.columns.rows import dataset_documents
from rankloop.clicks.fitting.behaviour import Behaviour
from rankloop.clicks.fitting.pages import pages_of
from rankloop.clicks.rank_document_ctr import RankDocumentCTR
from rankloop.clicks.simulation.plackett_luce import NO_URN, Urn, urn_of
from rankloop.clicks.simulation.random import key_of, thresholds
from rankloop.clicks.simulation.sessions import DESIGNS, choose_queries, run_fixed, run_sessions, run_stopping
from rankloop.clicks.user import user as user_named
from rankloop.data import RankingDataset
from rankloop.lists.ranks import ranks

__all__ = ["Played", "Stage", "StageOptions", "stage_of"]


class Scorer(Protocol):
    def predict(self, X: Any) -> Any: ...


class Played(NamedTuple):
    """Simulated pages: one query per page, the rest per impression but for `experiment` (per page)."""

    query: Ints32
    offsets: Ints
    row: Ints32
    rank: Ints32
    click: NDArray[np.int8]
    experiment: Ints32  # empty where the simulation has none, and so is `original`
    original: Ints32


@dataclass(frozen=True, eq=False)
class Stage:
    """What is the same for all sessions of a simulation."""

    data: RankingDataset
    behaviour: Behaviour
    depth: int
    urn: Urn | None  # that pages are drawn from; None where the order is fixed
    order: Ints32  # rows of each query, best first
    design: int
    rate: float
    top: int
    cumulative: Floats
    key: int

    @cached_property
    def cuts(self) -> tuple[NDArray[np.uint64], ...] | None:
        """Thresholds of the random integer, for each row in the order shown; None where they are not fixed.

        Below the first the row is clicked, below the second it is clicked and reading goes on, and between
        the first and the third it is skipped and reading goes on.
        """
        reader = self.behaviour
        if self.urn is not None or self.design or reader.examination.shape[1] > 1:
            return None
        rank = np.minimum(ranks(self.data.offsets, np.int32), self.depth) - 1
        click = reader.examination[rank, 0] * reader.attraction[self.order] + reader.floor[rank]
        stay = click * reader.after_click[rank] * reader.keep[self.order]
        skip = click + (1.0 - click) * reader.after_skip[rank]
        return tuple(thresholds(one) for one in (click, stay, skip))

    def play(self, first: int, last: int) -> Played:
        """The pages `first` to `last`."""
        data, pages = self.data, last - first
        query = np.empty(pages, np.int32)
        choose_queries(np.uint64(self.key), first, self.cumulative, query)
        offsets = np.zeros(pages + 1, np.int64)
        np.cumsum(np.minimum(data.lengths, self.depth)[query], out=offsets[1:])
        n = int(offsets[-1])
        moved = self.design > 0
        played = Played(
            query,
            offsets,
            row=np.empty(n, np.int32),
            rank=np.empty(n, np.int32),
            click=np.empty(n, np.int8),
            experiment=np.zeros(pages if moved else 0, np.int32),
            original=np.empty(n if moved else 0, np.int32),
        )
        key, cuts = np.uint64(self.key), self.cuts
        urn = NO_URN if self.urn is None else self.urn

        def work(a: int, b: int) -> None:
            if cuts is not None:
                run = run_stopping if self.behaviour.dependent else run_fixed
                run(a, b, key, first, data.offsets, self.order, cuts, played)
                return
            run_sessions(
                a, b, key, first, data.offsets, self.order, urn,
                self.design, self.rate, self.top, played, self.behaviour,
            )  # fmt: skip

        over_lists(work, offsets)
        return played

    def coded_rows(self) -> tuple[Coded, Coded]:
        """For each row of the data set its query and its document, as a log codes them."""
        data = self.data
        documents = dataset_documents(data)
        coded = (
            Coded(documents, documents.astype(np.int32)) if data.docid is None else checked.code(documents)
        )
        return Coded(data.qid, data.row_query.astype(np.int32)), coded


class StageOptions(TypedDict, total=False):
    """What a simulation shows to whom; the defaults are those of `stage_of`."""

    logging_policy: Required[ArrayLike | Scorer]
    user: str | ClickModel
    k: int
    randomize: str | None
    rate: float
    top: int | None
    temperature: float | None
    layout: str | None
    seed: int


def stage_of(
    data: RankingDataset,
    *,
    logging_policy: ArrayLike | Scorer,
    user: str | ClickModel = "pbm",
    k: int = 10,
    randomize: str | None = None,
    rate: float = 1.0,
    top: int | None = None,
    temperature: float | None = None,
    layout: str | None = None,
    seed: int = 0,
) -> Stage:
    if k < 1:
        raise ValueError(f"k is at least 1, got {k}")
    if temperature is not None and not temperature > 0:
        raise ValueError(f"temperature is above 0 (None always shows the same ranking), got {temperature}")
    if not 0 <= rate <= 1:
        raise ValueError(f"rate is a share between 0 and 1, got {rate}")
    depth = int(min(k, data.lengths.max()))
    design = DESIGNS[one_of("randomize", randomize or "none", DESIGNS)]
    first = depth if top is None else min(top, depth)
    if design > 0 and first < 2:
        raise ValueError(f"an experiment needs at least two ranks; k is {k} and top is {top}")
    scores = _scores(logging_policy, data)
    ties = np.random.default_rng(seed).random(len(scores))
    order = np.lexsort((ties, -scores, data.row_query)).astype(np.int32)
    weight = np.ones(data.n_queries) if data.query_weight is None else data.query_weight.astype(np.float64)
    if not weight.sum() > 0:
        raise ValueError("every query has weight 0; there is nothing to draw")
    cumulative = np.cumsum(weight) / weight.sum()
    cumulative[-1] = 1.0
    return Stage(
        data,
        _reader(user, data, depth, layout),
        depth,
        None if temperature is None else urn_of(scores / temperature, data.offsets),
        order,
        design,
        rate,
        first,
        cumulative,
        key_of(seed),
    )


def _reader(user: str | ClickModel, data: RankingDataset, depth: int, layout: str | None) -> Behaviour:
    most = int(max(data.y.max(), 1)) if data.n_documents else 1
    model = user_named(user, max_label=max(most, 4)) if isinstance(user, str) else user
    at = getattr(model, "at", None)
    if at is not None:
        if layout is None:
            raise ValueError("this user depends on the layout of the page; pass layout=")
        model = at(layout)
    if not hasattr(model, "_behaviour"):
        raise ValueError(f"user is a name such as 'pbm', or a click model, got {type(user).__name__}")
    if isinstance(model, RankDocumentCTR):
        raise ValueError(
            "RankDocumentCTR has one rate for each document at each rank; simulate with another model"
        )
    return model._behaviour(pages_of(data), depth)


def _scores(logging_policy: Any, data: RankingDataset) -> Floats:
    given = logging_policy.predict(data) if hasattr(logging_policy, "predict") else logging_policy
    scores = np.asarray(given, np.float64)
    if scores.shape != (data.n_documents,):
        raise ValueError(
            f"logging_policy needs one score per row ({data.n_documents}), got shape {scores.shape}"
        )
    if not np.all(np.isfinite(scores)):
        raise ValueError(f"logging_policy must be finite, got {scores[~np.isfinite(scores)][0]}")
    return scores
