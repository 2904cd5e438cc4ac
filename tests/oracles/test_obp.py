"""Off-policy estimators of Open Bandit Pipeline (Saito et al., 2020) on the same logs.

Conventions: OBP wants the joint probability of a page or of its first ranks, we the probability of each
impression given those above it, whose products those are. OBP's intervals are bootstrapped over pages; ours
are Student's t over queries, or over pages where there are fewer than 20 queries, as here. For a
self-normalised estimate OBP resamples rewards that are already normalised, which makes its interval wider
than that of a bootstrap which normalises each sample anew: ours is compared with the latter.
"""

import numpy as np
import pytest
from obp import ope

from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.unbiased import PlackettLuce, counterfactual_estimate, slate

RTOL = 1e-10
DOCUMENTS = 6
PAGES = 3000


class World:
    """Pages of `k` documents drawn by one Plackett-Luce policy, to value another one."""

    def __init__(self, seed, k):
        rng = np.random.default_rng(seed)
        self.k = k
        self.data = RankingDataset.from_groups(
            np.zeros((DOCUMENTS, 1)), np.zeros(DOCUMENTS), [DOCUMENTS], docid=np.arange(DOCUMENTS)
        )
        self.old, self.new = rng.normal(0, 0.7, (2, DOCUMENTS))
        gamma = rng.uniform(0.1, 0.9, DOCUMENTS)
        shown = np.argsort(-(self.old + rng.gumbel(size=(PAGES, DOCUMENTS))), axis=1)[:, :k]
        click = (rng.random((PAGES, k)) < gamma[shown] / np.arange(1, k + 1)).astype(int)
        self.shown = shown
        self.log = ClickLog(
            np.repeat(np.arange(PAGES), k), np.ones(PAGES * k, int), shown.ravel(),
            np.tile(np.arange(1, k + 1), PAGES), click.ravel(),
        )  # fmt: skip
        self.reward = click.ravel().astype(float)
        self.guess = rng.uniform(0, 0.5, DOCUMENTS)
        self.policies = [PlackettLuce(self.data, scores) for scores in (self.old, self.new)]
        self.logged, self.target = (policy.conditional(self.log) for policy in self.policies)
        self.slates = {
            "slate_id": np.repeat(np.arange(PAGES), k),
            "reward": self.reward,
            "position": np.tile(np.arange(k), PAGES),
        }

    def joint(self, chances):
        """Products down to each rank, and those of the whole page."""
        down = np.cumprod(chances.reshape(PAGES, self.k), axis=1)
        return down.ravel(), np.repeat(down[:, -1], self.k)

    def choices(self):
        """For each impression, the chance of every document under the target, given what is above."""
        left = np.exp(np.tile(self.new, (PAGES, 1)))
        made = np.empty((PAGES, self.k, DOCUMENTS))
        for rank in range(self.k):
            made[:, rank] = left / left.sum(axis=1, keepdims=True)
            left[np.arange(PAGES), self.shown[:, rank]] = 0
        return made


def assert_as_obp(found, estimator, given):
    """The values to ten digits."""
    assert found.value == pytest.approx(estimator.estimate_policy_value(**given), rel=RTOL)


def assert_same_interval(found, estimator, given, *, normalised=False):
    """The ends of the intervals to a tenth of their width: the bootstrap has 1,000 draws."""
    if normalised:
        old, new = (value for name, value in given.items() if "pscore" in name)
        ends = bootstrapped(new / old, given["reward"])
    else:
        bounds = estimator.estimate_interval(**given, n_bootstrap_samples=1000, random_state=0)
        ends = sorted(value for name, value in bounds.items() if name.startswith("95.0%"))
    assert ends == pytest.approx([found.low, found.high], rel=0, abs=0.1 * (found.high - found.low))


def bootstrapped(mass, reward):
    """The middle 95 % of the sum over ranks of weighted mean rewards, for resampled pages."""
    rng = np.random.default_rng(0)
    mass, reward = mass.reshape(PAGES, -1), reward.reshape(PAGES, -1)
    made = []
    for _ in range(1000):
        pages = rng.integers(0, PAGES, PAGES)
        made.append(((mass * reward)[pages].sum(axis=0) / mass[pages].sum(axis=0)).sum())
    return np.quantile(made, [0.025, 0.975])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("normalised", [False, True])
def test_slates(seed, k, normalised):
    world = World(seed, k)
    own = {"self_normalised": normalised, "logged": world.logged}
    down, page = world.joint(world.logged)
    new_down, new_page = world.joint(world.target)
    kinds = {
        "standard": (
            ope.SelfNormalizedSlateStandardIPS if normalised else ope.SlateStandardIPS,
            {"pscore": page, "evaluation_policy_pscore": new_page},
        ),
        "reward_interaction": (
            ope.SelfNormalizedSlateRewardInteractionIPS if normalised else ope.SlateRewardInteractionIPS,
            {"pscore_cascade": down, "evaluation_policy_pscore_cascade": new_down},
        ),
    }
    for method, (kind, chances) in kinds.items():
        found = slate(world.log, world.target, method=method, **own)
        assert_as_obp(found, kind(len_list=k), world.slates | chances)
        if seed == 0:
            assert_same_interval(found, kind(len_list=k), world.slates | chances, normalised=normalised)
    # By each impression alone: the chance that a document is at a rank.
    old, new = (policy.marginal(world.log, samples=4000) for policy in world.policies)
    kind = ope.SelfNormalizedSlateIndependentIPS if normalised else ope.SlateIndependentIPS
    found = slate(world.log, new, logged=old, method="independent", self_normalised=normalised)
    chances = {"pscore_item_position": old, "evaluation_policy_pscore_item_position": new}
    assert_as_obp(found, kind(len_list=k), world.slates | chances)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [2, 3])
def test_cascade_doubly_robust(seed, k):
    world = World(seed, k)
    down, _ = world.joint(world.logged)
    new_down, _ = world.joint(world.target)
    estimator = ope.SlateCascadeDoublyRobust(len_list=k, n_unique_action=DOCUMENTS)
    given = world.slates | {
        "action": world.shown.ravel(),
        "pscore_cascade": down,
        "evaluation_policy_pscore_cascade": new_down,
        "q_hat": np.tile(world.guess, PAGES * k),
        "evaluation_policy_action_dist": world.choices().ravel(),
    }
    _, mean = world.policies[1].expectation(world.log, world.guess)
    found = slate(
        world.log, world.target, logged=world.logged, method="cascade_dr",
        baseline=(world.guess[world.shown.ravel()], mean),
    )  # fmt: skip
    assert_as_obp(found, estimator, given)


@pytest.mark.parametrize("seed", range(3))
def test_one_document_a_page_is_a_bandit(seed):
    """IPS, SNIPS and DR of single actions; our cascade_dr of one rank is DR."""
    world = World(seed, 1)
    choices = world.choices()
    actions = {
        "reward": world.reward,
        "action": world.shown.ravel(),
        "pscore": world.logged,
        "action_dist": choices.transpose(0, 2, 1),
    }
    guess = np.tile(world.guess[:, None], (PAGES, 1, 1))
    cases = [
        ({"method": "standard"}, ope.InverseProbabilityWeighting(), {}),
        (
            {"method": "standard", "self_normalised": True},
            ope.SelfNormalizedInverseProbabilityWeighting(),
            {},
        ),
        (
            {
                "method": "cascade_dr",
                "baseline": (
                    world.guess[world.shown.ravel()],
                    world.policies[1].expectation(world.log, world.guess)[1],
                ),
            },
            ope.DoublyRobust(),
            {"estimated_rewards_by_reg_model": guess},
        ),
    ]
    for own, estimator, extra in cases:
        found = slate(world.log, world.target, logged=world.logged, **own)
        assert found.value == pytest.approx(estimator.estimate_policy_value(**actions, **extra), rel=RTOL)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", ["policy_aware", "doubly_robust"])
def test_corrections_of_clicks_for_one_ranking(method, seed):
    """The relevance of a ranker's first document, from pages of one document that another policy drew."""
    world = World(seed, 1)
    display = (np.exp(world.old) / np.exp(world.old).sum())[:, None]
    options = {"display": display}
    if method == "doubly_robust":
        options |= {"relevance": world.guess, "tau": 0.0}
    found = counterfactual_estimate(
        world.log, world.data, world.new, "precision@1", propensity=[1.0], method=method, **options
    )
    first = np.zeros((PAGES, DOCUMENTS, 1))
    first[:, np.argmax(world.new)] = 1.0
    given = {
        "reward": world.reward,
        "action": world.shown.ravel(),
        "pscore": world.logged,
        "action_dist": first,
    }
    if method == "policy_aware":
        expected = ope.InverseProbabilityWeighting().estimate_policy_value(**given)
    else:
        guess = np.tile(world.guess[:, None], (PAGES, 1, 1))
        expected = ope.DoublyRobust().estimate_policy_value(**given, estimated_rewards_by_reg_model=guess)
    assert found.value == pytest.approx(expected, rel=RTOL)


def test_ips_of_a_position_biased_log():
    """DCG of another ranking by IPW with the weights discount / propensity.

    Those weights are no distribution over actions: OBP's checks of the input would refuse them, so its
    formula is called without the checks. Its mean is over impressions, ours over pages.
    """
    rng = np.random.default_rng(0)
    theta = 1 / np.arange(1, DOCUMENTS + 1)
    data = World(0, 1).data
    shown = np.argsort(rng.random((PAGES, DOCUMENTS)), axis=1).ravel()
    rank = np.tile(np.arange(DOCUMENTS), PAGES)
    click = (rng.random(len(shown)) < theta[rank] * rng.uniform(0.2, 0.9, DOCUMENTS)[shown]).astype(int)
    log = ClickLog(np.repeat(np.arange(PAGES), DOCUMENTS), np.ones(len(shown), int), shown, rank + 1, click)
    scores = rng.normal(size=DOCUMENTS)
    worth = 1 / np.log2(2 + np.argsort(np.argsort(-scores)))
    rounds = ope.InverseProbabilityWeighting()._estimate_round_rewards(
        reward=click.astype(float),
        action=np.zeros(len(shown), int),
        pscore=theta[rank],
        action_dist=worth[shown][:, None, None],
        position=np.zeros(len(shown), int),
    )
    found = counterfactual_estimate(log, data, scores, "dcg", propensity=theta, method="ips")
    assert found.value == pytest.approx(rounds.mean() * DOCUMENTS, rel=RTOL)
