"""The demo in five parts: a bad search, the clicks, their bias, what was learned, and the proof."""

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.demo.collection import PAGE
from rankloop.demo.conclusion import conclusion
from rankloop.demo.learners import METRIC
from rankloop.search import Candidates, Features, Query

if TYPE_CHECKING:
    from rankloop.demo.run_loop import Demo

__all__ = ["story"]

SHOWN = 5  # results of a page that are printed
WEIGHTS = 4  # features that are named
BAR = 24  # characters of the longest bar


def story(demo: "Demo") -> str:
    """Five short parts, with figures of this run."""
    query = _improved(demo)
    parts = {
        "A bad search": [
            f'BM25, which searches by words and learns nothing, for "{query}";',
            f"{'*' * demo.collection.max_label} is the best grade of an answer:",
            *_page(demo, "bm25", query),
        ],
        "What users clicked": _clicks(demo),
        "How biased the clicks are": _bias(demo),
        "What was learned": [
            "The largest weights of the unbiased ranker, and what they weigh:",
            *_weights(demo, query),
            f'The unbiased ranker for "{query}", a search that it did not learn from:',
            *_page(demo, "unbiased", query),
        ],
        f"The proof, on {demo.test.n_queries} searches that were not learned from": [
            f"{name + ':':<17}{text}" for name, text in conclusion(demo).items()
        ],
    }
    lines = []
    for number, (title, texts) in enumerate(parts.items(), 1):
        lines += [f"{number}. {title}", *(f"   {line}" for line in texts), ""]
    return "\n".join(lines[:-1])


def _improved(demo: "Demo") -> str:
    """The test search that learning improved most; the first one where none was."""
    moved = demo.offline.most_changed("unbiased", METRIC, demo.test.n_queries)
    better = [one for one in moved if one.difference > 0]
    return str(better[0].qid if better else demo.test.qid[0])


def _page(demo: "Demo", name: str, query: str) -> list[str]:
    """The first results of a search by one ranker, with their grades, and where the best answer is."""
    one = demo.test.select([int(np.flatnonzero(demo.test.qid == query)[0])])
    assert one.docid is not None
    order = np.argsort(-demo.rankers[name].predict(one), kind="stable")
    graded = demo.collection.searches[query]
    ids = one.docid[order].tolist()
    rows = [
        f"{rank:>4}. {_stars(graded.get(id, 0), demo)}  {_title(demo, id)}"
        for rank, id in enumerate(ids[:SHOWN], 1)
    ]
    best = max(graded.values())
    at = next((rank for rank, id in enumerate(ids, 1) if graded.get(id, 0) == best), None)
    where = "was not retrieved" if at is None else f"is at rank {at}"
    return [*rows, f"The best answer {where}."]


def _stars(grade: int, demo: "Demo") -> str:
    most = demo.collection.max_label
    return "*" * grade + "." * (most - grade)


def _title(demo: "Demo", id: str) -> str:
    field = demo.collection.title_field
    return str(id if field == "id" else demo.collection.index[id].get(field, id))


def _clicks(demo: "Demo") -> list[str]:
    """How often each rank was clicked."""
    log = demo.log
    shown = np.bincount(log.position, minlength=PAGE + 1)[1:]
    clicked = np.bincount(log.position, log.click, PAGE + 1)[1:]
    rate = clicked / np.maximum(shown, 1)
    ranks = [rank for rank in (1, 2, 3, 5, PAGE) if rank <= len(rate)]
    return [
        f"Simulated users made {int(clicked.sum()):,} clicks on {log.n_pages:,} pages of BM25.",
        "Of the results at a rank, this share was clicked:",
        *(_bar(f"rank {rank}", rate[rank - 1], rate.max()) for rank in ranks),
    ]


def _bias(demo: "Demo") -> list[str]:
    """How often each rank was examined, estimated and true."""
    seen = demo.propensity.values
    last = len(seen)
    ranks = [rank for rank in (1, 2, 3, 5, last) if rank <= last]
    rows = [f"{_bar(f'rank {rank}', seen[rank - 1], 1.0)}  (true {1 / rank:.0%})" for rank in ranks]
    return [
        "Lower results are clicked less partly because fewer users look at them. Pages on which two adjacent",
        "results were swapped at random show how often each rank is examined:",
        *rows,
        f"So a click at rank {last} counts {1 / seen[-1]:.1f} times as much as one at rank 1.",
    ]


def _bar(name: str, value: float, most: float) -> str:
    return f"{name:<8} {value:>4.0%}  {'#' * round(BAR * value / max(most, 1e-12)):<{BAR}}".rstrip()


def _weights(demo: "Demo", query: str) -> list[str]:
    """The features with the largest weights, and what each of them is."""
    index, names = demo.collection.index, demo.collection.features
    id = next(iter(demo.collection.searches[query]))
    found = Candidates.of(Query.of_words(query), index.snapshot, [id])
    meaning = {one.name: one.meaning for one in Features.over(index, names).explain(found, id)}
    ranker: Any = demo.rankers["unbiased"]
    order = np.argsort(-np.abs(ranker.coef_), kind="stable")[:WEIGHTS]
    return [f"{ranker.coef_[at]:+.2f}  {names[at]:<20} {meaning[names[at]]}" for at in order]
