"""Data sets, judgments and runs in memory and in files.

A reader gives a `RankingDataset` (rows with features), a `Qrels` (judgments) or a `Run` (scores); a writer
takes one.

Members load when they are first used, as few programs read more than one format.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankloop._lazy import lazy

if TYPE_CHECKING:
    from rankloop.data import catalog as catalog
    from rankloop.data.concat import concat as concat
    from rankloop.data.convert import convert as convert
    from rankloop.data.corpus import Corpus as Corpus
    from rankloop.data.describe import Description as Description
    from rankloop.data.describe import describe as describe
    from rankloop.data.fingerprint import fingerprint as fingerprint
    from rankloop.data.from_frame import from_frame as from_frame
    from rankloop.data.from_frame import to_frame as to_frame
    from rankloop.data.from_ir_datasets import from_ir_datasets as from_ir_datasets
    from rankloop.data.judged import JudgedRun as JudgedRun
    from rankloop.data.judged import judged as judged
    from rankloop.data.judgment import Judgment as Judgment
    from rankloop.data.judgments import Judgments as Judgments
    from rankloop.data.judgments import read_judgments as read_judgments
    from rankloop.data.judgments import write_judgments as write_judgments
    from rankloop.data.kind_of import kind_of as kind_of
    from rankloop.data.load_dataset import load_dataset as load_dataset
    from rankloop.data.load_dataset import save_dataset as save_dataset
    from rankloop.data.msmarco import read_msmarco as read_msmarco
    from rankloop.data.msmarco import write_msmarco as write_msmarco
    from rankloop.data.open_dataset import open_dataset as open_dataset
    from rankloop.data.pairs import Pairs as Pairs
    from rankloop.data.qrels import Qrels as Qrels
    from rankloop.data.qrels import read_qrels as read_qrels
    from rankloop.data.qrels import write_qrels as write_qrels
    from rankloop.data.ranking_dataset import RankingDataset as RankingDataset
    from rankloop.data.read_beir import read_beir as read_beir
    from rankloop.data.read_ltr_log import read_ltr_log as read_ltr_log
    from rankloop.data.read_parquet import read_parquet as read_parquet
    from rankloop.data.read_parquet import write_parquet as write_parquet
    from rankloop.data.run import Run as Run
    from rankloop.data.run import read_run as read_run
    from rankloop.data.run import write_run as write_run
    from rankloop.data.sentence_transformers import from_sentence_transformers as from_sentence_transformers
    from rankloop.data.sentence_transformers import to_sentence_transformers as to_sentence_transformers
    from rankloop.data.shards.shards import Shards as Shards
    from rankloop.data.shards.shards import open_shards as open_shards
    from rankloop.data.shards.write_shards import write_shards as write_shards
    from rankloop.data.svmlight.read_svmlight import read_svmlight as read_svmlight
    from rankloop.data.svmlight.write_svmlight import write_svmlight as write_svmlight
    from rankloop.data.synthetic import synthetic as synthetic
    from rankloop.data.triples import read_triples as read_triples
    from rankloop.data.triples import write_triples as write_triples
    from rankloop.data.write_dataset import write_dataset as write_dataset

_HOME = {
    "Corpus": "corpus",
    "Description": "describe",
    "JudgedRun": "judged",
    "Judgment": "judgment",
    "Judgments": "judgments",
    "Pairs": "pairs",
    "Qrels": "qrels",
    "RankingDataset": "ranking_dataset",
    "Run": "run",
    "Shards": "shards.shards",
    "concat": "concat",
    "convert": "convert",
    "describe": "describe",
    "fingerprint": "fingerprint",
    "from_frame": "from_frame",
    "from_ir_datasets": "from_ir_datasets",
    "from_sentence_transformers": "sentence_transformers",
    "judged": "judged",
    "kind_of": "kind_of",
    "load_dataset": "load_dataset",
    "open_dataset": "open_dataset",
    "open_shards": "shards.shards",
    "read_beir": "read_beir",
    "read_judgments": "judgments",
    "read_ltr_log": "read_ltr_log",
    "read_msmarco": "msmarco",
    "read_parquet": "read_parquet",
    "read_qrels": "qrels",
    "read_run": "run",
    "read_svmlight": "svmlight.read_svmlight",
    "read_triples": "triples",
    "save_dataset": "load_dataset",
    "synthetic": "synthetic",
    "to_frame": "from_frame",
    "to_sentence_transformers": "sentence_transformers",
    "write_dataset": "write_dataset",
    "write_judgments": "judgments",
    "write_msmarco": "msmarco",
    "write_parquet": "read_parquet",
    "write_qrels": "qrels",
    "write_run": "run",
    "write_shards": "shards.write_shards",
    "write_svmlight": "svmlight.write_svmlight",
    "write_triples": "triples",
}

__all__ = ["catalog", *_HOME]

_member = lazy(__name__, _HOME)


def __getattr__(name: str) -> Any:
    return import_module(f"{__name__}.catalog") if name == "catalog" else _member(name)
