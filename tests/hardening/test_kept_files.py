"""Files kept between runs, and answers of other machines, that were changed: one sentence each."""

import json

import numpy as np
import pytest

import rankloop as rl
import tiny_bert
import tiny_encoder
from rankloop._checksums import signed_json
from rankloop.cli.options.inputs import read_ranking
from rankloop.data import load_dataset, save_dataset
from rankloop.propensity import Propensity
from rankloop.report.reports.report_of_run import report_of_run
from rankloop.search import Index
from rankloop.search.encoders.onnx_encoder import OnnxEncoder
from rankloop.serve.desk.language_judge import BadAnswer, grade_of
from rankloop.serve.desk.language_model import ModelAway, _read
from rankloop.serve.events.ubi_files import arrivals

DEEP = "[" * 100_000
LONG = "9" * 400


@pytest.mark.parametrize(
    "change", [("values", "lows"), ("1.0", LONG), ("1.0", "{}"), ("null", DEEP), ("[", "7,[")]
)
def test_a_curve(tmp_path, change):
    path = tmp_path / "curve.json"
    Propensity.given([1.0, 0.5]).save(path)
    path.write_text(path.read_text().replace(*change, 1))
    with pytest.raises(ValueError, match=r"curve\.json is damaged or not a saved propensity curve"):
        Propensity.load(path)


@pytest.mark.parametrize("text", [DEEP, "[]", '{"test": 7}', '{"test": {"metrics": {"map": {"mean": 1}}}}'])
def test_a_run(tmp_path, text):
    (tmp_path / "metrics.json").write_text(text)
    with pytest.raises(ValueError, match=r"metrics\.json is (damaged|not what rankloop train wrote)"):
        report_of_run(tmp_path)


@pytest.mark.parametrize(
    "header",
    [b"{'descr': '<f8', 'shape': (", b"{'descr': '<f8', 'fortran_order': False, 'shape': (90000000000,), }"],
)
def test_scores(tmp_path, header):
    """The second promises 720 GB."""
    (tmp_path / "s.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + header.ljust(117) + b"\n"
    )
    with pytest.raises(ValueError, match=r"s\.npy holds no array of numbers"):
        read_ranking(tmp_path / "s.npy")


def test_lists_of_files(tmp_path):
    Index.create(tmp_path / "i", {"title": "text"})
    (tmp_path / "i" / "manifest.json").write_text(DEEP)
    with pytest.raises(ValueError, match=r"the manifest of .*i is damaged \(nested too deeply"):
        Index.open(tmp_path / "i")
    save_dataset(rl.synthetic(n_queries=2, docs_per_query=2, n_features=2, seed=0), tmp_path / "set")
    path = tmp_path / "set" / "manifest.json"
    listed = {
        name: one for name, one in json.loads(path.read_text()).items() if name not in ("signed", "digest")
    }
    for names in (["a"], [["a"], 7], "ab", 7, ["a", "a"]):
        path.write_text(signed_json(listed | {"feature_names": names}))
        with pytest.raises(ValueError, match=r"feature.name"):
            load_dataset(tmp_path / "set")
    del listed["feature_names"]
    path.write_text(signed_json(listed))
    assert load_dataset(tmp_path / "set").feature_names is None


@pytest.mark.parametrize(
    "content", [DEEP, '{"choices": [{"message": {"content": "3"}}], "usage": {"total_tokens": 1e999}}']
)
def test_a_language_model(content):
    with pytest.raises(ModelAway, match="not a chat completion"):
        _read(content.encode())
    with pytest.raises(BadAnswer, match="has no grade"):
        grade_of(f'{{"grade": {DEEP}')


def test_arrivals(tmp_path):
    lines = [
        f'{{"query_id": "1", "received": {LONG}}}',
        '{"query_id": "2", "timestamp": "0001-01-01T00:00:00"}',
    ]
    (tmp_path / "queries.jsonl").write_text("\n".join([*lines, DEEP, '{"query_id": "3", "received": 5.0}']))
    assert arrivals(tmp_path / "queries.jsonl") == {"1": (0.0, None), "2": (0.0, None), "3": (5.0, None)}


@pytest.mark.parametrize(
    "settings",
    [
        {"vocab_size": 2**31 - 1},
        {"vocab_size": 2**40},
        {"vocab_size": 14.5},
        {"num_hidden_layers": 2**31 - 1},
        {"num_attention_heads": {}},
        {"hidden_size": "x"},
        {"intermediate_size": None},
        {"layer_norm_eps": "x"},
        {"layer_norm_eps": 10**400},
        {"layer_norm_eps": float("nan")},
    ],
)
def test_sizes_of_a_network(tmp_path, settings):
    pytest.importorskip("torch")
    from rankloop.rankers.text.bi_encoder import BiEncoder

    path = tiny_bert.checkpoint(tmp_path / "bert") / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))
    with pytest.raises(ValueError, match=r"config\.json"):
        BiEncoder.open(tmp_path / "bert", tokens=16, device="cpu")


def test_files_of_a_network(tmp_path):
    pytest.importorskip("torch")
    from rankloop.rankers.text.bi_encoder import BiEncoder

    folder = tiny_bert.checkpoint(tmp_path / "bert")

    def refused(file, change, match):
        whole = (folder / file).read_bytes()
        (folder / file).write_bytes(change(whole))
        with pytest.raises(ValueError, match=match):
            BiEncoder.open(folder, tokens=16, device="cpu")
        (folder / file).write_bytes(whole)

    refused(
        "config.json", lambda whole: DEEP.encode(), r"config\.json is damaged or not JSON \(nested too deeply"
    )
    refused("config.json", lambda whole: b"[]", r"config\.json is damaged: it holds no JSON object")
    header = (50_000).to_bytes(8, "little") + b"[" * 50_000
    refused("model.safetensors", lambda whole: header, "damaged or not a safetensors file")
    spelled = json.loads((folder / "tokenizer.json").read_text())
    beyond = spelled["model"]["vocab"] | {"boots": 1000}
    other = spelled | {"model": spelled["model"] | {"vocab": beyond}}
    refused("tokenizer.json", lambda whole: json.dumps(other).encode(), r"it has 1,001 tokens of 2 types")
    without = json.dumps(spelled).replace('"special_tokens": {"[CLS]"', '"special_tokens": {"[CLX]"')
    assert without != json.dumps(spelled)
    refused("tokenizer.json", lambda whole: without.encode(), r"tokenizer\.json cannot be read")
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    several = folder / "model.safetensors.index.json"
    for text in ("[]", '{"weight_map": 7}', '{"weight_map": {"a": 7}}', DEEP):
        several.write_text(text)
        with pytest.raises(ValueError, match=r"index\.json (is damaged|names no)"):
            BiEncoder.open(folder, tokens=16, device="cpu")
    several.write_text('{"weight_map": {"a": "part.safetensors"}}')
    assert BiEncoder.open(folder, tokens=16, device="cpu").encode(["red hat"]).shape[0] == 1


def test_an_encoder_whose_files_do_not_belong_together(tmp_path):
    folder = tiny_encoder.make_model(tmp_path / "onnx")
    pytest.importorskip("tokenizers")
    (folder / "tokenizer.json").write_text(tiny_bert.tokenizer(["red", "hat"]))
    assert np.isfinite(OnnxEncoder(folder)("red")).all()
    (folder / "tokenizer.json").write_text(tiny_bert.tokenizer([*"abcdefghi", "red"]))
    with pytest.raises(ValueError, match=r"model\.onnx cannot read the tokens of tokenizer\.json"):
        OnnxEncoder(folder)("red")
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match=r"tokenizer\.json cannot be read"):
        OnnxEncoder(folder)("red")
    (folder / "1_Pooling").mkdir()
    for text in (DEEP, "7"):
        (folder / "1_Pooling" / "config.json").write_text(text)
        with pytest.raises(ValueError, match=r"config\.json is damaged"):
            OnnxEncoder(folder)
