"""Small files of what is kept between runs, or comes from other machines: each with its reader."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import zstandard

import rankloop as rl
import tiny_bert
import tiny_encoder
from rankloop._checksums import signed_json
from rankloop.cli.options.inputs import read_judgments as read_labels
from rankloop.cli.options.inputs import read_ranking
from rankloop.cli.options.reading import Reading
from rankloop.clicks.load_model import load_model
from rankloop.data import load_dataset, open_dataset, save_dataset, write_dataset
from rankloop.data.shards.shards import open_shards
from rankloop.data.shards.write_shards import write_shards
from rankloop.engines.remote.address import Address
from rankloop.engines.remote.credentials import FILE_VARIABLE, Credentials
from rankloop.propensity import Propensity
from rankloop.rankers import FeatureSum
from rankloop.rankers.text.bi_encoder import BiEncoder
from rankloop.rankers.trees.compile_forest import compile_forest
from rankloop.report.reports.report_of_run import report_of_run
from rankloop.search import Features, Index, first, load_pipeline
from rankloop.search.encoders.onnx_encoder import OnnxEncoder
from rankloop.serve.backup.restore import check_backup
from rankloop.serve.backup.tables import _read as read_table
from rankloop.serve.desk.judgment_files import judgments_of_text
from rankloop.serve.desk.language_judge import grade_of
from rankloop.serve.desk.language_model import ModelAway
from rankloop.serve.desk.language_model import _read as read_completion
from rankloop.serve.events.segments import framed, records
from rankloop.serve.events.store import Store
from rankloop.serve.events.tables import models as models_table
from rankloop.serve.events.ubi_files import arrivals
from rankloop.serve.secret import secret

__all__ = ["kept_formats"]

Read = Callable[[Path], object]
METRICS = {"test": {"metrics": {"ndcg@10": {"mean": 0.5, "low": 0.4, "high": 0.6, "queries": 3}}}}
COMPLETION = {"choices": [{"message": {"content": '{"grade": 2}'}}], "usage": {"total_tokens": 7}}
VERSION = [1, 0.5, json.dumps({"made": "here"}), "0" * 64]
RECEIVED = {"query_id": "1", "received": 1772359200.5, "received_from": "a" * 16}
TEXTS = {
    "scores.txt": ["0.5", "-1", "3e2"],
    "names.txt": ["0 bm25", "1 age", "2 price"],
    "labels.txt": ["q1 0 d1 1", "q1 0 d2 0"],
    "engines.toml": ['["localhost:8983"]', 'user = "a"', 'password = "b"', "verify = true"],
    "rated.csv": ["query,doc_id,rating", "red shoes,17,3", "hat,4,0.5"],
    "said.txt": ['Sure: {"grade": 2, "reason": "in part"}'],
    "completion.json": [COMPLETION],
    "arrivals.jsonl": [RECEIVED, {"query_id": "2", "timestamp": "2026-03-01T10:00:00Z"}],
    "trained/metrics.json": [METRICS],
    "trained/data.json": [{"test": {"queries": 3, "fingerprint": "x"}}],
    "trained/run.toml": ['test = "nowhere"'],
}


def kept_formats(folder: Path) -> dict[str, tuple[str, Read]]:
    """Write a file of every format into a folder; its name there and its reader, by format."""
    for name, lines in TEXTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
        (folder / name).write_text(text + "\n")
    return {
        **_texts(folder),
        **_saved(folder),
        **_models(folder),
        **_searched(folder),
        **_encoders(folder),
        **_served(folder),
    }


def _texts(folder: Path) -> dict[str, tuple[str, Read]]:
    np.save(folder / "scores.npy", np.arange(3.0))
    data = rl.synthetic(n_queries=3, docs_per_query=3, n_features=3, seed=0)
    write_dataset(data, folder / "few.txt")
    settings = {FILE_VARIABLE: str(folder / "engines.toml")}
    address = Address.parse("solr://localhost:8983/shop")
    named = Reading(feature_names=folder / "names.txt")
    return {
        "scores": ("scores.txt", read_ranking),
        "scores in NumPy": ("scores.npy", read_ranking),
        "labels": ("labels.txt", read_labels),
        "feature names": ("names.txt", lambda path: named.dataset(folder / "few.txt")),
        "credentials": ("engines.toml", lambda path: Credentials.find(address, settings)),
        "run of metrics": ("trained/metrics.json", lambda path: report_of_run(folder / "trained")),
        "run of data": ("trained/data.json", lambda path: report_of_run(folder / "trained")),
        "run of settings": ("trained/run.toml", lambda path: report_of_run(folder / "trained")),
        "uploaded grades": ("rated.csv", lambda path: judgments_of_text(_text(path), "x", lambda id: True)),
        "grade of a language model": ("said.txt", lambda path: grade_of(_text(path))),
        "completion": ("completion.json", _or(ModelAway, lambda path: read_completion(path.read_bytes()))),
    }


def _saved(folder: Path) -> dict[str, tuple[str, Read]]:
    data = rl.synthetic(n_queries=3, docs_per_query=3, n_features=3, seed=0)
    save_dataset(data, folder / "saved")
    write_shards(data, folder / "shards", shards=2)
    for suffix in ("gz", "zst"):
        write_dataset(data, folder / f"packed.txt.{suffix}")

    def resigned(path: Path) -> object:
        """Made up, not damaged: the list of the folder has a right checksum again."""
        whole = path.read_text("utf-8", "surrogateescape")
        given = json.loads(whole) if whole.isascii() else None
        if isinstance(given, dict):
            path.write_text(signed_json({k: v for k, v in given.items() if k not in ("signed", "digest")}))
        return load_dataset(folder / "saved").X.sum()

    return {
        "data set": ("saved/X.npy", lambda path: load_dataset(folder / "saved")),
        "list of a data set": ("saved/manifest.json", lambda path: load_dataset(folder / "saved")),
        "made up list of a data set": ("saved/manifest.json", _or(RecursionError, resigned)),
        "list of shards": (
            "shards/manifest.json",
            lambda path: [part.X.sum() for part in open_shards(folder / "shards")],
        ),
        "SVMLight in gzip": ("packed.txt.gz", open_dataset),
        "SVMLight in Zstandard": ("packed.txt.zst", open_dataset),
    }


def _models(folder: Path) -> dict[str, tuple[str, Read]]:
    import lightgbm
    import xgboost

    data = rl.synthetic(n_queries=8, docs_per_query=6, n_features=3, seed=0)
    rl.LinearRanker().fit(data).save(folder / "linear.model")
    rl.clicks.PBM(examination=[1.0, 0.5], attraction=[0.1, 0.9]).save(folder / "clicks.model")
    Propensity.given([1.0, 0.5, 0.25]).save(folder / "propensity.json")
    grown = {"verbose": -1, "num_leaves": 4, "min_data_in_leaf": 2}
    booster = lightgbm.train(grown, lightgbm.Dataset(data.X, data.y), 2)
    (folder / "lightgbm.txt").write_text(booster.model_to_string())
    trained = xgboost.train({"max_depth": 2, "nthread": 1}, xgboost.DMatrix(data.X, data.y), 2)
    (folder / "xgboost.json").write_bytes(bytes(trained.save_raw("json")))

    def compiled(path: Path) -> object:
        return compile_forest(_text(path)).score(data.X)

    return {
        "ranker": ("linear.model", rl.load),
        "click model": ("clicks.model", load_model),
        "propensity": ("propensity.json", Propensity.load),
        "LightGBM": ("lightgbm.txt", compiled),
        "XGBoost": ("xgboost.json", compiled),
    }


def _searched(folder: Path) -> dict[str, tuple[str, Read]]:
    index = Index.create(folder / "index", {"title": "text", "price": "number"})
    index.add({"id": i, "title": f"red hat {i}", "price": i} for i in range(8))
    index.commit()
    index.delete([3])
    index.commit()
    names = ("bm25(title)", "value(price)")
    ranker = FeatureSum({"bm25(title)": 1.0}, features=names)
    (index.retriever(k=5) >> Features(names) >> ranker >> first(3)).save(folder / "search.zip")
    segment = next(path for path in (folder / "index").glob("segment-*.bin") if path.name.count(".") == 1)

    def found(path: Path) -> object:
        return Index.open(folder / "index").retriever()("red hat").ids

    return {
        "list of an index": ("index/manifest.json", found),
        "segment": (f"index/{segment.name}", found),
        "pipeline": ("search.zip", lambda path: load_pipeline(path, index)("red")),
    }


def _encoders(folder: Path) -> dict[str, tuple[str, Read]]:
    tiny_bert.checkpoint(folder / "bert")
    tiny_encoder.make_model(folder / "onnx")
    (folder / "onnx" / "tokenizer.json").write_text(tiny_bert.tokenizer(["red", "hat"]))
    (folder / "onnx" / "1_Pooling").mkdir()
    (folder / "onnx" / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')

    def vector(path: Path) -> object:
        return BiEncoder.open(folder / "bert", tokens=16, device="cpu").encode(["red hat"])

    def encoded(path: Path) -> object:
        encoder = OnnxEncoder(folder / "onnx", tokens=16, threads=1)
        return encoder.fingerprint, encoder("red")

    files = {"settings": "config.json", "words": "tokenizer.json", "weights": "model.safetensors"}
    others = {"words": "tokenizer.json", "network": "model.onnx", "pooling": "1_Pooling/config.json"}
    return {
        **{
            f"{what} of a BERT": (f"bert/{file}", _or(ModuleNotFoundError, vector))  # of transformers
            for what, file in files.items()
        },
        **{f"{what} of an ONNX encoder": (f"onnx/{file}", encoded) for what, file in others.items()},
    }


def _served(folder: Path) -> dict[str, tuple[str, Read]]:
    store = Store.open(f"sqlite:///{folder / 'events.db'}")
    secret(folder)
    names = [column.name for column in models_table.columns]
    row = {"number": 1, "version": "v1", "time": 0.5, "sha256": "0" * 64, "lineage": "{}"}
    lines = [json.dumps(names), json.dumps([row[name] for name in names])]
    (folder / "models.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "some.spool").write_bytes(framed(b"one") + framed(b"two" * 20))
    (folder / "backup").mkdir()
    about = {"kind": "rankloop backup", "schema": 1, "rankloop": "0", "files": {}, "rows": {}}
    (folder / "backup" / "backup.json").write_text(signed_json(about))

    def table(path: Path) -> object:
        packed = folder / "models.jsonl.zst"
        packed.write_bytes(zstandard.compress(path.read_bytes()))
        with suppress(_UndoneError), store.writing() as connection:
            read_table(connection, models_table, packed)
            raise _UndoneError
        return None

    return {
        "key": ("secret", lambda path: secret(folder)),
        "table of a backup": ("models.jsonl", table),
        "list of a backup": ("backup/backup.json", lambda path: check_backup(folder / "backup")),
        "spool": ("some.spool", lambda path: records(path.read_bytes())),
        "arrivals": ("arrivals.jsonl", arrivals),
    }


class _UndoneError(Exception):
    """A transaction that is not kept."""


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def _or(other: type[Exception], read: Read) -> Read:
    """A reader that may refuse a file with an error of its own kind too."""

    def reading(path: Path) -> object:
        try:
            return read(path)
        except other as error:
            raise ValueError(str(error)) from None

    return reading
