"""Lists of documents at rest.

Everything that reads gives a `RankingDataset` (rows with features), a `Qrels` (judgments) or a `Run`
(scores); everything that writes takes one.
"""

from rankloop.data.concat import concat
from rankloop.data.dataset import RankingDataset
from rankloop.data.describe import Description, describe
from rankloop.data.frames import from_frame, to_frame
from rankloop.data.judged import JudgedRun, judged
from rankloop.data.pairs import Pairs
from rankloop.data.parquet import read_parquet, write_parquet
from rankloop.data.qrels import Qrels, read_qrels, write_qrels
from rankloop.data.run import Run, read_run, write_run
from rankloop.data.synthetic import synthetic, synthetic_utility

__all__ = [
    "Description",
    "JudgedRun",
    "Pairs",
    "Qrels",
    "RankingDataset",
    "Run",
    "concat",
    "describe",
    "from_frame",
    "judged",
    "read_parquet",
    "read_qrels",
    "read_run",
    "synthetic",
    "synthetic_utility",
    "to_frame",
    "write_parquet",
    "write_qrels",
    "write_run",
]
