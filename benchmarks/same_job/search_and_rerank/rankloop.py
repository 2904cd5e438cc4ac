from pathlib import Path

import rankloop as rl

index = rl.Index.create("shop.index", fields={"title": "text", "body": "text"})
index.add(rl.read_documents("documents.jsonl"))
index.commit()
queries = dict(line.split("\t") for line in Path("queries.tsv").read_text().splitlines())
names, qrels = sorted(queries), rl.read_qrels("qrels.txt")
train, valid, test = ({name: queries[name] for name in names[at::3]} for at in range(3))
search = index.retriever(k=200) >> rl.Features.standard(index) >> rl.LambdaMART(trees=100, seed=0)
search.fit(train, qrels, valid=valid, among="retrieved")
words = index.retriever(k=200) >> rl.first(200)
judged = {name: qrels[name] for name in test}
print(rl.compare({"bm25": words.run(test), "learned": search.run(test)}, judged, ["ndcg@10", "map"]))
