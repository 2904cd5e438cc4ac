"""rankloop: learning to rank, end to end. Public names load when they are first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankloop._lazy import lazy

if TYPE_CHECKING:
    from rankloop.clicks.click_log import ClickLog as ClickLog
    from rankloop.clicks.read_clicks import read_clicks as read_clicks
    from rankloop.clicks.simulate import simulate as simulate
    from rankloop.data import catalog as catalog
    from rankloop.data.from_frame import from_frame as from_frame
    from rankloop.data.load_dataset import load_dataset as load_dataset
    from rankloop.data.qrels import Qrels as Qrels
    from rankloop.data.qrels import read_qrels as read_qrels
    from rankloop.data.ranking_dataset import RankingDataset as RankingDataset
    from rankloop.data.read_parquet import read_parquet as read_parquet
    from rankloop.data.run import Run as Run
    from rankloop.data.run import read_run as read_run
    from rankloop.data.svmlight.read_svmlight import read_svmlight as read_svmlight
    from rankloop.data.synthetic import synthetic as synthetic
    from rankloop.metrics.compare import compare as compare
    from rankloop.metrics.evaluate import evaluate as evaluate
    from rankloop.rankers.auto_ranker import AutoRanker as AutoRanker
    from rankloop.rankers.ensemble import Ensemble as Ensemble
    from rankloop.rankers.explain.importance import importance as importance
    from rankloop.rankers.explain.why import why as why
    from rankloop.rankers.fuse import fuse as fuse
    from rankloop.rankers.lambdamart import LambdaMART as LambdaMART
    from rankloop.rankers.linear_ranker import LinearRanker as LinearRanker
    from rankloop.rankers.neural_ranker import NeuralRanker as NeuralRanker
    from rankloop.rankers.pointwise_ranker import PointwiseRanker as PointwiseRanker
    from rankloop.rankers.saving.load import load as load
    from rankloop.rankers.svm.ranksvm import RankSVM as RankSVM
    from rankloop.rankers.text_ranker import TextRanker as TextRanker
    from rankloop.rankers.tune import tune as tune
    from rankloop.search.bm25 import BM25 as BM25
    from rankloop.search.features.features import Features as Features
    from rankloop.search.first import first as first
    from rankloop.search.index.index import Index as Index
    from rankloop.search.read_documents import read_documents as read_documents
    from rankloop.unbiased.learn import learn as learn

__version__ = "0.1.0"

_FAMILIES = (
    "clicks",
    "cluster",
    "data",
    "engines",
    "interleaving",
    "lists",
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
    "clicks": ("ClickLog", "read_clicks", "simulate"),
    "data": (
        "Qrels",
        "RankingDataset",
        "Run",
        "catalog",
        "from_frame",
        "load_dataset",
        "read_parquet",
        "read_qrels",
        "read_run",
        "read_svmlight",
        "synthetic",
    ),
    "metrics": ("compare", "evaluate"),
    "rankers": (
        "Ensemble",
        "AutoRanker",
        "LambdaMART",
        "LinearRanker",
        "NeuralRanker",
        "PointwiseRanker",
        "RankSVM",
        "TextRanker",
        "fuse",
        "importance",
        "load",
        "tune",
        "why",
    ),
    "search": ("BM25", "Features", "Index", "first", "read_documents"),
    "unbiased": ("learn",),
}

_HOME = {name: family for family, names in _PUBLIC.items() for name in names}

__all__ = ["__version__", *_FAMILIES, *_HOME]

_member = lazy(__name__, _HOME)


def __getattr__(name: str) -> Any:
    if name in _FAMILIES:
        return import_module(f"rankloop.{name}")
    return _member(name)
