"""What a ranker descends: value, gradient and Hessian per list.

A loss is a small frozen object with its parameters (`Loss`), called as `loss(scores, labels, offsets, *,
weight=None, query_weight=None, pairs=None)`. It gives a `LossResult`: one value per list, and gradient and
Hessian of their sum per document. A new loss is a frozen dataclass with `_compute(lists, exact)`; it then
trains every ranker, on the CPU and, by a copy of the batch, on CUDA.

`__all__` is the registry: `loss("lambdarank")` looks names up here, and the shared tests walk it. `redraw`
changes the random draws of a loss, `settle` fixes its highest grade, `torch_loss` makes it differentiable.
"""

from rankloop.losses.approx_ap import ApproxAP
from rankloop.losses.approx_mrr import ApproxMRR
from rankloop.losses.approx_ndcg import ApproxNDCG
from rankloop.losses.centred_squared import CentredSquared
from rankloop.losses.distill import Distill
from rankloop.losses.exponential import Exponential
from rankloop.losses.gumbel import Gumbel
from rankloop.losses.hinge import Hinge
from rankloop.losses.in_batch import in_batch
from rankloop.losses.infonce import InfoNCE
from rankloop.losses.lambdagap import LambdaGap
from rankloop.losses.lambdaloss import LambdaLoss
from rankloop.losses.lambdarank import LambdaRank
from rankloop.losses.listmle import ListMLE
from rankloop.losses.listnet import ListNet
from rankloop.losses.loss import Loss, loss
from rankloop.losses.loss_result import LossResult
from rankloop.losses.neural_ndcg import NeuralNDCG
from rankloop.losses.ordinal import Ordinal
from rankloop.losses.pirank import PiRank
from rankloop.losses.plistmle import PListMLE
from rankloop.losses.plrank import PLRank
from rankloop.losses.rankdistil import RankDistil
from rankloop.losses.ranknet import RankNet
from rankloop.losses.redraw import redraw
from rankloop.losses.settle import settle
from rankloop.losses.sigmoid_cross_entropy import SigmoidCrossEntropy
from rankloop.losses.softmax import Softmax
from rankloop.losses.squared import Squared
from rankloop.losses.torch_loss import torch_loss
from rankloop.losses.triplet import Triplet
from rankloop.losses.unique_softmax import UniqueSoftmax
from rankloop.losses.xendcg import XENDCG

__all__ = [
    "XENDCG",
    "ApproxAP",
    "ApproxMRR",
    "ApproxNDCG",
    "CentredSquared",
    "Distill",
    "Exponential",
    "Gumbel",
    "Hinge",
    "InfoNCE",
    "LambdaGap",
    "LambdaLoss",
    "LambdaRank",
    "ListMLE",
    "ListNet",
    "Loss",
    "LossResult",
    "NeuralNDCG",
    "Ordinal",
    "PLRank",
    "PListMLE",
    "PiRank",
    "RankDistil",
    "RankNet",
    "SigmoidCrossEntropy",
    "Softmax",
    "Squared",
    "Triplet",
    "UniqueSoftmax",
    "in_batch",
    "loss",
    "redraw",
    "settle",
    "torch_loss",
]
