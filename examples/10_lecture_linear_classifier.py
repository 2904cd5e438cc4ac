"""The lecture's first ranker: a line between relevant and nonrelevant, in cosine and window width."""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import rankloop as rl
from rankloop.search import Features

# Cranfield where it is installed; otherwise pages of made-up words, in which the two words of a query are
# adjacent in 6 relevant pages and far apart in 10 others.
if rl.catalog.find("cranfield") is not None:
    corpus = rl.catalog.load("cranfield")
    texts, queries, judged = {i: d["text"] for i, d in corpus.documents.items()}, corpus.queries, corpus.qrels
else:
    rng, queries, judged = np.random.default_rng(0), {}, {}
    words = np.array([x + y + z for x in "bdkmpt" for y in "aeiou" for z in "lnr"])
    pages = rng.choice(words, (600, 40))
    for q in range(60):
        (a, b), chosen = rng.choice(words, 2, replace=False), rng.choice(600, 16, replace=False)
        place = q % 15 * 2
        pages[chosen, place], pages[chosen, [place + 1] * 6 + [*rng.integers(30, 40, 10)]] = a, b
        queries[str(q)], judged[str(q)] = f"{a} {b}", {str(page): 1 for page in chosen[:6]}
    texts = {str(i): " ".join(page) for i, page in enumerate(pages)}
out = Path(mkdtemp())
index = rl.Index.create(out / "pages.index", fields={"text": "text"})
index.add([{"id": i, "text": text} for i, text in texts.items()])
index.commit()

# 100 candidates a query, two features each, binary judgments: the lecture's table of f1, f2 and label.
# The window is the shortest stretch of text with every word of the query that the document has.
found = index.retriever(k=100) >> Features(["cosine(text)", "window(text)"])
lists = found.dataset(queries, judged, among="retrieved")
train, test = lists.replace(y=np.minimum(lists.y, 1)).split(0.6, seed=0)
classifier = rl.LinearRanker(loss="sigmoidcrossentropy").fit(train)
a, b = classifier.coef_ / classifier.scale_
c = classifier.intercept_ - classifier.mean_ @ (a, b)
print(f"Score(alpha, omega) = {a:.2f} alpha {b:+.4f} omega {c:+.2f}")

# Documents above a threshold are declared relevant: as many as are relevant in training. Ranking needs none.
tau = np.quantile(classifier.predict(train), 1 - train.y.mean())
above = classifier.predict(test) > tau
print(f"threshold {tau:.2f}: precision {test.y[above].mean():.3f}, recall {above[test.y > 0].mean():.3f}\n")
pairwise = rl.LinearRanker(loss="ranknet").fit(train)
print(rl.compare({"cosine": test.X[:, 0], "classifier": classifier, "pairwise": pairwise}, test, "ndcg@10"))

plt.scatter(*test.X[test.y == 0].T, s=8, c="lightgrey", label="nonrelevant")
plt.scatter(*test.X[test.y == 1].T, s=8, c="tab:red", label="relevant")
window = np.array([0.0, test.X[:, 1].max()])
plt.plot((tau - c - b * window) / a, window, "k-", label="Score = threshold")
plt.gca().set(xlabel="cosine", ylabel="window", xlim=(0, test.X[:, 0].max()))
plt.legend()
plt.savefig(out / "lecture.png")
print(f"\nfigure: {out / 'lecture.png'}")
