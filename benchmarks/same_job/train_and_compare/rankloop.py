import rankloop as rl

train, valid, test = (rl.read_svmlight(f"{part}.txt") for part in ("train", "vali", "test"))
linear = rl.LinearRanker(loss="ranknet").fit(train, valid)
trees = rl.LambdaMART(trees=300, seed=0).fit(train, valid)
print(rl.compare({"linear": linear, "trees": trees}, test, ["ndcg@10", "map"]))
trees.save("ranker.model")
