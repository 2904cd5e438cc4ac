"""Every page that a method can make of two rankings, with every set of clicks that knows no ranker.

What each method promises, and what is checked for each pair of rankings below:

- `TeamDraft`, `Probabilistic`, `Optimized`: clicks on any fixed set of ranks favour nobody, whatever is shown
  there. Random and position-dependent clicks are mixtures of such sets.
- `PairwisePreference`: the same, and the credit of each ranker is 0, not only their difference.
- `Probabilistic` also where a click depends on the documents above it: given those, either ranker drew the
  next place with the same chance.
- `Balanced`: only where exchanging the two rankings is a renaming of documents. Of the 24 rankings of four
  documents, 12 are treated unfairly beside abcd.

None is fair to clicks on a fixed set of documents: that is the preference that a comparison looks for.
"""

from itertools import permutations, product

import numpy as np
import pytest

from rankloop.interleaving import Balanced, Optimized, PairwisePreference, Probabilistic, TeamDraft
from rankloop.interleaving._chance import every_outcome

FAIR = [TeamDraft(), Probabilistic(), Probabilistic(tau=1.0), Optimized(), PairwisePreference()]
EVERY = [*FAIR, Balanced()]


def name(method):
    return method.name + (f"-{method.tau:g}" if isinstance(method, Probabilistic) else "")


every_method = pytest.mark.parametrize("method", EVERY, ids=name)
fair_method = pytest.mark.parametrize("method", FAIR, ids=name)


def pairs_of_rankings():
    """All pairs of rankings of up to three documents each, and all of the same four, but for their names."""
    found = [("abcd", "".join(other)) for other in permutations("abcd")]
    for first in ("a", "ab", "abc"):
        for length in (1, 2, 3):
            for other in permutations(first + "xyz", length):
                new = [document for document in other if document in "xyz"]
                if new == list("xyz"[: len(new)]):  # documents that only the second has come in one order
                    found.append((first, "".join(other)))
    return found


def sampled_pairs(number, *, documents, seed):
    """Rankings of five documents of a larger set, drawn at random."""
    rng = np.random.default_rng(seed)
    return [tuple("".join(rng.permutation(list(documents))[:5]) for _ in range(2)) for _ in range(number)]


def outcomes(method, rankings, k):
    """Each page with its probability, straight from the enumeration of the random choices."""
    lists = [list(ranking) for ranking in rankings]
    return list(every_outcome(lambda chance: method._combine_with(chance, lists, k)))


def expected_credits(method, pages, places):
    """For every set of clicked ranks the exact mean credit of each ranker."""
    found = {}
    for clicked in product([False, True], repeat=places):
        ranks = [rank for rank, click in enumerate(clicked) if click]
        found[tuple(ranks)] = sum(
            probability * method.credit(page, [page.documents[rank] for rank in ranks if rank < len(page)])
            for page, probability in pages
        )
    return found


def check_ranks(method, rankings, k):
    pages = method.distribution([list(ranking) for ranking in rankings], k)
    assert sum(probability for _, probability in pages) == pytest.approx(1.0, abs=1e-12)
    for ranks, credit in expected_credits(method, pages, min(k, len(set().union(*rankings)))).items():
        case = f"{rankings}, k = {k}, clicks at ranks {[rank + 1 for rank in ranks]}"
        if method.name == "pairwise_preference":
            assert credit == pytest.approx([0.0, 0.0], abs=1e-9), case
        else:
            assert credit[0] == pytest.approx(credit[1], abs=1e-9), case
    return len(pages)


@every_method
def test_the_probabilities_of_all_outcomes_sum_to_one(method):
    for rankings in [("abcd", "bcda"), ("abc", "xya"), ("a", "xyz"), ("ab", "ba")]:
        for k in (1, 3, 5):
            made = outcomes(method, rankings, k)
            assert all(probability > 0 for _, probability in made)
            assert sum(probability for _, probability in made) == pytest.approx(1.0, abs=1e-12)
            merged = method.distribution([list(ranking) for ranking in rankings], k)
            assert sum(probability for _, probability in merged) == pytest.approx(1.0, abs=1e-12)
            assert {page.documents for page, _ in merged} == {page.documents for page, _ in made}


@fair_method
def test_clicks_on_fixed_ranks_favour_nobody(method):
    compared = sum(
        check_ranks(method, rankings, k)
        for rankings in pairs_of_rankings()
        for k in range(1, len(set().union(*rankings)) + 1)
        if k <= 4
    )
    assert compared > 500


@fair_method
def test_clicks_on_fixed_ranks_of_five_documents_favour_nobody(method):
    number = 4 if method.name == "probabilistic" else 25
    for rankings in sampled_pairs(number, documents="abcde", seed=0):
        check_ranks(method, rankings, 5)
    for rankings in sampled_pairs(number, documents="abcdefg", seed=1):
        check_ranks(method, rankings, 3)


def test_probabilistic_is_fair_given_the_documents_above():
    """Clicks at a rank that depend on what is shown above it: the rule is drawn anew for every prefix."""
    rng = np.random.default_rng(0)
    method = Probabilistic()
    for rankings in [("abcd", "".join(other)) for other in permutations("abcd")]:
        chance = {}
        total = np.zeros(2)
        for page, probability in method.distribution([list(ranking) for ranking in rankings], 3):
            for rank, document in enumerate(page.documents):
                click = chance.setdefault(page.documents[:rank], rng.random())
                total += probability * click * method.credit(page, [document])
        assert total[0] == pytest.approx(total[1], abs=1e-12)


def test_team_draft_is_not_fair_given_the_documents_above():
    """Rankings abc and bac, a click on the second place where a is above it: that place is always b's."""
    method = TeamDraft()
    total = np.zeros(2)
    for page, probability in method.distribution([list("abc"), list("bac")], 2):
        if page.documents[0] == "a":
            total += probability * method.credit(page, [page.documents[1]])
    assert total.tolist() == [0.0, 0.5]


def exchangeable(first, second):
    """Whether naming each document of the first as the second has it there turns each into the other."""
    renamed = dict(zip(first, second, strict=True))
    return all(renamed[renamed[document]] == document for document in first)


def unfairness(method, rankings):
    return max(
        abs(credit[0] - credit[1])
        for k in range(1, len(rankings[0]) + 1)
        for credit in expected_credits(
            method, method.distribution([list(ranking) for ranking in rankings], k), k
        ).values()
    )


@pytest.mark.parametrize(("length", "unfair"), [(1, 0), (2, 0), (3, 2), (4, 12)])
def test_balanced_is_fair_where_exchanging_the_rankings_is_a_renaming(length, unfair):
    first = "abcd"[:length]
    found = 0
    for other in permutations(first):
        lean = unfairness(Balanced(), (first, "".join(other)))
        found += lean > 1e-9
        if exchangeable(first, other):
            assert lean == pytest.approx(0.0, abs=1e-12)
    assert found == unfair


def test_balanced_favours_the_shifted_ranking_by_hand():
    """abc and bca (Radlinski & Craswell, 2013): a click on a is A's, on b or c it is B's, on either page."""
    method = Balanced()
    pages = method.distribution([list("abc"), list("bca")], 3)
    assert sorted((page.documents, probability) for page, probability in pages) == [
        (("a", "b", "c"), 0.5),
        (("b", "a", "c"), 0.5),
    ]
    one_random_click = sum(
        probability / 3 * method.credit(page, [document])
        for page, probability in pages
        for document in page.documents
    )
    assert one_random_click == pytest.approx([1 / 3, 2 / 3])


@every_method
def test_exchanging_the_rankings_exchanges_their_credit(method):
    for other in permutations("abcd"):
        here = expected_credits(method, method.distribution([list("abcd"), list(other)], 3), 3)
        there = expected_credits(method, method.distribution([list(other), list("abcd")], 3), 3)
        for ranks, credit in here.items():
            assert credit == pytest.approx(there[ranks][::-1], abs=1e-9)


def test_the_sign_of_a_fair_credit_need_not_be_fair():
    """Why verdicts are on mean credit: abcd and bcda, one random click; the mean is 0, the signs are not."""
    method = Optimized()
    mean, signs = 0.0, {1: 0.0, -1: 0.0, 0: 0.0}
    for page, probability in method.distribution([list("abcd"), list("bcda")], 4):
        for document in page.documents:
            credit = method.credit(page, [document])
            difference = float(credit[0] - credit[1])
            mean += probability / 4 * difference
            signs[0 if abs(difference) < 1e-12 else int(np.sign(difference))] += probability / 4
    assert mean == pytest.approx(0.0, abs=1e-9)
    assert abs(signs[1] - signs[-1]) > 0.2
