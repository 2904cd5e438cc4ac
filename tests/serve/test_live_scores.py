"""Live NDCG: equal to the metric when all is judged, intervals that cover, and the document to judge next."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.metrics import ndcg
from rankloop.serve.desk.live_scores import live_scores
from rankloop.serve.desk.next_document import expected_changes, next_documents
from rankloop.serve.desk.pools import pools_of
from rankloop.serve.desk.query_sets import SetQuery

K = 5


def world(rng, queries, *, pool=12, k=K, quality=(0.6, 0.9)):
    """Documents with grades, two rankings that see them through noise: (set, tops, true grades)."""
    truth, tops, asked = {}, {}, []
    for number in range(queries):
        grades = rng.choice(4, pool, p=[0.5, 0.25, 0.15, 0.1]).astype(float)
        ids = [f"d{i}" for i in range(pool)]
        tops[f"q{number}"] = [
            tuple(ids[i] for i in np.argsort(-(grades * q + rng.normal(size=pool)))[:k]) for q in quality
        ]
        truth[f"q{number}"] = dict(zip(ids, grades.tolist(), strict=True))
        asked.append(SetQuery(f"q{number}", 1.0))
    return asked, tops, truth


def known_part(rng, tops, truth, share):
    """The grades of a random part of the shown documents."""
    return {
        query: {
            id: truth[query][id]
            for id in dict.fromkeys(one for ids in tops[query] for one in ids)
            if rng.random() < share
        }
        for query in tops
    }


def metric_of(ids, graded, k):
    """Our metric on a list of all graded documents, the shown ones first."""
    every = [*ids, *(id for id in graded if id not in ids)]
    scores = -np.arange(float(len(every)))
    return ndcg(scores, [graded.get(id, 0.0) for id in every], [0, len(every)], k=k)[0]


@given(seed=st.integers(0, 200), half=st.booleans())
def test_it_is_the_metric_when_all_is_judged(seed, half):
    rng = np.random.default_rng(seed)
    asked, tops, truth = world(rng, 4)
    if half:  # the mean of two raters
        truth = {q: {id: grade / 2 for id, grade in some.items()} for q, some in truth.items()}
    found = live_scores(pools_of(asked, tops, truth, K))
    assert found.judged.tolist() == [1.0] * 4
    for at, query in enumerate(tops):
        for version in range(2):
            wanted = metric_of(tops[query][version], truth[query], K)
            np.testing.assert_allclose(found.expected()[at, version], wanted, atol=1e-12)
    differences = found.expected()[:, 1] - found.expected()[:, 0]
    if not np.isnan(differences).all():
        assert found.difference().value == pytest.approx(np.nanmean(differences))


def test_intervals_cover_the_truth_while_judging():
    """With a third judged, 95 % intervals of the difference cover that of 10,000 queries in 93 to 99 %."""
    rng = np.random.default_rng(0)
    asked, tops, truth = world(rng, 10_000)
    shown = {q: {id: truth[q][id] for ids in tops[q] for id in ids} for q in tops}
    whole = live_scores(pools_of(asked, tops, shown, K)).difference().value
    covered, narrow = 0, []
    for start in range(0, 10_000, 40):
        part = asked[start : start + 40]
        some = {one.query: tops[one.query] for one in part}
        known = known_part(rng, some, truth, 1 / 3)
        found = live_scores(pools_of(part, some, known, K)).difference()
        covered += found.low <= whole <= found.high
        narrow.append(found.high - found.low)
    assert 0.93 <= covered / 250 <= 1.0
    assert np.mean(narrow) < 0.5, "an interval that says nothing covers everything"


def test_two_equal_versions_differ_by_nothing():
    rng = np.random.default_rng(1)
    asked, tops, truth = world(rng, 30)
    same = {query: [ids[0], ids[0]] for query, ids in tops.items()}
    found = live_scores(pools_of(asked, same, known_part(rng, same, truth, 0.2), K)).difference()
    assert (found.value, found.low, found.high) == (0, 0, 0)
    assert max(one.change for one in next_documents(pools_of(asked, same, {}, K), 20)) == 0


def test_weights_count_and_nothing_relevant_is_nothing():
    asked = [SetQuery("a", 3.0), SetQuery("b", 1.0), SetQuery("none", 9.0)]
    tops = {"a": [("x", "y")] * 2, "b": [("x", "y")] * 2, "none": [("x",)] * 2}
    grades = {"a": {"x": 3, "y": 0}, "b": {"x": 0, "y": 3}, "none": {"x": 0}}
    found = live_scores(pools_of(asked, tops, grades, 2))
    assert found.of(0).value == pytest.approx((3 * 1 + 1 / np.log2(3)) / 4)
    assert np.isnan(found.expected()[2, 0])
    assert not live_scores(pools_of(asked[2:], tops, grades, 2)).of(0).known
    alone = live_scores(pools_of(asked[:1], tops, grades, 2)).of(0)
    assert (alone.low, alone.high) == (0, 1), "one query tells nothing about others"


def naive_changes(asked, tops, grades, pools):
    """The definition in plain loops: expected gains elsewhere, one document changed, its class with it."""
    counts, place = pools.counts(1, 0), pools.classes(1, 0)
    kind = {
        (q, id): place[row, at]
        for row, q in enumerate(pools.queries)
        for at, id in enumerate(pools.documents[row])
    }
    chances = [one / one.sum() for one in counts]
    expected = [sum(p * (2**g - 1) for g, p in enumerate(one)) for one in chances]

    def difference(query, gain_of):
        ids = dict.fromkeys([*(id for top in tops[query] for id in top[:K]), *grades[query]])
        gains = {id: 2 ** grades[query][id] - 1 if id in grades[query] else gain_of(query, id) for id in ids}
        best = sorted(gains.values(), reverse=True)[:K]
        ideal = sum(gain / np.log2(2 + i) for i, gain in enumerate(best))
        dcg = [sum(gains[id] / np.log2(2 + i) for i, id in enumerate(top[:K])) for top in tops[query]]
        return (dcg[1] - dcg[0]) / ideal if ideal else 0.0

    def usual(query, id):
        return expected[kind[query, id]]

    def slope(one):
        def more(query, id):
            return usual(query, id) + 1e-4 * (kind[query, id] == one)

        return sum(difference(q, more) - difference(q, usual) for q in tops) / len(asked) / 1e-4

    found = {}
    for (query, document), one in kind.items():
        if document in grades[query]:
            continue
        total = 0.0
        for grade, p in enumerate(chances[one]):
            gain = 2**grade - 1

            def known(q, id, gain=gain, document=document):
                return gain if id == document else usual(q, id)

            moved = (difference(query, known) - difference(query, usual)) / len(asked)
            moved += (gain - expected[one]) / (counts[one].sum() + 1) * slope(one)
            total += p * abs(moved)
        found[query, document] = total
    return found


@settings(max_examples=20)
@given(seed=st.integers(0, 50))
def test_the_next_document_is_the_definition(seed):
    rng = np.random.default_rng(seed)
    asked, tops, truth = world(rng, 3)
    grades = known_part(rng, tops, truth, 0.4)
    pools = pools_of(asked, tops, grades, K)
    changes, wanted = expected_changes(pools), naive_changes(asked, tops, grades, pools)
    for row, query in enumerate(pools.queries):
        for at, id in enumerate(pools.documents[row]):
            assert changes[row, at] == pytest.approx(wanted.get((query, id), 0.0), abs=1e-9)
    best = next_documents(pools, 3)
    assert [one.change for one in best] == sorted(changes[pools.open], reverse=True)[:3]


def test_judging_what_tells_most_narrows_the_interval_sooner():
    """Sixty judgments: chosen ones leave less than four fifths of the uncertainty of random ones."""
    rng = np.random.default_rng(4)
    asked, tops, truth = world(rng, 40)
    width = {}
    for way in ("random", "chosen"):
        grades = {query: {} for query in tops}
        pools = pools_of(asked, tops, grades, K)
        shown = [(q, id) for row, q in enumerate(pools.queries) for id in pools.documents[row]]
        order = rng.permutation(len(shown))
        for at in range(60):
            if way == "chosen":
                query, id, _ = next_documents(pools_of(asked, tops, grades, K))[0]
            else:
                query, id = shown[order[at]]
            grades[query][id] = truth[query][id]
        apart = live_scores(pools_of(asked, tops, grades, K)).differences
        width[way] = np.nan_to_num(apart).mean(axis=1).std()
    assert width["chosen"] < 0.8 * width["random"]


def test_a_set_of_a_thousand_queries_is_scored_while_a_person_waits():
    rng = np.random.default_rng(2)
    asked, tops, truth = world(rng, 1000, pool=40, k=10)
    pools = pools_of(asked, tops, known_part(rng, tops, truth, 0.3), 10)
    start = time.process_time()
    live_scores(pools)
    next_documents(pools)
    assert time.process_time() - start < 5
