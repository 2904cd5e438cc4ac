"""The click log, models of the people who click, and simulations of them.

A click model (`ClickModel`) has `fit(log)`, `sample(shown)`, `click_probability(shown)`,
`conditional_click_probability(log)`, `log_likelihood(log)`, `perplexity(log)`, `relevance(shown)` and
`save(path)`. Parameters given to the constructor are kept, `fit` learns the others.
"""

from rankloop._names import unknown
from rankloop.clicks import labels
from rankloop.clicks.aggregate import Aggregate, aggregate
from rankloop.clicks.cascade import Cascade
from rankloop.clicks.ccm import CCM
from rankloop.clicks.check import LogReport, check
from rankloop.clicks.click_log import ClickLog
from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.contextual_pbm import ContextualPBM
from rankloop.clicks.dbn import DBN
from rankloop.clicks.dcm import DCM
from rankloop.clicks.document_ctr import DocumentCTR
from rankloop.clicks.global_ctr import GlobalCTR
from rankloop.clicks.intervention import FairPairs, Intervention, Shuffle, Swap, intervention
from rankloop.clicks.judge import judge
from rankloop.clicks.load_model import load_model
from rankloop.clicks.pbm import PBM
from rankloop.clicks.perplexity import Perplexity
from rankloop.clicks.rank_ctr import RankCTR
from rankloop.clicks.rank_document_ctr import RankDocumentCTR
from rankloop.clicks.read_clicks import read_clicks, write_clicks
from rankloop.clicks.read_graphcm import read_graphcm
from rankloop.clicks.read_metarank import read_metarank, write_metarank
from rankloop.clicks.read_trec_sessions import read_trec_sessions
from rankloop.clicks.read_ubi import read_ubi
from rankloop.clicks.read_yandex import read_yandex
from rankloop.clicks.sdbn import SDBN
from rankloop.clicks.simulate import simulate
from rankloop.clicks.simulate_aggregate import simulate_aggregate
from rankloop.clicks.trust_pbm import TrustPBM
from rankloop.clicks.ubm import UBM
from rankloop.clicks.user import user
from rankloop.clicks.world import World
from rankloop.clicks.write_ubi import write_ubi

__all__ = [
    "CCM",
    "DBN",
    "DCM",
    "PBM",
    "SDBN",
    "UBM",
    "Aggregate",
    "Cascade",
    "ClickLog",
    "ClickModel",
    "ContextualPBM",
    "DocumentCTR",
    "FairPairs",
    "GlobalCTR",
    "Intervention",
    "LogReport",
    "Perplexity",
    "RankCTR",
    "RankDocumentCTR",
    "Shuffle",
    "Swap",
    "TrustPBM",
    "World",
    "aggregate",
    "check",
    "intervention",
    "judge",
    "labels",
    "load_model",
    "model",
    "models",
    "read_clicks",
    "read_graphcm",
    "read_metarank",
    "read_trec_sessions",
    "read_ubi",
    "read_yandex",
    "simulate",
    "simulate_aggregate",
    "user",
    "write_clicks",
    "write_metarank",
    "write_ubi",
]


def models() -> dict[str, type[ClickModel]]:
    """The click models by lower-case name.

    >>> sorted(models())[:4]
    ['cascade', 'ccm', 'contextualpbm', 'dbn']
    """
    found = (globals()[name] for name in __all__ if name != "ClickModel")
    return {
        one.__name__.lower(): one for one in found if isinstance(one, type) and issubclass(one, ClickModel)
    }


def model(name: str) -> type[ClickModel]:
    """A click model by name; case, "_" and "-" do not matter.

    >>> model("PBM").__name__
    'PBM'
    """
    known = models()
    key = name.lower().replace("_", "").replace("-", "")
    if key not in known:
        raise unknown("click model", name, known)
    return known[key]
