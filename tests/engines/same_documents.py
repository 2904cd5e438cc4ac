"""What every engine has to find: the documents that the embedded index finds."""

import numpy as np

from rankloop.search import BM25, Index


def embedded(folder, fields, documents):
    """The documents in the embedded index, which says what is right."""
    index = Index.create(folder / "shop.index", fields=fields)
    index.add(documents)
    index.commit()
    return index


def assert_same_documents(engine, index, text, **options):
    """Both find the same documents, in whatever order; gives what each found."""
    ours, theirs = (one.retriever(k=1000, **options)(text) for one in (index, engine))
    assert set(theirs.ids.tolist()) == set(ours.ids.tolist()), options
    assert theirs.matches == ours.matches
    return ours, theirs


def assert_near_bm25(engine, index, least):
    """Shards count document frequencies for themselves, so that scores are near those of BM25, not equal."""
    model = BM25(fields={"title": 5.0, "body": 0.5})
    ours, theirs = (one.retriever(model=model)("red shoes") for one in (index, engine))
    score = dict(zip(ours.ids.tolist(), ours.scores.tolist(), strict=True))
    assert np.corrcoef([score[id] for id in theirs.ids.tolist()], theirs.scores)[0, 1] > least
    assert (np.diff(theirs.scores) <= 0).all()
