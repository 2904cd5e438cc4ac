"""LambdaMART as in the tutorials: boosted trees, their learning curve, and the features that matter."""

import os
from pathlib import Path
from tempfile import mkdtemp

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import rankloop as rl

# LightGBM's own ranking example if it is available, else a set drawn like MSLR-WEB30K.
folder = Path(os.environ.get("RANKLOOP_DATA", "")) / "lightgbm_lambdarank"
if (folder / "rank.train").is_file():
    train, test = rl.read_svmlight(folder / "rank.train"), rl.read_svmlight(folder / "rank.test")
else:
    train, test = rl.synthetic(n_queries=250, docs_per_query=15, n_features=30, seed=0).split(0.8, seed=0)
train, valid = train.split(0.8, seed=0)
out = Path(mkdtemp())

# The validation metric stops training, and the trees of the best round are kept.
trees = 40 if os.environ.get("RANKLOOP_QUICK") else 200
rankers = {
    "lambdagap": rl.rankers.LambdaMART(trees=trees, leaves=15, min_sum_hessian=5),
    "softmax": rl.rankers.LambdaMART(trees=trees, leaves=15, min_sum_hessian=5, loss="softmax"),
    "LightGBM's own": rl.rankers.LambdaMART(
        trees=trees, leaves=15, min_sum_hessian=5, loss="backend:lambdarank"
    ),
}
figure, (curves, bars) = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
for name, ranker in rankers.items():
    ranker.fit(train, valid)
    curves.plot(np.arange(1, len(ranker.curve_) + 1), ranker.curve_, label=f"{name}, {ranker.n_trees_} trees")
curves.set(xlabel="trees", ylabel="ndcg@10 on validation queries")
curves.legend()
print(rl.compare(rankers, test, "ndcg@10"))

# What the trees use: the total gain of the splits on each feature.
best = rankers["lambdagap"]
gain = best.forest_.booster.feature_importance("gain")
top = np.argsort(-gain)[:15][::-1]
names = train.feature_names or [f"feature {i + 1}" for i in range(train.n_features)]
bars.barh([names[i] for i in top], gain[top])
bars.set(xlabel="total gain")
figure.savefig(out / "lambdamart.png")

best.save(out / "lambdamart.rank")
again = rl.load(out / "lambdamart.rank")
assert np.array_equal(again.predict(test), best.predict(test))
print(f"\nmodel and figure are in {out}: {sorted(path.name for path in out.iterdir())}")
