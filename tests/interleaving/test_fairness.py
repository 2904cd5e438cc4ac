"""Fairness by enumeration: every page that can come out, every set of clicks, exact probabilities."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.interleaving import Balanced, Optimized, Page, PairwisePreference, Probabilistic, TeamDraft
from rankloop.interleaving.optimized import fair_mix

METHODS = [TeamDraft(), Probabilistic(), PairwisePreference(), Optimized()]
MANY = {"two": 2, "three": 3}


def expected_credit(method, rankings, k, click_chance):
    """The exact mean credit of each ranker when place i is clicked with a chance that knows no documents."""
    total = np.zeros(len(rankings))
    mass = 0.0
    for page, probability in method.distribution(rankings, k):
        mass += probability
        for clicks in product([0, 1], repeat=len(page)):
            chance = np.prod([click_chance[i] if c else 1 - click_chance[i] for i, c in enumerate(clicks)])
            clicked = [d for d, c in zip(page.documents, clicks, strict=True) if c]
            total += probability * chance * method.credit(page, clicked)
    assert mass == pytest.approx(1.0, abs=1e-12)
    return total


short_rankings = st.lists(st.permutations(list("abcd")).map(lambda p: list(p[:3])), min_size=2, max_size=3)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
@given(rankings=short_rankings, k=st.integers(1, 3))
def test_random_clicks_favour_nobody(method, rankings, k):
    credit = expected_credit(method, rankings, k, click_chance=[0.7, 0.3, 0.1])
    assert credit == pytest.approx(np.full(len(rankings), credit.mean()), abs=1e-9)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
@given(
    rankings=st.lists(
        st.lists(st.sampled_from("abcdef"), max_size=4, unique=True), min_size=2, max_size=3
    ).filter(any),
    k=st.integers(1, 4),
)
def test_short_and_disjoint_lists_stay_fair(method, rankings, k):
    credit = expected_credit(method, rankings, k, click_chance=[0.6, 0.3, 0.2, 0.1])
    assert credit == pytest.approx(np.full(len(rankings), credit.mean()), abs=1e-9)


@pytest.mark.parametrize(
    ("method", "rankers"),
    [*((method, n) for method in METHODS for n in (2, 3)), (Balanced(), 2)],
    ids=lambda given: getattr(given, "name", given),
)
@given(clicks=st.sets(st.sampled_from("abc")))
def test_identical_rankers_tie(method, rankers, clicks):
    total = np.zeros(rankers)
    for page, probability in method.distribution([list("abc")] * rankers, k=3):
        total += probability * method.credit(page, clicks)
    assert total == pytest.approx(np.full(rankers, total[0]), abs=1e-12)


@given(rankings=st.lists(st.permutations(list("abcd")).map(list), min_size=2, max_size=2))
def test_two_rankings_of_the_same_documents_need_no_correction(rankings):
    """Radlinski & Craswell: the programme has an exact solution for every two such rankings."""
    assert Optimized().combine(rankings, 4).notes["unfairness"] < 1e-9


def test_a_programme_is_solved_once_for_rankings_alike():
    """Other documents at the same ranks are the same pages; a rank below the page is part of the credit."""
    solved = fair_mix.cache_info().misses
    first = Optimized().distribution([list("abcdef"), list("fbacde")], 3)
    assert fair_mix.cache_info().misses == solved + 1
    names = dict(zip("abcdef", range(10, 16), strict=True))
    other = Optimized().distribution([[*range(10, 16)], [15, 11, 10, 12, 13, 14]], 3)
    assert fair_mix.cache_info().misses == solved + 1
    for (page, chance), (same, as_often) in zip(first, other, strict=True):
        assert same.documents == tuple(names[one] for one in page.documents)
        assert (same.notes, as_often) == (page.notes, chance)
    page, _ = Optimized().distribution([list("abcdef"), list("fbaced")], 3)[0]
    assert page == first[0][0], "the exchanged two are on no page"
    deeper = Optimized().distribution([list("abcdef"), list("fbadec")], 3)
    assert fair_mix.cache_info().misses > solved + 1
    assert deeper[0][0].notes != first[0][0].notes
    page.notes["credits"][0][0] = 99.0
    assert Optimized().distribution([list("abcdef"), list("fbaced")], 3)[0][0] == first[0][0], "not shared"


def test_many_rankings_are_corrected_where_no_page_mix_is_fair():
    """Without what is taken off, random clicks would favour one of these three."""
    rankings, method = [list("abcd"), list("acdb"), list("badc")], Optimized()
    assert method.combine(rankings, 3).notes["unfairness"] > 0.01
    credit = expected_credit(method, rankings, 3, click_chance=[0.7, 0.3, 0.1])
    assert credit == pytest.approx(np.full(3, credit.mean()), abs=1e-12)


@pytest.mark.parametrize("method", [*METHODS, Balanced()], ids=lambda m: m.name)
def test_the_better_ranking_wins(method):
    """One relevant document, first in A and third in B, seen with falling chance and clicked when seen."""
    good, poor = ["x", "b", "c"], ["b", "c", "x"]
    ahead = np.zeros(2)
    for page, probability in method.distribution([good, poor], k=3):
        chance = [1.0, 0.6, 0.4][page.documents.index("x")] if "x" in page.documents else 0.0
        ahead += probability * chance * method.credit(page, ["x"])
    assert ahead[0] > ahead[1]


def test_balanced_has_the_known_fault():
    """Radlinski & Craswell: under random clicks a shifted ranking wins; TeamDraft has no such fault."""
    wins = np.zeros(2)
    method = Balanced()
    for page, probability in method.distribution([list("abc"), list("bca")], k=3):
        for document in page.documents:
            credit = method.credit(page, [document])
            wins += probability / 3 * (credit > credit[::-1])
    assert wins[1] > wins[0] + 0.1


def test_probabilistic_credit_is_the_mean_over_assignments():
    """Brute force over who drew each place, by Bayes' rule over whole pages."""
    rankings = [list("abc"), list("cab")]
    method = Probabilistic(tau=1.0)
    page = method.combine(rankings, k=3)
    joint = np.zeros(2)
    norm = 0.0
    for drawers in product([0, 1], repeat=3):
        chance = 1.0
        left = [method.weights(r) for r in rankings]
        for drawer, document in zip(drawers, page.documents, strict=True):
            chance *= 0.5 * left[drawer][document] / sum(left[drawer].values())
            for weights in left:
                del weights[document]
        norm += chance
        joint[drawers[0]] += chance
        joint[drawers[2]] += chance
    credit = method.credit(page, [page.documents[0], page.documents[2]])
    assert credit == pytest.approx(joint / norm, abs=1e-12)


@pytest.mark.parametrize("method", [*METHODS, Balanced()], ids=lambda m: m.name)
def test_pages_survive_json(method):
    import json

    page = method.combine([["a", 2, "c"], [2, "d", "a"]], k=4)
    again = Page.from_dict(json.loads(json.dumps(page.to_dict())))
    assert method.credit(again, ["a", 2]).tolist() == method.credit(page, ["a", 2]).tolist()


@pytest.mark.parametrize("method", [*METHODS, Balanced()], ids=lambda m: m.name)
@pytest.mark.parametrize("ids", [np.array([7, 8, 9]), np.array(["x", "y", "z"])], ids=["numbers", "texts"])
def test_the_ids_of_an_array_survive_json(method, ids):
    import json

    scored = dict(zip(ids, [1.0, 2.0, 2.0], strict=True))
    page = method.combine([ids, scored], k=3)
    again = Page.from_dict(json.loads(json.dumps(page.to_dict())))
    assert again == page
    assert method.credit(again, [ids[0].item()]).tolist() == method.credit(page, [ids[0]]).tolist()


@pytest.mark.parametrize("method", [*METHODS, Balanced()], ids=lambda m: m.name)
@given(
    rankings=st.lists(st.lists(st.integers(0, 9), max_size=8), min_size=2, max_size=2), k=st.integers(1, 12)
)
def test_pages_are_whole(method, rankings, k):
    page = method.combine(rankings, k)
    assert len(set(page.documents)) == len(page)
    assert set(page.documents) <= set(rankings[0]) | set(rankings[1])
    assert len(page) == min(k, len(set(rankings[0]) | set(rankings[1])))


@pytest.mark.parametrize("method", [*METHODS, Balanced()], ids=lambda m: m.name)
@pytest.mark.parametrize(
    "marks",
    [list, tuple, np.array, lambda marks: [np.bool_(one) for one in marks]],
    ids=["list", "tuple", "array", "cells"],
)
def test_clicks_may_be_marks_of_the_results(method, marks):
    """True is not document 1: ids that are numbers must not hide what was meant."""
    page = method.combine([[0, 1, 2, 3], [3, 2, 1, 0]], k=4)
    clicked = [False, True, False, True]
    chosen = [document for document, mark in zip(page.documents, clicked, strict=True) if mark]
    assert method.credit(page, marks(clicked)).tolist() == method.credit(page, chosen).tolist()
    assert method.credit(page, marks([False] * 4)).tolist() == [0, 0]


def test_the_same_key_gives_the_same_page():
    rankings = [list(range(20)), list(range(19, -1, -1))]
    pages = [TeamDraft(seed=3).combine(rankings, 10, key="visit 7") for _ in range(2)]
    assert pages[0] == pages[1]
    assert TeamDraft(seed=3).combine(rankings, 10, key="visit 8") != pages[0]


def test_scored_documents_tie_at_random():
    method = TeamDraft()
    pages = method.distribution([{"a": 1.0, "b": 1.0}, {"b": 2.0, "a": 1.0}], k=1)
    chances = {page.documents[0]: 0.0 for page, _ in pages}
    for page, probability in pages:
        chances[page.documents[0]] += probability
    assert chances == pytest.approx({"a": 0.25, "b": 0.75})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TeamDraft().combine([["a"]], 3), "two or more rankings, got 1"),
        (lambda: TeamDraft().combine([["a"], ["b"]], 0), "k must be at least 1, got 0"),
        (lambda: Balanced().combine([["a"], ["b"], ["c"]], 2), "compares two rankings, got 3"),
        (lambda: TeamDraft().combine([{"a": float("nan")}, ["b"]], 2), "score nan"),
        (
            lambda: TeamDraft().credit(TeamDraft().combine([["a"], ["b"]], 1), ["z"]),
            "'z' is not on this page",
        ),
        (
            lambda: TeamDraft().credit(TeamDraft().combine([[0, 1], [1, 0]], 2), [True]),
            "one True or False for each of the 2 results of the page, got 1",
        ),
        (
            lambda: TeamDraft().credit(TeamDraft().combine([["a", "b"], ["b", "a"]], 2), [0, 1]),
            "0 is not on this page of 2 results; give the documents that were clicked, or one True or False",
        ),
        (lambda: Balanced().credit(TeamDraft().combine([["a"], ["b"]], 1), []), "made by 'team_draft'"),
        (lambda: Page.from_dict({"method": "x"}), "documents, notes, rankers missing"),
        (lambda: Probabilistic(tau=0), "tau must be above 0"),
        (lambda: Optimized(credits="invers"), "did you mean 'inverse'"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
