import json

import lightgbm as lgb
import pandas as pd
import pyterrier as pt

MODELS = ("BM25", "PL2", "DPH", "TF_IDF", "LGD")


def documents():
    with open("documents.jsonl") as lines:
        for line in lines:
            one = json.loads(line)
            yield {"docno": str(one["id"]), "title": one["title"], "body": one["body"]}


indexer = pt.IterDictIndexer("./index", meta={"docno": 20}, text_attrs=["title", "body"], fields=True)
index = indexer.index(documents())
topics = pd.read_csv("queries.tsv", sep="\t", names=["qid", "query"], dtype=str).sort_values("qid")
qrels = pt.io.read_qrels("qrels.txt")
train, valid, test = (topics.iloc[at::3] for at in range(3))
bm25 = pt.terrier.Retriever(index, wmodel="BM25", num_results=200)
features = pt.terrier.FeaturesRetriever(
    index, [f"WMODEL:{name}" for name in MODELS], wmodel="BM25", num_results=200
)
ranker = lgb.LGBMRanker(n_estimators=100, random_state=0, verbose=-1)
learned = features >> pt.ltr.apply_learned_model(ranker, form="ltr")
learned.fit(train, qrels, valid, qrels)
metrics = ["ndcg_cut_10", "map"]
print(pt.Experiment([bm25, learned], test, qrels, metrics, names=["bm25", "learned"], baseline=0))
