"""BM25 on a real collection, at the figures that are known for it, and equal to a peer."""

import re

import numpy as np
import pytest

from rankloop.search import BM25, Analyser, Index, Query


def parts(text, letter):
    return [
        re.split(rf"^\.{letter}\n", part, flags=re.M)[-1] for part in re.split(r"^\.I ", text, flags=re.M)[1:]
    ]


def test_cranfield(collections, tmp_path):
    folder = collections / "cranfield"
    bodies = parts((folder / "cran.all.1400").read_text(), "W")
    queries = parts((folder / "cran.qry").read_text(), "W")
    relevant = {}
    for line in (folder / "cranqrel").read_text().splitlines():
        query, document = line.split()[:2]
        relevant.setdefault(int(query), set()).add(int(document))
    index = Index.create(tmp_path / "cranfield", {"body": "text"})
    index.add({"id": i, "body": body} for i, body in enumerate(bodies, 1))
    index.commit()
    find = index.retriever(k=1400, model=BM25(k1=1.2, b=0.75))
    bm25s = pytest.importorskip("bm25s")
    peer = bm25s.BM25(k1=1.2, b=0.75, method="lucene", dtype="float64")
    peer.index([Analyser().terms(body) for body in bodies], show_progress=False)
    precisions = []
    for number, query in enumerate(queries, 1):
        found = find(Query.of_words(query))
        hits = np.isin(found.ids, list(relevant[number]))
        precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        precisions.append(precision[hits].sum() / len(relevant[number]))
        scores = np.zeros(1400)
        scores[found.ids - 1] = found.scores
        np.testing.assert_allclose(scores, peer.get_scores(Analyser().terms(query)), rtol=1e-10, atol=1e-12)
    assert np.mean(precisions) == pytest.approx(0.42, abs=0.01)
