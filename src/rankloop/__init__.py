"""rankloop: learning to rank, end to end. Public names load when they are first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankloop._lazy import lazy

if TYPE_CHECKING:
    from rankloop.clicks import ClickLog as ClickLog
    from rankloop.clicks import read_clicks as read_clicks
    from rankloop.clicks import write_clicks as write_clicks
    from rankloop.clicks.simulate import simulate as simulate
    from rankloop.data import Corpus as Corpus
    from rankloop.data import Pairs as Pairs
    from rankloop.data import Qrels as Qrels
    from rankloop.data import RankingDataset as RankingDataset
    from rankloop.data import Run as Run
    from rankloop.data import Shards as Shards
    from rankloop.data import catalog as catalog
    from rankloop.data import from_frame as from_frame
    from rankloop.data import load_dataset as load_dataset
    from rankloop.data import open_dataset as open_dataset
    from rankloop.data import open_shards as open_shards
    from rankloop.data import read_parquet as read_parquet
    from rankloop.data import read_qrels as read_qrels
    from rankloop.data import read_run as read_run
    from rankloop.data import read_svmlight as read_svmlight
    from rankloop.data import to_frame as to_frame
    from rankloop.data import write_dataset as write_dataset
    from rankloop.data import write_parquet as write_parquet
    from rankloop.data import write_qrels as write_qrels
    from rankloop.data import write_run as write_run
    from rankloop.data import write_shards as write_shards
    from rankloop.data import write_svmlight as write_svmlight
    from rankloop.data.concat import concat as concat
    from rankloop.data.convert import convert as convert
    from rankloop.data.describe import describe as describe
    from rankloop.data.fingerprint import fingerprint as fingerprint
    from rankloop.data.judged import judged as judged
    from rankloop.data.synthetic import synthetic as synthetic
    from rankloop.metrics import Comparison as Comparison
    from rankloop.metrics import Evaluation as Evaluation
    from rankloop.metrics.compare import compare as compare
    from rankloop.metrics.evaluate import evaluate as evaluate
    from rankloop.metrics.metric import metric as metric
    from rankloop.rankers import AdaRank as AdaRank
    from rankloop.rankers import CoordinateAscent as CoordinateAscent
    from rankloop.rankers import Ensemble as Ensemble
    from rankloop.rankers import FeatureSum as FeatureSum
    from rankloop.rankers import Forest as Forest
    from rankloop.rankers import Fusion as Fusion
    from rankloop.rankers import LambdaMART as LambdaMART
    from rankloop.rankers import LinearRanker as LinearRanker
    from rankloop.rankers import NeuralRanker as NeuralRanker
    from rankloop.rankers import PointwiseRanker as PointwiseRanker
    from rankloop.rankers import RankBoost as RankBoost
    from rankloop.rankers import RankSVM as RankSVM
    from rankloop.rankers import ablation as ablation
    from rankloop.rankers import calibrate as calibrate
    from rankloop.rankers import compile_forest as compile_forest
    from rankloop.rankers import contributions as contributions
    from rankloop.rankers import distill as distill
    from rankloop.rankers import forces as forces
    from rankloop.rankers import importance as importance
    from rankloop.rankers import load as load
    from rankloop.rankers import partial_dependence as partial_dependence
    from rankloop.rankers import ranking_scorer as ranking_scorer
    from rankloop.rankers import to_onnx as to_onnx
    from rankloop.rankers import tune as tune
    from rankloop.rankers import why as why
    from rankloop.search import BM25 as BM25
    from rankloop.search import BM25F as BM25F
    from rankloop.search import Analyser as Analyser
    from rankloop.search import ClickHistory as ClickHistory
    from rankloop.search import Features as Features
    from rankloop.search import Index as Index
    from rankloop.search import TwoTower as TwoTower
    from rankloop.search import collapse as collapse
    from rankloop.search import first as first
    from rankloop.search import load_pipeline as load_pipeline
    from rankloop.search import read_documents as read_documents
    from rankloop.search.pagerank import pagerank as pagerank
    from rankloop.search.text.generic_words import generic_words as generic_words

__version__ = "0.1.0"

_FAMILIES = (
    "clicks",
    "cluster",
    "data",
    "interleaving",
    "losses",
    "metrics",
    "online",
    "propensity",
    "rankers",
    "report",
    "search",
    "serve",
    "unbiased",
)

_PUBLIC = {
    "clicks": ("ClickLog", "read_clicks", "simulate", "write_clicks"),
    "data": (
        "Corpus",
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
        "judged",
        "load_dataset",
        "open_dataset",
        "open_shards",
        "read_parquet",
        "read_qrels",
        "read_run",
        "read_svmlight",
        "synthetic",
        "to_frame",
        "write_dataset",
        "write_parquet",
        "write_qrels",
        "write_run",
        "write_shards",
        "write_svmlight",
    ),
    "metrics": ("Comparison", "Evaluation", "compare", "evaluate", "metric"),
    "rankers": (
        "AdaRank",
        "CoordinateAscent",
        "Ensemble",
        "FeatureSum",
        "Forest",
        "Fusion",
        "LambdaMART",
        "LinearRanker",
        "NeuralRanker",
        "PointwiseRanker",
        "RankBoost",
        "RankSVM",
        "ablation",
        "calibrate",
        "compile_forest",
        "contributions",
        "distill",
        "forces",
        "importance",
        "load",
        "partial_dependence",
        "ranking_scorer",
        "to_onnx",
        "tune",
        "why",
    ),
    "search": (
        "Analyser",
        "BM25",
        "BM25F",
        "ClickHistory",
        "Features",
        "Index",
        "TwoTower",
        "collapse",
        "first",
        "generic_words",
        "load_pipeline",
        "pagerank",
        "read_documents",
    ),
}

_HOME = {name: family for family, names in _PUBLIC.items() for name in names}

__all__ = ["__version__", *_FAMILIES, *_HOME]

_member = lazy(__name__, _HOME)


def __getattr__(name: str) -> Any:
    if name in _FAMILIES:
        return import_module(f"rankloop.{name}")
    return _member(name)


def __dir__() -> list[str]:
    return sorted(__all__)
