"""Many readers, one writer."""

import threading

import pytest

from rankloop.search import Index


def test_one_writer_at_a_time(tmp_path):
    index = Index.create(tmp_path / "i", {"title": "text"})
    other = Index.open(tmp_path / "i")
    index.add([{"id": 1, "title": "one"}])
    with pytest.raises(ValueError, match="is being written by process"):
        other.add([{"id": 2, "title": "two"}])
    index.commit()
    other.add([{"id": 2, "title": "two"}])
    other.commit()
    assert other.ids.tolist() == [1, 2]
    assert index.ids.tolist() == [1]
    index.update([{"id": 3, "title": "three"}])  # a writer starts from the newest commit
    index.commit()
    assert index.ids.tolist() == [1, 2, 3]


def test_a_forgotten_writer_does_not_lock_others_out(tmp_path):
    index = Index.create(tmp_path / "i", {"title": "text"})
    index.add([{"id": 1, "title": "one"}])
    del index
    other = Index.open(tmp_path / "i")
    other.add([{"id": 2, "title": "two"}])
    other.commit()
    assert other.ids.tolist() == [2]


def test_leaving_the_block_gives_the_lock_back(tmp_path):
    with Index.create(tmp_path / "i", {"title": "text"}) as index:
        index.add([{"id": 1, "title": "one"}])
    assert len(index) == 0
    assert index.refresh() is False


def test_readers_see_whole_commits_while_a_writer_works(tmp_path):
    index = Index.create(tmp_path / "i", {"title": "text", "turn": "number"})
    index.add({"id": i, "title": "fox turn0", "turn": 0} for i in range(30))
    index.commit()
    done, wrong, seen = threading.Event(), [], set()

    def read():
        reader = Index.open(tmp_path / "i")
        while not done.is_set():
            reader.refresh()
            found = reader.retriever(k=100)("fox")
            turns = {hit.document["turn"] for hit in found}
            seen.update(turns)
            if len(found) != 30 or len(turns) != 1:
                wrong.append((len(found), turns))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for turn in range(1, 15):
        index.update({"id": i, "title": f"fox turn{turn}", "turn": turn} for i in range(30))
        if turn % 5:
            index.commit()
        else:
            index.compact()
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(seen) > 1


def test_a_reader_keeps_its_generation_while_files_go(tmp_path):
    index = Index.create(tmp_path / "i", {"title": "text"})
    index.add([{"id": 1, "title": "one fox"}])
    index.commit()
    reader = Index.open(tmp_path / "i")
    index.update([{"id": 1, "title": "two"}, {"id": 2, "title": "fox"}])
    index.compact()
    assert reader.retriever()("fox").ids.tolist() == [1]
    assert reader[1]["title"] == "one fox"
    assert reader.refresh() is True
    assert reader.retriever()("fox").ids.tolist() == [2]
