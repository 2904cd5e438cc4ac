"""A simulated interleaving experiment of two versions in the event store."""

import time
from collections.abc import Mapping
from dataclasses import asdict
from random import Random
from typing import Any

import numpy as np
from sqlalchemy import insert

from rankloop._arrays import Floats, Singles
from rankloop.clicks import ClickModel
from rankloop.data import RankingDataset
from rankloop.demo.collection import PAGE
from rankloop.demo.people import clicks_on, documents_of
from rankloop.interleaving import method
from rankloop.serve.events.shown_page import ShownPage
from rankloop.serve.events.store import Store
from rankloop.serve.events.tables import experiments
from rankloop.serve.experiments.experiments import Experiment

__all__ = ["put_duel"]

DAY = 86_400.0


def put_duel(
    store: Store,
    data: RankingDataset,
    rankers: Mapping[str, Any],
    person: ClickModel,
    *,
    pages: int,
    seed: int = 0,
) -> str:
    """Record an interleaving of two rankers, by version, within the last day; gives the experiment's id."""
    random = Random(f"duel {seed}")
    until = time.time()
    since = until - DAY
    a, b = rankers
    one = Experiment(
        f"{random.getrandbits(48):012x}",
        kind="interleave",
        a=a,
        b=b,
        share=1.0,
        method="team_draft",
        seed=seed,
        started=since,
        ended=until,
        note="simulated people",
    )
    tops = [_tops(data, ranker.predict(data)) for ranker in rankers.values()]
    times = sorted(random.uniform(since, until - 120) for _ in range(pages))
    names = documents_of(data)
    shown = [_page(one, data, names, tops, at, random) for at in times]
    labels = [label for _, label in shown]
    offsets = np.concatenate(([0], np.cumsum([len(label) for label in labels])))
    clicked = np.asarray(person.sample(np.concatenate(labels), offsets=offsets, seed=seed), bool)
    with store.writing() as connection:
        connection.execute(insert(experiments), asdict(one))
    store.put_pages([page for page, _ in shown])
    spans = zip(shown, offsets[:-1], offsets[1:], strict=True)
    clicks = [clicks_on(page, np.flatnonzero(clicked[start:end])) for (page, _), start, end in spans]
    store.put_events([event for some in clicks for event in some])
    return one.id


def _page(
    one: Experiment,
    data: RankingDataset,
    names: list[str],
    tops: list[list[list[int]]],
    at: float,
    random: Random,
) -> tuple[ShownPage, Singles]:
    """An interleaved page for a random search, and the grades of its documents."""
    query, page_id = random.randrange(data.n_queries), f"{random.getrandbits(128):032x}"
    lists = [top[query] for top in tops]
    page = method(one.method, seed=one.seed).combine(
        [[names[row] for row in rows] for rows in lists], PAGE, key=page_id
    )
    place = {names[row]: row for rows in lists for row in rows}
    rows = [place[document] for document in page.documents]
    shown = ShownPage(
        page_id,
        at,
        str(data.qid[query]),
        tuple(page.documents),
        -np.arange(float(len(rows))),
        data.X[rows],
        data.feature_names or (),
        f"{one.a} + {one.b}",
        layout="page",
        user=f"{random.randrange(2000):032x}",
        policy="interleave",
        experiment=one.id,
        randomness=page.to_dict(),
        found=int(data.lengths[query]),
    )
    return shown, data.y[rows]


def _tops(data: RankingDataset, scores: Floats) -> list[list[int]]:
    """The rows of each query's best documents."""
    order = np.lexsort((-scores, data.row_query))
    spans = zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True)
    return [order[first : min(last, first + PAGE)].tolist() for first, last in spans]
