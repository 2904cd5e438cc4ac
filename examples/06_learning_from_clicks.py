"""Clicks are free and biased: learn from them without the bias, and estimate the gain before deployment."""

import os

import numpy as np

import rankloop as rl
from rankloop import propensity, unbiased

quick = "RANKLOOP_QUICK" in os.environ
trees, sessions = (40, 30_000) if quick else (150, 200_000)

# 500 queries; the ranker in service sorts by one feature, and users examine rank k one time in k.
train = rl.synthetic(n_queries=500, docs_per_query=10, n_features=12, seed=0)
test = rl.synthetic(n_queries=300, docs_per_query=10, n_features=12, seed=1)
log = rl.simulate(
    train, logging_policy=train.X[:, 0], user="pbm", sessions=sessions, k=10, randomize="swap", seed=0
)

# The probability that each rank was examined, from swaps of rank 1 with another.
seen = propensity.swap_intervention(log)
print(seen, "\n")

# A correction gives a data set that any ranker can fit: one row per document, however many sessions.
ranker = rl.LambdaMART(trees=trees, leaves=8, loss=unbiased.DCG, threads=1)
naive = rl.LambdaMART(**ranker.get_params()).fit(unbiased.naive(log, train))
fair = rl.LambdaMART(**ranker.get_params()).fit(unbiased.ips(log, seen, train))

# Or let `learn` choose everything from the log alone.
learned = unbiased.learn(log, train, rankers=unbiased.candidates(trees=trees, threads=1))
print(learned, "\n")

# The value of each ranker, estimated from another log whose pages varied: no label is needed for this ...
later = rl.simulate(test, logging_policy=test.X[:, 0], temperature=1.0, sessions=sessions, k=10, seed=2)
rankers = {"in service": test.X[:, 0], "naive": naive, "ips": fair, "learn": learned.ranker}
print(unbiased.select(later, test, rankers, "dcg@10", propensity=seen, method="policy_aware"), "\n")

# ... and the true value, which is known in a simulation:
for name, one in rankers.items():
    scores = one if isinstance(one, np.ndarray) else one.predict(test)
    print(f"{name:<12} ndcg@10 {rl.evaluate(scores, test, ['ndcg@10']).mean['ndcg@10']:.4f}")
