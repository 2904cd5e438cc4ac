"""Data sets, judgments and runs in memory and in files.

A reader gives a `RankingDataset` (rows with features), a `Qrels` (judgments) or a `Run` (scores); a writer
takes one.
"""

from rankloop.data import catalog
from rankloop.data.concat import concat
from rankloop.data.convert import convert
from rankloop.data.corpus import Corpus
from rankloop.data.describe import Description, describe
from rankloop.data.fingerprint import fingerprint
from rankloop.data.from_frame import from_frame, to_frame
from rankloop.data.from_ir_datasets import from_ir_datasets
from rankloop.data.judged import JudgedRun, judged
from rankloop.data.judgment import Judgment
from rankloop.data.judgments import Judgments, read_judgments, write_judgments
from rankloop.data.kind_of import kind_of
from rankloop.data.load_dataset import load_dataset, save_dataset
from rankloop.data.msmarco import read_msmarco, write_msmarco
from rankloop.data.open_dataset import open_dataset
from rankloop.data.pairs import Pairs
from rankloop.data.qrels import Qrels, read_qrels, write_qrels
from rankloop.data.ranking_dataset import RankingDataset
from rankloop.data.read_beir import read_beir
from rankloop.data.read_ltr_log import read_ltr_log
from rankloop.data.read_parquet import read_parquet, write_parquet
from rankloop.data.run import Run, read_run, write_run
from rankloop.data.sentence_transformers import from_sentence_transformers, to_sentence_transformers
from rankloop.data.shards.shards import Shards, open_shards
from rankloop.data.shards.write_shards import write_shards
from rankloop.data.svmlight.read_svmlight import read_svmlight
from rankloop.data.svmlight.write_svmlight import write_svmlight
from rankloop.data.synthetic import synthetic
from rankloop.data.triples import read_triples, write_triples
from rankloop.data.write_dataset import write_dataset

__all__ = [
    "Corpus",
    "Description",
    "JudgedRun",
    "Judgment",
    "Judgments",
    "Pairs",
    "Qrels",
    "RankingDataset",
    "Run",
    "Shards",
    "catalog",
    "concat",
    "convert",
    "describe",
    "fingerprint",
    "from_frame",
    "from_ir_datasets",
    "from_sentence_transformers",
    "judged",
    "kind_of",
    "load_dataset",
    "open_dataset",
    "open_shards",
    "read_beir",
    "read_judgments",
    "read_ltr_log",
    "read_msmarco",
    "read_parquet",
    "read_qrels",
    "read_run",
    "read_svmlight",
    "read_triples",
    "save_dataset",
    "synthetic",
    "to_frame",
    "to_sentence_transformers",
    "write_dataset",
    "write_judgments",
    "write_msmarco",
    "write_parquet",
    "write_qrels",
    "write_run",
    "write_shards",
    "write_svmlight",
    "write_triples",
]
