"""The listwise network of the tutorials, two small layers under ApproxNDCG, and later architectures."""

import os
from pathlib import Path
from tempfile import mkdtemp

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import rankloop as rl
from rankloop.rankers import NeuralRanker

# LightGBM's own ranking example if it is available, else a set drawn like MSLR-WEB30K.
folder = Path(os.environ.get("RANKLOOP_DATA", "")) / "lightgbm_lambdarank"
if (folder / "rank.train").is_file():
    train, test = rl.read_svmlight(folder / "rank.train"), rl.read_svmlight(folder / "rank.test")
else:
    train, test = rl.synthetic(n_queries=250, docs_per_query=15, n_features=30, seed=0).split(0.8, seed=0)
train, valid = train.split(0.8, seed=0)
out = Path(mkdtemp())

# The tutorial: layers of 20 and 10 with tanh, Adagrad at 0.1, 32 lists per step. It cut lists at 99
# documents and padded shorter ones; here lists of any length are batched as they are.
epochs = 3 if os.environ.get("RANKLOOP_QUICK") else 60
tutorial = NeuralRanker(
    hidden=(20, 10), activation="tanh", loss="approxndcg", optimizer="adagrad", learning_rate=0.1,
    batch_lists=32, epochs=epochs, feature_transform="standard",
)  # fmt: skip
rankers = {
    "tutorial": tutorial,
    "wider, ListNet": NeuralRanker(loss="listnet", dropout=0.3, epochs=epochs),
    "groups of two": NeuralRanker(scorer="groupwise", dropout=0.3, epochs=epochs),
    "attention": NeuralRanker(scorer="attention", latent_cross=True, dropout=0.3, epochs=epochs),
    "additive": NeuralRanker(scorer="gam", epochs=epochs),
}
figure, (curves, bars) = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
for name, ranker in rankers.items():
    reached = ranker.fit(train, valid).history_["ndcg@10"]
    curves.plot(np.arange(1, len(reached) + 1), reached, label=f"{name}, best after {ranker.n_iter_}")
curves.set(xlabel="epochs", ylabel="ndcg@10 on validation queries")
curves.legend()
print(rl.compare(rankers, test, "ndcg@10"))

# What the additive network uses: the exact contribution of each feature to the score.
spread = rankers["additive"].contributions(test).std(axis=0)
top = np.argsort(-spread)[:15][::-1]
names = train.feature_names or [f"feature {i + 1}" for i in range(train.n_features)]
bars.barh([names[i] for i in top], spread[top])
bars.set(xlabel="spread of the feature's contribution")
figure.savefig(out / "network.png")
tutorial.save(out / "network.rank")
print(f"\nmodel and figure are in {out}: {sorted(path.name for path in out.iterdir())}")
