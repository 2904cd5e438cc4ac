"""From documents to a learned page: index, retrieve, compute features, rank, explain, save."""

import tempfile
from pathlib import Path

import numpy as np

import rankloop as rl
from rankloop.search import Features, Index, first, load_pipeline

rng, folder = np.random.default_rng(0), Path(tempfile.mkdtemp())
colours, things = ["red", "blue", "green", "black"], ["shoes", "hat", "coat", "bag", "scarf"]
index = Index.create(folder / "shop.index", {"title": "text", "body": "text", "price": "number"})
index.add(
    {
        "id": i,
        "title": f"{rng.choice(colours)} {rng.choice(things)}",
        "body": " ".join(rng.choice(colours + things, 12)),
        "price": float(rng.integers(5, 200)),
    }
    for i in range(400)
)
index.commit()

# What people want here: the thing in the title, and a low price.
queries = {f"{colour} {thing}": f"{colour} {thing}" for colour in colours for thing in things}
judgments = {
    text: {
        hit.id: sum(word in hit.document["title"] for word in text.split()) * (hit.document["price"] < 100)
        for hit in index.retriever(k=100)(text)
    }
    for text in queries.values()
}
train, test = dict(list(queries.items())[::2]), dict(list(queries.items())[1::2])


def bargain(found):
    """1 if it costs less than 20"""
    return found.numbers("price") < 20


features = Features.standard(index, more=[bargain])
search = index.retriever(k=100) >> features >> rl.LambdaMART(trees=40, threads=1) >> first(10)
search.fit(train, judgments, among="retrieved")

plain = (index.retriever(k=100) >> first(10)).evaluate(test, judgments, ["ndcg@10"])
learned = search.evaluate(test, judgments, ["ndcg@10"])
print(f"NDCG@10 by BM25 {plain.mean['ndcg@10']:.3f}, learned {learned.mean['ndcg@10']:.3f}")

page = search("red shoes")
for hit in page:
    print(f"{hit.rank:>3}  {hit.document['title']:<14}{hit.document['price']:>6.0f}")
for part in features.explain(page, page.ids[0])[-2:]:
    print(f"{part.name} = {part.value:.2f}: {part.meaning}")

search.save(folder / "shop.search")
again = load_pipeline(folder / "shop.search", index, functions=[bargain], exact=True)
print("the same page from the file:", again("red shoes").ids.tolist() == page.ids.tolist())
