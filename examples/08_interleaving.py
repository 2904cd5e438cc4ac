"""Two rankers on one page: whose documents do people click, and when are there enough pages?"""

import os

import numpy as np

import rankloop as rl
from rankloop import interleaving

quick = "RANKLOOP_QUICK" in os.environ
pages = 1_000 if quick else 10_000
data = rl.synthetic(n_queries=300, docs_per_query=20, n_features=10, seed=0)
train, test = data.split(0.5, seed=0)
old, new = test.X[:, 0], rl.LinearRanker(loss="ranknet").fit(train).predict(test)

# One page of both: in each round both pick their best remaining document. A page is plain JSON.
first = slice(test.offsets[0], test.offsets[1])
rankings = [np.argsort(-scores[first]).tolist() for scores in (old, new)]
method = interleaving.TeamDraft(seed=0)
page = method.combine(rankings, k=10, key="visit 7")
print("a page, by document:", page.documents)
print("a click on the first is credited", method.credit(page, [page.documents[0]]), "(old, new)\n")

# How many pages show a difference of two percentage points, if half of the pages are ties?
print(f"planned: {interleaving.pages_needed(0.02, ties=0.5):,} pages\n")

# Simulated people search; their clicks follow the labels. All methods agree, some need fewer pages.
for name in ("team_draft", "balanced", "probabilistic"):
    duel = interleaving.simulate_duel(
        test, {"new": new, "old": old}, method=name, user="navigational", pages=pages, seed=0
    )
    print(f"{name}: {duel.verdicts()[0]}")

# A fixed test must be looked at once; this one holds its error rate however often one looks.
found = duel.always_valid("new", "old", confidence=0.95)
when = f"after {found.stop:,} of {pages:,} pages" if found.stop else f"not within {pages:,} pages"
print(f"\nlooked at after every page, the last could stop {when}")

# The same ranker twice: a winner should be named about one time in twenty, the error rate.
twice = {"new": new, "again": new}
won = sum(
    interleaving.simulate_duel(test, twice, pages=pages // 10, seed=seed).verdicts()[0].winner is not None
    for seed in range(40)
)
print(f"of 40 comparisons of a ranker with itself, {won} named a winner")
