"""Documents that were never shown count as irrelevant in one of the corrections."""

import numpy as np
import pytest

from rankloop.clicks import ClickLog, World
from rankloop.data import RankingDataset
from rankloop.metrics import ndcg
from rankloop.unbiased import candidates, learn
from rankloop.unbiased.estimation.evidence import evidence
from rankloop.unbiased.estimation.library import fitted, library
from rankloop.unbiased.estimation.not_shown import EACH, as_if_shown, not_shown

ALL = "pairs, half, all documents"
FEW = candidates(trees=30, threads=1)


def test_some_of_the_queries_that_are_kept():
    data = RankingDataset.from_groups(np.zeros((226, 1)), np.zeros(226), [150, 20, 6, 50])
    shown = [*range(5), *range(150, 155), *range(170, 175)]
    log = ClickLog(np.repeat([1, 2, 3], 5), np.repeat(data.qid[:3], 5), shown, [*range(1, 6)] * 3, [0] * 15)
    seen = evidence(log, None, data)
    found = not_shown(seen, seen.shown & (data.row_query != 1))
    assert not (found & seen.shown).any()
    assert np.bincount(data.row_query[found], minlength=4).tolist() == [5 * EACH, 0, 1, 0]
    np.testing.assert_array_equal(not_shown(seen, seen.shown & (data.row_query != 1)), found)


def test_as_if_at_the_last_rank_of_every_page():
    data = RankingDataset.from_groups(np.zeros((7, 1)), np.zeros(7), [4, 3])
    log = ClickLog([1, 1, 2, 2], np.repeat(data.qid[0], 4), [0, 1, 2, 0], [1, 2, 1, 2], [1, 0, 0, 1])
    seen = evidence(log, [1.0, 0.4], data)
    found = as_if_shown(seen)
    assert len(found.row) == 5
    assert found.row[-1] == 3  # the others were shown, or are of a query without pages
    assert (found.position[-1], found.impressions[-1], found.clicks[-1]) == (2, 2, 0)
    assert (found.alpha[-1], found.beta[-1]) == (0.4, 0)
    np.testing.assert_array_equal(found.row[:-1], seen.row)
    assert as_if_shown(found).row.tolist() == found.row.tolist()  # nothing is left to add


def value(scores, test):
    return float(np.nanmean(ndcg(scores, test.y, test.offsets, k=10)))


@pytest.mark.parametrize(("strength", "good"), [(0.95, True), (0.0, False)])
def test_the_clicks_say_whether_the_logger_knew(strength, good):
    """Ten of thirty documents are shown: what a good logger left out helps, what a blind one did not."""
    drawn = World(
        utility="products", queries=200, sessions=4000, documents=30, loggers=(strength,), seed=3
    ).draw()
    data = drawn.train.replace(y=np.zeros(drawn.train.n_documents))
    seen = evidence(drawn.log, 1.0 / np.arange(1, 11), data)
    made = library(seen, FEW["linear leaves"])
    one, other = (
        value(fitted(made[name], seen.shown).predict(drawn.test), drawn.test) for name in (ALL, "pairs, half")
    )
    assert (one > other + 0.05) == good
    found = learn(drawn.log, data, rankers=FEW)
    assert (sum(share for name, share in found.weights.items() if "all documents" in name) > 0.2) == good
    assert value(found.ranker.predict(drawn.test), drawn.test) > max(one, other) - 0.03
