"""Why is this document ranked above that one? A forest explained."""

import numpy as np

from rankloop.data import RankingDataset
from rankloop.rankers import LambdaMART, ablation, contributions, importance, lambdas, partial_dependence, why

# 150 queries of 20 products; people want matching, popular, cheap ones; two features are nearly equal.
rng = np.random.default_rng(0)
queries, shown = 150, 20
rows = queries * shown
match, popular, price = rng.normal(size=rows), rng.exponential(size=rows), rng.gamma(2.0, 20.0, size=rows)
names = ["title match", "body match", "popularity", "price", "random"]
X = np.column_stack((match, match + 0.3 * rng.normal(size=rows), popular, price, rng.normal(size=rows)))
utility = match + 0.7 * np.log1p(popular) - 0.02 * price + 0.5 * rng.normal(size=rows)
y = np.digitize(utility, np.quantile(utility, [0.6, 0.85, 0.95]))
docid = [f"product {i}" for i in range(rows)]
data = RankingDataset(X, y, np.repeat(np.arange(queries), shown), docid=docid, feature_names=names)
train, test = data.split(0.7, seed=0)

ranker = LambdaMART(trees=60, leaves=8, min_sum_hessian=1.0, threads=1, seed=0).fit(train)

print("What NDCG@10 loses when a feature is shuffled:\n")
print(importance(ranker, test, metric="ndcg@10", seed=0))

print("\nWhy the first product of one query is ranked above the fourth:\n")
ranking = ranker.rank(test.select([0]))
first, fourth = (test.docid[ranking[place]] for place in (0, 3))
print(why(ranker, test, test.qid[0], first, fourth))

shares = contributions(ranker, test)
print("\nshares add up to the scores:", np.allclose(shares.base + shares.values.sum(1), ranker.predict(test)))

print("\nThe score as the price rises:\n")
print(partial_dependence(ranker, test, "price", points=6))

print("\nOf two nearly equal features one can be left out, but not both:\n")
matches = {"title match": ["title match"], "both matches": ["title match", "body match"]}
print(ablation(ranker, train, test, matches, "ndcg@10"))

print("\nThe lambdas of the first products of that query:")
pushed = lambdas("lambdarank", ranker.predict(test), test.y, test.offsets).of(0)
for rank, label, push in list(zip(pushed["rank"], pushed["labels"], pushed["push"], strict=True))[:5]:
    print(f"  rank {rank}, label {label:g}: {push:+.3f}")
