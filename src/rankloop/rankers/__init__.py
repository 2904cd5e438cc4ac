"""What learns: every ranker has `fit`, `predict` and `save`; `load` reads a saved one.

Members load when they are first used, so that a linear ranker never imports a tree library or torch.
`__all__` is the registry: `load` and the command line find rankers in it, and the shared tests walk it.
"""

from typing import TYPE_CHECKING

from rankloop._lazy import lazy

if TYPE_CHECKING:
    from rankloop.rankers.adarank import AdaRank as AdaRank
    from rankloop.rankers.auto_ranker import AutoRanker as AutoRanker
    from rankloop.rankers.base.ranker import Ranker as Ranker
    from rankloop.rankers.calibrate import Calibrated as Calibrated
    from rankloop.rankers.calibrate import calibrate as calibrate
    from rankloop.rankers.coordinate_ascent import CoordinateAscent as CoordinateAscent
    from rankloop.rankers.distill import distill as distill
    from rankloop.rankers.ensemble import Ensemble as Ensemble
    from rankloop.rankers.explain.ablation import ablation as ablation
    from rankloop.rankers.explain.contributions import Contributions as Contributions
    from rankloop.rankers.explain.contributions import contributions as contributions
    from rankloop.rankers.explain.importance import Importance as Importance
    from rankloop.rankers.explain.importance import importance as importance
    from rankloop.rankers.explain.lambdas import Lambdas as Lambdas
    from rankloop.rankers.explain.lambdas import lambdas as lambdas
    from rankloop.rankers.explain.partial_dependence import PartialDependence as PartialDependence
    from rankloop.rankers.explain.partial_dependence import partial_dependence as partial_dependence
    from rankloop.rankers.explain.why import Why as Why
    from rankloop.rankers.explain.why import why as why
    from rankloop.rankers.export.to_elasticsearch import to_elasticsearch as to_elasticsearch
    from rankloop.rankers.export.to_opensearch import to_opensearch as to_opensearch
    from rankloop.rankers.export.to_ranklib import to_ranklib as to_ranklib
    from rankloop.rankers.export.to_solr import to_solr as to_solr
    from rankloop.rankers.export.to_vespa import to_vespa as to_vespa
    from rankloop.rankers.feature_sum import FeatureSum as FeatureSum
    from rankloop.rankers.fuse import fuse as fuse
    from rankloop.rankers.fusion import Fusion as Fusion
    from rankloop.rankers.lambdamart import LambdaMART as LambdaMART
    from rankloop.rankers.linear_ranker import LinearRanker as LinearRanker
    from rankloop.rankers.neural_ranker import NeuralRanker as NeuralRanker
    from rankloop.rankers.pointwise_ranker import PointwiseRanker as PointwiseRanker
    from rankloop.rankers.pretrain import pretrain as pretrain
    from rankloop.rankers.rankboost import RankBoost as RankBoost
    from rankloop.rankers.ranking_scorer import ranking_scorer as ranking_scorer
    from rankloop.rankers.saving.load import load as load
    from rankloop.rankers.study import Study as Study
    from rankloop.rankers.svm.ranksvm import RankSVM as RankSVM
    from rankloop.rankers.text_ranker import TextRanker as TextRanker
    from rankloop.rankers.to_onnx import to_onnx as to_onnx
    from rankloop.rankers.trees.compile_forest import compile_forest as compile_forest
    from rankloop.rankers.trees.forest import Forest as Forest
    from rankloop.rankers.tune import tune as tune
    from rankloop.rankers.tune_fusion import TunedFusion as TunedFusion
    from rankloop.rankers.tune_fusion import tune_fusion as tune_fusion

_HOME = {
    "AdaRank": "adarank",
    "AutoRanker": "auto_ranker",
    "Calibrated": "calibrate",
    "Contributions": "explain.contributions",
    "CoordinateAscent": "coordinate_ascent",
    "Ensemble": "ensemble",
    "FeatureSum": "feature_sum",
    "Lambdas": "explain.lambdas",
    "Forest": "trees.forest",
    "Fusion": "fusion",
    "Importance": "explain.importance",
    "LambdaMART": "lambdamart",
    "LinearRanker": "linear_ranker",
    "NeuralRanker": "neural_ranker",
    "PartialDependence": "explain.partial_dependence",
    "PointwiseRanker": "pointwise_ranker",
    "RankBoost": "rankboost",
    "RankSVM": "svm.ranksvm",
    "Ranker": "base.ranker",
    "Study": "study",
    "TextRanker": "text_ranker",
    "TunedFusion": "tune_fusion",
    "Why": "explain.why",
    "ablation": "explain.ablation",
    "calibrate": "calibrate",
    "compile_forest": "trees.compile_forest",
    "contributions": "explain.contributions",
    "distill": "distill",
    "fuse": "fuse",
    "lambdas": "explain.lambdas",
    "importance": "explain.importance",
    "load": "saving.load",
    "partial_dependence": "explain.partial_dependence",
    "pretrain": "pretrain",
    "ranking_scorer": "ranking_scorer",
    "to_elasticsearch": "export.to_elasticsearch",
    "to_onnx": "to_onnx",
    "to_opensearch": "export.to_opensearch",
    "to_ranklib": "export.to_ranklib",
    "to_solr": "export.to_solr",
    "to_vespa": "export.to_vespa",
    "tune": "tune",
    "tune_fusion": "tune_fusion",
    "why": "explain.why",
}

__all__ = [*_HOME]


__getattr__ = lazy(__name__, _HOME)
