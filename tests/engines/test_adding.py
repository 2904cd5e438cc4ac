"""Documents into an engine and its local index: each batch is compared and sent once."""

from types import SimpleNamespace

from rankloop.engines.remote import adding
from rankloop.engines.remote.adding import Adding
from rankloop.search import Index
from rankloop.search.index.snapshot import Manifest


class Engine(SimpleNamespace):
    """An engine in memory, which counts what it is asked."""

    def known(self, ids):
        self.asked.append(list(ids))
        return [id in self.documents for id in ids]

    def send(self, documents):
        self.sent.append([id for id, _ in documents])
        self.documents.update(documents)
        return {}


def test_a_batch_is_compared_once_and_what_is_new_is_sent_once(tmp_path, monkeypatch):
    monkeypatch.setattr(adding, "BATCH", 10)
    local = Index.create(tmp_path / "near.index", fields={"title": "text"})
    schema = Manifest(local.fields, local.snapshot.manifest.analyser)
    engine = Engine(schema=schema, local=local, documents={}, asked=[], sent=[])
    given = [{"id": f"d{at}", "title": f"red {at}"} for at in range(25)]
    assert Adding(engine, "raise").run(given).documents == 25
    assert [len(one) for one in engine.sent] == [10, 10, 5]
    assert engine.asked == []
    engine.sent.clear()
    given[3] = {"id": "d3", "title": "blue"}
    del engine.documents["d12"]
    assert Adding(engine, "raise").run(given).documents == 25
    assert engine.sent == [["d3"], ["d12"]]
    assert [len(one) for one in engine.asked] == [9, 10, 5]
    assert local["d3"]["title"] == "blue"
