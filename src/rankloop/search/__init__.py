"""Index, retrieve, describe with features, compose: documents in, ranked pages out.

A stage takes `Candidates` and gives `Candidates`; a pipeline is stages joined by `>>`.
"""

from rankloop.search.bm25 import BM25
from rankloop.search.bm25f import BM25F
from rankloop.search.candidates import Candidates
from rankloop.search.collapse import collapse
from rankloop.search.deadline import Deadline
from rankloop.search.diversify import diversify
from rankloop.search.features.click_history import ClickHistory
from rankloop.search.features.features import Features
from rankloop.search.features.link_signals import link_signals
from rankloop.search.features.text_score import text_score
from rankloop.search.features.url_depth import url_depth
from rankloop.search.features.url_length import url_length
from rankloop.search.field import Field
from rankloop.search.first import first
from rankloop.search.hit import Hit
from rankloop.search.hybrid_features import hybrid_features
from rankloop.search.hybrid_weights import HybridWeights
from rankloop.search.index.index import Index
from rankloop.search.infer_fields import infer_fields
from rankloop.search.late_interaction import LateInteraction
from rankloop.search.load_pipeline import load_pipeline
from rankloop.search.pagerank import pagerank
from rankloop.search.pipeline import Pipeline
from rankloop.search.read_documents import read_documents
from rankloop.search.remembered import Remembered
from rankloop.search.rerank import rerank
from rankloop.search.retriever import Retriever
from rankloop.search.rm3 import rm3
from rankloop.search.searchable import Searchable
from rankloop.search.stage import Stage
from rankloop.search.text.analyser import Analyser
from rankloop.search.text.generic_words import generic_words
from rankloop.search.text.query import Query
from rankloop.search.text.snippet import snippet
from rankloop.search.tune_weights import tune_weights
from rankloop.search.two_tower import TwoTower

__all__ = [
    "BM25",
    "BM25F",
    "Analyser",
    "Candidates",
    "ClickHistory",
    "Deadline",
    "Features",
    "Field",
    "Hit",
    "HybridWeights",
    "Index",
    "LateInteraction",
    "Pipeline",
    "Query",
    "Remembered",
    "Retriever",
    "Searchable",
    "Stage",
    "TwoTower",
    "collapse",
    "diversify",
    "first",
    "generic_words",
    "hybrid_features",
    "infer_fields",
    "link_signals",
    "load_pipeline",
    "pagerank",
    "read_documents",
    "rerank",
    "rm3",
    "snippet",
    "text_score",
    "tune_weights",
    "url_depth",
    "url_length",
]
