"""How good a ranking is: one value per list.

A metric is a function `ndcg(scores, labels, offsets, *, k=None, ...)` that gives one float per list. Options
mean the same everywhere:

- `k`: the cut-off; `gain`: `"exp2"` (2^label - 1), `"linear"`, or a table with one gain per label;
- `relevance_threshold`: the lowest label that counts as relevant (`rel=` in names), 1 by default;
- `ties`: `"average"` (the expected value over random orders of documents with equal scores), `"stable"`
  (input order) or `"worst"` (the lowest label first);
- `empty`: the value of a list with nothing relevant: `"nan"` (means leave it out), `"zero"` or `"one"`;
- `weight`: item weights, which multiply what a document's relevance contributes: its gain, also in the best
  order (1 / propensity for clicks);
- `pool_labels`, `pool_offsets`: all judged labels of each list, where a run retrieved fewer documents;
- `judged`: which documents were judged, for metrics that tell "irrelevant" from "not judged" (`pool_judged`:
  the same of the pool); the label of a document that was not judged is not read;
- `subtopics`: a matrix with a row per document and a column per subtopic of its query, for metrics of
  diversity.

`metric("ndcg@10")` finds a metric by name, `values` computes several and ranks once, `mean` averages.
`weighted_kappa` and `krippendorff_alpha` say how far the people agree who gave the labels.
"""

from rankloop.metrics.alpha_ndcg import alpha_ndcg
from rankloop.metrics.arp import arp
from rankloop.metrics.average_precision import average_precision
from rankloop.metrics.bpref import bpref
from rankloop.metrics.compare import compare
from rankloop.metrics.condense import Condensed, condense
from rankloop.metrics.dcg import dcg
from rankloop.metrics.err import err
from rankloop.metrics.err_ia import err_ia
from rankloop.metrics.evaluate import evaluate
from rankloop.metrics.f1 import f1
from rankloop.metrics.hit import hit
from rankloop.metrics.infap import infap
from rankloop.metrics.infndcg import infndcg
from rankloop.metrics.inversions import inversions
from rankloop.metrics.judged_share import judged_share
from rankloop.metrics.kendall_tau import kendall_tau
from rankloop.metrics.krippendorff_alpha import krippendorff_alpha
from rankloop.metrics.mean import mean
from rankloop.metrics.metric import Metric, metric
from rankloop.metrics.ndcg import ndcg
from rankloop.metrics.pair_accuracy import pair_accuracy
from rankloop.metrics.precision import precision
from rankloop.metrics.r_precision import r_precision
from rankloop.metrics.rbo import rbo
from rankloop.metrics.rbp import rbp
from rankloop.metrics.rbp_residual import rbp_residual
from rankloop.metrics.recall import recall
from rankloop.metrics.reciprocal_rank import reciprocal_rank
from rankloop.metrics.results.agreement import Agreement
from rankloop.metrics.results.comparison import Comparison
from rankloop.metrics.results.evaluation import Evaluation
from rankloop.metrics.subtopic_recall import subtopic_recall
from rankloop.metrics.values import values
from rankloop.metrics.weighted_kappa import weighted_kappa

__all__ = [
    "Agreement",
    "Comparison",
    "Condensed",
    "Evaluation",
    "Metric",
    "alpha_ndcg",
    "arp",
    "average_precision",
    "bpref",
    "compare",
    "condense",
    "dcg",
    "err",
    "err_ia",
    "evaluate",
    "f1",
    "hit",
    "infap",
    "infndcg",
    "inversions",
    "judged_share",
    "kendall_tau",
    "krippendorff_alpha",
    "mean",
    "metric",
    "ndcg",
    "pair_accuracy",
    "precision",
    "r_precision",
    "rbo",
    "rbp",
    "rbp_residual",
    "recall",
    "reciprocal_rank",
    "subtopic_recall",
    "values",
    "weighted_kappa",
]
