"""Ranking without search: each month is a list of shares, ordered by the return of the next month."""

import os
from pathlib import Path
from tempfile import mkdtemp

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import rankloop as rl

# 15 years of 80 synthetic shares: returns follow a saturating trend, cheapness (unless the share is volatile)
# and much noise; all of them also follow the market, which does not change their order.
rng = np.random.default_rng(0)
months, shares, bought = 180, 80, 10
names = ["trend", "cheapness", "volatility", "size", "dividend"]
X = rng.normal(size=(months, shares, len(names)))
trend, cheapness, risk = X[:, :, 0], X[:, :, 1], X[:, :, 2]
expected = 0.012 * np.tanh(trend) + 0.012 * cheapness * (risk < 0.5) - 0.004 * np.maximum(risk, 0)
returns = expected + 0.01 * rng.normal(size=(months, 1)) + 0.05 * rng.normal(size=(months, shares))

# A query is a month and a document a share; its grade, 0 to 4, is the quintile of its return in that month.
grades = returns.argsort(axis=1).argsort(axis=1) * 5 // shares
data = rl.RankingDataset.from_groups(
    X.reshape(-1, len(names)), grades.ravel(), [shares] * months, feature_names=names
)
past, recent, future = (data.select(np.arange(*years)) for years in ((0, 90), (90, 120), (120, 180)))

# Learn from the past, stop early by the recent months, evaluate on the future: never the other way round.
trees = 100 if os.environ.get("RANKLOOP_QUICK") else 400
rankers = {
    "linear": rl.LinearRanker(loss="ranknet").fit(past, recent),
    "trees": rl.LambdaMART(trees=trees, leaves=7, learning_rate=0.05, min_sum_hessian=20, seed=0).fit(
        past, recent
    ),
}
print(rl.compare({"trend alone": future.X[:, 0], **rankers}, future, f"ndcg@{bought}"), "\n")

# What matters in the end: the value of the ten best shares, bought again every month, without fees.
after = returns[120:]
monthly = {"all shares": after.mean(axis=1), "best possible": np.sort(after)[:, -bought:].mean(axis=1)}
for name, ranker in rankers.items():
    best = ranker.rank(future).reshape(after.shape)[:, :bought] - np.arange(len(after))[:, None] * shares
    monthly[name] = np.take_along_axis(after, best, axis=1).mean(axis=1)
for name, gained in monthly.items():
    print(f"{name:14} {gained.mean():+.2%} a month, {(gained > monthly['all shares']).mean():4.0%} above all")
    if name != "best possible":
        plt.plot(np.cumprod(1 + gained), label=name)
print("\nimportance of the features:")
print(rl.importance(rankers["trees"], future, metric="ndcg@10", seed=0))
plt.legend()
plt.gca().set(xlabel="months", ylabel="value of 1")
out = Path(mkdtemp()) / "portfolio.png"
plt.savefig(out)
print(f"\nfigure: {out}")
