"""The propensity-weighted ranking SVM."""

import numpy as np

from rankloop.data import RankingDataset
from rankloop.rankers import RankSVM
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.estimation.evidence import Log
from rankloop.unbiased.ips import ips

__all__ = ["prop_svm"]


def prop_svm(
    log: Log,
    propensity: ClickBias,
    data: RankingDataset,
    *,
    C: float = 1.0,
    loss: str = "squared_hinge",
    unseen: str = "drop",
) -> RankSVM:
    r"""PropSVMRank (Joachims, Swaminathan & Schnabel, 2017): a bound on the unbiased sum of relevant ranks.

    .. math:: \min_w \tfrac12 |w|^2 +
        \frac{C}{n} \sum_i \frac{c_i}{\theta_{k(i)}} \sum_{j \ne i} h(w \cdot (x_i - x_j))

    Each click is compared with every document that was shown for its query; with `unseen="keep"` with every
    candidate, as in the paper, where pages show all of them.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> log = simulate(data, logging_policy=data.X[:, 2], sessions=2000, seed=0)
    >>> prop_svm(log, 1 / np.arange(1, 11), data).coef_.shape
    (3,)
    """
    found = ips(log, propensity, data, unseen=unseen)
    clicked = found.replace(y=(found.y > 0).astype(np.float32), item_weight=found.y)
    return RankSVM(C=C, loss=loss, against="all").fit(clicked)
