"""The names of the root: the families, and the thirty-odd that people type most."""

import rankloop
from house import families

DATA = """RankingDataset ClickLog Run Qrels read_svmlight read_parquet from_frame read_qrels read_run
read_clicks synthetic simulate load_dataset catalog"""
VERBS = "evaluate compare fuse tune load learn"
RANKERS = """LinearRanker RankSVM PointwiseRanker LambdaMART NeuralRanker TextRanker AutoRanker Ensemble why
importance"""
SEARCH = "Index Features BM25 first read_documents"

NOT_YET: set[str] = set()  # the design's names that are not written yet
RUN_NOT_IMPORTED = {"cli", "demo"}


def test_the_root_has_the_names_of_the_design():
    wanted = set(" ".join([DATA, VERBS, RANKERS, SEARCH]).split())
    assert wanted >= NOT_YET
    expected = wanted - NOT_YET | set(families()) - RUN_NOT_IMPORTED | {"__version__"}
    assert set(rankloop.__all__) == expected


def test_no_name_is_listed_twice():
    assert len(rankloop.__all__) == len(set(rankloop.__all__))


def test_names_resolve():
    assert [name for name in rankloop.__all__ if getattr(rankloop, name, None) is None] == []
    assert dir(rankloop) == sorted(rankloop.__all__)
