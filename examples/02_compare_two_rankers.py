"""Compare rankers on the same queries: differences with p-values and intervals."""

import numpy as np

import rankloop as rl

# 200 queries of 30 documents; the label follows two features, and noise.
rng = np.random.default_rng(0)
queries, documents = 200, 30
X = rng.normal(size=(queries * documents, 3))
relevance = X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=len(X))
y = np.digitize(relevance, np.quantile(relevance, [0.6, 0.85, 0.95]))
data = rl.RankingDataset(X, y, np.repeat(np.arange(queries), documents))

# A ranking is one score per row, a Run, or anything with predict(X).
systems = {
    "one feature": X[:, 0],
    "two features": X[:, 0] + 0.5 * X[:, 1],
    "two, and noise": X[:, 0] + 0.5 * X[:, 1] + 0.02 * X[:, 2],
}
compared = rl.metrics.compare(systems, data, ["ndcg@10", "map"])
print(compared)

verdict = compared.verdicts["ndcg@10"]["two features"]
print(f"\nbetter by {verdict.difference:.3f}, between {verdict.low:.3f} and {verdict.high:.3f}")
print("most changed:", compared.most_changed("two features", n=3))

print("\nFor the paper:\n")
print(compared.to_markdown())
