"""Judging what tells most, against judging in random order: judgments until an interval is narrow enough.

Worlds of queries with graded documents and two rankers that see the grades through noise. Documents of
both first tens are judged one at a time; after every ten the 95 % interval of the difference in NDCG@10 is
read. The table has the judgments until it is at most `WIDTH` wide, and in how many worlds it covers the
difference over all queries of the world that the set was drawn from. Run: python benchmarks/judging.py
"""

import numpy as np

from rankloop._table import Table
from rankloop.serve.desk.live_scores import live_scores
from rankloop.serve.desk.next_document import next_documents
from rankloop.serve.desk.pools import pools_of
from rankloop.serve.desk.query_sets import SetQuery
from results import benchmark, record

K, DOCUMENTS, QUERIES, ALL_QUERIES = 10, 20, 50, 4000
WIDTH, EVERY, WORLDS = 0.16, 10, 40
CELLS = {"new one is better": (0.5, 0.8), "equally good": (0.7, 0.7), "both poor": (0.2, 0.3)}


def world(rng, queries, quality):
    """A set of queries, what both rankers show, and the true grades."""
    asked, tops, truth = [], {}, {}
    for number in range(queries):
        grades = rng.choice(4, DOCUMENTS, p=[0.55, 0.25, 0.12, 0.08]).astype(float)
        ids, query = [f"d{i}" for i in range(DOCUMENTS)], f"q{number}"
        seen = [np.argsort(-(grades * one + rng.normal(size=DOCUMENTS)))[:K] for one in quality]
        asked.append(SetQuery(query))
        tops[query] = [tuple(ids[i] for i in order) for order in seen]
        truth[query] = dict(zip(ids, grades.tolist(), strict=True))
    return asked, tops, truth


def shown_only(tops, truth):
    """The grades of what is shown: the pool."""
    return {q: {id: truth[q][id] for top in tops[q] for id in top} for q in tops}


def judgments_needed(way, asked, tops, truth, rng, wanted):
    """Judgments until the interval is narrow, and whether it then covers the difference `wanted`."""
    grades = {query: {} for query in tops}
    first = pools_of(asked, tops, grades, K)
    pool = [(q, id) for row, q in enumerate(first.queries) for id in first.documents[row]]
    order = [pool[at] for at in rng.permutation(len(pool)).tolist()]
    for judged in range(1, len(pool) + 1):
        if way == "random":
            query, id = order[judged - 1]
        else:
            query, id, _ = next_documents(pools_of(asked, tops, grades, K))[0]
        grades[query][id] = truth[query][id]
        if judged % EVERY == 0 or judged == len(pool):
            found = live_scores(pools_of(asked, tops, grades, K)).difference()
            if found.high - found.low <= WIDTH:
                break
    return judged, found.low <= wanted <= found.high


def main():
    rows = []
    for name, quality in CELLS.items():
        rng = np.random.default_rng(0)
        asked, tops, truth = world(rng, ALL_QUERIES, quality)
        wanted = live_scores(pools_of(asked, tops, shown_only(tops, truth), K)).difference().value
        found = {"random": [], "chosen": []}
        for number in range(WORLDS):
            part = asked[number * QUERIES : (number + 1) * QUERIES]
            some = {one.query: tops[one.query] for one in part}
            for way in found:
                found[way].append(judgments_needed(way, part, some, truth, rng, wanted))
        random, chosen = (np.array(found[way], float) for way in ("random", "chosen"))
        fewer = np.median(chosen[:, 0] / random[:, 0])
        record(
            "judgments",
            worlds=name,
            random=np.median(random[:, 0]),
            chosen=np.median(chosen[:, 0]),
            ratio=fewer,
            covered_random=random[:, 1].mean(),
            covered_chosen=chosen[:, 1].mean(),
        )
        rows.append(
            (
                name,
                f"{np.median(random[:, 0]):.0f}",
                f"{np.median(chosen[:, 0]):.0f}",
                f"{fewer:.2f}",
                f"{random[:, 1].mean():.0%}",
                f"{chosen[:, 1].mean():.0%}",
            )
        )
    print(Table(("worlds", "random", "chosen", "ratio", "covered, random", "covered, chosen"), rows).text())


if __name__ == "__main__":
    benchmark(main)
