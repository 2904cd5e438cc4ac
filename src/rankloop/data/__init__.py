"""Lists of documents at rest.

Everything that reads gives a `RankingDataset` (rows with features), a `Qrels` (judgments) or a `Run`
(scores); everything that writes takes one.
"""

from rankloop.data.dataset import RankingDataset
from rankloop.data.judged import JudgedRun, judged
from rankloop.data.pairs import Pairs
from rankloop.data.qrels import Qrels, read_qrels, write_qrels
from rankloop.data.run import Run, read_run, write_run

__all__ = [
    "JudgedRun",
    "Pairs",
    "Qrels",
    "RankingDataset",
    "Run",
    "judged",
    "read_qrels",
    "read_run",
    "write_qrels",
    "write_run",
]
