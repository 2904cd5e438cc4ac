import lightgbm as lgb
import numpy as np
from ranx import Qrels, Run, compare
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression


def read(part):
    X, y, qid = load_svmlight_file(f"{part}.txt", query_id=True, n_features=20)
    order = np.argsort(qid, kind="stable")
    return X[order].toarray(), y[order], qid[order]


def sizes(qid):
    return np.unique(qid, return_counts=True)[1]


def as_run(scores, qid, name):
    run = {}
    for row, (query, score) in enumerate(zip(qid, scores, strict=True)):
        run.setdefault(str(query), {})[str(row)] = float(score)
    return Run(run, name=name)


(X, y, qid), (X_valid, y_valid, qid_valid), (X_test, y_test, qid_test) = map(read, ("train", "vali", "test"))
mean, scale = X.mean(0), X.std(0) + 1e-9
linear = LogisticRegression(max_iter=1000).fit((X - mean) / scale, y > 0)
trees = lgb.LGBMRanker(n_estimators=300, random_state=0, verbose=-1)
trees.fit(
    X,
    y,
    group=sizes(qid),
    eval_set=[(X_valid, y_valid)],
    eval_group=[sizes(qid_valid)],
    eval_at=[10],
    callbacks=[lgb.early_stopping(50, verbose=False)],
)
qrels = {}
for row, (query, label) in enumerate(zip(qid_test, y_test, strict=True)):
    qrels.setdefault(str(query), {})[str(row)] = int(label)
runs = [
    as_run(linear.decision_function((X_test - mean) / scale), qid_test, "linear"),
    as_run(trees.predict(X_test), qid_test, "trees"),
]
print(compare(Qrels(qrels), runs, ["ndcg@10", "map"], stat_test="student"))
trees.booster_.save_model("ranker.txt")
