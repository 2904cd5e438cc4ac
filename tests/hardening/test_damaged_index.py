"""One place of an index changed: noticed on opening or on first use, never another answer, never a crash."""

import shutil

import numpy as np
import pytest

import rankloop.search.index.arrays
import rankloop.search.index.vectors
from hardening.damage import damages, rewrite
from rankloop.search import Features, Index
from rankloop.search.index.arrays import read_arrays, write_arrays

CASES = 36  # of each file


def everything(index):
    """All that an index can answer, as one value."""
    found = []
    features = Features.standard(index, encoders={"place": lambda text: [1.0, len(text)]})
    search = index.retriever(k=50, vectors={"place": lambda text: [1.0, len(text)]}, typos="missing")
    for query in ("red", "shoes*", '"red shoes"', "-hat blue", "tag:a price:3..40", "shoos"):
        one = search(query)
        found += [one.ids.tolist(), one.scores.tolist(), features.matrix(one).tolist()]
        found.append([(hit.id, hit.document, hit.snippet) for hit in one])
    found += [index.facets("", "tag"), index.ids.tolist(), [index[id]["title"] for id in index.ids.tolist()]]
    return repr(found)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Two segments, deleted documents, and a graph of vectors."""
    pytest.importorskip("usearch")
    folder = tmp_path_factory.mktemp("damage") / "i"
    index = _with_a_graph(folder, 120)
    index.add(_document(i) for i in range(120, 150))
    index.delete(range(3, 40, 5))
    index.commit()
    files = sorted(path.name for path in folder.iterdir() if path.name != "lock")
    assert [name.partition("-")[0] for name in files] == ["manifest.json"] + ["segment"] * 4
    return folder


def _document(i):
    words = ["red", "blue", "shoes", "hat", "shoe"]
    return {
        "id": i,
        "title": f"{words[i % 5]} {words[i % 3]} {i}",
        "body": " ".join(words[(i * j) % 5] for j in range(9)),
        "tag": "abc"[i % 3],
        "price": i,
        "place": [np.cos(i), np.sin(i)],
    }


@pytest.mark.parametrize("small", [1 << 30, 0], ids=["compared on opening", "compared on first use"])
@pytest.mark.parametrize("file", ["manifest", "segment", "deleted", "usearch"])
def test_every_change_is_noticed(whole, tmp_path, file, small, monkeypatch):
    monkeypatch.setattr(rankloop.search.index.arrays, "SMALL", small)
    monkeypatch.setattr(rankloop.search.index.arrays, "_BLOCK", 1 << 18 if small else 512)
    folder = tmp_path / "i"
    if small:
        shutil.copytree(whole, folder)
    else:
        _written_in_small_blocks(folder)
    names = [path.name for path in folder.iterdir() if file in path.name]
    if file == "segment":
        names = [name for name in names if name.count(".") == 1]
    wanted = everything(Index.open(folder))
    unnoticed = []
    for name in names:
        content = (folder / name).read_bytes()
        for number, (kind, damaged) in enumerate(damages(content, CASES, seed=len(name))):
            rewrite(folder / name, damaged)
            try:
                if everything(Index.open(folder)) != wanted:
                    unnoticed.append((name, kind, number, "another answer"))
                index = Index.open(folder)
                index.check()
                unnoticed.append((name, kind, number, "not noticed"))
            except (ValueError, FileNotFoundError):
                pass
        rewrite(folder / name, content)
    assert not unnoticed
    assert everything(Index.open(folder)) == wanted


def _with_a_graph(folder, documents):
    """One segment, with a graph of its vectors."""
    fields = {"title": "text", "body": "text", "tag": "keyword", "price": "number", "place": "vector:2"}
    index = Index.create(folder, fields)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rankloop.search.index.vectors, "GRAPH_FROM", 20)
        index.add(_document(i) for i in range(documents))
        index.compact()
    return index


def _written_in_small_blocks(folder):
    index = _with_a_graph(folder, 60)
    index.delete(range(3, 40, 5))
    index.commit()


def test_a_merge_does_not_sign_damage(tmp_path, monkeypatch):
    monkeypatch.setattr(rankloop.search.index.arrays, "_BLOCK", 64)
    index = Index.create(tmp_path / "i", {"title": "text"})
    for i in range(2):
        index.add({"id": 10 * i + j, "title": f"red {j}"} for j in range(10 - 5 * i))
        index.commit()
    monkeypatch.setattr(rankloop.search.index.arrays, "SMALL", 0)
    path = min((tmp_path / "i").glob("segment-*.bin"))
    data = bytearray(path.read_bytes())
    data[-80] ^= 4  # among what no search for words reads
    path.write_bytes(data)
    again = Index.open(tmp_path / "i")
    generation = again.generation
    with pytest.raises(ValueError, match=f"{path.name} is damaged"):
        again.compact()
    assert Index.open(tmp_path / "i").generation == generation


def test_only_touched_blocks_are_compared(tmp_path, monkeypatch):
    monkeypatch.setattr(rankloop.search.index.arrays, "SMALL", 0)
    monkeypatch.setattr(rankloop.search.index.arrays, "_BLOCK", 64)
    values = np.arange(1000, dtype=np.int32)
    digest = write_arrays(tmp_path / "a.bin", {"first": values, "rows": values.reshape(100, 10)})
    data = bytearray((tmp_path / "a.bin").read_bytes())
    data[-4 * 1000 + 4 * 500] ^= 1
    (tmp_path / "a.bin").write_bytes(data)
    arrays = read_arrays(tmp_path / "a.bin", digest)
    assert arrays["first"].tolist() == values.tolist()
    np.testing.assert_array_equal(
        arrays.touch("rows", np.array([0, 60]), np.array([10, 100]))[60], values[600:610]
    )
    with pytest.raises(ValueError, match=r"the bytes from .* are not those that were written"):
        arrays.touch("rows", np.array([49]), np.array([51]))
    with pytest.raises(ValueError, match="not those that were written"):
        arrays["rows"]
    with pytest.raises(ValueError, match="not those that were written"):
        arrays.check()
    assert arrays.touch("rows", np.array([3]), np.array([3])) is arrays.raw["rows"]


def test_an_array_that_was_compared_part_by_part_is_not_looked_at_again(tmp_path, monkeypatch):
    monkeypatch.setattr(rankloop.search.index.arrays, "SMALL", 0)
    monkeypatch.setattr(rankloop.search.index.arrays, "_BLOCK", 64)
    values = np.arange(1000, dtype=np.int32)
    digest = write_arrays(tmp_path / "a.bin", {"rows": values, "other": values})
    arrays = read_arrays(tmp_path / "a.bin", digest)
    arrays.touch("rows", np.array([0]), np.array([984]))
    assert "rows" not in arrays
    arrays.touch("rows", np.array([900]), np.array([1000]))
    assert arrays["rows"] is arrays.raw["rows"]
    assert "other" not in arrays


@pytest.mark.parametrize("sizes", [(0,), (1,), (15, 17), (16, 16), (100, 0, 3)])
def test_arrays_of_any_size_come_back(tmp_path, sizes, monkeypatch):
    monkeypatch.setattr(rankloop.search.index.arrays, "_BLOCK", 64)
    arrays = {str(at): np.arange(size, dtype=np.float32) for at, size in enumerate(sizes)}
    digest = write_arrays(tmp_path / "a.bin", arrays)
    found = read_arrays(tmp_path / "a.bin", digest)
    found.check()
    assert {name: values.tolist() for name, values in found.items()} == {
        name: values.tolist() for name, values in arrays.items()
    }
