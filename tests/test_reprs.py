"""What a notebook shows: short, whatever the size of the thing."""

import numpy as np
import pytest

import rankloop as rl
from rankloop.data import Qrels, Run


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    data = rl.synthetic(n_queries=200, docs_per_query=20, n_features=30, seed=0)
    ranker = rl.rankers.RankSVM().fit(data)
    run = Run.from_dataset(data, data.X[:, 0])
    user = rl.clicks.PBM(examination=[1.0, 0.5], attraction=[0.1, 0.3, 0.5, 0.7, 0.9])
    index = rl.Index.create(tmp_path_factory.mktemp("shop") / "shop.index", {"title": "text"})
    index.add({"id": f"<{i}>", "title": "shoes " + "word " * 50} for i in range(100))
    index.commit()
    return {
        "data set": data,
        "description": data.describe(),
        "run": run,
        "judgments": Qrels.from_dataset(data),
        "log": rl.simulate(data, logging_policy=data.X[:, 0], user=user, sessions=500, k=2, seed=0),
        "contributions": rl.rankers.contributions(ranker, data),
        "evaluation": rl.evaluate(run, Qrels.from_dataset(data), "ndcg@10"),
        "result": index.retriever(k=100)("shoes"),
    }


@pytest.mark.parametrize(
    "what", ["data set", "description", "run", "judgments", "log", "contributions", "evaluation", "result"]
)
def test_a_notebook_is_not_flooded(shown, what):
    one = shown[what]
    assert len(str(one)) < 2500
    if what not in ("description", "evaluation"):
        assert len(repr(one).splitlines()) == 1
    page = one._repr_html_()
    assert page.startswith("<div>")
    assert len(page) < 5000
    assert page.count("<tr>") < 25


def test_what_is_shown_is_what_is_there(shown):
    assert repr(shown["result"]) == "Candidates('shoes', 100 documents of 100 that match)"
    assert "&lt;" in shown["result"]._repr_html_()  # ids are escaped
    log = shown["log"]
    first = int((log.position == 1).sum())
    assert f"<td style='text-align:right'>{first:,}</td>" in log._repr_html_()
    parts = shown["contributions"]
    largest = parts.names[int(np.abs(parts.values).mean(axis=0).argmax())]
    assert parts.table().rows[0][0] == largest
    assert repr(parts) == f"Contributions({len(parts.values):,} documents, 30 features, exact)"
