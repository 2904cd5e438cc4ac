"""Evaluate a run from TREC files: means with intervals, and what the run missed."""

from pathlib import Path
from tempfile import mkdtemp

import rankloop as rl

QRELS = """\
apple 0 d1 2
apple 0 d2 1
apple 0 d3 0
pear 0 d4 1
pear 0 d5 2
plum 0 d6 0
fig 0 d7 1
"""
RUN = """\
apple Q0 d3 1 9.1 bm25
apple Q0 d1 2 8.7 bm25
apple Q0 d9 3 7.2 bm25
pear Q0 d5 1 6.0 bm25
pear Q0 d4 2 6.0 bm25
plum Q0 d6 1 5.5 bm25
"""

folder = Path(mkdtemp())
(folder / "qrels.txt").write_text(QRELS)
(folder / "bm25.run").write_text(RUN)
qrels = rl.data.read_qrels(folder / "qrels.txt")
run = rl.data.read_run(folder / "bm25.run")

# apple misses d2, and d9 was never judged; pear ties its two documents; plum has nothing relevant;
# fig was not answered. Each of them is counted as the table says.
found = rl.metrics.evaluate(run, qrels, ["ndcg@10", "map", "mrr", "recall@10"])
print(found)
print(found.per_query)

# The same files as trec_eval counts them: ties by document id, blank lists as 0.
print(rl.metrics.evaluate(run, qrels, ["ndcg@10", "map"], convention="trec"))
