"""Index, retrieve, compose: documents in, candidates out.

A stage takes `Candidates` and gives `Candidates`; a pipeline is stages joined by `>>`.
"""

from rankloop.search.analyser import Analyser
from rankloop.search.bm25 import BM25
from rankloop.search.bm25f import BM25F
from rankloop.search.candidates import Candidates
from rankloop.search.fields import Field
from rankloop.search.index import Index
from rankloop.search.pipeline import Pipeline, Stage, first
from rankloop.search.query import Query, parse
from rankloop.search.retriever import Retriever

__all__ = [
    "BM25",
    "BM25F",
    "Analyser",
    "Candidates",
    "Field",
    "Index",
    "Pipeline",
    "Query",
    "Retriever",
    "Stage",
    "first",
    "parse",
]
