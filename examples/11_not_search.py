"""Ranking that is not search: every month a list of shares, the next month's return decides their order."""

import os
from pathlib import Path
from tempfile import mkdtemp

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import rankloop as rl

# 15 years of 80 made-up shares: returns follow a fading trend, cheapness (less so for swinging shares) and
# much luck; all of them also follow the market, which no ranking can foresee and none needs to.
rng = np.random.default_rng(0)
months, shares, bought = 180, 80, 10
names = ["trend", "cheapness", "swings", "size", "dividend"]
X = rng.normal(size=(months, shares, len(names)))
trend, cheapness, swings = X[:, :, 0], X[:, :, 1], X[:, :, 2]
expected = 0.012 * np.tanh(trend) + 0.012 * cheapness * (swings < 0.5) - 0.004 * np.maximum(swings, 0)
returns = expected + 0.01 * rng.normal(size=(months, 1)) + 0.05 * rng.normal(size=(months, shares))

# A query is a month and a document a share; its grade, 0 to 4, is the fifth of the month it came in.
grades = returns.argsort(axis=1).argsort(axis=1) * 5 // shares
data = rl.RankingDataset.from_groups(
    X.reshape(-1, len(names)), grades.ravel(), [shares] * months, feature_names=names
)
past, recent, future = (data.select(np.arange(*years)) for years in ((0, 90), (90, 120), (120, 180)))

# Learn from the past, stop by the recent months, judge by the future: never the other way round.
trees = 100 if os.environ.get("RANKLOOP_QUICK") else 400
rankers = {
    "linear": rl.LinearRanker(loss="ranknet").fit(past, recent),
    "trees": rl.LambdaMART(trees=trees, leaves=7, learning_rate=0.05, min_sum_hessian=20, seed=0).fit(
        past, recent
    ),
}
print(rl.compare({"trend alone": future.X[:, 0], **rankers}, future, f"ndcg@{bought}"), "\n")

# What matters in the end: the worth of the ten best shares, bought anew every month, without fees.
after = returns[120:]
worth = {"all shares": after.mean(axis=1), "best possible": np.sort(after)[:, -bought:].mean(axis=1)}
for name, ranker in rankers.items():
    best = ranker.rank(future).reshape(after.shape)[:, :bought] - np.arange(len(after))[:, None] * shares
    worth[name] = np.take_along_axis(after, best, axis=1).mean(axis=1)
for name, gained in worth.items():
    print(f"{name:14} {gained.mean():+.2%} a month, {(gained > worth['all shares']).mean():4.0%} above all")
    if name != "best possible":
        plt.plot(np.cumprod(1 + gained), label=name)
print(
    "\nwhat the trees look at:\n", rl.importance(rankers["trees"], future, metric="ndcg@10", seed=0), sep=""
)
plt.legend()
plt.gca().set(xlabel="months", ylabel="worth of 1")
out = Path(mkdtemp()) / "portfolio.png"
plt.savefig(out)
print(f"\nfigure: {out}")
